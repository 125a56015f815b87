#!/usr/bin/env python3
"""What Tilewright adds to the configure step: cold, unchanged, and with twenty models.

Prints seconds, the best of some runs, beside the same project without the call, and whether the
project's own limits are kept; the exit status is 1 if one is missed.
"""

from __future__ import annotations

import argparse
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MODELS = 20
PROJECT = "cmake_minimum_required(VERSION 3.22)\nproject(p LANGUAGES C)\n"


@dataclass(frozen=True, slots=True)
class Measurement:
    """Seconds of a configure step; ``limit_s`` is the limit that Tilewright sets itself, None for no limit."""

    name: str
    seconds: float
    limit_s: float | None = None

    def __str__(self) -> str:
        limit = "" if self.limit_s is None else f"  limit {self.limit_s:.1f} s {'kept' if self.is_kept else 'MISSED'}"
        return f"{self.name:<44} {self.seconds:6.2f} s{limit}"

    @property
    def is_kept(self) -> bool:
        return self.limit_s is None or self.seconds <= self.limit_s


@dataclass(frozen=True, slots=True)
class Bench:
    """Where projects are made, which model and platform, and how often the unchanged ones are configured."""

    folder: Path
    model: Path
    platform: str
    runs: int

    def project(self, name: str, calls: str) -> Path:
        folder = self.folder / name
        folder.mkdir()
        (folder / "CMakeLists.txt").write_text(PROJECT + calls, encoding="utf-8")
        return folder

    def calls(self, names: list[str]) -> str:
        lines = [f"add_subdirectory([[{ROOT}]] tilewright)\n"]
        for name in names:
            shutil.copy(self.model, self.folder / f"{name}.onnx")
            lines.append(f"tilewright_add_model({name} MODEL ../{name}.onnx PLATFORM {self.platform})\n")
        return "".join(lines)

    def configure(self, project: Path) -> float:
        """Seconds of one configure step."""
        command = ["cmake", "-S", project, "-B", project / "build", "-G", "Ninja"]
        start = time.perf_counter()
        python = f"-DTILEWRIGHT_PYTHON={self.folder / 'python'}"
        done = subprocess.run([*command, python], capture_output=True, text=True, check=False)
        seconds = time.perf_counter() - start
        if done.returncode:
            raise SystemExit(done.stdout + done.stderr)
        return seconds

    def unchanged(self, project: Path) -> float:
        """The best of some configure steps after the first."""
        return min(self.configure(project) for _ in range(self.runs))

    def write_counting_python(self) -> None:
        """An interpreter that keeps a count of its starts."""
        log, real = shlex.quote(str(self.log)), shlex.quote(sys.executable)
        path = self.folder / "python"
        path.write_text(f'#!/bin/sh\necho start >>{log}\nexec {real} "$@"\n', encoding="utf-8")
        path.chmod(0o755)

    @property
    def log(self) -> Path:
        return self.folder / "starts.txt"

    def starts(self) -> int:
        return len(self.log.read_text(encoding="utf-8").splitlines())


def measure(bench: Bench) -> tuple[list[Measurement], int]:
    """All measurements, and how often the unchanged configure steps started Python."""
    bench.write_counting_python()
    plain = bench.project("plain", "")
    one = bench.project("one", bench.calls(["model"]))
    many = bench.project("many", bench.calls([f"model{number}" for number in range(MODELS)]))
    plain_cold, one_cold, many_cold = (bench.configure(project) for project in (plain, one, many))
    before = bench.starts()
    plain_again, one_again, many_again = (bench.unchanged(project) for project in (plain, one, many))
    figures = [
        Measurement("cold, without Tilewright", plain_cold),
        Measurement("cold, one model", one_cold, 4.0),
        Measurement(f"cold, {MODELS} models", many_cold),
        Measurement("unchanged, without Tilewright", plain_again),
        Measurement("unchanged, one model", one_again),
        Measurement("unchanged, what one model adds", one_again - plain_again, 0.2),
        Measurement(f"unchanged, {MODELS} models", many_again, 2.0),
    ]
    return figures, bench.starts() - before


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, default=ROOT / "examples" / "digits" / "digits.onnx")
    parser.add_argument("--platform", default="qemu-virt-rv32")
    parser.add_argument(
        "--runs", type=int, default=5, help="configure each unchanged project this often; the fastest counts"
    )
    parsed = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures, starts = measure(Bench(Path(folder), parsed.model.resolve(), parsed.platform, parsed.runs))
    for figure in figures:
        print(figure)
    print(f"{'unchanged, starts of Python':<44} {starts:6d}    limit 0 {'kept' if starts == 0 else 'MISSED'}")
    return 0 if starts == 0 and all(figure.is_kept for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
