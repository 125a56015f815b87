"""The project's ``dataclass`` means what the standard library's means."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any, ClassVar

import pytest
from tilewright.base import dataclass as quick


@quick.dataclass(frozen=True, slots=True)
class Base:
    """Fields with and without a default."""

    first: int
    second: str = "two"


@quick.dataclass(frozen=True, slots=True)
class Derived(Base):
    """Each kind of default, and fields that do not count."""

    third: list[int] = dataclasses.field(default_factory=list)
    unseen: int = dataclasses.field(default=4, compare=False, repr=False)
    kind: ClassVar[str] = "derived"


@quick.dataclass(frozen=True)
class Wide:
    """A class with a dictionary, and keywords that may collide with names of the maker's own."""

    put: int
    absent: int = 1
    names: tuple[str, ...] = ()


@quick.dataclass(slots=True)
class Counted:
    """Not frozen, a field made after the others."""

    start: int
    seen: list[int] = dataclasses.field(default_factory=list)
    total: int = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        self.total = self.start + len(self.seen)


@quick.dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """Keywords only."""

    one: int
    two: int = 2


@quick.dataclass(frozen=True, slots=True, eq=False)
class Itself:
    """Equal to itself only."""

    one: int


@quick.dataclass(frozen=True, slots=True)
class OwnMethods:
    """Methods that the class writes itself stay."""

    one: int

    def __repr__(self) -> str:
        return "own"

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 7


@dataclasses.dataclass(frozen=True, slots=True)
class Offered:
    """A base for others' classes, as the standard library makes it."""

    one: int = 1


@quick.dataclass(frozen=True, slots=True)
class Taken(Offered):
    """A class of the project's own that inherits from it."""

    two: int = 2


CLASSES = (Base, Derived, Wide, Counted, Named, Itself, OwnMethods)

CALLS: tuple[tuple[tuple[Any, ...], dict[str, Any]], ...] = (
    ((), {}),
    ((1,), {}),
    ((1, "b"), {}),
    ((1, "b", [3]), {}),
    ((1, "b", [3], 5), {}),
    ((), {"one": 1}),
    ((), {"one": 1, "two": 3}),
    ((), {"first": 1, "third": []}),
    ((1,), {"first": 1}),
    ((1,), {"unknown": 1}),
)


def standard(cls: type) -> type:
    """The class as the standard library makes it, from the same declaration."""
    bases = tuple(standard(base) for base in cls.__bases__ if base is not object)
    own = {name: value for name, value in vars(cls).items() if name in ("__post_init__", "__doc__", "kind")}
    if cls is OwnMethods:
        own |= {name: vars(cls)[name] for name in ("__repr__", "__eq__", "__hash__")}
    inherited = {field.name for base in bases for field in dataclasses.fields(base)}
    found = [field for field in dataclasses.fields(cls) if field.name not in inherited]
    for field in found:
        own[field.name] = dataclasses.field(
            default=field.default, default_factory=field.default_factory, init=field.init, repr=field.repr,
            compare=field.compare, kw_only=field.kw_only,
        )  # fmt: skip
        if field.default is field.default_factory is dataclasses.MISSING and field.init and field.repr:
            del own[field.name]
    own["__annotations__"] = {**cls.__annotations__}
    made = type(cls.__name__, bases, {**own, "__module__": cls.__module__, "__qualname__": cls.__qualname__})
    return dataclasses.dataclass(
        made, frozen=cls is not Counted, slots=cls is not Wide, eq=cls is not Itself, kw_only=cls is Named
    )


def outcome(cls: type, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> object:
    """What a call gives: the fields and the text of the instance, or that the call is wrong."""
    try:
        made = cls(*arguments, **keywords)
    except TypeError:
        return TypeError
    return dataclasses.asdict(made), repr(made)


@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize(("arguments", "keywords"), CALLS)
def test_a_call_gives_what_the_standard_library_gives(
    cls: type, arguments: tuple[Any, ...], keywords: dict[str, Any]
) -> None:
    assert outcome(cls, arguments, keywords) == outcome(standard(cls), arguments, keywords)


@pytest.mark.parametrize("cls", CLASSES)
def test_equality_and_hashes_are_the_standard_librarys(cls: type) -> None:
    other = standard(cls)
    keywords = {"one": 1} if cls is Named else {}
    arguments = () if cls is Named else (1,)
    ours, theirs = cls(*arguments, **keywords), other(*arguments, **keywords)
    assert (ours == cls(*arguments, **keywords)) == (theirs == other(*arguments, **keywords))
    assert (ours != Base(1)) == (cls not in (Base, OwnMethods))
    assert (cls.__hash__ is None) == (other.__hash__ is None)
    if cls in (Base, Wide, Named, OwnMethods):
        assert hash(ours) == hash(theirs)


def test_a_field_that_is_not_compared_counts_neither_for_equality_nor_for_hashes() -> None:
    assert Derived(1, unseen=5) == Derived(1, unseen=6)
    assert Derived(1) != Base(1)
    with pytest.raises(TypeError, match="unhashable"):
        hash(Derived(1))


def test_factories_make_a_value_for_each_instance() -> None:
    assert Derived(1).third is not Derived(1).third


@pytest.mark.parametrize("made", [Base(1), Derived(1), Wide(1), Named(one=1)])
def test_what_is_frozen_stays_as_it_is(made: Any) -> None:
    name = dataclasses.fields(made)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError, match=name):
        setattr(made, name, 2)
    with pytest.raises(dataclasses.FrozenInstanceError, match=name):
        delattr(made, name)


def test_what_is_not_frozen_is_assigned() -> None:
    made = Counted(3, [1])
    made.start = 5
    assert (made.start, made.total) == (5, 4)


@pytest.mark.parametrize("made", [Base(1), Derived(1, third=[2]), Wide(1), Counted(2), Named(one=1)])
def test_instances_are_copied_replaced_and_pickled(made: Any) -> None:
    changed = dataclasses.replace(made, **{dataclasses.fields(made)[0].name: 9})
    assert changed != made
    assert copy.deepcopy(made) == copy.copy(made) == pickle.loads(pickle.dumps(made)) == made


def test_a_base_of_the_standard_librarys_is_a_base_of_both() -> None:
    @dataclasses.dataclass(frozen=True, slots=True)
    class Theirs(Offered):
        three: int = 3

    assert (repr(Taken(5)), Theirs(5).three) == ("Taken(one=5, two=2)", 3)
    assert len({Taken(5), Taken(5)}) == 1
    assert pickle.loads(pickle.dumps(Taken(5, 6))) == Taken(5, 6)
    with pytest.raises(dataclasses.FrozenInstanceError, match="two"):
        Taken(5).two = 3  # type: ignore[misc]


def test_patterns_match_by_position() -> None:
    match Base(1, "x"):
        case Base(first, second):
            assert (first, second) == (1, "x")
        case _:
            raise AssertionError


def test_nothing_is_compiled_before_it_is_called() -> None:
    @quick.dataclass(frozen=True, slots=True)
    class Fresh:
        one: int

    waiting = Fresh.__init__
    Fresh(1)
    assert Fresh.__init__ is not waiting
    assert Fresh.__init__.__qualname__.endswith("Fresh.__init__")
