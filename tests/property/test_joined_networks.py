"""Channels vanish through Concat, forwards and backwards, and the bits stay what they were."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import onnx
import pytest
from support.firmware import needs_host_compiler
from support.host_runs import generated, host_outputs
from support.joined_networks import dense_network, inception_network
from support.onnx_models import ModelBuilder, imported, outputs_of, random_feeds, runtime_outputs
from tilewright.catalogue.macs import macs_of_nodes
from tilewright.graph import DType
from tilewright.rewrites import channel_ranges, passes
from tilewright.rewrites.passes import optimise

SEEDS = range(12)


def macs(graph):
    return sum(macs_of_nodes(graph).values())


def saved(folder, model, monkeypatch):
    """The part of the multiply-accumulates that is left out; results are ONNX Runtime's and those of all channels."""
    graph = imported(folder, model)
    with monkeypatch.context() as patched:
        patched.setattr(passes, "drop_dead_channels", lambda given: given)
        whole = optimise(graph)
    lean = optimise(graph)
    for seed in range(2):
        feeds = random_feeds(model, seed)
        (want,) = runtime_outputs(model, feeds).values()
        for found in (whole, lean):
            np.testing.assert_array_equal(outputs_of(found, feeds)[0], want)
    return 1 - macs(lean) / macs(whole)


@pytest.mark.parametrize("dialect", ["qdq", "qoperator"])
@pytest.mark.parametrize("made", [dense_network, inception_network])
def test_results_stay_where_channels_vanish_through_concat(made, dialect, tmp_path, monkeypatch):
    shares = [saved(tmp_path, made(seed, dialect), monkeypatch) for seed in SEEDS]
    assert min(shares) >= 0
    assert np.mean(shares) > 0.15


def saved_in_all(folder, monkeypatch):
    for seed in SEEDS:
        saved(folder, inception_network(seed, "qdq"), monkeypatch)


def test_a_constant_that_a_table_changes_is_seen(tmp_path, monkeypatch):
    """Of a constant in another scale than the Concat's the stored integer is another one."""
    monkeypatch.setattr(channel_ranges, "_looked_up", lambda node, graph, x: x)
    with pytest.raises(AssertionError):
        saved_in_all(tmp_path, monkeypatch)


def test_constants_of_parts_at_another_place_are_seen(tmp_path, monkeypatch):
    of_parts = channel_ranges._of_parts

    def turned(node, *given):
        return of_parts(replace(node, inputs=node.inputs[::-1]), *given)

    monkeypatch.setattr(channel_ranges, "_of_parts", turned)
    with pytest.raises(AssertionError):
        saved_in_all(tmp_path, monkeypatch)


@needs_host_compiler
@pytest.mark.parametrize("made", [dense_network, inception_network])
def test_the_c_of_lean_networks_has_the_bits(made, tmp_path):
    model = made(2, "qdq")
    feeds = random_feeds(model)
    built = generated(model, tmp_path / "net")
    assert built.plan.nominal_macs is not None
    (want,) = runtime_outputs(model, feeds).values()
    np.testing.assert_array_equal(host_outputs(built, feeds, tmp_path / "net")["y"], want)


def shifted(build, x, channels, inputs, dead):
    """Deeploy's dialect: a convolution, then RequantShift with a factor and an addend for each channel."""
    chance = np.random.default_rng(channels)
    weights = chance.integers(-60, 60, (channels, inputs, 1, 1)).astype(np.float32)
    addends = chance.integers(-4000, 4000, (1, channels, 1, 1)).astype(np.float32)
    weights[list(dead)] = 0
    factors = chance.integers(1, 90, (1, channels, 1, 1)).astype(np.float32)
    numbers = {"div": 2.0**12, "n_levels": 256.0, "signed": 1.0, "n_levels_out": 256.0}
    names = {name: onnx.numpy_helper.from_array(np.array(value, np.float32)) for name, value in numbers.items()}
    real = build.node("Conv", x, build.constant(weights))
    return build.node("RequantShift", real, build.constant(factors), build.constant(addends), **names)


def test_channels_of_deeploy_s_dialect_vanish_through_concat(tmp_path, monkeypatch):
    build = ModelBuilder()
    x = build.input("x", [1, 4, 5, 6])
    parts = [shifted(build, x, 16, 4, range(5)), shifted(build, x, 8, 4, range(1, 8, 2))]
    y = shifted(build, build.node("Concat", *parts, axis=1), 4, 24, ())
    graph = imported(tmp_path, build.model(y), types={"x": DType.INT8})
    lean = optimise(graph)
    monkeypatch.setattr(passes, "drop_dead_channels", lambda given: given)
    whole = optimise(graph)
    assert macs(lean) == 30 * (12 * 4 + 4 * 4 + 4 * 16) < macs(whole)
    x = np.random.default_rng(3).integers(-128, 128, (1, 4, 5, 6)).astype(np.int8)
    np.testing.assert_array_equal(outputs_of(lean, {"x": x})[0], outputs_of(whole, {"x": x})[0])
