/* Columns of a table in memory: texts once each, missing cells, typed cells as a file has them. */
#include "support.h"
#include "table/frame.h"
#include "table/raw.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST(texts_are_kept_once)
{
    enum { N = 1000, DIFFERENT = 100 };
    drove_frame_column c = {.type = DROVE_FRAME_TEXT};
    assert_ok(drove__frame_reserve(&c, N));
    for (unsigned row = 0; row < N; row++) {
        char text[16];
        const int n = snprintf(text, sizeof text, " %u\t", row % DIFFERENT);
        assert_ok(drove__frame_intern(&c, text, (size_t)n, &c.raw[row]));
    }
    assert_int_equal(c.n_texts, DIFFERENT);
    for (unsigned row = 0; row < N; row++) {
        char text[16];
        const drove_cell cell = drove__frame_cell(&c, row);
        assert_int_equal(cell.length, snprintf(text, sizeof text, "%u", row % DIFFERENT));
        assert_memory_equal(cell.text, text, cell.length);
    }
    assert_ok(drove__frame_intern(&c, " \t", 2, &c.raw[0]));
    assert_true(drove__frame_is_missing(&c, 0));
    assert_int_equal(drove__frame_cell(&c, 0).length, 0);
    drove__frame_column_fini(&c);
}

/* A column of doubles becomes one of floats where these tell its values apart. */
TEST(doubles_become_floats_where_nothing_is_lost)
{
    const double narrow[] = {1.5, -2.25, INFINITY, NAN}, wide[] = {1700000000.25, 1700000000.5};
    drove_frame_column c = {.type = DROVE_FRAME_NUMBER, .is_wide = true};
    assert_ok(drove__frame_reserve(&c, 4));
    memcpy(c.number, narrow, sizeof narrow);
    assert_ok(drove__frame_settle(&c, 4));
    assert_true(!c.is_wide && c.number == NULL);
    assert_true(drove__raw_float(c.raw[0]) == 1.5f && drove__raw_float(c.raw[1]) == -2.25f);
    assert_true(isinf(drove__raw_float(c.raw[2])) && isnan(drove__raw_float(c.raw[3])));
    free(c.raw);

    c = (drove_frame_column){.type = DROVE_FRAME_NUMBER, .is_wide = true};
    assert_ok(drove__frame_reserve(&c, 2));
    memcpy(c.number, wide, sizeof wide);
    assert_ok(drove__frame_settle(&c, 2));
    assert_true(c.is_wide && c.number[0] == wide[0] && c.number[1] == wide[1]);
    free(c.number);
}

TEST(bad_texts_are_refused)
{
    uint32_t raw;
    drove_frame_column c = {.type = DROVE_FRAME_TEXT};
    assert_int_equal(drove__frame_intern(&c, "a\0b", 3, &raw), DROVE_E_DATA);
    assert_int_equal(drove__frame_intern(&c, "\xff", 1, &raw), DROVE_E_DATA);
    assert_int_equal(c.n_texts, 0);
    assert_ok(drove__frame_intern(&c, "a", 1, &raw));
    assert_int_equal(raw, 1);
    drove__frame_column_fini(&c);
}

TEST(typed_cells_read_as_in_a_file)
{
    char text[DROVE_FRAME_PRINT_SIZE];
    int64_t integer[] = {-7, INT64_MAX, DROVE_FRAME_NO_INTEGER};
    drove_frame_column c = {.type = DROVE_FRAME_INTEGER, .integer = integer};
    drove_frame_column texts;
    drove__frame_print(&c, 0, text);
    assert_string_equal(text, "-7");
    drove__frame_print(&c, 1, text);
    assert_string_equal(text, "9223372036854775807");
    assert_int_equal(drove__frame_print(&c, 2, text), 0);
    assert_ok(drove__frame_as_text(&c, 3, &texts));
    assert_int_equal(texts.n_texts, 2);
    assert_true(drove__frame_is_missing(&texts, 2));
    drove__frame_column_fini(&texts);

    union {
        float value;
        uint32_t raw;
    } tenth = {.value = 0.1f};
    c = (drove_frame_column){.type = DROVE_FRAME_NUMBER, .raw = &tenth.raw};
    drove__frame_print(&c, 0, text);
    assert_string_equal(text, "0.1");

    int64_t seconds[] = {-1, 86400 + 3661}; /* a second before 1970, and behind */
    c = (drove_frame_column){.type = DROVE_FRAME_DATE, .has_time = true, .integer = seconds};
    drove__frame_print(&c, 0, text);
    assert_string_equal(text, "1969-12-31 23:59:59");
    drove__frame_print(&c, 1, text);
    assert_string_equal(text, "1970-01-02 01:01:01");
}

TEST(a_name_finds_its_frame)
{
    drove_frame *frame;
    char name[DROVE_NAMED_SIZE];
    assert_ok(drove__frame_create(2, &frame));
    strcpy(name, frame->name);
    drove_frame *found = drove__frame_find(name);
    assert_ptr_equal(found, frame);
    drove__frame_release(frame);
    drove__frame_release(found);
    assert_null(drove__frame_find(name));
}
