/* SPDX-License-Identifier: Apache-2.0 */
/* Into unprivileged thread mode and back. */
#include "mpu.h"

#if TILEWRIGHT_HAS_MPU

    .syntax unified
    .thumb

    .equ CONTROL_UNPRIVILEGED_ON_PROCESS_STACK, 3
    .equ CONTROL_PROCESS_STACK, 2
    .equ EXCEPTION_FRAME_BYTES, 32
    .equ FRAME_PROGRAM_COUNTER, 24
    .equ FRAME_STATUS, 28
    .equ STATUS_THUMB, 0x01000000
    .equ RETURN_TO_THREAD_WITHOUT_FLOATS, 0x18
    .equ RETURN_ON_PROCESS_STACK, 4
    .equ VECTOR_TABLE_OFFSET, 0xe000ed08
    .equ CONFIGURABLE_FAULT_STATUS, 0xe000ed28
    .equ FLOAT_CONTEXT_CONTROL, 0xe000ef34
    .equ FLOAT_CONTEXT_IS_PENDING, 1
    /* No frame was pushed: stacking failed by the MPU, by the bus, or at a stack limit. */
    .equ NOT_STACKED, 0x00101010
    .equ NMI_VECTOR, 8

    /* What is saved on the caller's stack, from the stack pointer on. */
    .equ AT_CONTROL, 0
    .equ AT_PROCESS_STACK, 8
    .equ AT_VECTORS, 12
    .equ AT_LIMIT, 16
    .equ AT_WAY, 20

    /* Members of struct mpu_way. */
    .equ WAY_TOP, 0
    .equ WAY_BOTTOM, 4
    .equ WAY_RETURNED, 8
    .equ WAY_INSTRUCTION, 12
    .equ WAY_COUNTER, 16

    /* The stack pointer below the saved registers, for the handler, which knows nothing else. */
    .section .bss.tilewright_mpu_saved, "aw", %nobits
    .balign 4
    .type saved, %object
saved:
    .space 4
    .size saved, 4

    .section .text.tilewright_mpu_enter, "ax", %progbits
    .balign 128
    /* With PRIMASK set every fault and supervisor call becomes a hard fault; interrupts wait. */
vectors:
    .word 0, 0, not_masked, stopped

    .globl tilewright_mpu_enter
    .type tilewright_mpu_enter, %function
    .thumb_func
tilewright_mpu_enter:
    push {r3-r11, lr}
#if TILEWRIGHT_MPU_SAVES_FLOATS
    vpush {d8-d15}
    vmrs r3, fpscr
    push {r2, r3}
#endif
    mrs r4, control
    mrs r5, primask
    mrs r6, psp
    ldr r12, =VECTOR_TABLE_OFFSET
    ldr r7, [r12]
#if TILEWRIGHT_MPU_VERSION == 8
    mrs r8, psplim
#endif
    mov r9, r2
    push {r4-r9}
    cpsid i
    ldr r10, =saved
    mov r11, sp
    str r11, [r10]
    ldr r10, =vectors
    str r10, [r12]
    dsb
    /* Below the caller's stack lies that of the layers, and below that an NMI's. */
    ldr r10, [r2, #WAY_TOP]
    ldr r11, [r2, #WAY_BOTTOM]
#if TILEWRIGHT_MPU_VERSION == 8
    movs r3, #0
    msr psplim, r3
#endif
    tst r4, #CONTROL_PROCESS_STACK
    bne 1f
    msr msp, r11
1:
    msr psp, r10
    orr r4, r4, #CONTROL_UNPRIVILEGED_ON_PROCESS_STACK
    msr control, r4
    isb
    mov r4, r0
    mov r0, r1
    /* Never taken: who proves the stack from the code sees what the stack's alignment may take. */
    cmp r0, r0
    bne aligned
call:
    blx r4
    .globl tilewright_mpu_returned
tilewright_mpu_returned:
    svc #0
    b tilewright_mpu_returned
aligned:
    sub sp, sp, #TILEWRIGHT_MPU_STACK_SLACK
    b call

    /* Back in privileged thread mode, on the caller's stack. */
resumed:
    pop {r4-r9}
    msr primask, r5
#if TILEWRIGHT_MPU_SAVES_FLOATS
    pop {r2, r3}
    vmsr fpscr, r3
    vpop {d8-d15}
#endif
    pop {r3-r11, pc}

    .thumb_func
not_masked:
    ldr r0, =saved
    ldr r0, [r0]
    ldr r0, [r0, #AT_VECTORS]
    ldr pc, [r0, #NMI_VECTOR]

    .thumb_func
stopped:
    ldr r3, =saved
    ldr r3, [r3]
    ldr r2, [r3, #AT_WAY]
    mrs r1, psp
    ldr r0, =CONFIGURABLE_FAULT_STATUS
    ldr r0, [r0]
    ldr r12, =NOT_STACKED
    ands r12, r12, r0
    mov r12, #0
    bne leave
    ldr r12, [r1, #FRAME_PROGRAM_COUNTER]
    ldr r0, =count
    bic r12, r12, #1
    subs r0, r12, r0
    cmp r0, #TILEWRIGHT_MPU_CALL_BYTES
    bls counted
    ldr r0, [r1]
    str r0, [r2, #WAY_RETURNED]
leave:
    str r12, [r2, #WAY_INSTRUCTION]
#if TILEWRIGHT_MPU_SAVES_FLOATS
    ldr r1, =FLOAT_CONTEXT_CONTROL
    ldr r0, [r1]
    bic r0, r0, #FLOAT_CONTEXT_IS_PENDING
    str r0, [r1]
#endif
    ldr r0, [r3, #AT_VECTORS]
    ldr r1, =VECTOR_TABLE_OFFSET
    str r0, [r1]
    movs r0, #0
    msr control, r0
    ldr r0, [r3, #AT_PROCESS_STACK]
    msr psp, r0
#if TILEWRIGHT_MPU_VERSION == 8
    ldr r0, [r3, #AT_LIMIT]
    msr psplim, r0
#endif
    /* As if an exception had come between the call and `resumed`. */
    sub r1, r3, #EXCEPTION_FRAME_BYTES
    ldr r0, =resumed
    str r0, [r1, #FRAME_PROGRAM_COUNTER]
    mov r0, #STATUS_THUMB
    str r0, [r1, #FRAME_STATUS]
    orr lr, lr, #RETURN_TO_THREAD_WITHOUT_FLOATS
    ldr r0, [r3, #AT_CONTROL]
    tst r0, #CONTROL_PROCESS_STACK
    beq 2f
    orr lr, lr, #RETURN_ON_PROCESS_STACK
    msr psp, r1
    bx lr
2:
    bic lr, lr, #RETURN_ON_PROCESS_STACK
    msr msp, r1
    bx lr

    /* A layer asks for the time: devices are out of its reach. */
counted:
    ldr r0, [r2, #WAY_COUNTER]
    ldr r0, [r0]
    str r0, [r1]
    ldr r0, =counted_end
    str r0, [r1, #FRAME_PROGRAM_COUNTER]
    bx lr
    .size tilewright_mpu_enter, . - tilewright_mpu_enter

    .section .text.tilewright_mpu_count, "ax", %progbits
    .globl tilewright_mpu_count
    .type tilewright_mpu_count, %function
    .thumb_func
tilewright_mpu_count:
count:
    svc #1
counted_end:
    bx lr
    .size tilewright_mpu_count, . - tilewright_mpu_count

#endif
