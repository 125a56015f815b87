"""A study: models, platforms, pool sizes and options whose every combination is a point that ``explore`` plans."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from tilewright import __version__
from tilewright.base.c_names import c_prefix
from tilewright.base.errors import bad_input, suggestion
from tilewright.base.lazy_dataclass import dataclass
from tilewright.base.settings import read, setting
from tilewright.base.toml_file import Codes, Table, read_toml
from tilewright.options import CompileOptions, build_options
from tilewright.platform import load_platform, platform_file
from tilewright.tools.manifest import file_sha256, sha256_hex

STUDY_CODES = Codes("study-file", "study-syntax", "study-key", "study-value", "study-missing")
"""Codes of errors in study files."""

Values = tuple[tuple[str, tuple[Any, ...]], ...]
"""Name to the values that are tried."""


def _values(table: Table, key: str) -> Values:
    lists = table.table(key)
    for name, value in lists.values.items():
        if not isinstance(value, list) or not value:
            raise lists.must_be(name, "a list with at least one value")
    return tuple((name, tuple(value)) for name, value in lists.values.items())


def _options(table: Table, key: str) -> tuple[tuple[str, Any], ...]:
    return tuple(table.table(key).values.items())


@dataclass(frozen=True, slots=True)
class Study:
    """A study file: the points are all combinations of models, platforms, pool sizes and varied options."""

    models: tuple[str, ...] = field(metadata=setting("model files, relative to the study's folder"))
    platforms: tuple[str, ...] = field(
        metadata=setting("names of shipped platforms, or TOML files relative to the study's folder")
    )
    pools: Values = field(
        default=(),
        metadata=setting(
            "sizes that are tried, on each platform that has a pool of that name",
            reader=_values,
            shown="pool = [bytes, ...]",
        ),
    )
    options: tuple[tuple[str, Any], ...] = field(
        default=(), metadata=setting("options of all points, as in an options file", reader=_options)
    )
    vary: Values = field(
        default=(), metadata=setting("options with the values that are tried", reader=_values, shown="option = [...]")
    )


@dataclass(frozen=True, slots=True)
class StudyPoint:
    """One point of a study: what the study file says of it, and the options that follow.

    ``fingerprint`` is the SHA-256 of everything that decides the plan: the tool's version, the contents of model and
    platform file, and the options.
    """

    model: str
    platform: str
    pools: tuple[tuple[str, int], ...]
    varied: tuple[tuple[str, Any], ...]
    options: CompileOptions
    fingerprint: str


OF_STUDY = ("model", "platform", "name", "pools")
"""Options that a study says in keys of its own."""


def read_study(path: Path) -> Study:
    """Read a study file. Raises bad_input with file, line and key."""
    root = read_toml(path, STUDY_CODES)
    study = read(root, Study)
    varied = [name for name, _ in study.vary]
    for place, names in (("options", [name for name, _ in study.options]), ("vary", varied)):
        for name in names:
            if name in OF_STUDY:
                raise root.table(place).wrong(f"'{name}' has keys of its own in a study", name)
            if place == "options" and name in varied:
                raise root.table(place).wrong(f"'{name}' is varied too", name, help="leave it out of [options]")
    return study


def points_of(study: Study, folder: Path) -> tuple[StudyPoint, ...]:
    """All points, models outermost; files of the study are relative to ``folder``.

    Raises bad_input for a file that cannot be read, an option that does not exist, or a pool that no platform has.
    """
    platforms = {name: _located(name, folder) for name in study.platforms}
    pools = {name: {pool.name for pool in load_platform(file).pools} for name, file in platforms.items()}
    known = sorted(set().union(*pools.values()))
    for pool, _ in study.pools:
        if pool not in known:
            raise bad_input(
                "unknown-pool", f"no platform of the study has a pool '{pool}'", help=suggestion(pool, known)
            )
    hashes = {name: _model_sha256(folder / name) for name in study.models}
    hashes |= {name: file_sha256(platform_file(file)) for name, file in platforms.items()}
    found = {}
    for model, platform in itertools.product(study.models, study.platforms):
        sizes = [(pool, values) for pool, values in study.pools if pool in pools[platform]]
        for chosen in itertools.product(_combinations(sizes), _combinations(study.vary)):
            point = _point(study, (folder, model, platforms[platform], platform), chosen, hashes)
            found[point.fingerprint] = point
    return tuple(found.values())


def _model_sha256(path: Path) -> str:
    try:
        return file_sha256(path)
    except OSError as error:
        raise bad_input("study-file", f"a model of the study cannot be read: {error.strerror}", at=str(path)) from error


def _located(platform: str, folder: Path) -> str:
    return str(folder / platform) if platform.endswith(".toml") else platform


def _combinations(values: Values | list[tuple[str, tuple[Any, ...]]]) -> Iterator[tuple[tuple[str, Any], ...]]:
    names = [name for name, _ in values]
    for chosen in itertools.product(*(tried for _, tried in values)):
        yield tuple(zip(names, chosen, strict=True))


def _point(
    study: Study,
    where: tuple[Path, str, str, str],
    chosen: tuple[tuple[tuple[str, Any], ...], tuple[tuple[str, Any], ...]],
    hashes: Mapping[str, str],
) -> StudyPoint:
    folder, model, platform_path, platform = where
    pools, varied = chosen
    given = {"model": str(folder / model), "platform": platform_path, "name": c_prefix(Path(model).stem)}
    options = build_options(
        ("[options]", dict(study.options)), ("[vary]", dict(varied)), ("study", {**given, "pools": dict(pools)})
    )
    decides = [__version__, model, hashes[model], hashes[platform], options.to_json()]
    fingerprint = sha256_hex(json.dumps(decides, sort_keys=True).encode())
    return StudyPoint(model, platform, pools, varied, options, fingerprint)
