#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Layout, lint and types of everything; changes nothing.
source "$(dirname "$0")/common.sh"

say "ruff"
ruff format --check .
ruff check .
say "mypy"
# The annotations of NumPy 2.3 differ from those before, and NumPy 2.3 needs Python 3.11.
if python -c 'import numpy, sys; sys.exit(numpy.lib.NumpyVersion(numpy.__version__) < "2.3.0")'; then
    mypy --strict
else
    echo "left out: types are checked against NumPy 2.3 or newer, and Python 3.10 has none"
fi
say "clang-format"
git ls-files -z -- '*.c' '*.h' ':!tests/golden' | xargs -0 clang-format --dry-run -Werror
say "gersemi"
git ls-files -z -- '*.cmake' '*CMakeLists.txt' | xargs -0 gersemi --check
