"""All options of one compilation. A new one is a field here, and its use."""

from __future__ import annotations

from dataclasses import field
from pathlib import Path
from typing import Any

from tilewright.base.lazy_dataclass import dataclass
from tilewright.base.settings import keys_of
from tilewright.options.choices import Buffering, Effort, Groups, HomeChoice, Objective, Order, Strategy, Weights
from tilewright.options.declaration import Place, names_files, option, option_of
from tilewright.options.hashed_content import content_of
from tilewright.options.home_text import read_homes
from tilewright.options.layer_tables import LayerBuffers, TileSteps, read_buffers, read_tiles
from tilewright.options.option_readers import read_name, read_pools

_TABLE: dict[str, Any] = {"place": Place.CALL, "by_name": True, "listed": True}
"""Metadata of options that are a table in a file, and a list of ``<name>=<value>`` in a call."""


@dataclass(frozen=True, slots=True)
class CompileOptions:
    """Everything that a user can say about one compilation.

    Pairs are (name, value), a name at most once: of a tensor in ``types``, of a symbolic dimension in ``dims``, of a
    tensor in ``bound``, of an input in ``state``, of a tensor in ``interface``, of a pool in ``budget``, of a
    tensor in ``homes``, of a layer in ``levels``, ``tiles``, ``buffers``, ``group`` and ``block``, of two layers in
    ``strips``.
    ``pools`` are overrides as they are written.
    """

    model: Path = field(
        metadata=option("the ONNX or .tflite file", place=Place.CALL, in_lock=False, shown="<file.onnx>"),
    )
    platform: str = field(
        metadata=option(
            "name of a shipped platform, or a TOML file",
            place=Place.CALL,
            in_lock=False,
            file_suffix=".toml",
            shown="<name|file.toml>",
        )
    )
    name: str = field(
        metadata=option(
            "prefix of every C name",
            place=Place.CALL,
            in_lock=False,
            reader=read_name,
            shown="<c_prefix>",
            default="from the model's file name",
        )
    )
    pools: tuple[str, ...] = field(
        default=(),
        metadata=option(
            "size of a pool, and where it lies, instead of what the platform file says",
            place=Place.CALL,
            word="pool",
            by_name=True,
            in_lock=False,
            reader=read_pools,
            shown="<pool>=<bytes>[@<section>|@0x<address>]",
        ),
    )
    budget: tuple[tuple[str, int], ...] = field(
        default=(),
        metadata=option(
            "the most bytes that the plan may take of a pool; a larger plan is an error. The search does not "
            "look at the budget",
            **_TABLE,
            in_lock=False,
            unit="bytes",
            minimum=1,
            shown="<pool>=<bytes>",
        ),
    )
    buffering: Buffering = field(
        default=Buffering.AUTO,
        metadata=option(
            "slots of each tile buffer: one, two (the next tile is copied while kernels work on this one), or "
            "what costs fewer cycles",
            place=Place.CALL,
        ),
    )
    effort: Effort = field(
        default=Effort.NORMAL,
        metadata=option("how many nodes and rounds a search may take", place=Place.CALL),
    )
    algorithm: str = field(
        default="exact",
        metadata=option("placement algorithm ([more](placement.md))", place=Place.CALL, shown="<algorithm>"),
    )
    strategy: str = field(
        default=Strategy.COST.value,
        metadata=option(
            "how tile shapes are chosen: by predicted `cost`, `min`, `max` or `random_max` for comparison, or by "
            "[a tiler of one's own](../how-to/write-a-tiler.md)",
            place=Place.COMMAND_LINE,
            shown="<strategy>",
        ),
    )
    search_seed: int = field(
        default=0,
        metadata=option(
            "seed of the random numbers that the strategy `random_max` and some placement algorithms draw; "
            "equal seeds give equal plans",
            place=Place.COMMAND_LINE,
            maximum=2**31 - 1,
        ),
    )
    objective: Objective = field(
        default=Objective.CYCLES, metadata=option("what the strategy 'cost' minimises", place=Place.COMMAND_LINE)
    )
    order: str = field(
        default=Order.BEST.value,
        metadata=option(
            "in which order layers run: in the `best` order, which needs the fewest bytes of those found, as in the "
            "`model`, or in [an order of one's own](../how-to/write-a-tiler.md#an-order-of-your-own)",
            place=Place.COMMAND_LINE,
            shown="<order>",
        ),
    )
    placement: HomeChoice = field(
        default=HomeChoice.COST,
        metadata=option(
            "which tensors leave a pool that is too small for all that it may hold: those whose way to the core "
            "then costs the fewest cycles, or those that find no room in the order in which they come alive",
        ),
    )
    homes: tuple[tuple[str, str], ...] = field(
        default=(),
        metadata=option(
            "where a tensor or constant lives: a pool, an address in a pool, or pools of which one is chosen "
            "([more](cmake.md#homes-that-you-choose))",
            by_name=True,
            reader=read_homes,
            shown='tensor = "pool", "pool@offset" or ["pool", ...]',
        ),
    )
    levels: tuple[tuple[str, str], ...] = field(
        default=(),
        metadata=option(
            "the pool in which a layer's kernel works: what lives elsewhere is copied there in tiles "
            "([more](cmake.md#levels-that-you-choose))",
            by_name=True,
            shown="layer = pool",
        ),
    )
    groups: Groups = field(
        default=Groups.AUTO,
        metadata=option(
            "layers that run together [block by block](../explanation/groups.md), to need less memory", place=Place.CALL
        ),
    )
    hints: bool = field(
        default=True,
        metadata=option(
            "take tiles that fill SIMD words and give every core work, of those that cost nearly the same "
            "([more](../explanation/tiling.md#hints-of-the-hardware))"
        ),
    )
    types: tuple[tuple[str, str], ...] = field(
        default=(),
        metadata=option("element type of an input", **_TABLE, word="type", shown="<tensor>=<dtype>"),
    )
    dims: tuple[tuple[str, int], ...] = field(
        default=(),
        metadata=option(
            "extent of a symbolic dimension; `*` is each that has none",
            **_TABLE,
            word="dim",
            minimum=0,
            shown="<symbol>=<n>",
        ),
    )
    bound: tuple[tuple[str, int], ...] = field(
        default=(),
        metadata=option(
            "how many entries an output of NonMaxSuppression, NonZero, Unique or Compress has room for; another "
            "output, `<tensor>_count`, says how many there were ([more](cmake.md#sizes-found-at-run-time))",
            **_TABLE,
            unit="entries",
            minimum=1,
            shown="<tensor>=<n>",
        ),
    )
    freeze: Path | None = field(
        default=None,
        metadata=option(
            "values of inputs that become constants; inputs that decide shapes must be", shown="<file.npz>"
        ),
    )
    state: tuple[tuple[str, str], ...] = field(
        default=(),
        metadata=option(
            "the input holds what the run before left in the output; both are the plan's and not the caller's "
            "([more](../how-to/stream.md))",
            **_TABLE,
            shown="<input>=<output>",
        ),
    )
    feed: str = field(
        default="",
        metadata=option(
            "the caller gives this input some rows at a time, so that it never exists as a whole "
            "([more](../how-to/make-it-smaller.md#feed-the-picture))",
            place=Place.CALL,
            shown="<input>",
        ),
    )
    slide: tuple[tuple[str, int], ...] = field(
        default=(),
        metadata=option(
            "a run gets so many new frames of this input, and computes only what they change in the outputs "
            "([more](../how-to/stream.md#slide-a-window))",
            **_TABLE,
            unit="frames",
            minimum=1,
            shown="<input>=<frames>",
        ),
    )
    operators: tuple[str, ...] = field(
        default=(),
        metadata=option(
            "operators that the firmware project defines itself",
            place=Place.CALL,
            in_lock=False,
            file_suffix=".py",
            shown="<file.py|name>",
        ),
    )
    quantized_io: bool = field(
        default=False,
        metadata=option(
            "inputs and outputs are the stored integers: QuantizeLinear of inputs and DequantizeLinear of "
            "outputs are dropped",
            place=Place.CALL,
        ),
    )
    float_io: bool = field(
        default=False,
        metadata=option(
            "inputs and outputs are real numbers: what stores quantised integers is converted by the model",
            place=Place.CALL,
        ),
    )
    interface: tuple[tuple[str, str], ...] = field(
        default=(),
        metadata=option(
            "C name of an input or output, instead of what follows from its name in the model",
            **_TABLE,
            in_lock=False,
            shown="<tensor>=<identifier>",
        ),
    )
    static_pools: bool = field(
        default=False,
        metadata=option(
            "the generated code defines pools as arrays; else the caller passes their addresses",
            place=Place.CALL,
            in_lock=False,
        ),
    )
    io_in_pools: bool = field(
        default=False,
        metadata=option(
            "inputs and outputs lie in pools, at addresses of the plan; else the caller passes their addresses",
            place=Place.CALL,
        ),
    )
    outputs_in_pools: bool = field(
        default=False,
        metadata=option(
            "outputs lie in pools, at addresses of the plan; the caller passes the addresses of inputs",
            place=Place.CALL,
        ),
    )
    stack_bytes: int = field(
        default=0,
        metadata=option(
            "the most stack that a run may take: the header says it, and tilewright_check_firmware holds the program "
            "to it; 0 is what the platform's file says",
            place=Place.CALL,
            in_lock=False,
            unit="bytes",
            minimum=0,
        ),
    )
    check_constants: bool = field(
        default=False,
        metadata=option(
            "the generated code has `<p>_check_constants`, which compares the constants with their CRC-32 in slices",
            place=Place.CALL,
            in_lock=False,
        ),
    )
    weights: Weights = field(
        default=Weights.INSIDE,
        metadata=option(
            "constants are part of the program, or lie in `<p>_weights.bin`, which `<p>_set_weights` takes at run time "
            "([more](../how-to/ship-it.md#replace-the-weights-in-the-field))",
            place=Place.CALL,
        ),
    )
    guards: bool = field(
        default=False,
        metadata=option(
            "every buffer gets room for canaries on both sides, which a run checks behind each layer "
            "([more](../how-to/ship-it.md#guard-the-buffers))",
            place=Place.CALL,
        ),
    )
    protect: bool = field(
        default=False,
        metadata=option(
            "each layer may touch only the memory that the plan gives the model; a stray access ends the run, and "
            "names the layer ([more](../how-to/ship-it.md#protect-the-memory-around))",
            place=Place.CALL,
        ),
    )
    profile: bool = field(
        default=False, metadata=option("the generated code measures the cycles of each layer", place=Place.CALL)
    )
    plan_lock: Path | None = field(
        default=None,
        metadata=option(
            "take tiles and addresses from this file instead of searching for them",
            place=Place.CALL,
            in_lock=False,
            shown="<file.lock.json>",
        ),
    )
    tiles: tuple[tuple[str, TileSteps], ...] = field(
        default=(),
        metadata=option(
            "steps of a layer's dimensions from tile to tile; those that are not given are chosen "
            "([more](cmake.md#tiles-that-you-choose))",
            by_name=True,
            reader=read_tiles,
            shown="layer = { dimension = step }",
        ),
    )
    buffers: tuple[tuple[str, LayerBuffers], ...] = field(
        default=(),
        metadata=option(
            "slots of an operand's tile buffer, by their number or as `buffering` says it "
            "([more](cmake.md#slots-that-you-choose))",
            by_name=True,
            reader=read_buffers,
            shown="layer = { operand = slots }",
        ),
    )
    group: tuple[tuple[str, str], ...] = field(
        default=(),
        metadata=option(
            "layers of one name run together block by block, and no others with them; of the name `alone` each by "
            "itself ([more](../explanation/groups.md#groups-and-blocks-that-you-choose))",
            by_name=True,
            shown="layer = name",
        ),
    )
    block: tuple[tuple[str, int], ...] = field(
        default=(),
        metadata=option(
            "rows of the blocks in which a layer of a group works; those that are not given are chosen "
            "([more](../explanation/groups.md#groups-and-blocks-that-you-choose))",
            by_name=True,
            unit="rows",
            minimum=1,
            shown="layer = rows",
        ),
    )
    strips: tuple[tuple[str, int], ...] = field(
        default=(),
        metadata=option(
            "the layers from the first to the last one run once for each of so many strips of columns, so that rings "
            "are narrower; columns that two strips need are computed twice "
            "([more](../explanation/groups.md#strips-of-columns))",
            by_name=True,
            unit="strips",
            minimum=2,
            shown="first..last = count",
        ),
    )

    def to_json(self) -> dict[str, Any]:
        """Field to value as JSON, with the SHA-256 of each file in place of its name.

        Model and platform are left out: only their content counts, which is hashed elsewhere.
        """
        keys = (key for key in keys_of(type(self)) if key.field not in ("model", "platform"))
        return {
            key.field: content_of(getattr(self, key.field), option_of(key).file_suffix if names_files(key) else None)
            for key in keys
        }
