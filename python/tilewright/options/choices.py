"""Options that choose one of several ways."""

from __future__ import annotations

from enum import Enum
from typing import Union


class Buffering(Enum):
    """How many slots tile buffers have: one, two, or what is cheaper."""

    AUTO = "auto"
    SINGLE = "single"
    DOUBLE = "double"


Slots = Union[Buffering, int]
"""Slots of one operand's tiles: so many, or as a ``Buffering`` says; of two or more, all but one are filled ahead."""


class Effort(Enum):
    """How much searches may try: budgets of nodes and rounds, never of seconds, so that plans repeat."""

    FAST = "fast"
    NORMAL = "normal"
    THOROUGH = "thorough"


class Strategy(Enum):
    """How tile shapes are chosen: by predicted cost; the others exist for comparison."""

    COST = "cost"
    MIN = "min"
    MAX = "max"
    RANDOM_MAX = "random_max"


class Objective(Enum):
    """What strategy COST minimises."""

    CYCLES = "cycles"
    BYTES_MOVED = "bytes_moved"
    BYTES_USED = "bytes_used"


class Order(Enum):
    """In which order layers run: the best that is found, or the model's; functions of users give others."""

    BEST = "best"
    MODEL = "model"


class Groups(Enum):
    """Whether layers run together block by block: where that saves memory and costs next to no time, or never."""

    AUTO = "auto"
    OFF = "off"


class Weights(Enum):
    """Where constants are: in the program, or in a file that the firmware hands to the model."""

    INSIDE = "inside"
    EXTERNAL = "external"


class HomeChoice(Enum):
    """In which pool a tensor that travels lives: the one that costs least, or the first that has room."""

    COST = "cost"
    IN_ORDER = "in order"
