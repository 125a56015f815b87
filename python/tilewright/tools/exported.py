"""A plan that stands alone: a folder with plan, constants and manifest, from which the same C comes anywhere.

Whoever has the folder needs neither model nor solver; NumPy and the templates are enough.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright import __version__
from tilewright.base.archives import ArchiveError, read_archive
from tilewright.base.errors import TilewrightError, bad_input
from tilewright.base.inputs import read_utf8
from tilewright.base.lazy_dataclass import dataclass
from tilewright.check import require_sound
from tilewright.codegen.files import generate_files
from tilewright.plan import Plan
from tilewright.plan.json import dumps, loads
from tilewright.plan.lifetimes import lifetimes
from tilewright.report.data import report_json
from tilewright.tools.manifest import manifest_name, sha256_hex

PLAN, CONSTANTS, MANIFEST = "plan.json", "constants.npz", "manifest.json"

Constants = Mapping[str, npt.NDArray[Any]]
"""SHA-256 of the bytes in memory order to the elements."""


@dataclass(frozen=True, slots=True)
class Generated:
    """All files of ``tilewright generate`` by name, the manifest among them, and the line for the user."""

    files: Mapping[str, bytes]
    manifest: str
    summary: str


def exported_files(plan: Plan, constants: Constants, manifest: bytes) -> dict[str, bytes]:
    """The files of the folder; the same arguments give the same bytes. ``manifest`` is that of the generated files."""
    needed = sorted({buffer.sha256 for buffer in plan.buffers if buffer.sha256 is not None})
    content = BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for digest in needed:
            member = BytesIO()
            np.lib.format.write_array(member, np.asarray(constants[digest]), allow_pickle=False)
            # A ZipInfo of its own has a fixed date.
            archive.writestr(zipfile.ZipInfo(f"{digest}.npy"), member.getvalue(), zipfile.ZIP_DEFLATED)
    return {PLAN: dumps(plan).encode(), CONSTANTS: content.getvalue(), MANIFEST: manifest}


def generated(folder: Path) -> Generated:
    """The files that ``tilewright generate`` wrote where the folder was exported, byte for byte.

    Raises bad_input ``export`` for a folder that is damaged, or that another version exported; ``plan-json`` and
    others where its plan is none.
    """
    plan, manifest = loads(_text(folder / PLAN)), _text(folder / MANIFEST)
    if plan.tool_version != __version__:
        raise bad_input(
            "export",
            f"the plan was exported by Tilewright {plan.tool_version}; this is {__version__}",
            at=str(folder / PLAN),
            help="use that version, or export the model again",
        )
    try:
        require_sound(plan)
    except TilewrightError as error:
        raise _damaged(folder / PLAN, f"its plan is not sound: {error.what}") from error
    constants = _constants(folder / CONSTANTS, plan)
    files = dict(generate_files(plan, constants, lifetimes(plan.program)))
    files[f"{plan.name}_report.json"] = report_json(plan).encode()
    facts = _facts(folder / MANIFEST, manifest)
    wrong = sorted(name for name in {*files, *facts["files"]} if _hash(files.get(name)) != facts["files"].get(name))
    if wrong:
        what = f"the plan does not give the files that the manifest names: {', '.join(wrong)}"
        raise _damaged(folder / MANIFEST, what)
    name = manifest_name(plan.name)
    return Generated({**files, name: manifest.encode()}, name, facts["summary"])


def _hash(content: bytes | None) -> str | None:
    return None if content is None else sha256_hex(content)


def _text(path: Path) -> str:
    try:
        return read_utf8(path)
    except (OSError, ValueError) as error:
        raise _damaged(path, str(error)) from error


def _facts(path: Path, text: str) -> dict[str, Any]:
    """The manifest, with the hash of each file in ``files`` and the line for the user in ``summary``."""
    try:
        facts = json.loads(text)
    except ValueError as error:
        raise _damaged(path, str(error)) from error
    if not isinstance(facts, dict) or not isinstance(facts.get("files"), dict) or "summary" not in facts:
        raise _damaged(path, "it is no manifest")
    return facts


def _constants(path: Path, plan: Plan) -> Constants:
    try:
        constants = read_archive(path)
    except (FileNotFoundError, ArchiveError) as error:
        raise _damaged(path, str(error)) from error
    for buffer in plan.buffers:
        if buffer.sha256 is None:
            continue
        found = constants.get(buffer.sha256)
        if found is None or sha256(np.ascontiguousarray(found).data).hexdigest() != buffer.sha256:
            raise _damaged(path, f"the constant of buffer '{buffer.name}' is missing, or another one")
    return constants


def _damaged(path: Path, what: str) -> TilewrightError:
    return bad_input("export", f"cannot read what was exported: {what}", at=str(path), help="export the model again")
