"""The stacks of pulp-open's cluster cores against the frames of integer kernels, as the compiler tells them."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from support.firmware import RISCV_GCC
from tilewright.platform import load_platform
from tilewright.resources import runtime_dir

pytestmark = pytest.mark.skipif(shutil.which(RISCV_GCC) is None, reason=f"needs {RISCV_GCC}")

SOURCES = (
    *("conv_integer", "conv_xpulpv2", "depthwise_integer", "depthwise_xpulpv2", "fully_connected_integer"),
    *("integer_core", "integer_finish", "matmul_integer", "xpulpv2_core", "xpulpv2_taps", "pool_integer"),
    *("binary_integer", "lookup", "walk"),
)
RULES = ("folded", "high", "layer", "long", "even", "layer_even", "exact")

# In assembler, or in libraries: bytes that a call takes.
CORES = r"tilewright_core_(narrow|wide)|depthwise_integer:(slide|stride|any)|tilewright_line_\w+"
ASSEMBLER = {"tilewright_xpulpv2_": 64, "__": 48}


@pytest.fixture(scope="module")
def frames(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, set[str]]]:
    """Bytes and callees of each function; functions of a file are its stem, a colon and their name."""
    folder = tmp_path_factory.mktemp("stacks")
    found: dict[str, tuple[int, set[str]]] = {}
    runtime = runtime_dir()
    for name in (*(f"kernels/{source}" for source in SOURCES), "split", "ports/pulp_open/cluster"):
        options = [*load_platform("pulp-open").target.compile_options, "-O2", "-fcallgraph-info=su", "-c"]
        command = [RISCV_GCC, "--specs=picolibc.specs", *options, f"-I{runtime / 'include'}", f"-I{runtime / 'ports'}"]
        target = folder / f"{Path(name).name}.o"
        subprocess.run([*command, str(runtime / f"{name}.c"), "-o", str(target)], check=True)
        read(target.with_suffix(".ci").read_text(encoding="utf-8"), found)
    return found


def read(text: str, found: dict[str, tuple[int, set[str]]]) -> None:
    def short(title: str) -> str:
        path, _, name = title.rpartition(":")
        return f"{Path(path).stem}:{name}" if path else name

    for title, frame in re.findall(r'node: \{ title: "([^"]+)" label: "[^"]*?\\n(\d+) bytes', text):
        found[short(title)] = (int(frame), set())
    for caller, callee in re.findall(r'edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)"', text):
        found[short(caller)][1].add(short(callee))


def depth(name: str, frames: dict[str, tuple[int, set[str]]], through_pointers: str) -> int:
    """Bytes that a call of the function takes; pointers but those to cores lead to what the pattern matches."""
    if name not in frames:
        return next((size for prefix, size in ASSEMBLER.items() if name.startswith(prefix)), 0)
    size, callees = frames[name]
    deepest = 0
    for callee in callees:
        pointers = CORES if name in ("conv_integer:run", "depthwise_integer:run") else through_pointers
        pointed = [other for other in frames if re.fullmatch(pointers, other)]
        for other in pointed if callee == "__indirect_call" else [callee]:
            deepest = max(deepest, depth(other, frames, through_pointers))
    return size + deepest


def stack_bytes() -> int:
    """Of a worker, without the words that nothing may have written."""
    text = (runtime_dir() / "ports/pulp_open/cluster.c").read_text(encoding="utf-8")
    sizes = [re.search(rf"#define {name} (\d+)u", text) for name in ("TILEWRIGHT_PULP_STACK_BYTES", "GUARD_WORDS")]
    assert all(sizes)
    return int(sizes[0][1]) - 4 * int(sizes[1][1])  # type: ignore[index]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    "kernel", ["conv_integer", "conv_wide", "conv_xpulpv2", "depthwise_xpulpv2", "depthwise_slide", "depthwise_any"]
)
def test_convolutions_fit(kernel: str, rule: str, frames: dict[str, tuple[int, set[str]]]) -> None:
    deepest = depth(f"tilewright_{kernel}_{rule}", frames, rf"tilewright_(block|line)_{rule}")
    assert 128 <= deepest + frames["pulp_cluster_main"][0] <= stack_bytes()


@pytest.mark.parametrize("rule", ["high", "long", "even", "exact"])
def test_products_fit(rule: str, frames: dict[str, tuple[int, set[str]]]) -> None:
    deepest = depth(f"tilewright_matmul_integer_{rule}", frames, rf"tilewright_block_{rule}")
    assert 128 <= deepest + frames["pulp_cluster_main"][0] <= stack_bytes()


@pytest.mark.parametrize(
    ("kernel", "row"),
    [
        ("add_shifted", "binary_integer:shifted_row"),
        ("add_rescaled", "binary_integer:rescaled_row"),
        ("lookup_bytes", "lookup:bytes_row"),
        ("max_pool_integer", "nothing"),
        ("average_pool_integer", "nothing"),
    ],
)
def test_other_kernels_fit(kernel: str, row: str, frames: dict[str, tuple[int, set[str]]]) -> None:
    deepest = depth(f"tilewright_{kernel}", frames, row)
    assert 64 <= deepest + frames["pulp_cluster_main"][0] <= stack_bytes()


def test_a_frame_that_is_too_large_is_seen(frames: dict[str, tuple[int, set[str]]]) -> None:
    spoilt = {**frames, "tilewright_core_narrow": (400, frames["tilewright_core_narrow"][1])}
    deepest = depth("tilewright_conv_integer_folded", spoilt, "tilewright_block_folded")
    assert deepest > stack_bytes()


@pytest.mark.parametrize(("size", "status"), [("768u", 0), ("600u", 1)])
def test_stacks_of_a_size_that_is_asked_for(size: str, status: int, tmp_path: Path) -> None:
    runtime = runtime_dir()
    options = [*load_platform("pulp-open").target.compile_options, f"-DTILEWRIGHT_PULP_STACK_BYTES={size}", "-c"]
    command = [RISCV_GCC, "--specs=picolibc.specs", *options, f"-I{runtime / 'include'}", f"-I{runtime / 'ports'}"]
    source = str(runtime / "ports/pulp_open/cluster.c")
    done = subprocess.run([*command, source, "-o", str(tmp_path / "c.o")], capture_output=True, text=True, check=False)
    assert done.returncode == status
    assert ("no multiple of 16" in done.stderr) == bool(status)
