#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The handwritten digits, classified by firmware in QEMU.
source "$(dirname "$0")/common.sh"
./scripts/setup.sh --demo
cmake --workflow --preset demo | tee build/demo.log
say "the firmware's four figures"
sed -n -E 's/^([0-9]+: *)+((accuracy|instructions|pool (l1|sram) ).*)/  \2/p' build/demo.log
cat <<'END'

Next:
  .venv/bin/tilewright example digits       the same as a project of your own
  docs/tutorial/first-firmware.md           your first firmware, in ten minutes
  .venv/bin/tilewright inspect <model>      what a model of yours needs
END
