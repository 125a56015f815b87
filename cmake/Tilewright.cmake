# SPDX-License-Identifier: Apache-2.0
#[[
Public functions; each is described above its definition in the file of its concern.

  tilewright_add_model            an ONNX model becomes a static library    TilewrightModel.cmake
  tilewright_plan_models          plans several models at one time          TilewrightSideBySide.cmake
  tilewright_add_workspace        several models share one set of pools     TilewrightWorkspace.cmake
  tilewright_install_models       models for projects without Tilewright    TilewrightExport.cmake
  tilewright_use_port             start-up, copies and linker script        TilewrightPort.cmake
  tilewright_check_firmware       a program is compared with its plans      TilewrightFirmware.cmake
  tilewright_add_simulation_test  a test that runs a program in a simulator TilewrightTests.cmake
  tilewright_add_golden_test      a test that compares stored vectors       TilewrightTests.cmake

The target tilewright::headers has the folder of tilewright/port.h and its like, for a port of the
project's own.

Cache variables:
  TILEWRIGHT_PYTHON     the interpreter; found on PATH. If it lacks Tilewright, an environment is
                        made from it.
  TILEWRIGHT_CACHE_DIR  folder of such environments; the user's cache folder.
  TILEWRIGHT_WHEELS     folder of wheels, to make an environment without a network.
  TILEWRIGHT_SOLVER     ON installs the solver CP-SAT with the environment; else the first model
                        that needs it brings it.
  TILEWRIGHT_BOOTSTRAP  OFF forbids to make one.
  TILEWRIGHT_OPTIMIZE   compile option for generated code and kernels where the build type has
                        none; empty leaves the build type alone.
  TILEWRIGHT_SHARE_KERNELS  ON compiles each kernel, and each file of a port, once for all models
                        and programs of the project that are compiled alike, by the options of
                        platform and folder.
  TILEWRIGHT_SIDE_BY_SIDE   ON plans the models of a folder at one time, in processes beside each other, as many as
                        there are cores; a number says how many. See tilewright_plan_models.
#]]
include_guard(GLOBAL)
cmake_policy(VERSION 3.22...3.31)

include("${CMAKE_CURRENT_LIST_DIR}/TilewrightTool.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/TilewrightInterpreter.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/TilewrightOptions.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/TilewrightKeywords.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/TilewrightModel.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/TilewrightSideBySide.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/TilewrightKernels.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/TilewrightOperators.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/TilewrightWorkspace.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/TilewrightExport.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/TilewrightPort.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/TilewrightFirmware.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/TilewrightTests.cmake")

# tilewright/port.h and its like, for a port of the project's own.
function(_tilewright_add_headers)
  _tilewright_layout(tool)
  add_library(tilewright::headers INTERFACE IMPORTED GLOBAL)
  target_include_directories(tilewright::headers INTERFACE "${tool_root}/runtime/include")
endfunction()
_tilewright_add_headers()
