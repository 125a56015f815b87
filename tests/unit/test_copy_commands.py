"""Copies cut into commands of a link: each byte moves once, none exceeds the link, the cost model counts them."""

from __future__ import annotations

import json
import re
import subprocess
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.firmware import WARNINGS, needs_host_compiler
from support.objects import kept
from tilewright.base.errors import TilewrightError
from tilewright.base.resources import platforms_dir, runtime_dir
from tilewright.cli import main
from tilewright.plan import CopyStart, Layer, Plan, Step
from tilewright.plan.copies import link_commands
from tilewright.plan.json import loads
from tilewright.platform import load_platform
from tilewright.report.step_runs import Started, step_runs
from tilewright.tools.golden import GoldenRequest, golden_files

MODELS = Path(__file__).parents[1] / "firmware" / "models"
SUPPORT = Path(__file__).parents[1] / "support"
LIMITS = [(1, 0), (2, 0), (1, 20), (2, 20), (2, 96), (3, 96)]

DRIVER = r"""
#include <stdio.h>
#include <tilewright/copy_commands.h>

/* For each line of input (dimensions, most bytes, lines, bytes of a line, strides): the commands. */
int main(void)
{
    unsigned dimensions;
    unsigned most;
    unsigned lines;
    unsigned bytes;
    int to;
    int from;
    while (scanf("%u %u %u %u %d %d", &dimensions, &most, &lines, &bytes, &to, &from) == 6) {
        struct tilewright_copy_rest rest = {{100000u, 200000u, lines, bytes, to, from}, 0u};
        struct tilewright_copy_limits limits = {dimensions, most};
        struct tilewright_copy command;
        while (tilewright_copy_next(&rest, limits, &command) != 0) {
            printf("%u,%u,%u,%u,%d,%d ", (unsigned)command.destination, (unsigned)command.source,
                   (unsigned)command.lines, (unsigned)command.line_bytes, (int)command.destination_stride,
                   (int)command.source_stride);
        }
        printf("\n");
    }
    return 0;
}
"""

RUNS = 3
"""How often the golden program runs its model."""

Copy = tuple[int, int, int, int, int, int]
"""Destination, source, lines, bytes of a line, both strides."""


def touched(copy: Copy) -> list[tuple[int, int]]:
    """(destination, source) of every byte, in order."""
    to, source, lines, size, to_stride, from_stride = copy
    return [
        (to + line * to_stride + byte, source + line * from_stride + byte)
        for line, byte in product(range(lines), range(size))
    ]


@needs_host_compiler
def test_commands_move_every_byte_once_and_are_as_many_as_the_cost_model_says(tmp_path: Path) -> None:
    (tmp_path / "driver.c").write_text(DRIVER, encoding="utf-8")
    include = f"-I{runtime_dir() / 'include'}"
    subprocess.run(["cc", *WARNINGS, include, tmp_path / "driver.c", "-o", tmp_path / "driver"], check=True)
    cases = []
    for (dimensions, most), lines, size in product(LIMITS, (1, 2, 7), (1, 8, 19, 20, 21, 40, 97)):
        strides = (0, 0) if lines == 1 else (size + 3, -size - 100)
        cases.append((dimensions, most, lines, size, *strides))
    text = "\n".join(" ".join(map(str, case)) for case in cases)
    done = subprocess.run([tmp_path / "driver"], input=text, capture_output=True, text=True, check=True)
    for case, line in zip(cases, done.stdout.splitlines(), strict=True):
        dimensions, most, lines, size, *strides = case
        commands: list[Copy] = [tuple(map(int, item.split(","))) for item in line.split()]
        assert [byte for command in commands for byte in touched(command)] == touched(
            (100000, 200000, lines, size, *strides)
        ), case
        assert all(command[2] == 1 or dimensions > 1 for command in commands)
        assert all(command[2] > 1 or command[4:] == (0, 0) for command in commands)
        assert all(not most or command[2] * command[3] <= most for command in commands)
        counts = [np.asarray(number) for number in (1, lines, size)]
        assert len(commands) == link_commands(dimensions, most, *counts), case


@given(st.integers(1, 3), st.integers(0, 50), st.lists(st.tuples(*[st.integers(1, 60)] * 3), min_size=1))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_arrays_are_counted_as_each_of_their_entries(
    dimensions: int, max_bytes: int, shapes: list[tuple[int, int, int]]
) -> None:
    wanted = [int(link_commands(dimensions, max_bytes, *(np.asarray(number) for number in shape))) for shape in shapes]
    columns = [np.array(column, dtype=np.int64) for column in zip(*shapes, strict=True)]
    assert link_commands(dimensions, max_bytes, *columns).tolist() == wanted


def generate(dimensions: int, max_bytes: int, folder: Path) -> Plan:
    """A residual network, tiled through links that take little at a time."""
    text = (platforms_dir() / "qemu-virt-rv32.toml").read_text(encoding="utf-8")
    text = text.replace("dimensions = 2\n", f"dimensions = {dimensions}\nmax_bytes = {max_bytes}\n")
    (folder / "board.toml").write_text(text, encoding="utf-8")
    model = MODELS / "deeploy_residual"
    types = json.loads((model / "types.json").read_text()) if (model / "types.json").exists() else {}
    words = ["generate", "--model", str(model / "network.onnx"), "--platform", str(folder / "board.toml")]
    words += ["--name", "net", "--pool", "l1=4096", "--output-dir", str(folder)]
    assert main([*words, *(f"--type={name}={dtype}" for name, dtype in types.items())]) == 0
    return loads((folder / "net_plan.json").read_text(encoding="utf-8"))


def commands_of(plan: Plan, folder: Path, dimensions: int, max_bytes: int) -> dict[str, int]:
    """Commands of each link as a port with that engine counts them; the outputs are right."""
    vectors = (MODELS / "deeploy_residual" / "inputs.npz", MODELS / "deeploy_residual" / "outputs.npz")
    for name, content in golden_files(GoldenRequest(plan, *vectors, "0:0")).items():
        (folder / name).write_bytes(content)
    runtime = runtime_dir()
    sources = [folder / name for name in ("net.c", "net_weights.c", "golden_main.c", "golden_vectors.c")]
    sources += [runtime / name for name in plan.kernel_sources]
    sources += [runtime / "test_support" / "golden.c", SUPPORT / "limited_port.c"]
    common = ("common/core_copies.c", "common/no_cache.c", "common/one_core.c")
    sources += [runtime / "ports" / name for name in (*common, "host/port.c")]
    includes = [f"-I{path}" for path in (folder, runtime / "include", runtime / "test_support")]
    defines = [f"-DDIMENSIONS={dimensions}", f"-DMOST_BYTES={max_bytes}", "-D_DEFAULT_SOURCE"]
    program = folder / "golden"
    words = ["cc", *WARNINGS, *defines, *includes]
    wrapped = "-Wl,--wrap=tilewright_copy_start"
    subprocess.run([*words, *kept(words, sources), wrapped, "-lm", "-o", str(program)], check=True)
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    counted = {int(number): int(count) for number, count in re.findall(r"commands (\d+): (\d+)", done.stdout)}
    return {item.name: counted[number] for number, item in enumerate(plan.links)}


def planned_commands(plan: Plan) -> dict[str, int]:
    totals = dict.fromkeys((item.name for item in plan.links), 0)
    for layer in plan.layers:
        assert layer.work is not None
        for load in layer.work.loads:
            totals[load.link] += load.commands
    return totals


def started_commands(plan: Plan) -> dict[str, int]:
    """Commands of each link, block by block."""
    totals = dict.fromkeys((item.name for item in plan.links), 0)
    for layer in plan.program:
        events = step_runs(plan, layer.body) if isinstance(layer, Layer) else ()
        for event in events:
            if isinstance(event, Started):
                totals[event.link] += event.commands
    return totals


def copy_steps(body: tuple[Step, ...]) -> list[CopyStart]:
    found: list[CopyStart] = []
    for step in body:
        found += [step] if isinstance(step, CopyStart) else copy_steps(getattr(step, "body", ()))
    return found


@needs_host_compiler
@pytest.mark.parametrize(
    ("dimensions", "max_bytes", "even"), [(2, 0, True), (1, 0, True), (1, 64, False), (2, 256, False)]
)
def test_the_plan_says_how_many_commands_its_links_get(
    dimensions: int, max_bytes: int, even: bool, tmp_path: Path
) -> None:
    plan = generate(dimensions, max_bytes, tmp_path)
    counted = commands_of(plan, tmp_path, dimensions, max_bytes)
    said = {name: RUNS * count for name, count in planned_commands(plan).items()}
    assert counted == {name: RUNS * count for name, count in started_commands(plan).items()}
    assert any(step.kept for step in copy_steps(plan.program))
    for name, count in counted.items():
        # Tiles at edges may need fewer commands where these take a number of bytes.
        assert count == said[name] if even else said[name] / 2 <= count <= said[name]


def test_a_limit_keeps_the_alignment_of_the_link(tmp_path: Path) -> None:
    text = (platforms_dir() / "qemu-virt-rv32.toml").read_text(encoding="utf-8")
    path = tmp_path / "board.toml"
    path.write_text(text.replace("dimensions = 2\n", "max_bytes = 6\nalign_bytes = 4\n"), encoding="utf-8")
    with pytest.raises(TilewrightError, match="'max_bytes' must be a multiple of 4"):
        load_platform(path)
