/* Which rows are held out: the last, or whole groups, of files, of views and in copies. */
#include "support.h"

#include "base/mem.h"
#include "data/parting.h"
#include "table/schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 300, N_STORES = 20 };

/* Store of row i, of quite different sizes; the row itself is in column x. */
static int store_of(int i)
{
    return i % 7 == 0 ? 0 : (i * 13 + i / 11) % N_STORES;
}

static void write_stores(void)
{
    FILE *f = fopen("stores.csv", "w");
    assert_non_null(f);
    fprintf(f, "x,store,y\n");
    for (int i = 0; i < N; i++)
        fprintf(f, "%d,%d,%s\n", i, 100 + store_of(i), i % 3 == 0 ? "yes" : "no");
    fclose(f);
}

static int row_of(const drove_data *data, size_t i)
{
    return (int)value_at(data, i, 0);
}

/* No store is on both sides; every row is on one. */
static void expect_apart(const drove_data *a, const drove_data *b)
{
    int side[N_STORES] = {0}, seen[N] = {0};
    for (size_t i = 0; i < a->n_rows; i++) side[store_of(row_of(a, i))] |= 1, seen[row_of(a, i)]++;
    for (size_t i = 0; i < b->n_rows; i++) side[store_of(row_of(b, i))] |= 2, seen[row_of(b, i)]++;
    for (int k = 0; k < N_STORES; k++)
        if (side[k] == 3) fail_msg("store %d is on both sides", k);
    for (int i = 0; i < N; i++)
        if (seen[i] != 1) fail_msg("row %d is there %d times", i, seen[i]);
}

static bool has_store(const drove_data *data, int store)
{
    for (size_t i = 0; i < data->n_rows; i++)
        if (store_of(row_of(data, i)) == store) return true;
    return false;
}

TEST(groups_stay_together)
{
    write_stores();
    bool was_held[N_STORES] = {false};
    for (uint64_t seed = 1; seed <= 30; seed++) {
        drove_data *train, *test, *again, *other;
        const char *spec = "stores.csv?label=y&split=0.2:group:store&types=x:number&scale=none";
        open_both(spec, "split", seed, &train, &test);
        open_both(spec, "split", seed, &again, &other);
        expect_apart(train, test);
        assert_int_equal(test->n_rows, other->n_rows);
        assert_memory_equal(test->row, other->row, test->n_rows * sizeof *test->row);
        /* the largest store has about a seventh of the rows */
        assert_true(test->n_rows >= 30 && test->n_rows <= 85);
        assert_int_equal(train->storage->n_features, 1); /* the store is none */
        assert_int_equal(train->storage->schema->column[1].type, DROVE_COLUMN_GROUP);
        for (int k = 0; k < N_STORES; k++) was_held[k] = was_held[k] || has_store(test, k);
        drove_data_destroy(train);
        drove_data_destroy(test);
        drove_data_destroy(again);
        drove_data_destroy(other);
    }
    for (int k = 0; k < N_STORES; k++) assert_true(was_held[k]);
}

/* By the value, not by where it stands: the file in another order has the same stores held out. */
TEST(order_does_not_matter)
{
    write_stores();
    FILE *f = fopen("turned.csv", "w");
    assert_non_null(f);
    fprintf(f, "x,store,y\n");
    for (int i = N; i-- > 0;)
        fprintf(f, "%d,%d,%s\n", i, 100 + store_of(i), i % 3 == 0 ? "yes" : "no");
    fclose(f);
    drove_data *train[2], *test[2];
    const char *const specs[] = {"stores.csv?label=y&split=group:store&types=x:number&scale=none",
                                 "turned.csv?label=y&split=group:store&types=x:number&scale=none"};
    for (int k = 0; k < 2; k++) open_both(specs[k], "split", 5, &train[k], &test[k]);
    for (int k = 0; k < N_STORES; k++)
        assert_int_equal(has_store(test[0], k), has_store(test[1], k));
    for (int k = 0; k < 2; k++) {
        drove_data_destroy(train[k]);
        drove_data_destroy(test[k]);
    }
}

/* A feature that says the group: as a number, and as a category. */
TEST(a_feature_may_be_the_group)
{
    write_stores();
    static const char *const specs[] = {
        "stores.csv?label=y&split=0.3:group:store&types=store:category+x:number&scale=none",
        "stores.csv?label=y&split=0.3:group:store&columns=x+store&types=x:number&scale=none",
        "stores.csv?label=y&split=0.3:group:2&types=store:number+x:number&scale=none"};
    for (size_t k = 0; k < DROVE_COUNT(specs); k++) {
        drove_data *train, *test;
        open_both(specs[k], "split", 2, &train, &test);
        assert_int_equal(train->storage->n_features, k == 0 ? 1 + N_STORES : 2);
        expect_apart(train, test);
        drove_data_destroy(train);
        drove_data_destroy(test);
    }
}

/* Validation examples, and folds, of a view and of a copy; parts of a part. */
TEST(views_and_copies)
{
    write_stores();
    drove_data *train, *test, *copy, *held;
    open_both("stores.csv?label=y&split=0.2:group:store&types=x:number&scale=none", "split", 3,
              &train, &test);
    assert_int_equal(drove__data_copy(train, &copy), DROVE_OK);
    for (size_t i = 0; i < copy->n_rows; i++)
        for (size_t k = 0; k < copy->n_rows; k++)
            assert_int_equal(drove__data_group(copy, i) == drove__data_group(copy, k),
                             store_of(row_of(copy, i)) == store_of(row_of(copy, k)));
    uint32_t fold[N], of_store[N_STORES];
    size_t n_rows[4] = {0};
    assert_int_equal(drove__data_folds(copy, 4, 1, fold), DROVE_OK);
    for (size_t i = 0; i < copy->n_rows; i++) of_store[store_of(row_of(copy, i))] = fold[i];
    for (size_t i = 0; i < copy->n_rows; i++) {
        assert_int_equal(fold[i], of_store[store_of(row_of(copy, i))]);
        n_rows[fold[i]]++;
    }
    for (size_t k = 0; k < 4; k++) /* each gets the largest group that is left where it is least */
        assert_true(4 * n_rows[k] > 3 * copy->n_rows / 4 && n_rows[k] < copy->n_rows / 3);
    drove_data_destroy(copy);
    assert_int_equal(drove__data_hold_out(train, 40, 9, &held), DROVE_OK);
    assert_true(held->n_rows >= 1 && held->n_rows <= 60);
    for (size_t i = 0; i < held->n_rows; i++)
        assert_false(has_store(train, store_of(row_of(held, i))));
    drove_data_destroy(held);
    drove_data_destroy(train);
    drove_data_destroy(test);
}

/* All folds together are all rows, each of whole groups. */
TEST(folds_of_groups)
{
    write_stores();
    int seen[N] = {0};
    for (int k = 1; k <= 3; k++) {
        char spec[128];
        drove_data *train, *test;
        snprintf(spec, sizeof spec,
                 "stores.csv?label=y&split=group:store&fold=%d/3&types=x:number&scale=none", k);
        open_both(spec, "split", 4, &train, &test);
        expect_apart(train, test);
        for (size_t i = 0; i < test->n_rows; i++) seen[row_of(test, i)]++;
        drove_data_destroy(train);
        drove_data_destroy(test);
    }
    for (int i = 0; i < N; i++) assert_int_equal(seen[i], 1);
}

/* Rows without a value, and rows without a label. */
TEST(missing_cells)
{
    FILE *f = fopen("gaps.csv", "w");
    assert_non_null(f);
    fprintf(f, "x,who,y\n");
    for (int i = 0; i < 40; i++)
        fprintf(f, "%d,%s,%s\n", i * i,
                i % 4 == 0   ? ""
                : i % 4 == 1 ? "ann"
                             : "bob",
                i == 21 ? ""
                : i % 2 ? "a"
                        : "b");
    fclose(f);
    drove_data *data = open_data("gaps.csv?label=y&split=group:who");
    assert_int_equal(data->n_rows, 39);
    assert_int_equal(data->storage->parting.n_groups, 2 + 10);
    uint32_t ann = drove__data_group(data, 1), bob = drove__data_group(data, 2);
    for (size_t i = 0; i < 39; i++) {
        const size_t row = i < 21 ? i : i + 1; /* of the file */
        const uint32_t group = drove__data_group(data, i);
        if (row % 4 == 1) assert_int_equal(group, ann);
        if (row % 4 >= 2) assert_int_equal(group, bob);
        for (size_t k = 0; row % 4 == 0 && k < 39; k++)
            assert_true(k == i || drove__data_group(data, k) != group);
    }
    drove_data_destroy(data);
}

TEST(the_last_rows)
{
    write_stores();
    drove_data *train, *test, *held;
    open_both("stores.csv?label=y&split=0.2:last&types=x:number&scale=none", "split", 3, &train,
              &test);
    assert_int_equal(test->n_rows, N / 5);
    for (size_t i = 0; i < test->n_rows; i++) assert_int_equal(row_of(test, i), N - N / 5 + (int)i);
    assert_int_equal(drove__data_hold_out(train, 40, 9, &held), DROVE_OK);
    for (size_t i = 0; i < 40; i++) assert_int_equal(row_of(held, i), N - N / 5 - 40 + (int)i);
    uint32_t fold[N];
    assert_int_equal(drove__data_folds(train, 4, 9, fold), DROVE_OK);
    for (size_t i = 0; i < train->n_rows; i++) assert_int_equal(fold[i], i / 50);
    drove_data_destroy(held);
    drove_data_destroy(test);
    drove_data_destroy(train);
    write_text("ten.svm",
               "0 1:1\n1 1:2\n0 1:3\n1 1:4\n0 1:5\n1 1:6\n0 1:7\n1 1:8\n0 1:9\n1 1:10\n");
    open_both("libsvm:ten.svm?split=last", "split", 3, &train, &test);
    assert_int_equal(test->n_rows, 1);
    assert_true(value_at(test, 0, 0) == 10.0f);
    drove_data_destroy(test);
    drove_data_destroy(train);
}

/* Folds of rows that may stand anywhere: of each class its share, to a row. */
TEST(folds_by_class)
{
    write_stores();
    drove_data *data = open_data("stores.csv?label=y&types=x:number");
    uint32_t fold[N], other[N];
    size_t n_of[2][5] = {{0}};
    assert_int_equal(drove__data_folds(data, 5, 1, fold), DROVE_OK);
    assert_int_equal(drove__data_folds(data, 5, 2, other), DROVE_OK);
    assert_memory_not_equal(fold, other, sizeof fold);
    for (size_t i = 0; i < N; i++) n_of[data->storage->y_class[i]][fold[i]]++;
    for (size_t k = 0; k < 5; k++) {
        assert_int_equal(n_of[0][k], 2 * N / 3 / 5);
        assert_int_equal(n_of[1][k], N / 3 / 5);
    }
    drove_data_destroy(data);
}

TEST(refusals)
{
    write_stores();
    write_text("one.csv", "x,g,y\n1,a,0\n2,a,1\n4,a,1\n5,a,0\n");
    const struct {
        const char *spec;
        drove_status status;
        const char *word;
    } cases[] = {
        {"stores.csv?label=y&split=group:shop", DROVE_E_ARG, "expected a column of stores.csv"},
        {"stores.csv?label=y&split=group:y", DROVE_E_ARG, "than the label"},
        {"stores.csv?label=y&split=group:", DROVE_E_ARG, "group:COLUMN"},
        {"stores.csv?label=y&split=first", DROVE_E_ARG, "\"first\""},
        {"stores.csv?label=y&split=1.5:last", DROVE_E_ARG, "1.5"},
        {"stores.csv?label=y&split=0.2:", DROVE_E_ARG, "0.2:"},
        {"stores.csv?label=y&split=last&fold=1/2", DROVE_E_ARG, "split=last or fold"},
        {"stores.csv?label=y&split=group:store&fold=1/21", DROVE_E_SHAPE, "21 groups"},
        {"csv:stores.csv?split=group:store", DROVE_E_ARG, "expected a table"},
        {"synth:digits?n=20&split=group:store", DROVE_E_ARG, "expected a table"},
        {"one.csv?label=y&split=group:g", DROVE_E_SHAPE, "two groups"},
    };
    for (size_t k = 0; k < DROVE_COUNT(cases); k++)
        expect_refusal(cases[k].spec, "split", cases[k].status, cases[k].word, NULL);
}
