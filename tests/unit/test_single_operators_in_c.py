"""All single operators of Deeploy's tests in TILEWRIGHT_CORPUS as C under sanitizers, against their stored outputs.

Each operator is compiled whole, and in tiles for the smallest l1 of a few in which it fits. All models are one
program that runs once. Integers are compared bit for bit.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from conformance.build import Generated, build, runtime_library
from support.firmware import needs_host_compiler
from support.host_runs import OBJECTS, TILED
from support.stored_networks import arrays_of, integer_types, networks_below, stored
from tilewright.base.errors import TilewrightError
from tilewright.graph import Array
from tilewright.options import build_options
from tilewright.pipeline import compile_model
from tilewright.plan import InterfaceTensor

CORPUS = os.environ.get("TILEWRIGHT_CORPUS", "")
OPERATORS = Path(CORPUS) / "deeploy" / "Kernels"
pytestmark = [
    pytest.mark.corpus,
    pytest.mark.skipif(not CORPUS, reason="TILEWRIGHT_CORPUS does not name the folder of test networks"),
]
RELATIVE, ABSOLUTE = 2e-6, 2e-6
"""Of real numbers; the stored Swish is 1.3e-6 away from the exact value, all others are closer."""
L1_BYTES = (1024, 4096, 16_000, 64_000)
RUN_SECONDS = 120


@dataclass(frozen=True)
class Compiled:
    """A network as C, and what it must compute."""

    network: str
    model: Generated
    inputs: Mapping[str, Array]
    wanted: Mapping[str, Array]

    @property
    def label(self) -> str:
        return f"{self.network} ({'tiled' if self.model.prefix.startswith('t') else 'whole'})"


def tensors(items: Sequence[InterfaceTensor]) -> list[tuple[str, str, tuple[int, ...]]]:
    return [(item.name, item.dtype, item.shape) for item in items]


def compiled(network: str, prefix: str, platform: str, pools: Sequence[str] = ()) -> Compiled:
    """The network with pools of its own. Raises TilewrightError."""
    folder = OPERATORS / network
    values: dict[str, object] = {"model": folder / "network.onnx", "platform": platform, "name": prefix}
    values |= {"static_pools": True, "types": [f"{name}={dtype}" for name, dtype in integer_types(folder).items()]}
    artifacts = compile_model(build_options(("test", values | ({"pools": list(pools)} if pools else {}))))
    plan = artifacts.plan
    return Compiled(
        network,
        Generated(prefix, plan, dict(artifacts.files)),
        arrays_of(tensors(plan.inputs), stored(folder, "inputs.npz")),
        arrays_of(tensors(plan.outputs), stored(folder, "outputs.npz")),
    )


def in_tiles(network: str, prefix: str) -> Compiled:
    for l1_bytes in L1_BYTES[:-1]:
        try:
            return compiled(network, prefix, TILED, [f"l1={l1_bytes}"])
        except TilewrightError as error:
            if error.code not in ("tile-overflow", "pool-overflow"):
                raise
    return compiled(network, prefix, TILED, [f"l1={L1_BYTES[-1]}"])


def computed(models: Sequence[Compiled], folder: Path) -> list[dict[str, Array]]:
    """Outputs of each model by name, from one run of one program; a sanitizer's complaint is an error."""
    executable = build(folder, [item.model for item in models], runtime_library(OBJECTS))
    words: list[str] = []
    for item in models:
        given, got = folder / f"{item.model.prefix}.in", folder / f"{item.model.prefix}.out"
        given.write_bytes(b"".join(np.ascontiguousarray(array).tobytes() for array in item.inputs.values()))
        words += [item.model.prefix, str(given), str(got)]
    done = subprocess.run([executable, *words], capture_output=True, text=True, check=False, timeout=RUN_SECONDS)
    begun = [item.label for item in models if (folder / f"{item.model.prefix}.out").exists()]
    assert done.returncode == 0, f"{begun[-1]}: status {done.returncode}: {done.stderr[-2000:]}"
    return [split(item, (folder / f"{item.model.prefix}.out").read_bytes()) for item in models]


def split(item: Compiled, content: bytes) -> dict[str, Array]:
    """The arrays whose bytes stand one behind the other."""
    outputs, position = {}, 0
    for name, array in item.wanted.items():
        outputs[name] = np.frombuffer(content[position : position + array.nbytes], array.dtype).reshape(array.shape)
        position += array.nbytes
    assert position == len(content), item.label
    return outputs


def differing(got: Mapping[str, Array], wanted: Mapping[str, Array]) -> int:
    """How many elements are wrong."""
    count = 0
    for name, array in wanted.items():
        if array.dtype.kind == "f":
            count += int((~np.isclose(got[name], array, rtol=RELATIVE, atol=ABSOLUTE, equal_nan=True)).sum())
        else:
            count += int((got[name] != array).sum())
    return count


def spoilt(wanted: Mapping[str, Array]) -> dict[str, Array]:
    """The last element of the last output one step, or a hundred-thousandth, away; 0 for what is not finite."""
    *others, last = wanted
    array = wanted[last].copy()
    flat = array.reshape(-1)
    if array.dtype.kind == "f":
        flat[-1] = flat[-1] + 1e-5 * (1 + abs(flat[-1])) if np.isfinite(flat[-1]) else 0
    else:
        flat[-1] ^= 1
    return {**{name: wanted[name] for name in others}, last: array}


@needs_host_compiler
def test_every_single_operator_computes_its_stored_outputs(tmp_path: Path) -> None:
    networks = networks_below(OPERATORS)
    assert len(networks) >= 89
    whole = [compiled(network, f"w{number}", "host") for number, network in enumerate(networks)]
    tiled = [in_tiles(network, f"t{number}") for number, network in enumerate(networks)]
    cut = sum(any(layer.tiles > 1 for layer in item.model.plan.layers) for item in tiled)
    assert cut >= 60, f"{cut} of {len(tiled)} are cut into tiles"
    models = [*whole, *tiled]
    results = computed(models, tmp_path)
    pairs = list(zip(models, results, strict=True))
    wrong = {item.label: differing(got, item.wanted) for item, got in pairs}
    assert {label: f"{count} elements" for label, count in wrong.items() if count} == {}
    unseen = [item.label for item, got in pairs if not differing(got, spoilt(item.wanted))]
    assert not unseen, "a wrong element was not found"


@needs_host_compiler
def test_code_that_computes_something_else_is_found(tmp_path: Path) -> None:
    item = compiled("Integer/Conv/PW_2D", "w0", "host")
    files = item.model.files
    weights = files["w0_weights.c"].replace(b" 1,", b" 2,")
    assert weights != files["w0_weights.c"]
    other = replace(item, model=Generated("w0", item.model.plan, {**files, "w0_weights.c": weights}))
    (got,) = computed([other], tmp_path)
    assert differing(got, item.wanted)
