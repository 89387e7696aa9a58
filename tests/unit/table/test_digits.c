/* Columns whose numbers floats cannot tell apart, dates to the second, spellings of numbers, words
 * for missing cells, and codes: what a table is taken for, against what was written into it. */
#include "support.h"

#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 28 };

/* A file with a column v of these cells, a column k and the label y. */
static void write_cells(const char *path, void (*cell)(FILE *file, unsigned row), char separator)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "v%ck%cy\n", separator, separator);
    for (unsigned row = 0; row < ROWS; row++) {
        cell(file, row);
        fprintf(file, "%c%u%c%s\n", separator, row * row % 7, separator, row % 2 == 0 ? "a" : "b");
    }
    assert_int_equal(fclose(file), 0);
}

static void learn_cells(void (*cell)(FILE *file, unsigned row), char separator, const char *types,
                        drove_known_table *out)
{
    drove_table_options opt = options_of("cells", "y");
    opt.types = types;
    write_cells("cells", cell, separator);
    learn(&opt, out);
    assert_int_equal(remove("cells"), 0);
}

static void milliseconds(FILE *file, unsigned row)
{
    fprintf(file, "%lld", 1700000000000LL + 350 * (row * 11 % ROWS));
}

/* The float nearest to every cell is the same. */
TEST(times_since_1970_differ)
{
    drove_known_table known, more;
    drove_encoded x;
    learn_cells(milliseconds, ',', NULL, &known);
    const drove_column *c = column_of(&known, "v");
    assert_int_equal(c->type, DROVE_COLUMN_NUMBER);
    assert_int_equal(c->n_distinct, ROWS);
    assert_true(c->is_wide && c->centre == rint(1700000000000.0 + 350 * (ROWS - 1) / 2.0));
    assert_int_equal(drove__table_encode(&known, NULL, ROWS, &x), DROVE_OK);
    for (unsigned row = 0; row < ROWS; row++) {
        const float *features = x.x + row * known.schema->n_features;
        const double expected = 350.0 * (row * 11 % ROWS) - 350 * (ROWS - 1) / 2.0;
        assert_true(feature_of(&known, features, "v") == (float)expected);
    }
    drove__free(x.x);

    /* Further data, by the schema of a model file. */
    char *json;
    drove_schema *schema;
    assert_int_equal(drove__schema_to_json(known.schema, &json), DROVE_OK);
    assert_int_equal(drove__schema_from_json(json, &schema), DROVE_OK);
    assert_true(drove__schema_equal(schema, known.schema));
    free(json);
    write_text("further", "k,v\n1,1700000000001\n");
    drove_table_options opt = options_of("further", NULL);
    assert_int_equal(drove__table_match(&opt, schema, false, &more), DROVE_OK);
    assert_int_equal(drove__table_encode(&more, NULL, 1, &x), DROVE_OK);
    assert_true(feature_of(&more, x.x, "v") == (float)(1700000000001.0 - c->centre));
    drove__free(x.x);
    drove__known_table_fini(&more);
    drove__schema_release(schema);
    drove__known_table_fini(&known);
    assert_int_equal(remove("further"), 0);
}

static void seconds(FILE *file, unsigned row)
{
    fprintf(file, "2019-03-01 10:00:%02u", row * 13 % ROWS);
}

TEST(dates_differ_by_seconds)
{
    drove_known_table known;
    drove_encoded x;
    learn_cells(seconds, ',', NULL, &known);
    const drove_column *c = column_of(&known, "v");
    assert_int_equal(c->type, DROVE_COLUMN_DATE);
    assert_true(c->has_time && c->n_distinct == ROWS && c->centre == 17956); /* 2019-03-01 */
    assert_int_equal(drove__table_encode(&known, NULL, ROWS, &x), DROVE_OK);
    for (unsigned row = 0; row < ROWS; row++)
        assert_true(feature_of(&known, x.x + row * known.schema->n_features, "v days") ==
                    (float)((36000 + row * 13 % ROWS) / 86400.0));
    drove__free(x.x);
    drove__known_table_fini(&known);
}

/* ---- what a column is taken for ---- */

static void long_names(FILE *file, unsigned row)
{
    fprintf(file, "%llu", 9007199254740993ULL + row * 11 % ROWS);
}
static void codes(FILE *file, unsigned row)
{
    static const char *const icd[] = {"007.1", "008.45", "038.11", "250.00", "401.9"};
    fputs(icd[row % 5], file);
}
static void padded(FILE *file, unsigned row)
{
    fprintf(file, "%05.2f", 3.25 * row);
}
static void narrow_blanks(FILE *file, unsigned row)
{
    fprintf(file, "%u\xe2\x80\xaf%03u", row % 9 + 1, row * 531 % 1000);
}
static void kilograms(FILE *file, unsigned row)
{
    fprintf(file, "%.1f kg", 50 + 1.5 * row);
}
static void metres(FILE *file, unsigned row) /* count up, but are no ids */
{
    fprintf(file, "%u m", row);
}
static void wide_digits(FILE *file, unsigned row) /* of East Asian texts, "1" to "9" */
{
    fprintf(file, "\xef\xbc%c\xe5\x8f\xb7", 0x91 + row % 9);
}
static void quarters(FILE *file, unsigned row)
{
    fprintf(file, "%uQ%u", 2010 + row / 4, row % 4 + 1);
}
static void laps(FILE *file, unsigned row)
{
    fprintf(file, "1:%02u.5", row * 7 % 60);
}
static void database_null(FILE *file, unsigned row)
{
    if (row % 4 == 0) fputs("\\N", file);
    else fprintf(file, "%u.5", row);
}
static void mostly_missing(FILE *file, unsigned row)
{
    if (row % 8 != 0) fputs("missing", file);
    else fprintf(file, "%u.5", row);
}
static void own_word(FILE *file, unsigned row)
{
    if (row % 3 == 0) fputs("censored", file);
    else fprintf(file, "%u.5", row);
}
static void two_words(FILE *file, unsigned row)
{
    if (row % 3 == 0) fputs(row % 2 == 0 ? "low" : "high", file);
    else fprintf(file, "%u.5", row);
}
static void zero_dates(FILE *file, unsigned row)
{
    if (row % 7 == 0) fputs("0000-00-00", file);
    else fprintf(file, "2019-02-%02u", row + 1);
}
static void magnitudes(FILE *file, unsigned row)
{
    fprintf(file, row % 2 == 0 ? "%uk" : "%u.5M", row);
}

TEST(what_columns_are_taken_for)
{
    static const struct {
        void (*cell)(FILE *file, unsigned row);
        drove_column_type type;
        const char *notation; /* NULL: none */
        uint64_t n_missing;
        const char *note; /* NULL: none */
    } cases[] = {
        {long_names, DROVE_COLUMN_ID, NULL, 0, "are taken for an id and left out (?types=v:number"},
        {codes, DROVE_COLUMN_CATEGORY, NULL, 0,
         "column \"v\": 28 cells, most with digits (007.1 | 008.45 | 038.11), are read as a "
         "category (?types=v:number uses their values)"},
        {padded, DROVE_COLUMN_NUMBER, NULL, 0, NULL},
        {narrow_blanks, DROVE_COLUMN_NUMBER, NULL, 0, NULL},
        {kilograms, DROVE_COLUMN_NUMBER, "kg", 0, NULL},
        {metres, DROVE_COLUMN_NUMBER, "m", 0, NULL},
        {quarters, DROVE_COLUMN_DATE, NULL, 0, NULL},
        {laps, DROVE_COLUMN_NUMBER, "h:mm", 0, NULL},
        {database_null, DROVE_COLUMN_NUMBER, NULL, 7, "7 cells are no number"},
        {mostly_missing, DROVE_COLUMN_NUMBER, NULL, 24, "24 cells are no number"},
        {own_word, DROVE_COLUMN_NUMBER, NULL, 10,
         "10 cells are no number and count as missing: "
         "\"censored\", first in row 1"},
        {two_words, DROVE_COLUMN_CATEGORY, NULL, 0, "most with digits"},
        {zero_dates, DROVE_COLUMN_DATE, NULL, 4, NULL},
        {wide_digits, DROVE_COLUMN_CATEGORY, NULL, 0, "most with digits"},
        {magnitudes, DROVE_COLUMN_ID, NULL, 0, "taken for an id and left out"},
    };
    for (size_t i = 0; i < DROVE_COUNT(cases); i++) {
        drove_known_table known;
        learn_cells(cases[i].cell, ',', NULL, &known);
        const drove_column *c = column_of(&known, "v");
        const char *notation = drove__column_notation(c);
        if (c->type != cases[i].type || c->n_missing != cases[i].n_missing)
            fail_msg("case %zu: %s, %llu missing", i, drove__column_type_name(c->type),
                     (unsigned long long)c->n_missing);
        if (cases[i].notation == NULL) assert_null(notation);
        else assert_string_equal(notation, cases[i].notation);
        if (cases[i].note == NULL) assert_string_equal(known.notes, "");
        else if (strstr(known.notes, cases[i].note) == NULL)
            fail_msg("case %zu: %s", i, known.notes);
        drove__known_table_fini(&known);
    }
}

/* The key of the remark does what it says. */
TEST(keys_of_remarks_work)
{
    drove_known_table known;
    learn_cells(codes, ',', "v:number", &known);
    assert_int_equal(column_of(&known, "v")->type, DROVE_COLUMN_NUMBER);
    assert_int_equal(column_of(&known, "v")->n_missing, 0);
    drove__known_table_fini(&known);
    learn_cells(magnitudes, ',', "v:category", &known);
    assert_int_equal(column_of(&known, "v")->type, DROVE_COLUMN_CATEGORY);
    drove__known_table_fini(&known);
    learn_cells(own_word, ',', "v:category", &known);
    assert_int_equal(column_of(&known, "v")->type, DROVE_COLUMN_CATEGORY);
    drove__known_table_fini(&known);
}

/* A counter alone is used: there is nothing else. */
TEST(a_counter_is_used_where_it_is_alone)
{
    drove_known_table known;
    drove_table_options opt = options_of("counter", "y");
    FILE *file = fopen("counter", "w");
    assert_non_null(file);
    fputs("time,y\n", file);
    for (unsigned row = 0; row < ROWS; row++) fprintf(file, "%u,%u.25\n", row, row * 3);
    assert_int_equal(fclose(file), 0);
    learn(&opt, &known);
    assert_int_equal(column_of(&known, "time")->type, DROVE_COLUMN_NUMBER);
    assert_non_null(strstr(known.notes, "no other column is left"));
    drove__known_table_fini(&known);
    assert_int_equal(remove("counter"), 0);
}
