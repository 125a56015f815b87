"""Who walks a program on pulp-open, in each of its simulators: the control core, or core 0."""

from __future__ import annotations

import pytest
from support.gvsoc import TURNS, build
from tilewright.platform import Platform
from tilewright.tools.simulate import simulate

WALKERS = r"""
#include <stdint.h>
#include <stdio.h>
#include <tilewright/port.h>
#include "pulp_open.h"
#include "registers.h"

enum { BYTES = 512, PATIENCE = 300 };
static uint8_t far[BYTES] __attribute__((section(".bss.tilewright.l2")));
static uint8_t near[BYTES] __attribute__((section(".bss.tilewright.l1")));
static volatile uint32_t seen;
static uint32_t seed;

TURNS
static void alone(void *argument)
{
    *(uint32_t *)argument = done[tilewright_core_id()]++;
}

static void start_copy(tilewright_token_t *token)
{
    seed++;
    for (uint32_t i = 0; i < BYTES; i++) {
        far[i] = (uint8_t)(seed + 3u * i);
    }
    *token = tilewright_copy_start(0, (tilewright_address_t)near, (tilewright_address_t)far, 1, BYTES, 0, 0);
}

/* Of the walker, between start and join: how many cores end before it joins them. */
static uint32_t ended(const uint32_t *before, uint32_t cores)
{
    uint32_t count = 0;
    for (uint32_t patience = 0; patience < PATIENCE && count < cores; patience++) {
        count = 0;
        for (uint32_t core = 0; core < cores; core++) {
            count += done[core] - before[core];
        }
    }
    return count;
}

static void meanwhile(uint32_t cores)
{
    uint32_t value = 0, before[8];
    tilewright_token_t token;
    for (uint32_t core = 0; core < 8; core++) {
        before[core] = done[core];
    }
    tilewright_fork_start(cores, alone, &value);
    start_copy(&token);
    seen = 10u * seen + ended(before, cores);
    tilewright_fork_join(cores, alone, &value);
    for (uint32_t core = 0; core < 8; core++) {
        errors += done[core] - before[core] != (core < cores ? 1u : 0u);
    }
    (void)tilewright_copy_wait(0, token);
    for (uint32_t i = 0; i < BYTES; i++) {
        errors += near[i] != (uint8_t)(seed + 3u * i);
    }
}

static void walk_many(void *argument)
{
    static const uint32_t sizes[] = {SIZES};
    *(uint32_t *)argument = pulp_hart();
    errors += tilewright_core_id() != 0u;
    seen = 0;
    for (uint32_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        uint32_t cores = sizes[i];
        tilewright_fork(cores, each, &cores);
        meanwhile(cores);
    }
}

static void walk_alone(void *argument)
{
    tilewright_token_t token;
    *(uint32_t *)argument = pulp_hart();
    errors += tilewright_core_id() != 0u;
    start_copy(&token);
    (void)tilewright_copy_wait(0, token);
    errors += near[BYTES - 1] != (uint8_t)(seed + 3u * (BYTES - 1u));
}

static void run(uint32_t cores)
{
    uint32_t hart = 99;
    tilewright_dispatch(cores, cores > 1u ? walk_many : walk_alone, &hart);
    printf("%u cores: hart %u\n", (unsigned)cores, (unsigned)hart);
}

int main(void)
{
    run(FIRST);
    run(9u - FIRST);
    run(FIRST);
    run(8);
    uint32_t cores = 8;
    tilewright_fork(8, each, &cores);
    for (uint32_t core = 0; core < 8; core++) {
        printf("%u ", (unsigned)done[core]);
    }
    printf("ended before joined %u\n", (unsigned)seen);
    for (uint32_t core = 0; core < (FIRST == 8 ? 9u : 8u); core++) {
        const uint32_t bytes = tilewright_stack_bytes(core), unused = tilewright_stack_unused(core);
        printf("%u ", bytes > tilewright_stack_bytes(1));
        errors += unused < 64u || unused >= bytes;
    }
    printf("errors %u\n", (unsigned)errors);
    return errors == 0 ? 0 : 1;
}
"""


@pytest.mark.parametrize(
    ("first", "walker", "sizes"),
    [(8, 8, (8, 1, 3, 8, 2)), (1, 0, (8, 1, 3, 8, 2))],
    ids=["control core", "core 0"],
)
def test_the_first_program_settles_who_walks(
    pulp_open: Platform,
    first: int,
    walker: int,
    sizes: tuple[int, ...],
    capfd: pytest.CaptureFixture[str],
) -> None:
    text = WALKERS.replace("FIRST", str(first)).replace("SIZES", ", ".join(map(str, sizes))).replace("TURNS", TURNS)
    status = simulate(pulp_open, build(text), timeout_s=60)
    programs = [first, 9 - first, first, 8]
    forks = 2 * programs.count(8) * sizes + (8,)
    # Core 0 works when it joins, all others before; the control core finds all done.
    ended = [size if walker == 8 else size - 1 for size in sizes]
    larger_stacks = [int(core == walker) for core in range(9 if walker == 8 else 8)]
    assert (status, capfd.readouterr().out.splitlines()) == (
        0,
        [
            *(f"{cores} cores: hart {walker}" for cores in programs),
            " ".join(str(sum(core < size for size in forks)) for core in range(8))
            + f" ended before joined {''.join(map(str, ended))}",
            " ".join(map(str, larger_stacks)) + " errors 0",
        ],
    )
