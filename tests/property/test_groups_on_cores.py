"""Groups whose calls several cores share: the bits of layers one by one, in pools that layers one by one do not fit."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from support.edits import on_step, same
from support.firmware import needs_host_compiler
from support.inverted_blocks import inverted_blocks
from support.many_cores import platform_with
from support.mutants import Subject, Verdicts, judge, outputs, subject
from support.planned import groups
from support.random_groups import random_columns, random_rows
from support.random_model import RandomModel
from support.sampled import sampled
from tilewright.base.errors import TilewrightError
from tilewright.check import Rule, check
from tilewright.options import CompileOptions, Groups
from tilewright.pipeline import compile_model, plan_model
from tilewright.plan import kernel_steps

CORES = 8
POOLS = ("l1=12000", "l2=2500", "l3_tensors=1")
"""The blocks' maps have 6,144 bytes each, the tensor between the blocks 1,536; nothing may live behind l2."""
RANDOM: tuple[tuple[Callable[[int], RandomModel], int, tuple[str, ...]], ...] = (
    (random_rows, 0, ("l1=5000", "l2=800", "l3_tensors=1")),
    (random_columns, 1, ("l1=5000", "l2=1173", "l3_tensors=1")),
    (random_columns, 5, ("l1=2500", "l2=1908", "l3_tensors=1")),
)
"""Random networks whose tensors do not all fit l2, layer by layer."""
MUTATIONS = (12, 25)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("inverted") / "net.onnx"
    path.write_bytes(inverted_blocks().SerializeToString())
    return path


@pytest.fixture(scope="module")
def grouped(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Subject:
    folder = tmp_path_factory.mktemp("grouped")
    return subject(model, platform_with(CORES, folder), folder / "net", POOLS)


def test_stages_share_their_calls(grouped: Subject) -> None:
    (first, *_) = groups(grouped.plan)
    kernels = kernel_steps(first.body)
    assert len(kernels) == len(first.stages) >= 2
    assert all(kernel.split is not None and kernel.split.cores > 1 for kernel in kernels)
    assert {"tilewright_conv_xpulpv2", "tilewright_depthwise_xpulpv2"} <= {kernel.symbol for kernel in kernels}


def test_layers_one_by_one_do_not_fit(model: Path, tmp_path: Path) -> None:
    options = CompileOptions(model, str(platform_with(CORES, tmp_path)), "net", pools=POOLS)
    plan_model(options)
    with pytest.raises(TilewrightError, match="pool 'l3_tensors' needs"):
        plan_model(replace(options, groups=Groups.OFF))


def test_each_call_of_a_group_loads_its_code(grouped: Subject, model: Path, tmp_path: Path) -> None:
    """A convolution's first call takes 1,800 cycles more on this platform, a depthwise one's 2,000.

    The group has the first layers.
    """
    platform = platform_with(CORES, tmp_path)
    text = re.sub(r", first_cycles = [\d.]+", "", platform.read_text(encoding="utf-8"))
    platform.write_text(text, encoding="utf-8")
    warm = subject(model, platform, tmp_path / "net", POOLS)
    kernels = [kernel for layer in groups(grouped.plan) for kernel in kernel_steps(layer.body)]
    assert [kernel.runs for layer in groups(warm.plan) for kernel in kernel_steps(layer.body)] == [
        kernel.runs for kernel in kernels
    ]
    pairs = zip(grouped.plan.layers, warm.plan.layers, strict=True)
    more = [cold.predicted_cycles - other.predicted_cycles for cold, other in pairs]
    first = [2000 if "depthwise" in kernel.symbol else 1800 for kernel in kernels]
    wanted = [kernel.runs.count * cycles for kernel, cycles in zip(kernels, first, strict=True)]
    assert more[: len(wanted)] == wanted


@needs_host_compiler
def test_the_bits_are_those_of_layers_one_by_one(grouped: Subject, model: Path) -> None:
    """Under sanitizers, cores forwards and backwards, copies as late as they may be, dead bytes overwritten."""
    apart = subject(model, "host", grouped.folder / "apart", groups=Groups.OFF)
    assert outputs(grouped, 3, Verdicts()) == outputs(apart, 3, Verdicts())


@needs_host_compiler
@pytest.mark.parametrize(("grown", "seed", "pools"), sampled(RANDOM))
def test_random_networks(
    grown: Callable[[int], RandomModel], seed: int, pools: tuple[str, ...], tmp_path: Path
) -> None:
    model = tmp_path / "random" / "net.onnx"
    model.parent.mkdir()
    model.write_bytes(grown(seed).proto().SerializeToString())
    found = subject(model, platform_with(CORES, tmp_path), tmp_path / "net", pools)
    assert groups(found.plan)
    apart = subject(model, "host", tmp_path / "apart", groups=Groups.OFF)
    assert outputs(found, seed, Verdicts()) == outputs(apart, seed, Verdicts())


def test_a_split_of_other_rows_is_refused(grouped: Subject) -> None:
    refused = 0
    for layer in groups(grouped.plan):
        for kernel in kernel_steps(layer.body):
            assert kernel.split is not None
            spoilt = replace(kernel, split=replace(kernel.split, chunk=kernel.split.chunk + 4))
            changed = on_step(grouped.plan, same(kernel), lambda _, spoilt=spoilt: spoilt)
            assert Rule.SPLIT in {item.rule for item in check(changed)}
            refused += 1
    assert refused >= 2


@needs_host_compiler
@pytest.mark.parametrize("count", sampled(MUTATIONS))
def test_a_number_changed_is_refused_or_harmless(count: int, grouped: Subject) -> None:
    verdicts = Verdicts()
    judge(grouped, random.Random(3), count, verdicts)
    assert verdicts.holes == []
    assert sum(verdicts.refused.values()) > count // 2


def test_a_lock_repeats_groups(model: Path, tmp_path: Path) -> None:
    platform = platform_with(CORES, tmp_path)
    options = CompileOptions(model, str(platform), "net", pools=POOLS, static_pools=True)
    found = compile_model(options)
    assert groups(found.plan)
    lock = tmp_path / "net.lock.json"
    lock.write_text(found.lock, encoding="utf-8")
    assert compile_model(replace(options, plan_lock=lock)).files == found.files
