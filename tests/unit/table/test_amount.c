/* Amounts with units and brackets, and dates in other orders: cells, whole columns, further
 * data. */
#include "support.h"

#include "base/mem.h"
#include "table/amount.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- cells ---- */

typedef struct amount_case {
    const char *text;
    drove_number_form form;
    const char *unit; /* NULL: none */
    double value;
} amount_case;

TEST(test_amounts)
{
    static const amount_case cases[] = {
        {"12.5 %", DROVE_FORM_POINT, "%", 12.5},
        {"12%", DROVE_FORM_POINT, "%", 12},
        {"-0.5%", DROVE_FORM_POINT, "%", -0.5},
        {"12,5\xc2\xa0%", DROVE_FORM_COMMA, "%", 12.5},
        {"$1,234.50", DROVE_FORM_POINT_GROUPS, "$", 1234.5},
        {"-$1,234.50", DROVE_FORM_POINT_GROUPS, "$", -1234.5},
        {"$-3", DROVE_FORM_POINT, "$", -3},
        {"($3.25)", DROVE_FORM_POINT, "$", -3.25},
        {"$(3.25)", DROVE_FORM_POINT, "$", -3.25},
        {"US$ 7", DROVE_FORM_POINT, "US$", 7},
        {"1.234,50 EUR", DROVE_FORM_COMMA_GROUPS, "EUR", 1234.5},
        {"EUR 1.234,50", DROVE_FORM_COMMA_GROUPS, "EUR", 1234.5},
        {"7 \xe2\x82\xac", DROVE_FORM_POINT, "\xe2\x82\xac", 7},
        {"(12.5)", DROVE_FORM_POINT, NULL, -12.5},
        {"( 1,234 )", DROVE_FORM_POINT_GROUPS, NULL, -1234},
        {"(0)", DROVE_FORM_POINT, NULL, 0},
        {"-1.5e3", DROVE_FORM_POINT, NULL, -1500},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const amount_case *c = &cases[i];
        drove_amount_style style = {.form = c->form};
        double found = -99;
        if (c->unit != NULL) assert_true(drove__unit_set(c->unit, strlen(c->unit), &style.unit));
        if (!drove__cell_amount(&style, c->text, strlen(c->text), &found) || found != c->value)
            fail_msg("%s: found %g", c->text, found);
    }
}

TEST(test_no_amounts)
{
    static const char *const none[] = {
        "%",    "$",   "$$5",  "5%%",   "(5",    "5)",  "()",       "(-5)",
        "-$-5", "5:7", "$5 %", "((5))", "EUR",   "m 5", "--$5",     "5-7",
        "",     " ",   "5$5",  "%5%%",  "(5)%%", "5e",  "1.2.3 kg", "5 kilometres per single hour"};
    static const char *const units[] = {"", "%", "$", "EUR", "kg"};
    double found;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        for (size_t k = 0; k < sizeof units / sizeof *units; k++) {
            drove_amount_style style = {.form = DROVE_FORM_POINT};
            if (k > 0) assert_true(drove__unit_set(units[k], strlen(units[k]), &style.unit));
            if (drove__cell_amount(&style, none[i], strlen(none[i]), &found))
                fail_msg("\"%s\" is %g %s", none[i], found, units[k]);
        }
    }
    drove_unit dollar;
    assert_true(drove__unit_set("$", 1, &dollar));
    drove_amount_style style = {.unit = dollar};
    assert_false(drove__cell_amount(&style, "5", 1, &found));
    assert_false(drove__cell_amount(&style, "5%", 2, &found));
    style.is_unit_optional = true;
    assert_true(drove__cell_amount(&style, "5", 1, &found) && found == 5);
    assert_false(drove__cell_amount(&style, "5%", 2, &found));
    assert_false(drove__unit_set("", 0, &dollar) ||
                 drove__unit_set("longer than a unit may be", 25, &dollar));
}

/* Units that no table lists: a word behind the number. */
TEST(units_are_words)
{
    static const struct {
        const char *text, *unit;
        double value;
    } cases[] = {{"50.0 kg", "kg", 50},
                 {"12km/h", "km/h", 12},
                 {"-3 \xc2\xb0\x43", "\xc2\xb0\x43", -3},
                 {"\xe2\x88\x92"
                  "3.5 m2",
                  "m2", -3.5},
                 {"1 000 kg", "kg", 1000},
                 {"7/10", "/10", 7},
                 {"10+", "+", 10},
                 {"5 sq ft", "sq ft", 5}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const drove_amount a = drove__amount_of(cases[i].text, strlen(cases[i].text));
        assert_string_equal(a.unit.text, cases[i].unit);
        assert_false(a.is_known);
        drove_amount_style style = {.unit = a.unit};
        double found = -99;
        assert_true(drove__cell_amount(&style, cases[i].text, strlen(cases[i].text), &found));
        if (found != cases[i].value) fail_msg("%s: found %g", cases[i].text, found);
    }
}

TEST(clocks_are_seconds)
{
    static const struct {
        const char *text;
        double seconds;
    } cases[] = {{"00:47", 2820},
                 {"7:30", 27000},
                 {"23:59:59.5", 86399.5},
                 {"7:30 PM", 70200},
                 {"12:05 am", 300},
                 {"36:15:00", 130500},
                 {"-0:30", -1800},
                 {"1 days 02:03:04", 93784},
                 {"-1 days +23:59:00", -60},
                 {"2 days", 172800},
                 {"1h 30m", 5400},
                 {"1 hour 5 minutes", 3900},
                 {"90 s", 90},
                 {"1:23.5", 83.5},
                 {"1h30", 5400},
                 {"PT1H30M", 5400},
                 {"P1DT12H", 129600}};
    static const char *const none[] = {"7",        "7:3",   "7:60",    "7:30:61", "7:30:5",
                                       "13:00 PM", "1h 2h", "3 kg",    "5m 1h",   "P",
                                       "",         ":30",   "1:2:3:4", "7:30 x",  "abc"};
    double found;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        found = -99;
        if (!drove__cell_clock(cases[i].text, strlen(cases[i].text), &found) ||
            found != cases[i].seconds)
            fail_msg("%s: found %g", cases[i].text, found);
    }
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        if (drove__cell_clock(none[i], strlen(none[i]), &found))
            fail_msg("\"%s\" is %g", none[i], found);
    }
}

static void expect_date(drove_date_order order, const char *text, const char *same)
{
    int64_t found = -1, expected = -2;
    bool has_time, same_has_time;
    assert_true(drove__cell_date(DROVE_DATE_YMD, same, strlen(same), &expected, &same_has_time));
    if (!drove__cell_date(order, text, strlen(text), &found, &has_time)) fail_msg("%s", text);
    if (found != expected || has_time != same_has_time)
        fail_msg("%s: %lld", text, (long long)found);
}

static void expect_no_date(drove_date_order order, const char *text)
{
    int64_t found;
    bool has_time;
    if (drove__cell_date(order, text, strlen(text), &found, &has_time))
        fail_msg("%s is a date", text);
}

TEST(test_dates)
{
    expect_date(DROVE_DATE_DMY, "31/12/2020", "2020-12-31");
    expect_date(DROVE_DATE_MDY, "12/31/2020", "2020-12-31");
    expect_date(DROVE_DATE_DMY, "31.12.2020", "2020-12-31");
    expect_date(DROVE_DATE_DMY, "1.2.2020", "2020-02-01");
    expect_date(DROVE_DATE_DMY, "31-12-2020", "2020-12-31");
    expect_date(DROVE_DATE_DMY, "01/02/69", "1969-02-01");
    expect_date(DROVE_DATE_MDY, "1/2/68", "2068-01-02");
    expect_date(DROVE_DATE_DMY, "29.02.00", "2000-02-29");
    expect_date(DROVE_DATE_MDY, "12/31/2020 11:59:58 PM", "2020-12-31T23:59:58");
    expect_date(DROVE_DATE_MDY, "12/31/2020 12:05am", "2020-12-31T00:05");
    expect_date(DROVE_DATE_MDY, "1/2/2020 12:05 pm", "2020-01-02T12:05");
    expect_date(DROVE_DATE_DMY, "31.12.2020 8:05:30", "2020-12-31T08:05:30");
    expect_date(DROVE_DATE_DMY, "31/12/2020T08:05+02:00", "2020-12-31T06:05");
    expect_date(DROVE_DATE_YMD, "2020/1/2", "2020-01-02");
    expect_date(DROVE_DATE_YMD, "2020.12.31", "2020-12-31");
    expect_date(DROVE_DATE_YMD, "2020-1-2", "2020-01-02");
    expect_date(DROVE_DATE_YMD, "2019-01-01 10:00:30 UTC", "2019-01-01T10:00:30");
    expect_date(DROVE_DATE_YMD, "2019-01-01T10:00:30+0200", "2019-01-01T08:00:30");
    expect_date(DROVE_DATE_DMY, "1-2-2020", "2020-02-01");
    static const char *const none[] = {"31/12-2020", "1-2-20",           "1.2.20",
                                       "1.2.3",      "32/1/2020",        "0/1/2020",
                                       "1/2/020",    "29/02/2019",       "31/4/2020",
                                       "1/2",        "1/2/2020 13:00PM", "1/2/2020 0:00 AM",
                                       "1/2/2020 ",  "1/2/20201",        "1/2/2020 1:00 XM",
                                       "192.168.1.1"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) expect_no_date(DROVE_DATE_DMY, none[i]);
    expect_no_date(DROVE_DATE_DMY, "12/31/2020");
    expect_no_date(DROVE_DATE_MDY, "31/12/2020");
    expect_no_date(DROVE_DATE_YMD, "31/12/2020");
}

/* Spellings that are the same in every order. */
TEST(dates_with_names_and_without_days)
{
    static const char *const same[][2] = {{"01-Jan-2019", "2019-01-01"},
                                          {"1 January 2019", "2019-01-01"},
                                          {"Jan 1, 2019", "2019-01-01"},
                                          {"2019-Jan-01", "2019-01-01"},
                                          {"03-sept-19", "2019-09-03"},
                                          {"Tue, 01 Jan 2019 10:00:30 GMT", "2019-01-01T10:00:30"},
                                          {"5 May 2019 7:30 PM", "2019-05-05T19:30"},
                                          {"2018-01", "2018-01-01"},
                                          {"12/2018", "2018-12-01"},
                                          {"Dec 2018", "2018-12-01"},
                                          {"Dec-18", "2018-12-01"},
                                          {"2018M02", "2018-02-01"},
                                          {"2018Q3", "2018-07-01"},
                                          {"Q4 2018", "2018-10-01"},
                                          {"4Q2018", "2018-10-01"},
                                          {"2018-Q1", "2018-01-01"},
                                          {"2019-W01", "2018-12-31"},
                                          {"2019-W02-3", "2019-01-09"}};
    static const char *const none[] = {"Dec 31",      "13/2018",  "2018-13",     "2018Q5",
                                       "Q0 2018",     "2019-W54", "31-Jun-2019", "Foo 2019",
                                       "2019",        "May",      "1 2 2019",    "2018-19-20",
                                       "Januar 2019x"};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        for (int order = 0; order < DROVE_N_DATE_ORDERS; order++)
            expect_date((drove_date_order)order, same[i][0], same[i][1]);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        for (int order = 0; order < DROVE_N_DATE_ORDERS; order++)
            expect_no_date((drove_date_order)order, none[i]);
}

/* What databases write where there is no date. */
TEST(no_dates)
{
    static const char *const zero[] = {"0000-00-00", "0000-00-00 00:00:00", "9999-12-31",
                                       "9999-12-31 23:59:59", "0001-01-01T00:00:00Z"};
    for (size_t i = 0; i < sizeof zero / sizeof *zero; i++) {
        int64_t seconds = 0;
        bool has_time = true;
        assert_true(
            drove__cell_date(DROVE_DATE_YMD, zero[i], strlen(zero[i]), &seconds, &has_time));
        assert_true(seconds == DROVE_NO_DATE && !has_time);
    }
    expect_no_date(DROVE_DATE_YMD, "2019-00-05");
    expect_no_date(DROVE_DATE_YMD, "2019-05-00");
}

/* Every day of 100 years, in each order, is the day that it is with the year first. */
TEST(test_calendar)
{
    for (int32_t day = -365; day < 36160; day++) {
        char same[32], text[32];
        drove_date d = drove__date_of((int64_t)day * 86400);
        snprintf(same, sizeof same, "%04u-%02u-%02u", (unsigned)d.year % 10000u, d.month % 100u,
                 d.day % 100u);
        snprintf(text, sizeof text, "%u/%u/%u", d.day, d.month, (unsigned)d.year);
        expect_date(DROVE_DATE_DMY, text, same);
        snprintf(text, sizeof text, "%02u.%02u.%02u", d.day, d.month, (unsigned)d.year % 100u);
        if (d.year < 2069) expect_date(DROVE_DATE_DMY, text, same);
        snprintf(text, sizeof text, "%02u-%02u-%u", d.month, d.day, (unsigned)d.year);
        expect_date(DROVE_DATE_MDY, text, same);
    }
}

/* ---- columns ---- */

enum { ROWS = 300 };

/* A row's numbers, the same however they are written. */
static double amount_at(unsigned row)
{
    return (double)(row * 7919 % 99991) / 4 - 9000;
}
static drove_date date_at(unsigned row)
{
    return drove__date_of((int64_t)(row * 37 % 9000 + 1) * 86400);
}

/* "1,234.50" or "1.234,50". */
static void group(double value, bool has_comma, char into[32])
{
    char plain[32];
    size_t n = 0;
    snprintf(plain, sizeof plain, "%.2f", value);
    size_t n_whole = strcspn(plain, ".");
    for (size_t i = 0; plain[i] != '\0'; i++) {
        if (i > 0 && i < n_whole && (n_whole - i) % 3 == 0) into[n++] = has_comma ? '.' : ',';
        into[n++] = plain[i] == '.' && has_comma ? ',' : plain[i];
    }
    into[n] = '\0';
}

/* Plain, and as a person writes it. */
static void write_pair(const char *plain_path, const char *path)
{
    FILE *plain = fopen(plain_path, "w"), *file = fopen(path, "w");
    assert_non_null(plain);
    assert_non_null(file);
    fputs("rate,usd,eur,net,born,made,y\n", plain);
    fputs("rate,usd,eur,net,born,made,y\n", file);
    for (unsigned row = 0; row < ROWS; row++) {
        double x = amount_at(row), size = x < 0 ? -x : x;
        drove_date d = date_at(row);
        char usd[32], eur[32];
        group(size, false, usd);
        group(size, true, eur);
        fprintf(plain, "%.2f,%.2f,%.2f,%.2f,%04u-%02u-%02u,%04u-%02u-%02uT%02u:07,%u\n", x, x, x, x,
                (unsigned)d.year, d.month, d.day, (unsigned)d.year, d.month, d.day, row % 24,
                row % 2);
        fprintf(file, "%.2f %%,\"%s$%s\",\"%s%s EUR\",%s%.2f%s,%02u.%02u.%u,%u/%u/%u %u:07 %s,%u\n",
                x, x < 0 ? "-" : "", usd, x < 0 ? "-" : "", eur, x < 0 ? "(" : "", size,
                x < 0 ? ")" : "", d.day, d.month, (unsigned)d.year, d.month, d.day,
                (unsigned)d.year, (row % 24 + 11) % 12 + 1, row % 24 < 12 ? "AM" : "PM", row % 2);
    }
    assert_int_equal(fclose(plain), 0);
    assert_int_equal(fclose(file), 0);
}

static void encode(drove_known_table *known, drove_encoded *out)
{
    assert_int_equal(drove__table_encode(known, NULL, known->table.n_rows, out), DROVE_OK);
    assert_non_null(out->x);
}

static void free_encoded(drove_known_table *known, drove_encoded *x)
{
    drove__free(x->x);
    drove__known_table_fini(known);
}

/* Both files give the same features, and so do both when read by the other's schema. */
TEST(test_columns)
{
    static const char *const types[] = {"number, %", "number, $", "number, EUR", "date, day first",
                                        "date, month first"};
    drove_known_table known[4];
    drove_encoded x[4];
    drove_schema *saved;
    char *json, text[4096] = "";
    write_pair("plain", "people");
    drove_table_options opt[2] = {options_of("plain", "y"), options_of("people", "y")};
    for (int i = 0; i < 2; i++) learn(&opt[i], &known[i]);
    assert_int_equal(column_of(&known[1], "born")->order, DROVE_DATE_DMY);
    assert_int_equal(column_of(&known[1], "made")->order, DROVE_DATE_MDY);
    assert_string_equal(drove__column_notation(column_of(&known[1], "usd")), "$");
    assert_null(drove__column_notation(column_of(&known[1], "net")));
    FILE *stream = fmemopen(text, sizeof text, "w");
    drove__schema_print(known[1].schema, stream);
    assert_int_equal(fclose(stream), 0);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        assert_non_null(strstr(text, types[i]));
    assert_int_equal(drove__schema_to_json(known[1].schema, &json), DROVE_OK);
    assert_int_equal(drove__schema_from_json(json, &saved), DROVE_OK);
    assert_true(drove__schema_equal(saved, known[1].schema));
    free(json);
    for (int i = 0; i < 2; i++)
        assert_int_equal(drove__table_match(&opt[i], saved, true, &known[2 + i]), DROVE_OK);
    for (int i = 0; i < 4; i++) {
        encode(&known[i], &x[i]);
        assert_int_equal(known[i].schema->n_features, 4 + 8 + 10);
        assert_memory_equal(x[i].x, x[0].x, (size_t)ROWS * 22 * sizeof(float));
    }
    for (int i = 0; i < 4; i++) free_encoded(&known[i], &x[i]);
    drove__schema_release(saved);
    assert_int_equal(remove("plain"), 0);
    assert_int_equal(remove("people"), 0);
}

/* 40,000 rows of `usual` and one, beyond the sample, of `odd`. */
static void write_late(const char *usual, const char *odd)
{
    FILE *file = fopen("late", "w");
    assert_non_null(file);
    fputs("x,other,y\n", file);
    for (unsigned row = 0; row < 40000; row++) {
        fprintf(file, row == 31234 ? odd : usual, row % 9 + 1);
        fprintf(file, ",%u,%u\n", row % 31, row % 2);
    }
    assert_int_equal(fclose(file), 0);
}

static void expect_late(const char *usual, const char *odd, const char *types,
                        drove_column_type type, const char *notation, const char *note)
{
    drove_known_table known;
    drove_table_options opt = options_of("late", "y");
    opt.types = types;
    write_late(usual, odd);
    learn(&opt, &known);
    const drove_column *c = column_of(&known, "x");
    const char *found = drove__column_notation(c);
    if (c->type != type) fail_msg("%s: type %s", odd, drove__column_type_name(c->type));
    assert_true(notation == NULL ? found == NULL : found != NULL && strcmp(found, notation) == 0);
    if (note == NULL) assert_string_equal(known.notes, "");
    else if (strstr(known.notes, note) == NULL) fail_msg("%s: %s", odd, known.notes);
    drove__known_table_fini(&known);
    assert_int_equal(remove("late"), 0);
}

/* The whole column decides. */
TEST(test_late)
{
    expect_late("%u/5/2020", "31/5/2020", NULL, DROVE_COLUMN_DATE, "dmy", NULL);
    expect_late("%u/5/2020", "5/31/2020", NULL, DROVE_COLUMN_DATE, "mdy", NULL);
    expect_late("%u.5.2020", "5.31.2020", NULL, DROVE_COLUMN_DATE, "mdy", NULL);
    expect_late("%u/5/2020", "1/5/2020", NULL, DROVE_COLUMN_DATE, "mdy",
                "read as month first (?types=x:dmy reads the day first)");
    expect_late("%u.5.2020", "1.5.2020", NULL, DROVE_COLUMN_DATE, "dmy",
                "read as day first (?types=x:mdy reads the month first)");
    expect_late("%u/5/2020", "1/5/2020", "x:dmy", DROVE_COLUMN_DATE, "dmy", NULL);
    expect_late("%u/5/2020", "soon", NULL, DROVE_COLUMN_DATE, "mdy",
                "1 cell is no date and counts as missing: \"soon\", first in row 31235");
    expect_late("%u/5/2020", "2020-05-31", NULL, DROVE_COLUMN_CATEGORY, NULL,
                "row 31235 holds no date");
    expect_late("%u%%", "5", NULL, DROVE_COLUMN_CATEGORY, NULL, "row 31235 holds no number with %");
    expect_late("$%u.5", "5 EUR", NULL, DROVE_COLUMN_CATEGORY, NULL,
                "row 31235 holds no number with $");
    expect_late("%u%%", "5", "x:number", DROVE_COLUMN_NUMBER, "%", NULL);
    expect_late("%u.5", "(3.5)", NULL, DROVE_COLUMN_NUMBER, NULL, NULL);
}

/* A sample that mixes is text; so are lists between commas. */
TEST(test_mixed)
{
    drove_known_table known;
    drove_table_options opt = options_of("mixed", "y");
    write_text("mixed", "a,b,c,d,y\n"
                        "5%,\"1,5\",$1,25%,0\n7,\"2,5,1\",EUR 1,50%,1\n5%,\"1,5\",$1,25%,0\n");
    learn(&opt, &known);
    for (const char *name = "abc"; *name != '\0'; name++) {
        const char one[] = {*name, '\0'};
        assert_int_equal(column_of(&known, one)->type, DROVE_COLUMN_CATEGORY);
    }
    assert_int_equal(column_of(&known, "d")->type, DROVE_COLUMN_NUMBER);
    drove__known_table_fini(&known);
    assert_int_equal(remove("mixed"), 0);
}

/* Amounts and dates are names of columns, unless more of them stand below. */
TEST(test_header)
{
    drove_known_table known;
    drove_table_options opt = options_of("header", NULL);
    write_text("header", "place,25%,1/22/20,y\na,1,2,0\nb,3,4,1\nc,3,5,1\n");
    learn(&opt, &known);
    assert_true(known.table.has_header);
    assert_int_equal(column_of(&known, "25%")->type, DROVE_COLUMN_NUMBER);
    drove__known_table_fini(&known);
    write_text("header", "a,25%,no\nb,20%,yes\nc,50%,no\n");
    learn(&opt, &known);
    assert_false(known.table.has_header);
    drove__known_table_fini(&known);
    assert_int_equal(remove("header"), 0);
}

TEST(test_forged)
{
    static const char *const texts[] = {
        "{\"version\":1,\"columns\":[{\"name\":\"a\",\"type\":\"number\",\"fill\":1,\"centre\":0,"
        "\"as\":\"a unit of many characters\"}]}",
        "{\"version\":1,\"columns\":[{\"name\":\"a\",\"type\":\"number\",\"fill\":1,\"centre\":0,"
        "\"as\":7}]}",
        "{\"version\":1,\"columns\":[{\"name\":\"a\",\"type\":\"date\",\"fill\":1,\"centre\":0,"
        "\"as\":\"ymd\"}]}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        drove_schema *schema;
        assert_int_equal(drove__schema_from_json(texts[i], &schema), DROVE_E_DATA);
        assert_null(schema);
    }
}
