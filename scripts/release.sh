#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes everything that a release uploads, in dist/, and uploads nothing: `scripts/release.sh 0.2.0`.
# Wheels of other machines come from cibuildwheel, which pyproject.toml configures.
source "$(dirname "$0")/common.sh"

version=${1:?the version to release, such as 0.2.0}
fail() {
    echo "release: $1" >&2
    exit 1
}

[ -z "$(git status --porcelain)" ] || fail "files are changed or new; commit them first"
grep -q "^__version__ = \"$version\"$" python/tilewright/__init__.py ||
    fail "python/tilewright/__init__.py says another version"
grep -q "^## \[$version\]" CHANGELOG.md || fail "CHANGELOG.md has no section [$version]"
for url in Source Documentation Changelog Issues; do
    sed -n '/^\[project.urls\]/,/^\[/p' pyproject.toml | grep -q "^$url = \"https://" ||
        fail "pyproject.toml has no $url in [project.urls]: where the project is published"
done
[ -e "$venv/bin/twine" ] || fail "twine is missing: $venv/bin/pip install twine"

rm -rf dist
say "Source distribution"
python -c 'from scikit_build_core.build import build_sdist; build_sdist("dist")'
say "Wheel of this machine and its Python, from the source distribution"
pip wheel --quiet --no-deps --wheel-dir dist "dist/tilewright-$version.tar.gz"
say "Wheel without the extension"
TILEWRIGHT_PURE=1 pip wheel --quiet --no-deps --wheel-dir dist "dist/tilewright-$version.tar.gz"
say "Metadata"
twine check --strict dist/*

cat <<END

dist/ is ready. What is left:
  git tag v$version && git push --tags
  cibuildwheel --output-dir dist    # the wheels of other machines
  twine upload dist/*
END
