/* What is said of data sets: the lines of `drove data info` against numbers worked by hand; windows
 * of images as text; columns written into a spec; and files that are converted in pieces. */
#include "support.h"

#include "data/augment.h"
#include "data/data.h"
#include "data/open/pieces.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- lines ---- */

static void expect_lines(const char *spec, const char *const *line)
{
    static char text[1 << 14];
    memset(text, 0, sizeof text);
    drove_data *d = open_data(spec);
    FILE *stream = fmemopen(text, sizeof text - 1, "w");
    assert_non_null(stream);
    assert_int_equal(drove_data_print_info(d, stream), DROVE_OK);
    fclose(stream);
    for (; *line != NULL; line++) {
        const char *at = strstr(text, *line);
        if (at == NULL || (at != text && at[-1] != '\n'))
            fail_msg("%s: expected the line \"%s\", found\n%s", spec, *line, text);
    }
    drove_data_destroy(d);
}

#define LINES(...) ((const char *const[]){__VA_ARGS__, NULL})

TEST(values_and_weights)
{
    write_text("values.csv", "a,b,w,y\n0,1.5,1,10\n2,-3,0,20\n4,0,3,60\n6,0,0,30.5\n");
    expect_lines("table:values.csv?label=y&weights=w&target=value&scale=none",
                 LINES("rows      4\nfeatures  2\n", "storage   f32, ",
                       "values    -3 to 6, mean 1.3125\n", "non-zero  5 (62.5 %), 1.25 a row\n",
                       "scale     none\n", "target    value",
                       "weights   0 to 3, mean 1, 2 of them 0\n"));
    static char text[1 << 12];
    drove_data *d = open_data("table:values.csv?label=y&weights=w&target=value");
    FILE *stream = fmemopen(text, sizeof text - 1, "w");
    assert_int_equal(drove_data_print_info(d, stream), DROVE_OK);
    fclose(stream);
    /* mean 30.125; squares of 20.125, 10.125, 29.875 and 0.375 */
    assert_non_null(strstr(text, ", 10 to 60, mean 30.125, deviation 18.7095"));
    drove_data_destroy(d);
}

TEST(label_sets_and_sparse_rows)
{
    write_text("sets.svm", "1,2 1:2 3:-4\n2 2:1\n1,2,7 1:3\n");
    expect_lines("libsvm:sets.svm?scale=none",
                 LINES("rows      3\nfeatures  3\n", "storage   sparse f32",
                       "values    -4 to 3, mean 0.5 (of the stored ones)\n",
                       "non-zero  4 (44.4 %), 1.333 a row\n", "labels    3: 1 (2), 2 (3), 7 (1)\n",
                       "labelling 6, 2 a row\n"));
}

/* More classes than are shown: the most and the least frequent. */
TEST(many_classes)
{
    FILE *f = fopen("classes.csv", "w");
    assert_non_null(f);
    fprintf(f, "x,y\n");
    for (int c = 0; c < 60; c++)
        for (int i = 0; i <= c; i++) fprintf(f, "%d,k%02d\n", i, c);
    fclose(f);
    expect_lines("csv:classes.csv?label=y",
                 LINES("rows      1830\n", "classes   60: k59 (60), k58 (59),"));
    static char text[1 << 14];
    drove_data *d = open_data("csv:classes.csv?label=y");
    FILE *stream = fmemopen(text, sizeof text - 1, "w");
    assert_int_equal(drove_data_print_info(d, stream), DROVE_OK);
    fclose(stream);
    assert_non_null(strstr(text, " ...,"));
    assert_non_null(strstr(text, ", k01 (2), k00 (1)\n"));
    assert_null(strstr(text, "k30 (31)")); /* from the middle */
    drove_data_destroy(d);
}

TEST(images)
{
    expect_lines("synth:images?n=20&size=12&crop=9&pad=1&mirror=1",
                 LINES("rows      20\n", "features  432 (3 x 12 x 12: channels, height, width)\n",
                       "loaded as 243 (3 x 9 x 9), 1 zeros round them, half of them mirrored\n",
                       "storage   u8, "));
    expect_lines("synth:images?n=20&size=12&crop=9",
                 LINES("loaded as 243 (3 x 9 x 9), 0 zeros round them\n"));
}

/* ---- windows ---- */

TEST(windows_are_written_and_read)
{
    static const struct {
        const char *text, *printed; /* NULL: the same */
        drove_augment a;
        size_t top, left;
    } cases[] = {
        {"3x32x30?crop=28x24&pad=2",
         NULL,
         {.channels = 3, .height = 32, .width = 30, .crop_height = 28, .crop_width = 24, .pad = 2},
         4,
         5},
        {"1x8x9?crop=5",
         "1x8x9?crop=5x5&pad=0",
         {.channels = 1, .height = 8, .width = 9, .crop_height = 5, .crop_width = 5},
         1,
         2},
        {"3x4x5", NULL, {.channels = 3, .height = 4, .width = 5}, 0, 0},
        {"3x4x5?crop=4x5", "3x4x5", {.channels = 3, .height = 4, .width = 5}, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        drove_augment a = {.mirror = true, .pad = 99};
        char text[DROVE_AUGMENT_TEXT_SIZE];
        assert_int_equal(drove__augment_scan(cases[i].text, &a), DROVE_OK);
        assert_true(drove__augment_equal(&a, &cases[i].a));
        drove__augment_print(&a, text);
        assert_string_equal(text, cases[i].printed != NULL ? cases[i].printed : cases[i].text);
        if (!drove__augment_is_on(&a)) continue;
        const drove_window w = drove__augment_centre(&a);
        assert_true(w.top == cases[i].top && w.left == cases[i].left && !w.is_mirrored);
        for (unsigned k = 0; k < 7; k++) { /* each field makes a difference */
            drove_augment b = a;
            size_t *field[] = {&b.channels,    &b.height,     &b.width,
                               &b.crop_height, &b.crop_width, &b.pad};
            if (k < 6) ++*field[k];
            else b.mirror = !b.mirror;
            assert_false(drove__augment_equal(&a, &b));
        }
    }
    static const char *const wrong[] = {"3x32",      "3x32x", "3x32x30x2",       "0x32x30",
                                        "3x-1x3",    "axbxc", "3x32x30?crop=33", "3x32x30?mirror=1",
                                        "3x32x30:7", "3,4,5"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        drove_augment a = {.pad = 99};
        if (drove__augment_scan(wrong[i], &a) == DROVE_OK) fail_msg("%s was taken", wrong[i]);
        assert_int_equal(a.pad, 99);
    }
}

/* ---- columns in a spec ---- */

TEST(columns_become_keys)
{
    char into[64];
    assert_int_equal(drove_data_set_label("csv:a", "y", into, sizeof into), DROVE_OK);
    assert_string_equal(into, "csv:a?label=y");
    assert_int_equal(drove_data_set_weights(into, "w", into, sizeof into), DROVE_OK);
    assert_string_equal(into, "csv:a?label=y&weights=w");
    assert_int_equal(drove_data_set_label("csv:a", "a&b", into, sizeof into), DROVE_OK);
    assert_string_equal(into, "csv:a?label=a%26b");
    assert_int_equal(drove_data_set_label("csv:a", "", into, sizeof into), DROVE_OK);
    assert_string_equal(into, "csv:a");
    assert_int_equal(drove_data_set_weights("csv:a", NULL, into, sizeof into), DROVE_OK);
    assert_string_equal(into, "csv:a");
    assert_int_equal(drove__data_set_columns("csv:a", "y", "w", into, sizeof into), DROVE_OK);
    assert_string_equal(into, "csv:a?label=y&weights=w");
    /* 5 of the spec, 7 of the key and its signs, 3 for each byte, and the end */
    assert_int_equal(drove_data_set_label("csv:a", "123", into, 5 + 7 + 9), DROVE_E_ARG);
    assert_non_null(strstr(drove_error_text(), "label: expected a shorter text, found 3 bytes"));
    assert_int_equal(drove_data_set_label("csv:a", "123", into, 5 + 7 + 9 + 1), DROVE_OK);
    bool takes = true;
    assert_int_equal(drove__data_takes_label("synth:digits", &takes), DROVE_OK);
    assert_false(takes);
    assert_int_equal(drove__data_takes_label("csv:a", &takes), DROVE_OK);
    assert_true(takes);
}

/* ---- in pieces ---- */

TEST(a_file_is_converted_in_pieces)
{
    static const char *const made[] = {"many.rows", "d.rows", "x.rows", "none.rows"};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) (void)remove(made[i]);
    FILE *f = fopen("many.svm", "w");
    assert_non_null(f);
    for (int i = 0; i < 500; i++) fprintf(f, "%d %d:%d %d:0.5\n", i % 3, 1 + i % 7, i, 8 + i % 4);
    fclose(f);
    assert_int_equal(drove_data_convert_large("libsvm:many.svm", "rows:many.rows?block=4KiB"),
                     DROVE_OK);
    drove_data *a = open_data("libsvm:many.svm"), *b = open_data("rows:many.rows");
    expect_same(a, b);
    drove_data_destroy(a);
    drove_data_destroy(b);
    assert_int_equal(drove_data_convert_large("libsvm:many.svm", "csv:many.csv"),
                     DROVE_E_UNSUPPORTED);
    assert_non_null(strstr(drove_error_text(), "csv:many.csv: expected rows:FILE"));
    assert_int_equal(drove_data_convert_large("synth:digits?n=10", "rows:d.rows?block=x"),
                     DROVE_E_ARG);
    assert_int_equal(drove_data_convert_large("libsvm:none.svm", "rows:none.rows"), DROVE_E_FILE);
    write_npy_file("x.npy", "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 2), }", "abcd",
                   4);
    assert_true(drove_data_convert_large("npy:x.npy,x.npy", "rows:x.rows") != DROVE_OK);
}

TEST(what_is_too_large_for_memory)
{
    write_text("small.svm", "1 1:2\n0 2:1\n");
    assert_false(drove_data_is_large("libsvm:small.svm", "rows:small.rows"));
    assert_true(drove_data_is_large("synth:logistic?n=4000000000&d=1000", "rows:l.rows"));
    assert_false(drove_data_is_large("synth:logistic?n=100", "rows:l.rows"));
    assert_false(drove_data_is_large("synth:logistic?n=4000000000&d=1000", "csv:l.csv"));
    assert_false(drove_data_is_large("synth:digits?n=4000000000", "rows:d.rows")); /* all at once */
    assert_false(drove_data_is_large("libsvm:none.svm", "rows:none.rows"));
    assert_false(drove_data_is_large("libzzz:none.svm", "rows:none.rows"));
    /* 840 bytes are more than an eighth of 6719, and just an eighth of 6720 */
    assert_true(drove__pieces_are_needed("synth:logistic?n=10&d=20", "rows:l.rows", 6719.0));
    assert_false(drove__pieces_are_needed("synth:logistic?n=10&d=20", "rows:l.rows", 6720.0));
    assert_false(drove__pieces_are_needed("synth:logistic?n=10&d=20", "csv:l.csv", 6719.0));
    /* text is measured where it may be above an eighth alone */
    assert_true(drove__pieces_are_needed("libsvm:small.svm", "rows:small.rows", 95.0));
    assert_false(drove__pieces_are_needed("libsvm:small.svm", "rows:small.rows", 1e9));
    double bytes = 0.0;
    assert_true(drove__pieces_can("libsvm:small.svm", 1e9, &bytes));
    assert_true(bytes == 12.0); /* of text */
    assert_true(drove__pieces_can("libsvm:small.svm", 13.0, &bytes));
    assert_true(bytes >= 12.0); /* near the limit: as it is in memory, from a sample */
    /* a float for each feature, and four bytes; or eight for each that is not 0 */
    assert_true(drove__pieces_can("synth:logistic?n=10&d=20", 1e9, &bytes));
    assert_true(bytes == 10.0 * (4.0 * 20.0 + 4.0));
    assert_true(drove__pieces_can("synth:logistic?n=10&d=20&density=0.25", 1e9, &bytes));
    assert_true(bytes == 10.0 * (8.0 * 5.0 + 4.0));
    assert_true(drove__pieces_can("synth:logistic", 1e9, &bytes));
    assert_true(bytes == 10000.0 * 404.0);
    assert_false(drove__pieces_can("synth:logistic?n=0", 1e9, &bytes));
    assert_false(drove__pieces_can("synth:logistic?density=2", 1e9, &bytes));
    assert_false(drove__pieces_can("npy:x.npy,y.npy", 1e9, &bytes));
}
