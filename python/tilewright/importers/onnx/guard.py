"""Computed shapes and element types against what the file declares and what ONNX's shape inference says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

from tilewright.base.errors import TilewrightError, bad_input
from tilewright.base.lazy_dataclass import dataclass
from tilewright.importers.construction import Construction, computed_type
from tilewright.importers.onnx.source import NO_CLAIM, SourceModel, SourceValue
from tilewright.importers.problems import listed

_SEQUENCE = "sequence_type"


@dataclass(frozen=True, slots=True)
class _Computed:
    """What the translation made of a tensor: its element type by its ONNX name, and its shape."""

    element_type: str
    shape: tuple[int, ...]


def require_agreement(model: SourceModel, build: Construction, dims: Mapping[str, int]) -> None:
    """Compare every translated tensor with the file's declarations and with ONNX's shape inference.

    An extent that the other side leaves open, or names by a symbol that ``dims`` does not fix, agrees with any, and so
    do two shapes of one element. The Deeploy dialect stores integers in tensors of another type, and its operators
    are not ONNX's: there only shapes are compared, and nodes that the inference cannot follow are passed over.

    Raises:
        TilewrightError (bad input): every contradiction with both sides.
    """
    problems = list(_contradictions(model.declared, "the file declares", build, dims))
    try:
        inferred = model.infer(build.tensors, build.constants, not build.integers_in_floats)
    except ValueError as error:
        problems.append(f"ONNX's shape inference: {error}")
    else:
        listed = {problem.partition(":")[0] for problem in problems}
        found = _contradictions(inferred, "ONNX's shape inference gives", build, {})
        problems += [problem for problem in found if problem.partition(":")[0] not in listed]
    if problems:
        raise _refusal(model, problems)


def _contradictions(
    values: Sequence[SourceValue], says: str, build: Construction, dims: Mapping[str, int]
) -> Iterator[str]:
    for value in values:
        got = _computed(value.name, build)
        # Outputs of ZipMap are maps in the file and tensors here.
        if (
            value.element_type == _SEQUENCE
            or got is None
            or _agree(value, got, dims, types=not build.integers_in_floats)
        ):
            continue
        shape = "" if value.shape is None else f"[{', '.join(str(extent or '?') for extent in value.shape)}]"
        yield (
            f"'{value.name}': {says} {value.element_type}{shape}, its node gives {got.element_type}{list(got.shape)}"
        )


def _computed(name: str, build: Construction) -> _Computed | None:
    if name in build.constants:
        array = build.constants[name]
        return _Computed(array.dtype.name, array.shape)
    if name in build.tensors:
        tensor = build.tensors[name]
        return _Computed(tensor.dtype.value, tensor.shape)
    return None


def _agree(value: SourceValue, got: _Computed, dims: Mapping[str, int], *, types: bool) -> bool:
    if (
        types
        and value.element_type != NO_CLAIM
        and computed_type(value.element_type) != computed_type(got.element_type)
    ):
        return False
    if value.shape is None:
        return True
    told = [dims.get(extent) if isinstance(extent, str) else extent for extent in value.shape]
    # An extent of 0 is how some exporters say that they do not know it.
    if len(told) == len(got.shape):
        return all(not wanted or wanted == extent for wanted, extent in zip(told, got.shape, strict=True))
    return all(extent == 1 for extent in told) and prod(got.shape) == 1


def _refusal(model: SourceModel, problems: Sequence[str]) -> TilewrightError:
    count = "a contradiction" if len(problems) == 1 else f"{len(problems)} contradictions"
    return bad_input(
        "model-contradiction",
        f"{count} between the nodes of '{model.file}' and the types and shapes of its tensors",
        at=listed(problems),
        help="export the model again, or correct what it declares of these tensors",
    )
