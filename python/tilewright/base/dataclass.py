"""``dataclass`` with the meaning of the standard library's, for a program that declares hundreds and starts often.

The standard library compiles up to six methods of a class where the class is declared, used or not. Here a method
is compiled when it is called for the first time, and what needs no compiling is shared by all classes. An
``__init__`` of a frozen class writes through the descriptors of its slots, which is quicker than by name.

The standard library takes the classes for dataclasses that are not frozen, and lets no class of its own
``dataclass(frozen=True)`` inherit from them. A class from which others' classes inherit is therefore frozen by the
standard library, and so are the classes here that inherit from it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(
        cls: type | None = None,
        /,
        *,
        eq: bool = True,
        frozen: bool = False,
        kw_only: bool = False,
        slots: bool = False,
    ) -> Any:
        """``dataclasses.dataclass`` with these of its parameters."""

        def record(cls: type) -> type:
            return _record(cls, eq=eq, frozen=frozen, kw_only=kw_only, slots=slots)

        return record if cls is None else record(cls)


def _record(cls: type, *, eq: bool, frozen: bool, kw_only: bool, slots: bool) -> type:
    own = set(vars(cls))
    hashes = vars(cls).get("__hash__") is not None
    like_base: bool = getattr(getattr(cls, "__dataclass_params__", None), "frozen", False)
    made: type = dataclasses.dataclass(
        init=False, repr=False, eq=False, frozen=like_base, kw_only=kw_only, slots=slots
    )(cls)
    methods: dict[str, Any] = {"__init__": _late(made, "__init__", _init), "__repr__": _repr}
    if eq:
        methods["__eq__"] = _late(made, "__eq__", _eq)
    if frozen:
        methods |= {"__setattr__": _refuse_assignment, "__delattr__": _refuse_deletion}
    if frozen and slots:
        methods |= {"__getstate__": _state, "__setstate__": _set_state}
    for name, method in methods.items():
        if name not in own:
            setattr(made, name, method)
    if eq and not hashes:
        made.__hash__ = _late(made, "__hash__", _hash) if frozen else None  # type: ignore[assignment]
    return made


def _late(cls: type, name: str, write: Callable[[type], Callable[..., Any]]) -> Callable[..., Any]:
    """A method that puts what ``write`` gives in its own place when it is called for the first time."""

    def method(*arguments: Any, **keywords: Any) -> Any:
        written = write(cls)
        written.__qualname__ = f"{cls.__qualname__}.{name}"
        setattr(cls, name, written)
        return written(*arguments, **keywords)

    return method


def _init(cls: type) -> Callable[..., Any]:
    """``__init__``: an argument for each field, positional ones first; then ``__post_init__``."""
    names: dict[str, Any] = {"__absent": _ABSENT, "__put": object.__setattr__}
    plain, by_keyword, body = list[str](), list[str](), list[str]()
    for index, field in enumerate(dataclasses.fields(cls)):
        value = field.name
        if field.default_factory is not dataclasses.MISSING:
            names[f"__default_{index}"] = field.default_factory
            made = f"__default_{index}()"
            value = f"{made} if {field.name} is __absent else {field.name}" if field.init else made
        elif field.default is not dataclasses.MISSING:
            names[f"__default_{index}"] = field.default
            value = field.name if field.init else f"__default_{index}"
        elif not field.init:
            continue
        if field.init:
            (by_keyword if field.kw_only else plain).append(_parameter(field, index))
        body.append(_store(cls, field.name, value, index, names))
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    parameters = ["self", *plain, *(["*", *by_keyword] if by_keyword else [])]
    return _compiled("__init__", parameters, body or ["pass"], names)


def _parameter(field: dataclasses.Field[Any], index: int) -> str:
    if field.default_factory is not dataclasses.MISSING:
        return f"{field.name}=__absent"
    return field.name if field.default is dataclasses.MISSING else f"{field.name}=__default_{index}"


def _store(cls: type, name: str, value: str, index: int, names: dict[str, Any]) -> str:
    """A statement that gives the field its value, though assignment may be refused."""
    assigns: Callable[..., Any] = cls.__setattr__
    if assigns is not _refuse_assignment:
        return f"self.{name} = {value}"
    slot = getattr(cls, name, None)
    if not isinstance(slot, MemberDescriptorType):
        return f"__put(self, {name!r}, {value})"
    names[f"__put_{index}"] = slot.__set__
    return f"__put_{index}(self, {value})"


def _eq(cls: type) -> Callable[..., Any]:
    compared = [field.name for field in dataclasses.fields(cls) if field.compare]
    body = [
        "if other.__class__ is self.__class__:",
        f"    return {_tuple('self', compared)} == {_tuple('other', compared)}",
        "return NotImplemented",
    ]
    return _compiled("__eq__", ["self", "other"], body, {})


def _hash(cls: type) -> Callable[..., Any]:
    hashed = [f.name for f in dataclasses.fields(cls) if (f.compare if f.hash is None else f.hash)]
    return _compiled("__hash__", ["self"], [f"return hash({_tuple('self', hashed)})"], {})


def _tuple(owner: str, names: Iterable[str]) -> str:
    return "(" + "".join(f"{owner}.{name}, " for name in names) + ")"


def _compiled(name: str, parameters: Iterable[str], body: Iterable[str], names: dict[str, Any]) -> Callable[..., Any]:
    lines = "".join(f"    {line}\n" for line in body)
    found: dict[str, Callable[..., Any]] = {}
    exec(f"def {name}({', '.join(parameters)}):\n{lines}", names, found)
    return found[name]


def _repr(self: Any) -> str:
    shown = (f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _refuse_assignment(self: object, name: str, value: object) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_deletion(self: object, name: str) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    """What pickle keeps of an instance."""
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)


_ABSENT = object()
"""The argument of a field with a factory that is not given."""
