"""What a window that slides costs: instructions of a run of one new frame, against a run of the whole window, in QEMU.

    python benchmarks/sliding.py --corpus FOLDER [--build FOLDER]

The network is tcn_causal_128_int8, with the frames of its vector one after the other. What each run gives is compared
with the output of the whole window at the position of the frame. Exit status 1 if an output is wrong.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from pathlib import Path

import numpy as np
from corpus_parser import corpus_parser
from groups import built, platform_of, tolerance
from road import tilewright, written_bytes

NETWORK = "tcn_causal_128_int8"
INPUT = "input_q"
ROWS = (1, 4, 16)


def main() -> int:
    arguments = corpus_parser("What a window that slides costs.", build=True).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        build = (arguments.build or Path(folder)).resolve()
        return measured(arguments.corpus / "onnx" / NETWORK, build)


def measured(network: Path, build: Path) -> int:
    """Print a table; 1 if an output is wrong."""
    targets = {f"slid_{rows}": f"[slide]\n{INPUT} = {rows}\n" for rows in ROWS}
    folders = {"whole": network.resolve(), **{name: build / name for name in targets}}
    entries = []
    for name, text in {"whole": "", **targets}.items():
        options = build / f"{name}.toml"
        build.mkdir(parents=True, exist_ok=True)
        options.write_text(text, encoding="utf-8")
        if name in targets:
            cut_vectors(network, folders[name], int(name.split("_")[1]))
        entries.append(
            "|".join(
                (name, str(folders[name]), platform_of(network.name), "", "", tolerance(network.name), str(options))
            )
        )
    built(entries, build)
    print("| run | pools | instructions | for a frame | against the whole window |")
    print("|---|--:|--:|--:|--:|")
    whole, status = 0, 0
    for name in folders:
        program = build / "road" / f"{name}.golden"
        done = tilewright(
            "simulate", "--platform", platform_of(network.name), "--elf", str(program), "--timeout", "900"
        )
        counts = [int(count) for count in re.findall(r"^run \d+: instructions (\d+)$", done.stdout, re.MULTILINE)]
        plan = json.loads((build / "road" / "tilewright" / name / "net_plan.json").read_text(encoding="utf-8"))
        last = counts[-1] if counts else 0
        whole = whole or last
        rows = int(name.split("_")[1]) if name in targets else 1
        ratio = f"1/{whole * rows / last:.1f}" if last else "-"
        print(f"| {name} | {written_bytes(plan):,} | {last:,} | {last // rows:,} | {ratio} |")
        status |= done.returncode != 0
        if done.returncode:
            print(done.stdout[-2000:], done.stderr[-2000:])
    return int(status)


def cut_vectors(network: Path, folder: Path, rows: int) -> None:
    """The network with its vector as runs of so many frames."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "network.onnx").write_bytes((network / "network.onnx").read_bytes())
    for name in ("inputs.npz", "outputs.npz"):
        with np.load(network / name) as arrays:
            cut = {key: np.stack(np.split(array, array.shape[-1] // rows, -1)) for key, array in arrays.items()}
        np.savez(folder / name, **cut)


if __name__ == "__main__":
    sys.exit(main())
