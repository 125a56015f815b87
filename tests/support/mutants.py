"""Judges spoilt plans: refused by the checker, or shown harmless on this machine.

A plan that the checker accepts becomes C. If that is the C of the sound plan, with the same bytes dead between layers,
nothing is left to be shown; else it runs under the sanitizers on three inputs, with copies that happen as late as they
may, and with every byte that is dead behind a layer overwritten. Its outputs must be those of the sound plan, bit for
bit; anything else is a hole in the checker. Where cores share calls, they work one after the other, forwards and
backwards, when a fork starts and when it is joined: all four orders must give these outputs.
"""

from __future__ import annotations

import os
import random
import re
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType

import numpy as np
from tilewright.check import check
from tilewright.codegen.files import generate_files
from tilewright.graph import Array
from tilewright.options import CompileOptions
from tilewright.pipeline import imported_graph, sized_platform
from tilewright.plan import Access, Begin, BufferKind, End, InterfaceTensor, Layer, Loop, Plan, Step, kernel_steps
from tilewright.plan.lifetimes import lifetimes
from tilewright.planning.assembling import assemble_plan
from tilewright.planning.prepare import prepare
from tilewright.planning.retries import search

from support.forced import FLAGS, LATE_PORT, RUNTIME
from support.many_cores import MANY_CORES, ORDERS
from support.mutations import mutations
from support.objects import LINKER, kept, sanitized

INPUTS = 3
MOST_SECONDS = 60
PREFIX = "net"
_ENVIRONMENT = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}
_RUNTIME = ("copy.c", "tile.c")
KEPT = (BufferKind.INPUT, BufferKind.STATE)
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_DRIVER = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "net.c"
#include "net_pools.c"
struct range {{ uint32_t layer; uint8_t *pool; size_t begin; size_t end; }};
static const struct range dead[] = {{{dead}{{UINT32_MAX, NULL, 0, 0}}}};
void late_port_layer_done(uint32_t layer);
void overwrite_dead(uint32_t layer)
{{
    late_port_layer_done(layer);
    for (size_t i = 0; dead[i].pool != NULL; i++) {{
        if (dead[i].layer == layer) {{
            memset(dead[i].pool + dead[i].begin, 0xc3, dead[i].end - dead[i].begin);
        }}
    }}
}}
/* Behind ``align`` bytes, so that the buffer is aligned to no more, and ends where its allocation does. */
static void *bytes_of(FILE *in, size_t size, size_t align)
{{
    void *base = NULL;
    if (posix_memalign(&base, 4096, size + align) != 0) {{ exit(95); }}
    void *memory = (uint8_t *)base + align;
    if (in != NULL && fread(memory, 1, size, in) != size) {{ exit(94); }}
    if (in == NULL) {{ memset(memory, 0xa5, size); }}
    return memory;
}}
int main(int count, char **words)
{{
    if (count != 3) {{ return 90; }}
    FILE *in = fopen(words[1], "rb");
    FILE *out = fopen(words[2], "wb");
    for (int run = 0; run < {runs}; run++) {{
        const uint8_t pattern = (uint8_t)(0x5a + run);
        {pools}
        struct net_inputs inputs = {{{inputs}}};
        struct net_outputs outputs = {{{outputs}}};
        const enum net_status status = net_run(&inputs, &outputs);
        if (status != NET_OK) {{ return 80 + (int)status; }}
        {written}
    }}
    return fclose(out);
}}
"""


@dataclass(frozen=True)
class Subject:
    """A network with its sound plan, the constants that it names, and where it is built."""

    name: str
    plan: Plan
    constants: Mapping[str, Array]
    folder: Path

    def files(self, plan: Plan) -> dict[str, bytes]:
        """The C of a plan of this network."""
        return generate_files(plan, self.constants, lifetimes(plan.program))


@dataclass
class Verdicts:
    """What came of mutations: refused by rule, the same C, harmless when run; or a hole."""

    refused: Counter[str] = field(default_factory=Counter)
    same: int = 0
    ran: int = 0
    builds: int = 0
    holes: list[str] = field(default_factory=list)

    @property
    def total(self) -> int:
        """All mutations that were judged."""
        return sum(self.refused.values()) + self.same + self.ran + len(self.holes)

    def __str__(self) -> str:
        rules = ", ".join(f"{rule} {count}" for rule, count in self.refused.most_common())
        return (
            f"{self.total} mutations: {sum(self.refused.values())} refused, {self.same} give the same C, {self.ran} "
            f"harmless when run ({self.builds} builds), {len(self.holes)} holes; refused by {rules}"
        )


def subject(model: Path, platform: Path | str, folder: Path, pools: tuple[str, ...] = (), **options: object) -> Subject:
    """Plan a network with pools of its own."""
    values = CompileOptions(model, str(platform), PREFIX, pools=pools, static_pools=True, **options)  # type: ignore[arg-type]
    target = sized_platform(values)
    graph = imported_graph(values, target)
    planned = search(prepare(graph, target, values), target, values)
    plan = assemble_plan(graph, planned, target, values)
    assert check(plan) == []
    return Subject(f"{model.parent.name} on {target.name}", plan, planned.schedule.constants, folder)


def judge(network: Subject, chance: random.Random, most: int, verdicts: Verdicts) -> None:
    """Mutate a network's plan at up to ``most`` places and add what comes of it."""
    bench = _Bench(network, chance.randrange(1 << 30))
    for mutation in mutations(network.plan, chance)[:most]:
        plan = mutation.applied(network.plan)
        violations = check(plan)
        if violations:
            verdicts.refused[violations[0].rule.value] += 1
            continue
        outcome = bench.outcome(plan, verdicts)
        if outcome:
            verdicts.holes.append(f"{network.name}: {mutation}: {outcome}")


def outputs(network: Subject, seed: int, verdicts: Verdicts) -> bytes:
    """What a network's own plan computes from random inputs; bytes that are dead behind a layer are overwritten."""
    bench = _Bench(network, seed)
    bench.run_sound(verdicts)
    return bench.wanted


@dataclass
class _Bench:
    """Runs accepted plans of one network; what was run once is known by its C and its dead bytes."""

    network: Subject
    seed: int
    known: dict[str, str] = field(default_factory=dict)
    wanted: bytes = b""
    sound: str = ""
    weights: bytes = b""

    def outcome(self, plan: Plan, verdicts: Verdicts) -> str:
        """The empty text if the plan is harmless, else what went wrong."""
        if not self.sound:
            self.sound = _key(self.network.files(self.network.plan), self.network.plan)
        try:
            files = self.network.files(plan)
        except Exception as error:
            return f"the generator fails: {error!r}"
        key = _key(files, plan)
        if key == self.sound:
            verdicts.same += 1
            return ""
        if not self.wanted:
            self.run_sound(verdicts)
        if key not in self.known:
            got = self._run(files, plan, verdicts)
            self.known[key] = got if isinstance(got, str) else "" if got == self.wanted else "other outputs"
        verdicts.ran += not self.known[key]
        return self.known[key]

    def run_sound(self, verdicts: Verdicts) -> None:
        """Run the network's own plan; its outputs become ``wanted``."""
        plan, folder = self.network.plan, self.network.folder
        folder.mkdir(parents=True, exist_ok=True)
        inputs = [array for run in range(INPUTS) for array in _random_inputs(plan, self.seed + run)]
        (folder / "inputs").write_bytes(b"".join(array.tobytes() for array in inputs))
        got = self._run(self.network.files(plan), plan, verdicts)
        assert isinstance(got, bytes), got
        self.wanted = got

    def _run(self, files: Mapping[str, bytes], plan: Plan, verdicts: Verdicts) -> bytes | str:
        """All outputs of all runs, or the complaint of compiler, sanitizer, port or clock."""
        folder = self.network.folder
        for name, content in files.items():
            (folder / name).write_bytes(content)
        (folder / "driver.c").write_text(_driver(plan), encoding="utf-8")
        flags = [*FLAGS, "-DTILEWRIGHT_LAYER_HOOK=overwrite_dead", f"-I{RUNTIME / 'include'}", f"-I{folder}"]
        compiled = {"driver": b"", "net_weights": files[f"{PREFIX}_weights.c"]}
        if compiled["net_weights"] == self.weights:
            compiled.pop("net_weights")
        self.weights = files[f"{PREFIX}_weights.c"]
        for name in compiled:
            failed = _complaint(["gcc", *flags, "-c", str(folder / f"{name}.c"), "-o", str(folder / f"{name}.o")])
            if failed:
                return failed
        verdicts.builds += 1
        found = {self._outputs(plan, way, environment) for way, environment in _ways(plan)}
        return found.pop() if len(found) == 1 else "the order of the cores shows"

    def _outputs(self, plan: Plan, way: tuple[str, ...], environment: Mapping[str, str]) -> bytes | str:
        """Link for one way of forking, and run."""
        folder = self.network.folder
        sources = [*LATE_PORT, *(RUNTIME / name for name in (*_RUNTIME, *plan.kernel_sources))]
        if _is_shared(plan):
            sources = [path for path in sources if path.name != "one_core.c"]
        cores = kept(["gcc", *FLAGS, *way, f"-I{RUNTIME / 'include'}"], [MANY_CORES] if _is_shared(plan) else [])
        runtime = [*sanitized(list(dict.fromkeys(sources))), *cores]
        objects = [str(folder / "driver.o"), str(folder / "net_weights.o"), *runtime]
        program, outputs = str(folder / "program"), folder / "outputs"
        failed = _complaint(["gcc", *LINKER, *FLAGS, *objects, "-lm", "-o", program]) or _complaint(
            [program, str(folder / "inputs"), str(outputs)], environment
        )
        return failed or outputs.read_bytes()


def _is_shared(plan: Plan) -> bool:
    return any(step.split is not None for step in kernel_steps(plan.program))


def _ways(plan: Plan) -> Sequence[tuple[tuple[str, ...], Mapping[str, str]]]:
    """Macros of the compiler and variables of the environment: the orders in which cores work, where several do."""
    return ORDERS if _is_shared(plan) else [((), {})]


def _complaint(command: Sequence[str], environment: Mapping[str, str] = MappingProxyType({})) -> str:
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            timeout=MOST_SECONDS,
            env={**_ENVIRONMENT, **environment},
        )
    except subprocess.TimeoutExpired:
        return f"does not end in {MOST_SECONDS} s"
    return "" if done.returncode == 0 else f"exit status {done.returncode}: {done.stderr[-400:]}"


def _random_inputs(plan: Plan, seed: int) -> Iterator[Array]:
    generator = np.random.default_rng(seed)
    for tensor in plan.inputs:
        dtype = np.dtype(tensor.dtype)
        if dtype.kind == "f":
            yield generator.standard_normal(tensor.shape).astype(dtype)
        elif dtype.kind == "b":
            yield generator.integers(0, 2, tensor.shape).astype(dtype)
        else:
            limits = np.iinfo(dtype)
            yield generator.integers(max(limits.min, -128), min(limits.max, 127), tensor.shape).astype(dtype)


def _key(files: Mapping[str, bytes], plan: Plan) -> str:
    """What a plan's program is: C without comments, and the bytes that are dead between layers."""
    texts = [_COMMENT.sub("", text.decode()) for name, text in sorted(files.items()) if name.endswith((".c", ".h"))]
    return sha256("\0".join([*texts, repr(list(_dead(plan)))]).encode()).hexdigest()


def _driver(plan: Plan) -> str:
    dead = "".join(f"{{{stage}u, {PREFIX}_pool_{pool}, {begin}u, {end}u}}, " for stage, pool, begin, end in _dead(plan))
    pools = sorted({placement.pool for placement in plan.placements} & set(_writable(plan)))
    clears = " ".join(f"memset({PREFIX}_pool_{pool}, pattern, sizeof {PREFIX}_pool_{pool});" for pool in pools)
    given = ", ".join(f".{item.identifier} = bytes_of(in, {_macros('INPUT', item)})" for item in plan.inputs)
    made = ", ".join(f".{item.identifier} = bytes_of(NULL, {_macros('OUTPUT', item)})" for item in plan.outputs)
    written = " ".join(
        f"fwrite(outputs.{item.identifier}, 1, {_macros('OUTPUT', item).split(',')[0]}, out);" for item in plan.outputs
    )
    return _DRIVER.format(dead=dead, runs=INPUTS, pools=clears, inputs=given, outputs=made, written=written)


def _macros(side: str, tensor: InterfaceTensor) -> str:
    """Size and alignment of a buffer of the caller."""
    stem = f"{PREFIX}_{side}_{tensor.identifier}".upper()
    return f"{stem}_SIZE, {stem}_ALIGN"


def _writable(plan: Plan) -> list[str]:
    return [pool.name for pool in plan.pools if pool.access is Access.READ_WRITE]


def _dead(plan: Plan) -> Iterator[tuple[int, str, int, int]]:
    """Stage, pool and bytes [begin, end) that hold nothing at some moment between the layer of the stage and the next.

    A moment is the end of the layer, or the mark of a buffer behind it. What one buffer holds when another begins at
    the same bytes, as a part does whose whole begins behind it, is held on.
    """
    begun = {buffer.name for buffer in plan.buffers if buffer.kind in KEPT}
    stage = -1
    sizes = {use.pool: use.used_bytes for use in plan.pool_use}
    gaps: dict[tuple[str, int, int], None] = {}
    for step in plan.program:
        if isinstance(step, Layer):
            yield from ((stage, *gap) for gap in gaps)
            for mark in _marks(step.body):
                _mark(mark, begun)
            stage, gaps = stage + len(step.stages), {}
        else:
            _mark(step, begun)
        if stage >= 0:
            gaps.update(dict.fromkeys(_gaps(plan, begun, sizes)))


def _mark(step: Step, begun: set[str]) -> None:
    if isinstance(step, Begin):
        begun.add(step.buffer)
    elif isinstance(step, End):
        begun.discard(step.buffer)


def _marks(body: Sequence[Step]) -> Iterator[Step]:
    for step in body:
        if isinstance(step, (Loop, Layer)):
            yield from _marks(step.body)
        else:
            yield step


def _gaps(plan: Plan, alive: set[str], sizes: Mapping[str, int]) -> Iterator[tuple[str, int, int]]:
    """Bytes of the writable pools that belong to no buffer that lives."""
    lengths = {buffer.name: buffer.size_bytes for buffer in plan.buffers}
    for pool in _writable(plan):
        spans = sorted(
            (item.offset_bytes, item.offset_bytes + lengths[item.buffer])
            for item in plan.placements
            if item.pool == pool and item.buffer in alive
        )
        at = 0
        for begin, end in [*spans, (sizes.get(pool, 0), sizes.get(pool, 0))]:
            if begin > at:
                yield pool, at, begin
            at = max(at, end)
