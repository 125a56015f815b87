"""ONNX RNN, GRU and LSTM."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from tilewright.graph import DType
from tilewright.importers.construction import Unsupported
from tilewright.importers.onnx.context import Call
from tilewright.importers.onnx.elementwise import typed
from tilewright.importers.onnx.recurrent_step import lstm_or

_FLOAT = frozenset({DType.FLOAT32})
_DEFAULT = {"RNN": ("Tanh",), "GRU": ("Sigmoid", "Tanh"), "LSTM": ("Sigmoid", "Tanh", "Tanh")}
_ALPHA = {"Affine": 1.0, "LeakyRelu": 0.01, "ThresholdedRelu": 1.0, "ScaledTanh": 1.0, "HardSigmoid": 0.2, "Elu": 1.0}
_BETA = {"Affine": 0.0, "ScaledTanh": 1.0, "HardSigmoid": 0.5}
_ACTIVATIONS = "Sigmoid Tanh Relu Affine LeakyRelu ThresholdedRelu ScaledTanh HardSigmoid Elu Softsign Softplus".split()
_NAMES = {name.lower(): name for name in _ACTIVATIONS}
_NO_CLIP = 3.0e38
_BATCH_FIRST = (1, 0, 2)


def _recurrent(operator: str) -> Callable[[Call], None]:
    def translate(call: Call) -> None:
        """Runs a recurrent layer over all steps of a sequence."""
        batch_first = bool(call.attribute("layout", 0))
        x, r = typed(call, 0, _FLOAT), typed(call, 2, _FLOAT)
        if len(x.shape) != 3 or len(r.shape) != 3:
            raise Unsupported(f"inputs of shape {list(x.shape)} and {list(r.shape)}")
        directions, _, units = r.shape
        inputs = _inputs(call, operator, batch_first)
        steps, entries = call.build.tensor(inputs[0]).shape[:2]
        shape, state = (steps, directions, entries, units), (directions, entries, units)
        count = 3 if operator == "LSTM" else 2
        shapes = [shape, state, state][:count]
        attributes = _attributes(call, operator, directions)
        if not batch_first:
            call.emit_all(operator, inputs, [(extents, DType.FLOAT32) for extents in shapes], attributes)
            return
        perms = [(2, 0, 1, 3), _BATCH_FIRST, _BATCH_FIRST][:count]
        inner = call.emit_parts(operator, inputs, [(extents, DType.FLOAT32) for extents in shapes], attributes)
        for number, (name, extents, perm) in enumerate(zip(inner, shapes, perms, strict=True)):
            if number < len(call.node.outputs) and call.node.outputs[number]:
                call.emit("Transpose", [name], [extents[a] for a in perm], {"perm": perm}, output=number)

    return translate


def _inputs(call: Call, operator: str, batch_first: bool) -> list[str]:
    count = 8 if operator == "LSTM" else 6
    names = []
    for index in range(count):
        if not call.has(index):
            names.append("")
            continue
        tensor = typed(call, index, frozenset({DType.INT32}) if index == 4 else _FLOAT)
        name = tensor.name
        if batch_first and index in (0, 5, 6):
            shape = [tensor.shape[axis] for axis in _BATCH_FIRST]
            name = call.emit("Transpose", [name], shape, {"perm": _BATCH_FIRST}, part=f"steps_first{index}")
        names.append(name)
    while names and not names[-1]:
        names.pop()
    return names


def _attributes(call: Call, operator: str, directions: int) -> dict[str, object]:
    direction = str(call.attribute("direction", "forward"))
    reverse = {"forward": (0, 0), "reverse": (1, 1), "bidirectional": (0, 1)}.get(direction)
    if reverse is None or (direction == "bidirectional") != (directions == 2):
        raise Unsupported(f"direction '{direction}' with {directions} sets of weights")
    functions = len(_DEFAULT[operator])
    listed = [str(name).lower() for name in call.attribute("activations", _DEFAULT[operator] * directions)]
    unknown = [name for name in listed if name not in _NAMES]
    if unknown or len(listed) != functions * directions:
        raise Unsupported(f"activations {listed}")
    names = [_NAMES[name] for name in listed]
    alphas = _parameters(call, "activation_alpha", names, _ALPHA)
    betas = _parameters(call, "activation_beta", names, _BETA)

    def spread(values: list[object], fill: object) -> tuple[object, ...]:
        """Three for each direction, two directions."""
        rows = [[*values[d * functions : (d + 1) * functions], *[fill] * 3][:3] for d in range(2)]
        return (*rows[0], *rows[1])

    return {
        "reverse": reverse,
        "activations": spread(list(names), "Sigmoid"),
        "alpha": spread(list(alphas), 0.0),
        "beta": spread(list(betas), 0.0),
        "clip": float(call.attribute("clip", _NO_CLIP)),
        "linear_before_reset": int(call.attribute("linear_before_reset", 0)),
        "input_forget": int(call.attribute("input_forget", 0)),
    }


def attributes_of_one_direction(
    activations: Sequence[str], backward: bool, linear_before_reset: bool
) -> dict[str, object]:
    """The attributes of a layer in one direction with three functions that have no parameters."""
    return {
        "reverse": (int(backward), 0),
        "activations": (*activations, *["Sigmoid"] * 3),
        "alpha": (0.0,) * 6,
        "beta": (0.0,) * 6,
        "clip": _NO_CLIP,
        "linear_before_reset": int(linear_before_reset),
        "input_forget": 0,
    }


def _parameters(call: Call, attribute: str, names: list[str], defaults: Mapping[str, float]) -> list[float]:
    """The given values go to the functions that take one, in order."""
    given = list(call.numbers(attribute, ()))
    values = []
    for name in names:
        takes = name in defaults
        values.append(given.pop(0) if takes and given else defaults.get(name, 0.0))
    return values


RECURRENT: Mapping[str, Callable[[Call], None]] = MappingProxyType(
    {**{name: _recurrent(name) for name in _DEFAULT}, "LSTM": lstm_or(_recurrent("LSTM"))}
)
