/* Batches that the program delivers: a file of rows that holds what arrays hold, in the order of
 * the classes; a trainer that makes the steps of passes by hand; sources that fail or do not go
 * together. */
#include "system/run_support.h"
#include "support/status.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 90, D = 5, ROWS = 40 }; /* batches of 40, 40 and 10 rows */

static float x[N][D], value[N], weight[N];
static uint8_t bytes[N][D];
static int32_t met[N]; /* classes in the order in which they are met */
static const char *const names[] = {"20", "3", "100"};

FIXTURE(make_rows)
{
    uint32_t random = 7;
    for (int i = 0; i < N; i++) {
        met[i] = i < ROWS ? i % 2 : i % 3;
        weight[i] = 1.0f + (float)(i % 4);
        value[i] = 0.0f;
        for (int j = 0; j < D; j++) {
            random = random * 1664525u + 1013904223u;
            x[i][j] = (float)(random >> 8) * 0x1p-24f + (j == met[i] ? 0.5f : 0.0f);
            bytes[i][j] = (uint8_t)(random >> 24);
            value[i] += x[i][j] * (float)(j - 2);
        }
    }
    return 0;
}

GROUP(make_rows, NULL);

typedef enum targets {
    CLASSES,
    NAMED,
    VALUES,
    NO_TARGETS,
    OTHER_WIDTH,
    OTHER_TYPE,
    FAILS,
    FORGETS
} targets;

typedef struct feed {
    targets targets;
    bool has_weights;
    const uint32_t *class_number;
    size_t at, n_calls;
} feed;

/* One batch has what its name says, the second one; the others are of classes. */
static drove_status set_examples(const feed *f, drove_arrays *rows, size_t n)
{
    const bool is_odd = f->n_calls == 2;
    const size_t width = is_odd && f->targets == OTHER_WIDTH ? D - 1 : D;
    const drove_matrix m =
        is_odd && f->targets == OTHER_TYPE
            ? drove_matrix_dense(bytes[f->at], DROVE_TYPE_U8, n, D)
            : (drove_matrix){
                  x[f->at],     DROVE_TYPE_F32, n, width, (ptrdiff_t)(width * sizeof(float)),
                  sizeof(float)};
    return drove_arrays_set_dense(rows, &m);
}

static drove_status next(void *context, drove_batch_request *request)
{
    feed *f = context;
    const size_t n = N - f->at < ROWS ? N - f->at : ROWS;
    f->n_calls++;
    request->is_over = n == 0;
    request->class_number = f->class_number;
    if (n == 0) return DROVE_OK;
    if (f->n_calls == 2 && f->targets == FORGETS) return DROVE_OK;
    if (f->n_calls == 2 && f->targets == FAILS) {
        snprintf(request->why, request->why_size, "the line is dead");
        return DROVE_E_IO;
    }
    drove_status status = set_examples(f, request->rows, n);
    const drove_matrix v = drove_matrix_dense(value + f->at, DROVE_TYPE_F32, n, 1);
    const drove_matrix c = drove_matrix_dense(met + f->at, DROVE_TYPE_I32, n, 1);
    const drove_matrix w = drove_matrix_dense(weight + f->at, DROVE_TYPE_F32, n, 1);
    const size_t n_classes = f->at + n <= ROWS ? 2 : 3; /* known so far */
    if (status == DROVE_OK && f->targets == VALUES)
        status = drove_arrays_set_values(request->rows, &v);
    else if (status == DROVE_OK && (f->targets != NO_TARGETS || f->n_calls != 2))
        status = drove_arrays_set_classes(request->rows, &c, n_classes,
                                          f->targets == NAMED ? names : NULL);
    if (status == DROVE_OK && f->has_weights) status = drove_arrays_set_weights(request->rows, &w);
    f->at += n;
    return status;
}

static drove_status write_rows(feed *f, uint64_t *n)
{
    const drove_batch_source source = {.context = f, .next = next};
    (void)unlink("batches.rows");
    return drove_batches_write(&source, "batches.rows", n);
}

static drove_data *read_rows(void)
{
    drove_data *data, *test;
    assert_ok(drove_data_open("rows:batches.rows", "", 1, &data, &test));
    return data;
}

TEST(the_file_has_all_rows)
{
    feed f = {.targets = VALUES, .has_weights = true};
    uint64_t n = 0;
    assert_ok(write_rows(&f, &n));
    assert_int_equal(n, N);
    assert_int_equal(f.n_calls, 4);
    drove_data *data = read_rows();
    const drove_storage *s = data->storage;
    assert_int_equal(s->n_rows, N);
    assert_int_equal(s->n_features, D);
    assert_int_equal(s->y_kind, DROVE_Y_VALUE);
    for (size_t i = 0; i < N; i++) {
        assert_memory_equal(s->x_f32 + i * D, x[i], sizeof x[i]);
        assert_true(s->y_value[i] == value[i]);
    }
    assert_memory_equal(s->weight, weight, sizeof weight);
    drove_data_destroy(data);
}

/* 3, 20, 100: by value; the file's number of a class that was met. */
TEST(named_classes_are_put_in_order)
{
    static const int32_t place[] = {1, 0, 2};
    static const char *const in_order[] = {"3", "20", "100"};
    feed f = {.targets = NAMED};
    assert_ok(write_rows(&f, NULL));
    drove_data *data = read_rows();
    assert_int_equal(data->storage->n_classes, 3);
    for (size_t k = 0; k < 3; k++) assert_string_equal(data->storage->class_name[k], in_order[k]);
    for (size_t i = 0; i < N; i++) assert_int_equal(data->storage->y_class[i], place[met[i]]);
    drove_data_destroy(data);
}

TEST(the_program_may_order_the_classes)
{
    static const uint32_t order[] = {2, 0, 1}, twice[] = {2, 0, 2}, beyond[] = {0, 1, 3};
    static const char *const in_order[] = {"3", "100", "20"};
    feed f = {.targets = NAMED, .class_number = order}, plain = {.class_number = order};
    assert_ok(write_rows(&f, NULL));
    drove_data *data = read_rows();
    for (size_t k = 0; k < 3; k++) assert_string_equal(data->storage->class_name[k], in_order[k]);
    for (size_t i = 0; i < N; i++)
        assert_int_equal(data->storage->y_class[i], (int32_t)order[met[i]]);
    drove_data_destroy(data);
    assert_ok(write_rows(&plain, NULL)); /* without names */
    data = read_rows();
    assert_null(data->storage->class_name);
    for (size_t i = 0; i < N; i++)
        assert_int_equal(data->storage->y_class[i], (int32_t)order[met[i]]);
    drove_data_destroy(data);
    feed wrong = {.class_number = twice}, high = {.class_number = beyond};
    assert_int_equal(write_rows(&wrong, NULL), DROVE_E_ARG);
    assert_non_null(strstr(drove_error_text(), "each of 0 to 2 once, found 2 for class 2"));
    assert_int_equal(write_rows(&high, NULL), DROVE_E_ARG);
    assert_int_equal(access("batches.rows", F_OK), -1);
}

static drove_arrays *all_rows(void)
{
    drove_arrays *rows;
    const drove_matrix m = drove_matrix_dense(x, DROVE_TYPE_F32, N, D);
    const drove_matrix c = drove_matrix_dense(met, DROVE_TYPE_I32, N, 1);
    assert_ok(drove_arrays_create(&rows));
    assert_ok(drove_arrays_set_dense(rows, &m));
    assert_ok(drove_arrays_set_classes(rows, &c, 3, NULL));
    return rows;
}

static drove_predictor *train_on(const char *data, const char *model, const char *until)
{
    drove_options opt = drove__options_default();
    set(&opt, "data", data);
    set(&opt, "test", "none");
    set(&opt, "model", model);
    set(&opt, "strategy", "sequential");
    set(&opt, "threads", "1");
    set(&opt, "rule", "sgd");
    set(&opt, "lr", "0.1");
    set(&opt, "schedule", "constant");
    set(&opt, "batch", "8");
    set(&opt, "until", until);
    return train_predictor(&opt);
}

static void assert_same(const drove_predictor *a, const drove_predictor *b)
{
    const size_t n = drove_predictor_describe(a)->n_tensors;
    for (size_t i = 0; i < n; i++) {
        drove_tensor_info p, q;
        assert_ok(drove_predictor_tensor(a, i, &p));
        assert_ok(drove_predictor_tensor(b, i, &q));
        assert_int_equal(p.n, q.n);
        if (p.values != NULL) assert_memory_equal(p.values, q.values, p.n * sizeof *p.values);
    }
}

/* A run on the file is a run on the rows. */
TEST(a_run_on_the_file_is_one_on_the_arrays)
{
    feed f = {.targets = CLASSES};
    drove_arrays *rows = all_rows();
    assert_ok(write_rows(&f, NULL));
    drove_predictor *a = train_on("rows:batches.rows", "mlp:6", "epochs=3");
    drove_predictor *b = train_on(drove_arrays_name(rows), "mlp:6", "epochs=3");
    assert_same(a, b);
    drove_predictor_destroy(a);
    drove_predictor_destroy(b);
    drove_arrays_destroy(rows);
}

static drove_trainer *open_trainer(const drove_predictor *from)
{
    drove_options *opt;
    drove_trainer *trainer;
    assert_ok(drove_options_create(&opt));
    assert_ok(drove_options_set(opt, "model", drove_predictor_name(from)));
    assert_ok(drove_options_set(opt, "rule", "momentum:0.9"));
    assert_ok(drove_options_set(opt, "lr", "0.05"));
    assert_ok(drove_options_set(opt, "batch", "16"));
    assert_ok(drove_trainer_open(opt, &trainer));
    drove_options_destroy(opt);
    return trainer;
}

static drove_predictor *model_of(drove_trainer *trainer)
{
    drove_memory_file *file;
    drove_predictor *predictor;
    char name[64];
    assert_ok(drove_trainer_model(trainer, &file));
    snprintf(name, sizeof name, "%s.safetensors", drove_memory_file_name(file));
    assert_ok(drove_predictor_open(name, NULL, &predictor));
    drove_memory_file_destroy(file);
    return predictor;
}

/* The same passes by hand; *loss: the mean over all rows. */
static void pass_by_pass(drove_trainer *trainer, double *loss)
{
    drove_arrays *rows;
    feed f = {.targets = CLASSES};
    double sum = 0;
    assert_ok(drove_arrays_create(&rows));
    while (true) {
        drove_batch_request request = {.rows = rows};
        const size_t before = f.at;
        double mean;
        int is_over;
        assert_ok(next(&f, &request));
        if (request.is_over) break;
        assert_ok(drove_trainer_begin(trainer, rows));
        assert_ok(drove_trainer_advance(trainer, 1e9, &is_over, &mean));
        sum += mean * (double)(f.at - before);
    }
    *loss = sum / N;
    drove_arrays_destroy(rows);
}

TEST(a_trainer_takes_batch_after_batch)
{
    drove_arrays *rows = all_rows();
    drove_predictor *start = train_on(drove_arrays_name(rows), "mlp:6", "epochs=1");
    drove_trainer *one = open_trainer(start), *other = open_trainer(start);
    feed f = {.targets = CLASSES};
    const drove_batch_source source = {.context = &f, .next = next};
    double loss = 0, expected = 0;
    uint64_t n = 0;
    assert_ok(drove_trainer_batches(one, &source, &loss, &n));
    pass_by_pass(other, &expected);
    assert_int_equal(n, N);
    assert_true(fabs(loss - expected) < 1e-12);
    drove_predictor *a = model_of(one), *b = model_of(other);
    assert_same(a, b);
    feed dead = {.targets = FAILS}, lazy = {.targets = FORGETS};
    const drove_batch_source fails = {.context = &dead, .next = next};
    const drove_batch_source forgets = {.context = &lazy, .next = next};
    assert_int_equal(drove_trainer_batches(one, &fails, &loss, &n), DROVE_E_IO);
    assert_string_equal(drove_error_text(), "batch 2: the line is dead");
    assert_int_equal(n, ROWS);
    assert_int_equal(drove_trainer_batches(one, &forgets, NULL, NULL), DROVE_E_DATA);
    drove_predictor_destroy(a);
    drove_predictor_destroy(b);
    drove_trainer_destroy(one);
    drove_trainer_destroy(other);
    drove_predictor_destroy(start);
    drove_arrays_destroy(rows);
}

TEST(batches_that_do_not_go_together_are_refused)
{
    static const struct {
        targets targets;
        drove_status status;
        const char *text;
    } cases[] = {
        {NO_TARGETS, DROVE_E_DATA, "batch 2: expected rows with targets, found none"},
        {FORGETS, DROVE_E_DATA, "batch 2: expected rows with targets, found none"},
        {OTHER_WIDTH, DROVE_E_SHAPE,
         "batch 2: expected 5 features as in the batches before, found 4"},
        {OTHER_TYPE, DROVE_E_SHAPE, "batch 2: expected f32 as in the batches before, found u8"},
        {FAILS, DROVE_E_IO, "batch 2: the line is dead"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        feed f = {.targets = cases[i].targets};
        uint64_t n = 1;
        assert_int_equal(write_rows(&f, &n), cases[i].status);
        assert_string_equal(drove_error_text(), cases[i].text);
        assert_int_equal(n, 1); /* as before the call */
        assert_int_equal(access("batches.rows", F_OK), -1);
    }
    feed empty = {.at = N};
    assert_int_equal(write_rows(&empty, NULL), DROVE_E_DATA);
    assert_string_equal(drove_error_text(),
                        "batches.rows: expected at least one batch of rows, found none");
}

/* ---- targets that mean something else in the second batch ---- */

typedef struct meaning {
    size_t n[2];                /* classes or labels of each batch */
    const char *const *name[2]; /* NULL: without names */
    bool are_labels;
    size_t n_calls;
} meaning;

static drove_status next_meaning(void *context, drove_batch_request *request)
{
    static const int32_t class[] = {0, 0, 1, 1};
    static const float label[] = {1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1};
    meaning *m = context;
    const size_t i = m->n_calls++;
    request->is_over = i == 2;
    if (i == 2) return DROVE_OK;
    const drove_matrix examples = drove_matrix_dense(x, DROVE_TYPE_F32, 4, D);
    const drove_matrix c = drove_matrix_dense(class, DROVE_TYPE_I32, 4, 1);
    const drove_matrix l = drove_matrix_dense(label, DROVE_TYPE_F32, 4, m->n[i]);
    DROVE_TRY(drove_arrays_set_dense(request->rows, &examples));
    return m->are_labels ? drove_arrays_set_labels(request->rows, &l, m->name[i])
                         : drove_arrays_set_classes(request->rows, &c, m->n[i], m->name[i]);
}

static drove_status write_meaning(meaning m)
{
    const drove_batch_source source = {.context = &m, .next = next_meaning};
    (void)unlink("batches.rows");
    return drove_batches_write(&source, "batches.rows", NULL);
}

TEST(a_number_is_one_class_in_all_batches)
{
    static const char *const ab[] = {"a", "b", "c"}, *const ba[] = {"b", "a", "c"},
                             *const ac[] = {"a", "c", "b"};
    const struct {
        meaning meaning;
        const char *text;
    } cases[] = {
        {{{2, 2}, {ab, ba}, false, 0},
         "batch 2: class 0: expected \"a\" as in the batches before, "
         "found \"b\""},
        {{{2, 3}, {ab, ac}, false, 0},
         "batch 2: class 1: expected \"b\" as in the batches before, "
         "found \"c\""},
        {{{3, 2}, {ab, ba}, false, 0},
         "batch 2: class 0: expected \"a\" as in the batches before, "
         "found \"b\""},
        {{{2, 2}, {ab, NULL}, false, 0},
         "batch 2: expected names of the classes as in the batches "
         "before, found none"},
        {{{2, 3}, {NULL, ab}, false, 0},
         "batch 2: expected classes without names as in the "
         "batches before, found some"},
        {{{3, 2}, {NULL, NULL}, true, 0},
         "batch 2: expected 3 labels as in the batches before, "
         "found 2"},
        {{{2, 3}, {ab, ab}, true, 0},
         "batch 2: expected 2 labels as in the batches before, "
         "found 3"},
        {{{2, 2}, {ab, ba}, true, 0},
         "batch 2: class 0: expected \"a\" as in the batches before, "
         "found \"b\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(write_meaning(cases[i].meaning), DROVE_E_SHAPE);
        assert_string_equal(drove_error_text(), cases[i].text);
        assert_int_equal(access("batches.rows", F_OK), -1);
    }
    assert_ok(write_meaning((meaning){.n = {2, 3}, .name = {ab, ab}}));
    assert_ok(write_meaning((meaning){.n = {3, 2}, .name = {ab, ab}}));
    assert_ok(write_meaning((meaning){.n = {3, 3}, .name = {ab, ab}, .are_labels = true}));
}

static bool are_same(const drove_predictor *a, const drove_predictor *b)
{
    bool is_same = true;
    for (size_t i = 0; i < drove_predictor_describe(a)->n_tensors; i++) {
        drove_tensor_info p, q;
        assert_ok(drove_predictor_tensor(a, i, &p));
        assert_ok(drove_predictor_tensor(b, i, &q));
        if (p.values != NULL) is_same &= memcmp(p.values, q.values, p.n * sizeof *p.values) == 0;
    }
    return is_same;
}

/* The second batch fails at its last step: the steps before it have moved the parameters beyond
 * those of the first batch, which alone counts. */
TEST(a_trainer_counts_completed_batches)
{
    drove_arrays *rows = all_rows();
    drove_predictor *start = train_on(drove_arrays_name(rows), "mlp:6", "epochs=1");
    drove_trainer *halved = open_trainer(start), *ended = open_trainer(start);
    feed f = {.targets = CLASSES}, one = {.targets = FAILS};
    const drove_batch_source breaks = {.context = &f, .next = next};
    const drove_batch_source ends = {.context = &one, .next = next};
    double loss = NAN, expected = 0;
    uint64_t n = 0;
    float *last = &x[2 * ROWS - 1][0], kept = *last;
    *last = 3e38f;
    assert_int_not_equal(drove_trainer_batches(halved, &breaks, &loss, &n), DROVE_OK);
    *last = kept;
    assert_non_null(strstr(drove_error_text(), "batch 2: "));
    assert_int_equal(n, ROWS);
    assert_int_equal(drove_trainer_batches(ended, &ends, &expected, NULL), DROVE_E_IO);
    assert_true(loss == expected);
    drove_predictor *a = model_of(halved), *b = model_of(ended);
    assert_false(are_same(a, b));
    drove_predictor_destroy(a);
    drove_predictor_destroy(b);
    drove_trainer_destroy(halved);
    drove_trainer_destroy(ended);
    drove_predictor_destroy(start);
    drove_arrays_destroy(rows);
}
