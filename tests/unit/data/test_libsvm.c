/* tests/unit/data/test_libsvm.c - LIBSVM files written here, read with known values. */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST(test_values_and_layout)
{
    write_text("a", "-1 1:0.5 3:-2\n+1 2:1e-3 # a remark\n-1\n\n+1 1:7 2:0 4:.25\r\n");
    drove_data *d = open_data("libsvm:a");
    const drove_storage *s = d->storage;
    const uint64_t row_start[] = {0, 2, 3, 3, 5};
    const uint32_t index[] = {0, 2, 1, 0, 3};
    const float value[] = {0.5f, -2.0f, 0.001f, 7.0f, 0.25f};
    assert_int_equal(s->x_kind, DROVE_X_CSR);
    assert_int_equal(s->n_rows, 4);
    assert_int_equal(s->n_features, 4);
    assert_memory_equal(s->row_start, row_start, sizeof row_start);
    assert_memory_equal(s->index, index, sizeof index);
    assert_memory_equal(s->value, value, sizeof value);
    assert_int_equal(s->n_classes, 2);
    assert_string_equal(s->class_name[0], "-1");
    assert_string_equal(s->class_name[1], "+1");
    const int32_t class[] = {0, 1, 0, 1};
    assert_memory_equal(s->y_class, class, sizeof class);
    assert_non_null(strstr(s->notes, "start at 1"));
    drove_data_destroy(d);
}

TEST(test_index_base)
{
    write_text("zero", "1 0:2 2:3\n0 1:1\n");
    drove_data *d = open_data("libsvm:zero");
    assert_int_equal(d->storage->n_features, 3);
    assert_int_equal(d->storage->index_base, 0);
    assert_non_null(strstr(d->storage->notes, "start at 0"));
    assert_true(value_at(d, 0, 0) == 2 && value_at(d, 0, 2) == 3 && value_at(d, 1, 1) == 1);
    assert_null(d->storage->class_name); /* 0 and 1 are plain numbers */
    drove_data_destroy(d);

    write_text("one", "1 1:2 3:3\n0 2:1\n"); /* the same data */
    d = open_data("libsvm:one");
    assert_int_equal(d->storage->n_features, 3);
    assert_true(value_at(d, 0, 0) == 2 && value_at(d, 0, 2) == 3 && value_at(d, 1, 1) == 1);
    drove_data_destroy(d);
    d = open_data("libsvm:one?base=0");
    assert_int_equal(d->storage->n_features, 4);
    assert_true(value_at(d, 0, 1) == 2);
    drove_data_destroy(d);
    expect_refusal("libsvm:zero?base=1", NULL, DROVE_E_DATA, "zero:1:3", "from 1", NULL);
}

TEST(test_ones_have_no_values)
{
    write_text("ones", "1 1:1 5:1\n2 2:1.0\n");
    drove_data *d = open_data("libsvm:ones");
    assert_null(d->storage->value);
    drove_data_destroy(d);
    write_text("late", "1 1:1 5:1\n2 2:1 3:4\n"); /* the array is made at the fourth number */
    d = open_data("libsvm:late");
    assert_non_null(d->storage->value);
    assert_true(value_at(d, 0, 0) == 1 && value_at(d, 0, 4) == 1 && value_at(d, 1, 1) == 1 &&
                value_at(d, 1, 2) == 4);
    drove_data_destroy(d);
}

TEST(test_multi_label)
{
    write_text("m", "3,0 1:1\n 2:1\n7 1:1 2:1\n0,7,3 3:1\n");
    drove_data *d = open_data("libsvm:m");
    const drove_storage *s = d->storage;
    const uint64_t start[] = {0, 2, 2, 3, 6};
    const uint32_t label[] = {0, 1, 2, 0, 1, 2};
    assert_int_equal(s->y_kind, DROVE_Y_LABELS);
    assert_int_equal(s->n_classes, 3);
    assert_memory_equal(s->label_start, start, sizeof start);
    assert_memory_equal(s->label, label, sizeof label);
    assert_string_equal(s->class_name[2], "7");
    drove_data_destroy(d);
    d = open_data("libsvm:m?classes=8");
    assert_int_equal(d->storage->n_classes, 8);
    assert_int_equal(d->storage->label[2], 7);
    drove_data_destroy(d);
    expect_refusal("libsvm:m?target=class", NULL, DROVE_E_DATA, "several labels", NULL);
    expect_refusal("libsvm:m?classes=7", NULL, DROVE_E_DATA, "m:3", "from 0 to 6", NULL);
    write_text("s", "1 1:1\n 2:1\n");
    expect_refusal("libsvm:s", NULL, DROVE_E_DATA, "s:2", "label", NULL);
    d = open_data("libsvm:s?target=labels");
    assert_int_equal(d->storage->label_start[2], 1);
    drove_data_destroy(d);
}

/* The rule of data/read/labels.h at its edges. */
static void write_distinct(const char *path, int n_distinct, int n_each)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int i = 0; i < n_distinct * n_each; i++) fprintf(file, "%d 1:%d\n", i % n_distinct * 3, i);
    fclose(file);
}

TEST(test_target_rule)
{
    static const struct {
        int n_distinct, n_each;
        drove_y_kind kind;
    } cases[] = {
        {2, 1, DROVE_Y_CLASS},  {20, 1, DROVE_Y_CLASS}, {21, 1, DROVE_Y_VALUE},
        {21, 2, DROVE_Y_VALUE}, {21, 3, DROVE_Y_CLASS}, {105, 10, DROVE_Y_CLASS},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_distinct("t", cases[i].n_distinct, cases[i].n_each);
        drove_data *d = open_data("libsvm:t");
        assert_int_equal(d->storage->y_kind, cases[i].kind);
        drove_data_destroy(d);
    }
    drove_data *d = open_data("libsvm:t?target=value");
    assert_true(target_of(d, 104) == 312);
    drove_data_destroy(d);
    write_text("real", "1.5 1:1\n2 1:2\n1.5 1:3\n");
    d = open_data("libsvm:real");
    assert_true(target_of(d, 0) == 1.5f && target_of(d, 1) == 2);
    drove_data_destroy(d);
    d = open_data("libsvm:real?target=class");
    assert_int_equal(d->storage->n_classes, 2);
    assert_string_equal(class_of(d, 2), "1.5");
    drove_data_destroy(d);
}

TEST(test_class_order_is_numeric)
{
    write_text("o", "10 1:1\n9 1:1\n-3 1:1\n+9 1:1\n9.0 1:1\n");
    drove_data *d = open_data("libsvm:o");
    assert_int_equal(d->storage->n_classes, 3);
    assert_string_equal(d->storage->class_name[0], "-3");
    assert_string_equal(d->storage->class_name[1], "9"); /* +9 and 9.0 are the same class */
    assert_string_equal(d->storage->class_name[2], "10");
    const int32_t class[] = {2, 1, 0, 1, 1};
    assert_memory_equal(d->storage->y_class, class, sizeof class);
    drove_data_destroy(d);
}

TEST(test_declared_features)
{
    write_text("f", "1 1:1 4:1\n2 2:1\n");
    drove_data *d = open_data("libsvm:f?features=9");
    assert_int_equal(d->storage->n_features, 9);
    drove_data_destroy(d);
    expect_refusal("libsvm:f?features=3", NULL, DROVE_E_DATA, "f:1:7", "features=3", NULL);
    write_text("f0", "1 0:1 4:1\n2 2:1\n");
    d = open_data("libsvm:f0?features=5");
    assert_int_equal(d->storage->n_features, 5);
    drove_data_destroy(d);
    expect_refusal("libsvm:f0?features=4", NULL, DROVE_E_DATA, "features=4", NULL);
    expect_refusal("libsvm:f0?features=4&base=0", NULL, DROVE_E_DATA, "f0:1:7", NULL);
    /* one short line may not make a model of gigabytes */
    write_text("huge", "1 2000000000:1\n2 1:1\n");
    expect_refusal("libsvm:huge", NULL, DROVE_E_DATA, "huge:1:3", "16777216", "?features=N", NULL);
    d = open_data("libsvm:huge?features=2000000000");
    assert_int_equal(d->storage->n_features, 2000000000);
    drove_data_destroy(d);
}

TEST(test_gzip)
{
    static const char text[] = "-1 1:0.5\n+1 2:1\n";
    write_gzip("z.gz", text, strlen(text));
    write_text("z", text);
    drove_data *a = open_data("libsvm:z.gz"), *b = open_data("libsvm:z");
    expect_same(a, b);
    drove_data_destroy(a);
    drove_data_destroy(b);
    expect_refusal("libsvm:nowhere", NULL, DROVE_E_FILE, "nowhere", NULL);
    write_gzip("only.gz", text, strlen(text));
    expect_refusal("libsvm:only", NULL, DROVE_E_FILE, "only.gz", NULL);
}
