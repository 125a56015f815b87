"""What networks cost as exporters write them, and whether their outputs are ONNX Runtime's.

    python benchmarks/exporters/measure_networks.py FOLDER [--before PYTHON] [--only TEXT] [--json FILE] [--markdown F]

FOLDER is what make_networks.py wrote. Each network is planned for qemu-virt-rv32f-single, with memories that hold all
of them, by a process of its own: predicted cycles, bytes of tensors and constants, layers, the share of cycles in
layers without multiply-accumulates, layers that compute in float32 where the network is quantised. Its C is compared
with ONNX Runtime on this machine, under sanitizers. ``--before`` is the Python of an environment with an older
Tilewright, which plans the same files. With ``--json`` results are kept after each network, and networks that the file
has are not measured again. Exit status 1 if an output is wrong.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

PLATFORM = "qemu-virt-rv32f-single"
POOLS = ("sram=0x8000000", "flash=0x10000000")
TIMEOUT_SECONDS = 900
ALLOWED = {"float": 1e-4, "quantised": 0.06}
"""The largest error that is not wrong, of the largest output. Random weights make much of single steps of scales."""


MOST_IDLE = 0.1
NO_COMPUTATION = frozenset({"Quantize", "Dequantize", "QuantizeByOperand", "Reshape", "Transpose", "Slice", "Concat"})
LEGEND = """Written by `exporters/measure_networks.py` of what `exporters/make_networks.py` exports: random weights of a
fixed seed. Names begin with the exporter: `keras` (Keras 3), `tf2onnx`, `tf_keras`, `dynamo` and `legacy` (PyTorch's
two, also for torchvision), `qdq`, `qoperator` and `dynamic` (ONNX Runtime's quantiser). Cycles are predicted for
`qemu-virt-rv32f-single`, bytes are those of tensors. "Before" is commit 16c12f1, the last one before patterns of
exporters were rewritten; its predicted cost of single kernels was another, too. Error: the largest difference from
ONNX Runtime, of the largest output; qoperator-keras-conv1d was compared on a processor whose sums of uint8 and int8
saturate (docs/reference/judges.md). "refused": by ONNX Runtime. Empty: not measured."""


def main() -> int:
    parser = argparse.ArgumentParser(description="Plans what make_networks.py wrote, and compares with ONNX Runtime.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--before", help="Python of an environment with an older Tilewright")
    parser.add_argument("--only", default="", help="networks with this text in their file name")
    parser.add_argument("--json", type=Path, help="keep the results in this file, and skip networks that the file has")
    parser.add_argument("--markdown", type=Path, help="write the table to this file, as a Markdown page")
    parser.add_argument(
        "--one", choices=["plan", "older", "verify"], help="print the facts of the file FOLDER, in this process"
    )
    arguments = parser.parse_args()
    if arguments.one:
        found = compared(arguments.folder) if arguments.one == "verify" else planned(arguments.folder, arguments.one)
        print(json.dumps(found))
        return 0
    kept = json.loads(arguments.json.read_text()) if arguments.json and arguments.json.exists() else {}
    files = sorted(arguments.folder.glob("*.onnx"), key=lambda file: (file.stat().st_size, file.stem))
    steps = (("after", "plan", sys.executable), ("compared", "verify", sys.executable))
    for key, step, python in (*steps, ("before", "older", arguments.before)):
        for file in files:
            row = kept.setdefault(file.stem, {}) if arguments.only in file.stem else {key: {}}
            if key in row or not python:
                continue
            row[key] = in_a_process(python, file, step)
            print(key, file.stem, json.dumps(row[key]), flush=True)
            if arguments.json:
                arguments.json.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    if arguments.markdown:
        arguments.markdown.write_text(page(kept), encoding="utf-8")
    return 1 if any(is_wrong(name, row) for name, row in kept.items()) else 0


def in_a_process(python: str, file: Path, step: str) -> dict[str, Any]:
    """The facts of a network from a process of its own, or why that process failed."""
    words = [python, str(Path(__file__).resolve()), str(file), "--one", step]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return {"refused": f"not planned in {TIMEOUT_SECONDS} seconds"}
    if done.returncode != 0:
        return {"refused": done.stderr.strip()[-600:]}
    return json.loads(done.stdout.strip().splitlines()[-1])


def options_of(file: Path, platform: str, pools: tuple[str, ...]) -> Any:
    """Every extent that the exporter left open is 1."""
    import onnx
    from tilewright.options import build_options

    dims = set()
    graph = onnx.load(str(file)).graph
    constants = {item.name for item in graph.initializer}
    for value in graph.input:
        for axis, extent in enumerate(value.type.tensor_type.shape.dim):
            if value.name not in constants and not extent.HasField("dim_value"):
                dims.add(f"{extent.dim_param or f'{value.name}.{axis}'}=1")
    given = {"model": str(file), "platform": platform, "name": "network", "dims": sorted(dims), "pools": list(pools)}
    if platform == "host":
        given["static_pools"] = True
    return build_options(("command line", given))


def planned(file: Path, step: str) -> dict[str, Any]:
    """The facts of a network; of an older Tilewright those alone that plans have always had."""
    from time import process_time

    from tilewright.pipeline import imported_graph, load_platform, plan_model

    start = process_time()
    options = options_of(file, PLATFORM, POOLS)
    try:
        plan = plan_model(options)
    except Exception as error:
        if type(error).__name__ != "TilewrightError":
            raise
        return {"refused": str(error)}
    seconds = process_time() - start
    graph = imported_graph(options, load_platform(PLATFORM)) if step == "plan" else None
    cycles = sum(layer.predicted_cycles for layer in plan.layers)
    idle = [layer for layer in plan.layers if not layer.macs]
    used = {use.pool: use.used_bytes for use in plan.pool_use}
    slow = Counter()
    for layer in idle:
        slow[layer.operator] += layer.predicted_cycles
    return {
        "cycles": cycles,
        "tensor_bytes": used.get("sram", 0),
        "constant_bytes": used.get("flash", 0),
        "layers": len(plan.layers),
        "macs": sum(layer.macs for layer in plan.layers),
        "idle_cycles": sum(layer.predicted_cycles for layer in idle),
        "slow": dict(slow.most_common(4)),
        "float_layers": dict(Counter(float_layers(graph)).most_common()) if graph else {},
        "seconds": round(seconds, 1),
    }


def float_layers(graph: Any) -> list[str]:
    """Operators that read or write float32, but for those at the interface that quantise and dequantise."""
    found = []
    for node in graph.nodes:
        named = [name for name in (*node.inputs, *node.outputs) if name]
        if any(graph.tensor(name).dtype.value == "float32" for name in named):
            found.append(node.operator)
    return found


def compared(file: Path) -> dict[str, Any]:
    """The largest error on this machine, beside the largest output."""
    from tilewright.base.errors import TilewrightError
    from tilewright.tools.verification import verified

    try:
        found = verified(options_of(file, "host", ()), None, 1, 0)
    except TilewrightError as error:
        return {"refused": str(error)}
    judgement = found.judgement
    worst = max(found.compared, key=lambda item: item.largest / max(item.magnitude, 1e-30))
    if not judgement.judge.startswith("ONNX Runtime"):
        return {"refused": f"by ONNX Runtime: {'; '.join(judgement.passed_over)}"}
    return {"judge": judgement.judge, "error": worst.largest, "magnitude": worst.magnitude}


def form_of(name: str) -> str:
    """Whether a network is quantised."""
    return "quantised" if name.split("-")[0] in ("qdq", "qoperator", "dynamic") else "float"


def is_wrong(name: str, row: dict[str, Any]) -> bool:
    """Whether an output is further from ONNX Runtime's than roundings explain."""
    found = row.get("compared", {})
    return "error" in found and found["error"] > ALLOWED[form_of(name)] * found["magnitude"]


def page(rows: dict[str, Any]) -> str:
    """The table as Markdown, and what it shows."""
    measured = {name: row for name, row in sorted(rows.items()) if "after" in row}
    refused = [name for name, row in measured.items() if "refused" in row["after"]]
    checked = [name for name, row in measured.items() if "error" in row.get("compared", {})]
    wrong = [name for name in checked if is_wrong(name, rows[name])]
    older = [name for name, row in measured.items() if "cycles" in row.get("before", {})]
    lines = [
        "# Networks as exporters write them",
        "",
        LEGEND,
        "",
        f"{len(measured)} networks: {len(refused)} refused; {len(checked)} compared with ONNX Runtime, {len(wrong)} "
        f"wrong; {len(older)} planned by the older Tilewright too.",
        "",
        "| network | cycles before | cycles | bytes before | bytes | layers before | layers | without MACs | error |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
        *(table_row(name, row) for name, row in measured.items()),
        "",
        "Above 10 % of cycles in layers without multiply-accumulates, and which layers these are:",
        "",
        *(slow_line(name, row["after"]) for name, row in measured.items() if share_of(row["after"]) > MOST_IDLE),
        "",
        "Layers of quantised networks that compute in float32:",
        "",
        *(float_line(name, row["after"]) for name, row in measured.items() if form_of(name) == "quantised"),
    ]
    return "\n".join(lines) + "\n"


def share_of(facts: dict[str, Any]) -> float:
    """The share of cycles in layers without multiply-accumulates."""
    return facts.get("idle_cycles", 0) / max(facts.get("cycles", 1), 1)


def slow_line(name: str, facts: dict[str, Any]) -> str:
    """The layers without multiply-accumulates that take the most cycles."""
    shares = [f"{operator} {100 * cycles / facts['cycles']:.0f} %" for operator, cycles in facts["slow"].items()]
    return f"- {name}: {', '.join(shares)}"


def float_line(name: str, facts: dict[str, Any]) -> str:
    """Float layers but for the quantisations themselves and what has no kernel."""
    found = {key: count for key, count in facts.get("float_layers", {}).items() if key not in NO_COMPUTATION}
    return f"- {name}: {', '.join(f'{count} {key}' for key, count in found.items()) or 'none'}"


def table_row(name: str, row: dict[str, Any]) -> str:
    """One network; what is refused says so."""
    before, after, found = row.get("before", {}), row["after"], row.get("compared", {})
    cells = [name]
    for key in ("cycles", "tensor_bytes", "layers"):
        cells += [_number(before, key), _number(after, key)]
    share = "" if "refused" in after else f"{100 * share_of(after):.1f} %"
    error = f"{found['error'] / max(found['magnitude'], 1e-30):.1e}" if "error" in found else ""
    return "| " + " | ".join([*cells, share, "refused" if "refused" in found else error]) + " |"


def _number(facts: dict[str, Any], key: str) -> str:
    return f"{facts[key]:,}" if key in facts else ("refused" if "refused" in facts else "")


if __name__ == "__main__":
    sys.exit(main())
