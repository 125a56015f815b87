"""Attributes of C kernels: frozen dataclasses, from which scripts/kernel_header.py writes the C structs.

Before:  class Gather(CStruct): element_bytes: Int32; axis: Annotated[Int32, "of the output's view"]
After:   struct tilewright_gather_attributes {
             int32_t element_bytes;
             int32_t axis; // of the output's view
         };
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from tilewright.base.lazy_dataclass import dataclass
from tilewright.plan import AttributeValue

PREFIX = "tilewright_"


@dataclass(frozen=True, slots=True)
class CType:
    """How C declares a field: ``int32_t kernel[2]`` is CType("int32_t", 2).

    Attributes:
        name: the C type; of an array, that of its elements.
        count: elements of an array; 0 for a field that is no array.
        is_pointer: whether the field is a pointer; its value names a function, an object (``&name``) or NULL.
    """

    name: str
    count: int = 0
    is_pointer: bool = False


Int32 = Annotated[int, CType("int32_t")]
UInt32 = Annotated[int, CType("uint32_t")]
Float32 = Annotated[float, CType("float")]
Int32x2 = Annotated[tuple[int, ...], CType("int32_t", 2)]
Int32x3 = Annotated[tuple[int, ...], CType("int32_t", 3)]
Int32x4 = Annotated[tuple[int, ...], CType("int32_t", 4)]
Int32x6 = Annotated[tuple[int, ...], CType("int32_t", 6)]
UInt32x2 = Annotated[tuple[int, ...], CType("uint32_t", 2)]
Float32x4 = Annotated[tuple[float, ...], CType("float", 4)]
Float32x6 = Annotated[tuple[float, ...], CType("float", 6)]
ScratchOffset = Annotated[int, CType("int32_t"), "bytes, in scratch"]
RowFunction = Annotated[str, CType("tilewright_row_function", is_pointer=True)]
LineFunction = Annotated[str, CType("tilewright_line_function", is_pointer=True)]
Rule = Annotated[str, CType("const struct tilewright_rule *", is_pointer=True)]
LineRule = Annotated[str, CType("const struct tilewright_line_rule *", is_pointer=True)]
BlockFinish = Annotated[str, CType("tilewright_block_finish *", is_pointer=True)]
LineFinish = Annotated[str, CType("tilewright_line_finish *", is_pointer=True)]
Core = Annotated[str, CType("const struct tilewright_core *", is_pointer=True)]
Reducer = Annotated[str, CType("const struct tilewright_reducer *", is_pointer=True)]


@dataclass(frozen=True, slots=True)
class CField:
    """A field of a C struct, and the text of its comment."""

    name: str
    type: CType
    note: str = ""


@dataclass(frozen=True, slots=True)
class CStruct:
    """The attributes that a C kernel gets of its node; subclasses add annotated fields.

    A field whose type is itself a ``CStruct`` stands for the fields of that type: C has one flat struct.
    """

    @classmethod
    def struct(cls) -> str:
        """Name of the C struct: ``tilewright_max_pool_f32_attributes`` for class MaxPoolF32."""
        return f"{PREFIX}{snake(cls.__name__)}_attributes"

    @classmethod
    def c_fields(cls) -> tuple[CField, ...]:
        """The fields of the C struct, in order."""
        return tuple(_declared(cls))

    def values(self) -> tuple[tuple[str, AttributeValue], ...]:
        """Names and values of the C struct's fields, in order."""
        return tuple(_flat(self))


def size_bytes(kind: type[CStruct], pointer_bytes: int) -> int:
    """sizeof the C struct on a core whose pointers have ``pointer_bytes``, padding included."""
    offset, align = 0, 4
    for item in kind.c_fields():
        width = pointer_bytes if item.type.is_pointer else 4
        offset = -(-offset // width) * width + width * max(item.type.count, 1)
        align = max(align, width)
    return -(-offset // align) * align


def snake(name: str) -> str:
    """The C name for a name in CamelCase: MaxPoolF32 becomes max_pool_f32."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def _declared(kind: type[Any]) -> Iterator[CField]:
    hints = get_type_hints(kind, include_extras=True)
    for item in fields(kind):
        hint = hints[item.name]
        if get_origin(hint) is not Annotated:
            yield from _declared(hint)
            continue
        _, c_type, *notes = get_args(hint)
        assert isinstance(c_type, CType), f"{kind.__name__}.{item.name} has no C type"
        yield CField(item.name, c_type, *notes)


def _flat(value: CStruct) -> Iterator[tuple[str, AttributeValue]]:
    for item in fields(value):
        found = getattr(value, item.name)
        if isinstance(found, CStruct):
            yield from _flat(found)
        else:
            yield item.name, found
