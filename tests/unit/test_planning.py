"""The loop of planning: shares that shrink, errors in the user's words, whole networks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.nodes import node_of
from support.planned import far_platform, near_platform, plan_of, planned
from tilewright.base.errors import TilewrightError
from tilewright.check import check
from tilewright.graph import DType, Graph, Node, Tensor, constant, variable
from tilewright.options import Buffering, CompileOptions, Groups
from tilewright.pipeline import plan_model
from tilewright.plan import BufferKind
from tilewright.planning import decide, prepare, retries, shortage
from tilewright.planning.realise import Planned
from tilewright.platform.types import Platform
from tilewright.rewrites.passes import optimise
from tilewright.tiling import hashed

EFFORT = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)


class Builder:
    """Appends nodes to a float32 graph."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.tensors: dict[str, Tensor] = {"x": variable("x", DType.FLOAT32, shape)}
        self.nodes: list[Node] = []

    def add(self, operator: str, inputs: tuple[str, ...], shape: tuple[int, ...], **attributes: object) -> str:
        name = f"t{len(self.nodes)}"
        self.tensors[name] = variable(name, DType.FLOAT32, shape)
        self.nodes.append(node_of(f"n{len(self.nodes)}", operator, inputs, (name,), attributes))
        return name

    def conv(self, source: str, outputs: int, kernel: int, group: int = 1) -> str:
        batch, channels, *spatial = self.tensors[source].shape
        number = len(self.nodes)
        weights = np.full((outputs, channels // group, *(kernel,) * len(spatial)), number + 1, np.float32)
        self.tensors[f"w{number}"] = constant(f"w{number}", weights)
        pads = ((kernel - 1) // 2,) * len(spatial) + (kernel // 2,) * len(spatial)
        ones = (1,) * len(spatial)
        attributes = {"kernel": weights.shape[2:], "strides": ones, "dilations": ones, "pads": pads, "group": group}
        inputs = (source, f"w{number}")
        return self.add("Conv", inputs, (batch, outputs, *spatial), **attributes, x_zero_point=0, w_zero_point=(0,))

    def graph(self, *outputs: str) -> Graph:
        return optimise(Graph("graph", tuple(self.nodes), self.tensors, ("x",), outputs))


@st.composite
def networks(draw: st.DrawFn) -> Graph:
    """Layers that read any earlier tensors, with views between them and several outputs."""
    build = Builder((1, draw(st.integers(1, 4)), draw(st.integers(3, 9)), draw(st.integers(3, 9))))
    names = ["x"]
    for _ in range(draw(st.integers(3, 9))):
        # The newest tensor more often than any other, so that networks are deep too.
        source = draw(st.sampled_from([*names, names[-1], names[-1]]))
        shape = build.tensors[source].shape
        kind = draw(st.sampled_from(["conv", "clip", "add", "turn", "flat"]))
        if kind == "conv" and len(shape) == 4:
            names.append(build.conv(source, draw(st.integers(1, 6)), draw(st.integers(1, 3))))
        elif kind == "add":
            other = draw(st.sampled_from([name for name in names if build.tensors[name].shape == shape]))
            names.append(build.add("Add", (source, other), shape))
        elif kind == "turn":
            perm = tuple(draw(st.permutations(range(len(shape)))))
            names.append(build.add("Transpose", (source,), tuple(shape[axis] for axis in perm), perm=perm))
        elif kind == "flat":
            names.append(build.add("Reshape", (source,), (shape[0], int(np.prod(shape[1:])))))
        else:
            names.append(build.add("Clip", (source,), shape, minimum=0.0, maximum=6.0))
    others = draw(st.lists(st.sampled_from(names[1:-1]), max_size=2, unique=True))
    return build.graph(*others, names[-1])


def least_l1(graph: Graph, buffering: Buffering) -> int:
    """The smallest l1 that every operator fits in, from the errors that say so."""
    size, needed = 0, 16
    while needed > size:
        size = needed
        try:
            planned(graph, far_platform(size), buffering=buffering)
        except TilewrightError as error:
            needed = int(error.help[0].removeprefix("POOLS l1=").split()[0])
    return size


@EFFORT
@given(networks(), st.sampled_from(Buffering), st.booleans(), st.booleans(), st.integers(0, 400))
def test_plans_of_random_networks_are_sound(
    graph: Graph, buffering: Buffering, overlap: bool, io_in_pools: bool, room: int
) -> None:
    how = {"buffering": buffering, "io_in_pools": io_in_pools}
    size = least_l1(graph, buffering) + room
    for platform in (far_platform(size, asynchronous=overlap), near_platform()):
        plan = plan_of(graph, platform, planned(graph, platform, **how))
        assert plan.io_in_pools == io_in_pools
        assert check(plan) == []


def test_the_order_of_layers_is_searched_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    build = Builder((1, 4, 8, 8))
    graph = build.graph(build.add("Add", (build.conv("x", 4, 3), build.conv("x", 4, 3)), (1, 4, 8, 8)))
    searched, search = [], prepare.order_graph
    monkeypatch.setattr(prepare, "order_graph", lambda *words: searched.append(words) or search(*words))
    planned(graph, near_platform(), groups=Groups.AUTO)
    assert len(searched) == 1


def two_convs() -> Graph:
    """A first layer with large activations, a second with large weights."""
    build = Builder((1, 4, 16, 16))
    wide = build.conv("x", 8, 1)
    pooled = build.add("MaxPool", (wide,), (1, 8, 2, 2), kernel=(8, 8), strides=(8, 8), dilations=(1, 1), pads=(0,) * 4)
    return build.graph(build.conv(build.conv(pooled, 64, 3), 8, 3))


def one_memory(size_bytes: int) -> Platform:
    """Tiles of weights share sram with activations."""
    base = far_platform(None)
    sram = replace(base.pools[1], size_bytes=size_bytes, holds=tuple(BufferKind)[:2] + SHARED)
    links = tuple(replace(link, name="flash->sram", target="sram") for link in base.links if link.source == "flash")
    return replace(
        base, pools=(sram, base.pools[2]), links=links, core=replace(base.core, access_cycles=(("sram", 1),))
    )


SHARED = (BufferKind.INTERMEDIATE, BufferKind.TILE, BufferKind.SCRATCH, BufferKind.STATE)


def used_bytes(platform: Platform, graph: Graph) -> int:
    (use,) = (use for use in planned(graph, platform).pool_use if use.pool == "sram")
    return use.used_bytes


def test_tiles_shrink_where_homes_need_the_pool() -> None:
    graph = two_convs()
    free = planned(graph, one_memory(1 << 20))
    assert all(facts.tiles == 1 for facts in free.schedule.layers)
    needed = used_bytes(one_memory(1 << 20), graph)
    platform = one_memory(needed - 4000)
    tight = planned(graph, platform)
    assert used_bytes(platform, graph) <= needed - 4000
    assert check(plan_of(graph, platform, tight)) == []
    tiles = [facts.tiles for facts in tight.schedule.layers]
    assert max(tiles) > 1
    assert tiles[0] == 1, "only the layer at the peak gets smaller tiles"


def test_constants_are_hashed_once_however_often_tiles_change(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = two_convs()
    with pytest.raises(TilewrightError) as caught:
        planned(graph, one_memory(8000))
    tight = one_memory(sizes_in(caught.value)["sram"])
    hash_array, make_program = hashed.sha256, retries.schedule_of
    hashes: list[object] = []
    programs: list[object] = []

    def hash_counted(data: memoryview) -> object:
        hashes.append(data)
        return hash_array(data)

    def make_counted(*arguments: Any) -> object:
        programs.append(arguments)
        return make_program(*arguments)

    monkeypatch.setattr(hashed, "sha256", hash_counted)
    monkeypatch.setattr(retries, "schedule_of", make_counted)
    operands = [operand for layer in planned(graph, tight).layers for operand in layer.problem.operands]
    assert len(programs) > 1
    assert len(hashes) == len({id(operand.data) for operand in operands if operand.data is not None}) > 1


def test_a_pool_without_tiles_that_is_too_small_is_named() -> None:
    graph = two_convs()
    needed = used_bytes(far_platform(1 << 16), graph)
    assert used_bytes(far_platform(1 << 16, needed), graph) == needed
    with pytest.raises(TilewrightError) as caught:
        planned(graph, far_platform(1 << 16, needed - 1))
    error = caught.value
    assert error.code == "pool-overflow"
    assert f"pool 'sram' needs {needed:,} bytes, platform 'far' gives {needed - 1:,} (1 too many)" in error.what
    assert f"POOLS sram={needed} is the smallest that works" in error.help[0]
    assert "alive: " in error.at[0]


def test_bytes_that_an_output_shares_with_its_input_count_once() -> None:
    """Three poolings: the second, its pixels in order, writes 10 of them (160 bytes) below those that it reads."""
    build = Builder((1, 4, 8, 8))
    windows = {"kernel": (3, 3), "strides": (1, 1), "dilations": (1, 1), "pads": (1, 1, 1, 1)}
    name = "x"
    for _ in range(3):
        name = build.add("MaxPool", (name,), (1, 4, 8, 8), **windows)
    with pytest.raises(TilewrightError) as caught:
        planned(build.graph(name), near_platform(16))
    assert sizes_in(caught.value) == {"sram": 1184}
    assert caught.value.at[0].endswith("alive: t0 1,024, t1 1,024; 864 bytes of these are shared")


def sizes_in(error: TilewrightError) -> dict[str, int]:
    """Pool to bytes, as the help names them."""
    words = error.help[0].split("POOLS ")[1].split()
    return {pool: int(size) for pool, _, size in (word.partition("=") for word in words) if size}


def test_the_smallest_tiles_of_all_layers_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside the plan that failed, two are tried: with the size that the error names, and with one byte less."""
    sizes = []
    fit = shortage._Search.fit

    def counted(search: shortage._Search, wanted: Mapping[str, int | None]) -> object:
        sizes.append(wanted["l1"])
        return fit(search, wanted)

    monkeypatch.setattr(shortage._Search, "fit", counted)
    with pytest.raises(TilewrightError) as caught:
        planned(two_convs(), far_platform(64))
    (size,) = sizes_in(caught.value).values()
    assert sizes == [size, size - 1]
    layers = planned(two_convs(), far_platform(size)).layers
    assert max(layer.choice.near_bytes["l1"] for layer in layers) == size


@pytest.mark.parametrize(("have", "code"), [(64, "tile-overflow"), (100, "tile-overflow"), (8000, "pool-overflow")])
def test_the_size_that_is_named_works_and_one_byte_less_does_not(have: int, code: str) -> None:
    """For the whole model: tiles of every layer, and the homes beside them."""
    with pytest.raises(TilewrightError) as caught:
        planned(two_convs(), one_memory(have))
    error = caught.value
    assert error.code == code
    assert f"platform 'far' gives {have:,}" in error.what
    (size,) = sizes_in(error).values()
    assert f"pool 'sram' needs {size:,} bytes" in error.what
    assert f"({size - have:,} too many)" in error.what
    assert "is the smallest that works" in error.help[0]
    assert "), step " in error.at[0]
    assert "; alive: " in error.at[0]
    planned(two_convs(), one_memory(size))
    with pytest.raises(TilewrightError) as less:
        planned(two_convs(), one_memory(size - 1))
    assert sizes_in(less.value) == {"sram": size}


def test_pools_that_are_too_small_together_are_named() -> None:
    with pytest.raises(TilewrightError) as caught:
        planned(two_convs(), far_platform(64, 64))
    assert "no pool alone is to blame" in caught.value.what
    sizes = sizes_in(caught.value)
    assert set(sizes) == {"l1", "sram"}
    planned(two_convs(), far_platform(sizes["l1"], sizes["sram"]))


def test_only_the_pools_that_must_grow_are_named() -> None:
    """Constants first, which no choice of tiles makes smaller; the fastest kernels store 40 bytes more."""
    model = Path(__file__).parents[2] / "examples" / "digits" / "digits.onnx"

    def plan(**pools: int) -> None:
        sizes = tuple(f"{name}={size}" for name, size in pools.items())
        plan_model(CompileOptions(model, "qemu-virt-rv32", "digits", pools=sizes))

    with pytest.raises(TilewrightError, match="pool 'flash' needs at least 15,344 bytes for constants"):
        plan(l1=1400, sram=1000, flash=100)
    with pytest.raises(TilewrightError) as caught:
        plan(l1=1400, sram=1000, flash=15344)
    assert "pool 'sram' needs 1,024 bytes" in caught.value.what
    assert "'l1'" not in caught.value.what
    assert "'flash'" not in caught.value.what
    assert sizes_in(caught.value) == {"sram": 1024}
    plan(l1=1400, sram=1024, flash=15344)


def test_tiles_are_chosen_once_for_other_sizes_of_a_pool_without_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error tries several sizes of sram; l1, where the tiles are, stays as it is."""
    choose, chosen = decide.cheapest_kernel, list[object]()

    def counted(*arguments: Any) -> object:
        chosen.append(arguments)
        return choose(*arguments)

    monkeypatch.setattr(decide, "cheapest_kernel", counted)
    graph = two_convs()
    with pytest.raises(TilewrightError, match="pool 'sram' needs"):
        planned(graph, far_platform(1 << 16, 64))
    layers = len(planned(graph, far_platform(1 << 16)).layers)
    assert len(chosen) == 2 * layers


def two_windows() -> Graph:
    """A window that can be cut tap by tap, then one of a depthwise convolution, which stays whole."""
    build = Builder((1, 4, 16, 16))
    return build.graph(build.conv(build.conv("x", 8, 3), 8, 5, group=8))


def test_the_operator_that_decides_is_named() -> None:
    """Not the first that fails, but the one that needs most."""
    with pytest.raises(TilewrightError) as caught:
        planned(two_windows(), far_platform(64))
    assert caught.value.code == "tile-overflow"
    assert "01 depthwise 5x5 8ch (n1)" in caught.value.at[0]
    assert "alive: n1." in caught.value.at[0]


QDQ_RESIDUAL = Path(__file__).parents[1] / "firmware" / "models" / "qdq_residual" / "network.onnx"


def test_the_error_of_another_algorithm_says_that_the_exact_search_fits() -> None:
    options = CompileOptions(QDQ_RESIDUAL, "qemu-virt-rv32f-single", "net", groups=Groups.OFF)
    used = next(use.used_bytes for use in plan_model(options).pool_use if use.pool == "sram")
    greedy = replace(options, algorithm="greedy_by_conflicts", pools=(f"sram={used}",))
    with pytest.raises(TilewrightError) as caught:
        plan_model(greedy)
    assert caught.value.help[0] == f"ALGORITHM exact fits: it needs {used:,} bytes of pool 'sram'"
    assert caught.value.help[1].startswith("POOLS sram=")
    with pytest.raises(TilewrightError) as caught:
        plan_model(replace(greedy, pools=(f"sram={used - 1}",)))
    assert not any("exact" in text for text in caught.value.help)


def test_sizes_that_no_plan_uses_are_not_tried() -> None:
    tried: list[int | None] = []

    class Plans(shortage._Search):
        def fit(self, sizes: Mapping[str, int | None]) -> Planned | None:
            tried.append(sizes["l1"])
            used = max((size for size in (512, 640, 900) if size <= (sizes["l1"] or 0)), default=None)
            if used is None:
                return None
            return cast(Planned, SimpleNamespace(pool_use=[SimpleNamespace(pool="l1", used_bytes=used)]))

    search = Plans(cast(Any, None), cast(Any, None), cast(Any, None))
    found = shortage._smallest(search, "l1", 100, 5000)
    assert found is not None
    assert (found[0], found[2]) == (512, True)
    assert tried == [5000, 900, 899, 640, 639, 512, 511]
