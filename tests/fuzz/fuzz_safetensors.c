/* tests/fuzz/fuzz_safetensors.c - model and state files of any content.
 *
 * Whatever is accepted lies inside the loaded memory, and names each tensor so that it is found
 * again.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create */
#endif
#include "base/safetensors.h"

#include "memory_file.h"

#include <string.h>

static size_t type_bytes(drove_tensor_type type)
{
    switch (type) {
    case DROVE_T_F64:
    case DROVE_T_U64:
    case DROVE_T_I64: return 8;
    case DROVE_T_F32:
    case DROVE_T_U32:
    case DROVE_T_I32: return 4;
    case DROVE_T_I16:
    case DROVE_T_U16:
    case DROVE_T_F16:
    case DROVE_T_BF16: return 2;
    case DROVE_T_I8:
    case DROVE_T_U8: return 1;
    }
    abort();
}

static void check_tensor(const drove_safetensors *st, const drove_tensor *tensor)
{
    size_t size_bytes = type_bytes(tensor->type);
    if (tensor->rank > DROVE_TENSOR_MAX_RANK) abort();
    for (unsigned i = 0; i < tensor->rank; i++) size_bytes *= tensor->shape[i];
    if (size_bytes > 0) {
        const char *bytes = tensor->bytes;
        if (bytes < st->data || size_bytes > st->size_bytes) abort();
        if (bytes + size_bytes > st->data + st->size_bytes) abort();
        volatile char sum = 0; /* every byte can be read */
        for (size_t i = 0; i < size_bytes; i++) sum = (char)(sum ^ bytes[i]);
    }
    if (drove__safetensors_find(st, tensor->name) != tensor) abort();
}

/* As it was asked for, it is there; as it was not, it is refused. */
static void check_want(const drove_safetensors *st, const drove_tensor *t)
{
    const void *bytes = NULL;
    size_t n = 1;
    for (unsigned i = 0; i < t->rank; i++) n *= t->shape[i];
    if (drove__safetensors_want(st, t->name, t->type, n, &bytes) != DROVE_OK) abort();
    if (drove__safetensors_want(st, t->name, t->type, n + 1, NULL) == DROVE_OK) abort();
    if (drove__safetensors_want(st, "none such", t->type, n, NULL) == DROVE_OK) abort();
    if (drove__tensor_bytes(t) != n * type_bytes(t->type)) abort();
}

/* The header alone says the same. */
static void check_header(const char *path, const drove_safetensors *whole)
{
    drove_safetensors st;
    if (drove__safetensors_load_header(path, &st) != DROVE_OK) {
        if (drove_error_text()[0] == '\0') abort(); /* a compressed file */
        return;
    }
    if (st.n_tensors != whole->n_tensors) abort();
    for (size_t i = 0; i < st.n_tensors; i++) {
        if (strcmp(st.tensor[i].name, whole->tensor[i].name) != 0) abort();
        if (drove__tensor_bytes(&st.tensor[i]) != drove__tensor_bytes(&whole->tensor[i])) abort();
    }
    drove__safetensors_fini(&st);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    memory_file file;
    memory_file_init(&file, data, size_bytes);
    drove_safetensors st;
    if (drove__safetensors_load(file.path, &st) == DROVE_OK) {
        for (size_t i = 0; i < st.n_tensors; i++) {
            check_tensor(&st, &st.tensor[i]);
            check_want(&st, &st.tensor[i]);
        }
        check_header(file.path, &st);
        for (size_t i = 0; i < st.n_meta; i++) {
            if (drove__safetensors_meta(&st, st.meta_key[i]) == NULL) abort();
        }
        drove__safetensors_fini(&st);
    } else if (drove_error_text()[0] == '\0') {
        abort();
    }
    memory_file_fini(&file);
    return 0;
}
