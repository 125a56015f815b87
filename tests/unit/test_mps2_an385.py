"""The Cortex-M3 board in QEMU: memory as C expects it, exit status, output, and faults."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.firmware import build_arm, needs_arm
from tilewright.platform import Platform, load_platform
from tilewright.tools.simulate import simulate
from unit.test_simulate import GREETING, HELLO

pytestmark = needs_arm


def build(platform: Platform, text: str, folder: Path) -> Path:
    source = folder / "main.c"
    source.write_text(text, encoding="utf-8")
    return build_arm(platform, [source], folder / "main.elf")


@pytest.mark.parametrize(("name", "status"), [("mps2-an385", 0), ("mps2-an385-single", 0), ("mps2-an385", 7)])
def test_hello(name: str, status: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    platform = load_platform(name)
    text = HELLO.replace("STATUS", str(status)).replace("passed < 100u", "passed < 400u")
    # The timer ticks once in 40 instructions.
    text = text.replace("uint32_t passed", "for (volatile int i = 0; i < 20; i++) {\n    }\n    uint32_t passed")
    assert simulate(platform, build(platform, text, tmp_path), timeout_s=60) == status
    assert capfd.readouterr().out.replace("\r", "") == GREETING


@pytest.mark.parametrize(("returned", "status"), [(255, 255), (256, 1), (-1, 255)])
def test_no_failure_looks_like_success(returned: int, status: int, tmp_path: Path) -> None:
    platform = load_platform("mps2-an385")
    program = build(platform, f"int main(void) {{ return {returned}; }}\n", tmp_path)
    assert simulate(platform, program, timeout_s=60) == status


@pytest.mark.parametrize("instructions", ["udf #0", "mov r0, #0x60000000\\n\\tstr r0, [r0]"])
def test_fault_is_told(instructions: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    platform = load_platform("mps2-an385")
    text = f'int main(void)\n{{\n    __asm__ volatile("{instructions}" : : : "r0");\n    return 0;\n}}\n'
    assert simulate(platform, build(platform, text, tmp_path), timeout_s=60) == 99
    assert "fault: cfsr=0x" in capfd.readouterr().out
