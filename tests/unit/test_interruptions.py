"""Signals, full disks and read-only folders: a clear error, whole files, and the earlier ones kept."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODEL = ROOT / "examples" / "digits" / "digits.onnx"
GENERATE = ["generate", "--model", str(MODEL), "--platform", "host", "--name", "digits", "--output-dir"]

SCRIPT = """
import signal, sys, threading, time
from pathlib import Path
from tilewright import cli

# A test run started in the background by a shell ignores this signal, and so do its children.
signal.signal(signal.SIGINT, signal.default_int_handler)
write_bytes = Path.write_bytes

def slowly(path, content):
    write_bytes(path, content[:10])
    if "weights" in path.name:
        pause()
    return write_bytes(path, content)

Path.write_bytes = slowly
"""

ASLEEP = """
def pause():
    print("writing", flush=True)
    time.sleep(60)
"""

IN_A_DESTRUCTOR = """
class Forgetful:
    def __del__(self):
        print("writing", flush=True)
        time.sleep(60)

def pause():
    # Python prints an exception of a destructor and forgets it.
    Forgetful()
    time.sleep(60)
"""

BEFORE_A_CALL = """
def heard_elsewhere(number):
    time.sleep(0.5)
    signal.pthread_kill(threading.get_ident(), number)

def pause():
    # As if the signal came right before the call: it does not end the call, and its handler waits for that.
    threading.Thread(target=heard_elsewhere, args=[NUMBER], daemon=True).start()
    print("writing", flush=True)
    time.sleep(60)
"""


NAMESPACE = ["unshare", "--map-root-user", "--mount", "sh", "-ec"]


def can_mount() -> bool:
    if shutil.which("unshare") is None:
        return False
    command = [*NAMESPACE, "mount -t tmpfs none /mnt"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


needs_mounts = pytest.mark.skipif(not can_mount(), reason="needs a mount namespace of its own")


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def generated(tmp_path: Path) -> Path:
    """A folder of files for one size of the pool; the tests ask for another."""
    folder = tmp_path / "generated"
    command = [sys.executable, "-m", "tilewright", *GENERATE, str(folder), "--pool", "sram=100000"]
    subprocess.run(command, check=True, capture_output=True, env=environment())
    return folder


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("pause", [ASLEEP, IN_A_DESTRUCTOR, BEFORE_A_CALL], ids=["asleep", "destructor", "before"])
def test_a_signal_leaves_whole_files(generated: Path, pause: str, number: signal.Signals) -> None:
    before = contents(generated)
    weights = generated / "digits_weights.c"
    weights.write_bytes(b"old")
    script = f"{SCRIPT}\nNUMBER = {int(number)}\n{pause}\nsys.exit(cli.main(sys.argv[1:]))\n"
    process = subprocess.Popen(
        [sys.executable, "-c", script, *GENERATE, str(generated)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    with process:
        assert process.stdout
        assert process.stderr
        assert process.stdout.readline() == "writing\n"
        if pause is not BEFORE_A_CALL:
            process.send_signal(number)
        assert process.wait(timeout=30) == 130
        *forgotten, error = process.stderr.read().splitlines()
        assert error == "error[interrupted]: stopped; earlier outputs are untouched"
        assert any("KeyboardInterrupt" in line for line in forgotten) == (pause is IN_A_DESTRUCTOR)
    assert contents(generated) == {**before, "digits_weights.c": b"old"}


@needs_mounts
@pytest.mark.parametrize(
    ("size", "then", "reason"),
    [
        ("256k", 'dd if=/dev/zero of="$2/rest" bs=1k 2>/dev/null || true', "No space left on device"),
        ("1m", 'mount -o remount,ro "$2"', "Read-only file system"),
    ],
)
def test_a_disk_that_takes_no_file(generated: Path, tmp_path: Path, size: str, then: str, reason: str) -> None:
    before = contents(generated)
    mounted, seen = tmp_path / "mounted", tmp_path / "seen"
    mounted.mkdir()
    shell = (
        f'mount -t tmpfs -o size={size} none "$2"; cp -R "$1"/. "$2"; rm "$2/digits_weights.c"; {then}; '
        'mounted="$2"; seen="$3"; shift 3; status=0; "$@" || status=$?; cp -R "$mounted" "$seen"; exit $status'
    )
    command = [sys.executable, "-m", "tilewright", *GENERATE, str(mounted)]
    done = subprocess.run(
        [*NAMESPACE, shell, "sh", str(generated), str(mounted), str(seen), *command],
        capture_output=True,
        text=True,
        check=False,
        env=environment(),
    )
    assert done.returncode == 2, done.stderr
    assert f"error[cannot-write]: cannot write: {reason}" in done.stderr
    assert str(mounted) in done.stderr
    after = contents(seen)
    after.pop("rest", None)
    before.pop("digits_weights.c")
    assert after == before


def test_two_at_once_leave_whole_files(tmp_path: Path) -> None:
    """Every file is of one of the two runs; a manifest that does not fit makes CMake run the tool again."""
    folders = [tmp_path / "alone", tmp_path / "other"]
    options = [[], ["--static-pools"]]
    for folder, words in zip(folders, options, strict=True):
        command = [sys.executable, "-m", "tilewright", *GENERATE, str(folder), *words]
        subprocess.run(command, check=True, capture_output=True, env=environment())
    both = tmp_path / "both"
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "tilewright", *GENERATE, str(both), *words],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=environment(),
        )
        for words in options
    ]
    for process in processes:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
    wanted = [contents(folder) for folder in folders]
    for name, content in contents(both).items():
        assert content in [files.get(name) for files in wanted], name
