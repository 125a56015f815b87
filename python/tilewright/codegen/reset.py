"""The function that brings a model's states to what they hold before the first run."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from tilewright.codegen.buffers import Array, Storage, elements
from tilewright.codegen.function_text import FunctionText, block
from tilewright.codegen.interface import C_TYPES, Signature
from tilewright.codegen.pools import array_lines
from tilewright.codegen.window_runs import reset_lines, slide_text
from tilewright.plan import StateTensor


def reset_functions(storage: Storage, signature: Signature, constants: Mapping[str, Array]) -> tuple[FunctionText, ...]:
    """``<prefix>_reset``; nothing for a model that remembers nothing. ``constants`` has contents by their hash."""
    states = storage.plan.states
    slide = slide_text(storage)
    if not states and slide is None:
        return ()
    lines = list(reset_lines(slide)) if slide is not None else []
    for state in states:
        lines += _filled(storage, state, "content" if state.sha256 is not None else str(state.fill), constants)
    unused = signature.accessor_parameters != "void" and not any("pools->" in line for line in lines)
    told = f"void {storage.prefix}_reset({signature.accessor_parameters})"
    return (FunctionText(told, (*(("(void)pools;",) if unused else ()), *lines)),)


def _filled(storage: Storage, state: StateTensor, value: str, constants: Mapping[str, Array]) -> tuple[str, ...]:
    """A block that writes every element of one state."""
    buffer = storage.buffers[state.found]
    c_type, count = C_TYPES[buffer.dtype], prod(buffer.shape)
    address = storage.pool_address(state.found, f"pools->{storage.placements[state.found].pool}")
    content: tuple[str, ...] = ()
    if state.sha256 is not None:
        rows = array_lines(elements(constants[state.sha256], buffer.dtype))
        content = (f"static const {c_type} content[{max(count, 1)}] = {{", *(f"    {row}" for row in rows), "};")
    element = "content[i]" if content else _literal(buffer.dtype, value)
    loop = block(f"for (uint32_t i = 0u; i < {count}u; ++i)", (f"state[i] = {element};",))
    return block("", (*content, f"{c_type} *const state = ({c_type} *)(void *)({address});", *loop))


def _literal(dtype: str, value: str) -> str:
    return f"{value}.0f" if dtype == "float32" else value
