/* SPDX-License-Identifier: Apache-2.0 */
/* Windows as attributes of kernels describe them. Only for kernels. */
#ifndef TILEWRIGHT_KERNELS_GEOMETRY_H
#define TILEWRIGHT_KERNELS_GEOMETRY_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Arrays with an element for each spatial axis, the outermost axis first. */
struct tilewright_geometry {
    const int32_t *kernel;
    const int32_t *strides;
    const int32_t *dilations;
    const int32_t *pads; /* in front of the first element of x */
};

#ifdef __cplusplus
}
#endif

#endif
