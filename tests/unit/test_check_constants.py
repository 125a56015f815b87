"""The check of constants on the target: slices of any size agree, and each flipped bit is found."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.firmware import needs_arm, needs_riscv
from support.linked import digits, link_model
from tilewright.firmware.check_image import check_image
from tilewright.firmware.findings import Linked
from tilewright.firmware.image import read_image
from tilewright.platform import load_platform
from tilewright.tools.simulate import simulate

MAIN = """
#include <stdio.h>
#include <tilewright/port.h>
#include "digits_layout.h"

/* The status of a whole check in slices, and in how many. */
static enum tilewright_check_status checked(uint32_t slice, struct tilewright_check *check, unsigned *slices)
{
    enum tilewright_check_status status = TILEWRIGHT_CHECK_UNFINISHED;
    *check = (struct tilewright_check){0};
    for (*slices = 0; status == TILEWRIGHT_CHECK_UNFINISHED; ++*slices) {
        status = digits_check_constants(check, slice);
    }
    return status;
}

int main(void)
{
    struct tilewright_check check = {0};
    unsigned slices = 0;
    (void)digits_run(NULL, NULL);
    static const uint32_t sizes[] = {0, 1, 1000, 15000, 100000};
    for (unsigned i = 0; i < 5; ++i) {
        const uint32_t start = tilewright_cycles();
        const int status = (int)checked(sizes[i], &check, &slices);
        printf("slices of %u: %d after %u\\n", (unsigned)sizes[i], status, slices);
        if (i == 0) {
            printf("instructions %u\\n", (unsigned)(tilewright_cycles() - start));
        }
    }
    int found = 0;
    volatile uint8_t *bytes = (volatile uint8_t *)(uintptr_t)&digits_flash;
    for (unsigned at = 0; at < sizeof digits_flash; at += 97) {
        bytes[at] ^= (uint8_t)(1u << (at % 8));
        found += checked(4000, &check, &slices) == TILEWRIGHT_CHECK_CORRUPTED;
        if (at == 9700) {
            printf("constant %u\\n", (unsigned)check.part);
        }
        bytes[at] ^= (uint8_t)(1u << (at % 8));
    }
    printf("found %d, then %d\\n", found, (int)checked(0, &check, &slices));
    return 0;
}
"""


@needs_riscv
def test_flipped_bits_are_found(tmp_path: Path) -> None:
    artifacts = digits(static_pools=True, check_constants=True)
    program = link_model(tmp_path, artifacts, MAIN)
    assert check_image(read_image(program), [artifacts.plan], Linked()).findings == ()
    lines: list[str] = []
    assert simulate(load_platform("qemu-virt-rv32"), program, 60, (), lines.append) == 0
    told = [line for line in lines if not line.startswith("instructions")]
    constants = next(use.used_bytes for use in artifacts.plan.pool_use if use.pool == "flash")
    slices = (1, constants, 16, 2, 1)
    sizes = (0, 1, 1000, 15000, 100000)
    expected = [f"slices of {size}: 0 after {count}" for size, count in zip(sizes, slices, strict=True)]
    # Byte 9,700 lies in the second constant.
    flips = len(range(0, constants, 97))
    assert told[:5] == expected
    assert told[5:] == ["constant 1", f"found {flips}, then 0"]
    (instructions,) = (int(line.split()[1]) for line in lines if line.startswith("instructions"))
    assert instructions < 20 * constants


@needs_arm
def test_the_table_on_arm(tmp_path: Path) -> None:
    artifacts = digits("mps2-an385", static_pools=True, check_constants=True)
    main = '#include "digits.h"\nint main(void) { struct tilewright_check c = {0}; '
    program = link_model(tmp_path, artifacts, main + "return (int)digits_check_constants(&c, 0); }")
    assert simulate(load_platform("mps2-an385"), program, 60) == 0


def test_without_the_option_there_is_none() -> None:
    files = digits().files
    assert all(b"check_constants" not in content for content in files.values())
    assert "check.c" not in digits().plan.kernel_sources


@pytest.mark.parametrize("platform", ["qemu-virt-rv32", "host"])
def test_the_table_names_each_constant(platform: str) -> None:
    source = digits(platform, check_constants=True).files["digits_weights.c"].decode()
    rows = [line for line in source.splitlines() if line.strip().startswith("{digits_flash.")]
    assert len(rows) == 8
    assert any("/* conv_2.weights */" in row for row in rows)
