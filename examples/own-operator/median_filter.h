/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MEDIAN_FILTER_H
#define MEDIAN_FILTER_H

#include "tilewright/runtime.h"

#define MEDIAN_FILTER_LARGEST 15

struct median_filter_attributes {
    int32_t size;
};

/* Operands: x and y, float32, their axes last in views of six. */
void median_filter(const struct median_filter_attributes *attributes,
                   const struct tilewright_view *operands, uint32_t flags);

#endif
