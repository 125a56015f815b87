"""Lazy dataclasses are what the standard library makes of the same class."""

import ast
import copy
import dataclasses
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tilewright.base.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Point:
    x: int
    y: int = 0
    seen: list[int] = dataclasses.field(default_factory=list, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.x < 0:
            raise ValueError("x is negative")


@dataclass(frozen=True, slots=True)
class Place(Point):
    name: str = "here"


@dataclass(frozen=True, slots=True)
class Empty:
    pass


@dataclass(frozen=True, slots=True)
class Single:
    only: tuple[int, ...]


@dataclass(slots=True)
class Counter:
    name: str
    count: int = dataclasses.field(init=False)
    seen: list[int] = dataclasses.field(default_factory=list, init=False)
    step: int = 1

    def __post_init__(self) -> None:
        self.count = 10 * self.step


@dataclass(frozen=True, slots=True)
class EqualByName:
    name: str
    value: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EqualByName) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return self.name


@dataclasses.dataclass(frozen=True)
class FromElsewhere(Point):
    z: int = 3


def test_fields_are_set_by_position_by_name_and_by_default() -> None:
    assert (Point(1).y, Point(1, 2).y, Point(y=3, x=1).y) == (0, 2, 3)
    assert Point(1).seen == []
    assert Point(1).seen is not Point(1).seen
    assert Place(1).name == "here"


def test_equality_and_hash_follow_the_compared_fields() -> None:
    assert Point(1, 2, [1]) == Point(1, 2, [2])
    assert hash(Point(1, 2, [1])) == hash(Point(1, 2, [2]))
    assert Point(1, 2) != Point(2, 1)
    assert Place(1) != Point(1)
    assert Single((1, 2)) == Single((1, 2))
    assert {Empty(), Empty()} == {Empty()}


def test_methods_of_the_class_stay() -> None:
    assert EqualByName("a", 1) == EqualByName("a", 2)
    assert hash(EqualByName("a", 1)) == hash("a")
    assert repr(EqualByName("a", 1)) == "a"


def test_classes_that_change_have_fields_beside_the_parameters() -> None:
    counter: Any = Counter("a", step=2)
    counter.count += 1
    assert (counter.count, counter.seen) == (21, [])
    assert counter == copy.copy(counter) != Counter("a", 2)
    assert repr(counter) == "Counter(name='a', count=21, seen=[], step=2)"
    with pytest.raises(TypeError, match="unhashable"):
        hash(counter)
    with pytest.raises(AttributeError):
        counter.other = 1


def test_text_shows_the_fields() -> None:
    assert repr(Place(1, 2)) == "Place(x=1, y=2, name='here')"


@pytest.mark.parametrize("change", [lambda item: setattr(item, "x", 2), lambda item: delattr(item, "x")])
def test_objects_are_frozen(change: Callable[[Any], None]) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError, match="field 'x'"):
        change(Point(1))


def test_objects_have_no_dictionary() -> None:
    assert not hasattr(Place(1), "__dict__")


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda item: pickle.loads(pickle.dumps(item))])
def test_copies_are_equal(copied: Callable[[Any], Any]) -> None:
    assert copied(Place(1, 2, [3], "there")) == Place(1, 2, name="there")
    assert copied(Place(1, 2, [3])).seen == [3]


def test_functions_of_the_standard_library_know_the_classes() -> None:
    assert dataclasses.replace(Place(1, 2), x=4) == Place(4, 2)
    assert [field.name for field in dataclasses.fields(Place)] == ["x", "y", "seen", "name"]
    assert dataclasses.asdict(Point(1)) == {"x": 1, "y": 0, "seen": []}
    match Place(1, 2):
        case Place(x, y):
            assert (x, y) == (1, 2)


def test_the_standard_decorator_derives_classes() -> None:
    assert FromElsewhere(1, z=5) == FromElsewhere(1, 0, [], 5)
    derived: Any = FromElsewhere(1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        derived.z = 2


def test_what_runs_behind_init_runs() -> None:
    with pytest.raises(ValueError, match="negative"):
        Point(-1)


@pytest.mark.parametrize("objects", [0, 100], ids=["the first object", "a later one"])
@pytest.mark.parametrize(
    ("arguments", "named", "complaint"),
    [
        ((), {}, "missing 1 required positional argument: 'x'"),
        ((1, 2, [], 4), {}, "takes from 2 to 4 positional arguments but 5 were given"),
        ((1,), {"x": 2}, "got multiple values for argument 'x'"),
        ((1,), {"w": 2}, "got an unexpected keyword argument 'w'"),
    ],
)
def test_wrong_arguments_are_named(
    objects: int, arguments: tuple[Any, ...], named: dict[str, Any], complaint: str
) -> None:
    point: Any = fresh()
    for _ in range(objects):
        point(1)
    with pytest.raises(TypeError, match=rf"Point\.__init__\(\) {complaint}"):
        point(*arguments, **named)


def test_a_compiled_init_follows_a_few_objects_and_does_the_same() -> None:
    point: Any = fresh()
    first = point.__init__
    made = [point(number, seen=[number]) for number in range(100)]
    assert point.__init__ is not first
    assert [(item.x, item.y, item.seen) for item in made] == [(number, 0, [number]) for number in range(100)]


def fresh() -> type:
    """A class like Point that has no object yet."""
    space = {"__annotations__": dict(Point.__annotations__), "y": 0, "__qualname__": "Point"}
    return dataclass(frozen=True, slots=True)(
        type("Point", (), {**space, "seen": dataclasses.field(default_factory=list)})
    )


def eager(text: str) -> bool:
    """Whether a module decorates classes with slots by the decorator of the standard library."""
    imports = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)]
    standard = any(
        node.module == "dataclasses" and "dataclass" in {name.name for name in node.names} for node in imports
    )
    return standard and any(
        f"\n@dataclass({options})\n" in text for options in ("frozen=True, slots=True", "slots=True")
    )


def test_modules_of_the_planner_take_this_decorator() -> None:
    package = Path(__file__).parents[2] / "python" / "tilewright"
    modules = sorted(package.rglob("*.py"))
    assert len(modules) > 600
    assert [str(path.relative_to(package)) for path in modules if eager(path.read_text())] == []
    assert eager("from dataclasses import dataclass\n@dataclass(frozen=True, slots=True)\nclass A:\n    x: int\n")
