/* Batches that a program delivers become a file with all their rows, in order; batches that do not
 * go together are refused, by their number and what differs, and there is no file. */
#include "support.h"

#include "base/mem.h"
#include "data/arrays.h"

#include <drove/batches.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 4, D = 3 };

typedef struct batch {
    size_t n_rows, n_features;
    float x[4 * (D + 1)];
    bool is_bytes, is_image, has_weights, is_empty;
    enum { CLASSES, VALUES, TWO_VALUES, LABELS, NONE } kind;
    int class[4];
    size_t n_classes;
    const char *name[4]; /* name[0] NULL: none */
} batch;

typedef struct script {
    batch batch[MOST];
    size_t n, at;
    const uint32_t *class_number;
    drove_status answer; /* at the end */
    const char *why;
} script;

static drove_status set_targets(drove_arrays *a, const batch *b)
{
    static const float weight[] = {1, 2, 3, 4};
    if (b->kind == CLASSES) {
        const drove_matrix y = drove_matrix_dense(b->class, DROVE_TYPE_I32, b->n_rows, 1);
        DROVE_TRY(
            drove_arrays_set_classes(a, &y, b->n_classes, b->name[0] != NULL ? b->name : NULL));
    } else if (b->kind == VALUES || b->kind == TWO_VALUES) {
        const drove_matrix y =
            drove_matrix_dense(b->x, DROVE_TYPE_F32, b->n_rows, b->kind == VALUES ? 1 : 2);
        DROVE_TRY(drove_arrays_set_values(a, &y));
    } else if (b->kind == LABELS) {
        static const uint8_t on[16] = {1, 0, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1};
        const drove_matrix y = drove_matrix_dense(on, DROVE_TYPE_U8, b->n_rows, b->n_classes);
        DROVE_TRY(drove_arrays_set_labels(a, &y, NULL));
    }
    const drove_matrix w = drove_matrix_dense(weight, DROVE_TYPE_F32, b->n_rows, 1);
    return b->has_weights ? drove_arrays_set_weights(a, &w) : DROVE_OK;
}

static drove_status next(void *context, drove_batch_request *request)
{
    static uint8_t bytes[4 * (D + 1)];
    script *s = context;
    if (s->at == s->n) {
        request->is_over = 1;
        request->class_number = s->class_number;
        if (s->why != NULL) snprintf(request->why, request->why_size, "%s", s->why);
        return s->answer;
    }
    const batch *b = &s->batch[s->at++];
    if (b->is_empty) return DROVE_OK;
    for (size_t i = 0; i < b->n_rows * b->n_features; i++) bytes[i] = (uint8_t)b->x[i];
    const drove_matrix x = b->is_bytes
                               ? drove_matrix_dense(bytes, DROVE_TYPE_U8, b->n_rows, b->n_features)
                               : drove_matrix_dense(b->x, DROVE_TYPE_F32, b->n_rows, b->n_features);
    DROVE_TRY(drove_arrays_set_dense(request->rows, &x));
    if (b->is_image) DROVE_TRY(drove_arrays_set_images(request->rows, 1, 1, b->n_features));
    return set_targets(request->rows, b);
}

static batch make(float first, size_t n_rows)
{
    batch b = {.n_rows = n_rows, .n_features = D, .n_classes = 3};
    for (size_t i = 0; i < 4 * (D + 1); i++) b.x[i] = first + (float)i;
    for (size_t i = 0; i < 4; i++) b.class[i] = (int)(i % 3);
    return b;
}

static drove_status write_script(script *s, uint64_t *n_rows)
{
    const drove_batch_source source = {.context = s, .next = next};
    (void)unlink("b.rows");
    s->at = 0;
    return drove_batches_write(&source, "b.rows", n_rows);
}

static drove_data *written(script *s, size_t n_expected)
{
    uint64_t n_rows = 0;
    if (write_script(s, &n_rows) != DROVE_OK) fail_msg("%s", drove_error_text());
    assert_int_equal(n_rows, n_expected);
    drove_data *d = open_data("rows:b.rows");
    assert_int_equal(d->n_rows, n_expected);
    return d;
}

TEST(all_rows_are_written_in_order)
{
    for (int kind = CLASSES; kind <= LABELS; kind++) {
        script s = {.n = 3, .batch = {make(0, 4), make(100, 1), make(200, 3)}};
        for (size_t b = 0; b < 3; b++) {
            s.batch[b].kind = (unsigned)kind;
            s.batch[b].has_weights = kind == VALUES;
        }
        drove_data *d = written(&s, 8);
        static const float first[] = {0, 3, 6, 9, 100, 200, 203, 206};
        static const int class[] = {0, 1, 2, 0, 0, 0, 1, 2};
        static const float weight[] = {1, 2, 3, 4, 1, 1, 2, 3};
        for (size_t i = 0; i < 8; i++) {
            for (size_t j = 0; j < D; j++) assert_true(value_at(d, i, j) == first[i] + (float)j);
            if (kind == CLASSES) assert_int_equal(d->storage->y_class[i], class[i]);
            if (kind == VALUES) assert_true(d->storage->weight[i] == weight[i]);
        }
        if (kind == VALUES) assert_true(target_of(d, 5) == 200.0f && target_of(d, 7) == 202.0f);
        if (kind == TWO_VALUES) assert_int_equal(d->storage->n_values, 2);
        if (kind == LABELS) assert_int_equal(d->storage->label_start[1], 2);
        drove_data_destroy(d);
        assert_int_equal(write_script(&s, NULL), DROVE_OK); /* the count is not asked for */
    }
}

/* Later batches may have further classes; the file has those of the batch that has most. */
TEST(further_classes_may_come)
{
    script s = {.n = 3, .batch = {make(0, 2), make(100, 3), make(200, 2)}};
    s.batch[0].n_classes = s.batch[2].n_classes = 2;
    drove_data *d = written(&s, 7);
    assert_int_equal(d->storage->n_classes, 3);
    drove_data_destroy(d);
}

static const char *const words[] = {"pear", "apple", "10", "9"};

static void name(batch *b)
{
    b->n_classes = 4;
    for (size_t i = 0; i < 4; i++) b->name[i] = words[i];
}

/* Numbers by value; if any is a word, all by their bytes. */
TEST(names_are_put_in_order)
{
    static const char *const in_order[] = {"10", "9", "apple", "pear"};
    static const uint32_t number[] = {2, 0, 3, 1};
    script s = {.n = 1, .batch = {make(0, 4)}};
    name(&s.batch[0]);
    s.batch[0].class[3] = 3;
    drove_data *d = written(&s, 4);
    for (size_t c = 0; c < 4; c++) assert_string_equal(d->storage->class_name[c], in_order[c]);
    for (size_t i = 0; i < 4; i++) assert_string_equal(class_of(d, i), words[i]);
    drove_data_destroy(d);
    s.batch[0].name[0] = "-3";
    s.batch[0].name[1] = "2.5";
    d = written(&s, 4);
    static const char *const by_value[] = {"-3", "2.5", "9", "10"};
    for (size_t c = 0; c < 4; c++) assert_string_equal(d->storage->class_name[c], by_value[c]);
    for (size_t i = 0; i < 4; i++) assert_string_equal(class_of(d, i), s.batch[0].name[i]);
    drove_data_destroy(d);
    name(&s.batch[0]);
    s.class_number = number; /* or as the program says */
    d = written(&s, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(d->storage->y_class[i], number[i]);
        assert_string_equal(d->storage->class_name[number[i]], words[i]);
    }
    drove_data_destroy(d);
    s.batch[0].name[0] = NULL; /* without names, too */
    d = written(&s, 4);
    for (size_t i = 0; i < 4; i++) assert_int_equal(d->storage->y_class[i], number[i]);
    assert_null(d->storage->class_name);
    drove_data_destroy(d);
    static const uint32_t wrong[][4] = {{0, 1, 2, 4}, {0, 1, 1, 2}, {3, 3, 3, 3}};
    for (size_t w = 0; w < DROVE_COUNT(wrong); w++) {
        s.class_number = wrong[w];
        assert_int_equal(write_script(&s, NULL), DROVE_E_ARG);
        assert_non_null(strstr(drove_error_text(), "class_number: expected each of 0 to 3 once"));
        assert_true(access("b.rows", F_OK) != 0);
    }
}

static void refused(script *s, drove_status status, const char *text)
{
    uint64_t n_rows = 77;
    assert_int_equal(write_script(s, &n_rows), status);
    if (strstr(drove_error_text(), text) == NULL)
        fail_msg("expected \"%s\", found \"%s\"", text, drove_error_text());
    assert_int_equal(n_rows, 77);
    assert_true(access("b.rows", F_OK) != 0);
}

TEST(batches_must_go_together)
{
    for (int which = 0; which < 12; which++) {
        script s = {.n = 2, .batch = {make(0, 4), make(100, 4)}};
        batch *a = &s.batch[0], *b = &s.batch[1];
        const char *text = NULL;
        if (which == 0) b->is_bytes = true, text = "batch 2: expected ";
        if (which == 1)
            b->n_features = 2, text = "batch 2: expected 3 features as in the batches "
                                      "before, found 2";
        if (which == 2) b->is_image = true, text = "batch 2: expected images of the same size";
        if (which == 3) b->kind = VALUES, text = "batch 2: expected ";
        if (which == 4)
            b->has_weights = true, text = "expected no weights as in the batches "
                                          "before, found some";
        if (which == 5)
            a->has_weights = true, text = "expected weights as in the batches before, "
                                          "found none";
        if (which == 6)
            a->kind = VALUES, b->kind = TWO_VALUES,
            text = "expected 1 values as in "
                   "the batches before, found 2";
        if (which == 7) {
            a->kind = b->kind = LABELS;
            b->n_classes = 2;
            text = "expected 3 labels as in the batches before, found 2";
        }
        if (which == 8)
            name(a), text = "expected names of the classes as in the batches before, "
                            "found none";
        if (which == 9)
            name(b), text = "expected classes without names as in the batches before, "
                            "found some";
        if (which == 10) {
            name(a), name(b);
            b->name[3] = "8";
            text = "batch 2: class 3: expected \"9\" as in the batches before, found \"8\"";
        }
        if (which == 11) b->kind = NONE, text = "batch 2: expected rows with targets, found none";
        refused(&s, which == 11 ? DROVE_E_DATA : DROVE_E_SHAPE, text);
    }
}

/* A batch for which nothing is set is not the one before once more. */
TEST(a_batch_without_rows_is_refused)
{
    script s = {.n = 2, .batch = {make(0, 4), {.is_empty = true}}};
    refused(&s, DROVE_E_DATA, "batch 2: expected rows with targets, found none");
}

TEST(what_goes_wrong_is_told_by_the_batch)
{
    script s = {.n = 0};
    refused(&s, DROVE_E_DATA, "b.rows: expected at least one batch of rows, found none");
    s = (script){.n = 1, .batch = {make(0, 4)}, .answer = DROVE_E_IO, .why = "the line is dead"};
    refused(&s, DROVE_E_IO, "batch 2: the line is dead");
    s.why = NULL;
    refused(&s, DROVE_E_IO, "batch 2");
}
