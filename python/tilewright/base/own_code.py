"""Python code that users name: ``package.module:function``, or an entry point of a group."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import entry_points


class CannotImport(Exception):
    """Code that a user names cannot be imported; the text says why."""


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
