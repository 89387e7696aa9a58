/* Predictions for a stream of record batches: computed batch by batch, the same as for all rows. */
#include "system/run_support.h"
#include "support/status.h"

#include <drove/arrow.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 60, COLUMNS = 2 };

/* Rows in batches of size[], the last one 0; at batch number fails_at get_next fails. */
typedef struct rows {
    size_t size[4];
    size_t n_given, at;
    size_t fails_at; /* SIZE_MAX: never */
    const uint8_t *valid;
    size_t n_columns;
    unsigned n_released; /* batches and the stream */
} rows;

static float a[N];
static int32_t b[N];

/* ---- a producer ---- */

typedef struct batch {
    rows *of;
    const void *no_bitmap, *buffer[COLUMNS][2];
    struct ArrowArray column[COLUMNS], *columns[COLUMNS];
} batch;

static void release_column(struct ArrowArray *array)
{
    array->release = NULL;
}

static void release_batch(struct ArrowArray *array)
{
    batch *own = array->private_data;
    own->of->n_released++;
    free(own);
    array->release = NULL;
}

static void release_schema(struct ArrowSchema *schema)
{
    schema->release = NULL;
}

static void release_rows(struct ArrowArrayStream *stream)
{
    rows *r = stream->private_data;
    r->n_released++;
    stream->release = NULL;
}

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    static struct ArrowSchema field[COLUMNS], *fields[COLUMNS] = {&field[0], &field[1]};
    const rows *r = stream->private_data;
    for (int i = 0; i < COLUMNS; i++)
        field[i] = (struct ArrowSchema){.format = i == 0 ? "f" : "i",
                                        .name = i == 0 ? "a" : "b",
                                        .flags = ARROW_FLAG_NULLABLE,
                                        .release = release_schema};
    *out = (struct ArrowSchema){.format = "+s",
                                .n_children = (int64_t)r->n_columns,
                                .children = fields,
                                .release = release_schema};
    return 0;
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    rows *r = stream->private_data;
    out->release = NULL;
    if (r->n_given == r->fails_at) return EIO;
    if (r->n_given == DROVE_COUNT(r->size)) return 0;
    const size_t n = r->size[r->n_given++];
    batch *own = calloc(1, sizeof *own);
    assert_non_null(own);
    own->of = r;
    own->buffer[0][0] = r->valid;
    own->buffer[0][1] = a + r->at;
    own->buffer[1][1] = b + r->at;
    for (int i = 0; i < COLUMNS; i++) {
        own->columns[i] = &own->column[i];
        own->column[i] = (struct ArrowArray){.length = (int64_t)n,
                                             .null_count = i == 0 && r->valid != NULL ? -1 : 0,
                                             .n_buffers = 2,
                                             .buffers = own->buffer[i],
                                             .release = release_column};
    }
    r->at += n;
    *out = (struct ArrowArray){.length = (int64_t)n,
                               .n_buffers = 1,
                               .n_children = (int64_t)r->n_columns,
                               .buffers = &own->no_bitmap,
                               .children = own->columns,
                               .release = release_batch,
                               .private_data = own};
    return 0;
}

static const char *get_last_error(struct ArrowArrayStream *stream)
{
    (void)stream;
    return "the disk is gone\nby a call\n";
}

static struct ArrowArrayStream stream_of(rows *r)
{
    return (struct ArrowArrayStream){.get_schema = get_schema,
                                     .get_next = get_next,
                                     .get_last_error = get_last_error,
                                     .release = release_rows,
                                     .private_data = r};
}

static rows all_rows(void)
{
    return (rows){.size = {7, 0, 50, 3}, .fails_at = SIZE_MAX, .n_columns = COLUMNS};
}

/* ---- models ---- */

static void make_rows(void)
{
    FILE *file = fopen("rows.csv", "w");
    assert_non_null(file);
    fprintf(file, "a,b,y\n");
    for (int i = 0; i < N; i++) {
        a[i] = (float)(i % 13) / 4;
        b[i] = i * i % 17;
        fprintf(file, "%g,%d,%g\n", (double)a[i], (int)b[i], (double)(a[i] * 2 - (float)b[i]));
    }
    assert_int_equal(fclose(file), 0);
}

static drove_predictor *train(const char *data, const char *label)
{
    drove_options opt = drove__options_default();
    set(&opt, "data", data);
    if (label != NULL) set(&opt, "label", label);
    set(&opt, "test", "none");
    set(&opt, "model", "mlp:8");
    set(&opt, "strategy", "sequential");
    set(&opt, "threads", "1");
    set(&opt, "until", "epochs=3");
    set(&opt, "lr", "0.01");
    return train_predictor(&opt);
}

static drove_predictor *train_on_numbers(float x[N][COLUMNS])
{
    float y[N];
    drove_arrays *arrays;
    for (int i = 0; i < N; i++) {
        x[i][0] = a[i];
        x[i][1] = (float)b[i];
        y[i] = 2 * a[i] - (float)b[i];
    }
    const drove_matrix matrix = drove_matrix_dense(x, DROVE_TYPE_F32, N, COLUMNS);
    const drove_matrix values = drove_matrix_dense(y, DROVE_TYPE_F32, N, 1);
    assert_ok(drove_arrays_create(&arrays));
    assert_ok(drove_arrays_set_dense(arrays, &matrix));
    assert_ok(drove_arrays_set_values(arrays, &values));
    drove_predictor *predictor = train(drove_arrays_name(arrays), NULL);
    drove_arrays_destroy(arrays);
    return predictor;
}

/* ---- tests ---- */

/* Reads the stream to its end: into[N], the number of batches. */
static size_t read_all(struct ArrowArrayStream *stream, const rows *r, double *into)
{
    size_t n = 0, n_batches = 0;
    for (;; n_batches++) {
        struct ArrowArray got;
        assert_int_equal(stream->get_next(stream, &got), 0);
        if (got.release == NULL) return n_batches;
        assert_int_equal(r->n_given, n_batches + 1);    /* no batch before it is asked for */
        assert_int_equal(r->n_released, n_batches + 1); /* and none kept */
        assert_true(got.n_children == 1 && n + (size_t)got.length <= N);
        memcpy(into + n, got.children[0]->buffers[1], (size_t)got.length * sizeof *into);
        n += (size_t)got.length;
        got.release(&got);
    }
}

TEST(a_model_of_a_table)
{
    double found[N];
    float *expected;
    size_t n_rows;
    struct ArrowArrayStream out;
    struct ArrowSchema schema;
    rows r = all_rows();
    struct ArrowArrayStream in = stream_of(&r);
    make_rows();
    drove_predictor *predictor = train("table:rows.csv", "y");
    assert_ok(drove_predictor_apply(predictor, "table:rows.csv", 1, &expected, &n_rows));
    assert_ok(drove_predictor_stream(predictor, &in, 1, &out));
    assert_null(in.release); /* moved */
    drove_predictor_destroy(predictor);
    assert_int_equal(r.n_given, 0);
    assert_int_equal(out.get_schema(&out, &schema), 0);
    assert_string_equal(schema.children[0]->name, "value");
    assert_string_equal(schema.children[0]->format, "g"); /* doubles, as the target may need them */
    schema.release(&schema);
    assert_int_equal(read_all(&out, &r, found), DROVE_COUNT(r.size));
    for (size_t i = 0; i < N; i++) assert_true(fabs(found[i] - (double)expected[i]) <= 1e-5);
    out.release(&out);
    assert_null(out.release);
    assert_int_equal(r.n_released, DROVE_COUNT(r.size) + 1);
    free(expected);
}

TEST(a_model_of_numbers)
{
    float x[N][COLUMNS], expected[N];
    double found[N];
    struct ArrowArrayStream out;
    rows r = all_rows();
    struct ArrowArrayStream in = stream_of(&r);
    make_rows();
    drove_predictor *predictor = train_on_numbers(x);
    const drove_matrix matrix = drove_matrix_dense(x, DROVE_TYPE_F32, N, COLUMNS);
    assert_ok(drove_predictor_rows(predictor, &matrix, expected));
    assert_ok(drove_predictor_stream(predictor, &in, 2, &out));
    assert_int_equal(read_all(&out, &r, found), DROVE_COUNT(r.size));
    for (size_t i = 0; i < N; i++) assert_true(fabs(found[i] - (double)expected[i]) <= 1e-5);
    out.release(&out);
    drove_predictor_destroy(predictor);
}

static void expect_error(drove_predictor *predictor, rows *r, int code, const char *text)
{
    struct ArrowArrayStream in = stream_of(r), out;
    struct ArrowArray got;
    assert_ok(drove_predictor_stream(predictor, &in, 1, &out));
    int found = 0;
    while (found == 0) {
        found = out.get_next(&out, &got);
        if (found == 0) assert_non_null(got.release);
        if (got.release != NULL) got.release(&got);
    }
    assert_int_equal(found, code);
    assert_string_equal(out.get_last_error(&out), text);
    out.release(&out);
    assert_int_equal(r->n_released, r->n_given + 1);
}

TEST(what_is_wrong_with_a_batch)
{
    static const uint8_t valid[] = {0xfb, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    float x[N][COLUMNS];
    make_rows();
    drove_predictor *predictor = train_on_numbers(x);
    rows r = all_rows();
    r.fails_at = 2;
    expect_error(predictor, &r, EIO, "the disk is gone"); /* one line */
    r = all_rows();
    r.valid = valid;
    expect_error(predictor, &r, EINVAL,
                 "predictions: column \"a\": row 3: expected a number, found a missing cell");
    r = all_rows();
    r.n_columns = 1;
    expect_error(predictor, &r, EINVAL,
                 "predictions: expected 2 columns, as in the training data, found 1");
    struct ArrowArrayStream none = {.release = NULL}, out;
    assert_int_equal(drove_predictor_stream(predictor, &none, 1, &out), DROVE_E_DATA);
    assert_null(out.release);
    drove_predictor_destroy(predictor);
}

/* Columns of a batch are found by their names; the library's own name of the batch is not told. */
TEST(what_is_wrong_with_a_batch_of_a_table)
{
    make_rows();
    drove_predictor *predictor = train("table:rows.csv", "y");
    rows r = all_rows();
    r.n_columns = 1;
    expect_error(predictor, &r, EINVAL,
                 "expected the columns of the training data; 1 missing: \"b\"");
    drove_predictor_destroy(predictor);
}
