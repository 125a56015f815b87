"""A field that is declared as a setting is read from TOML, and held to its type and bounds, without further code."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from tilewright.base.errors import ExitStatus, TilewrightError
from tilewright.base.settings import Form, keys_of, read, setting
from tilewright.base.toml_file import Codes, read_toml

CODES = Codes("f-file", "f-syntax", "f-key", "f-value", "f-missing")


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True, slots=True)
class Part:
    weight: float = field(metadata=setting("how heavy it is", above_zero=True))


@dataclass(frozen=True, slots=True)
class Room:
    name: str = field(metadata=setting("what it is called", form=Form(re.compile("[a-z]+"), "letters"), is_name=True))
    floor: int = field(default=0, metadata=setting("where it is"))


@dataclass(frozen=True, slots=True)
class House:
    street: str = field(metadata=setting("where it stands", form=Form(re.compile("[A-Za-z]+"), "letters")))
    words: tuple[str, ...] = field(metadata=setting("what is said of it", form=Form(re.compile(r"\w+"), "letters")))
    doors: int = field(default=1, metadata=setting("how many", minimum=1, maximum=9))
    bricks: int = field(default=16, metadata=setting("how many", minimum=1, power_of_two=True, none="many"))
    height: float = field(default=1.0, metadata=setting("how high", key="high", unit="metres"))
    is_open: bool = field(default=False, metadata=setting("whether anybody may come in"))
    colour: Colour = field(default=Colour.RED, metadata=setting("how it is painted"))
    colours: tuple[Colour, ...] = field(default=(), metadata=setting("of its walls"))
    wheels: int = field(default=0, metadata=setting("a number of few", choices=(0, 4)))
    plan: Path | None = field(default=None, metadata=setting("a file"))
    first: Part | None = field(default=None, metadata=setting("one part"))
    part: tuple[Part, ...] = field(default=(), metadata=setting("parts in a row"))
    rooms: tuple[Room, ...] = field(default=(), metadata=setting("parts with names"))
    guests: tuple[tuple[str, int], ...] = field(default=(), metadata=setting("who comes", minimum=1, listed=True))
    stores: tuple[tuple[str, Part], ...] = field(default=(), metadata=setting("what is kept"))
    size: int = field(default=7, metadata={})


REQUIRED = 'street = "Main"\nwords = ["old"]\n'


def house(folder: Path, text: str, head: str = REQUIRED) -> House:
    path = folder / "house.toml"
    path.write_text(head + text, encoding="utf-8")
    return read(read_toml(path, CODES), House)


def test_defaults(tmp_path: Path) -> None:
    assert house(tmp_path, "") == House("Main", ("old",))
    assert [key.name for key in keys_of(House) if key.is_required] == ["street", "words"]


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("doors = 9", "doors", 9),
        ("bricks = 32", "bricks", 32),
        ('bricks = "many"', "bricks", None),
        ("high = 2", "height", 2.0),
        ("is_open = true", "is_open", True),
        ('colour = "blue"', "colour", Colour.BLUE),
        ('colours = ["blue", "red"]', "colours", (Colour.BLUE, Colour.RED)),
        ("wheels = 4", "wheels", 4),
        ('plan = "a b.txt"', "plan", Path("a b.txt")),
        ("[first]\nweight = 3", "first", Part(3.0)),
        ("[[part]]\nweight = 3\n[[part]]\nweight = 4", "part", (Part(3.0), Part(4.0))),
        ("[rooms]\nhall = {}\nattic = { floor = 2 }", "rooms", (Room("hall"), Room("attic", 2))),
        ('guests = { "a=b" = 3 }', "guests", (("a=b", 3),)),
        ('guests = ["a=b=3", "c=4"]', "guests", (("a=b", 3), ("c", 4))),
        ("[stores]\nsalt = { weight = 0.5 }", "stores", (("salt", Part(0.5)),)),
    ],
)
def test_types(tmp_path: Path, text: str, name: str, value: Any) -> None:
    assert getattr(house(tmp_path, text), name) == value


@pytest.mark.parametrize(
    ("text", "code", "told", "place"),
    [
        ("door = 1", "key", "unknown key 'door'", "3: door"),
        ("size = 1", "key", "unknown key 'size'", "3: size"),
        ("height = 1", "key", "unknown key 'height'", "3: height"),
        ("doors = 0", "value", "'doors' must be at least 1, not 0", "3: doors"),
        ("doors = 10", "value", "'doors' must be at most 9, not 10", "3: doors"),
        ("doors = true", "value", "'doors' must be a whole number, not true", "3: doors"),
        ('doors = "1"', "value", "'doors' must be a whole number, not '1'", "3: doors"),
        ("bricks = 12", "value", "'bricks' must be a power of two, not 12", "3: bricks"),
        ("high = -0.5", "value", "'high' must be a finite number that is not negative, not -0.5", "3: high"),
        ("high = nan", "value", "'high' must be a finite number", "3: high"),
        ("is_open = 1", "value", "'is_open' must be true or false, not 1", "3: is_open"),
        ('colour = "green"', "value", "'colour' is 'green', not one of red, blue", "3: colour"),
        ("colour = 3", "value", "'colour' is 3, not one of red, blue", "3: colour"),
        ('colours = [\n"red",\n"pink"]', "value", "'colours' has 'pink', not one of red, blue", "5: colours[1]"),
        ('colours = ["red", "red"]', "value", "'red' is listed twice", "3: colours[1]"),
        ("wheels = 3", "value", "'wheels' is 3, not one of 0, 4", "3: wheels"),
        ("wheels = false", "value", "'wheels' is false, not one of 0, 4", "3: wheels"),
        ('plan = ""', "value", "'plan' must be a text that is not empty, not ''", "3: plan"),
        ("first = 3", "value", "'first' must be a table, not 3", "3: first"),
        ("[first]\n", "missing", "'weight' is missing", "3: first.weight"),
        ("[first]\nweight = 0", "value", "'weight' must be a finite number above 0, not 0", "4: first.weight"),
        ("[part]\nweight = 1", "value", "'part' must be written as [[part]], not a table", "3: part"),
        ("[[part]]\nweight = 1\n[[part]]\n", "missing", "'weight' is missing", "5: part[1].weight"),
        ("[rooms.hall]\nflor = 2", "key", "unknown key 'flor'", "4: rooms.hall.flor"),
        ("[rooms.Hall]\n", "value", "'name' is 'Hall', but may have only letters", "3: rooms.Hall"),
        ("[guests]\nanna = 0", "value", "'anna' must be at least 1, not 0", "4: guests.anna"),
        ('guests = ["anna"]', "value", "'anna' is not <name>=<value>", "3: guests[0]"),
        ('guests = ["anna=x"]', "value", "'anna' must be a whole number, not 'x'", "3: guests.anna"),
        ("[stores]\nsalt = 1", "value", "'salt' must be a table, not 1", "4: stores.salt"),
    ],
)
def test_mistakes_are_told_with_file_line_and_key(tmp_path: Path, text: str, code: str, told: str, place: str) -> None:
    with pytest.raises(TilewrightError) as raised:
        house(tmp_path, text)
    error = raised.value
    assert (error.code, error.status) == (f"f-{code}", ExitStatus.BAD_INPUT)
    assert told in error.what
    assert error.at == (f"{tmp_path / 'house.toml'}:{place}",)


@pytest.mark.parametrize(
    ("head", "told"),
    [
        ('street = "Main"\n', "'words' is missing"),
        ('street = "Main"\nwords = []\n', "'words' must be a list with at least one text"),
        ('street = "Main"\nwords = ["a b"]\n', "'words' has 'a b', but may have only letters"),
        ('street = "1"\nwords = ["a"]\n', "'street' is '1', but may have only letters"),
    ],
)
def test_what_must_be_given(tmp_path: Path, head: str, told: str) -> None:
    with pytest.raises(TilewrightError, match=re.escape(told)):
        house(tmp_path, "", head)


def test_the_nearest_word_is_suggested(tmp_path: Path) -> None:
    with pytest.raises(TilewrightError, match="did you mean 'doors'"):
        house(tmp_path, "dors = 1")
    with pytest.raises(TilewrightError, match="did you mean 'blue'"):
        house(tmp_path, 'colour = "bleu"')
