/* tests/unit/data/test_real.c - well-known data sets have the sizes that the world knows.
 *
 * Needs the real files (DROVE_TEST_DATA); each test that misses its file says so and is skipped.
 */
#include "support.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct expectation {
    const char *format, *file, *keys;
    size_t n_rows, n_features, n_classes, n_stored; /* n_stored 0: not known */
    const char *storage, *target;
    const char *class; /* a class by name, and how many rows or labels have it; NULL: not known */
    size_t n_of_class;
} expectation;

static const expectation expectations[] = {
    {"csv", "uci/covtype-subset16.data.gz", "", 92962, 54, 7, 92962 * 54, "f32", "class", "2",
     45328},
    {"libsvm", "libsvm/covtype-subset16.binary.scale.gz", "", 92962, 54, 2, 0, "sparse f32",
     "class", "+1", 45328},
    {"libsvm", "libsvm/w8a.gz", "", 49749, 300, 2, 579586, "sparse ones", "class", "+1", 1479},
    {"libsvm", "libsvm/a9a.gz", "", 32561, 123, 2, 451592, "sparse ones", "class", "+1", 7841},
    {"libsvm", "libsvm/a9a.t.gz", "?features=123", 16282, 123, 2, 225745, "sparse ones", "class",
     "+1", 3847},
    {"libsvm", "libsvm/sector.scale.gz", "", 6412, 55197, 105, 1045412, "sparse f32", "class", NULL,
     0},
    {"libsvm", "libsvm/sector.t.scale.gz", "?features=55197", 3207, 55197, 105, 524492,
     "sparse f32", "class", NULL, 0},
    {"libsvm", "libsvm/abalone_scale.gz", "", 4177, 8, 0, 0, "sparse f32", "value", NULL, 0},
    {"libsvm", "libsvm/housing_scale.gz", "", 506, 13, 0, 0, "sparse f32", "value", NULL, 0},
    {"csv", "uci/optdigits.tra.gz", "", 3823, 64, 10, 3823 * 64, "f32", "class", NULL, 0},
    {"csv", "uci/optdigits.tes.gz", "", 1797, 64, 10, 1797 * 64, "f32", "class", NULL, 0},
    {"libsvm", "delicious/delicious.mlsvm.gz", "", 16105, 500, 983, 0, "sparse ones", "labels",
     NULL, 0},
    {"cifar10", "cifar10/cifar10-train4k.bin.gz", "", 4000, 3072, 10, 4000 * 3072, "u8", "class",
     "bird", 420},
    {"cifar10", "cifar10/cifar10-jpeg-test10k.bin.gz", "", 10000, 3072, 10, 10000 * 3072, "u8",
     "class", "ship", 1000},
};

static size_t count_class(const drove_data *d, const char *name)
{
    size_t n = 0;
    for (size_t i = 0; i < d->n_rows; i++) n += strcmp(class_of(d, i), name) == 0;
    return n;
}

TEST(test_sizes)
{
    size_t n_there = 0;
    for (size_t i = 0; i < sizeof expectations / sizeof *expectations; i++) {
        const expectation *e = &expectations[i];
        const char *path = real_file(e->file);
        if (path == NULL) continue;
        char spec[4200];
        drove_data_facts facts;
        n_there++;
        snprintf(spec, sizeof spec, "%s:%s%s", e->format, path, e->keys);
        drove_data *d = open_data(spec);
        drove_data_describe(d, &facts);
        assert_int_equal(facts.n_rows, e->n_rows);
        assert_int_equal(facts.n_features, e->n_features);
        assert_int_equal(facts.n_classes, e->n_classes);
        if (e->n_stored > 0) assert_int_equal(facts.n_stored, e->n_stored);
        assert_string_equal(facts.storage, e->storage);
        assert_string_equal(facts.target, e->target);
        if (e->class != NULL) assert_int_equal(count_class(d, e->class), e->n_of_class);
        drove_data_destroy(d);
    }
    if (n_there == 0) skip();
}

TEST(test_mnist)
{
    const char *folder = real_file("mnist");
    if (folder == NULL) skip();
    char spec[4200];
    drove_data *train, *test;
    snprintf(spec, sizeof spec, "mnist:%s", folder);
    uint64_t start_ns = drove__now_ns();
    open_both(spec, "split", 1, &train, &test);
    double took_s = (double)(drove__now_ns() - start_ns) * 1e-9;
    print_message("MNIST (.gz) read in %.3f s\n", took_s);
    assert_int_equal(train->n_rows, 60000);
    assert_int_equal(test->n_rows, 10000);
    assert_int_equal(train->storage->n_features, 784);
    /* class counts as published with the set; the first labels are 5 0 4 1 9 and 7 2 1 0 4 */
    static const size_t n_train[10] = {5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949};
    static const size_t n_test[10] = {980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009};
    for (size_t c = 0; c < 10; c++) {
        char name[2] = {(char)('0' + c), '\0'};
        assert_int_equal(count_class(train, name), n_train[c]);
        assert_int_equal(count_class(test, name), n_test[c]);
    }
    const int32_t first[5] = {5, 0, 4, 1, 9}, first_test[5] = {7, 2, 1, 0, 4};
    assert_memory_equal(train->storage->y_class, first, sizeof first);
    assert_memory_equal(test->storage->y_class, first_test, sizeof first_test);
    double sum = 0;
    for (size_t i = 0; i < (size_t)60000 * 784; i++) sum += train->storage->x_u8[i];
    assert_true(sum / 255 / (60000.0 * 784) > 0.13065 &&
                sum / 255 / (60000.0 * 784) < 0.13067); /* 0.1307 */
    drove_data_destroy(train);
    drove_data_destroy(test);
}

TEST(test_label_mean_of_delicious)
{
    const char *path = real_file("delicious/delicious.mlsvm.gz");
    if (path == NULL) skip();
    char spec[4200];
    snprintf(spec, sizeof spec, "libsvm:%s", path);
    drove_data *d = open_data(spec);
    const drove_storage *s = d->storage;
    size_t n_unlabelled = 0;
    for (size_t i = 0; i < s->n_rows; i++)
        n_unlabelled += s->label_start[i] == s->label_start[i + 1];
    assert_int_equal(n_unlabelled, 14);
    double labels = (double)s->label_start[s->n_rows] / 16105,
           features = (double)s->row_start[s->n_rows] / 16105;
    assert_true(labels > 19.015 && labels < 19.025 && features > 18.285 && features < 18.295);
    assert_null(s->class_name);
    drove_data_destroy(d);
}

TEST(test_pairs)
{
    static const char *const pairs[][3] = {{"libsvm", "libsvm/a9a.gz", "libsvm/a9a.t.gz"},
                                           {"libsvm", "libsvm/sector.scale.gz",
                                            "libsvm/sector.t.scale.gz"},
                                           {"csv", "uci/optdigits.tra.gz", "uci/optdigits.tes.gz"}};
    for (size_t i = 0; i < 3; i++) {
        char spec[4200], other[4200];
        drove_data *train, *test;
        const char *path = real_file(pairs[i][1]);
        if (path == NULL) continue;
        snprintf(spec, sizeof spec, "%s:%s", pairs[i][0], path);
        snprintf(other, sizeof other, "%s:%s", pairs[i][0], real_file(pairs[i][2]));
        open_both(spec, other, 1, &train, &test);
        assert_int_equal(test->storage->n_features, train->storage->n_features);
        assert_int_equal(test->storage->n_classes, train->storage->n_classes);
        drove_data_destroy(train);
        drove_data_destroy(test);
    }
}
