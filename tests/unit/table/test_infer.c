/* tests/unit/table/test_infer.c - types of columns, and how they widen. */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 400 };

/* Writes a column "x" of ROWS cells made by `cell` from the row's number, and a label "y". */
static void write_column(const char *name, void (*cell)(unsigned row, char *into))
{
    FILE *file = fopen("column", "w");
    assert_non_null(file);
    fprintf(file, "%s;other;y\n", name);
    for (unsigned row = 0; row < ROWS; row++) {
        char text[64];
        cell(row, text);
        fprintf(file, "%s;%u.5;%u\n", text, row * 7919 % 997, row % 2);
    }
    assert_int_equal(fclose(file), 0);
}

static void expect_type(const char *name, void (*cell)(unsigned row, char *into),
                        drove_column_type type)
{
    drove_known_table known;
    drove_table_options opt = options_of("column", "y");
    write_column(name, cell);
    learn(&opt, &known);
    drove_column_type found = column_of(&known, name)->type;
    if (found != type)
        fail_msg("%s: expected %s, found %s", name, drove__column_type_name(type),
                 drove__column_type_name(found));
    assert_int_equal(column_of(&known, "y")->type, DROVE_COLUMN_LABEL);
    assert_int_equal(column_of(&known, "other")->type, DROVE_COLUMN_NUMBER);
    drove__known_table_fini(&known);
}

static void real(unsigned row, char *into)
{
    sprintf(into, "%u.25", row * 31 % 97);
}
static void comma_real(unsigned row, char *into)
{
    sprintf(into, "%u,25", row * 31 % 97);
}
static void small(unsigned row, char *into)
{
    sprintf(into, "%u", row * 31 % 7);
}
static void padded(unsigned row, char *into)
{
    sprintf(into, "%03u", row * 31 % 7);
}
static void bit(unsigned row, char *into)
{
    sprintf(into, "%u", row * 31 % 7 > 3);
}
static void bit_or_missing(unsigned row, char *into)
{
    sprintf(into, "%s", row % 5 == 0 ? "NA" : row % 3 == 0 ? "1.0" : "0.0");
}
static void yes_no(unsigned row, char *into)
{
    strcpy(into, row % 3 == 0 ? "Yes" : "No");
}
static void true_false(unsigned row, char *into)
{
    strcpy(into, row % 3 == 0 ? "TRUE" : "FALSE");
}
static void mixed_pair(unsigned row, char *into)
{
    strcpy(into, row % 3 == 0 ? "yes" : "false");
}
static void date(unsigned row, char *into)
{
    sprintf(into, "2021-%02u-%02u", row % 12 + 1, row % 28 + 1);
}
static void time_of_day(unsigned row, char *into)
{
    sprintf(into, "2021-03-%02uT%02u:30Z", row % 28 + 1, row % 24);
}
static void word(unsigned row, char *into)
{
    sprintf(into, "town%u", row % 9);
}
static void many_words(unsigned row, char *into)
{
    sprintf(into, "town%u", row % 90);
}
static void all_different(unsigned row, char *into)
{
    sprintf(into, "A/%u", row * 7919);
}
static void nearly_different(unsigned row, char *into)
{
    sprintf(into, "B/%u", row * 7919 % 370);
}
static void often_different(unsigned row, char *into)
{
    sprintf(into, "B/%u", row * 7919 % 340);
}
static void year(unsigned row, char *into)
{
    sprintf(into, "%u", row + 1620);
}
static void consecutive(unsigned row, char *into)
{
    sprintf(into, "%u", row + 17);
}
static void consecutive_but_first(unsigned row, char *into)
{
    sprintf(into, "%u", row == 0 ? 5 : row + 17);
}
static void constant(unsigned row, char *into)
{
    (void)row;
    strcpy(into, "EUR");
}
static void constant_number(unsigned row, char *into)
{
    (void)row;
    strcpy(into, "1.50");
}
static void all_missing(unsigned row, char *into)
{
    strcpy(into, row % 2 == 0 ? "" : "NA");
}
static void sentence(unsigned row, char *into)
{
    sprintf(into, "the %u answers to question %u", row * 31, row % 90);
}
static void scattered(unsigned row, char *into)
{
    sprintf(into, "%u", row * 7919 % 100003);
}

TEST(test_types)
{
    expect_type("x", real, DROVE_COLUMN_NUMBER);
    expect_type("x", comma_real, DROVE_COLUMN_NUMBER);
    expect_type("x", small, DROVE_COLUMN_NUMBER);
    expect_type("x", scattered, DROVE_COLUMN_NUMBER);
    expect_type("zip", small, DROVE_COLUMN_CATEGORY);
    expect_type("homeZip", small, DROVE_COLUMN_CATEGORY);
    expect_type("x", padded, DROVE_COLUMN_CATEGORY);
    expect_type("x", bit, DROVE_COLUMN_BOOLEAN);
    expect_type("x", bit_or_missing, DROVE_COLUMN_BOOLEAN);
    expect_type("x", yes_no, DROVE_COLUMN_BOOLEAN);
    expect_type("x", true_false, DROVE_COLUMN_BOOLEAN);
    expect_type("x", mixed_pair, DROVE_COLUMN_CATEGORY);
    expect_type("x", date, DROVE_COLUMN_DATE);
    expect_type("x", time_of_day, DROVE_COLUMN_DATE);
    expect_type("x", word, DROVE_COLUMN_CATEGORY);
    expect_type("x", many_words, DROVE_COLUMN_CATEGORY);
    expect_type("x", all_different, DROVE_COLUMN_ID);
    expect_type("x", nearly_different, DROVE_COLUMN_ID);
    expect_type("x", often_different, DROVE_COLUMN_CATEGORY);
    expect_type("x", consecutive, DROVE_COLUMN_ID);
    expect_type("x", consecutive_but_first, DROVE_COLUMN_NUMBER);
    expect_type("x", year, DROVE_COLUMN_NUMBER);
    expect_type("row.names", scattered, DROVE_COLUMN_ID);
    expect_type("id", scattered, DROVE_COLUMN_ID);
    expect_type("shop_id", small, DROVE_COLUMN_CATEGORY);
    expect_type("valid", scattered, DROVE_COLUMN_NUMBER); /* "id" is no word of it */
    expect_type("x", constant, DROVE_COLUMN_CONSTANT);
    expect_type("x", constant_number, DROVE_COLUMN_CONSTANT);
    expect_type("x", all_missing, DROVE_COLUMN_CONSTANT);
    expect_type("x", sentence, DROVE_COLUMN_FREE_TEXT);
}

/* 60,000 rows, so that the sample does not see the row that differs. */
static void write_late(const char *odd)
{
    FILE *file = fopen("late", "w");
    assert_non_null(file);
    fputs("x,other,y\n", file);
    for (unsigned row = 0; row < 60000; row++) {
        if (row == 45678) fprintf(file, "%s,1,0\n", odd);
        else fprintf(file, "%u.5,%u,%u\n", row % 50, row % 31, row % 2);
    }
    assert_int_equal(fclose(file), 0);
}

TEST(test_widening)
{
    drove_known_table known;
    drove_table_options opt = options_of("late", "y");
    write_late("unknown");
    learn(&opt, &known);
    assert_int_equal(column_of(&known, "x")->type, DROVE_COLUMN_NUMBER);
    assert_non_null(strstr(known.notes, "1 cell is no number and counts as missing: \"unknown\""));
    assert_non_null(strstr(known.notes, "first in row 45679 (?types=x:text"));
    drove__known_table_fini(&known);
    write_late("2021-05-01"); /* no word: the column is mixed */
    learn(&opt, &known);
    assert_int_equal(column_of(&known, "x")->type, DROVE_COLUMN_CATEGORY);
    assert_int_equal(column_of(&known, "x")->n_values, 51);
    assert_non_null(strstr(known.notes, "row 45679 holds no number"));
    drove__known_table_fini(&known);
    opt.types = "x:number";
    learn(&opt, &known);
    assert_int_equal(column_of(&known, "x")->type, DROVE_COLUMN_NUMBER);
    assert_int_equal(column_of(&known, "x")->n_missing, 1);
    assert_true(column_of(&known, "x")->has_missing && column_of(&known, "x")->fill == 24.5f);
    assert_non_null(strstr(known.notes, "1 cells are no number"));
    drove__known_table_fini(&known);
    opt.types = NULL;
    write_late("inf"); /* as good as missing */
    learn(&opt, &known);
    assert_int_equal(column_of(&known, "x")->type, DROVE_COLUMN_NUMBER);
    assert_int_equal(column_of(&known, "x")->n_missing, 1);
    assert_non_null(strstr(known.notes, "1 cell is infinite or beyond 3.4e38"));
    drove__known_table_fini(&known);
    write_late("");
    learn(&opt, &known);
    assert_true(column_of(&known, "x")->has_missing);
    drove__known_table_fini(&known);
    assert_int_equal(remove("late"), 0);
}

TEST(test_options)
{
    drove_known_table known;
    drove_table_options opt = options_of("opt", "sex");
    write_text("opt",
               "name,age,a+b,sex,note\nann,31,1,f,one two\nbob,4,2,m,two\ncal,7,3,f,three\n");
    opt.types = "age:category+name:text";
    opt.text = "note";
    opt.hash = 16;
    learn(&opt, &known);
    assert_int_equal(column_of(&known, "age")->type, DROVE_COLUMN_CATEGORY);
    assert_int_equal(column_of(&known, "name")->type, DROVE_COLUMN_TEXT);
    assert_int_equal(column_of(&known, "note")->n_features, 16);
    assert_int_equal(column_of(&known, "a+b")->type, DROVE_COLUMN_NUMBER);
    drove__known_table_fini(&known);
    opt = options_of("opt", "a+b"); /* one name, not two */
    opt.columns = "age+5";
    learn(&opt, &known);
    assert_int_equal(known.n_labels, 1);
    assert_int_equal(column_of(&known, "sex")->type, DROVE_COLUMN_IGNORED);
    assert_int_equal(column_of(&known, "note")->type, DROVE_COLUMN_CATEGORY);
    assert_int_equal(column_of(&known, "age")->type, DROVE_COLUMN_NUMBER);
    drove__known_table_fini(&known);
    opt = options_of("opt", "4");
    opt.ignore = "note";
    learn(&opt, &known);
    assert_int_equal(column_of(&known, "sex")->type, DROVE_COLUMN_LABEL);
    assert_int_equal(column_of(&known, "note")->type, DROVE_COLUMN_IGNORED);
    drove__known_table_fini(&known);
}

TEST(test_wrong_options)
{
    write_text("opt", "name,age,sex\nann,31,f\nbob,4,m\n");
    drove_table_options opt = options_of("opt", "sexx");
    expect_refusal(&opt, DROVE_E_ARG, "label: opt has no column \"sexx\"; did you mean \"sex\"",
                   NULL);
    opt.label = "17";
    expect_refusal(&opt, DROVE_E_ARG, "1 to 3", "\"17\"", NULL);
    opt.label = "sex+sex";
    expect_refusal(&opt, DROVE_E_ARG, "twice", NULL);
    opt = options_of("opt", "sex");
    opt.ignore = "height";
    expect_refusal(&opt, DROVE_E_ARG, "ignore: expected a column of opt", NULL);
    opt = options_of("opt", "sex");
    opt.types = "age:colour";
    expect_refusal(&opt, DROVE_E_ARG, "types: expected COLUMN:", "age:colour", NULL);
    opt.types = "age";
    expect_refusal(&opt, DROVE_E_ARG, "types: expected COLUMN:", NULL);
    opt = options_of("opt", "sex");
    opt.ignore = "name+age";
    expect_refusal(&opt, DROVE_E_DATA, "column to learn from", NULL);
}

/* Names that hold the characters of lists and specs. */
TEST(test_odd_names)
{
    static const char *const names[] = {"a+b", "c,d", "e:f", "R&D", "5%", "g?h=i", "a"};
    enum { NAMES = sizeof names / sizeof *names };
    drove_known_table known;
    write_text("odd", "a+b,\"c,d\",e:f,R&D,5%,g?h=i,a,y\n1,2,3,4,5,6,7,0\n3,4,6,1,2,8,9,1\n"
                      "4,5,1,2,9,3,4,1\n");
    for (unsigned i = 0; i < NAMES; i++) {
        char types[64];
        drove_table_options opt = options_of("odd", "y");
        opt.ignore = names[i];
        learn(&opt, &known);
        assert_int_equal(column_of(&known, names[i])->type, DROVE_COLUMN_IGNORED);
        assert_int_equal(known.schema->n_features, NAMES - 1);
        drove__known_table_fini(&known);
        opt = options_of("odd", names[i]);
        snprintf(types, sizeof types, "y:category+%s:category", names[(i + 1) % NAMES]);
        opt.types = types;
        learn(&opt, &known);
        assert_int_equal(column_of(&known, names[i])->type, DROVE_COLUMN_LABEL);
        assert_int_equal(column_of(&known, names[(i + 1) % NAMES])->type, DROVE_COLUMN_CATEGORY);
        assert_int_equal(column_of(&known, "y")->type, DROVE_COLUMN_CATEGORY);
        drove__known_table_fini(&known);
    }
    drove_table_options opt = options_of("odd", "y");
    opt.columns = "a+a+b+c,d,e:f";
    learn(&opt, &known);
    assert_int_equal(known.schema->n_features, 4);
    drove__known_table_fini(&known);
    assert_int_equal(remove("odd"), 0);
}

/* Times and durations as labels: seconds where there are many, unless classes are asked for. */
TEST(test_clock_labels)
{
    static const struct {
        unsigned n_different;
        bool has_classes, is_number;
        const char *remark;
    } cases[] = {
        {180, false, true, "label \"took\": times or durations are read as seconds"},
        {180, true, false, ""},
        {3, false, false, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        drove_known_table known;
        drove_table_options opt = options_of("column", "took");
        opt.has_classes = cases[i].has_classes;
        FILE *file = fopen("column", "w");
        assert_non_null(file);
        fputs("x,took\n", file);
        for (unsigned row = 0; row < 200; row++) {
            const unsigned value = row * 7919 % cases[i].n_different;
            fprintf(file, "%u.5,%u:%02u:30\n", row * 31 % 97, value / 60, value % 60);
        }
        fputs("1.5,DNF\n", file);
        assert_int_equal(fclose(file), 0);
        learn(&opt, &known);
        assert_int_equal(known.label_is_number, cases[i].is_number);
        if (strstr(known.notes, cases[i].remark) == NULL) fail_msg("%s", known.notes);
        assert_int_equal(known.schema->n_rows, cases[i].is_number ? 200 : 201);
        drove__known_table_fini(&known);
    }
}

/* Years, dates and numbers of columns as names. */
TEST(test_headers_with_numbers)
{
    static const struct {
        const char *first, *row; /* %u: the row's number */
        const char *name;        /* of the second column; NULL: no header */
    } cases[] = {
        {"town,2019,2020,y", "t%u,0.5,7.25,3.5", "2019"},
        {"town,2020,2019,y", "t%u,0.5,7.25,3.5", "2020"},
        {"n,2020-01-01,2020-02-01,y", "%u,0.5,7.25,3.5", "2020-01-01"},
        {",0,1,2,y", "7,%u,4,255,3.5", "0"},
        {"0,1,2,3", "%u,0.5,7.25,3.5", "1"},
        {"red,2019,2020,1", "red,20%u,2015,3.5", NULL},
        {"red,2019,350,1", "red,1%u,350,3.5", NULL},
        {"red,2020-01-01,1,3.5", "red,2020-02-%u,1,3.5", NULL},
        {"0,1,2,3", "0,%u,2,5", NULL},
        {"0,1,2", "%u,0.5,7.25", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        drove_known_table known;
        drove_table_options opt = options_of("column", "last");
        FILE *file = fopen("column", "w");
        assert_non_null(file);
        fprintf(file, "%s\n", cases[i].first);
        for (unsigned row = 0; row < 18; row++) {
            const char *at = strstr(cases[i].row, "%u");
            fprintf(file, "%.*s%u%s\n", (int)(at - cases[i].row), cases[i].row, 10 + row, at + 2);
        }
        assert_int_equal(fclose(file), 0);
        learn(&opt, &known);
        const char *expected = cases[i].name != NULL ? cases[i].name : "column2";
        if (strcmp(known.table.name[1], expected) != 0)
            fail_msg("%s: %s", cases[i].first, known.table.name[1]);
        drove__known_table_fini(&known);
    }
}

static void address(unsigned row, char *into)
{
    sprintf(into, "192.168.%u.%u", 100 + row * 31 % 97, 101 + row * 7 % 101);
}
static void grouped_by_points(unsigned row, char *into)
{
    sprintf(into, "%u.%03u.%03u", 1 + row % 9, 100 + row * 31 % 897, row * 7 % 1000);
}
static void of_fortran(unsigned row, char *into)
{
    sprintf(into, "%u.%04uD%c%02u", row % 9, row * 31 % 9973, row % 2 == 0 ? '+' : '-', row % 20);
}

TEST(test_numbers_with_points)
{
    expect_type("from", address, DROVE_COLUMN_ID);
    expect_type("sum", grouped_by_points, DROVE_COLUMN_NUMBER);
    expect_type("mass", of_fortran, DROVE_COLUMN_NUMBER);
}

/* Messages with a label, and nothing else: their words are all that says anything.  Every third row
 * has no label and does not count. */
TEST(test_words_alone)
{
    static const char *const word[] = {"late", "ship", "now", "never", "order", "thanks", "again"};
    drove_known_table known;
    drove_encoded x;
    drove_table_options opt = options_of("words", "y");
    FILE *file = fopen("words", "w");
    assert_non_null(file);
    fputs("note,text,y\n", file);
    for (unsigned row = 0; row < ROWS; row++)
        fprintf(file, "n%u,%s %s %s w%u,%s\n", row, word[row % 7], word[row / 7 % 7],
                word[row / 49 % 7], row % 211,
                row % 3 == 0   ? ""
                : row % 2 == 0 ? "yes"
                               : "no");
    assert_int_equal(fclose(file), 0);
    learn(&opt, &known);
    assert_int_equal(column_of(&known, "note")->type, DROVE_COLUMN_ID);
    assert_int_equal(column_of(&known, "text")->type, DROVE_COLUMN_TEXT);
    assert_non_null(strstr(known.notes, "column \"text\": its words are used"));
    assert_int_equal(drove__table_encode(&known, NULL, known.table.n_rows, &x), DROVE_OK);
    assert_true(known.schema->is_sparse);
    for (unsigned row = 0; row < known.table.n_rows; row++) /* words may be alike, or collide */
        assert_in_range(x.row_start[row + 1] - x.row_start[row], row % 3 == 0 ? 0 : 1, 4);
    free(x.row_start);
    free(x.index);
    free(x.value);
    drove__known_table_fini(&known);
}

/* R's write.table: the header has no cell for the names of rows. */
TEST(test_row_names)
{
    drove_known_table known;
    drove_table_options opt = options_of("r", "y");
    write_text("r", "x y\n\"a\" 1 2\n\"b\" 3 4\n");
    learn(&opt, &known);
    assert_int_equal(known.table.n_columns, 3);
    assert_int_equal(column_of(&known, "row names")->type, DROVE_COLUMN_ID);
    assert_int_equal(column_of(&known, "x")->type, DROVE_COLUMN_NUMBER);
    drove__known_table_fini(&known);
}

TEST(test_wide)
{
    enum { COLUMNS = 10000 };
    drove_known_table known;
    drove_table_options opt = options_of("wide", NULL);
    FILE *file = fopen("wide", "w");
    assert_non_null(file);
    for (unsigned row = 0; row < 4; row++) {
        for (unsigned i = 0; i < COLUMNS; i++) {
            if (row == 0) fprintf(file, "%sc%u", i > 0 ? "," : "", i);
            else fprintf(file, "%s%u", i > 0 ? "," : "", row * (i + 3) % 11 + row);
        }
        fputc('\n', file);
    }
    assert_int_equal(fclose(file), 0);
    learn(&opt, &known);
    assert_int_equal(known.schema->n_columns, COLUMNS);
    assert_int_equal(known.table.n_rows, 3);
    drove__known_table_fini(&known);
    assert_int_equal(remove("wide"), 0);
}

/* A first column without a name, as R and pandas write it, in an order of its own. */
TEST(test_unnamed)
{
    drove_known_table known;
    drove_table_options opt = options_of("unnamed", "y");
    FILE *file = fopen("unnamed", "w");
    assert_non_null(file);
    fputs("\"\",\"x\",\"\",\"y\"\n", file);
    for (unsigned row = 0; row < ROWS; row++)
        fprintf(file, "\"%u\",%u,%u,%u\n", row * 7919 % 997, row % 7, row * 31 % 997, row % 2);
    assert_int_equal(fclose(file), 0);
    learn(&opt, &known);
    assert_int_equal(column_of(&known, "column1")->type, DROVE_COLUMN_ID);
    assert_int_equal(column_of(&known, "column3")->type, DROVE_COLUMN_NUMBER);
    drove__known_table_fini(&known);
}
