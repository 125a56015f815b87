"""The text of the generated header: sizes, structs and parameters, from a plan's inputs, outputs and pools."""

from __future__ import annotations

from math import prod

import numpy as np

from tilewright.base.c_names import in_comment
from tilewright.base.lazy_dataclass import dataclass
from tilewright.codegen.buffers import Storage
from tilewright.codegen.literals import float_literal
from tilewright.plan import InterfaceTensor
from tilewright.plan.required_values import given_link, is_compared

C_TYPES = {
    "float32": "float",
    "int8": "int8_t",
    "uint8": "uint8_t",
    "int16": "int16_t",
    "uint16": "uint16_t",
    "int32": "int32_t",
    "uint32": "uint32_t",
    "int64": "int64_t",
    "bool": "uint8_t",
}


@dataclass(frozen=True, slots=True)
class InterfaceText:
    """An input or output as the header prints it.

    Attributes:
        shape: extents of the tensor's axes.
        range: the smallest and the largest integer that elements with a scale store; None for other tensors.
        required: the elements of an input that may have one value only.
        rows: rows of an input that the caller gives row by row; 0 for any other tensor.
        has_largest: whether elements are numbers, more than one, of which one is the largest.
    """

    identifier: str
    macro: str
    comment: str
    c_type: str
    extents: str
    size_bytes: int
    count: int
    rank: int
    align_bytes: int
    storage_bytes: int
    scale: str | None
    zero_point: int
    shape: tuple[int, ...] = ()
    range: tuple[int, int] | None = None
    has_largest: bool = False
    required: tuple[int, ...] = ()
    accessor: str = ""
    address: str = ""
    rows: int = 0

    @property
    def is_passed(self) -> bool:
        """Whether the caller passes the address of the whole tensor."""
        return not self.address and not self.rows


@dataclass(frozen=True, slots=True)
class Required:
    """An input that may have one value only, which the run function checks.

    Attributes:
        elements: C expression of the first element's address.
        values: the only ones.
        name, c_type: of a local copy of the elements.
        link: the number of the link over which they come near the core; None where the core reads them itself.
    """

    elements: str
    values: tuple[int, ...]
    name: str
    c_type: str
    link: int | None


@dataclass(frozen=True, slots=True)
class Signature:
    """The parameters of a model's functions as C; structs that would have no members are left out.

    Attributes:
        parameters: of the run function.
        accessor_parameters: of the functions that return addresses of inputs and outputs.
        arguments: names of the run function's parameters.
        pointers: (C expression, macro of its alignment) of each pointer that the run function checks.
        required: inputs that may have one value only.
    """

    parameters: str
    accessor_parameters: str
    arguments: tuple[str, ...]
    pointers: tuple[tuple[str, str], ...]
    required: tuple[Required, ...] = ()


def interface_texts(storage: Storage, items: tuple[InterfaceTensor, ...], direction: str) -> list[InterfaceText]:
    """The texts of inputs (``direction`` INPUT) or outputs (OUTPUT), in the model's order."""
    texts = []
    for item in items:
        quantization = item.quantization
        placed = storage.placements.get(item.buffer)
        address = storage.pool_address(item.buffer, f"pools->{placed.pool}") if placed is not None else ""
        per_tensor = quantization is not None and len(quantization.scale) == 1
        texts.append(
            InterfaceText(
                identifier=item.identifier,
                macro=f"{storage.prefix}_{direction}_{item.identifier}".upper(),
                comment=f"{direction.capitalize()} '{in_comment(item.name)}', {item.dtype}{_only(item, storage)}",
                c_type=C_TYPES[item.dtype],
                extents="".join(f"[{extent}]" for extent in _as_given(item)) or "scalar",
                size_bytes=prod(item.shape) * int(np.dtype(item.dtype).itemsize),
                count=prod(item.shape),
                rank=len(item.shape),
                align_bytes=storage.buffers[item.buffer].align_bytes,
                storage_bytes=storage_bytes(storage, item),
                scale=float_literal(quantization.scale[0]) if quantization is not None and per_tensor else None,
                zero_point=quantization.zero_point[0] if quantization is not None and per_tensor else 0,
                shape=item.shape,
                range=_range(item.dtype) if per_tensor else None,
                has_largest=prod(item.shape) > 1 and item.dtype != "bool",
                required=item.required,
                accessor=f"{storage.prefix}_{direction.lower()}_{item.identifier}",
                address=address,
                rows=item.shape[item.fed_axis] if item.fed_axis is not None and storage.plan.slide is None else 0,
            )
        )
    return texts


def _only(item: InterfaceTensor, storage: Storage) -> str:
    """What a header says of an input that may have one value only."""
    if not item.required:
        return ""
    unseen = "" if is_compared(storage.plan) else " (not compared: more than one link from the core)"
    return f", always {{{', '.join(map(str, item.required))}}}{unseen}"


def _as_given(item: InterfaceTensor) -> tuple[int, ...]:
    """The extents of a tensor in the order in which its elements lie with the caller: rows first, where it has rows."""
    if item.fed_axis is None:
        return item.shape
    axis = item.fed_axis
    return (item.shape[axis], *item.shape[:axis], *item.shape[axis + 1 :])


def _range(dtype: str) -> tuple[int, int] | None:
    """The smallest and the largest integer of a quantised element type of at most 16 bits."""
    if np.dtype(dtype).kind not in "iu" or np.dtype(dtype).itemsize > 2:
        return None
    limits = np.iinfo(dtype)
    return int(limits.min), int(limits.max)


def storage_bytes(storage: Storage, item: InterfaceTensor) -> int:
    """Bytes that the caller allocates for a tensor, in whole words of links; 0 where these are its elements' bytes."""
    size = storage.buffers[item.buffer].size_bytes
    least = max(prod(item.shape) * int(np.dtype(item.dtype).itemsize), 1)
    return size if size > least and item.buffer in storage.members else 0


def signature(storage: Storage, inputs: list[InterfaceText], outputs: list[InterfaceText]) -> Signature:
    """The parameters of the run function and of accessors, and the pointers to check."""
    prefix = storage.prefix
    members: list[tuple[str, list[tuple[str, str]]]] = []
    for side, items in (("inputs", inputs), ("outputs", outputs)):
        members.append((side, [(item.identifier, f"{item.macro}_ALIGN") for item in items if item.is_passed]))
    if not storage.plan.static_pools:
        pools = [(pool.name, f"{prefix}_pool_{pool.name}_align".upper()) for pool in storage.pools]
        members.append(("pools", pools))
    present = [(name, fields) for name, fields in members if fields]
    takes_pools = any(name == "pools" for name, _ in present)
    return Signature(
        parameters=", ".join(f"const struct {prefix}_{name} *{name}" for name, _ in present) or "void",
        accessor_parameters=f"const struct {prefix}_pools *pools" if takes_pools else "void",
        arguments=tuple(name for name, _ in present),
        pointers=tuple((f"{name}->{field}", align) for name, fields in present for field, align in fields),
        required=tuple(
            Required(_elements(item), item.required, f"given_{item.identifier}", item.c_type, given_link(storage.plan))
            for item in inputs
            if item.required and is_compared(storage.plan)
        ),
    )


def _elements(item: InterfaceText) -> str:
    """The address of an input's first element in the run function."""
    return f"((const {item.c_type} *)({item.address}))" if item.address else f"inputs->{item.identifier}"
