/* SPDX-License-Identifier: Apache-2.0 */
/* Runs kernel calls from standard input and answers with the operands' bytes.
 * Every operand has a heap block of its own, so that the address sanitizer sees each access
 * outside a tile. All numbers are int32_t of the host.
 * Call: symbol; flags; attribute bytes, attributes; operands; for each: bytes, offset of the base,
 * whether it has a shape, shape (as struct tilewright_shape), content. A negative symbol ends. */
#include <stdio.h>
#include <stdlib.h>

#include "kernels_float_symbols.h"

enum { OPERANDS = 16 };

static void take(void *to, size_t bytes)
{
    if (bytes != 0 && fread(to, 1, bytes, stdin) != bytes) {
        exit(3);
    }
}

static int32_t number(void)
{
    int32_t value;
    take(&value, sizeof value);
    return value;
}

int main(void)
{
    for (int32_t symbol = number(); symbol >= 0; symbol = number()) {
        struct tilewright_view views[OPERANDS];
        struct tilewright_shape shapes[OPERANDS];
        uint8_t *blocks[OPERANDS];
        size_t sizes[OPERANDS];
        const uint32_t flags = (uint32_t)number();
        const size_t attribute_bytes = (size_t)number();
        void *attributes = malloc(attribute_bytes);
        take(attributes, attribute_bytes);
        const int32_t count = number();
        for (int32_t i = 0; i < count; i++) {
            sizes[i] = (size_t)number();
            const int32_t offset = number();
            const int32_t has_shape = number();
            take(&shapes[i], sizeof shapes[i]);
            blocks[i] = malloc(sizes[i]);
            take(blocks[i], sizes[i]);
            views[i].base = blocks[i] + offset;
            views[i].shape = has_shape != 0 ? &shapes[i] : NULL;
        }
        run(symbol, attributes, attribute_bytes, views, flags);
        for (int32_t i = 0; i < count; i++) {
            if (fwrite(blocks[i], 1, sizes[i], stdout) != sizes[i]) {
                return 4;
            }
            free(blocks[i]);
        }
        free(attributes);
    }
    return 0;
}
