#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Writes the versions and hashes of what a configure installs (cmake/requirements/*.txt): the newest that
# pyproject.toml permits, for each supported Python and machine. Needs uv.
source "$(dirname "$0")/common.sh"
cd cmake/requirements
lock() {
    uv pip compile --quiet --universal --python-version 3.10 --generate-hashes --no-annotate --no-header "$@"
}
all=$(mktemp)
trap 'rm -f "$all"' EXIT
lock generation.in extension.in solver.in --output-file "$all"
for name in generation extension solver; do
    rm -f "$name.txt"
    lock --constraints "$all" "$name.in" --output-file "$name.txt"
done
