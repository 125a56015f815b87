from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tilewright.base.errors import ExitStatus, TilewrightError
from tilewright.options import Buffering, CompileOptions, Effort, build_options, parse_setting, read_options_file

CALL: dict[str, Any] = {"model": "models/my net.onnx", "platform": "host"}


def build(**values: Any) -> CompileOptions:
    return build_options(("call", {**CALL, **values}))


def test_defaults_and_name_from_the_file() -> None:
    options = build()
    assert options == CompileOptions(Path("models/my net.onnx"), "host", "my_net")


def test_later_sources_win_and_lists_merge_by_name() -> None:
    file = {"effort": "fast", "pools": {"l1": 100, "l2": 200}, "types": {"x": "int8"}, "buffering": "double"}
    setting = {"buffering": "single"}
    call = {**CALL, "effort": "thorough", "pools": ["l1=300@.fast"], "dims": ["batch=4"]}
    options = build_options(("file", file), ("--set", setting), ("call", call))
    assert options.effort is Effort.THOROUGH
    assert options.buffering is Buffering.SINGLE
    assert options.pools == ("l1=300@.fast", "l2=200")
    assert options.types == (("x", "int8"),)
    assert options.dims == (("batch", 4),)


def test_tensor_names_may_hold_an_equals_sign() -> None:
    assert build(types=["a=b=int8"]).types == (("a=b", "int8"),)


@pytest.mark.parametrize(
    ("values", "code", "part"),
    [
        ({"bufering": "single"}, "unknown-option", "did you mean 'buffering'"),
        ({"effort": "fats"}, "bad-option", "did you mean 'fast'"),
        ({"effort": 3}, "bad-option", "not one of fast, normal, thorough"),
        ({"quantized_io": "yes"}, "bad-option", "true or false"),
        ({"name": "int"}, "bad-name", "'t_int'"),
        ({"name": "r"}, "bad-name", "'t_r'"),
        ({"name": "9lives"}, "bad-name", "'t_9lives'"),
        ({"name": "a__b"}, "bad-name", "'a_b'"),
        ({"pools": ["l1"]}, "pool-override", "<pool>=<bytes>"),
        ({"pools": "l1=3"}, "bad-option", "list"),
        ({"dims": {"batch": -1}}, "bad-option", "'batch' must be at least 0, not -1"),
        ({"dims": {"batch": True}}, "bad-option", "'batch' must be a whole number, not true"),
        ({"types": ["x"]}, "bad-option", "<name>=<value>"),
        ({"types": {"x": 8}}, "bad-option", "text"),
        ({"model": ""}, "bad-option", "text"),
    ],
)
def test_wrong_values_are_refused(values: dict[str, Any], code: str, part: str) -> None:
    with pytest.raises(TilewrightError) as error:
        build(**values)
    assert error.value.code == code
    assert error.value.status is ExitStatus.BAD_INPUT
    assert part in str(error.value)


@pytest.mark.parametrize("key", ["model", "platform"])
def test_model_and_platform_are_needed(key: str) -> None:
    values = {name: value for name, value in CALL.items() if name != key}
    with pytest.raises(TilewrightError, match=f"no {key} was given"):
        build_options(("call", values))


def test_settings_are_toml_or_text() -> None:
    assert parse_setting("static_pools=true") == ("static_pools", True)
    assert parse_setting("effort=fast") == ("effort", "fast")
    assert parse_setting('pools=["l1=3"]') == ("pools", ["l1=3"])
    with pytest.raises(TilewrightError, match="<key>=<value>"):
        parse_setting("effort")


def test_files_are_beside_the_options_file(tmp_path: Path) -> None:
    path = tmp_path / "options.toml"
    path.write_text('model = "net.onnx"\nplatform = "chip.toml"\n[types]\n"a.b" = "int8"\n')
    options = build_options((str(path), read_options_file(path)))
    assert options.model == tmp_path / "net.onnx"
    assert options.platform == str(tmp_path / "chip.toml")
    assert options.types == (("a.b", "int8"),)


def test_errors_of_a_file_name_the_line(tmp_path: Path) -> None:
    path = tmp_path / "options.toml"
    path.write_text('# first\nplatform = "host"\nefort = "fast"\n')
    with pytest.raises(TilewrightError, match=r"options\.toml:3: efort\n.*did you mean 'effort'"):
        read_options_file(path)
    path.write_text("effort = \n")
    with pytest.raises(TilewrightError, match="not TOML"):
        read_options_file(path)
    with pytest.raises(TilewrightError, match="cannot read"):
        read_options_file(tmp_path / "none.toml")


def test_json_leaves_out_what_has_a_place() -> None:
    values = build().to_json()
    assert "model" not in values
    assert "platform" not in values
    assert values["effort"] == "normal"
