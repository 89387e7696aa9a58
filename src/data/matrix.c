/* data/matrix.c - reads arrays of any number type and any steps. */
#include "data/matrix.h"

#include "base/mem.h"
#include "base/status.h"

#include <stdint.h>
#include <string.h>

static const uint8_t sizes[] = {
    [DROVE_TYPE_F32] = 4, [DROVE_TYPE_F64] = 8, [DROVE_TYPE_U8] = 1,   [DROVE_TYPE_I8] = 1,
    [DROVE_TYPE_U16] = 2, [DROVE_TYPE_I16] = 2, [DROVE_TYPE_U32] = 4,  [DROVE_TYPE_I32] = 4,
    [DROVE_TYPE_U64] = 8, [DROVE_TYPE_I64] = 8, [DROVE_TYPE_BOOL] = 1,
};

size_t drove_type_size(drove_type type)
{
    return (size_t)type < DROVE_COUNT(sizes) ? sizes[type] : 0;
}

drove_matrix drove_matrix_dense(const void *values, drove_type type, size_t n_rows,
                                size_t n_columns)
{
    const size_t size = drove_type_size(type);
    return (drove_matrix){.values = values,
                          .type = type,
                          .n_rows = n_rows,
                          .n_columns = n_columns,
                          .row_bytes = (ptrdiff_t)(size * n_columns),
                          .column_bytes = (ptrdiff_t)size};
}

static bool add_steps(size_t n, ptrdiff_t step, size_t *sum)
{
    size_t bytes;
    const size_t length = step < 0 ? (size_t)0 - (size_t)step : (size_t)step;
    return !__builtin_mul_overflow(n, length, &bytes) &&
           !__builtin_add_overflow(*sum, bytes, sum) && *sum <= PTRDIFF_MAX;
}

drove_status drove__matrix_check(const drove_matrix *m, const char *what)
{
    size_t bytes = drove_type_size(m->type), n;
    if (bytes == 0)
        return drove__fail(DROVE_E_ARG, "%s: expected a type of drove_type, found %d", what,
                           (int)m->type);
    if (m->n_rows == 0 || m->n_columns == 0) return DROVE_OK;
    if (m->values == NULL)
        return drove__fail(DROVE_E_ARG, "%s: expected numbers, found none", what);
    if (!__builtin_mul_overflow(m->n_rows, m->n_columns, &n) && n <= PTRDIFF_MAX / sizeof(double) &&
        add_steps(m->n_rows - 1, m->row_bytes, &bytes) &&
        add_steps(m->n_columns - 1, m->column_bytes, &bytes))
        return DROVE_OK;
    return drove__fail(DROVE_E_ARG, "%s: expected rows that memory can hold, found %zu x %zu", what,
                       m->n_rows, m->n_columns);
}

static const char *place(const drove_matrix *m, size_t i, size_t j)
{
    return (const char *)m->values + (ptrdiff_t)i * m->row_bytes + (ptrdiff_t)j * m->column_bytes;
}

/* By memcpy: arrays of other programs need not be aligned. */
#define READ(type)                                                                                 \
    {                                                                                              \
        type value;                                                                                \
        memcpy(&value, from, sizeof value);                                                        \
        return (double)value;                                                                      \
    }

double drove__matrix_at(const drove_matrix *m, size_t i, size_t j)
{
    const char *from = place(m, i, j);
    switch (m->type) {
    case DROVE_TYPE_F32: READ(float)
    case DROVE_TYPE_F64: READ(double)
    case DROVE_TYPE_U8: READ(uint8_t)
    case DROVE_TYPE_I8: READ(int8_t)
    case DROVE_TYPE_U16: READ(uint16_t)
    case DROVE_TYPE_I16: READ(int16_t)
    case DROVE_TYPE_U32: READ(uint32_t)
    case DROVE_TYPE_I32: READ(int32_t)
    case DROVE_TYPE_U64: READ(uint64_t)
    case DROVE_TYPE_I64: READ(int64_t)
    case DROVE_TYPE_BOOL: return *from != 0 ? 1.0 : 0.0;
    }
    return 0.0;
}
#undef READ

/* The types that large matrices have; others go number by number. */
#define CONVERT(type)                                                                              \
    for (size_t j = 0; j < m->n_columns; j++, from += m->column_bytes) {                           \
        type value;                                                                                \
        memcpy(&value, from, sizeof value);                                                        \
        to[j] = (float)value;                                                                      \
    }                                                                                              \
    return;

void drove__matrix_row(const drove_matrix *m, size_t i, float *to)
{
    const char *from = place(m, i, 0);
    switch (m->type) {
    case DROVE_TYPE_F32: CONVERT(float)
    case DROVE_TYPE_F64: CONVERT(double)
    case DROVE_TYPE_U8: CONVERT(uint8_t)
    case DROVE_TYPE_I32: CONVERT(int32_t)
    case DROVE_TYPE_I64: CONVERT(int64_t)
    default: break;
    }
    for (size_t j = 0; j < m->n_columns; j++) to[j] = (float)drove__matrix_at(m, i, j);
}
