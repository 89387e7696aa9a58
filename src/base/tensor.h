/* base/tensor.h - an array of numbers with a name, as safetensors files hold it. */
#ifndef DROVE_BASE_TENSOR_H
#define DROVE_BASE_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DROVE_TENSOR_MAX_RANK = 5, DROVE_TENSOR_NAME_SIZE = 96 };

typedef enum drove_tensor_type {
    DROVE_T_F32,
    DROVE_T_F64,
    DROVE_T_U64,
    DROVE_T_I64,
    DROVE_T_U32,
    DROVE_T_I32,
    DROVE_T_U8,
    DROVE_T_I8,
    DROVE_T_U16,
    DROVE_T_I16,
    DROVE_T_F16, /* half floats and bfloat16 of other programs (base/half.h) */
    DROVE_T_BF16
} drove_tensor_type;
enum { DROVE_N_TENSOR_TYPES = DROVE_T_BF16 + 1 };

extern const struct drove_tensor_format {
    const char *name; /* "F32" */
    size_t      size_bytes;
} drove__tensor_formats[DROVE_N_TENSOR_TYPES];

typedef struct drove_tensor {
    char              name[DROVE_TENSOR_NAME_SIZE];
    drove_tensor_type type;
    unsigned          rank;
    size_t            shape[DROVE_TENSOR_MAX_RANK];
    const void *bytes; /* writing: caller's; reading: inside the loaded data, 64-byte aligned */
} drove_tensor;

/* Bytes of a tensor; false if the product overflows. */
bool drove__tensor_measure(const drove_tensor *tensor, size_t *size_bytes);
/* Bytes of a tensor that was loaded. */
size_t drove__tensor_bytes(const drove_tensor *tensor);

#endif
