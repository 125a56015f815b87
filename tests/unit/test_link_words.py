"""Links that take whole words only: a port that refuses everything else gives the bits of single bytes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
from conformance.build import Generated
from support import host_runs
from support.dead_networks import Network
from support.firmware import needs_host_compiler
from support.forced import FLAGS, RUNTIME, late_library
from support.objects import LINKER
from support.onnx_models import random_feeds, runtime_outputs
from tilewright.base.errors import TilewrightError
from tilewright.graph import Array
from tilewright.options import CompileOptions
from tilewright.pipeline import compile_model
from tilewright.plan import CopyStart
from tilewright.plan.stages import plain_steps
from tilewright.tools.golden import match_arrays, read_arrays

MODELS = Path(__file__).parents[1] / "firmware" / "models"
TILED = Path(__file__).parents[1] / "conformance" / "host-tiled.toml"
POOLS = {"qdq_residual": "l1=3072", "float_mixture": "l1=12288"}
WORDS = (2, 4, 8, 16, 32, 64)


def platform(folder: Path, word_bytes: int, granule_bytes: int = 1) -> Path:
    """A core that reaches l1 only, over links of whole words that work beside it."""
    text = TILED.read_text(encoding="utf-8").replace("align_bytes = 16", f"align_bytes = {max(word_bytes, 16)}")
    words = f"dimensions = 2\nasynchronous = true\nalign_bytes = {word_bytes}"
    text = text.replace("dimensions = 2", words).replace(
        'access = "rw"', f'access = "rw"\ngranule_bytes = {granule_bytes}'
    )
    path = folder / f"words_{word_bytes}_{granule_bytes}.toml"
    path.write_text(text, encoding="utf-8")
    return path


def generated(network: str, name: str, chip: Path, *, pool: str, io_in_pools: bool = False) -> Generated:
    file = MODELS / network / "types.json"
    types = tuple((json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}).items())
    options = CompileOptions(
        MODELS / network / "network.onnx",
        str(chip),
        name,
        pools=(pool,),
        types=types,
        static_pools=True,
        io_in_pools=io_in_pools,
    )
    found = compile_model(options)
    return Generated(
        name, found.plan, {file: text for file, text in found.files.items() if file.endswith((".c", ".h"))}
    )


def driver(models: list[tuple[Generated, int]]) -> str:
    """A program that gives each model the same inputs and prints its outputs, each under its words."""
    lines = ["#include <stdio.h>", "#include <stdint.h>", "extern uint32_t late_port_word_bytes;"]
    lines += [f'#include "{model.prefix}.h"' for model, _ in models]
    lines += ["int main(int count, char **paths)", "{", "    (void)count;", "    int status = 0;"]
    for model, word_bytes in models:
        lines += [
            "    {",
            '        FILE *in = fopen(paths[1], "rb");',
            *_calls(model, word_bytes),
            "        fclose(in);",
            "    }",
        ]
    return "\n".join([*lines, "    return status;", "}"]) + "\n"


def _calls(model: Generated, word_bytes: int) -> list[str]:
    prefix, plan = model.prefix, model.plan
    lines = [f"late_port_word_bytes = {word_bytes}u;"]
    for side, items in (("input", plan.inputs), ("output", plan.outputs)):
        for item in items:
            macro = f"{prefix}_{side}_{item.identifier}".upper()
            lines += [
                f"#ifndef {macro}_STORAGE",
                f"#define {macro}_STORAGE {macro}_SIZE",
                "#endif",
                f"static _Alignas({macro}_ALIGN) uint8_t {side}_{item.identifier}[{macro}_STORAGE];"
                if not plan.io_in_pools
                else f"uint8_t *{side}_{item.identifier} = (uint8_t *){prefix}_{side}_{item.identifier}();",
            ]
    for item in plan.inputs:
        size = f"{prefix}_input_{item.identifier}_size".upper()
        lines.append(f"status |= fread(input_{item.identifier}, 1, {size}, in) != {size};")
    arguments = []
    if not plan.io_in_pools:
        for side, items in (("input", plan.inputs), ("output", plan.outputs)):
            fields = ", ".join(f".{item.identifier} = (void *){side}_{item.identifier}" for item in items)
            lines.append(f"const struct {prefix}_{side}s {side}s = {{{fields}}};")
            arguments.append(f"&{side}s")
    lines.append(f"status |= (int){prefix}_run({', '.join(arguments)});")
    for item in plan.outputs:
        size = f"{prefix}_output_{item.identifier}_size".upper()
        lines.append(f"fwrite(output_{item.identifier}, 1, {size}, stdout);")
    return [line if line.startswith("#") else f"        {line}" for line in lines]


def outputs(
    models: list[tuple[Generated, int]], inputs: list[Array], folder: Path
) -> subprocess.CompletedProcess[bytes]:
    folder.mkdir(parents=True, exist_ok=True)
    units = []
    for model, _ in models:
        for name, content in model.files.items():
            (folder / name).write_bytes(content)
            units += [str(folder / name)] if name.endswith(".c") else []
    (folder / "driver.c").write_text(driver(models), encoding="utf-8")
    (folder / "inputs").write_bytes(b"".join(np.ascontiguousarray(array).tobytes() for array in inputs))
    library = late_library(folder / "objects", [model for model, _ in models])
    flags = [*LINKER, *FLAGS, f"-I{RUNTIME / 'include'}", f"-I{folder}"]
    command = ["gcc", *flags, str(folder / "driver.c"), *units, str(library), "-lm", "-o", str(folder / "program")]
    subprocess.run(command, check=True)
    return subprocess.run([str(folder / "program"), str(folder / "inputs")], capture_output=True, check=False)


def inputs_of(network: str, model: Generated) -> list[Array]:
    path = MODELS / network / "inputs.npz"
    return [array[0] for array in match_arrays(model.plan.inputs, read_arrays(path), str(path))]


@needs_host_compiler
@pytest.mark.parametrize("network", POOLS)
def test_words_change_no_bit(network: str, tmp_path: Path) -> None:
    models = [(generated(network, "bytes_1", platform(tmp_path, 1), pool=POOLS[network]), 1)]
    for word in WORDS:
        chip = platform(tmp_path, word)
        models.append((generated(network, f"tiled_{word}", chip, pool=POOLS[network]), word))
        if word in (4, 64):
            models += [
                (generated(network, f"whole_{word}", chip, pool="l1=1000000"), word),
                (generated(network, f"inside_{word}", chip, pool=POOLS[network], io_in_pools=True), word),
            ]
    tiles = {model.prefix: sum(layer.tiles for layer in model.plan.layers) for model, _ in models}
    assert all(count > len(models[0][0].plan.layers) for name, count in tiles.items() if "whole" not in name)
    done = outputs(models, inputs_of(network, models[0][0]), tmp_path / "net")
    assert done.returncode == 0, done.stderr[-2000:]
    size = len(done.stdout) // len(models)
    assert {done.stdout[at : at + size] for at in range(0, len(done.stdout), size)} == {done.stdout[:size]}


@needs_host_compiler
@pytest.mark.parametrize("constants", [2, 8])
def test_words_of_a_link_are_its_own(constants: int, tmp_path: Path) -> None:
    """Buffers of 98 and 50 bytes end within a word of 4 bytes; constants come in words of their own."""
    chip = platform(tmp_path, 2)
    before, link, after = chip.read_text(encoding="utf-8").rpartition("align_bytes = 2")
    assert link
    chip.write_text(f"{before}align_bytes = {constants}{after}", encoding="utf-8")
    net = Network()
    weights, bias = net.weights(2, 2, 3, 3), np.arange(2)
    net.conv(net.input("x", [1, 2, 7, 7], np.int8), weights, bias, "y")
    model = net.model("y", dtypes={"y": np.int8})
    built = host_runs.generated(model, tmp_path, str(chip), pools=("l1=600",))
    assert any(isinstance(step, CopyStart) and step.words for step in plain_steps(built.plan.program))
    feeds = random_feeds(model)
    (want,) = runtime_outputs(model, feeds).values()
    np.testing.assert_array_equal(host_runs.host_outputs(built, feeds, tmp_path)["y"], want)


@needs_host_compiler
def test_a_port_of_larger_words_is_noticed(tmp_path: Path) -> None:
    model = generated("qdq_residual", "net", platform(tmp_path, 4), pool="l1=3072")
    done = outputs([(model, 8)], inputs_of("qdq_residual", model), tmp_path / "net")
    assert done.returncode != 0
    assert b"no whole words of 8 bytes" in done.stderr


def test_callers_are_told_of_words(tmp_path: Path) -> None:
    model = generated("qdq_residual", "net", platform(tmp_path, 64), pool="l1=4096")
    for item in (*model.plan.inputs, *model.plan.outputs):
        buffer = next(buffer for buffer in model.plan.buffers if buffer.name == item.buffer)
        assert buffer.align_bytes == 64
        assert buffer.size_bytes % 64 == 0
        assert f"_{item.identifier.upper()}_ALIGN 64u".encode() in model.files["net.h"]


def test_elements_of_whole_words_need_no_buffer(tmp_path: Path) -> None:
    model = generated("float_mixture", "net", platform(tmp_path, 4), pool="l1=12288")
    assert not any(isinstance(step, CopyStart) and step.words for step in plain_steps(model.plan.program))


@pytest.mark.parametrize("granule_bytes", [3, 24, 100, 1000])
def test_granules_that_do_not_divide_sizes(granule_bytes: int, tmp_path: Path) -> None:
    model = generated("qdq_residual", "net", platform(tmp_path, 4, granule_bytes), pool="l1=4000")
    assert all(use.used_bytes % granule_bytes == 0 for use in model.plan.pool_use if use.pool != "flash")


def test_pools_of_less_alignment_are_refused(tmp_path: Path) -> None:
    chip = platform(tmp_path, 64)
    chip.write_text(
        chip.read_text(encoding="utf-8").replace("align_bytes = 64\naccess", "align_bytes = 16\naccess"),
        encoding="utf-8",
    )
    with pytest.raises(TilewrightError, match="alignment of 64"):
        generated("qdq_residual", "net", chip, pool="l1=4096")


def test_a_way_back_in_larger_words_is_refused(tmp_path: Path) -> None:
    text = platform(tmp_path, 4).read_text(encoding="utf-8")
    there = text[text.index("[[link]]") : text.rindex("[[link]]")]
    back = there.replace('from = "sram"\nto = "l1"', 'from = "l1"\nto = "sram"').replace("bytes = 4", "bytes = 2")
    chip = tmp_path / "one_way.toml"
    chip.write_text(text.replace(there, (there + back).replace("both_ways = true\n", "")), encoding="utf-8")
    with pytest.raises(TilewrightError, match=r"stores words of 2 bytes.* read over 'sram->l1' in words of 4"):
        generated("qdq_residual", "net", chip, pool="l1=3072")
