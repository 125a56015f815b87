/* SPDX-License-Identifier: Apache-2.0 */
/* Calls kernels that are compiled with sanitizers, for a test that is not.
 *
 * Arguments: a file descriptor of memory that the test shares, the address at which both map it,
 * its bytes. Requests come on standard input, as words of 64 bits; each is answered by one word on
 * standard output. All of the shared memory is poisoned but for the blocks that a call names, while
 * that call lasts.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sanitizer/asan_interface.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { SYMBOL = 1, CALL = 2, NAME_BYTES = 256 };

/* Words of a request: SYMBOL, then the name in NAME_BYTES; or CALL, its words below, then blocks.
 */
struct call {
    uint64_t function;
    uint64_t attributes;
    uint64_t views;
    uint64_t flags;
    uint64_t blocks;
};

struct block {
    uint64_t address;
    uint64_t size_bytes;
};

typedef void kernel(const void *attributes, const void *views, uint32_t flags);

static void read_bytes(void *into, size_t bytes)
{
    if (fread(into, 1, bytes, stdin) != bytes) {
        exit(0);
    }
}

static void answer(uint64_t word)
{
    fwrite(&word, sizeof word, 1, stdout);
    fflush(stdout);
}

static uint64_t symbol(void)
{
    char name[NAME_BYTES];
    read_bytes(name, sizeof name);
    return (uint64_t)(uintptr_t)dlsym(NULL, name);
}

static void call(void)
{
    struct call request;
    read_bytes(&request, sizeof request);
    const size_t bytes = (size_t)request.blocks * sizeof(struct block);
    struct block *blocks = malloc(bytes);
    if (blocks == NULL) {
        exit(1);
    }
    read_bytes(blocks, bytes);
    for (uint64_t at = 0; at < request.blocks; at++) {
        __asan_unpoison_memory_region((void *)(uintptr_t)blocks[at].address,
                                      (size_t)blocks[at].size_bytes);
    }
    kernel *const function = (kernel *)(uintptr_t)request.function;
    function((const void *)(uintptr_t)request.attributes, (const void *)(uintptr_t)request.views,
             (uint32_t)request.flags);
    for (uint64_t at = 0; at < request.blocks; at++) {
        __asan_poison_memory_region((void *)(uintptr_t)blocks[at].address,
                                    (size_t)blocks[at].size_bytes);
    }
    free(blocks);
}

int main(int count, char **words)
{
    if (count != 4) {
        return 2;
    }
    void *const wanted = (void *)(uintptr_t)strtoull(words[2], NULL, 0);
    const size_t bytes = (size_t)strtoull(words[3], NULL, 0);
    const int file = atoi(words[1]);
    void *const memory =
        mmap(wanted, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, file, 0);
    if (memory != wanted) {
        perror("shared memory");
        return 1;
    }
    __asan_poison_memory_region(memory, bytes);
    for (;;) {
        uint64_t kind;
        read_bytes(&kind, sizeof kind);
        if (kind == SYMBOL) {
            answer(symbol());
        } else {
            call();
            answer(0);
        }
    }
}
