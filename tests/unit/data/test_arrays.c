/* Data in memory: the same rows as from files that hold the same numbers; what is borrowed, what is
 * copied; what is refused. */
#include "support.h"

#include "base/file.h"
#include "base/mem.h"

#include <drove/arrays.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 7, D = 3 };

static const double numbers[N][D] = {{1, 0, 2}, {0, 0, 3}, {0, 4, 0}, {5, 6, 7},
                                     {0, 0, 0}, {8, 0, 9}, {0, 1, 0}};
static const int classes[N] = {0, 1, 2, 1, 0, 2, 2};
static const char *const names[] = {"red", "green", "blue"};

static void refused(drove_status status, drove_status expected, const char *word)
{
    assert_int_equal(status, expected);
    if (strstr(drove_error_text(), word) == NULL)
        fail_msg("expected \"%s\" in: %s", word, drove_error_text());
}

static drove_arrays *with_rows(const drove_matrix *x)
{
    drove_arrays *a;
    assert_ok(drove_arrays_create(&a));
    assert_ok(drove_arrays_set_dense(a, x));
    return a;
}

static drove_data *open_arrays(const drove_arrays *a)
{
    return open_data(drove_arrays_name(a));
}

/* ---- dense ---- */

static void write_csv(const char *path)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    for (int i = 0; i < N; i++)
        fprintf(f, "%g,%g,%g,%s\n", numbers[i][0], numbers[i][1], numbers[i][2], names[classes[i]]);
    assert_int_equal(fclose(f), 0);
}

#define FILL(type, name)                                                                           \
    type name[N][D];                                                                               \
    for (int i = 0; i < N; i++)                                                                    \
        for (int j = 0; j < D; j++) name[i][j] = (type)numbers[i][j]

static void check_dense(const drove_matrix *x, const drove_data *expected)
{
    drove_arrays *a = with_rows(x);
    const drove_matrix y = drove_matrix_dense(classes, DROVE_TYPE_I32, N, 1);
    assert_ok(drove_arrays_set_classes(a, &y, 3, names));
    drove_data *data = open_arrays(a);
    expect_same(data, expected);
    drove_data_destroy(data);
    drove_arrays_destroy(a);
}

TEST(every_type_and_every_step)
{
    write_csv("plain.csv");
    drove_data *expected = open_data("csv:plain.csv?label=last");
    FILL(float, f32);
    FILL(double, f64);
    FILL(uint8_t, u8);
    FILL(int8_t, i8);
    FILL(uint16_t, u16);
    FILL(int16_t, i16);
    FILL(uint32_t, u32);
    FILL(int32_t, i32);
    FILL(uint64_t, u64);
    FILL(int64_t, i64);
    const void *const all[] = {f32, f64, u8, i8, u16, i16, u32, i32, u64, i64};
    for (int type = DROVE_TYPE_F32; type <= DROVE_TYPE_I64; type++) {
        drove_matrix x = drove_matrix_dense(all[type], (drove_type)type, N, D);
        if (type != DROVE_TYPE_U8) check_dense(&x, expected); /* bytes have a scaling of theirs */
        drove_matrix back = x; /* from the last row to the first: the same, turned around twice */
        back.values = (const char *)x.values + (N - 1) * x.row_bytes;
        back.row_bytes = -x.row_bytes;
        drove_arrays *a = with_rows(&back);
        drove_data *data = open_arrays(a);
        for (size_t i = 0; i < N; i++)
            for (size_t j = 0; j < D; j++)
                assert_true((double)value_at(data, i, j) == numbers[N - 1 - i][j]);
        drove_data_destroy(data);
        drove_arrays_destroy(a);
    }
    float columns[D][N]; /* one column after the other */
    for (int i = 0; i < N; i++)
        for (int j = 0; j < D; j++) columns[j][i] = f32[i][j];
    const drove_matrix turned = {columns, DROVE_TYPE_F32, N, D, sizeof(float), sizeof columns[0]};
    check_dense(&turned, expected);
    drove_data_destroy(expected);
}

TEST(floats_and_bytes_are_borrowed)
{
    FILL(float, f32);
    FILL(uint8_t, u8);
    FILL(double, f64);
    drove_matrix x = drove_matrix_dense(f32, DROVE_TYPE_F32, N, D);
    drove_arrays *a = with_rows(&x);
    drove_data *data = open_arrays(a);
    assert_ptr_equal(data->storage->x_f32, f32);
    assert_int_equal(drove_arrays_copied_bytes(a), 0);
    drove_arrays_destroy(a); /* the data go on */
    assert_true(value_at(data, 3, 1) == 6.0f);
    drove_data_destroy(data);
    x = drove_matrix_dense(u8, DROVE_TYPE_U8, N, D);
    a = with_rows(&x);
    data = open_arrays(a);
    assert_ptr_equal(data->storage->x_u8, u8);
    assert_true(fabsf(scaled_at(data, 5, 2) - 9.0f / 255.0f) < 1e-7f);
    drove_data_destroy(data);
    x = drove_matrix_dense(f64, DROVE_TYPE_F64, N, D);
    assert_ok(drove_arrays_set_dense(a, &x));
    assert_int_equal(drove_arrays_copied_bytes(a), N * D * sizeof(float));
    drove_arrays_destroy(a);
}

/* ---- sparse ---- */

typedef struct compressed {
    int32_t start32[N + 1], index32[N * D];
    int64_t start64[N + 1], index64[N * D];
    float value[N * D];
    double value64[N * D];
} compressed;

/* By rows, or by columns; backwards: the entries of a line descend. */
static drove_sparse compress(compressed *c, bool by_columns, bool backwards)
{
    const int n_lines = by_columns ? D : N, n_across = by_columns ? N : D;
    int n = 0;
    for (int i = 0; i < n_lines; i++) {
        c->start32[i] = n;
        c->start64[i] = n;
        for (int k = 0; k < n_across; k++) {
            const int j = backwards ? n_across - 1 - k : k;
            const double x = by_columns ? numbers[j][i] : numbers[i][j];
            if (x == 0) continue;
            c->index32[n] = j;
            c->index64[n] = j;
            c->value[n] = (float)x;
            c->value64[n++] = x;
        }
    }
    c->start32[n_lines] = n;
    c->start64[n_lines] = n;
    return (drove_sparse){.n_rows = N,
                          .n_columns = D,
                          .start = c->start64,
                          .start_type = DROVE_TYPE_I64,
                          .index = c->index32,
                          .index_type = DROVE_TYPE_I32,
                          .value = c->value,
                          .value_type = DROVE_TYPE_F32,
                          .is_by_columns = by_columns};
}

static void check_sparse(const drove_sparse *x, const drove_data *expected, bool is_borrowed)
{
    drove_arrays *a;
    assert_ok(drove_arrays_create(&a));
    assert_ok(drove_arrays_set_sparse(a, x));
    const drove_matrix y = drove_matrix_dense(classes, DROVE_TYPE_I32, N, 1);
    assert_ok(drove_arrays_set_classes(a, &y, 3, NULL));
    drove_data *data = open_arrays(a);
    expect_same(data, expected);
    assert_int_equal(drove_arrays_copied_bytes(a) == 0, is_borrowed);
    if (is_borrowed) {
        assert_ptr_equal(data->storage->value, x->value);
        assert_ptr_equal(data->storage->index, x->index);
        assert_ptr_equal(data->storage->row_start, x->start);
    }
    drove_data_destroy(data);
    drove_arrays_destroy(a);
}

TEST(sparse_rows_and_columns)
{
    FILE *f = fopen("sparse.txt", "w");
    assert_non_null(f);
    for (int i = 0; i < N; i++) {
        fprintf(f, "%d", classes[i]);
        for (int j = 0; j < D; j++)
            if (numbers[i][j] != 0) fprintf(f, " %d:%g", j + 1, numbers[i][j]);
        fputc('\n', f);
    }
    assert_int_equal(fclose(f), 0);
    drove_data *expected = open_data("libsvm:sparse.txt?base=1");
    compressed c;
    drove_sparse x = compress(&c, false, false);
    check_sparse(&x, expected, true);
    x.start = c.start32;
    x.start_type = DROVE_TYPE_I32;
    check_sparse(&x, expected, false);
    x.index = c.index64;
    x.index_type = DROVE_TYPE_I64;
    x.value = c.value64;
    x.value_type = DROVE_TYPE_F64;
    check_sparse(&x, expected, false);
    x = compress(&c, false, true); /* SciPy's rows need not be sorted */
    check_sparse(&x, expected, false);
    assert_int_equal(c.index32[0], 2); /* the caller's are as they were */
    x = compress(&c, true, false);
    check_sparse(&x, expected, false);
    x = compress(&c, true, true);
    check_sparse(&x, expected, false);
    drove_data_destroy(expected);
}

/* As of the text of such rows: a step then reads no values. */
TEST(values_that_are_all_one_are_left_out)
{
    static const float one[] = {1, 1, 1, 1}, other[] = {1, 1, 1, 2};
    static const double wide[] = {1, 1, 1, 1};
    static const int32_t start[] = {0, 1, 2, 3, 4}, index[] = {0, 0, 0, 0};
    const drove_sparse x = {.n_rows = 4,
                            .n_columns = 4,
                            .start = start,
                            .start_type = DROVE_TYPE_I32,
                            .index = index,
                            .index_type = DROVE_TYPE_I32,
                            .value = one};
    for (int by_columns = 0; by_columns < 2; by_columns++) {
        for (int i = 0; i < 3; i++) {
            drove_arrays *a;
            drove_sparse y = x;
            const int32_t column[] = {0, 1, 2, 3};
            if (by_columns) y.index = column;
            y.is_by_columns = by_columns;
            y.value = i == 0 ? (const void *)one : i == 1 ? (const void *)wide : other;
            y.value_type = i == 1 ? DROVE_TYPE_F64 : DROVE_TYPE_F32;
            assert_ok(drove_arrays_create(&a));
            assert_ok(drove_arrays_set_sparse(a, &y));
            drove_data *data = open_arrays(a);
            assert_int_equal(data->storage->value == NULL, i < 2);
            if (i == 2) assert_true(data->storage->value[3] == 2.0f);
            drove_data_destroy(data);
            drove_arrays_destroy(a);
        }
    }
}

TEST(bad_sparse_arrays)
{
    compressed c;
    drove_arrays *a;
    assert_ok(drove_arrays_create(&a));
    drove_sparse x = compress(&c, false, false);
    c.index32[3] = 3;
    refused(drove_arrays_set_sparse(a, &x), DROVE_E_DATA, "index[3]: expected a number below 3");
    c.index32[3] = -1;
    refused(drove_arrays_set_sparse(a, &x), DROVE_E_DATA, "found -1");
    x = compress(&c, false, false);
    c.index32[1] = 0; /* the first row has 0 and 2 */
    refused(drove_arrays_set_sparse(a, &x), DROVE_E_DATA, "row 0: expected each column once");
    x = compress(&c, false, false);
    c.start64[2] = 1;
    refused(drove_arrays_set_sparse(a, &x), DROVE_E_DATA, "start[2]");
    c.start64[0] = 1;
    refused(drove_arrays_set_sparse(a, &x), DROVE_E_DATA, "start[0]");
    x.index_type = DROVE_TYPE_F32;
    refused(drove_arrays_set_sparse(a, &x), DROVE_E_ARG, "32 or 64 bits");
    expect_refusal(drove_arrays_name(a), NULL, DROVE_E_ARG, "no rows", NULL);
    drove_arrays_destroy(a);
}

/* ---- targets ---- */

TEST(values_labels_and_weights)
{
    FILL(float, f32);
    const drove_matrix x = drove_matrix_dense(f32, DROVE_TYPE_F32, N, D);
    drove_arrays *a = with_rows(&x);
    const double y[N][2] = {{1, 2}, {3, 4}, {5, 6}, {7, 8}, {9, 10}, {11, 12}, {13, 14}};
    const drove_matrix values = drove_matrix_dense(y, DROVE_TYPE_F64, N, 2);
    assert_ok(drove_arrays_set_values(a, &values));
    drove_data *data = open_arrays(a);
    assert_int_equal(data->storage->n_values, 2);
    assert_true(data->storage->y_value[2 * 5 + 1] == 12.0f);
    drove_data_destroy(data);
    const uint8_t has[N][3] = {{1, 0, 1}, {0, 0, 0}, {0, 2, 0}, {1, 1, 1}};
    const drove_matrix labels = drove_matrix_dense(has, DROVE_TYPE_BOOL, N, 3);
    assert_ok(drove_arrays_set_labels(a, &labels, names));
    const float w[N] = {1, 2, 3, 4, 5, 6, 7};
    const drove_matrix weights = drove_matrix_dense(w, DROVE_TYPE_F32, N, 1);
    assert_ok(drove_arrays_set_weights(a, &weights));
    data = open_arrays(a);
    const drove_storage *s = data->storage;
    assert_int_equal(s->y_kind, DROVE_Y_LABELS);
    const uint64_t starts[] = {0, 2, 2, 3, 6, 6, 6, 6};
    const uint32_t expected[] = {0, 2, 1, 0, 1, 2};
    assert_memory_equal(s->label_start, starts, sizeof starts);
    assert_memory_equal(s->label, expected, sizeof expected);
    assert_string_equal(s->class_name[2], "blue");
    assert_memory_equal(s->weight, w, sizeof w);
    drove_data_destroy(data);
    drove_arrays_destroy(a);
}

TEST(bad_targets)
{
    FILL(float, f32);
    const drove_matrix x = drove_matrix_dense(f32, DROVE_TYPE_F32, N, D);
    drove_arrays *a = with_rows(&x);
    double y[N] = {0, 1, 2, 1.5, 0, 0, 0};
    drove_matrix m = drove_matrix_dense(y, DROVE_TYPE_F64, N, 1);
    refused(drove_arrays_set_classes(a, &m, 3, NULL), DROVE_E_DATA, "row 3: expected a class");
    y[3] = 3;
    refused(drove_arrays_set_classes(a, &m, 3, NULL), DROVE_E_DATA, "from 0 to 2, found 3");
    y[3] = NAN;
    refused(drove_arrays_set_classes(a, &m, 3, NULL), DROVE_E_DATA, "found nan");
    refused(drove_arrays_set_weights(a, &m), DROVE_E_DATA, "row 3: expected a weight");
    y[3] = -1;
    refused(drove_arrays_set_weights(a, &m), DROVE_E_DATA, "found -1");
    const drove_matrix endless = {y, DROVE_TYPE_F64, N, SIZE_MAX / 8, 0, 0};
    refused(drove_arrays_set_values(a, &endless), DROVE_E_ARG, "that memory can hold");
    refused(drove_arrays_set_labels(a, &endless, NULL), DROVE_E_ARG, "that memory can hold");
    const char *const gap[] = {"a", NULL, "c"};
    const drove_matrix numbers_of = drove_matrix_dense(classes, DROVE_TYPE_I32, N, 1);
    refused(drove_arrays_set_classes(a, &numbers_of, 3, gap), DROVE_E_ARG, "class 1");
    m.n_rows = N - 1;
    refused(drove_arrays_set_values(a, &m), DROVE_E_SHAPE, "expected 7");
    refused(drove_arrays_set_images(a, 1, 2, 2), DROVE_E_SHAPE, "1 x 2 x 2");
    assert_ok(drove_arrays_set_images(a, 3, 1, 1));
    f32[2][1] = INFINITY;
    expect_refusal(drove_arrays_name(a), NULL, DROVE_E_DATA, "inf", NULL);
    drove_arrays_destroy(a);
    expect_refusal("memory:999999", NULL, DROVE_E_ARG, "found none", NULL);
    expect_refusal("memory:x", NULL, DROVE_E_ARG, "found none", NULL);
}

/* ---- files in memory ---- */

TEST(a_file_in_memory_reads_as_one_on_disk)
{
    size_t n;
    write_csv("on-disk.csv");
    char *text = read_bytes("on-disk.csv", &n), spec[80];
    write_gzip("on-disk.csv.gz", text, n);
    size_t n_packed;
    char *packed = read_bytes("on-disk.csv.gz", &n_packed);
    drove_data *expected = open_data("table:on-disk.csv");
    for (int copies = 0; copies < 2; copies++) {
        for (int is_packed = 0; is_packed < 2; is_packed++) {
            drove_memory_file *file;
            assert_ok(drove_memory_file_create(is_packed ? packed : text, is_packed ? n_packed : n,
                                               copies, &file));
            snprintf(spec, sizeof spec, "table:%s", drove_memory_file_name(file));
            drove_data *data = open_data(spec);
            expect_same(data, expected);
            drove_data_destroy(data);
            drove_memory_file_destroy(file);
            expect_refusal(spec, NULL, DROVE_E_FILE, "cannot be opened", NULL);
        }
    }
    drove_data_destroy(expected);
    free(text);
    free(packed);
}

TEST(a_written_file_replaces_what_was_there)
{
    drove_memory_file *file;
    drove_writer *w;
    char *text;
    size_t n;
    assert_ok(drove_memory_file_create("old", 3, 1, &file));
    assert_ok(drove__writer_create(drove_memory_file_name(file), &w));
    assert_ok(drove__writer_write(w, "new content", 11));
    assert_ok(drove__file_load(drove_memory_file_name(file), 100, &text, &n));
    assert_string_equal(text, "old");
    free(text);
    assert_ok(drove__writer_commit(w));
    assert_ok(drove__file_load(drove_memory_file_name(file), 100, &text, &n));
    assert_string_equal(text, "new content");
    free(text);
    assert_ok(drove__writer_create(drove_memory_file_name(file), &w));
    assert_ok(drove__writer_write(w, "lost", 4));
    drove__writer_abort(w);
    assert_ok(drove__file_load(drove_memory_file_name(file), 100, &text, &n));
    assert_string_equal(text, "new content");
    free(text);
    drove_memory_file_destroy(file);
}
