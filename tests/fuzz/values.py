"""Numbers, names and attribute values that models do not have."""

from __future__ import annotations

import random
from collections.abc import Sequence

from onnx import TensorProto, helper

HUGE = (-1, 0, 1, 7, 255, 65_536, 2**31 - 1, 2**31, 2**32, 2**33 + 1, 2**62, 2**63 - 1, -(2**31), -(2**63))
NAMES = (
    "",
    " ",
    "a b",
    'quo"te',
    "apo'strophe",
    "new\nline",
    "carriage\r\nreturn",
    "tab\t",
    "back\\slash",
    "line splice\\\n#error spliced",
    "*/ int x; /*",
    "// comment",
    "what??/",
    "%s%n",
    "{{ 7 * 7 }}",
    "${HOME}",
    "../../up",
    "/absolute",
    "umläut_ß",
    "名前",
    "🙂",
    "\u202eright to left",
    "\u2028separator",
    "zero\x00byte",
    "int",
    "while",
    "return",
    "_Bool",
    "NULL",
    "main",
    "uint8_t",
    "memcpy",
    "__reserved",
    "_Reserved",
    "pools",
    "inputs",
    "outputs",
    "9lives",
    "UPPER",
    "upper",
    "n" * 3000,
)
TEXTS = ("", "SAME_UPPER", "NOTSET", "constant", "linear", "none", "\n", "\udcff".encode("utf-8", "replace").decode())


def any_value(chance: random.Random) -> object:
    """A value for an attribute: of any type, and mostly a wrong one."""
    graph = helper.make_graph([], "empty", [], [])
    tensors = (helper.make_tensor("t", TensorProto.FLOAT, [2], [1.0, 2.0]), helper.make_tensor("t", 7, [0], []))
    numbers: Sequence[object] = ([1, 2], [1.5, 2.5], [0], [-1, -1, -1], [1] * 40, list(HUGE[:3]))
    texts = ([b"a", b"b"], ["linear"], b"\xff\xfe")
    return chance.choice((chance.choice(HUGE), 0.5, float("nan"), *TEXTS[:5], *numbers, *tensors, *texts, graph))
