/* Tables of the Arrow C data interface: each type gives what a file with the same cells gives. */
#include "arrow_batch.h"
#include "support.h"

#include "base/mem.h"
#include "table/schema.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Takes the batch. */
static drove_arrow_table *import(batch *b)
{
    drove_arrow_table *table;
    assert_ok(drove_arrow_table_create(&b->schema, &b->array, &table));
    assert_int_equal(b->n_released, 2);
    assert_true(b->schema.release == NULL && b->array.release == NULL);
    free_batch(b);
    return table;
}

static drove_data *open_table(const drove_arrow_table *table, const char *keys)
{
    char spec[128];
    snprintf(spec, sizeof spec, "table:%s%s", drove_arrow_table_name(table), keys);
    return open_data(spec);
}

/* ---- each type as its file ---- */

enum { N = 6, BEFORE = 2, ALL = N + BEFORE };

/* Two cells of every array stand before the table, by the offsets of the batch and of the column;
 * the third cell of the table is null. */
static const char valid[ALL + 1] = "11110111";

static const int8_t i8[] = {99, 99, -128, 7, 0, 127, 5, -1};
static const uint8_t u8[] = {99, 99, 255, 7, 0, 127, 5, 1};
static const int16_t i16[] = {99, 99, -32768, 7, 0, 127, 5, 1};
static const uint16_t u16[] = {99, 99, 65535, 7, 0, 127, 5, 1};
static const int32_t i32[] = {99, 99, INT32_MIN, 7, 0, 127, 5, 1};
static const uint32_t u32[] = {99, 99, UINT32_MAX, 7, 0, 127, 5, 1};
static const int64_t i64[] = {99, 99, INT64_MAX, 7, 0, -9007199254740993, 5, 1};
static const uint64_t u64[] = {99, 99, UINT64_MAX, 7, 0, 127, 5, 1};
static const uint16_t f16[] = {1, 1, 0x3c00, 0xc100, 0, 0x0001, 0x7bff, 0x3555};
static const float f32[] = {9, 9, 0.1f, -1e-20f, 0, 3.4e38f, 5, 1};
static const double f64[] = {9, 9, 0.1, -1e300, 0, 12345678.9, 5, 1};
static const uint8_t bits[] = {0xa5}; /* cells 2 to 7: 1 0 0 1 0 1 */
static const int32_t days[] = {9, 9, 0, -1, 0, 19874, 11016, -25567};
static const int64_t ms_days[] = {9, 9, 0, -86400000, 0, 1717113600000, 86400000, 0};
static const int64_t s[] = {9, 9, 59, -1, 0, 1717108200, 0, -60};
static const int64_t ms[] = {9, 9, 59999, -1, 0, 1717108200123, 0, -60000};
static const int64_t us[] = {9, 9, 59999999, -1, 0, 1717108200123456, 0, -60000000};
static const int64_t ns[] = {9, 9, 59999999999, -1, 0, 1717108200123456789, 0, -60000000000};
static const int32_t time_ms[] = {9, 9, 1500, 250, 0, 86399999, 0, 1};
static const int64_t span_us[] = {9, 9, 1500000, -250000, 0, 7, 0, 1};
static const int32_t d32[] = {9, 9, 1234567, -1, 0, INT32_MIN, 5, 100};
static const int64_t d64[] = {9, 9, 1234567, -1, 0, INT64_MIN, 5, 100};
static const uint64_t d128[] = {9, 0, 9, 0, 1234567, 0, UINT64_MAX, UINT64_MAX,
                                0, 0, 0, 1, 5,       0, 100,        0};
static const int64_t d256[] = {9, 0, 0, 0, 9, 0, 0, 0, 7, 0, 0, 0, -9, -1, -1, -1,
                               0, 0, 0, 0, 0, 0, 1, 0, 5, 0, 0, 0, 1,  0,  0,  0};

static const struct type_case {
    const char *format;
    const void *bytes;
    size_t n_bytes;
    const char *cell[N]; /* as a file has it */
} types[] = {
    {"c", i8, sizeof i8, {"-128", "7", "", "127", "5", "-1"}},
    {"C", u8, sizeof u8, {"255", "7", "", "127", "5", "1"}},
    {"s", i16, sizeof i16, {"-32768", "7", "", "127", "5", "1"}},
    {"S", u16, sizeof u16, {"65535", "7", "", "127", "5", "1"}},
    {"i", i32, sizeof i32, {"-2147483648", "7", "", "127", "5", "1"}},
    {"I", u32, sizeof u32, {"4294967295", "7", "", "127", "5", "1"}},
    {"l", i64, sizeof i64, {"9223372036854775807", "7", "", "-9007199254740993", "5", "1"}},
    {"L", u64, sizeof u64, {"18446744073709551615", "7", "", "127", "5", "1"}},
    {"e", f16, sizeof f16, {"1", "-2.5", "", "5.9604644775390625e-08", "65504", "0.333251953125"}},
    {"f", f32, sizeof f32, {"0.1", "-1e-20", "", "3.4e38", "5", "1"}},
    {"g", f64, sizeof f64, {"0.1", "-1e300", "", "12345678.9", "5", "1"}},
    {"b", bits, sizeof bits, {"True", "False", "", "True", "False", "True"}},
    {"tdD",
     days,
     sizeof days,
     {"1970-01-01", "1969-12-31", "", "2024-05-31", "2000-02-29", "1900-01-01"}},
    {"tdm",
     ms_days,
     sizeof ms_days,
     {"1970-01-01", "1969-12-31", "", "2024-05-31", "1970-01-02", "1970-01-01"}},
    {"tss:",
     s,
     sizeof s,
     {"1970-01-01 00:00:59", "1969-12-31 23:59:59", "", "2024-05-30 22:30", "1970-01-01 00:00",
      "1969-12-31 23:59"}},
    {"tsm:UTC",
     ms,
     sizeof ms,
     {"1970-01-01 00:00:59.999", "1969-12-31 23:59:59.999", "", "2024-05-31 00:30:00.123+02:00",
      "1970-01-01 00:00", "1969-12-31 23:59"}},
    {"tsu:Europe/Berlin",
     us,
     sizeof us,
     {"1970-01-01 00:00:59", "1969-12-31 23:59:59", "", "2024-05-30T22:30:00Z", "1970-01-01 00:00",
      "1969-12-31 23:59"}},
    {"tsn:",
     ns,
     sizeof ns,
     {"1970-01-01 00:00:59", "1969-12-31 23:59:59", "", "2024-05-30T22:30", "1970-01-01 00:00",
      "1969-12-31 23:59"}},
    {"ttm", time_ms, sizeof time_ms, {"1.5", "0.25", "", "86399.999", "0", "0.001"}},
    {"tDu", span_us, sizeof span_us, {"1.5", "-0.25", "", "0.000007", "0", "0.000001"}},
    {"d:9,2,32", d32, sizeof d32, {"12345.67", "-0.01", "", "-21474836.48", "0.05", "1"}},
    {"d:18,-2,64",
     d64,
     sizeof d64,
     {"123456700", "-100", "", "-922337203685477580800", "500", "10000"}},
    {"d:38,2", d128, sizeof d128, {"12345.67", "-0.01", "", "184467440737095516.16", "0.05", "1"}},
    {"d:76,10,256",
     d256,
     sizeof d256,
     {"7e-10", "-9e-10", "", "3.402823669209385e28", "5e-10", "1e-10"}},
};

static const char *const labels[ALL] = {"", "", "a", "b", "a", "b", "a", "b"};

/* A batch of N rows from cell BEFORE on: its offset is 1, and that of its columns is 1. */
static void shift_batch(batch *b)
{
    b->array.length = N;
    b->array.offset = 1;
    for (size_t i = 0; i < b->n_columns; i++) {
        b->column[i].array.length = ALL - 1;
        b->column[i].array.offset = 1;
    }
}

/* The table's "x" is as a file of these cells. */
static void expect_file(batch *b, const char *format, const char *const cell[N], const char *keys)
{
    char text[2048] = "x,y\n";
    for (size_t i = 0; i < N; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s,%s\n", cell[i],
                 labels[BEFORE + i]);
    write_text("same.csv", text);
    add_texts(b, "y", labels);
    shift_batch(b);
    set_valid(&b->column[0], valid);
    drove_arrow_table *table = import(b);
    assert_int_equal(drove_arrow_table_n_rows(table), N);
    snprintf(text, sizeof text, "table:same.csv%s", keys);
    drove_data *found = open_table(table, keys), *expected = open_data(text);
    if (found->storage->n_features != expected->storage->n_features)
        fail_msg("%s: %zu features, expected %zu", format, found->storage->n_features,
                 expected->storage->n_features);
    for (size_t i = 0; i < N; i++) {
        for (size_t f = 0; f < found->storage->n_features; f++) {
            if (value_at(found, i, f) != value_at(expected, i, f))
                fail_msg("%s: row %zu, feature %zu: %.9g, expected %.9g", format, i, f,
                         (double)value_at(found, i, f), (double)value_at(expected, i, f));
        }
    }
    expect_same(found, expected);
    assert_true(drove__schema_equal(found->storage->schema, expected->storage->schema));
    drove_arrow_table_destroy(table); /* the data have what they need */
    expect_same(found, expected);
    drove_data_destroy(found);
    drove_data_destroy(expected);
}

TEST(every_type_is_as_its_file)
{
    for (size_t t = 0; t < DROVE_COUNT(types); t++) {
        batch *b = make_batch(ALL);
        batch_part *part = add_column(b, "x", types[t].format, 2);
        set_buffer(part, 1, types[t].bytes, types[t].n_bytes);
        expect_file(b, types[t].format, types[t].cell, "?label=y");
    }
}

/* ---- texts ---- */

static const char *const texts[ALL] = {
    "before", "all of it", " man", "a text of more than 12 bytes", "null", "man", "", "f\xc3\xbcr"};
static const char *const text_cells[N] = {"man", "a text of more than 12 bytes",
                                          "",    "man",
                                          "",    "f\xc3\xbcr"};

static void set_large(batch_part *part)
{
    int64_t offset[ALL + 1] = {0};
    char bytes[256];
    for (size_t i = 0; i < ALL; i++) {
        memcpy(bytes + offset[i], texts[i], strlen(texts[i]));
        offset[i + 1] = offset[i] + (int64_t)strlen(texts[i]);
    }
    set_buffer(part, 1, offset, sizeof offset);
    set_buffer(part, 2, bytes, (size_t)offset[ALL]);
}

/* Long texts lie in the second of two buffers. */
static void set_views(batch_part *part)
{
    char views[ALL][16] = {{0}}, bytes[256];
    int64_t sizes[2] = {0};
    for (size_t i = 0; i < ALL; i++) {
        const int32_t length = (int32_t)strlen(texts[i]), buffer = 1, at = (int32_t)sizes[1];
        memcpy(views[i], &length, 4);
        memcpy(views[i] + 4, texts[i], length <= 12 ? (size_t)length : 4);
        if (length <= 12) continue;
        memcpy(views[i] + 8, &buffer, 4);
        memcpy(views[i] + 12, &at, 4);
        memcpy(bytes + at, texts[i], (size_t)length);
        sizes[1] += length;
    }
    set_buffer(part, 1, views, sizeof views);
    set_buffer(part, 2, bytes, 0);
    set_buffer(part, 3, bytes, (size_t)sizes[1]);
    set_buffer(part, 4, sizes, sizeof sizes);
}

TEST(texts_are_as_their_file)
{
    batch *b = make_batch(ALL);
    set_texts(add_column(b, "x", "u", 3), texts, ALL);
    expect_file(b, "u", text_cells, "?label=y");
    b = make_batch(ALL);
    set_large(add_column(b, "x", "U", 3));
    expect_file(b, "U", text_cells, "?label=y");
    b = make_batch(ALL);
    set_views(add_column(b, "x", "vu", 5));
    expect_file(b, "vu", text_cells, "?label=y&text=x");
}

TEST(texts_may_have_no_bytes)
{
    static const char *const empty[] = {"", "", ""};
    batch *b = make_batch(3);
    batch_part *part = add_texts(b, "x", empty);
    free((void *)(uintptr_t)part->buffer[2]);
    part->buffer[2] = NULL;
    drove_arrow_table_destroy(import(b));
    b = make_batch(0); /* without rows no buffer is needed */
    add_column(b, "x", "u", 3);
    add_column(b, "y", "g", 2);
    drove_arrow_table *table = import(b);
    assert_int_equal(drove_arrow_table_n_rows(table), 0);
    drove_arrow_table_destroy(table);
}

/* ---- dictionaries ---- */

/* Of numbers in a column whose name says that they are codes, a file makes a category, too. */
TEST(dictionaries_are_categories)
{
    static const char *const used[N] = {"1", "300", "", "1", "", "-7"};
    static const uint8_t index[ALL] = {200, 200, 0, 2, 201, 0, 3, 1};
    static const int16_t number[] = {1, -7, 300, 0, 9}; /* 0 is null, 9 is unused */
    static const char *const text[] = {"1", "-7", "300", "no", "\xff"};
    for (int is_text = 0; is_text < 2; is_text++) {
        batch *b = make_batch(ALL);
        set_buffer(add_column(b, "x", "C", 2), 1, index, sizeof index);
        batch_part *values = add_dictionary(b, is_text ? "u" : "s", 5, is_text ? 3 : 2);
        if (is_text) set_texts(values, text, 5);
        else set_buffer(values, 1, number, sizeof number);
        set_valid(values, "11101");
        expect_file(b, "dictionary", used, "?label=y&types=x:category");
    }
}

/* The dictionaries of batches may differ. */
TEST(each_batch_has_its_dictionary)
{
    static const char *const first[] = {"red", "blue"}, *const second[] = {"blue", "red", "green"};
    static const int64_t index[][3] = {{1, 0, 1}, {0, 2, 1}};
    static const double y[][3] = {{1, 2, 3}, {4, 5, 6}};
    batch *b[2];
    batch_stream stream;
    drove_arrow_table *table;
    for (size_t i = 0; i < 2; i++) {
        b[i] = make_batch(3);
        set_buffer(add_column(b[i], "x", "l", 2), 1, index[i], sizeof index[i]);
        set_texts(add_dictionary(b[i], "u", 2 + i, 3), i == 0 ? first : second, 2 + i);
        set_buffer(add_column(b[i], "y", "g", 2), 1, y[i], sizeof y[i]);
    }
    make_stream(&stream, b, 2);
    assert_ok(drove_arrow_table_from_stream(&stream.stream, &table));
    assert_int_equal(stream.n_released, 1);
    assert_null(stream.stream.release);
    write_text("colours.csv", "x,y\nblue,1\nred,2\nblue,3\nblue,4\ngreen,5\nred,6\n");
    drove_data *found = open_table(table, "?label=y&target=value"),
               *expected = open_data("table:colours.csv?label=y&target=value");
    expect_same(found, expected);
    drove_data_destroy(found);
    drove_data_destroy(expected);
    drove_arrow_table_destroy(table);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(b[i]->n_released,
                         i == 0 ? 2 : 1); /* the second schema was not asked for */
        free_batch(b[i]);
    }
}

/* A category is one as a label, too, even where its texts are many numbers. */
TEST(a_dictionary_as_label_holds_classes)
{
    enum { ROWS = 60, VALUES = 30 };
    float x[ROWS];
    int8_t index[ROWS];
    double value[VALUES];
    for (size_t i = 0; i < ROWS; i++) {
        x[i] = (float)(i * i % 17);
        index[i] = (int8_t)(i % VALUES);
        value[i % VALUES] = (double)(i % VALUES) / 4;
    }
    batch *b = make_batch(ROWS);
    set_buffer(add_column(b, "x", "f", 2), 1, x, sizeof x);
    set_buffer(add_column(b, "y", "c", 2), 1, index, sizeof index);
    set_buffer(add_dictionary(b, "g", VALUES, 2), 1, value, sizeof value);
    drove_arrow_table *table = import(b);
    drove_data *found = open_table(table, "");
    assert_int_equal(found->storage->y_kind, DROVE_Y_CLASS);
    assert_int_equal(found->storage->n_classes, VALUES);
    assert_string_equal(class_of(found, 31), "0.25");
    drove_data_destroy(found);
    found = open_table(table, "?target=value");
    assert_true(target_of(found, 31) == 0.25f);
    drove_data_destroy(found);
    drove_arrow_table_destroy(table);
}

/* ---- missing cells ---- */

TEST(markers_of_missing_cells)
{
    static const int64_t integer[] = {3, INT64_MIN, 5, 6};
    static const double number[] = {1, 2, NAN, 4};
    static const char *const y[] = {"NA", "None", "NA", "?"}; /* texts */
    batch *b = make_batch(4);
    set_buffer(add_column(b, "integer", "l", 2), 1, integer, sizeof integer);
    set_buffer(add_column(b, "number", "g", 2), 1, number, sizeof number);
    add_column(b, "nothing", "n", 0);
    add_column(b, "also", "n", 1); /* with a bitmap, as some have it */
    add_texts(b, "y", y);
    drove_arrow_table *table = import(b);
    drove_data *found = open_table(table, "");
    const drove_schema *schema = found->storage->schema;
    assert_int_equal(schema->column[0].n_missing, 1);
    assert_int_equal(schema->column[1].n_missing, 1);
    assert_int_equal(schema->column[2].type, DROVE_COLUMN_CONSTANT);
    assert_int_equal(found->n_rows, 4);
    assert_string_equal(class_of(found, 0), "NA");
    assert_string_equal(class_of(found, 1), "None");
    assert_string_equal(class_of(found, 3), "?");
    drove_data_destroy(found);
    drove_arrow_table_destroy(table);
}

/* ---- further columns ---- */

TEST(columns_are_added)
{
    static const double x[] = {1, 2, 3, 5}, weight[] = {1, 0.5, 2, 1};
    static const int8_t class[] = {1, 0, 1, 1};
    static const char *const names[] = {"7", "NA"};
    const drove_matrix classes = drove_matrix_dense(class, DROVE_TYPE_I8, 4, 1);
    const drove_matrix weights = drove_matrix_dense(weight, DROVE_TYPE_F64, 4, 1);
    const drove_matrix few = drove_matrix_dense(weight, DROVE_TYPE_F64, 3, 1);
    batch *b = make_batch(4);
    set_buffer(add_column(b, "x", "g", 2), 1, x, sizeof x);
    drove_arrow_table *table = import(b);
    const size_t n_bytes = drove_arrow_table_bytes(table);
    assert_int_equal(drove_arrow_table_add(table, "y", &classes, names, 1), DROVE_E_DATA);
    assert_non_null(strstr(drove_error_text(), "row 1: expected a number of one of 1 texts"));
    assert_int_equal(drove_arrow_table_add(table, "y", &few, NULL, 0), DROVE_E_SHAPE);
    assert_int_equal(drove_arrow_table_add(table, "x", &weights, NULL, 0), DROVE_E_ARG);
    assert_int_equal(drove_arrow_table_bytes(table), n_bytes);
    assert_ok(drove_arrow_table_add(table, "y", &classes, names, 2));
    assert_ok(drove_arrow_table_add(table, "w", &weights, NULL, 0));
    assert_true(drove_arrow_table_bytes(table) > n_bytes);
    drove_data *found = open_table(table, "?label=y&weights=w");
    assert_string_equal(class_of(found, 0), "NA");
    assert_string_equal(class_of(found, 1), "7");
    assert_int_equal(found->storage->n_features, 1);
    for (size_t i = 0; i < 4; i++) assert_true(found->storage->weight[i] == (float)weight[i]);
    drove_data_destroy(found);
    drove_arrow_table_destroy(table);
}
