/* NumPy arrays of every type that numpy.save writes, made here byte by byte: numbers of 16 bits and
 * without sign, either order of bytes, stored column by column, labels that are text, and rows with
 * one 1 each. */
#include "support.h"

#include "data/read/npy.h"

#include <stdio.h>
#include <string.h>

/* Writes an array with a header as NumPy's. */
static void write_npy(const char *path, const char *type, bool is_fortran, const char *shape,
                      const void *bytes, size_t n)
{
    char text[118];
    int length =
        snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': %s, 'shape': (%s), }", type,
                 is_fortran ? "True" : "False", shape);
    memset(text + length, ' ', sizeof text - (size_t)length);
    text[sizeof text - 1] = '\n';
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    fwrite("\x93NUMPY\x01\x00\x76\x00", 1, 10, f);
    fwrite(text, 1, sizeof text, f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static const int32_t labels[] = {0, 1, 1};

/* 1, 2, 3, 4, 5, 6 as [3][2] */
static void holds_six_numbers(const char *type, const void *bytes, size_t n)
{
    write_npy("x.npy", type, false, "3, 2", bytes, n);
    write_npy("y.npy", "<i4", false, "3,", labels, sizeof labels);
    drove_data *d = open_data("npy:x.npy,y.npy?scale=none");
    for (size_t i = 0; i < 6; i++) assert_true(value_at(d, i / 2, i % 2) == (float)(i + 1));
    drove_data_destroy(d);
}

TEST(numbers_of_all_types_are_read)
{
    static const uint16_t u2[] = {1, 2, 3, 4, 5, 6};
    static const uint16_t half[] = {0x3c00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600};
    static const uint32_t u4[] = {1, 2, 3, 4, 5, 6};
    static const uint64_t u8[] = {1, 2, 3, 4, 5, 6};
    static const uint8_t big2[] = {0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6};
    static const uint8_t big_floats[] = {0x3f, 0x80, 0, 0, 0x40, 0,    0, 0, 0x40, 0x40, 0, 0,
                                         0x40, 0x80, 0, 0, 0x40, 0xa0, 0, 0, 0x40, 0xc0, 0, 0};
    holds_six_numbers("<u2", u2, sizeof u2);
    holds_six_numbers("<f2", half, sizeof half);
    holds_six_numbers("<u4", u4, sizeof u4);
    holds_six_numbers("<u8", u8, sizeof u8);
    holds_six_numbers(">u2", big2, sizeof big2);
    holds_six_numbers(">i2", big2, sizeof big2);
    holds_six_numbers(">f4", big_floats, sizeof big_floats);
}

/* The second column is far from zero beside its spread, whichever index is the fastest. */
TEST(columns_that_lose_digits_are_said)
{
    static const double rows[] = {1, 1e8 + 0.5, 2, 1e8 + 1.5, 3, 1e8 + 2.5};
    static const double columns[] = {1, 2, 3, 1e8 + 0.5, 1e8 + 1.5, 1e8 + 2.5};
    for (unsigned is_fortran = 0; is_fortran < 2; is_fortran++) {
        write_npy("x.npy", "<f8", is_fortran, "3, 2", is_fortran ? columns : rows, sizeof rows);
        write_npy("y.npy", "<i4", false, "3,", labels, sizeof labels);
        drove_data *d = open_data("npy:x.npy,y.npy");
        assert_non_null(strstr(d->storage->notes, "1 column, first 2, loses digits as floats"));
        drove_data_destroy(d);
    }
}

/* [2][3] column by column; [2][2][2] with the first index fastest. */
TEST(arrays_stored_by_columns_are_read)
{
    static const float columns[] = {1, 4, 2, 5, 3, 6}, cube[] = {1, 5, 3, 7, 2, 6, 4, 8};
    write_npy("x.npy", "<f4", true, "2, 3", columns, sizeof columns);
    write_npy("y.npy", "<i4", true, "2,", labels, 2 * sizeof *labels);
    drove_data *d = open_data("npy:x.npy,y.npy?scale=none");
    for (size_t i = 0; i < 6; i++) assert_true(value_at(d, i / 3, i % 3) == (float)(i + 1));
    drove_data_destroy(d);
    write_npy("x.npy", "<f4", true, "2, 2, 2", cube, sizeof cube);
    d = open_data("npy:x.npy,y.npy?scale=none");
    for (size_t i = 0; i < 8; i++) assert_true(value_at(d, i / 4, i % 4) == (float)(i + 1));
    drove_data_destroy(d);
}

TEST(labels_may_be_text)
{
    static const float x[] = {1, 2, 3, 4};
    static const uint32_t wide[] = {'c', 'a', 't', 0, 0xe9, 'l', 0, 0,
                                    'c', 'a', 't', 0, 'b',  0,   0, 0};
    write_npy("x.npy", "<f4", false, "4,", x, sizeof x);
    write_npy("y.npy", "<U4", false, "4,", wide, sizeof wide);
    drove_data *d = open_data("npy:x.npy,y.npy");
    assert_int_equal(d->storage->n_classes, 3);
    assert_string_equal(d->storage->class_name[0], "b");
    assert_string_equal(d->storage->class_name[1], "cat");
    assert_string_equal(d->storage->class_name[2], "\xc3\xa9l");
    static const int32_t expected[] = {1, 2, 1, 0};
    assert_memory_equal(d->storage->y_class, expected, sizeof expected);
    drove_data_destroy(d);
    write_npy("y.npy", "|S2", false, "4,", "aab\0aab\0", 8);
    d = open_data("npy:x.npy,y.npy");
    assert_string_equal(d->storage->class_name[0], "aa");
    assert_string_equal(d->storage->class_name[1], "b");
    drove_data_destroy(d);
}

TEST(a_number_that_is_not_finite_has_its_row_and_column)
{
    static const uint32_t x[] = {0, 0, 0, 0, 0, 0x7fc00000};
    write_npy("x.npy", "<f4", false, "3, 2", x, sizeof x);
    write_npy("y.npy", "<i4", false, "3,", labels, sizeof labels);
    expect_refusal("npy:x.npy,y.npy", NULL, DROVE_E_DATA, "x.npy: row 3, column 2", NULL);
}

TEST(one_hot_labels_are_said_or_classes)
{
    static const float x[] = {1, 2, 3};
    static const uint8_t hot[] = {0, 1, 0, 0, 0, 1, 0, 1, 0}, sets[] = {0, 1, 0, 1, 0, 1, 0, 1, 0};
    static const int32_t expected[] = {1, 2, 1};
    write_npy("x.npy", "<f4", false, "3,", x, sizeof x);
    write_npy("y.npy", "|u1", false, "3, 3", hot, sizeof hot);
    drove_data *d = open_data("npy:x.npy,y.npy");
    assert_int_equal(d->storage->y_kind, DROVE_Y_LABELS);
    assert_non_null(strstr(d->storage->notes, "?target=class: as classes"));
    drove_data_destroy(d);
    d = open_data("npy:x.npy,y.npy?target=class");
    assert_int_equal(d->storage->y_kind, DROVE_Y_CLASS);
    assert_memory_equal(d->storage->y_class, expected, sizeof expected);
    drove_data_destroy(d);
    write_npy("y.npy", "|u1", false, "3, 3", sets, sizeof sets);
    expect_refusal("npy:x.npy,y.npy?target=class", NULL, DROVE_E_DATA, "row 2: expected one 1",
                   "found 2", NULL);
}
