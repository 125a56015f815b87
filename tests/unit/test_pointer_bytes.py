"""``[core] pointer_bytes``: scratch is for pointers of that size, and generated code says so."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from support.firmware import needs_host_compiler
from tilewright.base.errors import TilewrightError
from tilewright.base.resources import platforms_dir, runtime_dir
from tilewright.options import build_options
from tilewright.pipeline import compile_model
from tilewright.plan import BufferKind, Plan
from tilewright.platform import load_platform

MODEL = Path(__file__).parents[1] / "firmware" / "models" / "qdq_residual" / "network.onnx"


def platform_with(pointer_bytes: str, folder: Path) -> Path:
    text = (platforms_dir() / "pulp-open.toml").read_text(encoding="utf-8")
    path = folder / f"pointers{pointer_bytes}.toml"
    path.write_text(text.replace("pointer_bytes = 4", f"pointer_bytes = {pointer_bytes}"), encoding="utf-8")
    return path


def compiled(platform: Path, folder: Path) -> Plan:
    values = {"model": MODEL, "platform": str(platform), "name": "net", "pools": ["l1=16000"]}
    found = compile_model(build_options(("test", values)))
    for name, content in found.files.items():
        (folder / name).write_bytes(content)
    return found.plan


def test_smaller_pointers_leave_more_for_tiles(tmp_path: Path) -> None:
    def scratch_bytes(pointer_bytes: str) -> int:
        plan = compiled(platform_with(pointer_bytes, tmp_path), tmp_path)
        return sum(buffer.size_bytes for buffer in plan.buffers if buffer.kind is BufferKind.SCRATCH)

    assert scratch_bytes("4") < scratch_bytes("8")


@pytest.mark.parametrize("pointer_bytes", ["5", "2", "16"])
def test_other_sizes_are_refused(pointer_bytes: str, tmp_path: Path) -> None:
    with pytest.raises(TilewrightError, match="pointer_bytes"):
        load_platform(platform_with(pointer_bytes, tmp_path))


@needs_host_compiler
@pytest.mark.parametrize(("pointer_bytes", "compiles"), [("4", False), ("8", True)])
def test_larger_pointers_do_not_compile(pointer_bytes: str, compiles: bool, tmp_path: Path) -> None:
    compiled(platform_with(pointer_bytes, tmp_path), tmp_path)
    compiler = shutil.which("cc")
    assert compiler is not None
    command = [compiler, "-std=c11", "-fsyntax-only", f"-I{tmp_path}", f"-I{runtime_dir() / 'include'}"]
    done = subprocess.run([*command, str(tmp_path / "net.c")], capture_output=True, text=True, check=False)
    assert (done.returncode == 0) == compiles
    assert ("[core] pointer_bytes" in done.stderr) != compiles
