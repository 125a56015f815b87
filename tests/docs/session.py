"""Does what a page says, in a folder of its own."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from docs.pages import ROOT, Block, blocks

COMPILE = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
SHOWN = ("text", "")
COMMAND = re.compile(r"^(?:\$ |(?:tilewright|cmake|ctest|make|pip|python3?|scons|qemu\S*) )", re.MULTILINE)


def packages_of_setup() -> set[str]:
    """The system packages that scripts/setup.sh installs."""
    text = (ROOT / "scripts" / "setup.sh").read_text(encoding="utf-8")
    return set(re.findall(r"^ *need (\S+)", text, re.MULTILINE))


class WrongPage(AssertionError):
    """What a page says is not what happens."""


@dataclass(frozen=True, slots=True)
class Session:
    """A folder, and the environment in which its commands run; commands may change the latter.

    Attributes:
        page: for messages.
        folder: where files are written and commands begin.
        environment: variables for the first command.
    """

    page: str
    folder: Path
    environment: dict[str, str]

    def run_page(self, text: str) -> int:
        """Do everything; how many blocks were run or written. Raises WrongPage."""
        found = blocks(text)
        printed = ""
        count = 0
        for before, block in pairwise([Block("", "", 0), *found]):
            if block.language in SHOWN and set(block.directives) <= {"figures"} and not block.named:
                self._look_at(block, printed if before.language == "sh" else None)
                continue
            printed = self._do(block)
            count += 1
        return count

    def _look_at(self, block: Block, printed: str | None) -> None:
        """Check a block that is not run: an output must be what was printed, and other text must hold no command."""
        if printed is not None:
            self._expect(block, printed)
        elif COMMAND.search(block.text):
            raise self._wrong(block, "commands stand in blocks of 'sh'")

    def _do(self, block: Block) -> str:
        words = block.directives
        if "picture" in words:
            return ""
        if "packages" in words:
            return self._packages(block)
        if "of" in words:
            return self._excerpt(block)
        if "by" in words:
            return self._elsewhere(block)
        if "configure" in words:
            return self._configure(block)
        if "compile" in words:
            return self._compile(block)
        if "append" in words:
            with (self.folder / words["append"]).open("a", encoding="utf-8") as file:
                file.write(block.text)
            return ""
        if block.file:
            path = self.folder / block.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
            return ""
        if block.language == "sh":
            return self._run(block, may_fail="fails" in words)
        raise self._wrong(block, f"nothing says how this block of '{block.language}' is tested")

    def _run(self, block: Block, may_fail: bool) -> str:
        """Type the lines; variables and the current folder stay as in one shell."""
        state = self.folder.parent / "state.sh"
        before = f". '{state}'\n" if state.exists() else ""
        after = f"\n{{ export -p; printf 'cd %q\\n' \"$PWD\"; }} >'{state}'\n"
        script = f"{before}set -e\n{block.text}{after}"
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=900,
            check=False,
        )
        if (done.returncode != 0) != may_fail:
            expected = "fail" if may_fail else "succeed"
            raise self._wrong(block, f"should {expected}, but ends with {done.returncode}:\n{done.stdout}")
        return done.stdout

    def _expect(self, block: Block, printed: str) -> None:
        if not matches(block.text, printed, any_figures="figures" in block.directives):
            raise self._wrong(block, f"expected\n{block.text}in what was printed:\n{printed}")

    def _elsewhere(self, block: Block) -> str:
        path = ROOT / block.directives["by"]
        name = Path(self.page).name
        if not path.is_file() or name not in path.read_text(encoding="utf-8"):
            raise self._wrong(block, f"{block.directives['by']} is no file that speaks of {name}")
        return ""

    def _excerpt(self, block: Block) -> str:
        """Check that the lines of the block stand in the file; their indentation may differ."""
        path = ROOT / block.directives["of"]
        lines = iter(path.read_text(encoding="utf-8").splitlines() if path.is_file() else [])
        for wanted in block.text.splitlines():
            if wanted.strip() and not any(line.strip() == wanted.strip() for line in lines):
                raise self._wrong(block, f"'{wanted}' does not stand in {block.directives['of']}, or not in this order")
        return ""

    def _packages(self, block: Block) -> str:
        (line,) = (line for line in block.text.splitlines() if "apt-get install" in line)
        unknown = {
            word for word in line.split("install", 1)[1].split() if not word.startswith("-")
        } - packages_of_setup()
        unknown -= {"python3", "python3-venv", "python3-dev", "make", "git"}
        if unknown:
            raise self._wrong(block, f"scripts/setup.sh does not install {', '.join(sorted(unknown))}")
        return ""

    def _configure(self, block: Block) -> str:
        head = "cmake_minimum_required(VERSION 3.22)\nproject(p LANGUAGES C)\nenable_testing()\n"
        variables = "if(NOT platform)\nset(platform host)\nendif()\n"
        tool = f"add_subdirectory([[{ROOT}]] tilewright)\n" if "add_subdirectory" not in block.text else ""
        source = f"{head}{variables}{tool}add_executable(firmware main.c)\n{block.text}"
        (self.folder / "CMakeLists.txt").write_text(source, encoding="utf-8")
        python = shlex.quote(shutil.which("python3", path=self.environment["PATH"]) or sys.executable)
        command = f"cmake -S . -B build-{block.line} -G Ninja -DTILEWRIGHT_PYTHON={python}\n"
        return self._run(Block("sh", command, block.line), may_fail="fails" in block.directives)

    def _compile(self, block: Block) -> str:
        """Compile the block as a function's body behind a file of the folder, with the headers below the folder."""
        before = (self.folder / block.directives["compile"]).read_text(encoding="utf-8")
        lines = block.text.splitlines()
        heads = "\n".join(line for line in lines if line.startswith("#include"))
        body = "\n".join(line for line in lines if not line.startswith("#include"))
        source = f"{heads}\n{before}\nvoid snippet(void);\nvoid snippet(void)\n{{\n{body}\n}}\n"
        includes = {str(path.parent) for path in self.folder.rglob("build*/**/*.h")}
        options = [f"-I{folder}" for folder in [str(self.folder), *sorted(includes), str(ROOT / "runtime" / "include")]]
        command = ["cc", *COMPILE, "-Wno-unused-variable", "-Wno-unused-but-set-variable", *options, "-xc", "-"]
        done = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
        if done.returncode:
            raise self._wrong(block, f"does not compile:\n{done.stderr}")
        return ""

    def _wrong(self, block: Block, what: str) -> WrongPage:
        return WrongPage(f"{self.page}:{block.line}: {what}")


def matches(expected: str, printed: str, any_figures: bool = False) -> bool:
    """Whether the lines stand in what was printed, in order, without others between them but at ``...``.

    With ``any_figures`` a number, and the spaces before it, stand for any number.
    """
    parts = []
    for line in expected.splitlines():
        if line.strip() == "...":
            parts.append(r"(?:[^\n]*\n)*?")
            continue
        pattern = ".*?".join(map(re.escape, line.rstrip().split("...")))
        if any_figures:
            pattern = re.sub(r"(?:\\ )*[0-9][0-9,]*(?:\\\.[0-9]+)?", r" *[0-9][0-9,.]*", pattern)
        parts.append(pattern + r"[ \t]*\n")
    return re.search(r"(?:^|\n)" + "".join(parts), _with_failures(printed).rstrip("\n") + "\n") is not None


def _with_failures(printed: str) -> str:
    """What CTest 4 prints, in the words of older ones: these count failures where there are none, too."""
    return re.sub(r"(?m)^100% tests passed out of ", "100% tests passed, 0 tests failed out of ", printed)


def tool_environment() -> dict[str, str]:
    """Variables for commands of pages: this interpreter, and the tool of the source tree, first on PATH."""
    paths = os.pathsep.join(filter(None, [str(ROOT / "python"), os.environ.get("PYTHONPATH", "")]))
    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return {**os.environ, "PYTHONPATH": paths, "PATH": programs, "TILEWRIGHT": str(ROOT), "LC_ALL": "C.UTF-8"}
