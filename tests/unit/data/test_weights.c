/* tests/unit/data/test_weights.c - weights of rows and of classes: what is read, what is refused,
 * normalisation, and that every kind of view keeps them. */
#include "support.h"

#include "data/shard.h"
#include "data/weights.h"
#include "table/schema.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char people[] = "age,w,town,alive\n"
                             "31,0.5,Oslo,no\n"
                             "4,0,Bonn,yes\n"
                             "70,2,Oslo,no\n"
                             "55,3.5,Rome,maybe\n"
                             "21,1,Rome,\n"
                             "9,4,Bonn,no\n";

static drove_data *open_people(void)
{
    write_text("weights.csv", people);
    return open_data("weights.csv?label=alive&weights=w");
}

static void near(double found, double expected)
{
    if (!(fabs(found - expected) <= 1e-6 * (1 + fabs(expected))))
        fail_msg("expected %.9g, found %.9g", expected, found);
}

/* The row without a label goes, with its weight; the column is no feature. */
TEST(rows_have_their_weights)
{
    static const double expected[] = {0.5, 0, 2, 3.5, 4};
    drove_data *d = open_people();
    assert_int_equal(d->n_rows, 5);
    assert_true(drove__data_is_weighted(d));
    near(d->mean_weight, 2.0);
    for (size_t i = 0; i < 5; i++) {
        near(drove__data_metric_weight(d, i), expected[i]);
        near(drove__data_loss_weight(d, i), expected[i] / 2);
    }
    const drove_schema *schema = d->storage->schema;
    assert_int_equal(schema->column[1].type, DROVE_COLUMN_WEIGHT);
    assert_string_equal(schema->column[1].name, "w");
    assert_int_equal(schema->column[1].n_features, 0);
    drove_data_destroy(d);
    d = open_data("weights.csv?label=alive&weights=2"); /* by its number */
    near(drove__data_metric_weight(d, 3), 3.5);
    drove_data_destroy(d);
    d = open_data("weights.csv?label=alive&weights=none");
    assert_false(drove__data_is_weighted(d));
    near(drove__data_loss_weight(d, 3), 1);
    drove_data_destroy(d);
}

/* Weight 2 is the row twice, 0 its absence: (31 0.5 + 70 2 + 55 3.5 + 9 4) / 10. */
TEST(scaling_is_weighted)
{
    drove_data *d = open_people();
    double mean = 0, square = 0;
    for (size_t i = 0; i < 5; i++) {
        double weight = drove__data_metric_weight(d, i) / 10;
        mean += weight * (double)scaled_at(d, i, 0);
        square += weight * (double)scaled_at(d, i, 0) * (double)scaled_at(d, i, 0);
    }
    near(d->shift[0], (31 * 0.5 + 70 * 2 + 55 * 3.5 + 9 * 4) / 10);
    assert_true(fabs(mean) < 1e-6 && fabs(square - 1) < 1e-5);
    drove_data_destroy(d);
}

TEST(bad_weights_are_refused)
{
    write_text("minus.csv", "x,w,y\n1,1,0\n2,-0.5,1\n3,1,0\n");
    expect_refusal("minus.csv?weights=w", NULL, DROVE_E_DATA, "row 2", "\"w\"", "-0.5", NULL);
    write_text("gap.csv", "x,w,y\n1,1,0\n2,,1\n3,1,0\n");
    expect_refusal("gap.csv?weights=w", NULL, DROVE_E_DATA, "row 2", "no number", NULL);
    write_text("word.csv", "x,w,y\n1,1,0\n2,1,1\n3,heavy,0\n");
    expect_refusal("word.csv?weights=w", NULL, DROVE_E_DATA, "row 3", "no number", NULL);
    write_text("inf.csv", "x,w,y\n1,1,0\n2,inf,1\n3,1,0\n");
    expect_refusal("inf.csv?weights=w", NULL, DROVE_E_DATA, "row 2", "weight", NULL);
    write_text("zero.csv", "x,w,y\n1,0,0\n2,0,1\n3,0,0\n");
    expect_refusal("zero.csv?weights=w", NULL, DROVE_E_DATA, "above 0", NULL);
    expect_refusal("zero.csv?weights=v", NULL, DROVE_E_ARG, "\"v\"", NULL);
    expect_refusal("zero.csv?label=w&weights=w", NULL, DROVE_E_ARG, "label", NULL);
    expect_refusal("csv:zero.csv?weights=w", NULL, DROVE_E_ARG, "weights", NULL);
    drove_data *d = open_people();
    assert_int_equal(drove_data_convert(d, "csv:out.csv"), DROVE_E_UNSUPPORTED);
    assert_non_null(strstr(drove_error_text(), "weights"));
    drove_data_destroy(d);
}

/* The schema says which column weighs; further data may name another, or none. */
TEST(further_data_follow_the_schema)
{
    drove_data *train = open_people(), *d = NULL;
    write_text("more.csv", "alive,town,w,age,v\nno,Rome,3,50,7\nyes,Oslo,5,20,9\n");
    assert_int_equal(drove__data_open_like("more.csv", train, true, &d), DROVE_OK);
    near(drove__data_metric_weight(d, 1), 5);
    drove_data_destroy(d);
    assert_int_equal(drove__data_open_like("more.csv?weights=v", train, true, &d), DROVE_OK);
    near(drove__data_metric_weight(d, 1), 9);
    drove_data_destroy(d);
    assert_int_equal(drove__data_open_like("more.csv?weights=none", train, true, &d), DROVE_OK);
    assert_false(drove__data_is_weighted(d));
    drove_data_destroy(d);
    write_text("less.csv", "alive,town,age\nno,Rome,50\n");
    assert_int_equal(drove__data_open_like("less.csv", train, true, &d), DROVE_E_SHAPE);
    assert_non_null(strstr(drove_error_text(), "weights=none"));
    assert_int_equal(drove__data_open_like("less.csv", train, false, &d), DROVE_OK); /* predict */
    drove_data_destroy(d);
    drove_data_destroy(train);
}

/* A feature of a model without weights may weigh the rows of further data. */
TEST(a_feature_can_weigh)
{
    drove_data *train, *d = NULL;
    write_text("plain.csv", "age,size,y\n1,2,no\n3,5,yes\n4,1,no\n");
    train = open_data("plain.csv?scale=none");
    assert_int_equal(drove__data_open_like("plain.csv?weights=size", train, true, &d), DROVE_OK);
    near(drove__data_metric_weight(d, 1), 5);
    assert_true(value_at(d, 1, 1) == 5 && d->storage->n_features == 2);
    drove_data_destroy(d);
    assert_int_equal(drove__data_open_like("plain.csv?weights=y", train, true, &d), DROVE_E_ARG);
    drove_data_destroy(train);
}

/* The model file's description of a table keeps the role. */
TEST(the_schema_is_saved)
{
    drove_data *d = open_people();
    char *text;
    drove_schema *again;
    assert_int_equal(drove__schema_to_json(d->storage->schema, &text), DROVE_OK);
    assert_int_equal(drove__schema_from_json(text, &again), DROVE_OK);
    assert_int_equal(again->column[1].type, DROVE_COLUMN_WEIGHT);
    assert_true(drove__schema_equal(again, d->storage->schema));
    drove__schema_release(again);
    free(text);
    drove_data_destroy(d);
}

/* ---- classes ---- */

static void expect_classes(const char *text, const double expected[3])
{
    drove_data *d = open_people(); /* maybe, no, yes */
    assert_int_equal(drove__weights_of_classes(d, text), DROVE_OK);
    double sum = 0;
    for (size_t i = 0; i < d->n_rows; i++) {
        sum += drove__data_metric_weight(d, i) * expected[d->storage->y_class[i]];
    }
    for (size_t i = 0; i < d->n_rows; i++) {
        double weight = drove__data_metric_weight(d, i) * expected[d->storage->y_class[i]];
        near(drove__data_loss_weight(d, i), weight * 5 / sum);
    }
    drove_data_destroy(d);
}

TEST(classes_are_weighed)
{
    /* compute_class_weight("balanced", classes=["maybe", "no", "yes"],
     *                      y=["no", "yes", "no", "maybe", "no"])   of sklearn.utils.class_weight */
    expect_classes("balanced",
                   (double[]){1.6666666666666667, 0.5555555555555556, 1.6666666666666667});
    expect_classes("no=2,maybe=0.5", (double[]){0.5, 2, 1});
    expect_classes("yes=0", (double[]){1, 1, 0});
}

static void refuse(drove_data *d, const char *text, const char *word)
{
    assert_int_equal(drove__weights_of_classes(d, text), DROVE_E_ARG);
    if (strstr(drove_error_text(), word) == NULL)
        fail_msg("%s: expected \"%s\": %s", text, word, drove_error_text());
    assert_null(d->class_weight);
}

TEST(wrong_classes_are_refused)
{
    drove_data *d = open_people();
    assert_int_equal(drove__weights_of_classes(d, ""), DROVE_OK);
    assert_null(d->class_weight);
    refuse(d, "balance", "balanced");
    refuse(d, "no=2,never=3", "never=3");
    refuse(d, "no=2,no=3", "twice");
    refuse(d, "no=-1", "-1");
    refuse(d, "no=", "number");
    refuse(d, "no=2,", "CLASS=NUMBER");
    assert_int_equal(drove__weights_of_classes(d, "no=0,maybe=0"), DROVE_E_DATA); /* yes weighs 0 */
    drove_data_destroy(d);
    d = open_data("weights.csv?label=age&target=value");
    refuse(d, "balanced", "values");
    drove_data_destroy(d);
}

/* Names that hold the signs of the list. */
TEST(names_may_hold_signs)
{
    write_text("signs.csv", "x,y\n1,\"a\"\n2,\"a=2,b\"\n3,c\n4,c\n");
    drove_data *d = open_data("signs.csv");
    assert_int_equal(drove__weights_of_classes(d, "a=2,b=5,c=3"), DROVE_OK);
    near(d->class_weight[0], 1);
    near(d->class_weight[1], 5);
    near(d->class_weight[2], 3);
    drove_data_destroy(d);
}

/* ---- views ---- */

static void write_many(void)
{
    char text[16384];
    size_t used = (size_t)snprintf(text, sizeof text, "x,w,y\n");
    for (int i = 0; i < 200; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%d,%d,%s\n", i, i % 5,
                                 i % 3 == 0 ? "yes" : "no");
    write_text("many.csv", text);
}

/* x is the number of the row in the file, w = x % 5. */
static void check_view(const drove_data *d, double mean)
{
    for (size_t i = 0; i < d->n_rows; i++) {
        size_t row = drove__data_row(d, i);
        int x = (int)lrintf(d->storage->x_f32[row * d->storage->n_features]);
        near(drove__data_metric_weight(d, row), x % 5);
        double weight = (x % 5) * (d->class_weight != NULL ? (x % 3 == 0 ? 4.0 : 1.0) : 1.0);
        near(drove__data_loss_weight(d, row), weight / mean);
    }
}

TEST(views_keep_weights)
{
    drove_data *train, *test, *held, *copy, *derived;
    write_many();
    open_both("many.csv?weights=w&types=x:number&scale=none", "split", 3, &train, &test);
    assert_int_equal(drove__weights_of_classes(train, "yes=4"), DROVE_OK);
    double mean = train->mean_weight;
    check_view(test, 1); /* no weights of classes, and not normalised */
    assert_int_equal(drove__data_hold_out(train, 30, 1, &held), DROVE_OK);
    check_view(train, mean);
    check_view(held, mean);
    assert_int_equal(drove__data_copy(held, &copy), DROVE_OK);
    check_view(copy, mean);
    assert_int_equal(drove__data_derive(train, 3, &derived), DROVE_OK);
    for (size_t i = 0; i < derived->n_rows; i++)
        near(drove__data_loss_weight(derived, i),
             drove__data_loss_weight(train, drove__data_row(train, i)));
    drove_data_destroy(derived);
    drove_data_destroy(copy);
    drove_data_destroy(held);
    drove_data_destroy(test);
    drove_data_destroy(train);
}

/* Of all parts together the mean is 1: each knows the mean of all rows. */
TEST(shards_share_the_mean)
{
    write_many();
    for (uint64_t part = 0; part < 4; part++) {
        const drove_shard shard = {.n = 4, .index = part, .seed = 1};
        drove_data *d;
        size_t n_rows;
        assert_int_equal(drove__data_open_shard("many.csv?weights=w&types=x:number&scale=none",
                                                NULL, 1, &shard, NULL, &d, NULL, &n_rows),
                         DROVE_OK);
        assert_int_equal(d->n_rows, 50);
        check_view(d, 2.0);
        drove_data_destroy(d);
    }
}
