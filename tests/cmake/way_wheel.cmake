# SPDX-License-Identifier: Apache-2.0
# The wheel, built from the source distribution and installed into an empty environment: by
# find_package with Tilewright_DIR, by scikit-build-core, and by SCons. The sources are gone by
# then, and PATH knows no other Tilewright.
include("${CMAKE_CURRENT_LIST_DIR}/Ways.cmake")

# scikit-build-core takes the CMake that runs this script.
cmake_path(GET CMAKE_COMMAND PARENT_PATH programs)
set(ENV{PATH} "${programs}:$ENV{PATH}")

make_outside_folder(outside)
copy_sources("${outside}/sources")
run_step(
  status
  output
  "${CMAKE_COMMAND}"
  -E
  chdir
  "${outside}/sources"
  "${python}"
  -c
  "from scikit_build_core.build import build_sdist\nbuild_sdist('../dist')"
)
finish_step("${status}" "${output}")
file(REMOVE_RECURSE "${outside}/sources")
file(GLOB archive "${outside}/dist/tilewright-*.tar.gz")
set(pip -m pip --quiet --disable-pip-version-check)
# No other Tilewright is found by it.
unset(ENV{PYTHONPATH})
set(ENV{PIP_NO_COMPILE} 1)
run_or_fail("${installed_into}" -m venv "${outside}/environment")
set(environment "${outside}/environment/bin")
# Apart from everything installed.
run_or_fail(
  "${environment}/python"
  ${pip}
  wheel
  --no-deps
  --wheel-dir
  "${outside}/dist"
  "${archive}"
)
file(GLOB wheel "${outside}/dist/tilewright-*.whl")
set(python "")
run_or_fail(
  "${environment}/python"
  ${pip}
  install
  "${wheel}"
  scikit-build-core
  scons
)
file(REMOVE_RECURSE "${outside}/dist")

run_or_fail("${environment}/tilewright" --cmake-dir)
string(STRIP "${output}" Tilewright_DIR)
expect_match("${Tilewright_DIR}" "^${outside}/environment/lib/")
set(options "-DTilewright_DIR=${Tilewright_DIR}" -DTILEWRIGHT_BOOTSTRAP=OFF)
check_way("${outside}/ways-in/find-package")
check_version_is_checked("${outside}/ways-in/find-package" 0.2)
run_or_fail("${environment}/python" -c "import tilewright._exact")

run_or_fail(
  "${environment}/python"
  ${pip}
  wheel
  --no-deps
  --no-build-isolation
  --wheel-dir
  "${outside}/dist"
  "${outside}/ways-in/python-package"
)
file(GLOB wheel "${outside}/dist/digits-*.whl")
run_or_fail(
  "${environment}/python"
  ${pip}
  install
  --no-deps
  "${wheel}"
)
run_or_fail(
  "${environment}/python"
  -c
  "import sys, numpy, digits
image, scores = (numpy.load(file)[name][0].ravel() for file, name in zip(sys.argv[1:], ('image', 'scores')))
assert digits.classify(image.tolist()) == scores.argmax()"
  "${outside}/digits/vectors_inputs.npz"
  "${outside}/digits/vectors_outputs.npz"
)

run_or_fail("${environment}/scons" -C "${outside}/scons" run)
expect_match("${output}" "360 images, onnxruntime")
file(REMOVE_RECURSE "${outside}")
