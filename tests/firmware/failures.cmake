# SPDX-License-Identifier: Apache-2.0
# The tests of networks catch what they are there to catch.

set(small_network "${CMAKE_CURRENT_LIST_DIR}/models/qdq_residual")

include(ExpectFailure.cmake)

# The tiled small network with one line of its generated C changed.
function(add_edited_model target from to)
  tilewright_add_model(
    ${target}
    MODEL "${small_network}/network.onnx"
    PLATFORM qemu-virt-rv32
    POOLS l1=3072
    NAME net
  )
  get_target_property(sources ${target} SOURCES)
  set(source "${sources}")
  list(FILTER source INCLUDE REGEX "/net[.]c$")
  file(READ "${source}" text)
  string(FIND "${text}" "${from}" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "${source} has no '${from}'")
  endif()
  string(LENGTH "${from}" length)
  math(EXPR behind "${at} + ${length}")
  string(SUBSTRING "${text}" 0 ${at} head)
  string(SUBSTRING "${text}" ${behind} -1 tail)
  set(edited "${CMAKE_CURRENT_BINARY_DIR}/${target}/net.c")
  file(CONFIGURE OUTPUT "${edited}" CONTENT "${head}${to}${tail}" @ONLY)
  list(TRANSFORM sources REPLACE "^.*/net[.]c$" "${edited}")
  set_target_properties(${target} PROPERTIES SOURCES "${sources}")
endfunction()

set(vectors INPUTS "${small_network}/inputs.npz" OUTPUTS "${small_network}/outputs.npz")
set(
  only_watched
  "run 2: scores: 0 of 10 beyond tolerance.*watched run:.*[1-9] of 10 beyond tolerance"
)

# Copies of QEMU's port are made when they are started, so that only the watched run can notice.
add_edited_model(
  failures_removed_wait
  "tilewright_copy_wait(1u, operand_0_token[0])"
  "((void)operand_0_token[0], TILEWRIGHT_PORT_OK)"
)
expect_golden_failure(
  removed_wait
  "${only_watched}"
  MODEL failures_removed_wait
  ${vectors}
  TOLERANCE 0.00392157:0
)

# The kernel reads a constant at its home, where the bytes are the same, but which only links address. The constant is
# one that the kernel computes with: packed weights say how many rounds loops have, so with wrong ones it would run on.
add_edited_model(
  failures_far_read
  "{context->pools->l1 + NET_L1_CONV_0_REQUANTIZATION_TILE_OFFSET, NULL}"
  "{(uint8_t *)(uintptr_t)&net_flash.conv_0_requantization, NULL}"
)
expect_golden_failure(
  far_read
  "${only_watched}"
  MODEL failures_far_read
  ${vectors}
  TOLERANCE 0.00392157:0
)

expect_golden_failure(
  changed_byte
  "run 1: scores.3.: got .*run 1: scores: 1 of 10 beyond tolerance"
  MODEL deeploy_residual_tiled
  INPUTS "${CMAKE_CURRENT_LIST_DIR}/models/deeploy_residual/inputs.npz"
  OUTPUTS "${changed}"
)

expect_failure(
  other_bits
  "the checksums differ"
  "${TILEWRIGHT_TOOL_PYTHON}"
  "${CMAKE_CURRENT_SOURCE_DIR}/same_bits.py"
  qemu-virt-rv32-single=$<TARGET_FILE:qdq_residual.untiled>
  qemu-virt-rv32-single=$<TARGET_FILE:deeploy_residual.untiled>
)

# A firmware that fails, another network's bits, tiles and bytes of links.
get_target_property(plan qdq_residual_tiled TILEWRIGHT_PLAN)
expect_failure(
  network
  "WRONG: smallest ends with.*WRONG: not all.*WRONG: layers of tiled.*WRONG: links of tiled"
  "${TILEWRIGHT_TOOL_PYTHON}"
  "${CMAKE_CURRENT_SOURCE_DIR}/run_network.py"
  --variant
  smallest
  qemu-virt-rv32
  $<TARGET_FILE:failures.changed_byte.golden>
  "${plan}"
  --variant
  tiled
  qemu-virt-rv32
  $<TARGET_FILE:deeploy_residual.tiled>
  "${plan}"
  --variant
  untiled
  qemu-virt-rv32-single
  $<TARGET_FILE:qdq_residual.untiled>
  "${plan}"
  --l1
  100
)

# A file that was compiled with the header of another plan.
file(
  CONFIGURE
  OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/stale_header.c"
  CONTENT
    "#include \"net.h\"
TILEWRIGHT_LAYOUT(\"net\", \"0123456789abcdef\")
int main(void) { return (int)net_run(NULL, NULL, NULL); }
"
  @ONLY
)
add_executable(failures_stale_header EXCLUDE_FROM_ALL "${CMAKE_CURRENT_BINARY_DIR}/stale_header.c")
target_link_libraries(failures_stale_header PRIVATE failures_removed_wait)
tilewright_use_port(failures_stale_header PLATFORM qemu-virt-rv32)
tilewright_check_firmware(failures_stale_header)
expect_failure(
  stale_header
  "\\[layout\\].*expected net:.*found net:0123456789abcdef"
  "${CMAKE_COMMAND}"
  --build
  "${CMAKE_BINARY_DIR}"
  --target
  failures_stale_header
)

# A program whose instructions have no bound: it waits for a number of the input.
add_edited_model(
  failures_waits
  "tilewright_quantize_f32("
  "while (*(const volatile uint32_t *)(const void *)context->inputs->image != 0) { } tilewright_quantize_f32("
)
file(
  CONFIGURE
  OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/unbounded.c"
  CONTENT "#include \"net.h\"\nint main(void) { return (int)net_run(NULL, NULL, NULL); }\n"
  @ONLY
)
add_executable(failures_unbounded EXCLUDE_FROM_ALL "${CMAKE_CURRENT_BINARY_DIR}/unbounded.c")
target_link_libraries(failures_unbounded PRIVATE failures_waits)
tilewright_use_port(failures_unbounded PLATFORM qemu-virt-rv32)
tilewright_check_firmware(failures_unbounded INSTRUCTIONS)
expect_failure(
  unbounded
  "error\\[time-bound\\]: a loop whose end depends on data has no bound"
  "${CMAKE_COMMAND}"
  --build
  "${CMAKE_BINARY_DIR}"
  --target
  failures_unbounded
)
