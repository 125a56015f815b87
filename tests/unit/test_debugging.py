"""Names for debuggers: symbols in programs, and GDB's commands on a model that runs in QEMU."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from support.firmware import build_riscv, needs_riscv
from tilewright.base.resources import gdb_script, runtime_dir
from tilewright.catalogue.evaluate import evaluate
from tilewright.graph import Array
from tilewright.importers.load import import_model
from tilewright.options import build_options
from tilewright.pipeline import Artifacts, compile_model
from tilewright.plan import BufferKind, Placement
from tilewright.platform import load_platform
from tilewright.rewrites.passes import optimise

ROOT = Path(__file__).parents[2]
MODEL = ROOT / "examples" / "digits" / "digits.onnx"
GDB, NM = "gdb-multiarch", "riscv64-unknown-elf-nm"
FIRST = "relu_0_QuantizeLinear_Output"

needs_gdb = pytest.mark.skipif(shutil.which(GDB) is None, reason=f"needs {GDB}")
pytestmark = needs_riscv

MAIN = """
#include "digits.h"
#include <stdint.h>

static _Alignas(16) float image[DIGITS_INPUT_IMAGE_COUNT] = {{{values}}};
static _Alignas(16) float scores[DIGITS_OUTPUT_SCORES_COUNT];
{pools}

int main(void)
{{
    const struct digits_inputs in = {{.image = image}};
    const struct digits_outputs out = {{.scores = scores}};
    return (int)digits_run(&in, &out{argument});
}}
"""
OWN_POOLS = """
static _Alignas(16) uint8_t near[DIGITS_POOL_L1_SIZE];
static _Alignas(16) uint8_t far[DIGITS_POOL_SRAM_SIZE];
static const struct digits_pools memory = {.l1 = near, .sram = far};
"""


@pytest.fixture(scope="module")
def image() -> Array:
    with np.load(MODEL.with_name("vectors_inputs.npz")) as archive:
        array: Array = archive[archive.files[0]][0].reshape(1, 1, 8, 8).astype(np.float32)
    return array


@pytest.fixture(scope="module")
def reference(image: Array) -> Mapping[str, Array]:
    graph = optimise(import_model(MODEL))
    return evaluate(graph, {graph.inputs[0]: image})


def compiled(**options: object) -> Artifacts:
    pools = options.pop("pools", ("l1=3072",))
    given = {"model": MODEL, "platform": "qemu-virt-rv32", "name": "digits", "pools": pools, **options}
    return compile_model(build_options(("test", given)))


def built(artifacts: Artifacts, image: Array, folder: Path) -> Path:
    """A program that runs the model once."""
    for name, content in artifacts.files.items():
        (folder / name).write_bytes(content)
    static = artifacts.plan.static_pools
    values = ", ".join(f"{value:.1f}f" for value in image.reshape(-1))
    main = folder / "main.c"
    text = MAIN.format(
        values=values,
        pools="" if static else OWN_POOLS,
        argument="" if static else ", &memory",
    )
    main.write_text(text, encoding="utf-8")
    sources = [main, *(folder / name for name in artifacts.files if name.endswith(".c"))]
    sources += [runtime_dir() / name for name in artifacts.plan.kernel_sources]
    return build_riscv(load_platform("qemu-virt-rv32"), sources, folder / "digits.elf")


@pytest.fixture(scope="module")
def static(image: Array, tmp_path_factory: pytest.TempPathFactory) -> tuple[Artifacts, Path]:
    artifacts = compiled(static_pools=True)
    return artifacts, built(artifacts, image, tmp_path_factory.mktemp("static"))


def symbols(program: Path) -> dict[str, tuple[int, int]]:
    """Address and size of the symbols that have both."""
    listing = subprocess.run([NM, "-S", str(program)], check=True, capture_output=True, text=True).stdout
    rows = [line.split() for line in listing.splitlines()]
    return {row[3]: (int(row[0], 16), int(row[1], 16)) for row in rows if len(row) == 4}


def assembler_takes_sizes_over(folder: Path) -> bool:
    """Whether a symbol at an array's first byte gets the array's size whatever was asked for, as in binutils 2.35."""
    source, target = folder / "alias.s", folder / "alias.o"
    source.write_text(
        ".globl part\n.set part, whole + 0\n.type part, %object\n.size part, 4\n"
        ".bss\n.globl whole\n.type whole, %object\n.size whole, 64\nwhole: .zero 64\n",
        encoding="utf-8",
    )
    subprocess.run([NM.replace("nm", "as"), str(source), "-o", str(target)], check=True)
    return symbols(target)["part"][1] == 64


def test_every_placed_buffer_is_a_symbol_at_its_address(static: tuple[Artifacts, Path]) -> None:
    artifacts, program = static
    known = symbols(program)
    bases = {"l1": "digits_pool_l1", "sram": "digits_pool_sram", "flash": "digits_flash"}
    sizes = {buffer.name: buffer.size_bytes for buffer in artifacts.plan.buffers}
    words = {BufferKind.TILE: "tile", BufferKind.SCRATCH: "scratch"}
    kinds = {buffer.name: words.get(buffer.kind, "tensor") for buffer in artifacts.plan.buffers}
    named = {name: place for name, place in known.items() if re.match("digits_(tensor|tile|scratch)_", name)}
    pools = {pool: known[base] for pool, base in bases.items()}
    takes_over = assembler_takes_sizes_over(program.parent)

    def size_bytes(item: Placement) -> int:
        return pools[item.pool][1] if takes_over and item.offset_bytes == 0 else sizes[item.buffer]

    expected = sorted(
        (pools[item.pool][0] + item.offset_bytes, size_bytes(item), kinds[item.buffer])
        for item in artifacts.plan.placements
    )
    assert sorted((*place, name.split("_")[1]) for name, place in named.items()) == expected
    assert takes_over or named[f"digits_tensor_{FIRST}"][1] == 1024


def test_pools_at_an_address_have_absolute_symbols(image: Array, tmp_path: Path) -> None:
    program = built(compiled(pools=("l1=3072", "sram=4096@0x80F00000"), static_pools=True), image, tmp_path)
    assert symbols(program)[f"digits_tensor_{FIRST}"][0] in range(0x80F00000, 0x80F01000)


def test_names_can_be_left_out(static: tuple[Artifacts, Path], tmp_path: Path) -> None:
    artifacts, _ = static
    weights, include = tmp_path / "digits_weights.c", runtime_dir() / "include"
    for name in ("digits.h", "digits_layout.h", "digits_weights.c"):
        (tmp_path / name).write_bytes(artifacts.files[name])
    words = ["-DTILEWRIGHT_SYMBOL(name, base, offset, size)=", "-I", str(include), "-c", str(weights)]
    library = ["--specs=picolibc.specs", "-march=rv32imac", "-mabi=ilp32"]
    subprocess.run(["riscv64-unknown-elf-gcc", *library, *words, "-o", str(tmp_path / "a.o")], check=True)
    assert not [name for name in symbols(tmp_path / "a.o") if "tensor" in name]


def gdb(program: Path, *commands: str) -> str:
    """What GDB prints that drives QEMU from reset."""
    qemu = f"qemu-system-riscv32 -machine virt -bios none -display none -serial null -S -gdb stdio -kernel {program}"
    begin = ["set pagination off", "set confirm off", f"source {gdb_script()}", f"target remote | {qemu}"]
    words = [word for command in [*begin, *commands, "kill"] for word in ("-ex", command)]
    command = [GDB, "-nx", "-batch", *words, str(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    return done.stdout + done.stderr


def printed(text: str, name: str, shape: tuple[int, ...]) -> Array:
    """The elements behind the line that describes a tensor."""
    at = text.index(f"{name}:")
    numbers = re.findall(r"-?[0-9.]+(?:e[+-]?[0-9]+)?", text[text.index("\n", at) :])
    return np.array([float(word) for word in numbers[: int(np.prod(shape))]]).reshape(shape)


@needs_gdb
def test_gdb_prints_tensors_with_their_shape(
    static: tuple[Artifacts, Path], reference: Mapping[str, Array], image: Array
) -> None:
    _, program = static
    plan = program.with_name("digits_plan.json")
    text = gdb(
        program,
        f"tilewright plan {plan} image=image scores=scores",
        "set print elements unlimited",
        "break *digits_layer_02_conv",
        "continue",
        "tilewright tensor image",
        f"tilewright tensor {FIRST}",
        "tilewright tensor conv_2.weights.tile",
        "set print elements 3",
        f"tilewright tensor {FIRST}",
        f"print/x (unsigned long)&digits_tensor_{FIRST}",
        "tilewright tensors dense",
    )
    assert f"{FIRST}: intermediate, int8[1, 16, 8, 8] at 0x" in text
    np.testing.assert_array_equal(printed(text, FIRST, (1, 16, 8, 8)), reference[FIRST])
    np.testing.assert_array_equal(printed(text, "image", (1, 1, 8, 8)), image)
    assert "conv_2.weights.tile: tile, int8" in text
    first = ", ".join(str(int(value)) for value in reference[FIRST].reshape(-1)[:3])
    assert f"[[[[{first}, ...],\n   ...],\n  ...]]" in text
    assert re.search(r"l1\+[0-9]+ +tile dense\.weights\.tile int8", text)


@needs_gdb
def test_pools_of_the_program_are_expressions(image: Array, reference: Mapping[str, Array], tmp_path: Path) -> None:
    program = built(compiled(), image, tmp_path)
    plan = program.with_name("digits_plan.json")
    text = gdb(
        program,
        f"tilewright plan {plan}",
        "break *digits_layer_02_conv",
        "continue",
        f"tilewright tensor {FIRST}",
        f"tilewright plan {plan} sram=far",
        "set print elements unlimited",
        f"tilewright tensor {FIRST}",
    )
    assert "where does pool 'sram' begin? tilewright plan <file> sram=<expression>" in text
    np.testing.assert_array_equal(printed(text, FIRST, (1, 16, 8, 8)), reference[FIRST])


@needs_gdb
@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("tilewright tensor x", "after tilewright plan"),
        ("tilewright plan absent.json", "absent.json: "),
        ("tilewright plan", "tilewright plan <name>_plan.json"),
        ("tilewright plan {plan} l2=0", "no pool or tensor 'l2'"),
        ("tilewright plan {plan}|tilewright tensor nothing", "no tensor 'nothing'"),
        ("tilewright plan {plan}|tilewright tensor QuantizeLinear_Out", "may be image_QuantizeLinear_Output, "),
        ("tilewright plan {plan}|tilewright tensor scores", "the caller owns 'scores'"),
        ("tilewright plan {plan}|tilewright tensor dense.weights.tile 1", "has 1 slots"),
    ],
)
def test_mistakes_in_gdb(static: tuple[Artifacts, Path], command: str, message: str) -> None:
    _, program = static
    commands = command.format(plan=program.with_name("digits_plan.json")).split("|")
    words = [word for item in (f"source {gdb_script()}", *commands) for word in ("-ex", item)]
    done = subprocess.run([GDB, "-nx", "-batch", *words], capture_output=True, text=True, check=False)
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@needs_gdb
def test_commands_of_the_how_to(static: tuple[Artifacts, Path]) -> None:
    """What docs/how-to/debug-on-the-target.md types into GDB prints what it says, addresses aside."""
    _, program = static
    page = (ROOT / "docs" / "how-to" / "debug-on-the-target.md").read_text(encoding="utf-8")
    commands = re.findall(r"^\(gdb\) (.*)$", page, re.MULTILINE)
    plan = "build/tilewright/digits/digits_plan.json"
    commands = [command.replace(plan, str(program.with_name("digits_plan.json"))) for command in commands]
    text = gdb(program, *(command for command in commands if not command.startswith("source")))
    shown = re.findall(r"^(relu_0.* at 0x)[0-9a-f]+\n(\[\[\[\[.*), \.\.\.$", page, re.MULTILINE)
    assert shown
    for line, numbers in shown:
        assert re.search(f"^{re.escape(line)}[0-9a-f]+\n{re.escape(numbers)}", text, re.MULTILINE), text
