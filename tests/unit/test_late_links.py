"""Networks over links that deliver late: single and double buffered, they give the bits of the untiled network."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conformance.build import Generated, build
from support.firmware import needs_host_compiler
from support.forced import late_library, late_platform, run_each, wait_count, without_wait
from tilewright.graph import Array
from tilewright.options import Buffering, CompileOptions, Groups
from tilewright.pipeline import compile_model
from tilewright.tools.golden import match_arrays, read_arrays

MODELS = Path(__file__).parents[1] / "firmware" / "models"
POOLS = {"qdq_residual": "l1=2048", "float_mixture": "l1=12288", "deeploy_residual": "l1=3072"}
UNTILED = "qemu-virt-rv32-single"


def generated(network: str, name: str, platform: str | Path, pool: str, buffering: Buffering) -> Generated:
    """The C of a network, layer by layer, with pools of its own, under a name."""
    file = MODELS / network / "types.json"
    types = tuple((json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}).items())
    found = compile_model(
        CompileOptions(
            MODELS / network / "network.onnx",
            str(platform),
            name,
            pools=(pool,),
            types=types,
            static_pools=True,
            buffering=buffering,
            groups=Groups.OFF,
        )
    )
    sources = {file: text for file, text in found.files.items() if file.endswith((".c", ".h"))}
    return Generated(name, found.plan, sources)


def inputs_of(network: str, model: Generated) -> list[Array]:
    """The first stored run."""
    path = MODELS / network / "inputs.npz"
    return [array[0] for array in match_arrays(model.plan.inputs, read_arrays(path), str(path))]


def slots(model: Generated) -> int:
    """The most slots that a buffer of the plan has."""
    return max(count for layer in model.plan.layers for _, count in layer.copies)


@needs_host_compiler
@pytest.mark.parametrize("network", POOLS)
def test_buffering_changes_no_bit(network: str, tmp_path: Path) -> None:
    platform, pool = late_platform(tmp_path), POOLS[network]
    untiled = generated(network, "untiled", UNTILED, "sram=1000000", Buffering.AUTO)
    tiled = [generated(network, buffering.value, platform, pool, buffering) for buffering in Buffering]
    assert all(layer.tiles == 1 for layer in untiled.plan.layers)
    assert all(sum(layer.tiles for layer in model.plan.layers) > len(model.plan.layers) for model in tiled)
    assert {model.prefix: slots(model) for model in tiled} == {"auto": 2, "single": 1, "double": 2}
    models = [untiled, *tiled]
    program = build(tmp_path / "net", models, late_library(tmp_path / "objects", models))
    wanted, *got = run_each(program, [(model, inputs_of(network, model)) for model in models], tmp_path)
    assert isinstance(wanted, bytes), wanted
    assert got == [wanted] * len(got)


@needs_host_compiler
def test_waits_of_a_network_are_needed(tmp_path: Path) -> None:
    network = "qdq_residual"
    platform, pool = late_platform(tmp_path), POOLS[network]
    sound = generated(network, "sound", platform, pool, Buffering.DOUBLE)
    (wanted,) = outputs(network, sound, tmp_path)
    assert isinstance(wanted, bytes), wanted
    numbers = range(0, wait_count(sound), 2)
    assert len(numbers) >= 8
    found = [outputs(network, without_wait(sound, number), tmp_path)[0] for number in numbers]
    # A missing wait shows no error where a later copy over the same link is waited for in time.
    assert sum(output != wanted for output in found) >= len(numbers) / 2


def outputs(network: str, model: Generated, folder: Path) -> list[bytes | str]:
    program = build(folder / "net", [model], late_library(folder / "objects", [model]))
    return run_each(program, [(model, inputs_of(network, model))], folder)
