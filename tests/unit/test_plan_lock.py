"""The lock repeats a plan without any search, and says when it no longer fits."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.chains import conv_chain
from tilewright import cli
from tilewright.base.errors import TilewrightError
from tilewright.options import CompileOptions, Order, build_options
from tilewright.pipeline import compile_model
from tilewright.planning.lock_file import parse_lock

CALL = ("--platform", "qemu-virt-rv32", "--name", "net", "--pool", "l1=1200")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "a model.onnx"
    path.write_bytes(conv_chain())
    return path


def compiled(model: Path, **changes: Any) -> CompileOptions:
    base = CompileOptions(model, "qemu-virt-rv32", "net", pools=("l1=1200",))
    return replace(base, **changes)


@pytest.fixture
def lock(model: Path) -> Path:
    path = model.with_name("net.lock.json")
    path.write_text(compile_model(compiled(model)).lock, encoding="utf-8")
    return path


def refused(options_: CompileOptions) -> TilewrightError:
    with pytest.raises(TilewrightError) as caught:
        compile_model(options_)
    assert caught.value.code == "plan-lock"
    (command,) = caught.value.help
    assert command.startswith("tilewright plan --update --plan-lock ")
    return caught.value


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"platform": "qemu-virt-rv32-l3", "pools": ("l1=1200", "l2=9000")},
        {"platform": "host", "pools": ()},
        {"platform": "pulp-open", "pools": ("l1=3000",)},
        {"platform": "pulp-open", "pools": ("l2_constants=1",)},
        {"platform": "pulp-open", "pools": ("l2_constants=400",)},
    ],
    ids=["near", "three levels", "untiled", "kernels to choose", "constants far", "constants in two pools"],
)
def test_the_plan_is_repeated_exactly(model: Path, changes: dict[str, Any]) -> None:
    searched = compile_model(compiled(model, **changes))
    path = model.with_name("net.lock.json")
    path.write_text(searched.lock, encoding="utf-8")
    repeated = compile_model(compiled(model, **changes, plan_lock=path))
    assert repeated.plan == searched.plan
    assert repeated.files == searched.files
    assert repeated.lock == searched.lock


def test_nothing_is_searched(model: Path, lock: Path) -> None:
    script = (
        "import sys\n"
        "from tilewright import cli\n"
        "from tilewright.placement import native\n"
        "from tilewright.tiling import choice\n"
        "native.search_pool = choice.choose_tiles = None\n"
        "status = cli.main(sys.argv[1:])\n"
        "assert not any(name.split('.')[0] == 'ortools' for name in sys.modules)\n"
        "sys.exit(status)\n"
    )
    words = ["plan", "--model", str(model), *CALL, "--plan-lock", str(lock), "--output", str(model.with_name("p"))]
    done = subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "_exact" not in done.stderr


def test_other_weights_keep_their_addresses(model: Path, lock: Path) -> None:
    before = compile_model(compiled(model, plan_lock=lock)).plan
    model.write_bytes(conv_chain(seed=1))
    after = compile_model(compiled(model, plan_lock=lock)).plan
    assert after.placements == before.placements
    assert after.model_sha256 != before.model_sha256


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"pools": ("l1=1300",)}, "POOLS have changed"),
        ({"platform": "host", "pools": ()}, "platform 'host'; the lock was made for 'qemu-virt-rv32'"),
        ({"tiles": (("conv1", (("oh", 2),)),)}, "option 'tiles' is"),
        ({"io_in_pools": True}, "option 'io_in_pools' is true; the lock was made with the default"),
    ],
)
def test_other_platforms_and_options_are_refused(model: Path, lock: Path, changes: dict[str, Any], part: str) -> None:
    assert part in refused(compiled(model, plan_lock=lock, **changes)).what


def test_other_models_are_refused(model: Path, lock: Path) -> None:
    model.write_bytes(conv_chain(channels=5))
    assert "buffer" in refused(compiled(model, plan_lock=lock)).what
    model.write_bytes(conv_chain(layers=3))
    assert "only the model has 'conv3'" in refused(compiled(model, plan_lock=lock)).what
    model.write_bytes(conv_chain(layers=1))
    assert "only the lock has 'conv2'" in refused(compiled(model, plan_lock=lock)).what


def edited(lock: Path, change: Any) -> None:
    document = json.loads(lock.read_text(encoding="utf-8"))
    change(document)
    lock.write_text(json.dumps(document), encoding="utf-8")


def overlap(document: dict[str, Any]) -> None:
    tiles = [name for name, (pool, _, _) in document["addresses"].items() if pool == "l1" and "conv1." in name]
    document["addresses"][tiles[-1]][1] = document["addresses"][tiles[0]][1]
    ends = [offset + size for pool, offset, size in document["addresses"].values() if pool == "l1"]
    document["pools"]["l1"][:2] = [max(ends), 0]


def bound(document: dict[str, Any]) -> None:
    document["pools"]["l1"][0] -= 4


def kernel(document: dict[str, Any]) -> None:
    document["layers"][0]["kernel"] = "other"


def tile(document: dict[str, Any]) -> None:
    document["layers"][0]["tile"] = {"oh": 999}


def operand(document: dict[str, Any]) -> None:
    document["layers"][0]["slots"]["other"] = 1


def kept_rows(document: dict[str, Any]) -> None:
    layer = next(layer for layer in document["layers"] if "kept" in layer)
    layer["kept"] = dict.fromkeys(layer["kept"], "oc")


def order(document: dict[str, Any]) -> None:
    document["layers"].reverse()


def text(document: dict[str, Any]) -> None:
    document["layers"][0]["cycles"] = "many"


def hint(document: dict[str, Any]) -> None:
    document["layers"][0]["hinted"] = 1


def offer(document: dict[str, Any]) -> None:
    document["layers"][0]["other_kernels"] = [["f", "many", False]]


def handed(document: dict[str, Any]) -> None:
    document["handed_over"] = 1


def version(document: dict[str, Any]) -> None:
    document["format"] = 0


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (overlap, "not sound"),
        (bound, "end at"),
        (kernel, "cannot be run by kernel 'other'"),
        (tile, "exceeds its extent"),
        (operand, "other operands"),
        (kept_rows, "cannot keep rows"),
        (order, ""),
        (text, "damaged: the layer"),
        (handed, "damaged: 'handed_over'"),
        (hint, "damaged: the layer"),
        (offer, "damaged: the layer"),
        (version, "damaged: no format 1"),
    ],
)
def test_edited_locks_are_refused(model: Path, lock: Path, change: Any, part: str) -> None:
    edited(lock, change)
    assert part in refused(compiled(model, plan_lock=lock)).what


def test_missing_and_broken_files_are_refused(model: Path, lock: Path) -> None:
    lock.write_text("{", encoding="utf-8")
    assert "damaged" in refused(compiled(model, plan_lock=lock)).what
    lock.unlink()
    assert "cannot read" in refused(compiled(model, plan_lock=lock)).what


def test_the_command_in_the_error_makes_a_lock_that_fits(model: Path, lock: Path) -> None:
    tiles = (("conv1", (("oh", 2),)),)
    wanted = compiled(model, plan_lock=lock, tiles=tiles, budget=(("l1", 1200),), static_pools=True)
    wanted = replace(wanted, order=Order.MODEL.value, hints=False)
    _, *words = shlex.split(refused(wanted).help[0])
    assert cli.main(words) == 0
    assert compile_model(wanted).plan.static_pools


def test_update_is_quiet_where_nothing_changed(model: Path, lock: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["plan", "--update", "--model", str(model), *CALL, "--plan-lock", str(lock)]
    assert cli.main(words) == 0
    assert capsys.readouterr().out.endswith("net.lock.json: unchanged\n")
    lock.write_text("old", encoding="utf-8")
    assert cli.main(words) == 0
    assert capsys.readouterr().out.endswith("net.lock.json: written\n")


def test_a_lock_is_small_and_has_a_line_for_each_layer_and_buffer(model: Path, lock: Path) -> None:
    content = lock.read_text(encoding="utf-8")
    plan = compile_model(compiled(model)).plan
    assert len(content.splitlines()) < len(plan.layers) + len(plan.placements) + 15
    assert [layer.name for layer in parse_lock(content).layers] == ["conv1", "conv2"]
    assert "a model" not in content


@pytest.mark.parametrize(("text", "size"), [("2K", 2048), ("1M", 1 << 20), ("300", 300)])
def test_budgets_take_k_and_m(text: str, size: int, model: Path) -> None:
    given = {"model": model, "platform": "host", "name": "net", "budget": [f"sram={text}"]}
    assert build_options(("test", given)).budget == (("sram", size),)


@pytest.mark.parametrize("text", ["2k", "K", "2KB", "1.5K"])
def test_other_units_are_refused(text: str, model: Path) -> None:
    with pytest.raises(TilewrightError, match="must be"):
        build_options(("test", {"model": model, "platform": "host", "name": "net", "budget": [f"sram={text}"]}))


def test_budgets(model: Path) -> None:
    used = {use.pool: use.used_bytes for use in compile_model(compiled(model)).plan.pool_use}
    compile_model(compiled(model, budget=tuple(used.items())))
    with pytest.raises(TilewrightError, match=f"its budget is {used['sram'] - 1:,} \\(1 too many\\)"):
        compile_model(compiled(model, budget=(("sram", used["sram"] - 1),)))
    with pytest.raises(TilewrightError, match="no pool"):
        compile_model(compiled(model, budget=(("sam", 1),)))
