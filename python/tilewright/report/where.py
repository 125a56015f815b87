"""The buffers that cover a byte of a pool, the steps in which they live, and the element at that byte."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tilewright.base.errors import bad_input
from tilewright.plan import Buffer, BufferKind, Plan, Pool, RelationKind
from tilewright.plan.stages import stage_spans, stages_of
from tilewright.report.alive import all_lifetimes
from tilewright.report.labels import layer_labels
from tilewright.report.text import shorten
from tilewright.report.touches import alive_steps, touched_buffers


def where_data(plan: Plan, pool: Pool, offset: int, step: int | None = None) -> dict[str, Any]:
    """The buffers that cover byte ``offset`` of a pool, ordered by the steps in which they live.

    With ``step``, only the buffers that live in it. Raises bad_input ``where-outside`` for a byte that the plan
    does not use, ``where-step`` for a step that it does not have.
    """
    use = next((use.used_bytes for use in plan.pool_use if use.pool == pool.name), 0)
    if not 0 <= offset < use:
        raise bad_input(
            "where-outside",
            f"byte {offset:,} of pool '{pool.name}', of which the plan uses {use:,} bytes",
            help="another model, the stack, or memory of the application lies there",
        )
    spans = stage_spans(plan.program)
    if step is not None and not 0 <= step < len(spans):
        raise bad_input("where-step", f"there is no step {step}", help=f"steps are 0 to {len(spans) - 1}")
    alive = all_lifetimes(plan)
    touched = touched_buffers(plan)
    layers = [stage.name for stage in stages_of(plan.program)]
    known = {buffer.name: buffer for buffer in plan.buffers}
    found = []
    for place in plan.placements:
        buffer = known[place.buffer]
        if place.pool != pool.name or not place.offset_bytes <= offset < place.offset_bytes + buffer.size_bytes:
            continue
        first, end = alive_steps(spans, alive[buffer.name])
        if step is not None and not first <= step < end:
            continue
        use_of = touched[buffer.name]
        found.append(
            {
                "buffer": buffer.name,
                "tensor": buffer.tensor,
                "kind": buffer.kind.value,
                "dtype": buffer.dtype,
                "shape": list(buffer.shape),
                "offset_bytes": place.offset_bytes,
                "size_bytes": buffer.size_bytes,
                **_element(buffer, offset - place.offset_bytes),
                "inside": _inside(plan, buffer.name),
                "steps": [first, end],
                "layers": layers[first:end],
                "written": [layers[number] for number in use_of.written],
                "read": [layers[number] for number in use_of.read],
            }
        )
    found.sort(key=lambda item: (item["steps"], -item["size_bytes"], item["buffer"]))
    return {"pool": pool.name, "offset_bytes": offset, "step": step, "labels": layer_labels(plan), "buffers": found}


def where_text(data: dict[str, Any], address: int | None) -> str:
    """The answer of ``where_data`` as text; ``address`` is the address asked for, None if asked by pool and offset."""
    place = f"{data['pool']}:{data['offset_bytes']} (0x{data['offset_bytes']:x})"
    at = f"0x{address:x} is {place}" if address is not None else place
    when = "" if data["step"] is None else f" at step {data['step']}"
    if not data["buffers"]:
        return f"{at}: nothing lives there{when}\n"
    return f"{at}{when}\n" + "".join(_paragraph(item, data["labels"]) for item in data["buffers"])


def _paragraph(item: dict[str, Any], labels: Mapping[str, str]) -> str:
    first, end = item["steps"]
    steps = f"step {first}" if end - first <= 1 else f"steps {first} to {end - 1}"
    shown = _during(item["layers"], labels)
    slot = f", slot {item['slot']}" if item["slot"] is not None else ""
    element = "padding" if item["element"] is None else f"element [{', '.join(map(str, item['element']))}]"
    byte = f" byte {item['byte']}" if item["byte"] else ""
    inside = f", inside {shorten(item['inside'])}" if item["inside"] else ""
    of = f" of {shorten(item['tensor'])}" if item["tensor"] not in (None, item["buffer"]) else ""
    begin = item["offset_bytes"]
    extents = ", ".join(map(str, item["shape"]))
    lines = [
        f"  {shorten(item['buffer'])}: {item['kind']}{of}, {item['dtype']}[{extents}]{slot}, {element}{byte}",
        f"    bytes [{begin:,}, {begin + item['size_bytes']:,}){inside}; {steps}{shown}",
    ]
    if end - first > 1:
        lines += [
            f"    {word} by {_some([labels[name] for name in item[word]])}"
            for word in ("written", "read")
            if item[word]
        ]
    return "\n".join(lines) + "\n"


def _during(names: Sequence[str], labels: Mapping[str, str]) -> str:
    """The first and the last layer by their labels; of a single one the model's own name too."""
    shown = [labels[name] for name in names]
    if len(names) != 1:
        return f" ({shown[0]} to {shown[-1]})" if names else ""
    own = "" if shown[0] == names[0] else f", '{shorten(names[0])}'"
    return f" ({shown[0]}{own})"


def _some(names: list[str]) -> str:
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def _inside(plan: Plan, name: str) -> str | None:
    kinds = (RelationKind.AT_OFFSET,)
    return next((item.second for item in plan.relations if item.kind in kinds and item.first == name), None)


def _element(buffer: Buffer, at: int) -> dict[str, Any]:
    """The slot, the element's indices, and the byte of that element ``at`` bytes into a buffer.

    ``slot`` is None for a buffer with one slot; ``element`` is None where the byte is padding.
    """
    slots = buffer.kind is BufferKind.TILE and buffer.copies > 1 and buffer.slot_bytes > 0
    slot, at = divmod(at, buffer.slot_bytes) if slots else (None, at)
    element = [0] * len(buffer.shape)
    for axis in sorted(range(len(buffer.shape)), key=lambda item: -buffer.strides_bytes[item]):
        if buffer.shape[axis] > 1 and buffer.strides_bytes[axis] > 0:
            element[axis], at = divmod(at, buffer.strides_bytes[axis])
    inside = all(index < extent for index, extent in zip(element, buffer.shape, strict=True))
    return {"slot": slot, "element": element if inside and at < _ELEMENT_BYTES[buffer.dtype] else None, "byte": at}


_ELEMENT_BYTES = {
    "float32": 4, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4, "int64": 8, "bool": 1,
}  # fmt: skip
