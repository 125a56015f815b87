# SPDX-License-Identifier: Apache-2.0
"""Pages of the operators: what each is, from the docstring of its translation, and every reason to refuse a node of it.

A translation is a function; the reasons are the ``Unsupported`` that it raises, itself or in what it
calls, and those of the methods of ``Call`` that it uses, with the operand's number filled in.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from types import CodeType, FunctionType, ModuleType
from typing import Any

from tilewright.catalogue.operators import OPERATORS
from tilewright.graph import DType
from tilewright.importers.deeploy.dialect import OPERATORS as DIALECT_OPERATORS
from tilewright.importers.deeploy.nodes import DIALECT
from tilewright.importers.onnx import convert
from tilewright.importers.onnx.control import CONTROL
from tilewright.importers.onnx.operands import PATTERNS

HEAD = "<!-- Written by scripts/reference_pages.py. -->\n"
PACKAGE = "tilewright.importers"
WHEN_CONSTANT = "computed at compile time by ONNX's reference, where all inputs are constant"


@dataclass
class Facts:
    """What the source text of a translation, and of the functions that it calls, says about an operator."""

    sentences: list[str] = field(default_factory=list)
    becomes: set[str] = field(default_factory=set)
    types: dict[int, frozenset[DType]] = field(default_factory=dict)
    constants: dict[int, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)


def operator_pages() -> dict[str, str]:
    """File name below docs/reference to content."""
    functions = {**convert.TRANSLATORS, **DIALECT, **CONTROL}
    facts = {name: facts_of(f, stored_integers=name in convert.FOREIGN) for name, f in functions.items()}
    pages = {f"operators/{name}.md": page(name, facts[name]) for name in sorted(facts)}
    pages["operators.md"] = overview(facts)
    return pages


def overview(facts: dict[str, Facts]) -> str:
    """The table of all operators."""
    lines = [f"{HEAD}\n# Operators\n"]
    lines.append(
        "What can be in a model. Each operator has a page with what is refused of it; a node that is refused is named, "
        "with the reason and what would work, for all nodes at once. Operators that are not listed, but that ONNX "
        "defines as functions of others, become those; so do functions of the model. Any operator of ONNX is "
        f"{WHEN_CONSTANT}. "
        "[Your own operators](../how-to/add-an-operator.md) can be added.\n"
    )
    for title, names in (
        ("ONNX's default domain", [n for n in facts if n not in convert.FOREIGN and n not in DIALECT_OPERATORS]),
        ("ai.onnx.ml", [n for n in facts if n in convert.LEARNED]),
        (
            "com.microsoft, and ONNX's on stored integers",
            [n for n in facts if n in convert.FOREIGN and n not in convert.LEARNED],
        ),
        ("Deeploy's dialect", [n for n in facts if n in DIALECT_OPERATORS]),
    ):
        rows = [
            f"| [{n}](operators/{n}.md) | {_first(facts[n])} | {_element_types(facts[n])} | {_limits(facts[n])} |"
            for n in sorted(names)
        ]
        lines.append(f"## {title}\n\n| operator | | types | refused |\n|---|---|---|---|\n" + "\n".join(rows) + "\n")
    folded = ", ".join(sorted(convert.ALWAYS_FOLDED))
    lines.append(f"## Known at compile time\n\n{folded}: {WHEN_CONSTANT}.\n")
    return "\n".join(lines)


def _first(facts: Facts) -> str:
    return _escape(facts.sentences[0]) if facts.sentences else ""


def _element_types(facts: Facts) -> str:
    """Of the operands that are limited, by number where not all of them are."""
    kinds = [_types(types) for _, types in sorted(facts.types.items())]
    if len(set(kinds)) == 1 and 0 in facts.types:
        return kinds[0]
    return "; ".join(f"{index}: {_types(types)}" for index, types in sorted(facts.types.items()))


def _limits(facts: Facts) -> str:
    run_time = [f"{what} at run time" for what in facts.constants.values()]
    return "; ".join(_escape(text) for text in (*run_time, *facts.refused)) or "-"


def page(name: str, facts: Facts) -> str:
    """The page of one operator."""
    lines = [f"{HEAD}\n# {name}\n", *(f"{_escape(sentence)}\n" for sentence in facts.sentences)]
    if facts.becomes:
        lines.append(f"It becomes {', '.join(sorted(facts.becomes))} of [the graph](../graph.md).\n")
    if isinstance(operands := PATTERNS.get(name), str):
        lines.append(f"Shapes of the inputs: `{operands}` ([how to read them](../graph.md#shapes-of-operands)).\n")
    rows = [f"| {index} | {_types(kinds)} |" for index, kinds in sorted(facts.types.items())]
    if rows:
        lines.append("| input | element types |\n|---|---|\n" + "\n".join(rows) + "\n")
    if facts.constants:
        listed = ", ".join(f"{what} (input {index})" for index, what in sorted(facts.constants.items()))
        lines.append(f"Must be constant, or fixed by `freeze`: {_escape(listed)}.\n")
    if facts.refused:
        lines.append("| refused | what would work |\n|---|---|")
        lines += [f"| {_escape(what)} | {_escape(way)} |" for what, way in facts.refused.items()]
        lines.append("")
    else:
        lines.append("Nothing else is refused but more than six axes and element types that the graph lacks.\n")
    return "\n".join(lines)


def facts_of(function: Callable[..., Any], *, stored_integers: bool = False) -> Facts:
    """The facts of a translation; with ``stored_integers`` no types, as the text names those of the float operator."""
    facts = Facts()
    _visit(function, {}, facts, set(), 0)
    if stored_integers:
        facts.types.clear()
    return facts


def _visit(function: Callable[..., Any], bound: dict[str, Any], facts: Facts, seen: set[CodeType], depth: int) -> None:
    if not isinstance(function, FunctionType) or not (function.__module__ or "").startswith(PACKAGE):
        return
    if function.__code__ in seen:
        return
    seen.add(function.__code__)
    node = _definition(function)
    text = _docstring(function, node)
    if text and depth == 0:
        facts.sentences += [" ".join(part.split()) for part in inspect.cleandoc(text).split("\n\n")]
    names = {**function.__globals__, **inspect.getclosurevars(function).nonlocals, **bound}
    for raised, message in _raised(node):
        facts.refused.setdefault(raised, message)
    for call in (item for item in ast.walk(node) if isinstance(item, ast.Call)):
        _look_at(call, names, facts)
    for called, given in _functions(node, names):
        # A wrapper without a docstring has that of the function which it wraps.
        _visit(called, given, facts, seen, 0 if depth == 0 and not facts.sentences else depth + 1)


def _docstring(function: FunctionType, node: ast.AST) -> str | None:
    """The docstring of a function, or of the function in whose body it is defined."""
    if function.__doc__ or isinstance(node, ast.Lambda):
        return function.__doc__
    for outer in _tree(inspect.getmodule(function)):
        if isinstance(outer, ast.FunctionDef) and outer is not node and node in ast.walk(outer):
            return ast.get_docstring(outer)
    return None


def _look_at(call: ast.Call, names: dict[str, Any], facts: Facts) -> None:
    """Take the facts that a call states.

    emit: what the operator becomes; typed, pair, real: element types; constant: operands that must be constant.
    """
    target = call.func
    word = target.attr if isinstance(target, ast.Attribute) else target.id if isinstance(target, ast.Name) else ""
    literal = [item.value if isinstance(item, ast.Constant) else None for item in call.args]
    if word in ("emit", "emit_all", "emit_parts") and call.args:
        name = literal[0] if literal[0] is not None else _value(call.args[0], names)
        if isinstance(name, str) and name in OPERATORS:
            facts.becomes.add(name)
    if word == "typed" and len(call.args) > 2:
        kinds, index = _value(call.args[2], names), literal[1] if isinstance(literal[1], int) else 0
        if isinstance(kinds, frozenset):
            facts.types[index] = facts.types.get(index, frozenset()) | kinds
    if word == "pair" and len(call.args) > 1:
        kinds = _value(call.args[1], names)
        for index in (0, 1):
            facts.types[index] = facts.types.get(index, frozenset()) | (kinds or frozenset())
    if word == "real" and literal and isinstance(literal[0], int):
        facts.types[literal[0]] = facts.types.get(literal[0], frozenset()) | {DType.FLOAT32}
    if word == "constant" and len(literal) > 1 and isinstance(literal[0], int) and isinstance(literal[1], str):
        facts.constants.setdefault(literal[0], literal[1])


def _types(kinds: frozenset[DType]) -> str:
    if kinds == frozenset(DType):
        return "all"
    if kinds == frozenset(DType) - {DType.BOOL}:
        return "all but bool"
    return ", ".join(kind.value for kind in DType if kind in kinds)


def _value(node: ast.expr, names: dict[str, Any]) -> Any:
    """What a name, or an element of a table by a name, stands for."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.Subscript):
        table, key = _value(node.value, names), _value(node.slice, names)
        return table.get(key) if hasattr(table, "get") and isinstance(key, str) else None
    return None


def _functions(node: ast.AST, names: dict[str, Any]) -> Iterator[tuple[Callable[..., Any], dict[str, Any]]]:
    """Functions that a body calls or passes on, and what it gives them as far as the text says."""
    for item in ast.walk(node):
        called = item.func if isinstance(item, ast.Call) else item
        value = _value(called, names) if isinstance(called, (ast.Name, ast.Subscript)) else None
        if not callable(value) or isinstance(value, type):
            continue
        given = {}
        if isinstance(item, ast.Call) and isinstance(value, FunctionType):
            parameters = list(inspect.signature(value).parameters)
            given = {name: _value(argument, names) for name, argument in zip(parameters, item.args, strict=False)}
        yield value, {name: content for name, content in given.items() if content is not None}


def _raised(node: ast.AST) -> Iterator[tuple[str, str]]:
    for item in ast.walk(node):
        if isinstance(item, ast.Call) and isinstance(item.func, ast.Name) and item.func.id == "Unsupported":
            texts = [_template(argument) for argument in item.args]
            # What "typed" refuses stands in the column of types.
            if texts and texts[0].strip("{.}") and not texts[0].endswith("can be computed"):
                yield texts[0], texts[1] if len(texts) > 1 else ""


def _template(node: ast.expr) -> str:
    """The text of a message with names in place of what is computed."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(_template(part) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        return f"{{{node.value.id}}}" if isinstance(node.value, ast.Name) else "..."
    if isinstance(node, ast.BinOp):
        return _template(node.left) + _template(node.right)
    return "{...}"


def _definition(function: FunctionType) -> ast.AST:
    """The syntax tree of a function; that of a lambda is found by its line."""
    line = function.__code__.co_firstlineno
    for node in _tree(inspect.getmodule(function)):
        if isinstance(node, (ast.FunctionDef, ast.Lambda)) and node.lineno == line:
            return node
    raise LookupError(f"{function.__qualname__} is not where it says")


@cache
def _tree(module: ModuleType | None) -> tuple[ast.AST, ...]:
    assert module is not None
    return tuple(ast.walk(ast.parse(inspect.getsource(module))))


def _escape(text: str) -> str:
    return re.sub(r"([<|*])", r"\\\1", text)
