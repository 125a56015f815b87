/* SPDX-License-Identifier: Apache-2.0 */
/* Arm's MPS2 board with image AN385: what its start-up code needs beside the console. */
#ifndef TILEWRIGHT_MPS2_AN385_H
#define TILEWRIGHT_MPS2_AN385_H

#include "../common/board.h"

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
