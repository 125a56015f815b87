/* SPDX-License-Identifier: Apache-2.0 */
/* The system calls of newlib: text goes to the console, there are no files and no processes. */
#include "mps2_an385.h"

#include <stddef.h>

/* newlib is built without headers for these. */
struct stat;
_Noreturn void _exit(int status);
int _close(int file);
int _fstat(int file, struct stat *state);
int _getpid(void);
int _isatty(int file);
int _kill(int process, int signal);
int _lseek(int file, int offset, int whence);
int _read(int file, char *buffer, int count);
int _write(int file, const char *buffer, int count);
void *_sbrk(ptrdiff_t bytes);

/* printf takes its line buffer and the digits of floating-point numbers from here. */
#define HEAP_BYTES 8192

_Noreturn void _exit(int status)
{
    tilewright_exit(status);
}

int _close(int file)
{
    (void)file;
    return -1;
}

int _fstat(int file, struct stat *state)
{
    (void)file;
    (void)state;
    return -1;
}

int _getpid(void)
{
    return 1;
}

int _isatty(int file)
{
    (void)file;
    return 1;
}

int _kill(int process, int signal)
{
    (void)process;
    (void)signal;
    return -1;
}

int _lseek(int file, int offset, int whence)
{
    (void)file;
    (void)offset;
    (void)whence;
    return -1;
}

int _read(int file, char *buffer, int count)
{
    (void)file;
    (void)buffer;
    (void)count;
    return 0;
}

int _write(int file, const char *buffer, int count)
{
    (void)file;
    for (int i = 0; i < count; i++) {
        tilewright_console_put(buffer[i]);
    }
    return count;
}

void *_sbrk(ptrdiff_t bytes)
{
    static _Alignas(8) uint8_t heap[HEAP_BYTES];
    static ptrdiff_t used;
    const ptrdiff_t before = used;
    if (before + bytes < 0 || before + bytes > HEAP_BYTES) {
        return (void *)UINTPTR_MAX;
    }
    used = before + bytes;
    return heap + before;
}
