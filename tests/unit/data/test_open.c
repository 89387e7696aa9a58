/* tests/unit/data/test_open.c - splits, scaling, test data of their own, converting, errors in
 * specs. */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* 10 rows; feature 0 is the row's number, so that rows can be told apart after a split. */
static void write_ten(void)
{
    write_text("ten", "0,5,a\n1,5,b\n2,5,a\n3,5,b\n4,5,a\n5,5,b\n6,5,a\n7,5,b\n8,5,a\n9,5,b\n");
}

TEST(test_split)
{
    write_ten();
    int n_different = 0;
    for (uint64_t seed = 0; seed < 20; seed++) {
        drove_data *train, *test, *again, *other;
        open_both("csv:ten?split=0.3", "split", seed, &train, &test);
        open_both("csv:ten?split=0.3", "split", seed, &again, &other);
        assert_int_equal(train->n_rows, 7);
        assert_int_equal(test->n_rows, 3);
        expect_same(test, other); /* the same seed draws the same rows */
        unsigned seen = 0;
        for (size_t i = 0; i < 7; i++) seen |= 1u << (unsigned)value_at(train, i, 0);
        for (size_t i = 0; i < 3; i++) seen |= 1u << (unsigned)value_at(test, i, 0);
        assert_int_equal(seen, 0x3ff); /* each row is in one of them */
        n_different += value_at(test, 0, 0) != 0;
        drove_data_destroy(train); /* in any order: they share their storage */
        assert_true(value_at(test, 2, 1) == 5);
        drove_data_destroy(test);
        drove_data_destroy(other);
        drove_data_destroy(again);
    }
    /* row 0 is held out in 3 of 10 draws; that it is in none of 20, or in 15, has a chance below
     * 1 in 1000 */
    assert_true(n_different > 5 && n_different < 20);
    drove_data *train, *test;
    open_both("csv:ten", "split", 1, &train, &test); /* a tenth */
    assert_int_equal(test->n_rows, 1);
    drove_data_destroy(train);
    drove_data_destroy(test);
    open_both("csv:ten?split=0.001", "split", 1, &train, &test); /* never none */
    assert_int_equal(test->n_rows, 1);
    drove_data_destroy(train);
    drove_data_destroy(test);
    open_both("csv:ten?split=0.999", "split", 1, &train, &test);
    assert_int_equal(train->n_rows, 1);
    drove_data_destroy(train);
    drove_data_destroy(test);
    expect_refusal("csv:ten?split=1", "split", DROVE_E_ARG, "split", NULL);
    expect_refusal("csv:ten?split=0", NULL, DROVE_E_ARG, "split", NULL);
    write_text("single", "1,2,0\n");
    expect_refusal("csv:single", "split", DROVE_E_SHAPE, "2 rows", NULL);
}

/* Each row is held out in one fold, and the folds' sizes differ by one at most. */
TEST(test_folds)
{
    write_ten();
    for (unsigned n_folds = 2; n_folds <= 10; n_folds++) {
        unsigned seen = 0;
        for (unsigned fold = 1; fold <= n_folds; fold++) {
            drove_data *train, *test;
            char spec[64];
            snprintf(spec, sizeof spec, "csv:ten?fold=%u/%u", fold, n_folds);
            open_both(spec, "split", 5, &train, &test);
            assert_int_equal(train->n_rows + test->n_rows, 10);
            assert_in_range(test->n_rows, 10 / n_folds, (10 + n_folds - 1) / n_folds);
            for (size_t i = 0; i < test->n_rows; i++) {
                unsigned bit = 1u << (unsigned)value_at(test, i, 0);
                assert_int_equal(seen & bit, 0);
                seen |= bit;
                for (size_t k = 0; k < train->n_rows; k++)
                    assert_true(value_at(train, k, 0) != value_at(test, i, 0));
            }
            drove_data_destroy(train);
            drove_data_destroy(test);
        }
        assert_int_equal(seen, 0x3ff);
    }
    expect_refusal("csv:ten?fold=2", "split", DROVE_E_ARG, "I/K", NULL);
    expect_refusal("csv:ten?fold=0/3", "split", DROVE_E_ARG, "fold", NULL);
    expect_refusal("csv:ten?fold=4/3", "split", DROVE_E_ARG, "fold", NULL);
    expect_refusal("csv:ten?fold=1/11", "split", DROVE_E_SHAPE, "11 rows", NULL);
    expect_refusal("csv:ten?fold=1/3&split=0.1", "split", DROVE_E_ARG, "found both", NULL);
}

TEST(test_scale_dense)
{
    write_text("s", "1,7,10,0\n2,7,-10,1\n3,7,0,0\n6,7,0,1\n");
    drove_data *d = open_data("csv:s?scale=unit");
    assert_float_equal(scaled_at(d, 0, 0), 0, 0);
    assert_float_equal(scaled_at(d, 1, 0), 0.2f, 1e-6f);
    assert_float_equal(scaled_at(d, 3, 0), 1, 0);
    assert_float_equal(scaled_at(d, 2, 1), 0, 0); /* constant */
    assert_float_equal(scaled_at(d, 1, 2), 0, 0);
    assert_float_equal(scaled_at(d, 2, 2), 0.5f, 1e-6f);
    drove_data_destroy(d);
    d = open_data("csv:s?scale=standard");
    /* mean 3, squares 4 1 0 9: deviation sqrt(3.5) */
    assert_float_equal(scaled_at(d, 0, 0), -2 / sqrtf(3.5f), 1e-6f);
    assert_float_equal(scaled_at(d, 3, 0), 3 / sqrtf(3.5f), 1e-6f);
    assert_float_equal(scaled_at(d, 0, 1), 0, 0);
    assert_float_equal(scaled_at(d, 0, 2), sqrtf(2.0f), 1e-6f); /* 10 / sqrt(200 / 4) */
    drove_data_destroy(d);
    d = open_data("csv:s");
    assert_null(d->factor);
    assert_null(d->shift);
    drove_data_destroy(d);
    expect_refusal("csv:s?scale=max", NULL, DROVE_E_ARG, "scale", NULL);
}

TEST(test_scale_sparse)
{
    write_text("sp", "0 1:2 2:-8\n1 1:4\n0 2:2\n1 1:2\n");
    drove_data *d = open_data("libsvm:sp?scale=unit");
    assert_float_equal(scaled_at(d, 0, 0), 0.5, 0);
    assert_float_equal(scaled_at(d, 0, 1), -1, 0);
    assert_float_equal(scaled_at(d, 1, 1), 0, 0); /* a zero stays one */
    drove_data_destroy(d);
    d = open_data("libsvm:sp?scale=standard");
    /* feature 0: 2 4 0 2, mean 2, squares 0 4 4 0: deviation sqrt(2); feature 1: -8 0 2 0, mean
     * -1.5 */
    assert_float_equal(scaled_at(d, 1, 0), 4 / sqrtf(2.0f), 1e-6f);
    assert_float_equal(scaled_at(d, 2, 0), 0, 0);
    assert_float_equal(scaled_at(d, 0, 1),
                       -8 / sqrtf((6.5f * 6.5f + 1.5f * 1.5f + 3.5f * 3.5f + 1.5f * 1.5f) / 4),
                       1e-5f);
    drove_data_destroy(d);
    write_text("ones", "0 1:1\n1 2:1\n");
    d = open_data("libsvm:ones?scale=unit");
    assert_null(d->factor);
    drove_data_destroy(d);
    d = open_data("libsvm:ones?scale=standard");
    assert_float_equal(scaled_at(d, 0, 0), 2, 1e-6f); /* deviation of 1 0 */
    drove_data_destroy(d);
}

TEST(test_scale_comes_from_training_part)
{
    write_text("tr", "0,0\n10,1\n");
    write_text("te", "20,1\n5,0\n");
    drove_data *train, *test;
    open_both("csv:tr?scale=unit", "csv:te", 1, &train, &test);
    assert_float_equal(scaled_at(test, 0, 0), 2, 0);
    assert_float_equal(scaled_at(test, 1, 0), 0.5, 0);
    assert_int_equal(test->scaling, DROVE_SCALE_UNIT);
    drove_data_destroy(train);
    drove_data_destroy(test);
    expect_refusal("csv:tr?scale=unit", "csv:te?scale=none", DROVE_E_ARG, "test data", "scal",
                   NULL);
    /* of a split, only the training rows count: the largest of 0..9 is 9 unless row 9 is held
     * out */
    write_ten();
    for (uint64_t seed = 0; seed < 20; seed++) {
        open_both("csv:ten?scale=unit&split=0.5", "split", seed, &train, &test);
        float least = 9, most = 0;
        for (size_t i = 0; i < train->n_rows; i++) {
            least = fminf(least, value_at(train, i, 0));
            most = fmaxf(most, value_at(train, i, 0));
        }
        assert_float_equal(train->shift[0], least, 0);
        assert_float_equal(test->factor[0], 1 / (most - least), 1e-6f);
        drove_data_destroy(train);
        drove_data_destroy(test);
    }
}

TEST(test_test_data_fit)
{
    drove_data *train, *test;
    write_text("tr", "3 1:1 5:1\n-1 2:1\n2 3:1\n");
    write_text("te", "2 1:1\n+3 2:1\n");
    open_both("libsvm:tr", "libsvm:te", 1, &train, &test);
    assert_int_equal(test->storage->n_features, 5);
    assert_int_equal(test->storage->n_classes, 3);
    assert_string_equal(class_of(test, 0), "2");
    assert_string_equal(class_of(test, 1), "3");
    assert_int_equal(test->storage->y_class[0], 1);
    assert_int_equal(test->storage->y_class[1], 2);
    drove_data_destroy(train);
    assert_string_equal(class_of(test, 1), "3"); /* its own copy */
    drove_data_destroy(test);
    write_text("more", "2 6:1\n");
    expect_refusal("libsvm:tr", "libsvm:more", DROVE_E_SHAPE, "5 features", "found 6", "features=N",
                   NULL);
    open_both("libsvm:tr?features=8", "libsvm:more", 1, &train, &test);
    assert_int_equal(test->storage->n_features, 8);
    drove_data_destroy(train);
    drove_data_destroy(test);
    write_text("unknown", "2 1:1\n7 1:1\n");
    open_both("libsvm:tr", "libsvm:unknown", 1, &train, &test);
    assert_int_equal(test->n_rows, 1);
    assert_true(test->storage->unseen.weight == 1.0);
    assert_non_null(strstr(test->storage->notes, "(\"7\", first in row 2) counts as wrong"));
    drove_data_destroy(train);
    drove_data_destroy(test);
    write_text("unknown", "7 1:1\n7 1:1\n"); /* and where no row has a known class */
    expect_refusal("libsvm:tr", "libsvm:unknown", DROVE_E_SHAPE, "test data", "row 1", "\"7\"",
                   NULL);
    write_text("dense", "1,2,3,4,5,2\n");
    expect_refusal("libsvm:tr", "csv:dense", DROVE_E_SHAPE, "expected sparse", "f32", NULL);
    write_text("wide", "1,2,3,4,5,6,2\n");
    expect_refusal("csv:dense", "csv:wide", DROVE_E_SHAPE, "5 features", "found 6", NULL);
}

TEST(test_test_data_follow_training)
{
    drove_data *train, *test;
    /* from 0: a test file in which 0 does not occur counts from 0 all the same */
    write_text("tr0", "1 0:1 2:1\n2 1:1\n");
    write_text("te0", "1 1:1\n");
    open_both("libsvm:tr0", "libsvm:te0", 1, &train, &test);
    assert_true(value_at(test, 0, 1) == 1 && value_at(test, 0, 0) == 0);
    drove_data_destroy(train);
    drove_data_destroy(test);
    expect_refusal("libsvm:te0", "libsvm:tr0", DROVE_E_DATA, "tr0:1:3", "from 1", NULL);
    /* whole numbers in the test file are values where the training data have values */
    write_text("trv", "1.5 1:1\n2.5 1:2\n");
    write_text("tev", "1 1:1\n2 1:1\n");
    open_both("libsvm:trv", "libsvm:tev", 1, &train, &test);
    assert_true(target_of(test, 1) == 2);
    drove_data_destroy(train);
    drove_data_destroy(test);
    /* a test file with single labels belongs to multi-label training data */
    write_text("trm", "4,0 1:1\n2 1:1\n");
    write_text("tem", "4 1:1\n 1:1\n2,0 1:1\n");
    open_both("libsvm:trm", "libsvm:tem", 1, &train, &test);
    const uint64_t start[] = {0, 1, 1, 3};
    const uint32_t label[] = {2, 0, 1};
    assert_memory_equal(test->storage->label_start, start, sizeof start);
    assert_memory_equal(test->storage->label, label, sizeof label);
    drove_data_destroy(train);
    drove_data_destroy(test);
}

TEST(test_convert)
{
    static const char *const sources[] = {"csv:in.csv", "libsvm:in.svm", "idx:in.x,in.y"};
    static const char *const targets[] = {"csv:out", "libsvm:out", "npy:out,out.y",
                                          "idx:out,out.y"};
    write_text("in.csv", "0.1,-2.5e-7,3,0\n123456.789,16777217,0,1\n1e30,0,0,0\n");
    write_text("in.svm",
               "-1 1:0.3333333 3:2\n+1 2:1e-20\n-1 9:0\n"); /* the last feature is in no row */
    write_idx_file("in.x", 3, (const uint32_t[]){4, 2, 2}, 250, 11);
    write_idx_file("in.y", 1, (const uint32_t[]){4}, 2, 1);
    for (size_t i = 0; i < 3; i++) {
        for (size_t j = 0; j < 4; j++) {
            unlink("out");
            unlink("out.y");
            drove_data *before = open_data(sources[i]);
            if (drove_data_convert(before, targets[j]) != DROVE_OK)
                fail_msg("%s: %s", targets[j], drove_error_text());
            drove_data *after = open_data(targets[j]);
            if (i == 1 && j == 3) { /* IDX has no names: classes by their number */
                assert_int_equal(after->storage->y_class[1], before->storage->y_class[1]);
                for (size_t f = 0; f < 9; f++)
                    assert_true(value_at(after, 0, f) == value_at(before, 0, f));
            } else if (i == 1 && j == 2) { /* NPY has numbers: "1" for "+1" */
                assert_string_equal(class_of(after, 1), "1");
                assert_string_equal(class_of(after, 0), "-1");
                assert_true(value_at(after, 1, 1) == 1e-20f);
            } else {
                expect_same(before, after);
            }
            if (i == 2 && j >= 2) {
                assert_int_equal(after->storage->x_kind, DROVE_X_U8);
                assert_int_equal(after->storage->height, 2);
            }
            drove_data_destroy(before);
            drove_data_destroy(after);
        }
    }
}

TEST(test_convert_more)
{
    static const char *const files[] = {"c1", "c2", "c3", "c4", "c5", "c5.y", "c6"};
    for (size_t i = 0; i < 7; i++) unlink(files[i]);
    write_text("scaled", "0,0\n5,1\n10,0\n");
    drove_data *d = open_data("csv:scaled?scale=unit");
    assert_int_equal(drove_data_convert(d, "csv:c1?scaled=1"), DROVE_OK);
    size_t n;
    char *text = read_bytes("c1", &n);
    assert_string_equal(text, "0,0\n0.5,1\n1,0\n");
    free(text);
    assert_int_equal(drove_data_convert(d, "csv:c2"), DROVE_OK);
    text = read_bytes("c2", &n);
    assert_string_equal(text, "0,0\n5,1\n10,0\n");
    free(text);
    assert_int_equal(drove_data_convert(d, "csv:c2"), DROVE_E_EXISTS); /* and is unchanged */
    text = read_bytes("c2", &n);
    assert_int_equal(n, 13);
    free(text);
    assert_int_equal(drove_data_convert(d, "csv:c3.gz"), DROVE_E_UNSUPPORTED);
    assert_int_equal(drove_data_convert(d, "csv:no/such/folder"), DROVE_E_FILE);
    assert_int_equal(drove_data_convert(d, "npy:c3,c3"), DROVE_E_ARG);
    assert_int_equal(drove_data_convert(d, "cifar10:c3"), DROVE_E_UNSUPPORTED);
    assert_int_equal(drove_data_convert(d, "nosuch:c3"), DROVE_E_ARG);
    drove_data_destroy(d);
    assert_int_equal(access("c3", F_OK), -1);

    write_text("words", "1,\"a,b\"\n2,\"say \"\"x\"\"\"\n3,two words\n");
    d = open_data("csv:words");
    assert_int_equal(drove_data_convert(d, "csv:c4"), DROVE_OK);
    drove_data *back = open_data("csv:c4");
    expect_same(d, back);
    drove_data_destroy(back);
    drove_data_destroy(d);

    write_text("multi", "2,0 1:1\n 2:1\n1 1:2\n");
    d = open_data("libsvm:multi");
    assert_int_equal(drove_data_convert(d, "csv:c6"), DROVE_E_UNSUPPORTED);
    assert_int_equal(drove_data_convert(d, "idx:c6,c7"), DROVE_E_UNSUPPORTED);
    assert_int_equal(drove_data_convert(d, "npy:c5,c5.y"), DROVE_OK);
    assert_int_equal(drove_data_convert(d, "libsvm:c6"), DROVE_OK);
    back = open_data("npy:c5,c5.y");
    expect_same(d, back);
    drove_data_destroy(back);
    back = open_data("libsvm:c6");
    expect_same(d, back);
    drove_data_destroy(back);
    drove_data_destroy(d);
}

/* A split view writes its own rows. */
TEST(test_convert_part)
{
    write_ten();
    unlink("part");
    drove_data *train, *test;
    open_both("csv:ten?split=0.3", "split", 3, &train, &test);
    assert_int_equal(drove_data_convert(test, "csv:part"), DROVE_OK);
    drove_data *back = open_data("csv:part");
    assert_int_equal(back->n_rows, 3);
    for (size_t i = 0; i < 3; i++) assert_true(value_at(back, i, 0) == value_at(test, i, 0));
    drove_data_destroy(back);
    drove_data_destroy(train);
    drove_data_destroy(test);
}

TEST(test_full_disk)
{
    write_ten();
    if (access("/dev/full", W_OK) != 0) skip();
    drove_data *d = open_data("csv:ten");
    assert_int_equal(drove_data_convert(d, "csv:/dev/full"), DROVE_E_IO);
    assert_non_null(strstr(drove_error_text(), "/dev/full"));
    unlink("full.x");
    assert_int_equal(drove_data_convert(d, "npy:full.x,/dev/full"), DROVE_E_IO);
    assert_int_equal(access("full.x", F_OK), -1); /* both or none */
    drove_data_destroy(d);
}

TEST(test_describe)
{
    write_text("d", "1 1:1 3:2\n2 2:5\n1 1:1\n");
    drove_data *train, *test;
    drove_data_facts facts;
    open_both("libsvm:d?scale=unit&split=0.34", "split", 1, &train, &test);
    drove_data_describe(train, &facts);
    size_t n_train = facts.n_stored;
    assert_int_equal(facts.n_rows, 2);
    assert_int_equal(facts.n_features, 3);
    assert_int_equal(facts.n_classes, 2);
    assert_string_equal(facts.storage, "sparse f32");
    assert_string_equal(facts.target, "class");
    assert_string_equal(facts.scale, "unit");
    assert_non_null(facts.notes);
    drove_data_describe(test, &facts);
    assert_int_equal(n_train + facts.n_stored, 4);
    char text[2048] = "";
    FILE *stream = fmemopen(text, sizeof text - 1, "w");
    FILE *full = fopen("/dev/full", "w");
    if (full != NULL) {
        (void)setvbuf(full, NULL, _IONBF, 0);
        assert_int_equal(drove_data_print_info(train, full), DROVE_E_IO);
        (void)fclose(full);
    }
    assert_int_equal(drove_data_print_info(train, stream), DROVE_OK);
    fclose(stream);
    assert_non_null(strstr(text, "rows      2\n"));
    assert_non_null(strstr(text, "features  3\n"));
    drove_data_destroy(train);
    drove_data_destroy(test);
    drove_data_destroy(NULL);
}

TEST(test_bad_specs)
{
    write_ten();
    expect_refusal("csv", NULL, DROVE_E_ARG, "csv:FILE", NULL);
    expect_refusal("csv:ten,ten", NULL, DROVE_E_ARG, "found 2", NULL);
    expect_refusal("cvs:ten", NULL, DROVE_E_ARG, "csv", NULL);
    expect_refusal("synth:digitz", NULL, DROVE_E_ARG, "synth:digits", NULL);
    expect_refusal("csv:ten?lable=last", NULL, DROVE_E_ARG, "label", NULL);
    expect_refusal("csv:ten?part=test", NULL, DROVE_E_ARG, "part", NULL);
    expect_refusal("csv:ten", "cvs:ten", DROVE_E_ARG, "test data", "csv", NULL);
    expect_refusal("csv:ten", "csv:nowhere", DROVE_E_FILE, "test data", "nowhere", NULL);
    expect_refusal("", NULL, DROVE_E_ARG, NULL);
    expect_refusal("csv:.", NULL, DROVE_E_FILE, NULL);
}
