#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Layout, lint and types of everything; changes nothing.
source "$(dirname "$0")/common.sh"

say "ruff"
ruff format --check .
ruff check .
say "mypy"
mypy --strict
say "clang-format"
git ls-files -z -- '*.c' '*.h' ':!tests/golden' | xargs -0 clang-format --dry-run -Werror
say "gersemi"
git ls-files -z -- '*.cmake' '*CMakeLists.txt' | xargs -0 gersemi --check
