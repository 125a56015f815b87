# SPDX-License-Identifier: Apache-2.0
# `cmake --install`, then find_package; the source tree is gone by then.
include("${CMAKE_CURRENT_LIST_DIR}/Ways.cmake")

make_outside_folder(outside)
copy_sources("${outside}/sources")
set(tool_toolchain "${toolchain}")
set(toolchain "")
set(
  options
  -DTILEWRIGHT_TESTS=OFF
  -DTILEWRIGHT_EXAMPLES=OFF
  "-DCMAKE_INSTALL_PREFIX=${outside}/prefix"
)
configure_project("${outside}/sources" "${outside}/sources/build")
run_step(status output "${CMAKE_COMMAND}" --install "${outside}/sources/build")
finish_step("${status}" "${output}")
file(REMOVE_RECURSE "${outside}/sources")

set(toolchain "${tool_toolchain}")
set(options "-DCMAKE_PREFIX_PATH=${outside}/prefix")
check_way("${outside}/ways-in/find-package")
foreach(version IN ITEMS 0.2 99)
  check_version_is_checked("${outside}/ways-in/find-package" ${version})
  file(COPY "${root}/examples/ways-in/find-package" DESTINATION "${outside}/ways-in")
endforeach()
file(REMOVE_RECURSE "${outside}")
