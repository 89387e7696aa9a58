/* tests/unit/data/test_csv.c - tables written here, read with known values. */
#include "support.h"

#include <string.h>

TEST(test_plain)
{
    write_text("a", "1,2.5,-3,1\n4,5e1,6,2\n\n7,8,9,1\r\n");
    drove_data *d = open_data("csv:a");
    const float x[] = {1, 2.5f, -3, 4, 50, 6, 7, 8, 9};
    const int32_t class[] = {0, 1, 0};
    assert_int_equal(d->storage->x_kind, DROVE_X_F32);
    assert_int_equal(d->n_rows, 3);
    assert_int_equal(d->storage->n_features, 3);
    assert_memory_equal(d->storage->x_f32, x, sizeof x);
    assert_memory_equal(d->storage->y_class, class, sizeof class);
    assert_string_equal(d->storage->class_name[0], "1");
    assert_int_equal(d->scaling, DROVE_SCALE_NONE);
    drove_data_destroy(d);
}

TEST(test_label_column)
{
    write_text("h",
               "height,\"the \"\"kind\"\"\",width\n1.5,cat,2\n2.5,\"dog, big\",3\n3.5,cat,4\n");
    drove_data *d = open_data("csv:h?label=2");
    assert_non_null(strstr(d->storage->notes, "header"));
    assert_int_equal(d->n_rows, 3);
    assert_string_equal(class_of(d, 1), "dog, big");
    assert_string_equal(class_of(d, 2), "cat");
    assert_true(value_at(d, 1, 0) == 2.5f && value_at(d, 1, 1) == 3);
    drove_data_destroy(d);
    d = open_data("csv:h?label=the \"kind\"");
    assert_string_equal(class_of(d, 0), "cat");
    drove_data_destroy(d);
    write_text("first", "7.5;1;2\n8.5;3;4\n");
    d = open_data("csv:first?label=first");
    assert_true(target_of(d, 0) == 7.5f && target_of(d, 1) == 8.5f && value_at(d, 1, 0) == 3);
    assert_non_null(strstr(d->storage->notes, "semicolon"));
    drove_data_destroy(d);
    expect_refusal("csv:h?label=weight", NULL, DROVE_E_DATA, "h:1", "weight", NULL);
    expect_refusal("csv:h?label=4", NULL, DROVE_E_ARG, "label", "3", NULL);
    expect_refusal("csv:first?label=0", NULL, DROVE_E_ARG, "label", NULL);
    expect_refusal("csv:h?label=width&header=no", NULL, DROVE_E_ARG, "header", NULL);
}

TEST(test_header_rule)
{
    write_text("words",
               "5.1,3.5,setosa\n4.9,3.0,virginica\n"); /* the label alone is a word: data */
    drove_data *d = open_data("csv:words");
    assert_int_equal(d->n_rows, 2);
    assert_string_equal(class_of(d, 0), "setosa");
    drove_data_destroy(d);
    write_text("half", "5.1,abc,1\n4.9,3.0,2\n"); /* a number and a word: an error, not a header */
    expect_refusal("csv:half", NULL, DROVE_E_DATA, "half:1:5", "abc", NULL);
    write_text("numbers", "1,2,3\n4,5,6\n");
    d = open_data("csv:numbers?header=yes");
    assert_int_equal(d->n_rows, 1);
    drove_data_destroy(d);
    write_text("bom", "\xef\xbb\xbf"
                      "1,2,0\n4,5,1\n");
    d = open_data("csv:bom");
    assert_int_equal(d->n_rows, 2);
    assert_true(value_at(d, 0, 0) == 1);
    drove_data_destroy(d);
}

TEST(test_separators)
{
    write_text("tabs", "1\t2\t0\n3\t4\t1\n");
    write_text("spaces", "1 2 0\n3 4 1\n");
    write_text("bars", "1|2|0\n3|4|1\n");
    write_text("padded", " 1 ,\t2 , 0 \n\"3\", \"4\" ,\"1\"\n");
    static const char *const specs[] = {"csv:tabs", "csv:tabs?sep=tab", "csv:spaces?sep=space",
                                        "csv:bars?sep=|", "csv:padded"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        drove_data *d = open_data(specs[i]);
        assert_int_equal(d->storage->n_features, 2);
        assert_true(value_at(d, 1, 0) == 3 && value_at(d, 1, 1) == 4 &&
                    d->storage->y_class[1] == 1);
        drove_data_destroy(d);
    }
    expect_refusal("csv:bars", NULL, DROVE_E_DATA, "two columns", NULL);
    expect_refusal("csv:bars?sep=..", NULL, DROVE_E_ARG, "sep", NULL);
    expect_refusal("csv:bars?sep=5", NULL, DROVE_E_ARG, "sep", NULL);
}

/* Examples are floats here, as in a line of LIBSVM and of VW. */
TEST(test_lost_digits_are_said)
{
    static const struct {
        const char *spec, *text, *note;
    } cases[] = {
        {"csv:far", "16777217,33554432,a\n\"16777219\",0.1,b\n", "2 numbers above 16777216 lose"},
        {"csv:far", "16777216,33554432,a\n-16777218,0.1,b\n", NULL},
        {"libsvm:far", "0 1:100000001 2:7\n1 1:3\n", "1 number above 16777216 loses"},
        {"vw:far", "0 |a x:100000001 y:7\n1 |a x\n", "1 number above 16777216 loses"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_text("far", cases[i].text);
        drove_data *d = open_data(cases[i].spec);
        const char *found = strstr(d->storage->notes, "above 16777216");
        if (cases[i].note == NULL) assert_null(found);
        else assert_non_null(strstr(d->storage->notes, cases[i].note));
        drove_data_destroy(d);
    }
}

TEST(test_targets)
{
    write_text("t", "1,0\n2,1\n3,0\n");
    drove_data *d = open_data("csv:t?target=value");
    assert_true(target_of(d, 1) == 1);
    drove_data_destroy(d);
    write_text("w", "1,b\n2,10\n3,a\n"); /* one word: all are words, in the order of their bytes */
    d = open_data("csv:w");
    assert_string_equal(d->storage->class_name[0], "10");
    assert_string_equal(d->storage->class_name[1], "a");
    drove_data_destroy(d);
    expect_refusal("csv:w?target=value", NULL, DROVE_E_DATA, "w:1", "number", "b", NULL);
    expect_refusal("csv:w?target=colour", NULL, DROVE_E_ARG, "target", NULL);
}
