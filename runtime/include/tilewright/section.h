/* SPDX-License-Identifier: Apache-2.0 */
/* Sections and alignment of pools and constants; define the macros yourself for other compilers. */
#ifndef TILEWRIGHT_SECTION_H
#define TILEWRIGHT_SECTION_H

#ifndef TILEWRIGHT_SECTION
#if defined(__ELF__) && (defined(__GNUC__) || defined(__clang__))
#define TILEWRIGHT_SECTION(name) __attribute__((section(name)))
#else
#define TILEWRIGHT_SECTION(name)
#endif
#endif

#ifndef TILEWRIGHT_ALIGNED
#define TILEWRIGHT_ALIGNED(bytes) _Alignas(bytes)
#endif

#endif
