/* tests/unit/data/test_table.c - tables as data sets: labels, scaling, further data by name. */
#include "support.h"

#include "table/schema.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char people[] = "age,sex,town,alive\n"
                             "31,man,Oslo,no\n"
                             "4,woman,Bonn,yes\n"
                             "NA,man,Oslo,no\n"
                             "55,woman,Rome,yes\n";

TEST(test_plain)
{
    write_text("people.csv", people);
    drove_data *d = open_data("table:people.csv?label=alive");
    assert_int_equal(d->n_rows, 4);
    assert_int_equal(d->storage->n_features, 7);
    assert_int_equal(d->scaling, DROVE_SCALE_STANDARD);
    assert_string_equal(class_of(d, 0), "no");
    assert_string_equal(class_of(d, 3), "yes");
    float mean = 0, square = 0;
    for (size_t i = 0; i < 4; i++) {
        mean += scaled_at(d, i, 0) / 4;
        square += scaled_at(d, i, 0) * scaled_at(d, i, 0) / 4;
        for (size_t f = 1; f < 7; f++) assert_true(scaled_at(d, i, f) == value_at(d, i, f));
    }
    assert_true(fabsf(mean) < 1e-6f && fabsf(square - 1) < 1e-5f);
    drove_data_destroy(d);
    d = open_data("people.csv?label=alive"); /* a path alone */
    assert_non_null(d->storage->schema);
    drove_data_destroy(d);
    d = open_data("people.csv?label=age&target=value"); /* a row without a label is left out */
    assert_int_equal(d->n_rows, 3);
    assert_true(target_of(d, 2) == 55);
    assert_non_null(strstr(d->storage->notes, "1 row without a label"));
    drove_data_destroy(d);
}

TEST(test_numeric_label)
{
    write_text("comma.csv", "x;y\n1,5;2,25\n2,5;3,75\n3;4\n");
    drove_data *d = open_data("comma.csv");
    assert_true(target_of(d, 0) == 2.25f && target_of(d, 2) == 4);
    assert_true(value_at(d, 1, 0) == 2.5f);
    assert_non_null(strstr(d->storage->notes, "semicolon"));
    drove_data_destroy(d);
}

/* "None" is a class among words, and missing among numbers. */
TEST(test_none)
{
    write_text("words.csv", "x,y\n1,None\n2,Some\n3,NA\n4,None\n");
    drove_data *d = open_data("words.csv?label=y");
    assert_int_equal(d->n_rows, 3);
    assert_string_equal(class_of(d, 0), "None");
    assert_string_equal(class_of(d, 1), "Some");
    drove_data_destroy(d);
    write_text("numbers.csv", "x,y\n1,None\n2,0.5\n3,NA\n4,1.5\n");
    d = open_data("numbers.csv?label=y");
    assert_int_equal(d->n_rows, 2);
    assert_true(target_of(d, 0) == 0.5f);
    drove_data_destroy(d);
}

/* Writes labels first to last, label i in n_rows(i) rows, and expects classes or values. */
static void expect_kind(unsigned first, unsigned last, unsigned (*n_rows)(unsigned),
                        drove_y_kind kind)
{
    FILE *file = fopen("whole.csv", "w");
    assert_non_null(file);
    fputs("x,y\n", file);
    for (unsigned label = first; label <= last; label++)
        for (unsigned i = 0; i < n_rows(label); i++)
            fprintf(file, "%u.5,%u\n", label * 31 % 17 + i, label);
    assert_int_equal(fclose(file), 0);
    drove_data *d = open_data("table:whole.csv?label=y");
    if (d->storage->y_kind != kind) fail_msg("labels %u to %u", first, last);
    drove_data_destroy(d);
}

/* Names are no classes, unless they are asked for. */
TEST(test_names_as_label)
{
    FILE *file = fopen("names.csv", "w");
    assert_non_null(file);
    fputs("x,y\n", file);
    for (unsigned i = 0; i < 400; i++) fprintf(file, "%u,name %u\n", i % 7, i * 31 % 202);
    assert_int_equal(fclose(file), 0);
    expect_refusal("names.csv?label=y", NULL, DROVE_E_DATA, "\"y\"", "found 202 different labels",
                   "400 rows", NULL);
    drove_data *d = open_data("table:names.csv?label=y&target=class");
    assert_int_equal(d->storage->n_classes, 202);
    drove_data_destroy(d);
    d = open_data("table:names.csv"); /* to look at */
    assert_int_equal(d->storage->n_classes, 202);
    drove_data_destroy(d);
}

static unsigned one(unsigned label)
{
    return label > 0;
}
static unsigned five(unsigned label)
{
    return label >= 1 ? 5 : 6;
}
static unsigned falling(unsigned label)
{
    return 40 / (label + 1) + 3;
}

/* One wrong cell among numbers makes no classes of them, unless that is asked for. */
TEST(test_a_number_with_a_unit_among_labels)
{
    static char text[4096] = "x,y\n";
    drove_data *d = NULL;
    for (unsigned i = 0; i < 60; i++)
        sprintf(text + strlen(text), "%u,%u%s\n", i * 7 % 13, 20 + i % 31, i == 40 ? " kg" : "");
    write_text("units.csv", text);
    assert_int_equal(drove_data_open("units.csv?label=y", NULL, 1, &d, NULL), DROVE_E_DATA);
    assert_non_null(strstr(drove_error_text(), "row 41"));
    assert_non_null(strstr(drove_error_text(), "found \"29 kg\""));
    d = open_data("units.csv?label=y&target=class");
    assert_int_equal(d->storage->n_classes, 32);
    drove_data_destroy(d);
}

TEST(test_whole_numbers)
{
    expect_kind(1, 10, one, DROVE_Y_CLASS);
    expect_kind(1, 11, one, DROVE_Y_VALUE);
    expect_kind(1, 20, five, DROVE_Y_CLASS);
    expect_kind(0, 9, falling, DROVE_Y_CLASS);
    expect_kind(0, 99, five, DROVE_Y_CLASS);
    expect_kind(1, 100, five, DROVE_Y_CLASS);
    expect_kind(18, 60, five, DROVE_Y_VALUE);   /* ages */
    expect_kind(0, 40, falling, DROVE_Y_VALUE); /* counts */
}

TEST(test_label_sets)
{
    write_text("sets.csv", "x,red,big\n1,0,1\n2,1,1\n3,0,0\n");
    drove_data *d = open_data("sets.csv?label=red+big");
    const drove_storage *s = d->storage;
    assert_int_equal(s->y_kind, DROVE_Y_LABELS);
    assert_int_equal(s->n_classes, 2);
    assert_string_equal(s->class_name[1], "big");
    assert_int_equal(s->label_start[3], 3);
    assert_int_equal(s->label[0], 1);
    assert_int_equal(s->label[1], 0);
    drove_data_destroy(d);
    expect_refusal("sets.csv?label=x+big&target=labels", NULL, DROVE_E_DATA, "row 2", "truth value",
                   NULL);
    write_text("mixed.csv", "x,red,size\n1,yes,1\n2,no,2.5\n3,no,3\n");
    expect_refusal("mixed.csv?label=red,size", NULL, DROVE_E_DATA, "truth values in all", NULL);
    expect_refusal("mixed.csv?label=red,size&target=value", NULL, DROVE_E_DATA, "row 1", "\"red\"",
                   "number", NULL);
    expect_refusal("mixed.csv?label=red,size&target=class", NULL, DROVE_E_ARG, "target", NULL);
}

/* Several columns of numbers are several values, in the order in which they are listed. */
TEST(test_values)
{
    static const float expected[3][2] = {{-1.5f, 10}, {0, 20}, {2, 0}};
    write_text("values.csv", "x,height,y,size\n1,10,a,-1.5\n2,20,b,0\n3,,b,7\n4,0,a,2\n");
    drove_data *d = open_data("values.csv?label=size,height"), *more;
    const drove_storage *s = d->storage;
    assert_int_equal(s->y_kind, DROVE_Y_VALUE);
    assert_int_equal(s->n_values, 2);
    assert_int_equal(s->n_classes, 0);
    assert_int_equal(d->n_rows, 3); /* a row without one of them is left out */
    assert_string_equal(s->class_name[0], "size");
    assert_string_equal(s->class_name[1], "height");
    for (size_t i = 0; i < 3; i++)
        for (size_t k = 0; k < 2; k++) assert_true(s->y_value[2 * i + k] == expected[i][k]);
    assert_int_equal(drove_data_convert(d, "csv:values_out.csv"), DROVE_E_UNSUPPORTED);
    /* further data, by the names: listed otherwise, in another order, with a decimal comma */
    write_text("values_more.csv", "height;x;size;y\n1,5;7;3,25;a\n2;8;4;b\n");
    static const char *const specs[] = {"values_more.csv", "values_more.csv?label=height,size"};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(drove__data_open_like(specs[i], d, true, &more), DROVE_OK);
        assert_true(more->storage->y_value[0] == 3.25f && more->storage->y_value[1] == 1.5f);
        drove_data_destroy(more);
    }
    assert_int_equal(drove__data_open_like("values_more.csv?label=height,x", d, true, &more),
                     DROVE_E_SHAPE);
    assert_non_null(strstr(drove_error_text(), "\"size\""));
    assert_int_equal(drove__data_open_like("values_more.csv?label=size", d, true, &more),
                     DROVE_E_SHAPE);
    drove_data *copy;
    assert_int_equal(drove__data_copy(d, &copy), DROVE_OK);
    assert_string_equal(copy->storage->class_name[1], "height");
    assert_true(copy->storage->y_value[4] == 2 && copy->storage->n_values == 2);
    drove_data_destroy(copy);
    drove_data_destroy(d);
    d = open_data("sets.csv?label=red,big&target=value"); /* truth values as numbers */
    assert_int_equal(d->storage->n_values, 2);
    drove_data_destroy(d);
}

/* Parts of a table with several values have theirs. */
TEST(test_values_of_shards)
{
    drove_data *train, *test, *d;
    char text[4096];
    size_t used = (size_t)snprintf(text, sizeof text, "x,u,v\n"), n_rows;
    for (int i = 0; i < 60; i++)
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "%d,%d,%d\n", i, i + 100, i + 200);
    write_text("shard_values.csv", text);
    const char *spec = "shard_values.csv?label=u,v&types=x:number&scale=none";
    open_both(spec, "split", 1, &train, &test);
    for (uint64_t part = 0; part < 3; part++) {
        const drove_shard shard = {.n = 3, .index = part, .seed = 1};
        assert_int_equal(drove__data_open_shard(spec, NULL, 1, &shard, NULL, &d, NULL, &n_rows),
                         DROVE_OK);
        for (size_t i = 0; i < d->n_rows; i++) {
            const float *y = d->storage->y_value + 2 * i;
            assert_true(y[0] == value_at(d, i, 0) + 100 && y[1] == value_at(d, i, 0) + 200);
        }
        drove_data_destroy(d);
    }
    drove_data_destroy(train);
    drove_data_destroy(test);
}

TEST(test_by_name)
{
    drove_data *train, *test;
    write_text("people.csv", people);
    write_text("more.csv", "town;alive;extra;sex;age\nOslo;yes;9;man;4,5\nParis;no;9;other;x\n");
    open_both("people.csv?label=alive", "more.csv", 1, &train, &test);
    assert_int_equal(test->storage->n_features, 7);
    assert_true(value_at(test, 0, 0) == 4.5f);                            /* age */
    assert_true(value_at(test, 1, 0) == 31 && value_at(test, 1, 1) == 1); /* missing */
    assert_true(value_at(test, 0, 2) == 1 && value_at(test, 0, 3) == 0);  /* man, woman */
    assert_true(value_at(test, 0, 5) == 1); /* Oslo, of Bonn, Oslo, Rome */
    for (size_t f = 2; f < 7; f++) assert_true(value_at(test, 1, f) == 0);
    assert_string_equal(class_of(test, 0), "yes");
    assert_non_null(strstr(test->storage->notes, "\"extra\""));
    assert_non_null(strstr(test->storage->notes, "column \"sex\": 1 cell"));
    assert_non_null(strstr(test->storage->notes, "\"Paris\""));
    assert_non_null(strstr(test->storage->notes, "column \"age\": 1 cell is no number"));
    assert_ptr_equal(test->storage->schema, train->storage->schema);
    drove_data_destroy(train);
    drove_data_destroy(test);
    write_text("less.csv", "age,alive\n4,yes\n");
    expect_refusal("people.csv?label=alive", "less.csv", DROVE_E_SHAPE, "less.csv", "\"sex\"",
                   "\"town\"", NULL);
    write_text("unlabelled.csv", "age,sex,town\n4,man,Oslo\n");
    expect_refusal("people.csv?label=alive", "unlabelled.csv", DROVE_E_SHAPE, "label column",
                   "\"alive\"", NULL);
    write_text("class.csv", "age,sex,town,alive\n4,man,Oslo,perhaps\n");
    expect_refusal("people.csv?label=alive", "class.csv", DROVE_E_SHAPE, "perhaps", NULL);
    write_text("plain.csv", "4,1\n5,0\n");
    expect_refusal("people.csv?label=alive", "csv:plain.csv", DROVE_E_SHAPE, "table", NULL);
    expect_refusal("csv:plain.csv", "table:people.csv", DROVE_E_SHAPE, "no names", NULL);
}

static void convert(const char *from, const char *to)
{
    drove_data *d = open_data(from);
    (void)unlink(strchr(to, ':') + 1);
    assert_int_equal(drove_data_convert(d, to), DROVE_OK);
    drove_data_destroy(d);
}

/* rows:FILE as test data: made from a table with the same columns, categories and fill values. */
TEST(test_rows_of_a_table)
{
    static const char *const others[] = {
        "age,sex,town,alive\n31,man,Oslo,no\n4,woman,Bonn,yes\n55,woman,Paris,yes\n",
        "age,sex,place,alive\n31,man,Oslo,no\n4,woman,Bonn,yes\nNA,man,Rome,no\n",
        "age,sex,town,alive\n31,man,Oslo,no\n4,woman,Bonn,yes\nNA,man,Rome,no\n20,man,Rome,no\n",
    };
    drove_data *train, *test;
    write_text("people.csv", people);
    convert("people.csv?label=alive", "rows:people.rows");
    open_both("people.csv?label=alive", "rows:people.rows", 1, &train, &test);
    expect_same(train, test);
    drove_data_destroy(train);
    drove_data_destroy(test);
    for (size_t i = 0; i < 3; i++) {
        write_text("others.csv", others[i]);
        convert("others.csv?label=alive", "rows:others.rows");
        expect_refusal("people.csv?label=alive", "rows:others.rows", DROVE_E_SHAPE, "others.rows",
                       "columns, categories and fill values", NULL);
    }
    convert("synth:logistic?n=20&d=7", "rows:others.rows"); /* of no table */
    expect_refusal("people.csv?label=alive", "rows:others.rows", DROVE_E_SHAPE,
                   "expected rows of a table", NULL);
}

TEST(test_without_labels)
{
    drove_data *train, *test;
    write_text("people.csv", people);
    write_text("unlabelled.csv", "age,sex,town\n4,man,Oslo\n");
    train = open_data("people.csv?label=alive");
    assert_int_equal(drove__data_open_like("unlabelled.csv", train, false, &test), DROVE_OK);
    assert_int_equal(test->n_rows, 1);
    assert_true(scaled_at(test, 0, 0) == (4 - train->shift[0]) * train->factor[0]);
    drove_data_destroy(test);
    drove_data_destroy(train);
}

/* A copy, an outline and the parts of a split know the columns. */
TEST(test_schema_follows)
{
    drove_data *train, *test, *outline, *derived;
    write_text("people.csv", people);
    open_both("people.csv?label=alive&split=0.5", "split", 3, &train, &test);
    assert_int_equal(train->n_rows + test->n_rows, 4);
    assert_int_equal(drove__data_outline(train, &outline), DROVE_OK);
    assert_ptr_equal(outline->storage->schema, train->storage->schema);
    assert_int_equal(drove__data_derive(train, 3, &derived), DROVE_OK);
    assert_null(derived->storage->schema);
    drove_data_destroy(train);
    drove_data_destroy(test);
    assert_int_equal(outline->storage->schema->n_columns, 4);
    drove_data_destroy(outline);
    drove_data_destroy(derived);
}

TEST(test_paths)
{
    write_text("plain", "+1 1:0.5 3:2\n-1 2:1\n");
    write_text("a,b%41.txt", "x,y\n1,2\n3,4\n");
    drove_data *d = open_data("plain");
    assert_int_equal(d->storage->x_kind, DROVE_X_CSR);
    drove_data_destroy(d);
    d = open_data("a,b%41.txt");
    assert_int_equal(d->n_rows, 2);
    drove_data_destroy(d);
    write_gzip("z.csv.gz", "x,y\n1,2\n3,4\n", 12);
    d = open_data("z.csv.gz");
    assert_int_equal(d->n_rows, 2);
    drove_data_destroy(d);
    expect_refusal("absent.csv", NULL, DROVE_E_FILE, "absent.csv", NULL);
    expect_refusal("absent", NULL, DROVE_E_ARG, "format", NULL);
    assert_true(drove_data_is_named("x.CSV.gz") && drove_data_is_named("-") &&
                drove_data_is_named("libsvm:a") && drove_data_is_named("x.tsv?label=a"));
    assert_false(drove_data_is_named("run.yaml") || drove_data_is_named("run") ||
                 drove_data_is_named("csv"));
}

TEST(test_wrong_keys)
{
    write_text("people.csv", people);
    expect_refusal("people.csv?hash=1000", NULL, DROVE_E_ARG, "power of two", NULL);
    expect_refusal("people.csv?sep=..", NULL, DROVE_E_ARG, "sep", NULL);
    expect_refusal("people.csv?header=maybe", NULL, DROVE_E_ARG, "header", NULL);
    expect_refusal("people.csv?lable=alive", NULL, DROVE_E_ARG, "label", NULL);
    expect_refusal("people.csv?label=alive&onehot=9999", NULL, DROVE_E_ARG, "onehot", NULL);
    expect_refusal("people.csv?label=alive&bins=257", NULL, DROVE_E_ARG, "bins", NULL);
    write_text("one.csv", "x,y\n1,2\n");
    expect_refusal("one.csv", NULL, DROVE_E_DATA, "one.csv", "column to learn from", NULL);
    write_text("nolabel.csv", "x,y\n1,NA\n2,\n");
    expect_refusal("nolabel.csv", NULL, DROVE_E_DATA, "labels in column \"y\"", NULL);
}

/* The tables of the folder of real data: each opens with its test file. */
TEST(test_real_tables)
{
    static const struct {
        const char *name, *label;
        size_t n_train, n_test, n_classes;
    } tables[] = {{"titanic", "survived", 1052, 264, 2},   {"Computers", "price", 5007, 1252, 0},
                  {"MedExp", "med", 4459, 1115, 0},        {"Males", "wage", 3488, 872, 0},
                  {"BudgetFood", "wfood", 19177, 4795, 0}, {"biopsy", "class", 559, 140, 2},
                  {"colon", "status", 1486, 372, 2},       {"Treatment", "treat", 2140, 535, 2}};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        char name[128], spec[4200], test[4200];
        drove_data *train, *held_out;
        snprintf(name, sizeof name, "tables/%s.train.csv", tables[i].name);
        if (real_file(name) == NULL) return;
        snprintf(spec, sizeof spec, "%s?label=%s%s", real_file(name), tables[i].label,
                 tables[i].n_classes == 0 ? "&target=value" : "");
        snprintf(name, sizeof name, "tables/%s.test.csv", tables[i].name);
        snprintf(test, sizeof test, "%s", real_file(name));
        open_both(spec, test, 1, &train, &held_out);
        assert_int_equal(train->n_rows, tables[i].n_train);
        assert_int_equal(held_out->n_rows, tables[i].n_test);
        assert_int_equal(train->storage->n_classes, tables[i].n_classes);
        drove_data_destroy(train);
        drove_data_destroy(held_out);
    }
}
