#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The handwritten digits, classified by firmware in QEMU.
source "$(dirname "$0")/common.sh"
./scripts/setup.sh
cmake --workflow --preset demo
