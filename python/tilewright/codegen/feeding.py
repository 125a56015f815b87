"""The functions of a model whose input is fed: start, feed, finish, and a run of all three.

The layer that takes the rows runs from iteration ``context->from`` to ``context->to`` of its loop, and goes on where
it was when more rows come: all that it needs from one call to the next lies in pools.
"""

from __future__ import annotations

from math import prod

from tilewright.base.lazy_dataclass import dataclass
from tilewright.codegen.buffers import Storage
from tilewright.codegen.function_text import FunctionText, block
from tilewright.codegen.interface import C_TYPES, Signature
from tilewright.plan import InterfaceTensor, Layer, Loop, kernel_steps, loop_in
from tilewright.plan.stages import numbered_layers


@dataclass(frozen=True, slots=True)
class FeedText:
    """A fed input as the templates print it.

    Attributes:
        prefix: the model's C prefix.
        identifier: of the input.
        c_type: of its elements.
        rows: rows of the whole input.
        row_count: elements of a row.
        row_extents: extents of a row in C, for example [3][144].
        layer: position of the layer that takes the rows among all layers.
        name: of that layer.
        iterations: of that layer's loop.
        members: structs of pointers that are kept from call to call: inputs, outputs, pools.
    """

    prefix: str
    identifier: str
    c_type: str
    rows: int
    row_count: int
    row_extents: str
    layer: int
    name: str
    iterations: range
    members: tuple[str, ...]

    @property
    def macro(self) -> str:
        """The start of the model's macros."""
        return self.prefix.upper()

    @property
    def input_macro(self) -> str:
        """The start of the input's macros."""
        return f"{self.prefix}_INPUT_{self.identifier}".upper()

    @property
    def start_parameters(self) -> str:
        """The parameters of ``<p>_start``."""
        given = (f"const struct {self.prefix}_{name} *{name}" for name in self.members)
        return ", ".join((f"struct {self.prefix}_feeding *feeding", *given))

    @property
    def feed_parameters(self) -> str:
        """The parameters of ``<p>_feed_<input>``."""
        return f"struct {self.prefix}_feeding *feeding, const {self.c_type} *rows, uint32_t count"

    @property
    def finish_parameters(self) -> str:
        """The parameters of ``<p>_finish``."""
        return f"struct {self.prefix}_feeding *feeding"

    @property
    def run_parameters(self) -> str:
        """The parameters of ``<p>_run``."""
        given = (f"const struct {self.prefix}_{name} *{name}" for name in self.members)
        rows = f"const {self.c_type} *rows"
        return ", ".join((f"struct {self.prefix}_feeding *feeding", rows, *given))


def feed_text(storage: Storage, signature: Signature) -> FeedText | None:
    """The fed input of a plan; None without one."""
    item = next((item for item in storage.plan.inputs if item.fed_axis is not None), None)
    if item is None or item.fed_axis is None:
        return None
    layers = [numbered.layer for numbered in numbered_layers(storage.plan.program)]
    layer = next(number for number, layer in enumerate(layers) if _takes_rows(layer, item, storage))
    loop = loop_in(layers[layer].body)
    assert isinstance(loop, Loop)
    row = (*item.shape[: item.fed_axis], *item.shape[item.fed_axis + 1 :])
    return FeedText(
        prefix=storage.prefix,
        identifier=item.identifier,
        c_type=C_TYPES[item.dtype],
        rows=item.shape[item.fed_axis],
        row_count=prod(row),
        row_extents="".join(f"[{extent}]" for extent in row),
        layer=layer,
        name=layers[layer].name,
        iterations=loop.iterations,
        members=signature.arguments,
    )


def _takes_rows(layer: Layer, item: InterfaceTensor, storage: Storage) -> bool:
    """Whether a kernel of the layer reads the fed input."""
    reads = (operand.buffer for kernel in kernel_steps(layer.body) for operand in kernel.reads)
    return any(storage.root(name) == item.buffer for name in reads)


def feeding_functions(
    feed: FeedText, layers: tuple[str, ...], checks: tuple[str, ...], all_layers: tuple[str, ...]
) -> tuple[FunctionText, ...]:
    """The functions behind those of the layers.

    Args:
        layers: names of the layers' functions.
        checks: statements of ``<p>_start`` that refuse bad pointers.
        all_layers: statements that run the layers from ``number`` to ``end``.
    """
    status = f"enum {feed.prefix}_status"
    return (
        FunctionText(
            f"static {status} {feed.prefix}_layers(const struct {feed.prefix}_context *context, "
            "size_t number, size_t end)",
            all_layers,
        ),
        FunctionText(f"{status} {feed.prefix}_start({feed.start_parameters})", _start(feed, checks)),
        FunctionText(f"{status} {feed.prefix}_feed_{feed.identifier}({feed.feed_parameters})", _feed(feed, layers)),
        FunctionText(f"{status} {feed.prefix}_finish({feed.finish_parameters})", _finish(feed, len(layers))),
        FunctionText(f"{status} {feed.prefix}_run({feed.run_parameters})", _run(feed)),
    )


def _refused(feed: FeedText, condition: str, status: str) -> tuple[str, ...]:
    return block(f"if ({condition})", (f"return {feed.macro}_{status};",))


def _context(feed: FeedText, rows: str, begin: str, end: str) -> str:
    """The declaration of the context in which layers run."""
    members = "".join(f"&feeding->{name}, " for name in feed.members)
    return f"const struct {feed.prefix}_context context = {{{members}{rows}, {begin}, {end}}};"


def _start(feed: FeedText, checks: tuple[str, ...]) -> tuple[str, ...]:
    before: tuple[str, ...] = (f"return {feed.macro}_OK;",)
    if feed.layer:
        before = (
            _context(feed, "NULL", "0", "0"),
            f"const enum {feed.prefix}_status status = {feed.prefix}_layers(&context, 0u, {feed.layer}u);",
            f"feeding->is_open = status == {feed.macro}_OK;",
            "return status;",
        )
    return (
        *_refused(feed, "feeding == NULL", "BAD_ARGUMENT"),
        *checks,
        *(f"feeding->{name} = *{name};" for name in feed.members),
        "feeding->rows = 0u;",
        "feeding->is_open = 1u;",
        *before,
    )


def _feed(feed: FeedText, layers: tuple[str, ...]) -> tuple[str, ...]:
    rows = f"{feed.input_macro}_ROWS"
    return (
        *_refused(feed, "feeding == NULL || rows == NULL", "BAD_ARGUMENT"),
        *_refused(feed, f"{feed.prefix}_is_misaligned(rows, {feed.input_macro}_ALIGN)", "MISALIGNED"),
        *_refused(feed, "feeding->is_open == 0u", "OUT_OF_ORDER"),
        *_refused(feed, f"count > {rows} - feeding->rows", "BAD_ARGUMENT"),
        *block("if (TILEWRIGHT_IS_CANCELLED())", ("feeding->is_open = 0u;", f"return {feed.macro}_CANCELLED;")),
        _context(feed, "rows", "(int32_t)feeding->rows", "(int32_t)(feeding->rows + count)"),
        "feeding->rows += count;",
        f"const enum {feed.prefix}_status status = {layers[feed.layer]}(&context);",
        *block(f"if (status != {feed.macro}_OK)", ("feeding->is_open = 0u;",)),
        "return status;",
    )


def _finish(feed: FeedText, count: int) -> tuple[str, ...]:
    rows = f"{feed.input_macro}_ROWS"
    return (
        *_refused(feed, "feeding == NULL", "BAD_ARGUMENT"),
        *_refused(feed, f"feeding->is_open == 0u || feeding->rows != {rows}", "OUT_OF_ORDER"),
        _context(feed, "NULL", str(feed.rows), str(feed.iterations.stop)),
        "feeding->is_open = 0u;",
        f"return {feed.prefix}_layers(&context, {feed.layer}u, {count}u);",
    )


def _run(feed: FeedText) -> tuple[str, ...]:
    ok = f"status == {feed.macro}_OK"
    fed = f"{feed.prefix}_feed_{feed.identifier}(feeding, rows, {feed.input_macro}_ROWS)"
    return (
        *_refused(feed, "feeding == NULL", "BAD_ARGUMENT"),
        *_refused(feed, "feeding->is_open != 0u", "OUT_OF_ORDER"),
        f"enum {feed.prefix}_status status = {feed.prefix}_start({', '.join(('feeding', *feed.members))});",
        *block(f"if ({ok})", (f"status = {fed};",)),
        *block(f"if ({ok})", (f"status = {feed.prefix}_finish(feeding);",)),
        "feeding->is_open = 0u;",
        "return status;",
    )
