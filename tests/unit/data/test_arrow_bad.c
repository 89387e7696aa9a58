/* Arrays that are against the specification of the Arrow C data interface, or that no table holds:
 * one line says what and where, and all is released once. */
#include "arrow_batch.h"
#include "support.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 3 };

/* Columns number (g), text (u), kind (a dictionary of utf8), view (vu) and bit (b). */
static batch *make_good(void)
{
    static const double number[ROWS] = {1, 2, 3};
    static const char *const text[ROWS] = {"one", "two", "three"};
    static const int8_t index[ROWS] = {0, 1, 0};
    char views[ROWS][16] = {{0}};
    const int32_t long_view[4] = {14, 0, 0, 3};
    const int64_t sizes[1] = {17};
    const uint8_t bit = 5;
    batch *b = make_batch(ROWS);
    set_buffer(add_column(b, "number", "g", 2), 1, number, sizeof number);
    add_texts(b, "text", text);
    set_buffer(add_column(b, "kind", "c", 2), 1, index, sizeof index);
    set_texts(add_dictionary(b, "u", 2, 3), text, 2);
    memcpy(views[1], long_view, sizeof long_view);
    batch_part *view = add_column(b, "view", "vu", 4);
    set_buffer(view, 1, views, sizeof views);
    set_buffer(view, 2, "...14 bytes here.", 17);
    set_buffer(view, 3, sizes, sizeof sizes);
    set_buffer(add_column(b, "bit", "b", 2), 1, &bit, 1);
    return b;
}

enum { NUMBER, TEXT, KIND, VIEW, BIT };

/* Takes the batch, which must be refused with one line that has this word, and be released. */
static void refuse(batch *b, drove_status expected, const char *word)
{
    drove_arrow_table *table = (drove_arrow_table *)b; /* must become NULL */
    const unsigned n = (b->schema.release != NULL) + (b->array.release != NULL);
    const drove_status status = drove_arrow_table_create(&b->schema, &b->array, &table);
    const char *text = drove_error_text();
    if (status != expected || strstr(text, word) == NULL)
        fail_msg("expected \"%s\", found status %d: %s", word, (int)status, text);
    assert_null(table);
    assert_null(strchr(text, '\n'));
    assert_true(strncmp(text, "arrow: ", 7) == 0);
    assert_int_equal(b->n_released, n);
    assert_true(b->schema.release == NULL && b->array.release == NULL);
    free_batch(b);
}

TEST(the_good_one_is_taken)
{
    batch *b = make_good();
    drove_arrow_table *table;
    assert_int_equal(drove_arrow_table_create(&b->schema, &b->array, &table), DROVE_OK);
    assert_int_equal(b->n_released, 2);
    assert_int_equal(drove_arrow_table_n_rows(table), ROWS);
    drove_arrow_table_destroy(table);
    free_batch(b);
}

TEST(bad_schemas_are_refused)
{
    static const char *const formats[] = {
        "",         "x",      "uu",     "ts",
        "tsx:",     "d",      "d:",     "d:5",
        "d:5,",     "d:0,2",  "d:77,2", "d:5,99",
        "d:5,2,17", "d:5,2,", "d:5,-",  "d:99999999999999999999,1",
        "gg",       "tdx",    "tt",     "v",
        "nn"};
    static const struct {
        const char *format, *name;
    } refused[] = {{"z", "binary"},
                   {"Z", "large_binary"},
                   {"w:16", "fixed_size_binary"},
                   {"+l", "list"},
                   {"+vl", "list_view"},
                   {"+w:3", "fixed_size_list"},
                   {"+s", "struct"},
                   {"+m", "map"},
                   {"+ud:0,1", "union"},
                   {"tiM", "interval"},
                   {"+r", "run_end_encoded"}};
    for (size_t i = 0; i < DROVE_COUNT(formats); i++) {
        batch *b = make_good();
        b->column[NUMBER].schema.format = formats[i];
        refuse(b, DROVE_E_DATA, "column \"number\": expected a format");
        b = make_good();
        b->value[KIND].schema.format = formats[i];
        refuse(b, DROVE_E_DATA, "column \"kind\": expected a format");
    }
    for (size_t i = 0; i < DROVE_COUNT(refused); i++) {
        char word[64];
        batch *b = make_good();
        b->column[TEXT].schema.format = refused[i].format;
        snprintf(word, sizeof word, "found the type %s", refused[i].name);
        refuse(b, DROVE_E_UNSUPPORTED, word);
        assert_non_null(strstr(drove_error_text(), "column \"text\""));
    }
    batch *b = make_good();
    b->schema.format = "g";
    refuse(b, DROVE_E_DATA, "expected the schema of a table");
    b = make_good();
    b->schema.format = NULL;
    refuse(b, DROVE_E_DATA, "expected the schema of a table");
    b = make_good();
    b->column[TEXT].schema.format = NULL;
    refuse(b, DROVE_E_DATA, "column \"text\": expected a type");
    b = make_good();
    b->column[TEXT].schema.release = NULL;
    refuse(b, DROVE_E_DATA, "released");
    b = make_good();
    b->schema.n_children = -1;
    refuse(b, DROVE_E_DATA, "expected 1 to");
    b = make_good();
    b->schema.n_children = INT64_MAX;
    refuse(b, DROVE_E_DATA, "expected 1 to");
    b = make_good();
    b->schema.children = NULL;
    refuse(b, DROVE_E_DATA, "column 1: expected a schema");
    b = make_good();
    b->schemas[VIEW] = NULL;
    refuse(b, DROVE_E_DATA, "column 4: expected a schema");
    b = make_good();
    b->column[NUMBER].schema.n_children = 1;
    refuse(b, DROVE_E_DATA, "expected no children");
    b = make_good();
    b->column[TEXT].schema.name = "number";
    refuse(b, DROVE_E_DATA, "two called \"number\"");
    b = make_good();
    b->column[TEXT].schema.name = "a\xff";
    refuse(b, DROVE_E_DATA, "column 2: expected a name in UTF-8");
    b = make_good();
    b->column[KIND].schema.format = "g";
    refuse(b, DROVE_E_DATA, "expected integers as indices");
    b = make_good();
    b->value[KIND].schema.dictionary = &b->column[TEXT].schema;
    refuse(b, DROVE_E_UNSUPPORTED, "dictionaries");
}

TEST(released_ones_are_refused)
{
    batch *b = make_good();
    b->schema.release = NULL;
    refuse(b, DROVE_E_DATA, "found one that was released");
    b = make_good();
    b->array.release(&b->array);
    b->n_released = 0;
    refuse(b, DROVE_E_DATA, "expected a batch, found one that was released");
    b = make_good();
    b->column[BIT].array.release = NULL;
    refuse(b, DROVE_E_DATA, "column \"bit\": expected an array, found one that was released");
    b = make_good();
    b->arrays[BIT] = NULL;
    refuse(b, DROVE_E_DATA, "column \"bit\": expected an array, found none");
    b = make_good();
    b->value[KIND].array.release = NULL;
    refuse(b, DROVE_E_DATA, "column \"kind\": dictionary: expected a dictionary, found none");
}

TEST(bad_counts_are_refused)
{
    for (int part = NUMBER; part <= BIT; part++) {
        batch *b = make_good();
        b->column[part].array.length = ROWS - 1;
        refuse(b, DROVE_E_DATA, "expected 3 cells from 0 on, found a length of 2");
        b = make_good();
        b->column[part].array.length = -1;
        refuse(b, DROVE_E_DATA, "expected a length");
        b = make_good();
        b->column[part].array.length = INT64_MAX;
        refuse(b, DROVE_E_DATA, "expected a length");
        b = make_good();
        b->column[part].array.offset = -1;
        refuse(b, DROVE_E_DATA, "expected an offset");
        b = make_good();
        b->column[part].array.offset = INT64_MAX;
        refuse(b, DROVE_E_DATA, "expected an offset");
        b = make_good();
        b->column[part].array.null_count = -2;
        refuse(b, DROVE_E_DATA, "expected a null_count");
        b = make_good();
        b->column[part].array.null_count = ROWS + 1;
        refuse(b, DROVE_E_DATA, "expected a null_count");
        b = make_good();
        b->column[part].array.null_count = 1;
        refuse(b, DROVE_E_DATA, "expected 1 cells that are null");
        b = make_good();
        set_valid(&b->column[part], "101");
        b->column[part].array.null_count = 0;
        refuse(b, DROVE_E_DATA, "expected 0 cells that are null");
        b = make_good();
        b->column[part].array.n_buffers = part == VIEW ? 2 : 1;
        refuse(b, DROVE_E_DATA, "expected buffers");
        b = make_good();
        b->column[part].array.n_children = 1;
        refuse(b, DROVE_E_DATA, "expected children: 0");
        b = make_good();
        b->column[part].array.buffers = NULL;
        refuse(b, DROVE_E_DATA, "buffers, found none");
        b = make_good();
        free((void *)(uintptr_t)b->column[part].buffer[1]);
        b->column[part].buffer[1] = NULL;
        refuse(b, DROVE_E_DATA, "expected a buffer of values, found none");
    }
    batch *b = make_good();
    b->array.length = -1;
    refuse(b, DROVE_E_DATA, "expected a batch of 0 to");
    b = make_good();
    b->array.length = INT64_MAX;
    refuse(b, DROVE_E_DATA, "expected a batch of 0 to");
    b = make_good();
    b->array.length = UINT32_MAX;
    refuse(b, DROVE_E_DATA, "found a length of 3");
    b = make_good();
    b->array.offset = INT64_MAX;
    refuse(b, DROVE_E_DATA, "expected a batch of 0 to");
    b = make_good();
    b->array.offset = 1;
    refuse(b, DROVE_E_DATA, "expected 3 cells from 1 on");
    b = make_good();
    b->array.n_children = 4;
    refuse(b, DROVE_E_DATA, "expected 5 columns in a batch, found 4");
    b = make_good();
    b->array.children = NULL;
    refuse(b, DROVE_E_DATA, "expected 5 columns in a batch");
    b = make_good();
    b->array.n_buffers = 0;
    refuse(b, DROVE_E_DATA, "expected one buffer");
    b = make_good();
    const uint8_t bitmap = 5;
    b->no_bitmap = &bitmap;
    refuse(b, DROVE_E_DATA, "row 2: expected a row of a record batch, found null");
}

TEST(bad_texts_are_refused)
{
    static const int32_t descending[] = {0, 5, 3, 8}, negative[] = {-1, 0, 3, 8};
    static const int32_t huge[] = {0, 3, 6, INT32_MAX};
    batch *b = make_good();
    set_buffer(&b->column[TEXT], 1, descending, sizeof descending);
    refuse(b, DROVE_E_DATA, "column \"text\": expected offsets of texts that ascend");
    b = make_good();
    set_buffer(&b->column[TEXT], 1, negative, sizeof negative);
    refuse(b, DROVE_E_DATA, "column \"text\": expected offsets of texts that ascend");
    b = make_good();
    set_buffer(&b->column[TEXT], 1, huge, sizeof huge);
    refuse(b, DROVE_E_DATA, "column \"text\": row 3: expected a text of at most 16777216 bytes");
    b = make_good();
    set_buffer(&b->column[TEXT], 2, "one\xffwothree", 11);
    refuse(b, DROVE_E_DATA, "column \"text\": row 2: expected a text in UTF-8");
    b = make_good();
    set_buffer(&b->column[TEXT], 2, "onetwoth\0ee", 11);
    refuse(b, DROVE_E_DATA, "row 3: expected a text in UTF-8 without NUL");
    b = make_good();
    free((void *)(uintptr_t)b->column[TEXT].buffer[2]);
    b->column[TEXT].buffer[2] = NULL;
    refuse(b, DROVE_E_DATA, "expected a buffer of texts, found none");
}

TEST(bad_views_are_refused)
{
    static const int32_t bad[][4] = {{-1, 0, 0, 0},         {15, 0, 0, 3},        {14, 0, 0, 4},
                                     {14, 0, 1, 0},         {14, 0, -1, 0},       {14, 0, 0, -1},
                                     {INT32_MAX, 0, 0, 17}, {14, 0, 0, INT32_MAX}};
    for (size_t i = 0; i < DROVE_COUNT(bad); i++) {
        int32_t views[ROWS][4] = {{0}};
        batch *b = make_good();
        memcpy(views[2], bad[i], sizeof bad[i]);
        set_buffer(&b->column[VIEW], 1, views, sizeof views);
        refuse(b, DROVE_E_DATA, "column \"view\": row 3: expected a text ");
    }
    const int64_t negative = -1;
    batch *b = make_good();
    set_buffer(&b->column[VIEW], 3, &negative, sizeof negative);
    refuse(b, DROVE_E_DATA, "column \"view\": row 2: expected a text within -1 bytes");
    b = make_good();
    free((void *)(uintptr_t)b->column[VIEW].buffer[2]);
    b->column[VIEW].buffer[2] = NULL;
    refuse(b, DROVE_E_DATA, "column \"view\": row 2: expected a text within 0 bytes");
    b = make_good();
    free((void *)(uintptr_t)b->column[VIEW].buffer[3]);
    b->column[VIEW].buffer[3] = NULL;
    refuse(b, DROVE_E_DATA, "column \"view\": expected the sizes of 1 buffers");
}

TEST(bad_dictionaries_are_refused)
{
    static const int8_t beyond[] = {0, 2, 0}, negative[] = {0, 0, -1};
    static const uint64_t huge[] = {0, 0, UINT64_MAX};
    batch *b = make_good();
    set_buffer(&b->column[KIND], 1, beyond, sizeof beyond);
    refuse(b, DROVE_E_DATA, "column \"kind\": row 2: expected an index below 2");
    b = make_good();
    set_buffer(&b->column[KIND], 1, negative, sizeof negative);
    refuse(b, DROVE_E_DATA, "column \"kind\": row 3: expected an index below 2");
    b = make_good();
    b->column[KIND].schema.format = "L";
    set_buffer(&b->column[KIND], 1, huge, sizeof huge);
    refuse(b, DROVE_E_DATA, "column \"kind\": row 3: expected an index below 2");
    b = make_good();
    b->value[KIND].array.length = 0;
    refuse(b, DROVE_E_DATA, "column \"kind\": row 1: expected an index below 0");
    b = make_good();
    b->value[KIND].array.length = -1;
    refuse(b, DROVE_E_DATA, "column \"kind\": dictionary: expected a length");
    b = make_good();
    b->value[KIND].array.n_buffers = 2;
    refuse(b, DROVE_E_DATA, "column \"kind\": dictionary: expected buffers: 3");
    b = make_good();
    b->column[KIND].array.dictionary = NULL;
    refuse(b, DROVE_E_DATA, "column \"kind\": dictionary: expected a dictionary, found none");
    b = make_good();
    b->value[KIND].array.dictionary = &b->column[TEXT].array;
    refuse(b, DROVE_E_DATA, "found one of dictionaries");
    b = make_good();
    b->column[NUMBER].array.dictionary = &b->column[TEXT].array;
    refuse(b, DROVE_E_DATA, "column \"number\": expected no dictionary");
}

TEST(cells_that_no_table_holds)
{
    static const int32_t late[ROWS] = {0, 4398148, 4398149}; /* the end of the year 13 thousand */
    static const int64_t early[ROWS] = {0, -380000000000, -380000000001};
    static const uint64_t marker[ROWS] = {1, UINT64_C(1) << 63, 2};
    batch *b = make_batch(ROWS);
    set_buffer(add_column(b, "until", "tdD", 2), 1, late, sizeof late);
    refuse(b, DROVE_E_DATA, "column \"until\": row 3: expected a date between the years -9999 and");
    b = make_batch(ROWS);
    set_buffer(add_column(b, "from", "tss:", 2), 1, early, sizeof early);
    refuse(b, DROVE_E_DATA, "column \"from\": row 3: expected a date");
    b = make_batch(ROWS);
    set_buffer(add_column(b, "hash", "L", 2), 1, marker, sizeof marker);
    refuse(b, DROVE_E_DATA, "column \"hash\": row 2: expected an unsigned integer other than 2^63");
}

/* ---- streams ---- */

TEST(a_stream_that_fails)
{
    batch *b = make_good();
    batch_stream stream;
    drove_arrow_table *table = (drove_arrow_table *)b;
    make_stream(&stream, &b, 1);
    stream.error = "the file\nended";
    assert_int_equal(drove_arrow_table_from_stream(&stream.stream, &table), DROVE_E_DATA);
    assert_string_equal(drove_error_text(),
                        "arrow: the stream gave no batch: the file?ended (error 22)");
    assert_null(table);
    assert_int_equal(stream.n_released, 1);
    assert_int_equal(b->n_released, 2);
    free_batch(b);
    make_stream(&stream, NULL, 0);
    stream.stream.get_last_error = NULL;
    assert_int_equal(drove_arrow_table_from_stream(&stream.stream, &table), DROVE_E_DATA);
    assert_non_null(strstr(drove_error_text(), "gave no schema: it does not say why (error 5)"));
    assert_int_equal(stream.n_released, 1);
    assert_int_equal(drove_arrow_table_from_stream(&stream.stream, &table), DROVE_E_DATA);
    assert_non_null(strstr(drove_error_text(), "released"));
    assert_int_equal(stream.n_released, 1);
}

/* A bad batch behind a good one: the row is that of the table. */
TEST(a_stream_with_a_bad_batch)
{
    static const int8_t beyond[] = {0, 2, 0};
    batch *b[] = {make_good(), make_good()};
    batch_stream stream;
    drove_arrow_table *table;
    set_buffer(&b[1]->column[KIND], 1, beyond, sizeof beyond);
    make_stream(&stream, b, 2);
    assert_int_equal(drove_arrow_table_from_stream(&stream.stream, &table), DROVE_E_DATA);
    assert_non_null(strstr(drove_error_text(), "column \"kind\": row 5: expected an index"));
    assert_null(table);
    assert_int_equal(b[0]->n_released + b[1]->n_released, 3);
    free_batch(b[0]);
    free_batch(b[1]);
}
