# SPDX-License-Identifier: Apache-2.0
# Mistakes in a call, a file or an option: configure fails, begins with function and target, and
# says what is wrong.
include("${CMAKE_CURRENT_LIST_DIR}/Project.cmake")

# expect_error(<pattern> <line of CMake>...): configure fails with a text that matches.
function(expect_error pattern)
  list(JOIN ARGN "\n" lines)
  file(
    WRITE "${folder}/CMakeLists.txt"
    "cmake_minimum_required(VERSION 3.22)\nproject(p LANGUAGES C)\nenable_testing()\n"
    "add_subdirectory([[${root}]] tilewright)\n${lines}\n"
  )
  configure_project("${folder}" "${folder}/build" may_fail)
  if(status EQUAL 0)
    message(FATAL_ERROR "configure did not fail for:\n${lines}")
  endif()
  expect_match("${output}" "${pattern}")
  expect_no_match("${output}" "Traceback|error\\[internal\\]")
endfunction()

file(REMOVE_RECURSE "${folder}")
file(MAKE_DIRECTORY "${folder}")
foreach(variant IN ITEMS good unknown dynamic)
  make_model("${folder}/${variant}.onnx" ${variant} "${folder}/inputs.npz" "${folder}/outputs.npz")
endforeach()
file(WRITE "${folder}/empty.onnx" "")
file(WRITE "${folder}/broken.onnx" "this is no protobuf")
file(READ "${folder}/good.onnx" hex LIMIT 400 HEX)
file(WRITE "${folder}/options.toml" "bufering = \"single\"\n")
file(READ "${root}/platforms/host.toml" host)
string(REPLACE "port =" "prot =" misspelt "${host}")
file(WRITE "${folder}/misspelt.toml" "${misspelt}")
file(WRITE "${folder}/broken.py" "OPERATORS = operators\n")
file(WRITE "${folder}/syntax.toml" "name = \n")
execute_process(
  COMMAND
    "${python}" -c
    "import sys; d = open(sys.argv[1], 'rb').read(); open(sys.argv[2], 'wb').write(d[:len(d) // 2])"
    "${folder}/good.onnx" "${folder}/truncated.onnx"
  COMMAND_ERROR_IS_FATAL ANY
)

set(caller "tilewright_add_model\\(m\\):[\n ]*error\\[")
set(good "tilewright_add_model(m MODEL good.onnx PLATFORM host)")

message("=== the call")
expect_error(
  "${caller}usage\\]: unknown keyword or value 'MODLE'[\n ]*help: did you mean MODEL[?]"
  "tilewright_add_model(m MODLE good.onnx PLATFORM host)"
)
expect_error(
  "${caller}usage\\]: unknown keyword or value 'static_pool'[\n ]*help: did you mean STATIC_POOLS[?]"
  "tilewright_add_model(m static_pool MODEL good.onnx PLATFORM host)"
)
expect_error(
  "${caller}usage\\]: unknown keyword or value 'nothing'[\n ]*help: known keywords: QUANTIZED_IO, "
  "tilewright_add_model(m nothing MODEL good.onnx PLATFORM host)"
)
expect_error(
  "tilewright_add_model\\(m\\):[\n ]*there is no file .*absent[.]c"
  "tilewright_add_model(m MODEL good.onnx PLATFORM host OPERATOR_SOURCES absent.c)"
)
expect_error(
  "${caller}own-operator\\]: NameError.*line 1 of broken[.]py"
  "tilewright_add_model(m MODEL good.onnx PLATFORM host OPERATORS broken.py)"
)
expect_error("${caller}usage\\]: MODEL is missing" "tilewright_add_model(m PLATFORM host)")
expect_error("${caller}usage\\]: PLATFORM is missing" "tilewright_add_model(m MODEL good.onnx)")
expect_error(
  "${caller}usage\\]: NAME has no value"
  "tilewright_add_model(m MODEL good.onnx PLATFORM host NAME)"
)
expect_error("${caller}usage\\]: there is a target 'm' already" "${good}" "${good}")
expect_error(
  "${caller}bad-name\\].*'int'"
  "tilewright_add_model(m MODEL good.onnx PLATFORM host NAME int)"
)
expect_error(
  "${caller}.*'fats', not one of.*did you mean 'fast'"
  "tilewright_add_model(m MODEL good.onnx PLATFORM host EFFORT fats)"
)
expect_error(
  "${caller}pool-override\\].*no pool 'srma'.*did you mean 'sram'"
  "tilewright_add_model(m MODEL good.onnx PLATFORM host POOLS srma=100)"
)
expect_error(
  "to repeat: [^\n]*-m tilewright generate"
  "tilewright_add_model(m MODEL no.onnx PLATFORM host)"
)

expect_error(
  "tilewright_plan_models\\(\\):[\n ]*error\\[usage\\]: unknown keyword or value 'm'[\n ]*help: the function takes no arguments"
  "${good}"
  "tilewright_plan_models(m)"
)

message("=== the model")
expect_error("${caller}[^\n]*\n.*no[.]onnx" "tilewright_add_model(m MODEL no.onnx PLATFORM host)")
expect_error("${caller}" "tilewright_add_model(m MODEL empty.onnx PLATFORM host)")
expect_error("${caller}" "tilewright_add_model(m MODEL broken.onnx PLATFORM host)")
expect_error("${caller}" "tilewright_add_model(m MODEL truncated.onnx PLATFORM host)")
expect_error("${caller}.*Frobnicate" "tilewright_add_model(m MODEL unknown.onnx PLATFORM host)")
expect_error("${caller}.*batch" "tilewright_add_model(m MODEL dynamic.onnx PLATFORM host)")

message("=== the platform and the options")
expect_error(
  "${caller}platform-unknown\\].*did you mean 'host'"
  "tilewright_add_model(m MODEL good.onnx PLATFORM hots)"
)
expect_error("${caller}platform-file\\]" "tilewright_add_model(m MODEL good.onnx PLATFORM no.toml)")
expect_error(
  "${caller}platform-key\\]: unknown key 'prot'.*misspelt.toml:[0-9]+.*did you mean 'port'"
  "tilewright_add_model(m MODEL good.onnx PLATFORM misspelt.toml)"
)
expect_error(
  "${caller}platform-syntax\\]"
  "tilewright_add_model(m MODEL good.onnx PLATFORM syntax.toml)"
)
expect_error(
  "${caller}unknown-option\\]: unknown option 'bufering'.*options.toml:1.*'buffering'"
  "tilewright_add_model(m MODEL good.onnx PLATFORM host OPTIONS options.toml)"
)

message("=== a pool that is too small")
expect_error(
  "${caller}[^\n]*l1"
  "tilewright_add_model(m MODEL good.onnx PLATFORM qemu-virt-rv32 POOLS l1=16)"
)

message("=== tests")
set(vectors "INPUTS inputs.npz OUTPUTS outputs.npz")
expect_error(
  "tilewright_add_golden_test\\(t\\):[\n ]*error\\[usage\\]: 'p' is no target of tilewright_add_model"
  "tilewright_add_golden_test(NAME t MODEL p ${vectors})"
)
expect_error(
  "tilewright_add_golden_test\\(t\\):[\n ]*error\\[bad-tolerance\\]"
  "${good}"
  "tilewright_add_golden_test(NAME t MODEL m ${vectors} TOLERANCE tight)"
)
expect_error(
  "tilewright_add_golden_test\\(t\\):[\n ]*error\\[golden-arrays\\]|golden-shape"
  "${good}"
  "tilewright_add_golden_test(NAME t MODEL m INPUTS outputs.npz OUTPUTS inputs.npz)"
)
expect_error(
  "tilewright_add_simulation_test\\(t\\):[\n ]*error\\[usage\\]: there is no target 'no'"
  "tilewright_add_simulation_test(NAME t TARGET no)"
)
expect_error(
  "tilewright_use_port\\(no\\):[\n ]*error\\[usage\\]: there is no target 'no'"
  "tilewright_use_port(no PLATFORM host)"
)

message("=== workspaces")
set(shared "tilewright_add_workspace\\(w\\):[\n ]*error\\[")
set(second "tilewright_add_model(n MODEL good.onnx PLATFORM host)")
expect_error("${shared}usage\\]: MODELS is missing" "tilewright_add_workspace(w)")
expect_error(
  "${shared}usage\\]: 'p' is no target of tilewright_add_model"
  "tilewright_add_workspace(w MODELS p)"
)
expect_error(
  "${shared}usage\\]: EXCLUSIVE or CONCURRENT, not both"
  "${good}"
  "tilewright_add_workspace(w MODELS m EXCLUSIVE CONCURRENT)"
)
expect_error(
  "${shared}workspace\\]: model 'm' has pools of its own"
  "tilewright_add_model(m MODEL good.onnx PLATFORM host STATIC_POOLS)"
  "${second}"
  "tilewright_add_workspace(w MODELS m n)"
)
expect_error(
  "${shared}workspace\\]: two models have the C prefix 'm'"
  "${good}"
  "tilewright_add_model(n MODEL good.onnx PLATFORM host NAME m)"
  "tilewright_add_workspace(w MODELS m n)"
)

message("=== a toolchain file that was forgotten")
file(
  WRITE "${folder}/CMakeLists.txt"
  "cmake_minimum_required(VERSION 3.22)\nproject(p LANGUAGES C)\n"
  "add_subdirectory([[${root}]] tilewright)\n"
  "tilewright_add_model(m MODEL good.onnx PLATFORM qemu-virt-rv32-single)\n"
)
configure_project("${folder}" "${folder}/build")
expect_match("${output}" "does not take the platform's options[ \n]+-march=rv32imac")
expect_match("${output}" "toolchains/riscv64-unknown-elf-gcc[.]cmake")

message("=== the interpreter")
execute_process(COMMAND "${python}" -m venv "${folder}/empty" COMMAND_ERROR_IS_FATAL ANY)
set(python "${folder}/empty/bin/python")
file(REMOVE_RECURSE "${folder}/build")
set(options -DTILEWRIGHT_BOOTSTRAP=OFF)
expect_error("${caller}no-tool\\]: [^\n]*python does not have tilewright" "${good}")
file(MAKE_DIRECTORY "${folder}/no wheels")
set(
  options
  -DTILEWRIGHT_BOOTSTRAP=ON
  "-DTILEWRIGHT_CACHE_DIR=${folder}/cache"
  "-DTILEWRIGHT_WHEELS=${folder}/no wheels"
)
expect_error("${caller}bootstrap\\].*to repeat: [^\n]*--find-links '[^']*/no wheels'" "${good}")
set(options "")
set(python "${folder}/no python")
expect_error("${caller}no-python\\]: TILEWRIGHT_PYTHON is '[^']*no python'" "${good}")
