"""Python code that users name: ``package.module:function``, or an entry point of a group."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.metadata import entry_points
from inspect import signature
from typing import Any


class CannotImport(Exception):
    """Code that a user names cannot be imported, or taken; the text says why, ``help`` what could be."""

    def __init__(self, why: str, help: str = "") -> None:
        super().__init__(why)
        self.help = help


def offered_names(group: str) -> tuple[str, ...]:
    """The names of the entry points of a group, sorted."""
    return tuple(sorted(entry_points(group=group).names))


def own_object(name: str, group: str = "") -> object:
    """The entry point of a group by its name, or else what ``module:name`` names. Raises CannotImport."""
    offered = entry_points(group=group)
    module, _, attribute = name.partition(":")
    try:
        return offered[name].load() if name in offered.names else getattr(import_module(module), attribute)
    except Exception as error:  # a module of the user may raise anything at import
        raise CannotImport(str(error)) from error


def own_function(name: str, group: str, parameter: str, ours: Sequence[str]) -> Callable[[Any], Any]:
    """The function of one parameter that an option's value names, beside our own values ``ours``.

    Raises CannotImport whose text follows the option and its value: "strategy 'x' <text>". A function is taken by
    the name of its parameter alone; no other function is called, such as ``os:remove``.
    """
    offered = offered_names(group)
    if name not in offered and not name.partition(":")[2]:
        raise CannotImport("is unknown", f"one of {', '.join((*ours, *offered))}, or package.module:function")
    try:
        found = own_object(name, group)
    except CannotImport as error:
        raise CannotImport(f"cannot be imported: {error}") from error
    if not callable(found) or _parameters(found) != [parameter]:
        raise CannotImport(f"is no function({parameter})")
    return found


def _parameters(function: Callable[..., object]) -> list[str]:
    try:
        return list(signature(function).parameters)
    except (TypeError, ValueError):
        return []
