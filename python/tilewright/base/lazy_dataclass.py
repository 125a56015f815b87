"""Dataclasses that compile no methods at import.

``dataclasses.dataclass`` writes six methods of each class as text and compiles them: 0.3 ms a class, a fifth of the
time that a small network takes, and half of the classes that are imported never have an object. Here
``@dataclass(frozen=True, slots=True)`` and ``@dataclass(slots=True)`` compile ``__init__`` alone, and only for classes
with more than a few objects; the other methods are the same functions for all classes. To type checkers, and with any
other arguments, it is the decorator of the standard library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    import dataclasses
    from operator import attrgetter

    _standard = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True)
    """The standard decorator, which compiles no method."""

    _FEW = 16
    """Objects that a class makes without a compiled ``__init__``; to compile one takes as long as 30 of them."""

    def dataclass(cls=None, /, **options):
        """Decorate a class as ``dataclasses.dataclass`` does, with the same arguments."""
        if options == {"frozen": True, "slots": True}:
            return _frozen
        if options == {"slots": True}:
            return _changeable
        return dataclasses.dataclass(cls, **options)

    def _frozen(cls):
        made = _made(_with_frozen_fields(cls), (__repr__, __eq__, __setattr__, __delattr__, __getstate__, __setstate__))
        # Python itself writes the entry None for a class that defines __eq__.
        if made.__dict__.get("__hash__") is None:
            made.__hash__ = __hash__
        return made

    def _changeable(cls):
        made = _made(_with_fields(cls), (__repr__, __eq__))
        if "__hash__" not in made.__dict__:
            made.__hash__ = None
        return made

    def _with_fields(cls):
        """The class with its fields and slots."""
        # To a class without a docstring the standard decorator writes one of all parameters.
        cls.__doc__ = cls.__doc__ or cls.__name__
        return _standard(cls)

    def _made(made, methods):
        """The class with these methods, but for those that it defines itself."""
        made.__init__ = _first_init(made)
        for method in methods:
            if method.__name__ not in made.__dict__:
                setattr(made, method.__name__, method)
        made._compared = _values_of([field.name for field in dataclasses.fields(made) if field.compare])
        return made

    def _with_frozen_fields(cls):
        """``_with_fields`` of a class that is to be frozen.

        The standard decorator compiles two methods for such a class, and refuses one that is not below classes that
        are. So no class is called frozen while it works, and all are afterwards: it may derive frozen ones from them.
        """
        bases = [base.__dataclass_params__ for base in cls.__mro__ if "__dataclass_params__" in base.__dict__]
        for parameters in bases:
            parameters.frozen = False
        made = _with_fields(cls)
        for parameters in (*bases, made.__dataclass_params__):
            parameters.frozen = True
        return made

    def _first_init(cls):
        """An ``__init__`` that sets the fields of a few objects and then puts the compiled one in its own place."""
        made = 0

        def __init__(self, *arguments, **named):
            nonlocal made
            made += 1
            if made <= _FEW and _set_fields(self, dataclasses.fields(cls), arguments, named):
                return
            cls.__init__ = _compiled_init(cls)
            cls.__init__(self, *arguments, **named)

        return __init__

    def _set_fields(item, fields, arguments, named):
        """Set all fields; whether the arguments suit them: if not, it is the compiled ``__init__`` that complains."""
        if len(arguments) + len(named) > len(fields) or not all(field.init for field in fields):
            return False
        for field, value in zip(fields, arguments, strict=False):
            object.__setattr__(item, field.name, value)
        taken = 0
        for field in fields[len(arguments) :]:
            if field.name in named:
                value, taken = named[field.name], taken + 1
            elif field.default is not dataclasses.MISSING:
                value = field.default
            elif field.default_factory is not dataclasses.MISSING:
                value = field.default_factory()
            else:
                return False
            object.__setattr__(item, field.name, value)
        if taken < len(named):
            return False
        if hasattr(item, "__post_init__"):
            item.__post_init__()
        return True

    def _compiled_init(cls):
        """``__init__`` with the fields as parameters, which are set by the descriptors of their slots."""
        parameters, lines, known = ["self"], [], {}
        for field in dataclasses.fields(cls):
            name, value = field.name, field.name
            known[f"_set_{name}"] = getattr(cls, name).__set__
            known[f"_default_{name}"], known[f"_made_{name}"] = field.default, field.default_factory
            is_made = field.default_factory is not dataclasses.MISSING
            if is_made:
                value = f"_made_{name}() if {name} is _default_{name} else {name}"
            has_default = is_made or field.default is not dataclasses.MISSING
            if field.init:
                parameters.append(f"{name}=_default_{name}" if has_default else name)
            elif has_default:
                lines.append(f"{name} = _default_{name}")
            if field.init or has_default:
                lines.append(f"_set_{name}(self, {value})")
        if hasattr(cls, "__post_init__"):
            lines.append("self.__post_init__()")
        exec(f"def __init__({', '.join(parameters)}):\n " + "\n ".join(lines or ["pass"]), known)
        made = known["__init__"]
        made.__qualname__ = f"{cls.__qualname__}.__init__"
        return made

    def _values_of(names):
        """A function of an object that gives the values of these fields as a tuple."""
        if len(names) > 1:
            return staticmethod(attrgetter(*names))
        return staticmethod(lambda item: tuple(getattr(item, name) for name in names))

    def __repr__(self):
        shown = (f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr)
        return f"{type(self).__qualname__}({', '.join(shown)})"

    def __eq__(self, other):
        if other.__class__ is not self.__class__:
            return NotImplemented
        return self._compared(self) == self._compared(other)

    def __hash__(self):
        return hash(self._compared(self))

    def __setattr__(self, name, value):
        raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name):
        raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")

    def __getstate__(self):
        return [getattr(self, field.name) for field in dataclasses.fields(self)]

    def __setstate__(self, state):
        for field, value in zip(dataclasses.fields(self), state, strict=True):
            object.__setattr__(self, field.name, value)
