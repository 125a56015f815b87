#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The documentation as a site in build/docs; a link to nowhere is an error.
source "$(dirname "$0")/common.sh"
./scripts/setup.sh
python -m sphinx -W --keep-going -q docs build/docs
say "build/docs/index.html"
