"""Plans whose outputs overlap what they consume give the bits of plans without, with all dead bytes overwritten."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from support.firmware import needs_host_compiler
from support.forced import late_tiles
from support.mutants import Subject, Verdicts, outputs, subject
from support.planned import groups
from support.random_int8 import random_int8
from tilewright.kernels.kernel import KernelChoice
from tilewright.options import Groups
from tilewright.plan import Plan, Stores, WriteOrder, kernel_steps
from tilewright.schedule import building

FIRMWARE = Path(__file__).parents[1] / "firmware" / "models"
SAMPLE = {"qdq_residual": "l1=3072", "deeploy_residual": "l1=3072", "float_mixture": "l1=12288"}
CORPUS = os.environ.get("TILEWRIGHT_CORPUS", "")
NETWORKS = (
    *("kws_int8", "kws_f32", "ic_int8", "mcunet_vww1_80_int8", "resnet18s_64_int8", "fpn_det_96_int8", "unet48_int8"),
    *("squeeze_incep_56_int8", "tcn_causal_128_int8", "espdl_streaming_tcn", "dscnn_l_kws_int8", "onnx2c_mnist"),
)
RANDOM_MODELS, TILED_MODELS = 20, 4


def planned(
    model: Path, folder: Path, platform: str | Path = "host", *pools: str, groups: Groups = Groups.OFF
) -> Subject:
    file = model.parent / "types.json"
    types = tuple((json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}).items())
    folder.mkdir(parents=True, exist_ok=True)
    return subject(model, platform, folder, pools, types=types, groups=groups)


def written_bytes(plan: Plan) -> int:
    return next(use.used_bytes for use in plan.pool_use if use.pool == "sram")


def compared(
    model: Path,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    platform: str | Path = "host",
    *pools: str,
    groups: Groups = Groups.OFF,
) -> tuple[Plan, Plan]:
    """The plan with and the plan without overlaps, of which the first is no larger and both compute the same."""
    plain = planned(model, folder / "over", platform, *pools, groups=groups)
    with monkeypatch.context() as patched:
        patched.setattr(building, "find_overlaps", lambda *_: ())
        apart = planned(model, folder / "apart", platform, *pools, groups=groups)
    assert written_bytes(plain.plan) <= written_bytes(apart.plan)
    assert outputs(plain, 1, Verdicts()) == outputs(apart, 1, Verdicts())
    return plain.plan, apart.plan


@pytest.mark.parametrize("name", SAMPLE)
@needs_host_compiler
def test_overlaps_change_no_bit(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    over, apart = compared(FIRMWARE / name / "network.onnx", tmp_path, monkeypatch)
    assert written_bytes(over) < written_bytes(apart)


@needs_host_compiler
def test_overlaps_of_groups_change_no_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    grouped = 0
    for name in SAMPLE:
        model = FIRMWARE / name / "network.onnx"
        over, _ = compared(model, tmp_path / name, monkeypatch, groups=Groups.AUTO)
        grouped += bool(groups(over))
    assert grouped


@pytest.mark.parametrize("name", SAMPLE)
@needs_host_compiler
def test_overlaps_of_homes_that_are_copied_change_no_bit(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = FIRMWARE / name / "network.onnx"
    over, apart = compared(model, tmp_path, monkeypatch, late_tiles(tmp_path), SAMPLE[name])
    assert written_bytes(over) < written_bytes(apart)


@pytest.mark.long
@needs_host_compiler
def test_overlaps_of_many_networks_change_no_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    models = [Path(CORPUS) / "onnx" / name / "network.onnx" for name in NETWORKS] if CORPUS else []
    for seed in range(RANDOM_MODELS):
        models.append(tmp_path / f"random{seed}" / "network.onnx")
        models[-1].parent.mkdir()
        models[-1].write_bytes(random_int8(seed).proto().SerializeToString())
    turned = 0
    for number, model in enumerate(models):
        over, _ = compared(model, tmp_path / str(number), monkeypatch)
        if number < TILED_MODELS:
            compared(model, tmp_path / f"tiled{number}", monkeypatch, late_tiles(tmp_path), "l1=16000")
        turned += sum(bool(kernel.stores.backward) for kernel in kernel_steps(over.program))
    assert turned, "no kernel walks backward"


@needs_host_compiler
def test_a_walk_in_larger_blocks_than_the_kernels_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = FIRMWARE / "qdq_residual" / "network.onnx"
    wanted = outputs(planned(model, tmp_path / "sound"), 1, Verdicts())
    stores_of = KernelChoice.stores.fget
    assert stores_of is not None

    def larger(choice: KernelChoice) -> Stores:
        stores: Stores = stores_of(choice)
        return replace(stores, block=1 << 20, rereads=False) if stores.order is WriteOrder.RASTER else stores

    monkeypatch.setattr(KernelChoice, "stores", property(larger))
    spoilt = planned(model, tmp_path / "spoilt")
    assert outputs(spoilt, 1, Verdicts()) != wanted
