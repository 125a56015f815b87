# SPDX-License-Identifier: Apache-2.0
#[[
Find an installation of the simulator GVSoC: GVSOC_INSTALL_DIR, as a CMake or an environment
variable, or PATH. Sets GVSoC_FOUND, GVSOC_EXECUTABLE, GVSOC_DIR (the installation), and
GVSOC_PROBLEM (why it cannot be used). GVSoC runs with the python3 that is first on PATH, which
needs its packages.
#]]
find_program(
  GVSOC_EXECUTABLE
  gvsoc
  HINTS "${GVSOC_INSTALL_DIR}"
  ENV GVSOC_INSTALL_DIR
  PATH_SUFFIXES bin
  DOC "Launcher of the simulator GVSoC"
  NO_CMAKE_FIND_ROOT_PATH
  NO_CMAKE_PATH
  NO_CMAKE_SYSTEM_PATH
)
set(GVSOC_PROBLEM "")
if(GVSOC_EXECUTABLE)
  cmake_path(GET GVSOC_EXECUTABLE PARENT_PATH GVSOC_DIR)
  cmake_path(GET GVSOC_DIR PARENT_PATH GVSOC_DIR)
  execute_process(
    COMMAND python3 -c "import prettytable, rich, typing_extensions, elftools, psutil, six, pexpect"
    RESULT_VARIABLE _gvsoc_status
    OUTPUT_QUIET
    ERROR_QUIET
  )
  if(NOT _gvsoc_status EQUAL 0)
    set(GVSOC_PROBLEM "GVSoC is in ${GVSOC_DIR}, but the python3 on PATH lacks its packages")
  endif()
else()
  set(GVSOC_PROBLEM "GVSoC is not installed, or GVSOC_INSTALL_DIR does not name its folder")
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(GVSoC REQUIRED_VARS GVSOC_EXECUTABLE)
mark_as_advanced(GVSOC_EXECUTABLE)
