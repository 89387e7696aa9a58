/* Arrays in memory: every type of numbers, indices and starts; what can be borrowed and what is
 * copied; limits. */
#include "support.h"

#include "base/mem.h"
#include "data/matrix.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void refused(drove_status status, drove_status expected, const char *text)
{
    assert_int_equal(status, expected);
    if (strstr(drove_error_text(), text) == NULL)
        fail_msg("expected \"%s\", found \"%s\"", text, drove_error_text());
}

/* The largest and the least number of each type, at an odd address, two columns apart. */
TEST(numbers_of_every_type_are_read)
{
    static const struct {
        size_t size;
        double least, largest;
    } types[] = {[DROVE_TYPE_F32] = {4, -1.5, 0x1p100},
                 [DROVE_TYPE_F64] = {8, -1e-300, 1e300},
                 [DROVE_TYPE_U8] = {1, 0, 255},
                 [DROVE_TYPE_I8] = {1, -128, 127},
                 [DROVE_TYPE_U16] = {2, 0, 65535},
                 [DROVE_TYPE_I16] = {2, -32768, 32767},
                 [DROVE_TYPE_U32] = {4, 0, 4294967295.0},
                 [DROVE_TYPE_I32] = {4, -2147483648.0, 2147483647.0},
                 [DROVE_TYPE_U64] = {8, 0, 0x1p64},
                 [DROVE_TYPE_I64] = {8, -0x1p63, 0x1p63},
                 [DROVE_TYPE_BOOL] = {1, 0, 1}};
    char memory[64] = {0};
    for (size_t type = 0; type < DROVE_COUNT(types); type++) {
        const size_t size = types[type].size;
        assert_int_equal(drove_type_size((drove_type)type), size);
        char *at = memory + 1;
        const float f[] = {(float)types[type].least, (float)types[type].largest};
        const double d[] = {types[type].least, types[type].largest};
        for (size_t i = 0; i < 2; i++) { /* least at [0][0], largest at [1][2] of 3 columns */
            char *to = at + (i == 0 ? 0 : 5 * size);
            const uint64_t bits = i == 0 ? (uint64_t)(int64_t)types[type].least
                                         : (types[type].largest >= 0x1p63
                                                ? (type == DROVE_TYPE_U64 ? UINT64_MAX : INT64_MAX)
                                                : (uint64_t)types[type].largest);
            if (type == DROVE_TYPE_F32) memcpy(to, &f[i], size);
            else if (type == DROVE_TYPE_F64) memcpy(to, &d[i], size);
            else memcpy(to, &bits, size); /* little-endian: the low bytes */
        }
        const drove_matrix m = drove_matrix_dense(at, (drove_type)type, 2, 3);
        assert_int_equal(m.row_bytes, 3 * size);
        assert_int_equal(m.column_bytes, size);
        assert_true(drove__matrix_at(&m, 0, 0) == types[type].least);
        assert_true(drove__matrix_at(&m, 1, 2) == types[type].largest);
        float row[3];
        drove__matrix_row(&m, 0, row);
        assert_true(row[0] == (float)types[type].least);
        drove__matrix_row(&m, 1, row);
        assert_true(row[2] == (float)types[type].largest);
    }
    assert_int_equal(drove_type_size((drove_type)DROVE_COUNT(types)), 0);
    assert_int_equal(drove_type_size((drove_type)-1), 0);
}

/* Floats and bytes that lie in rows without gaps, at an address for them, are borrowed. */
TEST(only_whole_rows_are_borrowed)
{
    static float values[64];
    drove_arrays *a;
    assert_ok(drove_arrays_create(&a));
    const drove_matrix plain = drove_matrix_dense(values, DROVE_TYPE_F32, 4, 3);
    for (int which = 0; which < 8; which++) {
        drove_matrix x = plain;
        bool is_borrowed = false;
        if (which == 0) is_borrowed = true;
        if (which == 1) x.row_bytes += 4;
        if (which == 2) x.column_bytes += 4, x.row_bytes = 24;
        if (which == 3) x.values = (const char *)values + 2;
        if (which == 4) x.n_columns = 1, x.column_bytes = 40, x.row_bytes = 4, is_borrowed = true;
        if (which == 5) x.n_rows = 1, x.row_bytes = 400, is_borrowed = true;
        if (which == 6) x.column_bytes = -4, x.values = values + 2;
        if (which == 7) x = drove_matrix_dense(values, DROVE_TYPE_I32, 4, 3);
        assert_ok(drove_arrays_set_dense(a, &x));
        assert_int_equal(drove_arrays_copied_bytes(a), is_borrowed ? 0 : 48);
    }
    drove_matrix bytes = drove_matrix_dense(values, DROVE_TYPE_U8, 4, 3);
    assert_ok(drove_arrays_set_dense(a, &bytes));
    assert_int_equal(drove_arrays_copied_bytes(a), 0);
    bytes.row_bytes++;
    assert_ok(drove_arrays_set_dense(a, &bytes));
    assert_int_equal(drove_arrays_copied_bytes(a), 48); /* as floats */
    drove_arrays_destroy(a);
}

TEST(matrices_without_numbers_are_refused)
{
    static float values[4];
    drove_arrays *a;
    assert_ok(drove_arrays_create(&a));
    drove_matrix x = drove_matrix_dense(values, DROVE_TYPE_F32, 0, 2);
    refused(drove_arrays_set_dense(a, &x), DROVE_E_SHAPE, "rows and columns, found 0 x 2");
    x = drove_matrix_dense(values, DROVE_TYPE_F32, 2, 0);
    refused(drove_arrays_set_dense(a, &x), DROVE_E_SHAPE, "rows and columns, found 2 x 0");
    x = drove_matrix_dense(NULL, DROVE_TYPE_F32, 2, 2);
    refused(drove_arrays_set_dense(a, &x), DROVE_E_ARG, "expected numbers, found none");
    x = drove_matrix_dense(values, DROVE_TYPE_F32, UINT32_MAX, 1);
    refused(drove_arrays_set_dense(a, &x), DROVE_E_ARG, "expected fewer than 2^32 - 1 rows");
    x = drove_matrix_dense(values, (drove_type)77, 2, 2);
    refused(drove_arrays_set_dense(a, &x), DROVE_E_ARG, "a type of drove_type, found 77");
    drove_arrays_destroy(a);
}

TEST(images_have_as_many_numbers_as_a_row)
{
    static float values[24];
    drove_arrays *a;
    assert_ok(drove_arrays_create(&a));
    refused(drove_arrays_set_images(a, 1, 1, 0), DROVE_E_SHAPE, "expected images of 0 numbers");
    const drove_matrix x = drove_matrix_dense(values, DROVE_TYPE_F32, 1, 24);
    assert_ok(drove_arrays_set_dense(a, &x));
    assert_ok(drove_arrays_set_images(a, 2, 3, 4));
    static const size_t wrong[][3] = {{2, 3, 5},
                                      {0, 3, 4},
                                      {2, 0, 4},
                                      {SIZE_MAX, 3, 8},
                                      {SIZE_MAX / 2 + 1, 2, 24},
                                      {2, SIZE_MAX / 2 + 1, 24},
                                      {3, 4, SIZE_MAX}};
    for (size_t i = 0; i < DROVE_COUNT(wrong); i++)
        refused(drove_arrays_set_images(a, wrong[i][0], wrong[i][1], wrong[i][2]), DROVE_E_SHAPE,
                "expected images of 24 numbers");
    drove_arrays_destroy(a);
}

/* ---- sparse ---- */

static const int start[] = {0, 2, 2, 4}, column[] = {1, 4, 0, 3};
static const float value[] = {5, 6, 7, 8};

typedef union words {
    int32_t i32[4];
    uint32_t u32[4];
    int64_t i64[4];
    uint64_t u64[4];
} words;

static void fill(words *w, drove_type type, const int *from)
{
    for (int i = 0; i < 4; i++) {
        if (type == DROVE_TYPE_I32 || type == DROVE_TYPE_U32) w->i32[i] = from[i];
        else w->i64[i] = from[i];
    }
}

static const drove_type index_types[] = {DROVE_TYPE_I32, DROVE_TYPE_U32, DROVE_TYPE_I64,
                                         DROVE_TYPE_U64};

TEST(starts_and_indices_have_any_whole_type)
{
    for (int s = 0; s < 4; s++) {
        for (int k = 0; k < 4; k++) {
            drove_arrays *a;
            words starts, indices;
            fill(&starts, index_types[s], start);
            fill(&indices, index_types[k], column);
            const drove_sparse x = {.n_rows = 3,
                                    .n_columns = 5,
                                    .start = &starts,
                                    .index = &indices,
                                    .value = value,
                                    .start_type = index_types[s],
                                    .index_type = index_types[k],
                                    .value_type = DROVE_TYPE_F32};
            assert_ok(drove_arrays_create(&a));
            assert_ok(drove_arrays_set_sparse(a, &x));
            /* 64-bit starts and 32-bit indices are drove's own */
            assert_int_equal(drove_arrays_copied_bytes(a), (s < 2 ? 4 * sizeof(uint64_t) : 0) +
                                                               (k >= 2 ? 4 * sizeof(uint32_t) : 0));
            drove_data *d = open_data(drove_arrays_name(a));
            for (size_t row = 0; row < 3; row++)
                for (size_t j = 0; j < 5; j++) {
                    float expected = 0;
                    for (int at = start[row]; at < start[row + 1]; at++)
                        if ((size_t)column[at] == j) expected = value[at];
                    assert_true(value_at(d, row, j) == expected);
                }
            drove_data_destroy(d);
            drove_arrays_destroy(a);
        }
    }
}

TEST(starts_and_indices_are_checked)
{
    for (int t = 0; t < 4; t++) {
        const bool is_signed = t % 2 == 0;
        for (int which = 0; which < 7; which++) {
            drove_arrays *a;
            words starts, indices;
            int own_start[4], own_column[4];
            const char *text = NULL;
            memcpy(own_start, start, sizeof start);
            memcpy(own_column, column, sizeof column);
            if (which == 0) own_start[0] = 1, text = "start[0]: expected 0 first";
            if (which == 1)
                own_start[2] = 1, text = "start[2]: expected 0 first and then ascending "
                                         "numbers, found 1 after 2";
            if (which == 2)
                own_column[3] = 5, text = "index[3]: expected a number below 5, found 5";
            if (which == 3) own_column[0] = -1, text = is_signed ? "below 5, found -1" : "below 5";
            if (which == 4) own_start[3] = -1, text = "start[3]: ";
            if (which == 5) own_column[3] = 4;
            if (which == 4 && t == 1) continue; /* 2^32 - 1 numbers */
            fill(&starts, index_types[t], own_start);
            fill(&indices, index_types[t], own_column);
            const drove_sparse x = {.n_rows = 3,
                                    .n_columns = 5,
                                    .start = &starts,
                                    .index = &indices,
                                    .value = value,
                                    .start_type = index_types[t],
                                    .index_type = index_types[t],
                                    .value_type = DROVE_TYPE_F32};
            assert_ok(drove_arrays_create(&a));
            if (text == NULL) assert_ok(drove_arrays_set_sparse(a, &x));
            else refused(drove_arrays_set_sparse(a, &x), DROVE_E_DATA, text);
            drove_arrays_destroy(a);
        }
    }
    for (int which = 0; which < 3; which++) {
        drove_arrays *a;
        drove_sparse x = {.n_rows = 3,
                          .n_columns = 5,
                          .start = start,
                          .index = column,
                          .value = value,
                          .start_type = which == 0 ? DROVE_TYPE_I16 : DROVE_TYPE_I32,
                          .index_type = which == 1 ? DROVE_TYPE_F32 : DROVE_TYPE_I32,
                          .value_type = which == 2 ? (drove_type)77 : DROVE_TYPE_F32};
        assert_ok(drove_arrays_create(&a));
        refused(drove_arrays_set_sparse(a, &x), DROVE_E_ARG,
                "expected starts and indices of 32 or 64 bits and values of a type of drove_type");
        x.start_type = x.index_type = DROVE_TYPE_I32;
        x.value = NULL; /* all are 1: no type is looked at */
        assert_ok(drove_arrays_set_sparse(a, &x));
        drove_arrays_destroy(a);
    }
}
