/* export/onnx_table.c - the columns of a table as inputs of ONNX, and the nodes that make the
 * features of table/schema.h of them: the same numbers as table/encode.c, bit for bit.
 *
 *   number    float, or double where a float would lose its digits; NaN and infinite: missing
 *   boolean   string, as in the table
 *   date      double, days since 1970-01-01; NaN: missing
 *   category  string, as in the table; one that the training data do not have: missing
 *   hashed    the same, by a node of ONNX Runtime's own: ONNX has no hash
 *   text      refused: ONNX cannot divide it into words
 *
 * Numbers of dates are doubles in which all results are whole and exact.
 */
#include "export/export.h"

#include "base/mem.h"
#include "table/cell.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct columns {
    drove_onnx *g;
    const char **value; /* [n] parts of the features, in their order */
    size_t n;
} columns;

static void put(columns *c, const char *value)
{
    if (!c->g->is_starved) c->value[c->n++] = value;
}

/* ---- arithmetic ---- */

static const char *op(drove_onnx *g, const char *name, const char *a, const char *b)
{
    return drove__onnx_node(g, name, a, b, NULL);
}

static const char *with(drove_onnx *g, const char *name, const char *a, double b)
{
    return op(g, name, a, drove__onnx_double(g, b));
}

/* floor(a / b) of whole numbers in doubles */
static const char *quotient(drove_onnx *g, const char *a, double b)
{
    return op(g, "Floor", with(g, "Div", a, b), NULL);
}

/* a - b * q */
static const char *rest(drove_onnx *g, const char *a, const char *q, double b)
{
    return op(g, "Sub", a, with(g, "Mul", q, b));
}

static const char *as_float(drove_onnx *g, const char *a)
{
    return drove__onnx_cast(g, a, DROVE_ONNX_FLOAT);
}

/* ---- numbers ---- */

static void put_number(columns *to, const drove_column *c, const char *raw)
{
    drove_onnx *g = to->g;
    const char *missing = op(g, "Or", op(g, "IsNaN", raw, NULL), op(g, "IsInf", raw, NULL));
    const char *fill =
        c->is_wide ? drove__onnx_double(g, c->fill) : drove__onnx_float(g, (float)c->fill);
    const char *x = drove__onnx_node(g, "Where", missing, fill, raw);
    const char *wide = c->is_wide                        ? x
                       : c->centre != 0 || c->bins.n > 0 ? drove__onnx_cast(g, x, DROVE_ONNX_DOUBLE)
                                                         : NULL;
    put(to, c->centre != 0 ? as_float(g, with(g, "Sub", wide, c->centre)) : x);
    if (c->bins.n > 0) {
        double low[DROVE_BINS_MOST], width[DROVE_BINS_MOST];
        for (size_t i = 0; i < c->bins.n; i++) {
            low[i] = c->bins.edge[i];
            width[i] = c->bins.edge[i + 1] - low[i];
        }
        const char *from = op(g, "Sub", wide, drove__onnx_doubles(g, low, c->bins.n));
        const char *part = op(g, "Div", from, drove__onnx_doubles(g, width, c->bins.n));
        const char *clipped =
            drove__onnx_node(g, "Clip", part, drove__onnx_double(g, 0), drove__onnx_double(g, 1));
        put(to, as_float(g, clipped));
    }
    if (c->levels.n > 0) { /* the column beside all levels: [N][n_levels] */
        const size_t n = c->levels.n;
        float *level = drove__onnx_take(g, n, sizeof *level);
        for (size_t i = 0; level != NULL && i < n; i++) level[i] = (float)c->levels.value[i];
        put(to, as_float(g, op(g, "Equal", raw,
                               c->is_wide      ? drove__onnx_doubles(g, c->levels.value, n)
                               : level != NULL ? drove__onnx_floats(g, level, &n, 1)
                                               : "")));
    }
    if (c->has_missing) put(to, as_float(g, missing));
}

/* ---- dates ---- */

/* Sine and cosine of each place of a cycle: [period][2], by the same functions as in the table. */
static const char *cycle(drove_onnx *g, const char *at, size_t period)
{
    const size_t dims[] = {period, 2};
    float *both = drove__onnx_take(g, 2 * period, sizeof *both);
    for (size_t i = 0; both != NULL && i < period; i++) {
        double angle = 2 * 3.14159265358979323846 * (double)i / (double)period;
        both[2 * i] = (float)sin(angle);
        both[2 * i + 1] = (float)cos(angle);
    }
    const int64_t minus_1 = -1;
    const size_t one = 1;
    const char *index = op(g, "Reshape", drove__onnx_cast(g, at, DROVE_ONNX_INT64),
                           drove__onnx_ints(g, &minus_1, &one, 1));
    return op(g, "Gather", drove__onnx_floats(g, both, dims, 2), index);
}

static void put_date(columns *to, const drove_column *c, const char *raw)
{
    static const double a_moment = 1.0 / 1024; /* of a second: more than a day's rounding */
    static const double most_days = DROVE_SECONDS_MOST / 86400;
    drove_onnx *g = to->g;
    const char *is_there = with(g, "LessOrEqual", op(g, "Abs", raw, NULL), most_days);
    const char *missing = op(g, "Not", is_there, NULL);
    const char *seconds = with(g, "Add", with(g, "Mul", raw, 86400), a_moment);
    seconds = drove__onnx_node(g, "Where", missing, drove__onnx_double(g, c->fill),
                               op(g, "Floor", seconds, NULL));
    const char *days = quotient(g, seconds, 86400);
    put(to, as_float(g, with(g, "Sub", with(g, "Div", seconds, 86400), c->centre)));

    /* The calendar of table/cell.c: years begin in March, 400 years are 146097 days. */
    const char *z = with(g, "Add", days, 719468);
    const char *era = quotient(g, z, 146097);
    const char *of_era = rest(g, z, era, 146097);
    const char *leaps = op(g, "Sub", quotient(g, of_era, 36524), quotient(g, of_era, 1460));
    leaps = op(g, "Sub", leaps, quotient(g, of_era, 146096));
    const char *of_400 = quotient(g, op(g, "Add", of_era, leaps), 365);
    const char *before = op(g, "Sub", quotient(g, of_400, 4), quotient(g, of_400, 100));
    const char *of_year = op(g, "Sub", rest(g, of_era, of_400, 365), before);
    const char *month = quotient(g, with(g, "Add", with(g, "Mul", of_year, 5), 2), 153);
    const char *first = quotient(g, with(g, "Add", with(g, "Mul", month, 153), 2), 5);
    const char *day = op(g, "Sub", of_year, first);
    const char *is_next =
        drove__onnx_cast(g, drove__onnx_node(g, "Greater", month, drove__onnx_double(g, 9.5), NULL),
                         DROVE_ONNX_DOUBLE); /* January and February */
    const char *calendar = with(g, "Add", rest(g, month, is_next, 12), 2); /* 0 = January */
    const char *year = op(g, "Add", op(g, "Add", of_400, with(g, "Mul", era, 400)), is_next);
    const char *thursday = with(g, "Add", days, 3);
    const char *weekday = rest(g, thursday, quotient(g, thursday, 7), 7);
    const double centre = drove__year_centre(c);
    put(to, as_float(g, with(g, "Sub", year, centre)));
    put(to, cycle(g, calendar, 12));
    put(to, cycle(g, day, 31));
    put(to, cycle(g, weekday, 7));
    if (c->has_time) put(to, cycle(g, quotient(g, rest(g, seconds, days, 86400), 3600), 24));
    if (c->has_missing) put(to, as_float(g, missing));
}

/* ---- texts ---- */

typedef struct word_list {
    const char **word;
    int64_t *place;
    size_t n;
} word_list;

static void list_word(word_list *list, const char *word, size_t place)
{
    list->place[list->n] = (int64_t)place;
    list->word[list->n++] = word;
}

static word_list new_list(drove_onnx *g, size_t most)
{
    return (word_list){.word = drove__onnx_take(g, most, sizeof(char *)),
                       .place = drove__onnx_take(g, most, sizeof(int64_t))};
}

/* The place of a text in the list, -1 without one. */
static const char *look_up(drove_onnx *g, const char *text, const word_list *list)
{
    const char *place = op(g, "ai.onnx.ml:LabelEncoder", text, NULL);
    drove__onnx_set_strings(g, "keys_strings", list->word, list->n);
    drove__onnx_set_ints(g, "values_int64s", list->place, list->n);
    drove__onnx_set_int(g, "default_int64", -1);
    return place;
}

static const char *equals(drove_onnx *g, const char *a, int64_t b)
{
    return op(g, "Equal", a, drove__onnx_ints(g, &b, NULL, 0));
}

/* 1 where the place is, else 0: [N][n]. */
static const char *one_hot(drove_onnx *g, const char *place, size_t n)
{
    int64_t *all = drove__onnx_take(g, n, sizeof *all);
    for (size_t i = 0; all != NULL && i < n; i++) all[i] = (int64_t)i;
    return as_float(g, op(g, "Equal", place, all != NULL ? drove__onnx_ints(g, all, &n, 1) : ""));
}

/* Lists the spellings of a word, lower case at first, upwards from letter `at`. */
static void list_cases(drove_onnx *g, word_list *list, char *word, size_t at, size_t place)
{
    if (word[at] == '\0') {
        const char *copy = drove__onnx_print(g, "%s", word);
        if (!g->is_starved) list_word(list, copy, place);
        return;
    }
    list_cases(g, list, word, at + 1, place);
    if (!islower((unsigned char)word[at])) return;
    word[at] = (char)toupper((unsigned char)word[at]);
    list_cases(g, list, word, at + 1, place);
    word[at] = (char)tolower((unsigned char)word[at]);
}

static void put_boolean(columns *to, const drove_column *c, const char *raw)
{
    enum { MOST_SPELLINGS = 128, LONGEST = 8 };
    drove_onnx *g = to->g;
    word_list list = new_list(g, MOST_SPELLINGS);
    for (unsigned value = 0; value < 2; value++) {
        const char *word;
        for (size_t i = 0; (word = drove__cell_boolean_word(value, i)) != NULL; i++) {
            char spelling[LONGEST] = "";
            strncpy(spelling, word, LONGEST - 1);
            list_cases(g, &list, spelling, 0, value);
        }
    }
    const char *place = look_up(g, raw, &list);
    const char *missing = equals(g, place, -1);
    const int64_t fill = c->fill != 0;
    put(to, as_float(g, drove__onnx_node(g, "Where", missing, drove__onnx_ints(g, &fill, NULL, 0),
                                         place)));
    if (c->has_missing) put(to, as_float(g, missing));
}

/* 7 and 7.0 are one value. */
static void put_category(columns *to, const drove_column *c, const char *raw)
{
    drove_onnx *g = to->g;
    word_list list = new_list(g, 2 * c->n_values);
    for (size_t i = 0; i < c->n_values && !g->is_starved; i++) {
        list_word(&list, c->value[i], i);
        if (drove__cell_is_integer(c->value[i], strlen(c->value[i])))
            list_word(&list, drove__onnx_print(g, "%s.0", c->value[i]), i);
    }
    const char *place = look_up(g, raw, &list);
    put(to, one_hot(g, place, c->n_values));
    if (c->has_missing) put(to, as_float(g, equals(g, place, -1)));
}

static void put_hashed(columns *to, const drove_column *c, const char *raw)
{
    drove_onnx *g = to->g;
    size_t n = 0;
    const char *word;
    while (drove__cell_missing_word(n) != NULL) n++;
    word_list list = new_list(g, n);
    for (size_t i = 0; !g->is_starved && (word = drove__cell_missing_word(i)) != NULL; i++)
        list_word(&list, word, 1);
    const char *missing = equals(g, look_up(g, raw, &list), 1);
    const char *hash = op(g, DROVE_ONNX_MICROSOFT ":MurmurHash3", raw, NULL);
    drove__onnx_set_int(g, "positive", 1);
    drove__onnx_set_int(g, "seed", 0);
    const int64_t n_hash = c->n_hash, none = -1;
    const char *place = op(g, "Mod", drove__onnx_cast(g, hash, DROVE_ONNX_INT64),
                           drove__onnx_ints(g, &n_hash, NULL, 0));
    place = drove__onnx_node(g, "Where", missing, drove__onnx_ints(g, &none, NULL, 0), place);
    put(to, one_hot(g, place, c->n_hash));
    if (c->has_missing) put(to, as_float(g, missing));
}

/* ---- columns ---- */

static const struct {
    drove_onnx_type type;
    const char *doc;
    void (*put)(columns *to, const drove_column *c, const char *raw);
} kinds[DROVE_N_COLUMN_TYPES] = {
    [DROVE_COLUMN_NUMBER] = {DROVE_ONNX_FLOAT, "number; NaN: missing", put_number},
    [DROVE_COLUMN_BOOLEAN] = {DROVE_ONNX_STRING, "boolean: true, yes, 1 ...; empty: missing",
                              put_boolean},
    [DROVE_COLUMN_DATE] = {DROVE_ONNX_DOUBLE, "date: days since 1970-01-01; NaN: missing",
                           put_date},
    [DROVE_COLUMN_CATEGORY] = {DROVE_ONNX_STRING, "category; empty: missing", put_category},
    [DROVE_COLUMN_HASHED] = {DROVE_ONNX_STRING, "hashed category; empty: missing; 7, not 7.0",
                             put_hashed},
};

const char *drove__export_column_name(const drove_schema *schema, size_t column, char into[32])
{
    if (schema->column[column].name[0] != '\0') return schema->column[column].name;
    snprintf(into, 32, "column%zu", column + 1);
    return into;
}

drove_status drove__onnx_columns(drove_onnx *g, const drove_schema *schema, const char **features)
{
    enum { MOST_PARTS = 8 }; /* of a column: a date's */
    columns to = {.g = g,
                  .value = drove__onnx_take(g, MOST_PARTS * schema->n_columns, sizeof(char *))};
    for (size_t i = 0; i < schema->n_columns; i++) {
        const drove_column *c = &schema->column[i];
        const size_t dims[] = {0, 1};
        char number[32];
        const char *unit = drove__unit_text(&c->unit);
        const bool is_clock = drove__unit_is_clock(&c->unit);
        if (!drove__column_is_used(c)) continue;
        if (kinds[c->type].put == NULL)
            return drove__fail(DROVE_E_UNSUPPORTED,
                               "column \"%.80s\": a column of %s cannot be exported: ONNX has no "
                               "way to divide a text into words and hash them",
                               c->name, drove__column_type_name(c->type));
        const char *name = drove__onnx_print(g, "%s", drove__export_column_name(schema, i, number));
        const char *doc = drove__onnx_print(g, "%s%s%s%s", kinds[c->type].doc,
                                            is_clock       ? "; in seconds"
                                            : unit != NULL ? "; without its unit, "
                                                           : "",
                                            unit != NULL && !is_clock ? unit : "",
                                            c->type == DROVE_COLUMN_DATE && c->has_time
                                                ? "; the time as a fraction of the day"
                                                : "");
        g->scope = name;
        drove__onnx_input(g, name, c->is_wide ? DROVE_ONNX_DOUBLE : kinds[c->type].type, dims,
                          DROVE_COUNT(dims), doc);
        kinds[c->type].put(&to, c, name);
    }
    if (g->is_starved) return drove__fail_nomem("columns", schema->n_columns);
    g->scope = "features";
    *features = drove__onnx_join(g, to.value, to.n);
    return DROVE_OK;
}
