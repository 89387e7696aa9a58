/* tests/unit/data/test_quant_file.c - quant:FILE: what is written comes back, in every format and
 * with every kind of target; scaling once and only once; damage, forgery and other data are
 * refused. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memmem */
#endif
#include "quant_files.h"

#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void expect_no_conversion(const char *from, const char *to, drove_status status,
                                 const char *word)
{
    drove_data *data = open_data(from);
    assert_int_equal(drove_data_convert(data, to), status);
    if (strstr(drove_error_text(), word) == NULL)
        fail_msg("\"%s\" is not in: %s", word, drove_error_text());
    drove_data_destroy(data);
}

/* a: a quantised file's view; b: the view it was made from. */
static void expect_quantised(const drove_data *a, const drove_data *b)
{
    const drove_storage *s = a->storage, *t = b->storage;
    const drove_quant *q = s->quant;
    const drove_quant_options opt = {.number = q->number, .index_bits = q->index_bits};
    drove_quant *expected;
    char one[DROVE_CLASS_TEXT_SIZE], two[DROVE_CLASS_TEXT_SIZE];
    assert_int_equal(drove__quant_create(b, &opt, &expected), DROVE_OK);
    assert_int_equal(s->x_kind, DROVE_X_QUANT);
    assert_int_equal(a->n_rows, b->n_rows);
    assert_int_equal(s->n_features, t->n_features);
    assert_true(q->scale == expected->scale);
    assert_int_equal(q->n_bridges, expected->n_bridges);
    assert_int_equal(q->n_stored, expected->n_stored);
    assert_int_equal((uintptr_t)q->value % 64, 0);
    for (size_t i = 0; i < a->n_rows; i++) {
        float *x = calloc(t->n_features, sizeof *x), *y = calloc(t->n_features, sizeof *y);
        drove__quant_unpack(q, i, t->n_features, x);
        drove__quant_unpack(expected, i, t->n_features, y);
        assert_memory_equal(x, y, t->n_features * sizeof *x);
        free(x);
        free(y);
    }
    drove__quant_release(expected);
    assert_int_equal(s->y_kind, t->y_kind);
    assert_int_equal(s->n_classes, t->n_classes);
    assert_int_equal(s->index_base, t->index_base);
    assert_int_equal(s->channels * 10000 + s->height * 100 + s->width,
                     t->channels * 10000 + t->height * 100 + t->width);
    assert_string_equal(s->notes, t->notes);
    for (size_t c = 0; c < t->n_classes; c++)
        assert_string_equal(drove__class_text(s, c, one), drove__class_text(t, c, two));
    for (size_t i = 0; i < a->n_rows; i++) {
        size_t row = drove__data_row(b, i);
        if (t->y_kind == DROVE_Y_CLASS) assert_int_equal(s->y_class[i], t->y_class[row]);
        if (t->y_kind == DROVE_Y_VALUE) assert_true(s->y_value[i] == t->y_value[row]);
        if (t->y_kind != DROVE_Y_LABELS) continue;
        uint64_t n = t->label_start[row + 1] - t->label_start[row];
        assert_int_equal(s->label_start[i + 1] - s->label_start[i], n);
        assert_memory_equal(s->label + s->label_start[i], t->label + t->label_start[row],
                            n * sizeof *t->label);
    }
}

TEST(test_round_trip)
{
    write_sources();
    for (size_t k = 0; quant_sources[k] != NULL; k++) {
        drove_data *from = open_data(quant_sources[k]);
        const char *const *precision =
            drove__storage_is_sparse(from->storage) ? quant_sparse : quant_dense;
        for (size_t p = 0; precision[p] != NULL; p++) {
            char to[64], name[16];
            snprintf(to, sizeof to, "quant:q?precision=%s", precision[p]);
            convert(from, to);
            drove_data *back = open_data("quant:q");
            expect_quantised(back, from);
            snprintf(name, sizeof name, "%.*s", (int)strcspn(precision[p], "["), precision[p]);
            assert_int_equal(strncmp(drove__storage_name(back->storage), name, strlen(name)), 0);
            drove_data_destroy(back);
        }
        drove_data_destroy(from);
    }
}

/* A row list is written as rows; a cache may be made from a cache. */
TEST(test_part)
{
    drove_data *train, *test;
    open_both("synth:logistic?n=40&d=20&scale=standard&split=0.3", "split", 3, &train, &test);
    convert(test, "quant:q?precision=D16");
    drove_data *back = open_data("quant:q");
    expect_quantised(back, test);
    drove_data_destroy(back);
    back = open_data("quant:q?from=synth:logistic?n=40%26d=20%26scale=standard%26split=0.3");
    unlink("q2");
    assert_int_equal(drove_data_convert(back, "quant:q2"), DROVE_OK);
    drove_data *again = open_data("quant:q2?from=quant:q");
    assert_string_equal(drove__storage_name(again->storage), "D16");
    assert_int_equal(again->storage->scaling, DROVE_SCALE_STANDARD);
    for (size_t i = 0; i < back->n_rows; i++)
        assert_memory_equal((char *)again->storage->quant->value + i * 64,
                            (char *)back->storage->quant->value + i * 64, 64);
    drove_data_destroy(again);
    drove_data_destroy(back);
    drove_data_destroy(train);
    drove_data_destroy(test);
}

/* Test data in their own format are scaled as the cache was; the cache is not scaled again. */
TEST(test_scaling)
{
    drove_data *train, *test, *plain;
    write_sources();
    plain = open_data("csv:words.csv?scale=standard");
    convert(plain, "quant:q?precision=D16");
    open_both("quant:q", "csv:words.csv", 1, &train, &test);
    assert_null(train->factor);
    assert_int_equal(train->scaling, DROVE_SCALE_NONE);
    assert_int_equal(test->scaling, DROVE_SCALE_STANDARD);
    for (size_t i = 0; i < plain->n_rows; i++) {
        float x[2];
        drove__quant_row(train->storage->quant, i, NULL, x);
        for (size_t f = 0; f < 2; f++) {
            assert_true(scaled_at(test, i, f) == scaled_at(plain, i, f));
            assert_true(fabsf(x[f] - scaled_at(plain, i, f)) < train->storage->quant->scale);
        }
    }
    drove_data_destroy(train);
    drove_data_destroy(test);
    /* a cache as test data must have been scaled alike */
    open_both("csv:words.csv?scale=standard", "quant:q", 1, &train, &test);
    assert_null(test->factor);
    drove_data_destroy(train);
    drove_data_destroy(test);
    open_both("quant:q", "quant:q", 1, &train, &test);
    drove_data_destroy(train);
    drove_data_destroy(test);
    open_both("quant:q", "split", 1, &train, &test);
    assert_ptr_equal(train->storage, test->storage);
    drove_data_destroy(train);
    drove_data_destroy(test);
    expect_refusal("csv:words.csv", "quant:q", DROVE_E_SHAPE, "none", "standard", NULL);
    expect_refusal("csv:words.csv?scale=unit", "quant:q", DROVE_E_SHAPE, "unit", NULL);
    write_text("other.csv", "1,2.5,cat\n0,1,dog\n-3,0.125,a cow\n");
    expect_refusal("csv:other.csv?scale=standard", "quant:q", DROVE_E_SHAPE, "other numbers", NULL);
    drove_data_destroy(plain);
}

/* A sparse cache with fewer features than the training data, and classes by name. */
TEST(test_matching)
{
    drove_data *train, *test;
    write_sources();
    write_text("test.svm", "-1 5:2\n-1 2:1\n+1 1:3\n");
    convert_spec("libsvm:test.svm", "quant:q?precision=D16i8");
    open_both("libsvm:sparse.svm", "quant:q", 1, &train, &test);
    assert_int_equal(test->storage->n_features, 600);
    assert_int_equal(test->storage->quant->n_features, 600);
    assert_string_equal(class_of(test, 0), "-1");
    assert_string_equal(class_of(test, 2), "+1");
    drove_data_destroy(train);
    drove_data_destroy(test);
    expect_refusal("quant:q", "libsvm:sparse.svm", DROVE_E_SHAPE, "expected 5 features", NULL);
    expect_refusal("csv:words.csv", "quant:q", DROVE_E_SHAPE, "dense", "D16i8", NULL);
}

TEST(test_create_from_quantised)
{
    static const uint32_t order[] = {2, 0, 1, 2};
    drove_quant *q;
    write_sources();
    convert_spec("libsvm:sparse.svm", "quant:q?precision=D16i8");
    drove_data *d = open_data("quant:q");
    drove_quant_options opt = {.number = DROVE_I16, .index_bits = 8};
    assert_int_equal(drove__quant_create(d, &opt, &q), DROVE_OK);
    assert_ptr_equal(q, d->storage->quant); /* the same numbers, not a copy */
    assert_int_equal(q->n_users, 2);
    drove__quant_release(q);
    opt.order = order;
    assert_int_equal(drove__quant_create(d, &opt, &q), DROVE_OK);
    assert_ptr_not_equal(q, d->storage->quant);
    for (size_t i = 0; i < 4; i++) {
        float x[600], y[600];
        drove__quant_unpack(q, i, 600, x);
        drove__quant_unpack(d->storage->quant, order[i], 600, y);
        assert_memory_equal(x, y, sizeof x);
    }
    assert_int_equal(q->n_bridges, 2);
    drove__quant_release(q);
    opt.order = NULL;
    drove_data *train, *test; /* rows of it: a copy, too */
    open_both("quant:q?split=0.5", "split", 1, &train, &test);
    for (unsigned part = 0; part < 2; part++) {
        const drove_data *view = part == 0 ? train : test;
        assert_int_equal(drove__quant_create(view, &opt, &q), DROVE_OK);
        assert_int_equal(q->n_rows, 2);
        for (size_t i = 0; i < 2; i++) {
            float x[600], y[600];
            drove__quant_unpack(q, i, 600, x);
            drove__quant_unpack(d->storage->quant, view->row[i], 600, y);
            assert_memory_equal(x, y, sizeof x);
        }
        drove__quant_release(q);
    }
    drove_data_destroy(train);
    drove_data_destroy(test);
    opt.number = DROVE_I8;
    q = (drove_quant *)d;
    assert_int_equal(drove__quant_create(d, &opt, &q), DROVE_E_DATA);
    assert_null(q);
    assert_non_null(strstr(drove_error_text(), "expected D8i8, found D16i8"));
    opt = (drove_quant_options){.number = DROVE_I16, .index_bits = 8, .scale = 3};
    assert_int_equal(drove__quant_create(d, &opt, &q), DROVE_E_DATA);
    assert_non_null(strstr(drove_error_text(), "scale 3"));
    drove_data_destroy(d);
}

/* All that can be asked of a view. */
TEST(test_describe_and_export)
{
    drove_data_facts facts;
    char text[1024] = "";
    write_sources();
    convert_spec("libsvm:sparse.svm", "quant:q?precision=D8i8&range=1");
    drove_data *d = open_data("quant:q");
    drove_data_describe(d, &facts);
    assert_string_equal(facts.storage, "D8i8");
    assert_int_equal(facts.n_stored, 4);      /* the reader leaves out 2:0 */
    assert_int_equal(facts.n_bridges, 2 * 2); /* 598 and 600 after nothing: two each */
    assert_int_equal(facts.n_clamped, 1);     /* -2 */
    assert_true(facts.quantum == (double)(1.0f / 127));
    FILE *stream = fmemopen(text, sizeof text, "w");
    assert_int_equal(drove_data_print_info(d, stream), DROVE_OK);
    fclose(stream);
    assert_non_null(strstr(text, "1 values clamped, 4 bridges"));
    assert_non_null(strstr(text, "values    -1 to 1"));
    unlink("back.svm");
    assert_int_equal(drove_data_convert(d, "libsvm:back.svm"), DROVE_OK);
    drove_data *back = open_data("libsvm:back.svm");
    assert_true(fabsf(value_at(back, 0, 0) - 0.5f) < 0.005f);
    assert_true(value_at(back, 0, 599) == -1.0f);
    drove_data_destroy(back);
    drove_data_destroy(d);
}

TEST(test_from)
{
    write_sources();
    convert_spec("libsvm:sparse.svm", "quant:q");
    drove_data_destroy(open_data("quant:q?from=libsvm:sparse.svm"));
    rename("sparse.svm", "moved.svm"); /* the same data elsewhere */
    drove_data_destroy(open_data("quant:q?from=libsvm:moved.svm"));
    static const char *const others[][2] = {
        {"+1 1:0.5 600:-2\n-1\n+1 2:0 3:1\n", "expected 4 rows, found 3"},
        {"+1 1:0.5 600:-2\n-1\n+1 2:0 3:1\n-1 601:1\n", "expected 600 features, found 601"},
        {"+1 1:0.5 9:1 600:-2\n-1\n+1 3:1\n-1 600:1\n", "expected 4 stored numbers, found 5"},
        {"+1 1:0.5 600:-2\n-1\n+1 2:0 3:1\n-1 600:1.0001\n", "other values"},
        {"+1 1:0.5 600:-2\n-1\n+1 2:0 4:1\n-1 600:1\n", "other values"},
        {"+1 1:0.5 600:-2\n-1\n+1 2:0 3:1\n+1 600:1\n", "other values or labels"},
        {"+1 1:0.5 600:-2\n-2\n+1 2:0 3:1\n-2 600:1\n", "other values or labels"},
    };
    for (size_t i = 0; i < DROVE_COUNT(others); i++) {
        write_text("other.svm", others[i][0]);
        expect_refusal("quant:q?from=libsvm:other.svm", NULL, DROVE_E_DATA,
                       "q:", "a quantised cache that does not match its data", others[i][1], NULL);
    }
    expect_refusal("quant:q?from=libsvm:moved.svm?scale=unit", NULL, DROVE_E_DATA,
                   "another scaling", NULL);
    expect_refusal("quant:q?from=libsvm:none.svm", NULL, DROVE_E_FILE, "none.svm", NULL);
}

/* A byte of the description, or of a row, and every length: refused in one line. */
TEST(test_damage)
{
    size_t n;
    write_sources();
    for (unsigned k = 0; k < 2; k++) {
        convert_spec(k == 0 ? "libsvm:sets.svm" : "csv:words.csv?scale=standard", "quant:q");
        char *bytes = read_bytes("q", &n);
        drove_blocks *b = open_rows("q");
        for (size_t at = (size_t)b->file->block[0].offset; at < n; at++) {
            if (at > b->file->block[0].offset && at < b->file->end) continue;
            bytes[at] = (char)(bytes[at] ^ (1 << at % 8));
            write_bytes("damaged", bytes, n);
            expect_refusal("quant:damaged", NULL, DROVE_E_DATA, "damaged", NULL);
            bytes[at] = (char)(bytes[at] ^ (1 << at % 8));
        }
        for (size_t length = 0; length < n; length += length < 64 ? 1 : 13) {
            write_bytes("damaged", bytes, length);
            expect_refusal("quant:damaged", NULL, DROVE_E_DATA, "damaged", NULL);
        }
        drove__blocks_close(b);
        free(bytes);
    }
    write_text("damaged", "+1 1:0.5\n-1 2:0.25\n");
    expect_refusal("quant:damaged", NULL, DROVE_E_DATA, "damaged", "a file of rows", NULL);
}

/* rows:FILE reads and writes quantised rows as well; quant:FILE reads no others. */
TEST(test_rows)
{
    write_sources();
    convert_spec("libsvm:sparse.svm?scale=unit", "quant:q?precision=D16i8");
    drove_data *q = open_data("quant:q"), *rows = open_data("rows:q"), *by_content = open_data("q");
    assert_string_equal(drove__storage_name(rows->storage), "D16i8");
    assert_string_equal(drove__storage_name(by_content->storage), "D16i8");
    unlink("again");
    assert_int_equal(drove_data_convert(rows, "rows:again"), DROVE_OK);
    drove_data *again = open_data("quant:again?from=rows:q");
    for (size_t i = 0; i < q->n_rows; i++) {
        float x[600], y[600];
        drove__quant_unpack(q->storage->quant, i, 600, x);
        drove__quant_unpack(again->storage->quant, i, 600, y);
        assert_memory_equal(x, y, sizeof x);
    }
    assert_int_equal(again->storage->scaling, q->storage->scaling);
    drove_data_destroy(again);
    drove_data_destroy(by_content);
    drove_data_destroy(rows);
    drove_data_destroy(q);
    expect_refusal("rows:q?scale=unit", NULL, DROVE_E_ARG, "scaled before", NULL);
    unlink("plain");
    convert_spec("libsvm:sparse.svm", "rows:plain");
    expect_refusal("quant:plain", NULL, DROVE_E_DATA, "plain: expected quantised rows", NULL);
}

/* A compressed file is read whole, of either kind. */
TEST(test_compressed)
{
    size_t n;
    write_sources();
    convert_spec("csv:words.csv", "quant:q");
    char *bytes = read_bytes("q", &n);
    write_gzip("q.gz", bytes, n);
    free(bytes);
    drove_data *from = open_data("csv:words.csv"), *packed = open_data("quant:q.gz");
    expect_quantised(packed, from);
    drove_data_destroy(packed);
    unlink("plain");
    convert_spec("csv:words.csv", "rows:plain");
    bytes = read_bytes("plain", &n);
    write_gzip("plain.gz", bytes, n);
    free(bytes);
    packed = open_data("rows:plain.gz");
    expect_same(packed, from);
    drove_data_destroy(packed);
    drove_data_destroy(from);
}

TEST(test_forgery)
{
    write_sources();
    for (size_t i = 0; i < quant_n_forgeries; i++) {
        char to[64];
        snprintf(to, sizeof to, "quant:q?precision=%s", quant_forgeries[i].precision);
        convert_spec(quant_forgeries[i].from, to);
        quant_forge(&quant_forgeries[i]);
        drove_data *d, *none;
        drove_status status = drove_data_open("quant:forged", NULL, 1, &d, &none);
        if (quant_forgeries[i].word == NULL) {
            if (status == DROVE_OK) drove_data_destroy(d);
            continue;
        }
        if (status == DROVE_OK) fail_msg("case %zu: accepted", i);
        assert_int_equal(drove_status_exit(status), 2);
        if (strstr(drove_error_text(), quant_forgeries[i].word) == NULL)
            fail_msg("case %zu: \"%s\" is not in: %s", i, quant_forgeries[i].word,
                     drove_error_text());
        assert_null(strchr(drove_error_text(), '\n'));
    }
}

/* What a spec of training data without ?scale becomes (problem/specs.c): no second scaling. */
TEST(test_scale_of_training)
{
    write_sources();
    convert_spec("csv:words.csv?scale=standard", "quant:q");
    static const char *const specs[] = {"q?scale=auto", "rows:q?scale=auto", "quant:q?scale=auto",
                                        "rows:q?scale=none"};
    for (size_t i = 0; i < DROVE_COUNT(specs); i++) {
        drove_data *d = open_data(specs[i]);
        assert_int_equal(drove__data_scale(d).scaling, DROVE_SCALE_STANDARD);
        drove_data_destroy(d);
    }
    unlink("q");
    expect_no_conversion("csv:words.csv", "quant:q?scale=auto", DROVE_E_ARG, "scale");
}

/* Rows of a block as the description has them, which may be more than there are. */
TEST(test_large_blocks)
{
    static const quant_forgery most = {"csv:words.csv",
                                       "D32f",
                                       "\"block_rows\":",
                                       "\"block_rows\":4294967295,\"was\":",
                                       -1,
                                       0,
                                       0,
                                       NULL};
    drove_blocks *b;
    drove_storage *s;
    drove_place_in to = {0};
    write_sources();
    convert_spec(most.from, "quant:q?precision=D32f");
    quant_forge(&most);
    assert_int_equal(drove__blocks_open("rows:forged", &b), DROVE_OK);
    if (drove__blocks_prefer_floats(b) != DROVE_OK) fail_msg("%s", drove_error_text());
    assert_non_null(b->file->padded);
    assert_int_equal(drove__blocks_storage(b, b->n_rows, 0, 0, &s), DROVE_OK);
    assert_int_equal(drove__blocks_read(b, 0, s, &to), DROVE_OK);
    assert_true(s->x_f32[1] == 2.5f);
    drove__storage_release(s);
    drove__blocks_close(b);
}

TEST(test_keys)
{
    write_sources();
    convert_spec("csv:words.csv", "quant:q?precision=D16");
    drove_data_destroy(open_data("quant:q?precision=D16"));
    expect_refusal("quant:q?precision=D8", NULL, DROVE_E_DATA, "expected D8", "found D16", NULL);
    expect_refusal("quant:q?precision=D16i8", NULL, DROVE_E_ARG, "dense", NULL);
    expect_refusal("quant:q?scale=unit", NULL, DROVE_E_ARG, "scale", NULL);
    expect_refusal("quant:q?range=2", NULL, DROVE_E_ARG, "range", NULL);
    expect_refusal("quant:q?block=2", NULL, DROVE_E_ARG, "block", NULL);
    expect_refusal("quant:q?presicion=D8", NULL, DROVE_E_ARG, "precision", NULL);
    expect_no_conversion("csv:words.csv", "quant:q", DROVE_E_EXISTS, "exists");
    unlink("q");
    expect_no_conversion("csv:words.csv", "quant:q?from=csv:words.csv", DROVE_E_ARG, "from");
    expect_no_conversion("csv:words.csv", "quant:q?precision=D3", DROVE_E_ARG, "D3");
    expect_no_conversion("csv:words.csv", "quant:q?precision=D8M8", DROVE_E_ARG, "D8M8");
    expect_no_conversion("csv:words.csv", "quant:q?precision=D8i8", DROVE_E_ARG, "dense");
    expect_no_conversion("libsvm:sparse.svm", "quant:q?precision=D8", DROVE_E_ARG, "sparse");
    expect_no_conversion("csv:words.csv", "quant:q?block=x", DROVE_E_ARG, "block");
    expect_no_conversion("csv:words.csv", "quant:q?range=0", DROVE_E_ARG, "range");
    expect_no_conversion("csv:words.csv", "quant:q?range=1e-300", DROVE_E_DATA, "vanishes");
    expect_no_conversion("csv:words.csv", "quant:q?precision=D32f&range=1", DROVE_E_ARG, "floats");
    expect_no_conversion("csv:words.csv", "quant:q.gz", DROVE_E_UNSUPPORTED, ".gz");
    assert_int_equal(access("q", F_OK), -1);
    if (access("/dev/full", W_OK) == 0)
        expect_no_conversion("csv:words.csv", "quant:/dev/full", DROVE_E_IO, "/dev/full");
}
