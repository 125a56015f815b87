"""Attributes of operators: from values by name, as a model has them, to an operator's own type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields
from typing import Any

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Attributes


@dataclass(frozen=True, slots=True)
class AxisAttributes(Attributes):
    """Attributes of an operator along one axis; ``axis`` counts from the first axis and is never negative."""

    axis: int


@dataclass(frozen=True, slots=True, eq=False)
class NamedAttributes(Attributes, Mapping[str, Any]):
    """Attributes by name, as the model gives them: for a project's operator that declares no type for them."""

    given: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.given[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.given)

    def __len__(self) -> int:
        return len(self.given)


def attributes_from(kind: type[Attributes], values: Mapping[str, Any]) -> Attributes:
    """Attributes of type ``kind``, from their values by name.

    Lists and arrays become tuples, NumPy's numbers become Python's, and for a bool 0 and 1 become False and True.

    Raises:
        TypeError: a name that ``kind`` does not have, or no value for a field without default.
    """
    if kind is NamedAttributes:
        return NamedAttributes(dict(values))
    known = {field.name: field for field in fields(kind)}
    needed = [name for name, field in known.items() if field.default is MISSING and name not in values]
    wrong = [f"there is no attribute '{name}'" for name in sorted(values.keys() - known.keys())]
    wrong += [f"attribute '{name}' is missing" for name in needed]
    if wrong:
        raise TypeError("; ".join(wrong))
    return kind(**{name: _normal(value, _written(known[name].type)) for name, value in values.items()})


def _written(kind: object) -> str:
    """A field's type as written in the source; without ``from __future__ import annotations``, the type's name."""
    return kind.__name__ if isinstance(kind, type) and not hasattr(kind, "__args__") else str(kind)


def _normal(value: Any, kind: str) -> Any:
    if isinstance(value, (list, tuple, np.ndarray)):
        return tuple(_normal(item, kind.removeprefix("tuple[").removesuffix(", ...]")) for item in value)
    plain = value.item() if isinstance(value, np.generic) else value
    return bool(plain) if kind == "bool" else plain
