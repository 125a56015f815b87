"""Gathers the facts about models and programs in a build folder as files, for whoever has to judge them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Set
from pathlib import Path
from typing import Any

from tilewright import __version__
from tilewright.base.errors import bad_input
from tilewright.base.inputs import read_content
from tilewright.check import Rule, require_sound
from tilewright.plan.json import loads
from tilewright.tools.manifest import sha256_hex
from tilewright.tools.requirements import requirements_page

_GUIDE = """# Evidence

Everything here follows from the files of one build; `summary.json` has versions, the hashes of all inputs and outputs,
and what was found. How to repeat each part, in a build folder of the same inputs:

| part | what it shows | command |
|---|---|---|
| `models/*/plan.json` | all that was decided about a model | `tilewright generate`, as CMake calls it |
| `models/*/checker.json` | the plan keeps every rule that is listed | `tilewright check <plan>` |
| `models/*/report.json` | where the memory goes, with bounds | `tilewright report <plan> --format json` |
| `programs/*.json` | a program is what its plans say; its stack | `tilewright check-elf <program> --plan <plan>` |
| `programs/*.json`, `instructions` | the most that a run takes | `tilewright check-elf <program> --instructions` |
| `requirements.md` | what holds each requirement, and its tests | `make test` in Tilewright's repository |
| `timing/*.json` | cycles of each layer, measured | `tilewright simulate` of a program with PROFILE |
| `verified/*.json` | the C computes what others compute for the model | `tilewright verify <model> --json <file>` |

`verified/` has the files `*.verify.json` of the build folder. `tilewright verify` compiles the model for the machine on
which it runs, so these files show the arithmetic of the C, and golden tests in a simulator that of the target.
"""


def evidence_files(build: Path) -> dict[str, bytes]:
    """File name to content of all evidence on a build folder; the same files there give the same bytes.

    Raises bad_input ``evidence-none`` if no model was generated below the folder, ``evidence-stale`` if a generated
    file is not what its manifest says or a comparison is of no model of the build, ``evidence-firmware`` if a program
    is not what its plans say, ``evidence-verify`` if a model's C differs from its judge's outputs by more than the
    tolerance, and ``plan-<rule>`` for a plan that is not sound.
    """
    files: dict[str, bytes] = {}
    models = {}
    for path, manifest in _manifests(build):
        label = _label(build, path.parent)
        models[label] = _model(path.parent, manifest)
        files |= {f"models/{label}/{name}": content for name, content in _model_files(path.parent, manifest)}
    if not models:
        remedy = "the folder that CMake builds in, or another above the generated files"
        raise bad_input("evidence-none", "no model was generated below the folder", at=str(build), help=remedy)
    programs = dict(_programs(build))
    files |= {f"programs/{label}": content for label, content in programs.items()}
    comparisons = dict(_comparisons(build, {model["inputs"]["model"] for model in models.values()}))
    files |= {f"verified/{label}": content for label, content in comparisons.items()}
    profiles = sorted(build.rglob("*_profile.json"))
    files |= {f"timing/{_label(build, path)}": read_content(path) for path in profiles}
    files["README.md"] = _GUIDE.encode()
    files["requirements.md"] = requirements_page().encode()
    summary = {
        "tool_version": __version__,
        "models": models,
        "programs": {label: json.loads(content)["memory"] for label, content in programs.items()},
        "verified": {label: _compared(content) for label, content in comparisons.items()},
        "files": {name: sha256_hex(content) for name, content in sorted(files.items())},
    }
    files["summary.json"] = _json(summary)
    return files


def _manifests(build: Path) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """The manifests of models below a folder, by path."""
    for path in sorted(build.rglob("*_manifest.json")):
        try:
            content = json.loads(read_content(path))
        except (OSError, ValueError, RecursionError):
            continue
        if isinstance(content, dict) and {"plan", "report", "depends", "files"} <= set(content):
            yield path, content


def _label(build: Path, path: Path) -> str:
    """A name for a path that says where it lies below the folder, whatever machine that is on."""
    return "_".join(path.relative_to(build).parts) or "model"


def _model(folder: Path, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The hashes of a model; all generated files must still have theirs."""
    for name, expected in sorted(manifest["files"].items()):
        path = folder / name
        if not path.is_file() or sha256_hex(read_content(path)) != expected:
            remedy = "configure and build again"
            what = f"'{name}' is not the file that was generated"
            raise bad_input("evidence-stale", what, at=str(path), help=remedy)
    return {
        "name": manifest["name"],
        "platform": manifest["platform"]["name"],
        "summary": manifest["summary"],
        "inputs": manifest["depends"],
        "fingerprint": manifest["fingerprint"],
        "generated": manifest["files"],
    }


def _model_files(folder: Path, manifest: Mapping[str, Any]) -> Iterator[tuple[str, bytes]]:
    plan = read_content(folder / manifest["plan"])
    require_sound(loads(plan.decode()), from_file=True)
    yield "plan.json", plan
    yield "report.json", read_content(folder / manifest["report"])
    yield "checker.json", _json({"sound": True, "rules": [rule.value for rule in Rule]})


def _programs(build: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(build.rglob("*.check.json")):
        content = read_content(path)
        if not json.loads(content)["agrees"]:
            what = "a program is not what its plans say"
            raise bad_input("evidence-firmware", what, at=str(path), help="tilewright check-elf says where")
        yield _label(build, path), content


def _comparisons(build: Path, models: Set[str]) -> Iterator[tuple[str, bytes]]:
    """The files that ``tilewright verify --json`` wrote, of models with these hashes and none else."""
    for path in sorted(build.rglob("*.verify.json")):
        content = read_content(path)
        try:
            found = json.loads(content)
            name, sha256, agrees = found["model"]["file"], found["model"]["sha256"], found["agrees"]
            _compared(content)
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            what = "the file is no comparison of a model"
            raise bad_input(
                "evidence-verify", what, at=str(path), help="tilewright verify --json writes one"
            ) from error
        if sha256 not in models:
            what = f"'{name}' was verified with another content than that of the build"
            raise bad_input("evidence-stale", what, at=str(path), help="tilewright verify again, or remove the file")
        if agrees is not True:
            what = "the C differs from the judge's outputs by more than the tolerance"
            if agrees is None:
                what = "differences were only told, since no tolerance was given"
            remedy = "tilewright verify with the --tolerance that must hold"
            raise bad_input("evidence-verify", what, at=str(path), help=remedy)
        yield _label(build, path), content


def _compared(content: bytes) -> dict[str, Any]:
    """A comparison in the summary."""
    found = json.loads(content)
    return {key: found[key] for key in ("model", "judge", "platform", "seed", "tolerance", "outputs")}


def _json(content: Mapping[str, Any]) -> bytes:
    return (json.dumps(content, indent=2, sort_keys=True) + "\n").encode()
