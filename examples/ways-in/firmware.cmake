# SPDX-License-Identifier: Apache-2.0
# What a project does once it has the functions, however it got them: handwritten digits,
# classified in QEMU.
set(digits "${CMAKE_CURRENT_LIST_DIR}/../digits")
set(platform qemu-virt-rv32)
tilewright_add_model(
  digits_model
  MODEL "${digits}/digits.onnx"
  PLATFORM ${platform}
  NAME digits
  QUANTIZED_IO
)
add_executable(firmware "${digits}/main.c")
target_link_libraries(firmware PRIVATE digits_model)
tilewright_use_port(firmware PLATFORM ${platform})
tilewright_add_simulation_test(NAME firmware TARGET firmware)
