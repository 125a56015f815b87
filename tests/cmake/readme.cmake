# SPDX-License-Identifier: Apache-2.0
# The README's snippets, copied into a new folder with one .onnx file.
include("${CMAKE_CURRENT_LIST_DIR}/Project.cmake")

write_readme_project("${folder}")
choose_platform(platform)
set(options "-DPLATFORM=${platform}")
configure_project("${folder}" "${folder}/build")
build_project("${folder}/build")
test_project("${folder}/build")
expect_match("${output}" "status 0, first score 0")

# The report's target.
run_step(
  status
  output
  "${CMAKE_COMMAND}"
  --build
  "${folder}/build"
  --target
  kws_report
)
finish_step("${status}" "${output}")
expect_match("${output}" "${platform}")
expect_match("${output}" "kws_report[.]html")
if(NOT EXISTS "${folder}/build/tilewright/kws/kws_report.html")
  message(FATAL_ERROR "no page was written")
endif()
