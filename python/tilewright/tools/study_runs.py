"""A point of a study as a program: compiled for its platform, and run once in the platform's simulator."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tilewright.base import resources
from tilewright.base.errors import TilewrightError, not_supported
from tilewright.codegen.render import render
from tilewright.options import CompileOptions, Weights
from tilewright.pipeline import compile_model
from tilewright.plan import InterfaceTensor, Plan
from tilewright.platform import Platform, load_platform, platform_file
from tilewright.tools.all_files import all_files
from tilewright.tools.manifest import manifest_name

SECONDS = 600
"""The longest that a program may run."""

_TAKEN = re.compile(r"^taken ([0-9]+)$", re.MULTILINE)


def run_point(options: CompileOptions) -> tuple[int, str]:
    """(Count, what is counted) of one run: ``cycles``, ``instructions`` or ``nanoseconds``.

    Raises:
        TilewrightError: ``study-run``, if the platform has no simulator, the options give the run function other
            arguments, or a step fails, with the end of what it printed.
    """
    platform = load_platform(options.platform)
    _require_runnable(options, platform)
    assert platform.simulator is not None
    options = replace(options, static_pools=True)
    artifacts = compile_model(options)
    with tempfile.TemporaryDirectory(prefix="tilewright-") as name:
        folder = Path(name)
        _write(folder, options, artifacts.plan, all_files(options, artifacts))
        _step("cmake", "-S", name, "-B", f"{name}/build", *_definitions(platform))
        _step("cmake", "--build", f"{name}/build")
        words = ("--platform", str(platform_file(options.platform)), "--elf", f"{name}/build/program")
        printed = _step(sys.executable, "-m", "tilewright", "simulate", *words, "--timeout", str(SECONDS))
    found = _TAKEN.search(printed)
    if found is None:
        raise _failed("the program", printed)
    return int(found[1]), platform.simulator.counter.value


def _require_runnable(options: CompileOptions, platform: Platform) -> None:
    problems = {
        f"platform '{platform.name}' has no simulator": platform.simulator is None,
        "IO_IN_POOLS leaves inputs to the plan": options.io_in_pools,
        "FEED gives an input in parts": bool(options.feed),
        "WEIGHTS external needs a file": options.weights is Weights.EXTERNAL,
    }
    for what, is_so in problems.items():
        if is_so:
            raise not_supported("study-run", f"not run: {what}", help="leave --run out for this study")


def _write(folder: Path, options: CompileOptions, plan: Plan, files: dict[str, bytes]) -> None:
    names = {
        "functions": resources.cmake().as_posix(),
        "manifest": manifest_name(options.name),
        "platform": platform_file(options.platform).resolve().as_posix(),
    }
    (folder / "model").mkdir()
    for name, content in files.items():
        (folder / "model" / name).write_bytes(content)
    (folder / "CMakeLists.txt").write_text(render("study_project.cmake.j2", **names), encoding="utf-8")
    inputs, outputs = _named(plan, plan.inputs, "input"), _named(plan, plan.outputs, "output")
    sides = {"inputs": inputs, "outputs": outputs, "tensors": [*inputs, *outputs]}
    main = render("study_main.c.j2", prefix=plan.name, stateful=bool(plan.states), **sides)
    (folder / "main.c").write_text(main, encoding="utf-8")


def _named(plan: Plan, items: Sequence[InterfaceTensor], side: str) -> list[dict[str, str]]:
    """Tensors of the interface as the template prints them."""
    return [
        {"macro": f"{plan.name}_{side}_{item.identifier}".upper(), "variable": f"{side}_{item.identifier}"}
        for item in items
    ]


def _definitions(platform: Platform) -> tuple[str, ...]:
    """Definitions for CMake's command line: this interpreter, and the shipped toolchain for the platform's options."""
    words = " ".join(platform.target.compile_options)
    own = (f"-DTILEWRIGHT_PYTHON={sys.executable}",)
    for part, name in (("-march=rv", "riscv64-unknown-elf-gcc"), ("-mcpu=cortex", "arm-none-eabi-gcc")):
        if part in words:
            return (*own, f"-DCMAKE_TOOLCHAIN_FILE={resources.cmake() / 'toolchains' / name}.cmake")
    return own


def _step(*command: str) -> str:
    """Standard output of a command."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise not_supported("study-run", f"not run: '{command[0]}' cannot be started: {error.strerror}") from error
    if done.returncode != 0:
        raise _failed(f"'{Path(command[0]).name} {command[1]}'", done.stdout + done.stderr)
    return done.stdout


def _failed(what: str, printed: str) -> TilewrightError:
    return not_supported("study-run", f"not run: {what} failed: {printed.strip()[-500:]}")
