"""A fixed sample of a hundred of ONNX's node cases, in tiles, on RV32 in QEMU."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

from conformance.build import Generated
from conformance.cases import node_cases
from conformance.firmware import OnTarget, problems, program
from conformance.run import generate
from support.firmware import build_riscv, needs_riscv
from tilewright.base.resources import runtime_dir
from tilewright.platform import load_platform

PLATFORM = "qemu-virt-rv32f"
SAMPLE = Path(__file__).parents[1] / "conformance" / "qemu.txt"
"""Lines of a case and the bytes of l1 in which it is tiled."""


def on_target(folder: Path, lines: list[str]) -> list[OnTarget]:
    cases = {case.name: case for case in node_cases()}
    chosen = []
    for number, line in enumerate(lines):
        name, l1_bytes = line.split()
        case = cases[name]
        model = generate(case, f"c{number}", PLATFORM, folder, pools=[f"l1={l1_bytes}"])
        chosen.append(OnTarget(case, model))
    return chosen


def printed_by(chosen: list[OnTarget], folder: Path) -> str:
    """Build the program and run it in QEMU."""
    for item in chosen:
        for name, content in item.model.files.items():
            (folder / name).write_bytes(content)
    main = folder / "main.c"
    main.write_text(program(chosen), encoding="utf-8")
    kernels = sorted({name for item in chosen for name in item.model.plan.kernel_sources})
    platform = load_platform(PLATFORM)
    elf = build_riscv(platform, [main, *(runtime_dir() / name for name in kernels)], folder / "program")
    assert platform.simulator is not None
    command = [word.replace("{elf}", str(elf)) for word in platform.simulator.command]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@needs_riscv
def test_a_hundred_cases_pass_in_tiles(tmp_path: Path) -> None:
    lines = SAMPLE.read_text(encoding="ascii").splitlines()
    assert len(lines) == 100
    chosen = on_target(tmp_path, lines)
    layers = [layer for item in chosen for layer in item.model.plan.layers]
    assert sum(layer.tiles > 1 for layer in layers) >= 100
    assert len({layer.operator for layer in layers}) >= 50
    assert problems(chosen, printed_by(chosen, tmp_path)) == {}


@needs_riscv
def test_a_wrong_element_is_found(tmp_path: Path) -> None:
    (item,) = on_target(tmp_path, ["test_abs 256"])
    printed = printed_by([item], tmp_path)
    assert problems([item], printed) == {}
    wanted = {name: array.copy() for name, array in item.case.outputs.items()}
    for array in wanted.values():
        array.reshape(-1)[-1] += 1
    wrong = OnTarget(replace(item.case, outputs=wanted), item.model)
    assert "1 of 60 differ" in problems([wrong], printed)["test_abs"]
    silent = OnTarget(item.case, Generated("other", item.model.plan, {}))
    assert problems([silent], printed) == {"test_abs": "status nothing printed"}
