/* base/tensor.c - see tensor.h. */
#include "base/tensor.h"

const struct drove_tensor_format drove__tensor_formats[DROVE_N_TENSOR_TYPES] = {
    [DROVE_T_F32] = {"F32", 4}, [DROVE_T_F64] = {"F64", 8}, [DROVE_T_U64] = {"U64", 8},
    [DROVE_T_I64] = {"I64", 8}, [DROVE_T_U32] = {"U32", 4}, [DROVE_T_I32] = {"I32", 4},
    [DROVE_T_U8] = {"U8", 1},   [DROVE_T_I8] = {"I8", 1},   [DROVE_T_U16] = {"U16", 2},
    [DROVE_T_I16] = {"I16", 2}, [DROVE_T_F16] = {"F16", 2}, [DROVE_T_BF16] = {"BF16", 2},
};

bool drove__tensor_measure(const drove_tensor *t, size_t *size_bytes)
{
    size_t product = drove__tensor_formats[t->type].size_bytes;
    bool has_zero = false;
    for (unsigned i = 0; i < t->rank; i++) has_zero = has_zero || t->shape[i] == 0;
    for (unsigned i = 0; i < t->rank && !has_zero; i++) {
        if (__builtin_mul_overflow(product, t->shape[i], &product)) return false;
    }
    *size_bytes = has_zero ? 0 : product;
    return true;
}

size_t drove__tensor_bytes(const drove_tensor *tensor)
{
    size_t size_bytes = 0;
    (void)drove__tensor_measure(tensor, &size_bytes);
    return size_bytes;
}
