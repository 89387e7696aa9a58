/* tests/unit/table/test_odd.c - a few words among numbers and dates, rows without a label, and
 * decimal commas in quotes: each table gives the features of one that is written plainly. */
#include "support.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 300 };

typedef void write_row(FILE *file, unsigned row, bool is_plain);

static void write_table(const char *path, write_row *write, bool is_plain)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("a,b,y\n", file);
    for (unsigned row = 0; row < ROWS; row++) write(file, row, is_plain);
    assert_int_equal(fclose(file), 0);
}

static void encode_labelled(drove_known_table *known, drove_encoded *x, size_t *n_kept)
{
    bool *keep = calloc(known->table.n_rows, sizeof *keep);
    assert_non_null(keep);
    *n_kept = 0;
    for (size_t row = 0; row < known->table.n_rows; row++) {
        keep[row] = drove__known_has_label(known, row);
        *n_kept += keep[row];
    }
    assert_int_equal(drove__table_encode(known, keep, *n_kept, x), DROVE_OK);
    free(keep);
}

/* The table as written has the features of the plain one, and says `note`. */
static void expect_plain(write_row *write, const char *note)
{
    drove_known_table plain, found;
    drove_encoded x_plain, x_found;
    size_t n_plain, n_found;
    drove_table_options opt = options_of("plain", "y");
    write_table("plain", write, true);
    write_table("written", write, false);
    learn(&opt, &plain);
    opt.path = "written";
    learn(&opt, &found);
    if (strstr(found.notes, note) == NULL) fail_msg("\"%s\" is not in: %s", note, found.notes);
    assert_true(drove__schema_equal(plain.schema, found.schema));
    encode_labelled(&plain, &x_plain, &n_plain);
    encode_labelled(&found, &x_found, &n_found);
    assert_int_equal(n_plain, n_found);
    assert_false(plain.schema->is_sparse);
    assert_memory_equal(x_plain.x, x_found.x,
                        n_plain * plain.schema->n_features * sizeof *x_plain.x);
    drove__free(x_plain.x);
    drove__free(x_found.x);
    drove__known_table_fini(&plain);
    drove__known_table_fini(&found);
    assert_int_equal(remove("plain") | remove("written"), 0);
}

static void three_words(FILE *file, unsigned row, bool is_plain)
{
    if (row % 100 == 5) fputs(is_plain ? "NA" : "unknown", file);
    else fprintf(file, "%u.%02u", row * 7 % 50, row * 31 % 100);
    fprintf(file, ",%u,%u\n", row % 13, row % 2);
}

static void word_among_dates(FILE *file, unsigned row, bool is_plain)
{
    if (row == 17) fputs(is_plain ? "NA" : "soon", file);
    else fprintf(file, "2021-%02u-%02u", row % 12 + 1, row % 28 + 1);
    fprintf(file, ",%u,%u\n", row % 13, row % 2);
}

/* Ten different words, one of each. */
static void ten_words(FILE *file, unsigned row, bool is_plain)
{
    if (row % 30 == 7 && is_plain) fputs("NA", file);
    else if (row % 30 == 7) fprintf(file, "note no. %c", 'a' + (char)(row / 30));
    else fprintf(file, "%u.5", row * 7 % 50);
    fprintf(file, ",%u,%u\n", row % 13, row % 2);
}

/* A spreadsheet's sum, in a row without a label. */
static void total(FILE *file, unsigned row, bool is_plain)
{
    fprintf(file, "%u.%02u,%s,%u\n", row * 7 % 50, row * 31 % 100, row % 3 == 0 ? "yes" : "no",
            row % 2);
    if (row == ROWS - 1 && !is_plain) fputs("Total,60,\n", file);
}

static void word_as_label(FILE *file, unsigned row, bool is_plain)
{
    fprintf(file, "%u.5,%u,", row * 7 % 50, row % 13);
    if (row == 33) fputs(is_plain ? "\n" : "unknown\n", file);
    else fprintf(file, "%u.25\n", row * 11 % 207);
}

static void quoted_comma(FILE *file, unsigned row, bool is_plain)
{
    fprintf(file, is_plain ? "%u.%02u,%u.%03u,%u\n" : "\"%u,%02u\",\"%u,%03u\",%u\n", row * 7 % 50,
            row * 31 % 100, row % 9 + 1, row * 17 % 1000, row % 2);
}

/* "210,044" alone are thousands. */
static void quoted_groups(FILE *file, unsigned row, bool is_plain)
{
    fprintf(file, is_plain ? "%u%03u,%u,%u\n" : "\"%u,%03u\",%u,%u\n", row % 9 + 1, row * 17 % 1000,
            row % 13, row % 2);
}

TEST(test_words)
{
    expect_plain(three_words,
                 "column \"a\": 3 cells are no number and count as missing: \"unknown\", first in "
                 "row 6 (?types=a:text reads the column as text)");
    expect_plain(word_among_dates, "column \"a\": 1 cell is no date and counts as missing: "
                                   "\"soon\", first in row 18");
    expect_plain(ten_words, "10 cells are no number and count as missing: \"note no. a\", \"note "
                            "no. b\", \"note no. c\" ..., first in row 8");
}

TEST(test_unlabelled)
{
    expect_plain(total, "");
    expect_plain(word_as_label, "label \"y\": 1 cell is no number and counts as missing: "
                                "\"unknown\", first in row 34");
}

static void mixed_comma(FILE *file, unsigned row, bool is_plain)
{
    (void)is_plain; /* the second column is ambiguous in each cell, but the first is not */
    fprintf(file, "\"%u,%03u\",%u,%u\n", row % 9 + 1, row * 17 % 1000, row % 13, row % 2);
    if (row == 0) fputs("\"17,01\",0,1\n", file);
}

/* A column decides; further data are read as it was. */
TEST(test_commas)
{
    drove_known_table known, more;
    drove_encoded x;
    drove_table_options opt = options_of("comma", "y");
    write_table("comma", mixed_comma, false);
    expect_plain(quoted_groups, "");
    learn(&opt, &known);
    const drove_column *c = column_of(&known, "a");
    assert_true(c->type == DROVE_COLUMN_NUMBER && c->has_comma);
    char *json;
    drove_schema *schema;
    assert_int_equal(drove__schema_to_json(known.schema, &json), DROVE_OK);
    assert_int_equal(drove__schema_from_json(json, &schema), DROVE_OK);
    free(json);
    write_text("further", "a,b\n\"210,044\",1\n");
    opt = options_of("further", NULL);
    assert_int_equal(drove__table_match(&opt, schema, false, &more), DROVE_OK);
    assert_int_equal(drove__table_encode(&more, NULL, 1, &x), DROVE_OK);
    assert_true(feature_of(&more, x.x, "a") == 210.044f);
    drove__free(x.x);
    drove__schema_release(schema);
    drove__known_table_fini(&more);
    drove__known_table_fini(&known);
    assert_int_equal(remove("comma") | remove("further"), 0);
}

/* The value of 1.456 in the column "a" of a file that is read as `known` was. */
static float further_value(drove_known_table *known, const char *text)
{
    drove_known_table more;
    drove_encoded x;
    drove_table_options opt = options_of("further", NULL);
    write_text("further", text);
    assert_int_equal(drove__table_match(&opt, known->schema, false, &more), DROVE_OK);
    assert_int_equal(drove__table_encode(&more, NULL, 1, &x), DROVE_OK);
    const float value = feature_of(&more, x.x, "a");
    drove__free(x.x);
    drove__known_table_fini(&more);
    assert_int_equal(remove("further"), 0);
    return value;
}

/* 1.456 and 602 are thousands beside a decimal comma, however many columns have them. */
TEST(points_of_thousands)
{
    for (unsigned i = 0; i < 2; i++) {
        const char *formats[] = {"%s;%s;%s;0,%02u\n", "\"%s\",\"%s\",\"%s\",\"0,%02u\"\n"};
        char text[8192];
        int n = sprintf(text, i == 0 ? "a;b;c;y\n" : "a,b,c,y\n");
        for (unsigned row = 0; row < 60; row++) {
            char cell[16];
            sprintf(cell, row % 2 == 0 ? "1.%03u" : "%u", 600 + row);
            n += sprintf(text + n, formats[i], cell, cell, cell, row);
        }
        drove_known_table known;
        drove_table_options opt = options_of("points", "y");
        write_text("points", text);
        learn(&opt, &known);
        assert_true(column_of(&known, "a")->has_comma);
        assert_true(further_value(&known, "a;b;c\n1.456;1;1\n602;1;1\n") == 1456);
        assert_true(further_value(&known, "a,b,c\n1.456,1,1\n602,1,1\n") == 1.456f);
        assert_true(further_value(&known, "a;b;c\n1.45;1;1\n602;1;1\n") == 1.45f);
        assert_true(further_value(&known, "a;b;c\n1.456;0.5;1\n1.602;1;1\n") == 1.456f);
        drove__known_table_fini(&known);
        assert_int_equal(remove("points"), 0);
    }
}

TEST(quoted_plain)
{
    drove_known_table known;
    drove_table_options opt = options_of("quoted", "y");
    write_table("quoted", quoted_comma, false);
    learn(&opt, &known);
    assert_int_equal(column_of(&known, "a")->type, DROVE_COLUMN_NUMBER);
    assert_true(column_of(&known, "a")->has_comma);
    assert_false(column_of(&known, "b")->has_comma); /* each cell is a thousand */
    drove__known_table_fini(&known);
    assert_int_equal(remove("quoted"), 0);
}

/* Many words of many kinds, or more than a twentieth, leave a column of text. */
TEST(test_mixed)
{
    const char *const cell[] = {"%u.5%s", "%u.5 to %s"};
    for (unsigned odd = 0; odd < 2; odd++) {
        FILE *file = fopen("mixed", "w");
        drove_known_table known;
        drove_table_options opt = options_of("mixed", "y");
        assert_non_null(file);
        fputs("a,b,y\n", file);
        for (unsigned row = 0; row < ROWS; row++) {
            const bool is_word = odd == 0 ? row % 19 == 3 : row % 27 == 3; /* 16 cells; 12 kinds */
            if (is_word && odd == 0) fputs(row % 2 == 0 ? "soon" : "late", file);
            else fprintf(file, cell[is_word], row, "");
            fprintf(file, ",%u,%u\n", row % 13, row % 2);
        }
        assert_int_equal(fclose(file), 0);
        learn(&opt, &known);
        assert_int_not_equal(column_of(&known, "a")->type, DROVE_COLUMN_NUMBER);
        drove__known_table_fini(&known);
    }
    assert_int_equal(remove("mixed"), 0);
}
