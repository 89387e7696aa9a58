/* tests/unit/table/test_encode.c - known rows against values computed by hand. */
#include "support.h"

#include "base/mem.h"
#include "table/murmur.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void encode(drove_known_table *known, drove_encoded *x)
{
    if (drove__table_encode(known, NULL, known->table.n_rows, x) != DROVE_OK)
        fail_msg("%s", drove_error_text());
}

static void expect_near(float found, double expected)
{
    if (fabs((double)found - expected) > 1e-5)
        fail_msg("expected %g, found %g", expected, (double)found);
}

TEST(test_dense)
{
    drove_known_table known;
    drove_encoded x;
    drove_table_options opt = options_of("known", "y");
    write_text("known", "born;age;town;smokes;y\n"
                        "1970-02-01;1,5;Oslo;yes;1\n"
                        "1971-01-04;NA;Bonn;no;2\n"
                        "1972-01-03;3,5;?;NA;3\n"
                        "NA;9,5;Oslo;yes;4\n");
    learn(&opt, &known);
    encode(&known, &x);
    const size_t n = known.schema->n_features;
    const float *row[] = {x.x, x.x + n, x.x + 2 * n, x.x + 3 * n};
    expect_near(feature_of(&known, row[0], "age"), 1.5);
    expect_near(feature_of(&known, row[1], "age"), 3.5); /* the median */
    expect_near(feature_of(&known, row[1], "age missing"), 1);
    expect_near(feature_of(&known, row[0], "age missing"), 0);
    expect_near(feature_of(&known, row[0], "town=Oslo"), 1);
    expect_near(feature_of(&known, row[0], "town=Bonn"), 0);
    expect_near(feature_of(&known, row[2], "town=Oslo"), 0);
    expect_near(feature_of(&known, row[2], "town missing"), 1);
    expect_near(feature_of(&known, row[1], "smokes"), 0);
    expect_near(feature_of(&known, row[2], "smokes"), 1); /* the more frequent */
    expect_near(feature_of(&known, row[2], "smokes missing"), 1);
    expect_near(feature_of(&known, row[0], "born days"), 31);
    expect_near(feature_of(&known, row[0], "born year"), 1970);
    expect_near(feature_of(&known, row[0], "born month sine"), 0.5);
    expect_near(feature_of(&known, row[0], "born day cosine"), 1);
    expect_near(feature_of(&known, row[1], "born weekday sine"), 0); /* a Monday */
    expect_near(feature_of(&known, row[1], "born weekday cosine"), 1);
    expect_near(feature_of(&known, row[3], "born days"), 368); /* the median */
    expect_near(feature_of(&known, row[3], "born missing"), 1);
    drove__free(x.x);
    drove__known_table_fini(&known);
}

/* Cells that are missing for the first time after the training data: neither of these columns
 * has a feature that says so, and each is read as what lies in its middle. */
TEST(test_missing_later)
{
    drove_known_table known, later;
    drove_encoded x;
    drove_table_options opt = options_of("complete", "y");
    write_text("complete", "n,on,born,town,y\n"
                           "100,yes,1990-01-02,Oslo,1\n"
                           "103,yes,1990-01-04,Bonn,2\n"
                           "106,no,1990-01-06,Oslo,3\n"
                           "115,yes,1990-01-08,Oslo,4\n");
    learn(&opt, &known);
    write_text("later", "n,on,born,town,y\n,,,,1\n");
    drove_table_options again = options_of("later", "y");
    if (drove__table_match(&again, known.schema, true, &later) != DROVE_OK)
        fail_msg("%s", drove_error_text());
    encode(&later, &x);
    assert_int_equal(later.schema->n_features, known.schema->n_features);
    expect_near(feature_of(&later, x.x, "n"), 106); /* the mean */
    expect_near(feature_of(&later, x.x, "on"), 1);  /* the more frequent */
    expect_near(feature_of(&later, x.x, "born days"), 20 * 365 + 5 + 4);
    expect_near(feature_of(&later, x.x, "town=Oslo"), 0);
    expect_near(feature_of(&later, x.x, "town=Bonn"), 0);
    drove__free(x.x);
    drove__known_table_fini(&later);
    drove__known_table_fini(&known);
}

/* Numbers alone are not copied. */
TEST(test_raw)
{
    drove_known_table known;
    drove_encoded x;
    drove_table_options opt = options_of("numbers", "y");
    write_text("numbers", "a,b,y\n1,2.5,0\n3,\"4\",1\n-5e1,6,0\n");
    learn(&opt, &known);
    const uint32_t *raw = known.table.raw;
    encode(&known, &x);
    const float expected[] = {1, 2.5f, 3, 4, -50, 6};
    assert_ptr_equal(x.x, raw);
    assert_memory_equal(x.x, expected, sizeof expected);
    drove__free(x.x);
    drove__known_table_fini(&known);
}

TEST(test_hashed)
{
    drove_known_table known;
    drove_encoded x;
    drove_table_options opt = options_of("hashed", "y");
    opt.types = "town:category";
    opt.onehot = 2;
    opt.hash = 8;
    opt.text = "note";
    write_text("hashed", "town,note,y\nhello,Red red BLUE,0\nBonn,blue,1\nOslo,,0\n");
    learn(&opt, &known);
    encode(&known, &x);
    assert_int_equal(known.schema->n_features, 16);
    assert_true(x.x[0x248bfa47 & 7] == 1);
    float sum[2] = {0};
    for (size_t i = 0; i < 8; i++) {
        sum[0] += x.x[i];
        sum[1] += x.x[32 + 8 + i];
    }
    assert_true(sum[0] == 1 && sum[1] == 0);
    assert_true(x.x[8 + (drove__murmur32("red", 3, 0) & 7)] == 1);
    assert_true(x.x[8 + (drove__murmur32("blue", 4, 0) & 7)] == 1);
    assert_true(x.x[16 + 8 + (drove__murmur32("blue", 4, 0) & 7)] == 1);
    drove__free(x.x);
    drove__known_table_fini(&known);
}

TEST(test_kept_rows)
{
    drove_known_table known;
    drove_encoded x;
    drove_table_options opt = options_of("kept", "y");
    const bool keep[] = {true, false, true};
    write_text("kept", "a,note,y\n1,one,0\n2,two,1\n3,one,0\n");
    opt.text = "note";
    opt.hash = 4;
    learn(&opt, &known);
    assert_int_equal(drove__table_encode(&known, keep, 2, &x), DROVE_OK);
    assert_true(x.x[0] == 1 && x.x[5] == 3);
    assert_memory_equal(x.x + 1, x.x + 6, 4 * sizeof *x.x);
    drove__free(x.x);
    drove__known_table_fini(&known);
}

/* Many categories: sparse, numbers centred, features ascending. */
TEST(test_sparse)
{
    enum { ROWS = 5000 };
    drove_known_table known;
    drove_encoded x;
    drove_table_options opt = options_of("sparse", "y");
    opt.onehot = 64;
    FILE *file = fopen("sparse", "w");
    assert_non_null(file);
    fputs("year,town,y\n", file);
    for (unsigned row = 0; row < ROWS; row++)
        fprintf(file, "%u,town%u,%u\n", 2000 + row % 3, row * 7 % 500, row % 2);
    assert_int_equal(fclose(file), 0);
    learn(&opt, &known);
    encode(&known, &x);
    assert_true(known.schema->is_sparse);
    assert_int_equal(known.schema->n_features, 1 + DROVE_HASH_DEFAULT);
    assert_null(x.x);
    for (size_t row = 0; row < ROWS; row++) {
        assert_int_equal(x.row_start[row], 2 * row);
        assert_int_equal(x.index[2 * row], 0);
        assert_true(fabsf(x.value[2 * row]) < 1.1f);
        char town[16];
        int n = sprintf(town, "town%zu", row * 7 % 500);
        assert_int_equal(x.index[2 * row + 1],
                         1 + (drove__murmur32(town, (size_t)n, 0) & (DROVE_HASH_DEFAULT - 1)));
        assert_true(x.value[2 * row + 1] == 1);
    }
    free(x.row_start);
    free(x.index);
    free(x.value);
    drove__known_table_fini(&known);
}

/* Several blocks whose rows have fewer features than the columns may have: no gap stays. */
TEST(test_sparse_blocks)
{
    enum { ROWS = 30000 };
    drove_known_table known;
    drove_encoded x;
    drove_table_options opt = options_of("gaps", "y");
    opt.onehot = 64;
    FILE *file = fopen("gaps", "w");
    assert_non_null(file);
    fputs("a,b,c,smokes,town,y\n", file);
    for (unsigned row = 0; row < ROWS; row++)
        fprintf(file, "%.1f,%s,%u.5,%s,town%u,%u\n", row % 10 * 0.5, row % 3 == 0 ? "" : "2.5",
                row % 20, row % 4 == 0 ? "yes" : "no", row * 7 % 500, row % 2);
    assert_int_equal(fclose(file), 0);
    learn(&opt, &known);
    assert_true(known.table.n_blocks > 3 && known.schema->is_sparse);
    known.table.n_threads = 2;
    encode(&known, &x);
    const drove_column *a = column_of(&known, "a"), *b = column_of(&known, "b"),
                       *c = column_of(&known, "c"), *smokes = column_of(&known, "smokes"),
                       *town = column_of(&known, "town");
    size_t at = 0;
    for (size_t row = 0; row < ROWS; row++) {
        assert_int_equal(x.row_start[row], at);
        assert_int_equal(x.index[at], a->first_feature);
        expect_near(x.value[at++], (double)(row % 10) * 0.5 - a->centre);
        assert_int_equal(x.index[at], b->first_feature);
        expect_near(x.value[at++], 2.5 - b->centre); /* the median, where it is missing */
        if (row % 3 == 0) {
            assert_int_equal(x.index[at], b->first_feature + 1);
            expect_near(x.value[at++], 1);
        }
        assert_int_equal(x.index[at], c->first_feature);
        expect_near(x.value[at++], (double)(row % 20) + 0.5 - c->centre);
        if (row % 4 == 0) {
            assert_int_equal(x.index[at], smokes->first_feature);
            expect_near(x.value[at++], 1);
        }
        assert_in_range(x.index[at], town->first_feature,
                        town->first_feature + DROVE_HASH_DEFAULT - 1);
        expect_near(x.value[at++], 1);
    }
    assert_int_equal(x.row_start[ROWS], at);
    free(x.row_start);
    free(x.index);
    free(x.value);
    drove__known_table_fini(&known);
}

/* Whatever the number of threads, the same features. */
TEST(test_threads)
{
    drove_known_table known;
    drove_encoded x[2];
    drove_table_options opt = options_of("threads", "y");
    FILE *file = fopen("threads", "w");
    assert_non_null(file);
    fputs("a,town,note,y\n", file);
    for (unsigned row = 0; row < 30000; row++) {
        fprintf(file, "%s,\"t\n%u\",w%u x%u,%u\n", row % 11 == 0 ? "" : "1.5", row % 40, row % 17,
                row % 3, row % 2);
    }
    assert_int_equal(fclose(file), 0);
    opt.text = "note";
    opt.hash = 32;
    size_t n[2];
    for (int i = 0; i < 2; i++) {
        learn(&opt, &known);
        assert_true(known.table.n_blocks > 3);
        known.table.n_threads = i == 0 ? 1 : 4;
        encode(&known, &x[i]);
        n[i] = known.table.n_rows * known.schema->n_features;
        drove__known_table_fini(&known);
    }
    assert_int_equal(n[0], n[1]);
    assert_memory_equal(x[0].x, x[1].x, n[0] * sizeof(float));
    drove__free(x[0].x);
    drove__free(x[1].x);
}

/* Each bin's part below the number; the edges are quantiles of 0, 1, 2, 4, 8, 16, 16, 16, 32. */
TEST(test_bins)
{
    static const float values[] = {0, 1, 2, 4, 8, 16, 16, 16, 32};
    static const double edge[] = {0, 2, 8, 16, 32}; /* four bins: values 0, 2, 4, 6, 8 */
    drove_known_table known;
    drove_encoded x;
    drove_table_options opt = options_of("bins", "y");
    write_text("bins", "a,two,y\n0,3,0\n1,5,0\n2,3,0\n4,5,0\n8,3,1\n16,5,1\n16,3,1\n16,5,1\n"
                       "32,3,1\nNA,5,1\n");
    opt.bins = 4;
    learn(&opt, &known);
    encode(&known, &x);
    assert_int_equal(column_of(&known, "a")->bins.n, 4);
    assert_int_equal(column_of(&known, "two")->bins.n, 0); /* two values need no bins */
    assert_int_equal(known.schema->n_features, 1 + 4 + 1 + 1);
    for (size_t row = 0; row < 10; row++) {
        const float *found = x.x + row * known.schema->n_features;
        double value = row < 9 ? (double)values[row] : 8.0; /* the median */
        expect_near(found[0], value);
        for (size_t b = 0; b < 4; b++) {
            double part = (value - edge[b]) / (edge[b + 1] - edge[b]);
            expect_near(found[1 + b], fmin(fmax(part, 0.0), 1.0));
        }
        expect_near(found[5], row == 9 ? 1 : 0);
    }
    expect_near(feature_of(&known, x.x + 3 * known.schema->n_features, "a from 2 to 8"), 1.0 / 3.0);
    drove__free(x.x);
    drove__known_table_fini(&known);
}

/* A number that is a category as well: of a value that the training data do not have no level. */
TEST(test_levels)
{
    static const double levels[] = {-2.5, 0.1, 3, 7};
    drove_known_table known, further;
    drove_encoded x;
    drove_table_options opt = options_of("both", "y");
    write_text("both", "a,b,y\n3,1,0\n0.1,2,1\n7,3,0\n-2.5,4,1\nNA,6,1\n3,7,0\n0.1,9,1\n");
    opt.also = "a";
    learn(&opt, &known);
    const drove_column *c = column_of(&known, "a");
    assert_int_equal(c->levels.n, 4);
    assert_int_equal(known.schema->n_features, 1 + 4 + 1 + 1);
    for (size_t f = 0; f < 7; f++)
        assert_int_equal(drove__schema_is_binary(known.schema, f), f >= 1 && f < 6);

    write_text("more", "b,a\n1,0.1\n2,3.5\n3,\n4,7\n5,3\n");
    static const double a[] = {0.1, 3.5, NAN, 7, 3};
    opt.path = "more";
    assert_ok(drove__table_match(&opt, known.schema, false, &further));
    encode(&further, &x);
    for (size_t row = 0; row < 5; row++) {
        const float *found = x.x + row * 7;
        expect_near(found[0], isnan(a[row]) ? 1.55 : a[row]); /* the median of six */
        for (size_t k = 0; k < 4; k++) expect_near(found[1 + k], a[row] == levels[k] ? 1 : 0);
        expect_near(found[5], isnan(a[row]) ? 1 : 0);
    }
    drove__free(x.x);
    drove__known_table_fini(&further);
    drove__known_table_fini(&known);

    opt.path = "both";
    opt.onehot = 3;
    expect_refusal(&opt, DROVE_E_ARG, "at most 3 values", "\"a\"", NULL);
    opt.onehot = 9;
    opt.types = "a:category";
    expect_refusal(&opt, DROVE_E_ARG, "also", "\"a\", category", NULL);
}

/* Levels of numbers whose digits a float has not, and of a sparse table. */
TEST(test_levels_of_doubles)
{
    drove_known_table known;
    drove_encoded x;
    FILE *f = fopen("stamps", "w");
    assert_non_null(f);
    fprintf(f, "ms,wide,y\n");
    for (int i = 0; i < 900; i++) fprintf(f, "%d,%d,%d\n", i % 3, i % 400, i % 2);
    fclose(f);
    drove_table_options opt = options_of("stamps", "y");
    opt.also = "wide+ms";
    learn(&opt, &known);
    assert_true(known.schema->is_sparse);
    encode(&known, &x);
    for (size_t row = 0; row < 900; row++) {
        const uint64_t at = x.row_start[row];
        assert_int_equal(x.row_start[row + 1] - at, 4);
        assert_int_equal(x.index[at + 1], 1 + row % 3);
        assert_int_equal(x.index[at + 3], 1 + 3 + 1 + row % 400);
        assert_true(x.value[at + 1] == 1 && x.value[at + 3] == 1);
    }
    free(x.row_start);
    free(x.index);
    free(x.value);
    drove__known_table_fini(&known);

    f = fopen("stamps", "w");
    assert_non_null(f);
    fprintf(f, "ms,y\n");
    for (int i = 0; i < 40; i++) fprintf(f, "%lld,%d\n", 1700000000000LL + 5 * (i % 4), i % 2);
    fclose(f);
    opt.also = "ms";
    learn(&opt, &known);
    assert_int_equal(column_of(&known, "ms")->levels.n, 4);
    encode(&known, &x);
    for (size_t row = 0; row < 40; row++)
        for (size_t k = 0; k < 4; k++) expect_near(x.x[row * 5 + 1 + k], row % 4 == k ? 1 : 0);
    drove__free(x.x);
    drove__known_table_fini(&known);
}

/* Whole numbers of 3 to 64 values, each in five rows or more. */
TEST(test_which_may_be_both)
{
    drove_known_table known;
    char list[64], small[4];
    FILE *f = fopen("which", "w");
    assert_non_null(f);
    fprintf(f, "year,half,two,many,rare,the+month,y\n");
    for (int i = 0; i < 700; i++)
        fprintf(f, "%d,%g,%d,%d,%d,%d,%d\n", 1970 + i % 17, 0.5 * (i % 5), i % 2 + 4, i % 65,
                i < 4 ? 9 : i % 4, i % 12 + 1, i % 2);
    fclose(f);
    drove_table_options opt = options_of("which", "y");
    learn(&opt, &known);
    assert_true(column_of(&known, "year")->levels.n_rarest == 700 / 17);
    assert_true(drove__schema_list_both(known.schema, list, sizeof list));
    assert_string_equal(list, "year+the+month");
    assert_false(drove__schema_list_both(known.schema, small, sizeof small));
    drove__known_table_fini(&known);
    opt.also = list; /* the longest name counts, so it may hold a plus */
    learn(&opt, &known);
    assert_int_equal(column_of(&known, "the+month")->levels.n, 12);
    assert_false(drove__schema_list_both(known.schema, list, sizeof list)); /* they are already */
    drove__known_table_fini(&known);
}
