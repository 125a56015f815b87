/* SPDX-License-Identifier: Apache-2.0 */
/* Arm's MPS2 board with image AN385: what its start-up code needs beside the console. */
#ifndef TILEWRIGHT_MPS2_AN385_H
#define TILEWRIGHT_MPS2_AN385_H

#include "../common/board.h"

/* Addresses of the first UART and the first timer, and instructions per tick: under -icount
 * shift=0 QEMU lets an instruction take a nanosecond; timers run at 20, 20 and 25 MHz. Boards for
 * Armv8-M start in secure state. */
#if defined(__ARM_FEATURE_MVE) /* mps3-an547 */
#define TILEWRIGHT_MPS2_UART 0x59303000u
#define TILEWRIGHT_MPS2_TICKS 0x59302018u /* counts up, at 20 MHz */
#define TILEWRIGHT_MPS2_INSTRUCTIONS(ticks) (50u * (ticks))
#elif defined(__ARM_ARCH_8M_MAIN__) /* mps2-an505 */
#define TILEWRIGHT_MPS2_UART 0x50200000u
#define TILEWRIGHT_MPS2_TIMER 0x50000000u
#define TILEWRIGHT_MPS2_TICKS (TILEWRIGHT_MPS2_TIMER + 0x4u) /* counts down */
#define TILEWRIGHT_MPS2_INSTRUCTIONS(ticks) (50u * (ticks))
#else /* mps2-an385, -an386, -an500 */
#define TILEWRIGHT_MPS2_UART 0x40004000u
#define TILEWRIGHT_MPS2_TIMER 0x40000000u
#define TILEWRIGHT_MPS2_TICKS (TILEWRIGHT_MPS2_TIMER + 0x4u) /* counts down */
#define TILEWRIGHT_MPS2_INSTRUCTIONS(ticks) (40u * (ticks))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Make the serial port ready; called before anything is printed. */
void tilewright_console_open(void);

/* Start the timer that tilewright_cycles reads. */
void tilewright_cycles_open(void);

#ifdef __cplusplus
}
#endif

#endif
