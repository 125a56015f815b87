/* SPDX-License-Identifier: Apache-2.0 */
/* Marks that tilewright check-elf looks for in a program: layouts of files, functions of models. */
#ifndef TILEWRIGHT_LAYOUT_H
#define TILEWRIGHT_LAYOUT_H

/* Adds "<model>:<hash>" to a section that takes no memory on the target; equal records of several
 * files are one. Define TILEWRIGHT_LAYOUT as nothing to leave the records out. */
#ifndef TILEWRIGHT_LAYOUT
#if defined(__ELF__) && (defined(__GNUC__) || defined(__clang__))
#define TILEWRIGHT_LAYOUT(model, hash)                                                             \
    __asm__(".pushsection .tilewright.layout, \"MS\", %progbits, 1\n"                              \
            ".asciz \"" model ":" hash "\"\n"                                                      \
            ".popsection\n");
#else
#define TILEWRIGHT_LAYOUT(model, hash)
#endif
#endif

/* A function that stays one of its own with link-time optimisation too, so that what lies below it
 * in the program can be followed. */
#ifndef TILEWRIGHT_ENTRY
#if defined(__has_attribute)
#if __has_attribute(noipa)
#define TILEWRIGHT_ENTRY __attribute__((noipa))
#elif __has_attribute(noinline)
#define TILEWRIGHT_ENTRY __attribute__((noinline))
#endif
#endif
#endif
#ifndef TILEWRIGHT_ENTRY
#define TILEWRIGHT_ENTRY
#endif

#endif
