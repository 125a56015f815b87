"""A rectangle copy moves exactly its elements, and the Python twin counts what C starts."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from itertools import product
from math import prod
from pathlib import Path

import numpy as np
import pytest
from support.firmware import build_host, needs_host_compiler
from tilewright.base.resources import runtime_dir
from tilewright.plan.copies import MAX_RANK, copy_commands

DRIVER = r"""
#include <stdio.h>
#include <string.h>
#include <tilewright/copy.h>
#include "counting.h"

static uint8_t source[1 << 16];
static uint8_t destination[1 << 16];

/* One rectangle for each line of input: rank, element bytes, starts, extents, both strides. */
int main(void)
{
    for (;;) {
        unsigned rank;
        unsigned element;
        unsigned from;
        unsigned to;
        int32_t values[3][8];
        if (scanf("%u %u %u %u", &rank, &element, &from, &to) != 4) {
            return 0;
        }
        for (unsigned k = 0; k < 3; k++) {
            for (unsigned i = 0; i < rank; i++) {
                int value;
                if (scanf("%d", &value) != 1) {
                    return 1;
                }
                values[k][i] = value;
            }
        }
        for (uint32_t i = 0; i < sizeof source; i++) {
            source[i] = (uint8_t)(1u + i % 251u);
        }
        memset(destination, 0, sizeof destination);
        tilewright_port_reset();
        tilewright_token_t token = tilewright_copy_rectangle(
            1, (tilewright_address_t)&destination[to], values[2],
            (tilewright_address_t)&source[from], values[1], values[0], rank, element);
        if (tilewright_copy_wait(1, token) != TILEWRIGHT_PORT_OK) {
            printf("fault %s\n", tilewright_counting_first_fault());
            return 1;
        }
        printf("%u %u", (unsigned)tilewright_port_link_copies(1),
               (unsigned)tilewright_port_link_bytes(1));
        for (uint32_t i = 0; i < sizeof destination; i++) {
            if (destination[i] != 0u) {
                printf(" %u:%u", (unsigned)i, (unsigned)destination[i]);
            }
        }
        printf("\n");
    }
}
"""

Case = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], int]
"""Shape, source strides, destination strides, element bytes."""


def cases() -> list[Case]:
    rng = np.random.default_rng(1)
    made: list[Case] = [
        ((), (), (), 4),
        ((3, 0), (4, 1), (4, 1), 1),
        ((1, 1), (99, 7), (3, 1), 2),
        ((3, 4, 5), (100, 10, 1), (20, 5, 1), 1),
        ((3, 4, 5), (20, 5, 1), (20, 5, 1), 1),
        ((4, 6), (0, 1), (6, 1), 1),
        ((4, 6), (-10, 1), (6, 1), 1),
    ]
    for _ in range(60):
        rank = int(rng.integers(1, 6))
        shape = tuple(int(extent) for extent in rng.integers(1, 5, rank))
        element = int(rng.choice([1, 2, 4]))
        made.append((shape, _strides(rng, shape, element), _strides(rng, shape, element), element))
    return made


def _strides(rng: np.random.Generator, shape: Sequence[int], element_bytes: int) -> tuple[int, ...]:
    """Axes in a random order in memory, some with gaps between their elements."""
    strides = [0] * len(shape)
    step = element_bytes
    for axis in rng.permutation(len(shape)):
        step += element_bytes * int(rng.integers(0, 3)) * int(rng.random() < 0.3)
        strides[axis] = step
        step *= shape[axis]
    return tuple(strides)


def expected(case: Case, from_: int, to: int) -> dict[int, int]:
    shape, sources, destinations, element = case
    content = {}
    for position in product(*map(range, shape)):
        read = from_ + sum(i * stride for i, stride in zip(position, sources, strict=True))
        write = to + sum(i * stride for i, stride in zip(position, destinations, strict=True))
        content.update({write + byte: 1 + (read + byte) % 251 for byte in range(element)})
    return content


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("copies")
    source = folder / "driver.c"
    source.write_text(DRIVER, encoding="utf-8")
    return build_host([source, runtime_dir() / "copy.c"], folder / "driver", layers=["counting"])


@needs_host_compiler
def test_twin_counts_what_c_starts_and_c_moves_every_element(driver: Path) -> None:
    from_, to = 64, 32
    lines = []
    for shape, sources, destinations, element in cases():
        numbers = [len(shape), element, from_, to, *shape, *sources, *destinations]
        lines.append(" ".join(map(str, numbers)))
    result = subprocess.run([driver], input="\n".join(lines), capture_output=True, text=True, check=True)
    outputs = result.stdout.splitlines()
    assert len(outputs) == len(lines)
    for case, output in zip(cases(), outputs, strict=True):
        commands, size_bytes, *content = output.split()
        moved = {int(key): int(value) for key, value in (item.split(":") for item in content)}
        assert moved == expected(case, from_, to), case
        counted = copy_commands(*case)
        assert (int(commands), int(size_bytes)) == (counted[0], prod(counted)), case


@pytest.mark.parametrize(
    ("case", "counted"),
    [
        (((), (), (), 4), (1, 1, 4)),
        (((3, 0), (4, 1), (4, 1), 1), (0, 0, 0)),
        (((3, 4, 5), (20, 5, 1), (20, 5, 1), 1), (1, 1, 60)),
        (((3, 4, 5), (100, 10, 1), (20, 5, 1), 1), (3, 4, 5)),
        (((3, 4, 5), (100, 25, 5), (20, 5, 1), 1), (1, 60, 1)),
        (((8, 16), (1, 8), (16, 1), 1), (8, 16, 1)),
        (((2, 3, 4), (48, 16, 4), (48, 16, 4), 4), (1, 1, 96)),
        (((2, 3, 4), (4096, 16, 4), (48, 16, 4), 4), (1, 2, 48)),
        (((1, 9, 1), (5, 7, 3), (1, 1, 1), 1), (1, 9, 1)),
    ],
)
def test_counts(case: Case, counted: tuple[int, int, int]) -> None:
    assert copy_commands(*case) == counted


def test_too_many_axes() -> None:
    too_many = (2,) * (MAX_RANK + 1)
    with pytest.raises(ValueError, match="at most"):
        copy_commands(too_many, too_many, too_many, 1)
