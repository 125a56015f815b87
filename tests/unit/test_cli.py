from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from tilewright import __version__, cli
from tilewright.base.errors import does_not_fit, not_supported
from tilewright.cli import generate as cli_generate
from tilewright.importers.onnx import convert
from tilewright.importers.onnx.context import Call
from tilewright.options import CompileOptions


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = cli.main(words)
    captured = capsys.readouterr()
    return status, captured.out, captured.err


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ((), "required"),
        (("generat",), "invalid choice"),
        (("generate", "--model", "m.onnx"), "--output-dir"),
        (("generate", "--output-dir", "x", "--frob"), "--frob"),
        (("generate", "--output-dir", "x", "--platform", "host"), "no model was given"),
        (("plan", "m.onnx", "--platform", "host", "--model", "m.onnx"), "given twice"),
        (("verify", "m.onnx", "--model", "m.onnx"), "given twice"),
        (("generate", "m.onnx", "--output-dir", "x", "--from", "exported"), "beside --from"),
        (("generate", "--output-dir", "x", "--model", "m", "--platform", "hots"), "did you mean 'host'"),
        (("generate", "--output-dir", "x", "--model", "m", "--platform", "host", "--set", "efort=1"), "'effort'"),
        (("report", "no.json"), "no.json"),
        (("check", "no.json"), "no.json"),
        (("linker-script", "--platform", "host"), "[linker]"),
        (("simulate", "--platform", "host", "--elf", "no.elf"), "no.elf"),
        (("simulate", "--platform", "host", "--elf", "no.elf", "--timeout", "0"), "above 0"),
    ],
)
def test_mistakes_end_with_2_and_without_a_traceback(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], part: str
) -> None:
    status, out, err = run(capsys, *words)
    assert status == 2
    assert out == ""
    assert err.startswith("error[")
    assert part in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (does_not_fit("pool-overflow", "too much"), 3),
        (not_supported("operator", "unknown"), 4),
        (KeyError("oops"), 70),
        (KeyboardInterrupt(), 130),
    ],
)
def test_exit_status_and_debug(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    error: BaseException,
    expected: int,
) -> None:
    def fail(options: CompileOptions) -> None:
        raise error

    monkeypatch.setattr(cli_generate, "compiled", fail)
    words = ("generate", "--model", "m.onnx", "--platform", "host", "--output-dir", str(tmp_path))
    status, out, err = run(capsys, *words)
    assert (status, out) == (expected, "")
    assert "Traceback" not in err
    assert list(tmp_path.iterdir()) == []
    assert "Traceback" in run(capsys, "--debug", *words)[2]
    assert "Traceback" in run(capsys, *words, "--debug")[2]


@pytest.mark.parametrize("option", [("--diagnostics", "json"), ("--diagnostics=json",)])
def test_messages_as_json(capsys: pytest.CaptureFixture[str], option: tuple[str, ...]) -> None:
    words = ("linker-script", "--platform", "hots")
    for line in ((*option, *words), (*words, *option)):
        status, out, err = run(capsys, *line)
        message = json.loads(err)
        assert (status, out) == (2, "")
        assert (message["severity"], message["code"], message["exit_status"]) == ("error", "platform-unknown", 2)
        assert "did you mean 'host'" in " ".join(message["help"])
    assert json.loads(run(capsys, *option, "generat")[2])["code"] == "usage"


def test_cycles_are_looked_for_rarely() -> None:
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    with pytest.raises(SystemExit):
        cli.main(["--version"])
    found = gc.get_threshold()
    gc.set_threshold(*before)
    assert found[0] >= 10_000


def test_version_and_cmake_folder(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["--version"])
    assert capsys.readouterr().out == f"tilewright {__version__}\n"
    with pytest.raises(SystemExit):
        cli.main(["--cmake-dir"])
    assert (Path(capsys.readouterr().out.strip()) / "Tilewright.cmake").is_file()


def test_platform_files(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(capsys, "platform", "--platform", "qemu-virt-rv32", "--output-dir", str(tmp_path))[0] == 0
    facts = json.loads((tmp_path / "qemu-virt-rv32_platform.json").read_text())
    assert facts["platform"]["compile_options"] == ["-march=rv32imac", "-mabi=ilp32"]
    assert facts["platform"]["port"] == "qemu_virt"
    assert (tmp_path / facts["linker_script"]).is_file()
    assert list(facts["files"]) == [facts["linker_script"]]


@pytest.mark.parametrize(("platform", "programs"), [("host", ["{elf}"]), ("qemu-virt-rv32", ["qemu-system-riscv32"])])
def test_what_a_simulator_needs(capsys: pytest.CaptureFixture[str], platform: str, programs: list[str]) -> None:
    """An empty list would disable every simulation test."""
    _, out, _ = run(capsys, "platform", "--platform", platform)
    assert json.loads(out)["platform"]["simulator"] == programs


MODEL = Path(__file__).parents[2] / "examples" / "digits" / "digits.onnx"


@pytest.mark.parametrize(
    ("words", "status", "code"),
    [
        (("--pool", "sram=100000"), 0, ""),
        (("--effort", "huge"), 2, "bad-option"),
        (("--pool", "flash=100"), 3, "pool-overflow"),
    ],
)
def test_exit_statuses_of_real_runs(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, words: tuple[str, ...], status: int, code: str
) -> None:
    """Status 4 is tested in test_own_operators and the importers' tests; no input is known that ends with status 70."""
    call = ("plan", "--model", str(MODEL), "--platform", "host", "--output", str(tmp_path / "plan.json"))
    found, out, err = run(capsys, *call, *words)
    assert (found, out) == (status, "")
    assert err.startswith(f"error[{code}]") if code else err == ""
    assert (tmp_path / "plan.json").exists() == (status == 0)


def test_plan_prints_a_summary_or_the_plan(capsys: pytest.CaptureFixture[str]) -> None:
    call = ("plan", "--model", str(MODEL), "--platform", "host")
    status, out, _ = run(capsys, *call)
    assert status == 0
    assert "Pools (bytes)" in out
    assert len(out) < 2000
    status, out, _ = run(capsys, *call, "--format", "json")
    assert (status, json.loads(out)["platform"]) == (0, "host")


def test_the_model_may_stand_without_its_word(capsys: pytest.CaptureFixture[str]) -> None:
    with_word = run(capsys, "plan", "--model", str(MODEL), "--platform", "host")
    assert with_word[0] == 0
    assert run(capsys, "plan", str(MODEL), "--platform", "host") == with_word


def test_a_model_in_the_place_of_a_plan_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "report", str(MODEL))
    assert (status, out) == (2, "")
    assert "a plan is wanted" in err
    assert "tilewright inspect" in err


@pytest.mark.parametrize("words", [["--help"], ["generate", "--help"], ["platform", "--platform", "host"]])
def test_what_needs_no_solver_starts_without_it(words: list[str]) -> None:
    script = (
        "import contextlib, sys\n"
        "from tilewright.cli import main\n"
        f"with contextlib.suppress(SystemExit): main({words})\n"
        "heavy = {'numpy', 'onnx', 'ortools', 'jinja2', 'tqdm'} & set(sys.modules)\n"
        "sys.exit(', '.join(sorted(heavy)) or None)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_only_plans_starts_without_what_writes_c() -> None:
    script = (
        "import sys\n"
        "import tilewright.pipeline\n"
        "unused = {'tilewright.codegen.files', 'jinja2'} & set(sys.modules)\n"
        "sys.exit(', '.join(sorted(unused)) or None)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, env=environment)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("kind", [TypeError, AttributeError, KeyError, IndexError, ValueError, ZeroDivisionError])
def test_a_defect_of_an_importer_is_told_as_ours(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, kind: type[Exception]
) -> None:
    """Only what ONNX, protobuf or a check of ours finds wrong with a model is said to be wrong with it."""

    def broken(call: Call) -> None:
        raise kind("a slip")

    monkeypatch.setattr(convert, "TRANSLATORS", {**convert.TRANSLATORS, "Conv": broken})
    status, out, err = run(capsys, "plan", "--model", str(MODEL), "--platform", "host")
    assert (status, out) == (70, "")
    assert "error[internal]" in err
    assert "(Conv): " in err
    assert f"{kind.__name__}: " in err
    assert "a slip" in err
    assert "this is a defect of Tilewright" in err
    assert "export the model again" not in err


def test_log_levels(tmp_path: Path) -> None:
    """In processes of their own, since logging is set up once for each."""
    call = ("plan", "--model", str(MODEL), "--platform", "host", "--output", str(tmp_path / "plan.json"))
    for words, lines in (((), 0), (("--log-level", "info"), 2), (("--log-level=info", "--diagnostics=json"), 2)):
        command = [sys.executable, "-m", "tilewright", *call, *words]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        told = done.stderr.splitlines()
        assert len(told) == lines
        if "--diagnostics=json" in words:
            assert [json.loads(line)["severity"] for line in told] == ["info"] * lines


PRINTING = (sys.executable, "-m", "tilewright", "linker-script", "--platform", "qemu-virt-rv32")


@pytest.mark.parametrize("is_device", [False, True], ids=["closed pipe", "full device"])
def test_a_standard_output_that_takes_nothing(is_device: bool) -> None:
    """What is left in buffers is given up too: nothing but the error is printed, and the status stays."""
    source, sink = os.pipe()
    os.close(source)
    with Path("/dev/full").open("wb") if is_device else os.fdopen(sink, "wb") as output:
        run = subprocess.run(PRINTING, stdout=output, stderr=subprocess.PIPE, text=True, check=False)
    assert run.returncode == 2
    assert run.stderr.startswith("error[closed-output]")
    assert run.stderr.count("\n") == 1


def test_a_full_pipe_that_does_not_wait_is_waited_for() -> None:
    source, sink = os.pipe()
    os.set_blocking(sink, False)
    filled = os.write(sink, bytes(2**22))
    process = subprocess.Popen(PRINTING, stdout=sink, stderr=subprocess.PIPE)
    os.close(sink)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(3)
    with os.fdopen(source, "rb") as reader:
        printed = reader.read()[filled:]
    assert process.communicate() == (None, b"")
    assert process.returncode == 0
    assert b"SECTIONS" in printed
    assert printed.endswith(b"}\n")


@pytest.mark.parametrize("text", ["a = " + "[" * 5000 + "]" * 5000, "a" + ".a" * 50_000 + " = 1"])
def test_toml_that_is_nested_too_deeply(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    (tmp_path / "o.toml").write_text(text)
    status, _, err = run(capsys, "plan", "--options", str(tmp_path / "o.toml"))
    assert status == 2
    assert err.startswith("error[options-syntax]")


def test_a_setting_that_is_nested_too_deeply(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(capsys, "plan", "--set", "a=" + "[" * 5000 + "]" * 5000)
    assert status == 2
    assert err.startswith("error[bad-setting]")


def test_a_command_is_found_in_its_module_alone() -> None:
    from tilewright.cli.main import _COMMANDS, _modules, _parser

    everything = _parser(_modules(()))
    for name in _COMMANDS:
        assert _modules((name, "--help")) == (_COMMANDS[name],)
        assert list(_commands(_parser(_modules((name,))))).count(name) == 1
    assert list(_commands(everything)) == list(_COMMANDS)


def _commands(parser: argparse.ArgumentParser) -> Mapping[str, argparse.ArgumentParser]:
    return next(action.choices for action in parser._actions if isinstance(action, argparse._SubParsersAction))


def test_products_of_numpy_take_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    cli.main(["platforms"])
    assert os.environ["OPENBLAS_NUM_THREADS"] == "1"
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")
    cli.main(["platforms"])
    assert os.environ["OPENBLAS_NUM_THREADS"] == "2"
