"""Graph inputs that become constants: the values come from an npz file that the user gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tilewright.base.archives import ArchiveError, read_archive
from tilewright.base.errors import bad_input
from tilewright.graph import Array
from tilewright.importers.onnx.source import SourceModel, SourceValue


def read_frozen(path: Path) -> dict[str, Array]:
    """The arrays of an npz file by tensor name. Raises bad_input for a missing or broken file."""
    try:
        return read_archive(path)
    except FileNotFoundError:
        raise bad_input("freeze-missing", f"there is no file '{path}'", help="check 'freeze'") from None
    except ArchiveError as error:
        what = f"'{path}' is not an npz file of numbers: {error}"
        raise bad_input("freeze-broken", what, help="write it with numpy.savez, without pickled objects") from None


def frozen(model: SourceModel, values: Mapping[str, Array]) -> SourceModel:
    """The model with some inputs as constants.

    Raises:
        TilewrightError (bad input): no input of that name, or another element type or shape.
    """
    inputs = {value.name: value for value in model.inputs}
    for name, array in values.items():
        if name not in inputs:
            raise bad_input(
                "unknown-tensor",
                f"'freeze' names '{name}', which is no input of the model",
                at=model.file,
                help="inputs: " + ", ".join(inputs),
            )
        _check(model, inputs[name], array)
    kept = tuple(value for value in model.inputs if value.name not in values)
    return replace(model, inputs=kept, constants={**model.constants, **values})


def _check(model: SourceModel, value: SourceValue, array: Array) -> None:
    known = value.shape is None or (
        len(value.shape) == array.ndim
        and all(not isinstance(dim, int) or dim == extent for dim, extent in zip(value.shape, array.shape, strict=True))
    )
    if array.dtype.name == value.element_type and known:
        return
    shape = "" if value.shape is None else str(list(value.shape))
    raise bad_input(
        "freeze-type",
        f"'{value.name}' is {value.element_type}{shape} in the model, "
        f"{array.dtype.name}{list(array.shape)} in 'freeze'",
        at=model.file,
    )
