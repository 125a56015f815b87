"""Plans every point of a study on any executor of ``concurrent.futures``, and keeps a row for each.

Only ``submit`` and ``as_completed`` are used, so that processes, Dask's ``Client.get_executor()`` and Ray serve alike.
Each point is planned on one thread. Model and platform files must have the same paths on all machines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, as_completed
from dataclasses import fields, replace
from typing import Any

from tilewright.base.errors import ExitStatus, TilewrightError, bad_input
from tilewright.base.lazy_dataclass import dataclass
from tilewright.pipeline import plan_model
from tilewright.plan import Access, Plan
from tilewright.platform import Platform, load_platform
from tilewright.report.link_bytes import compulsory_by_link, moved_by_link
from tilewright.tools.study import StudyPoint
from tilewright.tools.study_runs import run_point

MOST_ATTEMPTS = 4
"""How often a point is submitted whose executor breaks, as an executor does when one of its processes is killed."""


@dataclass(frozen=True, slots=True)
class PointRow:
    """What is known of a point; numbers are 0 unless ``status`` is ``planned``.

    Attributes:
        fingerprint: see ``StudyPoint``.
        model, platform: as the study file names them.
        pools: ``l1=4096 sram=65536``: the sizes that the study tries.
        options: ``buffering=single``: the options that the study varies.
        status: ``planned``, ``does not fit``, ``refused`` (the tool cannot, and says so) or ``failed`` (a defect).
        reason: why there is no plan.
        ram_bytes: used bytes of all pools that can be written.
        constant_bytes: used bytes of read-only pools.
        moved_bytes, compulsory_bytes: over all links, and the least that any schedule moves.
        predicted_cycles: of one inference.
        macs: multiply-accumulates of one inference.
        energy_picojoules: of one inference; 0 where the platform file has no ``[energy]``.
        used_bytes: ``l1=3976 sram=12560``: of each pool.
        measured: what one run took in the platform's simulator; 0 where it was not run.
        counter: what ``measured`` counts: ``cycles``, ``instructions``, ``nanoseconds``.
    """

    fingerprint: str
    model: str
    platform: str
    pools: str
    options: str
    status: str
    reason: str = ""
    ram_bytes: int = 0
    constant_bytes: int = 0
    moved_bytes: int = 0
    compulsory_bytes: int = 0
    predicted_cycles: int = 0
    macs: int = 0
    energy_picojoules: int = 0
    used_bytes: str = ""
    measured: int = 0
    counter: str = ""


COLUMNS = tuple(item.name for item in fields(PointRow))


def explore(
    points: Sequence[StudyPoint],
    started: Callable[[], Executor],
    work: Callable[[StudyPoint], PointRow] | None = None,
) -> Iterator[PointRow]:
    """A row for each point in the order in which points are done; ``work`` makes a row (``measured`` if None).

    ``started`` gives an executor, and another one if the first breaks. Raises bad_input ``broken-executor`` after
    MOST_ATTEMPTS executors broke; rows that were done before have been yielded.
    """
    waiting = {point.fingerprint: point for point in points}
    if not waiting:
        return
    for _ in range(MOST_ATTEMPTS):
        for row in _done(tuple(waiting.values()), started(), work or measured):
            del waiting[row.fingerprint]
            yield row
        if not waiting:
            return
    what = f"{len(waiting)} points have no answer: their executor broke {MOST_ATTEMPTS} times"
    raise bad_input("broken-executor", what, help="fewer --jobs if memory was short; what is known stays known")


def _done(
    points: Sequence[StudyPoint], executor: Executor, work: Callable[[StudyPoint], PointRow]
) -> Iterator[PointRow]:
    """The rows that the executor gives until it breaks; it is shut down then, or when the rows are no longer wanted."""
    futures: dict[Future[PointRow], StudyPoint] = {}
    try:
        for point in points:
            futures[executor.submit(work, point)] = point
        for future in as_completed(futures):
            try:
                yield future.result()
            except (BrokenExecutor, CancelledError):
                continue
            except Exception as error:  # of the executor, such as a worker that ended at this point again and again
                yield _row(futures[future], "failed", reason=f"{type(error).__name__}: {error}")
    except BrokenExecutor:
        return
    finally:
        for future in futures:
            future.cancel()
        executor.shutdown(wait=False)


def measured(point: StudyPoint) -> PointRow:
    """Plan one point. Never raises: the row has the reason of a failure."""
    try:
        return _planned(point, plan_model(point.options, explains=False), load_platform(point.options.platform))
    except TilewrightError as error:
        status = "does not fit" if error.status is ExitStatus.DOES_NOT_FIT else "refused"
        return _row(point, status, reason="; ".join((error.what, *error.at)))
    except Exception as error:  # one defect must not end a study of hours
        return _row(point, "failed", reason=f"{type(error).__name__}: {error}")


def simulated(point: StudyPoint) -> PointRow:
    """Plan one point, build it and run it. Never raises; a row that could not be run says why."""
    row = measured(point)
    if row.status != "planned":
        return row
    try:
        taken, counter = run_point(point.options)
    except TilewrightError as error:
        return replace(row, reason=error.what)
    except Exception as error:  # one defect must not end a study of hours
        return replace(row, reason=f"not run: {type(error).__name__}: {error}")
    return replace(row, measured=taken, counter=counter)


def _planned(point: StudyPoint, plan: Plan, platform: Platform) -> PointRow:
    read_only = {pool.name for pool in plan.pools if pool.access is Access.READ_ONLY}
    used = {use.pool: use.used_bytes for use in plan.pool_use}
    moved = moved_by_link(plan)
    cycles = sum(layer.predicted_cycles for layer in plan.layers)
    return _row(
        point,
        "planned",
        ram_bytes=sum(count for pool, count in used.items() if pool not in read_only),
        constant_bytes=sum(count for pool, count in used.items() if pool in read_only),
        moved_bytes=sum(moved.values()),
        compulsory_bytes=sum(compulsory_by_link(plan).values()),
        predicted_cycles=cycles,
        macs=sum(layer.macs for layer in plan.layers),
        energy_picojoules=_energy(platform, cycles, moved),
        used_bytes=" ".join(f"{pool}={count}" for pool, count in used.items()),
    )


def _energy(platform: Platform, cycles: int, moved: dict[str, int]) -> int:
    """Picojoules of one inference: cycles and bytes, each times what the platform file says."""
    if platform.energy is None:
        return 0
    each_byte = dict(platform.energy.byte_picojoules)
    bytes_picojoules = sum(count * each_byte.get(link, 0.0) for link, count in moved.items())
    return round(cycles * platform.energy.cycle_picojoules + bytes_picojoules)


def _row(point: StudyPoint, status: str, **facts: Any) -> PointRow:
    pools = " ".join(f"{pool}={size}" for pool, size in point.pools)
    options = " ".join(f"{name}={value}" for name, value in point.varied)
    return PointRow(point.fingerprint, point.model, point.platform, pools, options, status, **facts)
