"""The functions of a model whose window slides: a run of some iterations of its loop, and a reset to the first one.

The iteration at which the next run begins lies in a pool, beside the rings. It is behind the loop's end while a run is
under way, and stays there if the run fails: then the model has to be reset.
"""

from __future__ import annotations

from tilewright.base.lazy_dataclass import dataclass
from tilewright.codegen.buffers import Storage, storage_of
from tilewright.codegen.function_text import FunctionText, block
from tilewright.codegen.interface import Signature
from tilewright.plan import Kernel, Loop, Plan, Slide, kernel_steps, loop_in
from tilewright.plan.stages import numbered_layers


@dataclass(frozen=True, slots=True)
class SlideText:
    """A window that slides as the templates print it.

    Attributes:
        prefix: the model's C prefix.
        slide: the plan's.
        frames: iterations of the loop.
        position: C expression of the address of the iteration at which the next run begins.
        pool: of the rings and the position.
        early: runs behind a reset that leave some rows of outputs as they are.
    """

    prefix: str
    slide: Slide
    frames: int
    position: str
    pool: str
    early: int

    @property
    def word(self) -> str:
        """The declaration of a pointer to the position."""
        return f"uint32_t *const position = (uint32_t *)(void *)({self.position});"


def slide_text(storage: Storage) -> SlideText | None:
    """The window of a plan that slides; None without one."""
    plan = storage.plan
    if plan.slide is None:
        return None
    (numbered,) = numbered_layers(plan.program)
    loop = loop_in(numbered.layer.body)
    assert loop is not None
    pool = storage.placements[plan.slide.position].pool
    address = storage.pool_address(plan.slide.position, f"pools->{pool}")
    return SlideText(plan.name, plan.slide, loop.iterations.stop, address, pool, early_runs(plan))


def early_runs(plan: Plan) -> int:
    """The first runs behind a reset in which some output has not all its rows yet; 0 where no window slides."""
    if plan.slide is None:
        return 0
    (numbered,) = numbered_layers(plan.program)
    loop = loop_in(numbered.layer.body)
    assert loop is not None
    return max(_early_runs(kernel, loop, plan.slide) for kernel in _ends(storage_of(plan)))


def _ends(storage: Storage) -> list[Kernel]:
    """The kernels that write outputs."""
    outputs = {item.buffer for item in storage.plan.outputs}
    kernels = kernel_steps(storage.plan.program)
    return [item for item in kernels if any(storage.root(operand.buffer) in outputs for operand in item.writes)]


def _early_runs(kernel: Kernel, loop: Loop, slide: Slide) -> int:
    """The first runs in which a kernel does not make all rows of a run."""
    rows, missing = _block_rows(kernel, loop), rows_behind(kernel, loop)
    return -(-missing // (slide.rows // kernel.runs.every * rows))


def _block_rows(kernel: Kernel, loop: Loop) -> int:
    return next(index.step for index in loop.indices if (index.name,) == kernel.runs.over)


def rows_behind(kernel: Kernel, loop: Loop) -> int:
    """By how many rows a kernel is behind one whose first whole block is made in the first ``every`` iterations.

    Before the iteration t at which a run begins, the kernel has made t / every * step rows less so many.
    """
    (index,) = (item for item in loop.indices if (item.name,) == kernel.runs.over)
    return kernel.runs.first // kernel.runs.every * index.step + index.shift


def rows_made(kernel: Kernel, loop: Loop) -> str:
    """C expression of the rows that a kernel has made before a run; less than 0 before its first row."""
    every, step, behind = kernel.runs.every, _block_rows(kernel, loop), rows_behind(kernel, loop)
    blocks = "context->from" if every == 1 else f"context->from / {every}"
    made = blocks if step == 1 else f"{blocks} * {step}"
    return f"({made} - {behind})" if behind else made if made == "context->from" else f"({made})"


def reset_lines(text: SlideText) -> tuple[str, ...]:
    """The statements that let the next run begin at the first iteration."""
    return block("", (text.word, "*position = 0u;"))


def sliding_functions(
    text: SlideText, signature: Signature, checks: tuple[str, ...], all_layers: tuple[str, ...]
) -> tuple[FunctionText, ...]:
    """The functions behind those of the layers.

    Args:
        checks: statements of ``<p>_run`` that refuse bad pointers.
        all_layers: statements that run the layers.
    """
    status, macro = f"enum {text.prefix}_status", text.prefix.upper()
    rows, frames = text.slide.rows, text.frames
    context = ", ".join((*signature.arguments, "(int32_t)begin", f"(int32_t)begin + {rows}"))
    is_whole = f" || begin % {rows}u != 0u" if rows > 1 else ""
    next_begin = f"begin + {rows}u < {frames}u ? begin + {rows}u : begin + {rows}u - {text.slide.period}u"
    run = (
        *checks,
        text.word,
        "const uint32_t begin = *position;",
        *block(f"if (begin >= {frames}u{is_whole})", (f"return {macro}_OUT_OF_ORDER;",)),
        f"const struct {text.prefix}_context context = {{{context}}};",
        f"*position = {frames}u;",
        f"const {status} status = {text.prefix}_layers(&context);",
        *block(f"if (status == {macro}_OK)", (f"*position = {next_begin};",)),
        "return status;",
    )
    return (
        FunctionText(f"static {status} {text.prefix}_layers(const struct {text.prefix}_context *context)", all_layers),
        FunctionText(f"{status} {text.prefix}_run({signature.parameters})", run),
    )
