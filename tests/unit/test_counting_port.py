"""The counting layer counts, checks, hides far memory and shows a missing wait."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from support.firmware import build_host, build_riscv, needs_host_compiler, needs_riscv
from tilewright.platform import load_platform
from tilewright.tools.simulate import simulate

PROGRAM = r"""
#include <stdio.h>
#include <string.h>
#include "counting.h"

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("line %d: %s\n", __LINE__, #condition);                                         \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

static uint8_t home[256] __attribute__((aligned(16)));
static uint8_t tile[256] __attribute__((aligned(16)));
static uint8_t away[128] __attribute__((aligned(16)));
static uint32_t idles;

void tilewright_idle(void)
{
    idles++;
}

static tilewright_address_t at(uint8_t *byte)
{
    return (tilewright_address_t)byte;
}

static void fill(void)
{
    for (unsigned i = 0; i < sizeof home; i++) {
        home[i] = (uint8_t)i;
    }
    memset(tile, 0, sizeof tile);
}

/* A kernel that doubles eight elements where they lie. */
static void kernel(uint8_t *data)
{
    for (unsigned i = 0; i < 8; i++) {
        data[i] = (uint8_t)(2u * data[i]);
    }
}

static int counts(void)
{
    tilewright_port_reset();
    fill();
    tilewright_token_t token = tilewright_copy_start(2, at(tile), at(home + 1), 3, 7, 10, 20);
    CHECK(token != TILEWRIGHT_NO_COPY);
    CHECK(tilewright_copy_wait(2, token) == TILEWRIGHT_PORT_OK);
    token = tilewright_copy_start(2, at(tile + 200), at(home + 90), 2, 4, 4, -4);
    CHECK(tilewright_copy_wait(2, token) == TILEWRIGHT_PORT_OK);
    CHECK(tile[0] == 1 && tile[6] == 7 && tile[7] == 0 && tile[10] == 21 && tile[26] == 47);
    CHECK(tile[200] == 90 && tile[204] == 86);
    CHECK(tilewright_port_link_bytes(2) == 29u && tilewright_port_link_copies(2) == 2u);
    CHECK(tilewright_port_link_bytes(1) == 0u && tilewright_port_link_copies(99) == 0u);
    CHECK(tilewright_copy_wait(2, TILEWRIGHT_NO_COPY) == TILEWRIGHT_PORT_OK);
    tilewright_port_reset();
    CHECK(tilewright_port_link_bytes(2) == 0u && tilewright_port_link_copies(2) == 0u);
    return 0;
}

static int hides(void)
{
    tilewright_port_reset();
    fill();
    CHECK(tilewright_counting_protect(at(home), 128));
    CHECK(!tilewright_counting_protect(at(home + 100), 128));
    CHECK(home[3] != 3 && home[128] == 128);
    tilewright_token_t token = tilewright_copy_start(0, at(tile), at(home + 3), 1, 8, 0, 0);
    CHECK(tilewright_copy_wait(0, token) == TILEWRIGHT_PORT_OK);
    CHECK(tile[0] == 3 && tile[7] == 10);
    kernel(tile);
    token = tilewright_copy_start(1, at(home + 40), at(tile), 1, 8, 0, 0);
    CHECK(tilewright_copy_wait(1, token) == TILEWRIGHT_PORT_OK);
    CHECK(home[40] != 6);
    kernel(home + 60);
    CHECK(!tilewright_counting_unprotect(at(home), 127));
    CHECK(tilewright_counting_unprotect(at(home), 128));
    CHECK(home[3] == 3 && home[40] == 6 && home[47] == 20 && home[48] == 48);
    /* The kernel that went to the home pool itself got and left wrong values. */
    CHECK(home[60] != 120);
    return 0;
}

static int late(void)
{
    tilewright_port_reset();
    fill();
    tilewright_counting_late(true);
    idles = 0;
    tilewright_token_t first = tilewright_copy_start(0, at(tile), at(home), 1, 8, 0, 0);
    tilewright_token_t second = tilewright_copy_start(0, at(tile + 8), at(home + 8), 1, 8, 0, 0);
    tilewright_token_t third = tilewright_copy_start(0, at(tile + 16), at(home + 16), 1, 8, 0, 0);
    tilewright_token_t other = tilewright_copy_start(1, at(tile + 24), at(home + 24), 1, 8, 0, 0);
    CHECK(first != second && second != third);
    CHECK(tile[1] == 0x5a && tile[9] == 0x5a && tilewright_counting_pending() == 4u);
    CHECK(tilewright_copy_wait(0, second) == TILEWRIGHT_PORT_OK);
    CHECK(tile[1] == 1 && tile[9] == 9 && tile[17] == 0x5a && tile[25] == 0x5a && idles > 0u);
    home[17] = 77;
    CHECK(tilewright_copy_wait(0, third) == TILEWRIGHT_PORT_OK);
    CHECK(tile[17] == 77 && tilewright_counting_pending() == 1u);
    CHECK(tilewright_copy_wait(1, other) == TILEWRIGHT_PORT_OK);
    CHECK(tile[25] == 25 && tilewright_counting_pending() == 0u);
    for (unsigned i = 0; i <= TILEWRIGHT_COUNTING_PENDING; i++) {
        (void)tilewright_copy_start(0, at(tile + i), at(home + 100 + i), 1, 1, 0, 0);
    }
    CHECK(tilewright_counting_pending() == TILEWRIGHT_COUNTING_PENDING && tile[0] == 100);
    return 0;
}

/* Copies of link 3 are the port's own, late ones and into protected memory too. */
static int through_port(void)
{
    tilewright_port_reset();
    fill();
    CHECK(tilewright_counting_through_port(3) && !tilewright_counting_through_port(16));
    tilewright_counting_late(true);
    CHECK(tilewright_counting_protect(at(tile), 128));
    tilewright_token_t token = tilewright_copy_start(3, at(tile), at(home + 9), 2, 4, 8, 20);
    CHECK(tile[0] == 0x5a && tilewright_counting_pending() == 1u);
    CHECK(tilewright_copy_wait(3, token) == TILEWRIGHT_PORT_OK);
    CHECK(tile[0] != 9 && tilewright_port_link_bytes(3) == 8u);
    CHECK(tilewright_counting_unprotect(at(tile), 128));
    CHECK(tile[0] == 9 && tile[3] == 12 && tile[4] == 0 && tile[8] == 29 && tile[11] == 32);
    return 0;
}

/* Nothing but the port's copies touches what the core cannot reach; scrambled bytes stay so there. */
static int beyond(void)
{
    tilewright_port_reset();
    fill();
    CHECK(tilewright_counting_through_port(3) && tilewright_counting_beyond(at(away), 128));
    tilewright_counting_late(true);
    CHECK(tilewright_counting_protect(at(home), 128) && tilewright_counting_protect(at(away), 128));
    CHECK(away[0] == 0);
    tilewright_token_t token = tilewright_copy_start(3, at(away), at(home), 1, 8, 0, 0);
    CHECK(away[0] == 0 && tilewright_counting_pending() == 1u);
    CHECK(tilewright_copy_wait(3, token) == TILEWRIGHT_PORT_OK);
    CHECK(away[1] == (1 ^ 0xa5) && away[1] == home[1]);
    token = tilewright_copy_start(3, at(tile), at(away), 1, 8, 0, 0);
    CHECK(tile[1] == 0x5a);
    CHECK(tilewright_copy_wait(3, token) == TILEWRIGHT_PORT_OK && tile[1] == 1);
    CHECK(tilewright_counting_unprotect(at(home), 128) && home[1] == 1);
    CHECK(tilewright_counting_unprotect(at(away), 128) && away[1] == (1 ^ 0xa5));
    return 0;
}

/* The port makes the copies at once; what breaks a rule of the layer goes through too. */
static int asleep(void)
{
    tilewright_port_reset();
    fill();
    tilewright_counting_late(true);
    CHECK(tilewright_counting_align(0, 4));
    tilewright_counting_sleep(true);
    tilewright_token_t token = tilewright_copy_start(0, at(tile + 1), at(home + 2), 1, 3, 0, 0);
    CHECK(tilewright_copy_wait(0, token) == TILEWRIGHT_PORT_OK);
    CHECK(tile[1] == 2 && tile[3] == 4 && tile[4] == 0);
    tilewright_counting_sleep(false);
    CHECK(tilewright_port_link_copies(0) == 0u && tilewright_counting_faults() == 0u);
    token = tilewright_copy_start(0, at(tile + 4), at(home), 1, 4, 0, 0);
    CHECK(tile[5] == 0x5a && tilewright_port_link_copies(0) == 1u);
    CHECK(tilewright_copy_wait(0, token) == TILEWRIGHT_PORT_OK && tile[5] == 1);
    return 0;
}

static int fault(const char *expected)
{
    CHECK(tilewright_counting_faults() == 1u);
    CHECK(strcmp(tilewright_counting_first_fault(), expected) == 0);
    CHECK(tilewright_copy_wait(0, 1) == TILEWRIGHT_PORT_FAULT);
    tilewright_port_reset();
    CHECK(tilewright_copy_wait(0, TILEWRIGHT_NO_COPY) == TILEWRIGHT_PORT_OK);
    return 0;
}

static int checks(void)
{
    int wrong = 0;
    tilewright_port_reset();
    CHECK(tilewright_counting_align(0, 4) && !tilewright_counting_align(0, 3));
    (void)tilewright_copy_start(0, at(tile + 4), at(home), 2, 8, 12, 16);
    CHECK(tilewright_counting_faults() == 0u);
    (void)tilewright_copy_start(0, at(tile + 2), at(home), 2, 8, 12, 16);
    wrong |= fault("alignment");
    (void)tilewright_copy_start(0, at(tile), at(home), 0, 8, 0, 0);
    wrong |= fault("empty copy");
    (void)tilewright_copy_start(0, at(tile), at(home), 1, 8, 8, 0);
    wrong |= fault("stride of a single line");
    (void)tilewright_copy_start(16, at(tile), at(home), 1, 8, 0, 0);
    wrong |= fault("unknown link");
    (void)tilewright_copy_start(0, at(tile), at(tile + 7), 1, 8, 0, 0);
    wrong |= fault("source and destination overlap");
    CHECK(tilewright_counting_allow(0, TILEWRIGHT_COUNTING_SOURCE, at(home), 64));
    CHECK(tilewright_counting_allow(0, TILEWRIGHT_COUNTING_SOURCE, at(home + 128), 64));
    (void)tilewright_copy_start(0, at(tile), at(home + 180), 1, 12, 0, 0);
    CHECK(tilewright_counting_faults() == 0u);
    (void)tilewright_copy_start(0, at(tile), at(home + 40), 2, 8, 8, 17);
    wrong |= fault("source out of range");
    CHECK(tilewright_counting_allow(0, TILEWRIGHT_COUNTING_DESTINATION, at(tile), 64));
    (void)tilewright_copy_start(0, at(tile + 63), at(home), 1, 2, 0, 0);
    wrong |= fault("destination out of range");
    CHECK(tilewright_counting_protect(at(home), 16));
    (void)tilewright_copy_start(0, at(tile), at(home + 15), 1, 2, 0, 0);
    wrong |= fault("copy crosses the edge of protected memory");
    CHECK(tilewright_counting_unprotect(at(home), 16));
    return wrong;
}

int main(void)
{
    return counts() | hides() | late() | through_port() | beyond() | asleep() | checks();
}
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "main.c"
    path.write_text(PROGRAM, encoding="utf-8")
    return path


@needs_host_compiler
def test_on_the_host(source: Path) -> None:
    program = build_host([source], source.with_name("program"), layers=["counting"])
    result = subprocess.run([program], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (0, "")


@needs_riscv
def test_on_qemu(source: Path, capfd: pytest.CaptureFixture[str]) -> None:
    platform = load_platform("qemu-virt-rv32")
    program = build_riscv(platform, [source], source.with_name("program"), layers=["counting"])
    assert simulate(platform, program, timeout_s=60) == 0, capfd.readouterr().out


@needs_host_compiler
def test_a_wrong_expectation_fails(source: Path) -> None:
    source.write_text(PROGRAM.replace("tile[17] == 77", "tile[17] == 17"), encoding="utf-8")
    program = build_host([source], source.with_name("program"), layers=["counting"])
    result = subprocess.run([program], capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert "tile[17] == 17" in result.stdout
