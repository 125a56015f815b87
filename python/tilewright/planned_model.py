"""The Python interface: ``tilewright.plan(model, platform, **options)`` and what it gives."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import field, fields
from pathlib import Path
from typing import Any

from tilewright.base.lazy_dataclass import dataclass
from tilewright.base.outputs import write_all
from tilewright.options import CompileOptions, build_options
from tilewright.pipeline import Artifacts, compile_model
from tilewright.plan import Plan
from tilewright.report.data import report_data
from tilewright.report.html import report_html
from tilewright.report.notebook import notebook_html
from tilewright.report.text import report_text, summary_text
from tilewright.tools.all_files import all_files
from tilewright.tools.manifest import manifest_name


@dataclass(frozen=True, slots=True)
class PoolBytes:
    """What a plan takes of one pool, in bytes.

    ``lower_bound_bytes`` is proved: no placement of the same buffers takes less. ``capacity_bytes`` is the pool's
    size on the platform, None where the platform sets no limit.
    """

    name: str
    used_bytes: int
    lower_bound_bytes: int
    capacity_bytes: int | None


@dataclass(frozen=True, slots=True)
class LinkBytes:
    """What one inference moves over a link, in bytes; ``compulsory_bytes`` is the least that any schedule moves."""

    name: str
    moved_bytes: int
    compulsory_bytes: int


@dataclass(frozen=True, slots=True)
class LayerCost:
    """One layer: its label in reports, its name in the model, its kernel, multiply-accumulates, predicted cycles.

    ``macs`` are computed; ``nominal_macs`` are those of the operator in the model as written.
    """

    label: str
    name: str
    kernel: str
    macs: int
    predicted_cycles: int
    nominal_macs: int


@dataclass(frozen=True, slots=True)
class PlannedModel:
    """A checked plan with its C sources. A notebook shows pools, links and layers as tables.

    ``plan`` is the whole plan, as ``<name>_plan.json`` holds it.
    """

    plan: Plan
    _options: CompileOptions
    _artifacts: Artifacts = field(repr=False)
    _data: Mapping[str, Any] = field(repr=False)

    @property
    def pools(self) -> tuple[PoolBytes, ...]:
        """The platform's pools, in the platform file's order."""
        return tuple(
            PoolBytes(pool["name"], pool["used_bytes"], pool["lower_bound_bytes"], pool["capacity_bytes"])
            for pool in self._data["pools"]
        )

    @property
    def links(self) -> tuple[LinkBytes, ...]:
        """The platform's links between pools, in the platform file's order."""
        return tuple(LinkBytes(link["name"], link["bytes"], link["compulsory_bytes"]) for link in self._data["links"])

    @property
    def layers(self) -> tuple[LayerCost, ...]:
        """The layers in the order in which they run."""
        return tuple(
            LayerCost(**{each.name: layer[each.name] for each in fields(LayerCost)}) for layer in self._data["layers"]
        )

    @property
    def macs(self) -> int:
        """Multiply-accumulates of one inference."""
        return int(self._data["macs"])

    @property
    def nominal_macs(self) -> int:
        """Multiply-accumulates of the model as written, before rewrites leave out what no result needs."""
        return int(self._data["nominal_macs"])

    @property
    def predicted_cycles(self) -> int:
        """Cycles of one inference, as the platform's costs predict them."""
        return int(self._data["predicted_cycles"])

    def summary(self) -> str:
        """Pools and links as tables of text, as ``tilewright plan`` prints them."""
        return summary_text(self.plan)

    def report(self) -> str:
        """The report as text, as ``tilewright report`` prints it."""
        return report_text(self.plan)

    def html(self) -> str:
        """The report as one HTML page, which needs no network."""
        return report_html(self.plan)

    def write(self, folder: str | os.PathLike[str]) -> None:
        """Write C sources, headers, plan, report and manifest into a folder, as ``tilewright generate`` does.

        Raises TilewrightError where a file cannot be written; files that were there before are then left as they were.
        """
        files = all_files(self._options, self._artifacts)
        write_all(Path(folder), files, manifest=manifest_name(self._options.name))

    def _repr_html_(self) -> str:
        """What a notebook shows for the value of a cell."""
        return notebook_html(self._data)


def plan(model: str | os.PathLike[str], platform: str | os.PathLike[str], **options: Any) -> PlannedModel:
    """Plan a model for a platform, check the plan, and make its C sources; nothing is written.

    ``platform`` is the name of a shipped platform or the path of a TOML file. ``options`` are the keys of an options
    file, with values as TOML has them: ``pools={"l1": 16000}, buffering="double", dims={"N": 1}``.

    Raises TilewrightError for whatever ``tilewright generate`` refuses; its text says what, where and the remedy.
    """
    given = {"model": os.fspath(model), "platform": os.fspath(platform), **options}
    chosen = build_options(("plan()", given))
    artifacts = compile_model(chosen)
    return PlannedModel(artifacts.plan, chosen, artifacts, report_data(artifacts.plan))
