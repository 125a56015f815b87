# SPDX-License-Identifier: Apache-2.0
#[[
Find an installation of the simulator GVSoC: GVSOC_INSTALL_DIR, as a CMake or an environment
variable, or PATH. Sets GVSoC_FOUND, GVSOC_EXECUTABLE, GVSOC_DIR (the installation), and
GVSOC_PROBLEM (why it cannot be used). GVSoC is written in Python in part: some python3 on PATH
must have the packages that it needs.
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
  file(REAL_PATH "${GVSOC_EXECUTABLE}" GVSOC_DIR)
  cmake_path(GET GVSOC_DIR PARENT_PATH GVSOC_DIR)
  cmake_path(GET GVSOC_DIR PARENT_PATH GVSOC_DIR)
  set(GVSOC_PROBLEM "GVSoC is in ${GVSOC_DIR}, but no python3 on PATH has its packages")
  cmake_path(CONVERT "$ENV{PATH}" TO_CMAKE_PATH_LIST _gvsoc_folders)
  foreach(_gvsoc_folder IN LISTS _gvsoc_folders)
    if(EXISTS "${_gvsoc_folder}/python3")
      execute_process(
        COMMAND
          "${_gvsoc_folder}/python3" -c
          "import prettytable, rich, typing_extensions, elftools, psutil, six, pexpect"
        RESULT_VARIABLE _gvsoc_status
        OUTPUT_QUIET
        ERROR_QUIET
      )
      if(_gvsoc_status EQUAL 0)
        set(GVSOC_PROBLEM "")
        break()
      endif()
    endif()
  endforeach()
else()
  set(GVSOC_PROBLEM "GVSoC is not installed, or GVSOC_INSTALL_DIR does not name its folder")
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(GVSoC REQUIRED_VARS GVSOC_EXECUTABLE)
mark_as_advanced(GVSOC_EXECUTABLE)
