/* kernel/span.h - a slice of a flat vector, in floats. */
#ifndef DROVE_KERNEL_SPAN_H
#define DROVE_KERNEL_SPAN_H

#include <stddef.h>

typedef struct drove_span {
    size_t offset, length;
} drove_span;

#endif
