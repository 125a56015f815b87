/* SPDX-License-Identifier: Apache-2.0 */
/* Names for debuggers: symbols at places inside an array, in the symbol table only. */
#ifndef TILEWRIGHT_SYMBOL_H
#define TILEWRIGHT_SYMBOL_H

/* A global symbol of `size` bytes, `offset` behind the object `base` of the same file, or behind an
 * address. Nothing of it is loaded. Define TILEWRIGHT_SYMBOL as nothing to leave the names out. */
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
