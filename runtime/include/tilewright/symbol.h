/* SPDX-License-Identifier: Apache-2.0 */
/* Names for debuggers: symbols for places inside an array. They take no memory on the target. */
#ifndef TILEWRIGHT_SYMBOL_H
#define TILEWRIGHT_SYMBOL_H

/* A global symbol of `size` bytes, `offset` bytes behind `base`, which is an object of the same
 * file or an address. Define TILEWRIGHT_SYMBOL as nothing to leave the symbols out. */
#ifndef TILEWRIGHT_SYMBOL
#ifdef __ELF__
#define TILEWRIGHT_SYMBOL(name, base, offset, size)                                                \
    __asm__(".globl " #name "\n"                                                                   \
            ".set " #name ", " #base " + " #offset "\n"                                            \
            ".type " #name ", %object\n"                                                           \
            ".size " #name ", " #size "\n");
#else
#define TILEWRIGHT_SYMBOL(name, base, offset, size)
#endif
#endif

#endif
