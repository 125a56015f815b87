#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the reference pages that follow from the code; --check only says which are out of date.

docs/reference/options.md and the keywords of CMake and SCons from the options, the table of platform.md
from the dataclasses of platform files, cmake-functions.md from the comments of cmake/, command-line.md from
the parser, errors.md from the calls that make errors, operators.md, litert.md and a page for each operator from
importers, plan.schema.json from the dataclasses of plans.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from written_files import ROOT, exit_status

PAGES = ROOT / "docs" / "reference"
sys.path.insert(0, str(ROOT / "python"))

import plan_schema  # noqa: E402, for the path above
from operator_pages import operator_pages  # noqa: E402
from option_pages import option_files  # noqa: E402
from setting_pages import platform_keys, with_region  # noqa: E402
from tilewright.base.toml_file import Codes  # noqa: E402
from tilewright.options.declaration import OPTION_CODES  # noqa: E402
from tilewright.platform.file import PLATFORM_CODES  # noqa: E402

HEAD = "<!-- Written by scripts/reference_pages.py. -->\n"


def cmake_page() -> str:
    """Every public function, with the comment above its definition, and the cache variables."""
    texts = {path.name: path.read_text(encoding="utf-8") for path in sorted((ROOT / "cmake").glob("Tilewright*.cmake"))}
    lines = [f"{HEAD}\n# CMake functions\n"]
    lines.append("What they are for, and when they run: [CMake and command line](cmake.md).\n")
    for text in texts.values():
        for comment, name in re.findall(r"#\[\[\n((?:(?!\n#?\]\]).)*?)\n#\]\]\nfunction\((\w+)", text, re.DOTALL):
            if name.startswith("_"):
                continue
            signature, _, prose = comment.partition("\n\n")
            lines.append(f"## {name}\n\n<!-- test: picture -->\n```cmake\n{signature}\n```\n\n{_paragraphs(prose)}\n")
    head = texts["Tilewright.cmake"]
    variables = re.findall(r"^  (TILEWRIGHT_\w+) +(.*?)(?=^  TILEWRIGHT_|^#\]\])", head, re.MULTILINE | re.DOTALL)
    rows = [f"| `{name}` | {_escape(' '.join(what.split()))} |" for name, what in variables]
    lines.append("## Cache variables\n\n| variable | meaning |\n|---|---|\n" + "\n".join(rows) + "\n")
    return "\n".join(lines)


def _paragraphs(prose: str) -> str:
    return "\n\n".join(_escape(" ".join(part.split())) for part in prose.split("\n\n"))


def _escape(text: str) -> str:
    return re.sub(r"(?<!`)<", "\\<", text).replace("|", "\\|")


def command_line_page() -> str:
    """What ``--help`` of every command says, as tables."""
    os.environ["COLUMNS"] = "80"
    from tilewright.cli.main import _modules, _parser

    parser = _parser(_modules(()))
    lines = [f"{HEAD}\n# Command line\n", f"{parser.description}\n"]
    lines.append("Exit status, messages and the options file: [CMake and command line](cmake.md).\n")
    commands = next(action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    shared = [action for action in parser._actions if action is not commands]
    lines += ["## Before or behind any command\n", _options(shared)]
    common = {action.dest for action in shared}
    for choice in commands._choices_actions:
        own = [action for action in commands.choices[choice.dest]._actions if action.dest not in common]
        positional = [f"<{action.dest}>" for action in own if not action.option_strings]
        title = " ".join([choice.dest, *positional])
        lines += [f"## tilewright {title}\n", f"{_sentence(choice.help)}\n", _options(own)]
    return "\n".join(lines)


def _sentence(text: str | None) -> str:
    assert text
    return text[0].upper() + text[1:] + ("" if text.endswith(".") else ".")


def _options(actions: list[argparse.Action]) -> str:
    rows = ["| option | meaning | default |", "|---|---|---|"]
    for action in actions:
        name = f"`{_usage(action)}`".replace("|", "\\|")
        default = "" if action.default in (None, False, [], argparse.SUPPRESS) else f"`{action.default}`"
        needed = "required" if action.required and action.option_strings else default
        rows.append(f"| {name} | {_escape(action.help or '')} | {needed} |")
    return "\n".join(rows) + "\n"


def _usage(action: argparse.Action) -> str:
    if not action.option_strings:
        return f"<{action.dest}>"
    if action.nargs == 0:
        return ", ".join(action.option_strings)
    value = action.metavar or ("|".join(map(str, action.choices)) if action.choices else action.dest.upper())
    return f"{', '.join(action.option_strings)} {value}"


@dataclass(frozen=True, slots=True, order=True)
class Said:
    """One place that makes an error: its code, exit status and message."""

    code: str
    status: int
    what: str


MAKERS = {"bad_input": 2, "does_not_fit": 3, "DoesNotFit": 3, "not_supported": 4}


def errors_page() -> str:
    """All error codes with the exit status and the messages that go with each."""
    found = sorted({*_python_errors(), *_cmake_errors()})
    lines = [f"{HEAD}\n# Errors\n"]
    lines.append(
        "An error says what is wrong, where (`at:`) and what to do (`help:`); its code is stable. `{...}` stands for "
        "what is filled in. CMake functions put their name and target before it, and the command to repeat behind "
        "it. Rules of the checker have codes `plan-<rule>` ([the plan](plan.md)).\n"
    )
    for status, title in ((2, "Bad usage or input"), (3, "Does not fit"), (4, "Not supported"), (70, "Defects")):
        rows = [error for error in found if error.status == status]
        lines.append(f"## {title}: exit status {status}\n\n| code | messages |\n|---|---|")
        for code in dict.fromkeys(error.code for error in rows):
            messages = "; ".join(f"`{_one_line(error.what)}`" for error in rows if error.code == code)
            lines.append(f"| `{code}` | {messages} |")
        lines.append("")
    return "\n".join(lines)


def _one_line(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("`", "'")


def _python_errors() -> Iterator[Said]:
    """Calls of what makes errors, with a literal code; functions that pass a code on make errors too."""
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted((ROOT / "python").rglob("*.py"))}
    makers = {**MAKERS, **{name: status for tree in trees.values() for name, status in _passing_on(tree)}}
    constants = dict(pair for tree in trees.values() for pair in _constants(tree))
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and node.args:
                yield from _said(node, makers, constants)
                yield from _said_of_tables(node, CODES_OF.get(path.parent.name, ()))


def _constants(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Texts that a module names in capitals."""
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str(text))) if name.isupper():
                yield name, text


CODES_OF = {
    "base": (PLATFORM_CODES, OPTION_CODES),
    "platform": (PLATFORM_CODES,),
    "options": (OPTION_CODES,),
}
"""Folder to the codes of errors in the tables that are read there."""


def _said_of_tables(node: ast.Call, kinds: tuple[Codes, ...]) -> Iterator[Said]:
    """Errors in tables of files: made by a table's ``wrong`` and ``missing``, or with a code of ``Codes``."""
    if not isinstance(node.func, (ast.Attribute, ast.Name)):
        return
    called = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
    code, what = {"wrong": "value", "missing": "missing"}.get(called), node.args[0]
    if called in MAKERS and isinstance(node.args[0], ast.Attribute):
        code, what = node.args[0].attr, node.args[1]
    message = _template(what)
    if code is None or message == "{...}":
        return
    for codes in kinds:
        shown = message.replace("{...}", codes.word, 1) if code == "key" else message
        yield Said(getattr(codes, code), 2, shown)


def _passing_on(tree: ast.Module) -> Iterator[tuple[str, int]]:
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        for node in ast.walk(function):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.func.id not in MAKERS:
                continue
            if node.args and isinstance(node.args[0], ast.Name) and node.args[0].id == "code":
                yield function.name, MAKERS[node.func.id]


def _said(node: ast.Call, makers: dict[str, int], constants: dict[str, str]) -> Iterator[Said]:
    named = constants.get(node.args[0].id) if isinstance(node.args[0], ast.Name) else None
    code, messages = named or _template(node.args[0]), [_template(item) for item in node.args[1:]]
    if not isinstance(node.func, ast.Name):
        return
    name = node.func.id
    if name == "_failure" and code == "internal":
        yield Said(code, 70, messages[0])
    if name in makers and re.fullmatch("[a-z-]+", code):
        yield Said(code, makers[name], next((text for text in messages if text != "{...}"), "{...}"))


def _template(node: ast.expr) -> str:
    """The text of a message; anything computed is {...}."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join("{...}" if isinstance(part, ast.FormattedValue) else _template(part) for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _template(node.left) + _template(node.right)
    return "{...}"


def _cmake_errors() -> Iterator[Said]:
    for path in sorted((ROOT / "cmake").glob("*.cmake")):
        for code, what in re.findall(r"error\[([\w-]+)\]: ([^\"\n]*?)(?:\\n|\")", path.read_text(encoding="utf-8")):
            yield Said(code, 2, re.sub(r"\$\{\w+\}", "{...}", what))


def main() -> int:
    """Write the pages, or compare them."""
    # The page of CMake functions shows the keywords that are written first.
    return exit_status(__doc__ or "", option_files, _pages)


def litert_page() -> str:
    """Every operator of .tflite models, with the first paragraph of its translator's docstring."""
    from tilewright.importers.tflite.convert import TRANSLATORS

    lines = [f"{HEAD}\n# Operators of .tflite models\n"]
    lines.append(
        "Quantised operators have the arithmetic of TensorFlow Lite Micro's reference kernels, bit for bit; uint8 that "
        "of LiteRT's. [Coming from TensorFlow Lite Micro](../how-to/coming-from-tflm.md) says what else changes. An "
        "operator that is not listed, or of other types, is refused by name.\n"
    )
    lines.append("| operator | meaning and limits |\n|---|---|")
    for name, translate in sorted(TRANSLATORS.items()):
        what = " ".join((translate.__doc__ or "").split("\n\n")[0].split())
        lines.append(f"| {name} | {_escape(what)} |")
    return "\n".join(lines) + "\n"


def _pages() -> dict[Path, str]:
    pages = {"cmake-functions.md": cmake_page(), "command-line.md": command_line_page(), "errors.md": errors_page()}
    pages["litert.md"] = litert_page()
    pages["platform.md"] = with_region((PAGES / "platform.md").read_text(encoding="utf-8"), "keys", platform_keys())
    pages |= {**operator_pages(), "plan.schema.json": plan_schema.text()}
    return {PAGES / name: text for name, text in pages.items()}


if __name__ == "__main__":
    sys.exit(main())
