# SPDX-License-Identifier: Apache-2.0
# `pip install --editable`: find_package with Tilewright_DIR, and the entry point for packages that
# are built by scikit-build-core in the same environment.
include("${CMAKE_CURRENT_LIST_DIR}/Ways.cmake")

cmake_path(GET CMAKE_COMMAND PARENT_PATH programs)
set(ENV{PATH} "${programs}:$ENV{PATH}")
# No other Tilewright is found by it.
unset(ENV{PYTHONPATH})
set(ENV{PIP_NO_COMPILE} 1)
make_outside_folder(outside)
copy_sources("${outside}/sources")
run_or_fail("${installed_into}" -m venv "${outside}/environment")
set(environment "${outside}/environment/bin")
set(
  pip
  "${environment}/python"
  -m
  pip
  --quiet
  --disable-pip-version-check
)
run_or_fail(
  ${pip}
  install
  --editable
  "${outside}/sources"
  scikit-build-core
)

run_or_fail("${environment}/tilewright" --cmake-dir)
string(STRIP "${output}" Tilewright_DIR)
expect_match("${Tilewright_DIR}" "^${outside}/sources/cmake$")
set(python "${environment}/python")
set(options "-DTilewright_DIR=${Tilewright_DIR}" -DTILEWRIGHT_BOOTSTRAP=OFF)
check_way("${outside}/ways-in/find-package")
check_version_is_checked("${outside}/ways-in/find-package" 99)

# The build of the package uses the environment's interpreter, and needs no other interpreter.
set(ENV{SKBUILD_CMAKE_DEFINE} TILEWRIGHT_BOOTSTRAP=OFF)
run_or_fail(
  ${pip}
  wheel
  --no-deps
  --no-build-isolation
  --wheel-dir
  "${outside}/dist"
  "${outside}/ways-in/python-package"
)
file(GLOB wheel "${outside}/dist/digits-*.whl")
run_or_fail(${pip} install --no-deps "${wheel}")
run_or_fail(
  "${environment}/python"
  -c
  "import sys, numpy, digits
image, scores = (numpy.load(file)[name][0].ravel() for file, name in zip(sys.argv[1:], ('image', 'scores')))
assert digits.classify(image.tolist()) == scores.argmax()"
  "${outside}/digits/vectors_inputs.npz"
  "${outside}/digits/vectors_outputs.npz"
)
file(REMOVE_RECURSE "${outside}")
