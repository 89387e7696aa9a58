/* A frame as a table: the same words, schema and features as a file with the same cells; what a
 * file cannot say. */
#include "support.h"

#include "base/mem.h"
#include "table/frame.h"
#include "table/raw.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- frames from the cells of a file, and back ---- */

static drove_frame *make_frame(size_t n_columns, size_t n_rows)
{
    drove_frame *frame;
    assert_ok(drove__frame_create(n_columns, &frame));
    frame->n_rows = n_rows;
    return frame;
}

static drove_frame_column *make_column(drove_frame *frame, size_t i, const char *name,
                                       drove_frame_type type)
{
    drove_frame_column *c = &frame->column[i];
    c->name = strdup(name);
    c->type = type;
    assert_ok(drove__frame_reserve(c, frame->n_rows));
    return c;
}

static void set_text(drove_frame_column *c, size_t row, const char *text)
{
    assert_ok(drove__frame_intern(c, text, strlen(text), &c->raw[row]));
}

static void set_number(drove_frame_column *c, size_t row, float value)
{
    c->raw[row] = drove__raw_of_float(value);
}

static void write_frame(const drove_frame *frame, const char *path)
{
    char text[DROVE_FRAME_PRINT_SIZE];
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (size_t i = 0; i < frame->n_columns; i++)
        fprintf(file, "%s%s", i > 0 ? "," : "", frame->column[i].name);
    for (size_t row = 0; row < frame->n_rows; row++) {
        for (size_t i = 0; i < frame->n_columns; i++) {
            const drove_frame_column *c = &frame->column[i];
            fputs(i > 0 ? "," : "\n", file);
            if (drove__frame_is_text(c)) {
                const drove_cell cell = drove__frame_cell(c, row);
                if (cell.length > 0) fprintf(file, "\"%.*s\"", (int)cell.length, cell.text);
            } else if (drove__frame_print(c, row, text) > 0) {
                fputs(text, file);
            }
        }
    }
    fputs("\n", file);
    assert_int_equal(fclose(file), 0);
}

/* ---- equal tables ---- */

static void expect_labels(const drove_table *a, const drove_table *b)
{
    assert_int_equal(a->n_labels, b->n_labels);
    for (size_t i = 0; i < a->n_rows * a->n_labels; i++) {
        assert_int_equal(a->label[i].length, b->label[i].length);
        assert_memory_equal(a->label[i].text, b->label[i].text, a->label[i].length);
    }
}

static void free_encoded(drove_encoded *x)
{
    drove__free(x->x);
    free(x->row_start);
    free(x->index);
    free(x->value);
}

static void expect_features(drove_known_table *a, drove_known_table *b)
{
    drove_encoded x, y;
    const size_t n_rows = a->table.n_rows, n = n_rows * a->schema->n_features;
    assert_ok(drove__table_encode(a, NULL, n_rows, &x));
    assert_ok(drove__table_encode(b, NULL, n_rows, &y));
    assert_int_equal(x.x == NULL, y.x == NULL);
    if (x.x != NULL) {
        assert_memory_equal(x.x, y.x, n * sizeof *x.x);
    } else {
        const size_t n_stored = (size_t)x.row_start[n_rows];
        assert_memory_equal(x.row_start, y.row_start, (n_rows + 1) * sizeof *x.row_start);
        assert_memory_equal(x.index, y.index, n_stored * sizeof *x.index);
        assert_memory_equal(x.value, y.value, n_stored * sizeof *x.value);
    }
    free_encoded(&x);
    free_encoded(&y);
}

/* The slots of both tables hold the same words, NaN included. */
static void expect_words(const drove_table *a, const drove_table *b)
{
    assert_int_equal(a->n_rows, b->n_rows);
    assert_int_equal(a->n_slots, b->n_slots);
    for (size_t i = 0; i < a->n_rows * a->n_slots; i++) {
        const size_t row = i / a->n_slots, slot = i % a->n_slots;
        assert_int_equal(a->wide[slot] != NULL, b->wide[slot] != NULL);
        if (a->wide[slot] != NULL) {
            const double v = a->wide[slot][row], w = b->wide[slot][row];
            if (v != w && !(isnan(v) && isnan(w)))
                fail_msg("row %zu, slot %zu: %.17g and %.17g", row, slot, v, w);
            continue;
        }
        const float x = drove__raw_float(a->raw[i]), y = drove__raw_float(b->raw[i]);
        if (a->raw[i] != b->raw[i] && !(isnan(x) && isnan(y)))
            fail_msg("row %zu, slot %zu: %08" PRIx32 " and %08" PRIx32, i / a->n_slots,
                     i % a->n_slots, a->raw[i], b->raw[i]);
    }
}

/* Releases the frame. */
static void expect_same(drove_frame *frame, drove_table_options opt)
{
    drove_known_table of_frame, of_file, frame_again, file_again;
    write_frame(frame, "same.csv");
    opt.path = frame->name;
    learn(&opt, &of_frame);
    drove_table_options of_text = opt;
    of_text.path = "same.csv";
    learn(&of_text, &of_file);
    char *of_a, *of_b;
    assert_ok(drove__schema_to_json(of_frame.schema, &of_a));
    assert_ok(drove__schema_to_json(of_file.schema, &of_b));
    assert_string_equal(of_a, of_b);
    free(of_a);
    free(of_b);
    expect_words(&of_frame.table, &of_file.table);
    expect_labels(&of_frame.table, &of_file.table);
    assert_string_equal(of_frame.notes, of_file.notes);
    assert_ok(
        drove__table_match(&opt, of_file.schema, true, &frame_again)); /* by a file's schema */
    assert_ok(drove__table_match(&of_text, of_frame.schema, true, &file_again));
    expect_words(&frame_again.table, &file_again.table);
    expect_labels(&frame_again.table, &file_again.table);
    assert_string_equal(frame_again.notes, file_again.notes);
    expect_features(&of_frame, &of_file);
    drove__known_table_fini(&of_frame);
    drove__known_table_fini(&of_file);
    drove__known_table_fini(&frame_again);
    drove__known_table_fini(&file_again);
    drove__frame_release(frame);
}

enum { N = 200 };

static void fill_number(drove_frame_column *c, size_t row)
{
    set_number(c, row, row % 7 == 0 ? NAN : 0.37f * (float)row - 20);
}

static void fill_integer(drove_frame_column *c, size_t row)
{
    c->integer[row] = row % 11 == 0 ? DROVE_FRAME_NO_INTEGER : (int64_t)(row * row % 91) - 40;
}

static void fill_boolean(drove_frame_column *c, size_t row)
{
    set_number(c, row, row % 13 == 0 ? NAN : row % 3 == 0 ? 1.0f : 0.0f);
}

static void fill_date(drove_frame_column *c, size_t row)
{
    c->integer[row] = row % 17 == 0 ? DROVE_FRAME_NO_INTEGER : ((int64_t)row * 69 - 6250) * 86400;
}

static void fill_time(drove_frame_column *c, size_t row)
{
    c->has_time = true;
    c->integer[row] = (int64_t)row * 6000427 - 540000000;
}

static void fill_town(drove_frame_column *c, size_t row)
{
    static const char *const towns[] = {"Oslo", "Bonn", "", "Roma, Italia", "Å"};
    set_text(c, row, towns[row * row % 5]);
}

static void fill_code(drove_frame_column *c, size_t row)
{
    c->integer[row] = (int64_t)(row % 5);
}

static void fill_words(drove_frame_column *c, size_t row)
{
    char text[32];
    snprintf(text, sizeof text, row % 60 == 1 ? "unknown" : "%zu.5", row);
    set_text(c, row, text);
}

static void fill_class(drove_frame_column *c, size_t row)
{
    set_text(c, row, row % 19 == 0 ? "" : row % 3 == 1 ? "yes" : "no");
}

typedef struct column_case {
    const char *name;
    drove_frame_type type;
    void (*fill)(drove_frame_column *c, size_t row);
} column_case;

static const column_case cases[] = {
    {"weight", DROVE_FRAME_NUMBER, fill_number},   {"count", DROVE_FRAME_INTEGER, fill_integer},
    {"is_old", DROVE_FRAME_BOOLEAN, fill_boolean}, {"born", DROVE_FRAME_DATE, fill_date},
    {"seen", DROVE_FRAME_DATE, fill_time},         {"town", DROVE_FRAME_TEXT, fill_town},
    {"place", DROVE_FRAME_CATEGORY, fill_town},    {"zip", DROVE_FRAME_INTEGER, fill_code},
    {"length", DROVE_FRAME_TEXT, fill_words},      {"alive", DROVE_FRAME_TEXT, fill_class}};
enum { N_CASES = sizeof cases / sizeof *cases };

static drove_frame *make_people(void)
{
    drove_frame *frame = make_frame(N_CASES, N);
    for (size_t i = 0; i < N_CASES; i++) {
        drove_frame_column *c = make_column(frame, i, cases[i].name, cases[i].type);
        for (size_t row = 0; row < N; row++) cases[i].fill(c, row);
    }
    return frame;
}

TEST(a_frame_is_read_as_its_file)
{
    drove_table_options opt = options_of(NULL, "alive");
    expect_same(make_people(), opt);
    opt.bins = 4;
    expect_same(make_people(), opt);
    opt.label = "weight";
    expect_same(make_people(), opt);
    opt.label = "weight+count";
    opt.weights = NULL;
    expect_same(make_people(), opt);
}

/* Typed columns that are read as other types go by their texts. */
TEST(options_hold_for_typed_columns)
{
    drove_table_options opt = options_of(NULL, "alive");
    opt.types = "weight:category+count:boolean+seen:category+zip:number+born:date";
    opt.ignore = "place";
    expect_same(make_people(), opt);
    opt.types = "count:category+weight:date"; /* all dates are missing */
    opt.columns = "count,weight,seen,length";
    opt.ignore = NULL;
    expect_same(make_people(), opt);
    opt = options_of(NULL, "is_old");
    opt.text = "seen+town+count";
    opt.weights = "zip";
    expect_same(make_people(), opt);
}

/* More rows than a sample has, and many blocks. */
TEST(many_rows)
{
    enum { MANY = 150001 };
    drove_frame *frame = make_frame(3, MANY);
    drove_frame_column *x = make_column(frame, 0, "x", DROVE_FRAME_NUMBER);
    drove_frame_column *town = make_column(frame, 1, "town", DROVE_FRAME_TEXT);
    drove_frame_column *y = make_column(frame, 2, "y", DROVE_FRAME_INTEGER);
    for (size_t row = 0; row < MANY; row++) {
        set_number(x, row, row == MANY - 1 ? NAN : (float)(row % 1000) / 8);
        fill_town(town, row);
        y->integer[row] = (int64_t)(row % 4);
    }
    expect_same(frame, options_of(NULL, "y"));
}

/* ---- what a file cannot say ---- */

TEST(types_are_not_guessed)
{
    drove_frame *frame = make_frame(6, N);
    drove_frame_column *c[6];
    static const drove_frame_type types[] = {DROVE_FRAME_CATEGORY, DROVE_FRAME_CATEGORY,
                                             DROVE_FRAME_NUMBER,   DROVE_FRAME_TEXT,
                                             DROVE_FRAME_BOOLEAN,  DROVE_FRAME_CATEGORY};
    static const char *const names[] = {"class", "each", "code", "country", "flag", "y"};
    for (size_t i = 0; i < 6; i++) c[i] = make_column(frame, i, names[i], types[i]);
    for (size_t row = 0; row < N; row++) {
        char text[16];
        snprintf(text, sizeof text, "%zu", row % 2);
        set_text(c[0], row, text);
        snprintf(text, sizeof text, "2024-01-%zu %zu", row % 9, row);
        set_text(c[1], row, text);
        set_number(c[2], row, (float)(row % 3));
        set_text(c[3], row, row % 2 == 0 ? "NA" : row % 3 == 0 ? "-" : row % 5 == 0 ? "" : "null");
        set_number(c[4], row, row % 2 == 0 ? NAN : 1.0f);
        set_text(c[5], row, row % 3 == 0 ? "NA" : row % 3 == 1 ? "None" : "7");
    }
    drove_known_table known;
    drove_table_options opt = options_of(frame->name, "y");
    learn(&opt, &known);
    assert_int_equal(column_of(&known, "class")->type, DROVE_COLUMN_CATEGORY); /* not a boolean */
    assert_int_equal(column_of(&known, "class")->n_values, 2);
    assert_int_equal(column_of(&known, "each")->type, DROVE_COLUMN_CATEGORY); /* not an id */
    assert_int_equal(column_of(&known, "each")->n_values, N);
    assert_int_equal(column_of(&known, "code")->type, DROVE_COLUMN_NUMBER);
    assert_int_equal(column_of(&known, "country")->type, DROVE_COLUMN_CATEGORY);
    assert_int_equal(column_of(&known, "country")->n_values, 3); /* NA, - and null are texts */
    assert_int_equal(column_of(&known, "country")->n_missing, 13);
    assert_int_equal(column_of(&known, "flag")->type, DROVE_COLUMN_BOOLEAN);
    for (size_t row = 0; row < N; row++) assert_true(known.table.label[row].length > 0);
    drove__known_table_fini(&known);
    drove__frame_release(frame);
}

/* Among numbers a word that stands for a missing cell in a file does so in a frame, too. */
TEST(words_among_numbers)
{
    drove_frame *frame = make_frame(2, N);
    drove_frame_column *x = make_column(frame, 0, "x", DROVE_FRAME_TEXT);
    drove_frame_column *y = make_column(frame, 1, "y", DROVE_FRAME_BOOLEAN);
    for (size_t row = 0; row < N; row++) {
        char text[16];
        snprintf(text, sizeof text, row % 2 == 0 ? "NA" : "%zu", row * row);
        set_text(x, row, text);
        set_number(y, row, row % 3 == 0);
    }
    expect_same(frame, options_of(NULL, "y"));
}

TEST(infinite_numbers_are_counted)
{
    drove_frame *frame = make_frame(2, 3);
    drove_frame_column *x = make_column(frame, 0, "x", DROVE_FRAME_NUMBER);
    drove_frame_column *y = make_column(frame, 1, "y", DROVE_FRAME_NUMBER);
    for (size_t row = 0; row < 3; row++) {
        set_number(x, row, row == 1 ? -INFINITY : (float)row);
        set_number(y, row, (float)row);
    }
    expect_same(frame, options_of(NULL, "y"));
}

TEST(tables_without_rows_are_refused)
{
    for (size_t n_columns = 0; n_columns < 2; n_columns++) {
        drove_frame *frame = make_frame(n_columns, 0);
        if (n_columns > 0) make_column(frame, 0, "x", DROVE_FRAME_NUMBER);
        drove_table_options opt = options_of(frame->name, NULL);
        expect_refusal(&opt, DROVE_E_DATA, "memory:", "0 rows", NULL);
        drove__frame_release(frame);
    }
    drove_table_options gone = options_of("memory:999999", NULL);
    expect_refusal(&gone, DROVE_E_FILE, "memory:999999", NULL);
}
