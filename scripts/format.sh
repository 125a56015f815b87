#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Lays out every file as scripts/lint.sh wants it.
source "$(dirname "$0")/common.sh"

ruff format .
ruff check --fix .
python scripts/declaration_index.py
python scripts/kernel_header.py
python scripts/reference_pages.py
python scripts/pictures.py
git ls-files -z -- '*.c' '*.h' ':!tests/golden' | xargs -0 clang-format -i
git ls-files -z -- '*.cmake' '*CMakeLists.txt' | xargs -0 gersemi -i
