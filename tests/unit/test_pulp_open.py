"""The port of pulp-open in each of its simulators: exit status, traps, copies, fork and join, HyperRAM."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.gvsoc import PLATFORM, TURNS, build, needs_gvsoc
from tilewright.platform import Platform
from tilewright.tools.simulate import simulate

ON_CLUSTER = r"""
#include <stdint.h>
#include <stdio.h>
#include <tilewright/port.h>
#include "pulp_open.h"

static volatile uint8_t pool[2048] __attribute__((section(".bss.tilewright.l1")));

static void work(void *argument)
{
    (void)argument;
    BODY
}

int main(void)
{
    puts("begun");
    pool[0] = 1;
    tilewright_fork(1, work, 0);
    return 0;
}
"""

COPIES = r"""
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <tilewright/port.h>
#include "pulp_open.h"

enum { SIZE = 4096, LINKS = 2 };
static uint8_t far[SIZE] __attribute__((section(".bss.tilewright.l2")));
static uint8_t back[SIZE] __attribute__((section(".bss.tilewright.l2")));
static uint8_t near[SIZE] __attribute__((section(".bss.tilewright.l1")));
static uint32_t errors;

static void fill(uint32_t seed)
{
    for (uint32_t i = 0; i < SIZE; i++) {
        far[i] = (uint8_t)(i * 7u + (i >> 8) + seed);
        back[i] = 0x5a;
    }
}

/* lines x bytes out of far into near and on to back, with strides on both sides. */
static void rectangle(uint32_t lines, uint32_t bytes, int32_t far_stride, int32_t near_stride)
{
    const tilewright_address_t first = (tilewright_address_t)far + (far_stride < 0 ? 2048u : 3u);
    const tilewright_address_t last = (tilewright_address_t)back + (far_stride < 0 ? 2048u : 3u);
    uint32_t wrong = 0;
    (void)tilewright_copy_wait(
        0, tilewright_copy_start(0, (tilewright_address_t)near + 5u, first, lines, bytes, near_stride, far_stride));
    for (uint32_t i = 0; i < lines * bytes; i++) {
        const int32_t line = (int32_t)(i / bytes);
        wrong += near[5 + line * near_stride + (int32_t)(i % bytes)] !=
                 *((const uint8_t *)first + line * far_stride + (int32_t)(i % bytes));
    }
    (void)tilewright_copy_wait(
        1, tilewright_copy_start(1, last, (tilewright_address_t)near + 5u, lines, bytes, far_stride, near_stride));
    for (uint32_t i = 0; i < lines * bytes; i++) {
        const int32_t at = (int32_t)(i / bytes) * far_stride + (int32_t)(i % bytes);
        wrong += *((const uint8_t *)last + at) != *((const uint8_t *)first + at);
    }
    errors += wrong;
}

static void copies(void *argument)
{
    (void)argument;
    fill(1);
    rectangle(1, 1, 0, 0);
    rectangle(1, 1000, 0, 0);
    rectangle(13, 11, 50, 11);
    rectangle(13, 11, 50, 17);
    rectangle(13, 11, -50, 11);
    fill(2);
    tilewright_token_t tokens[12];
    for (uint32_t i = 0; i < 12; i++) {
        tokens[i] = tilewright_copy_start(0, (tilewright_address_t)near + 100u * i,
                                          (tilewright_address_t)far + 200u * i, 1, 100, 0, 0);
    }
    (void)tilewright_copy_wait(0, tokens[11]);
    (void)tilewright_copy_wait(0, tokens[3]);
    for (uint32_t i = 0; i < 1200; i++) {
        errors += near[i] != far[200u * (i / 100u) + i % 100u];
    }
}

static void hyper(void *argument)
{
    (void)argument;
    const tilewright_address_t ram = TILEWRIGHT_HYPER_BASE + 0x1000u;
    fill(3);
    tilewright_token_t token = tilewright_copy_start(0, ram, (tilewright_address_t)far, 1, SIZE, 0, 0);
    (void)tilewright_copy_wait(0, token);
    token = tilewright_copy_start(0, (tilewright_address_t)back, ram, 1, SIZE, 0, 0);
    (void)tilewright_copy_wait(0, token);
    errors += memcmp(far, back, SIZE) != 0;
    memset(back, 0, SIZE);
    token = tilewright_copy_start(0, (tilewright_address_t)back, ram + 5u, 7, 12, 12, 100);
    (void)tilewright_copy_wait(0, token);
    for (uint32_t i = 0; i < 7 * 12; i++) {
        errors += back[i] != far[5u + 100u * (i / 12u) + i % 12u];
    }
}

int main(void)
{
    copies(0);
    printf("controller %u\n", (unsigned)errors);
    tilewright_fork(1, copies, 0);
    printf("cluster %u\n", (unsigned)errors);
    hyper(0);
    printf("hyper from controller %u\n", (unsigned)errors);
    tilewright_fork(1, hyper, 0);
    printf("hyper from cluster %u\n", (unsigned)errors);
    return errors == 0 ? 0 : 1;
}
"""

FAR = r"""
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <tilewright/port.h>
#include "pulp_open.h"

enum { COUNT = 3001, LINK = 3 };
__attribute__((section(".rodata.tilewright.net.l3"))) const uint8_t far[COUNT] = {11, [1024] = 22, [COUNT - 1] = 33};
static uint8_t back[COUNT + 7u];
static uint32_t errors;

static void fetch(uint32_t at, uint32_t first, uint32_t bytes)
{
    memset(back, 0x5a, sizeof back);
    (void)tilewright_copy_wait(LINK, tilewright_copy_start(LINK, (tilewright_address_t)back + at,
                                                           (tilewright_address_t)far + first, 1, bytes, 0, 0));
}

static void check(void *argument)
{
    (void)argument;
    fetch(0, 0, COUNT);
    errors += back[0] != 11 || back[1024] != 22 || back[COUNT - 1] != 33 || back[COUNT + 3] != 0x5a;
    fetch(4, 1023, 2);
    errors += back[3] != 0x5a || back[4] != 0 || back[5] != 22 || back[8] != 0x5a;
}

int main(void)
{
    check(0);
    tilewright_fork(1, check, 0);
    printf("errors %u\n", (unsigned)errors);
    return errors == 0 ? 0 : 1;
}
"""

FORKS = r"""
#include <stdint.h>
#include <stdio.h>
#include <tilewright/port.h>
#include "pulp_open.h"

TURNS
static void walk(void *argument)
{
    static const uint32_t sizes[] = {8, 1, 3, 8, 2};
    (void)argument;
    for (uint32_t i = 0; i < 5; i++) {
        uint32_t cores = sizes[i];
        tilewright_fork(cores, each, &cores);
    }
}

int main(void)
{
    tilewright_fork(1, walk, 0);
    tilewright_fork(1, walk, 0);
    uint32_t cores = 8;
    tilewright_fork(8, each, &cores);
    for (uint32_t core = 0; core < 8; core++) {
        printf("%u ", (unsigned)done[core]);
        errors += tilewright_stack_unused(core) < 64u || tilewright_stack_unused(core) == tilewright_stack_bytes(core);
    }
    printf("errors %u\n", (unsigned)errors);
    return errors == 0 ? 0 : 1;
}
"""


@pytest.mark.parametrize(("returned", "status"), [(0, 0), (7, 7), (255, 255), (256, 1), (-1, 255)])
def test_exit_status(pulp_open: Platform, returned: int, status: int) -> None:
    program = build(f"int main(void) {{ return {returned}; }}\n")
    assert simulate(pulp_open, program, timeout_s=60) == status


def test_write_below_the_stack_ends_the_test(pulp_open: Platform) -> None:
    body = "for (volatile uint32_t *stack = (volatile uint32_t *)&argument;; stack--) { *stack = 0; }"
    program = build(ON_CLUSTER.replace("BODY", body))
    assert simulate(pulp_open, program, timeout_s=8) != 0


def test_deep_stack_is_told(pulp_open: Platform, capfd: pytest.CaptureFixture[str]) -> None:
    body = "volatile uint8_t deep[2000]; for (uint32_t i = 0; i < 2000; i++) { deep[i] = 1; } pool[1] = deep[7];"
    program = build(ON_CLUSTER.replace("BODY", body))
    assert simulate(pulp_open, program, timeout_s=60) == 98
    assert "stack of a cluster core overflowed" in capfd.readouterr().out


def test_copies(pulp_open: Platform, capfd: pytest.CaptureFixture[str]) -> None:
    program = build(COPIES)
    status = simulate(pulp_open, program, timeout_s=60)
    assert (status, capfd.readouterr().out.splitlines()) == (
        0,
        ["controller 0", "cluster 0", "hyper from controller 0", "hyper from cluster 0"],
    )


def test_forks(pulp_open: Platform, capfd: pytest.CaptureFixture[str]) -> None:
    program = build(FORKS.replace("TURNS", TURNS))
    status = simulate(pulp_open, program, timeout_s=60)
    assert (status, capfd.readouterr().out) == (0, "11 9 7 5 5 5 5 5 errors 0\n")


def test_constants_reach_hyperram(pulp_open: Platform, capfd: pytest.CaptureFixture[str]) -> None:
    program = build(FAR)
    status = simulate(pulp_open, program, timeout_s=60)
    assert (status, capfd.readouterr().out) == (0, "errors 0\n")


@needs_gvsoc
@pytest.mark.parametrize(
    ("spoil", "status", "text"),
    [("rm", 1, "path: program.elf"), ("rm program.elf && touch", 97, "cannot read program.elf")],
    ids=["no file, which GVSoC itself refuses", "empty file"],
)
def test_constants_that_cannot_be_brought_are_told(
    spoil: str, status: int, text: str, capfd: pytest.CaptureFixture[str]
) -> None:
    program = build(FAR)
    assert PLATFORM.simulator is not None
    script = f"{spoil} program.elf && exec gvsoc_launcher --config={{work_dir}}/gvsoc_config.json"
    platform = replace(PLATFORM, simulator=replace(PLATFORM.simulator, command=("sh", "-c", script)))
    assert simulate(platform, program, timeout_s=60) == status
    assert text in capfd.readouterr().out
