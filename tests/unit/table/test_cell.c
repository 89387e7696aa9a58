/* tests/unit/table/test_cell.c - what a cell means. */
#include "table/cell.h"
#include "support/test.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

TEST(test_missing)
{
    static const char *const missing[] = {"",     "NA", "N/A", "nan", "NaN", "null", "NULL",
                                          "None", "?",  "-",   ".",   "n/a", "#N/A", "<NA>"};
    static const char *const present[] = {"na",   "none", "0",   "--", "N",
                                          "nano", " ",    "NAN", "..", "n.a"};
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++)
        assert_true(drove__cell_is_missing(missing[i], strlen(missing[i])));
    for (size_t i = 0; i < sizeof present / sizeof *present; i++)
        assert_false(drove__cell_is_missing(present[i], strlen(present[i])));
}

static void expect_number(drove_number_form form, const char *text, double expected)
{
    double found = -12345;
    if (!drove__cell_number(form, text, strlen(text), &found)) fail_msg("%s is no number", text);
    if (found != expected) fail_msg("%s: %.17g", text, found);
}

static void expect_none(drove_number_form form, const char *text)
{
    double found;
    if (drove__cell_number(form, text, strlen(text), &found)) fail_msg("%s is a number", text);
}

TEST(test_numbers)
{
    expect_number(DROVE_FORM_POINT, "-1.5e3", -1500);
    expect_number(DROVE_FORM_POINT, "+.5", 0.5);
    expect_number(DROVE_FORM_POINT_GROUPS, "1,234,567.5", 1234567.5);
    expect_number(DROVE_FORM_POINT_GROUPS, "-12,345", -12345);
    expect_number(DROVE_FORM_POINT_GROUPS, "12.5", 12.5);
    expect_number(DROVE_FORM_COMMA, "3,25", 3.25);
    expect_number(DROVE_FORM_COMMA, "1,5e-1", 0.15);
    expect_number(DROVE_FORM_COMMA_GROUPS, "1.234.567,5", 1234567.5);
    expect_number(DROVE_FORM_COMMA_GROUPS, "1.234", 1234);
    expect_none(DROVE_FORM_POINT, "");
    expect_none(DROVE_FORM_POINT, "1,5");
    expect_none(DROVE_FORM_POINT, "1 2");
    expect_none(DROVE_FORM_POINT, "inf");
    expect_none(DROVE_FORM_POINT, "nan");
    expect_none(DROVE_FORM_POINT, "1e999");
    expect_none(DROVE_FORM_POINT_GROUPS, "1,23");
    expect_none(DROVE_FORM_POINT_GROUPS, "1234,567");
    expect_none(DROVE_FORM_POINT_GROUPS, "1,2345");
    expect_none(DROVE_FORM_COMMA, "1.5");
    expect_none(DROVE_FORM_COMMA, "1,5,6");
    expect_none(DROVE_FORM_COMMA_GROUPS, "1.23");
    expect_number(DROVE_FORM_COMMA_GROUPS, "1.281.501", 1281501);
    expect_none(DROVE_FORM_COMMA_GROUPS, "192.168.100.101"); /* an address */
    expect_number(DROVE_FORM_COMMA_GROUPS, "192.168.100.301", 192168100301);
    expect_number(DROVE_FORM_POINT, "1.495978707D+13", 1.495978707e13); /* Fortran's */
    expect_number(DROVE_FORM_POINT, "-.5d-03", -0.0005);
    expect_number(DROVE_FORM_COMMA, "1,5D+03", 1500);
    expect_none(DROVE_FORM_POINT, "15D+03");
    expect_none(DROVE_FORM_POINT, "1.5D3");
    assert_true(drove__cell_is_infinite("inf", 3) && drove__cell_is_infinite("-1e999", 6));
    assert_false(drove__cell_is_infinite("12", 2));
    assert_true(drove__cell_is_integer("-12", 3) && !drove__cell_is_integer("-", 1) &&
                !drove__cell_is_integer("1.0", 3));
}

TEST(test_booleans)
{
    static const char *const yes[] = {"True", "YES", "t", "y", "1", "1.0"};
    static const char *const no[] = {"false", "No", "F", "n", "0", "0.0"};
    float value;
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++) {
        assert_true(drove__cell_boolean(yes[i], strlen(yes[i]), &value) && value == 1);
        assert_true(drove__cell_boolean(no[i], strlen(no[i]), &value) && value == 0);
    }
    assert_false(drove__cell_boolean("2", 1, &value) || drove__cell_boolean("maybe", 5, &value));
}

static int64_t seconds_of(const char *text, bool *has_time)
{
    int64_t seconds = 0;
    if (!drove__cell_date(DROVE_DATE_YMD, text, strlen(text), &seconds, has_time))
        fail_msg("%s is no date", text);
    return seconds;
}

TEST(test_dates)
{
    static const char *const none[] = {"2023-13-01",        "2023-02-29",  "1900-02-29",
                                       "2023-01-01x",       "2023-01-01T", "2023-01-01T25:00",
                                       "2023-01-01T10:00+", "20230101",    ""};
    bool has_time;
    int64_t seconds;
    assert_int_equal(seconds_of("1970-01-01", &has_time), 0);
    assert_false(has_time);
    assert_int_equal(seconds_of("1969-12-31", &has_time), -86400);
    assert_int_equal(seconds_of("2000-02-29", &has_time), 11016 * 86400);
    assert_int_equal(seconds_of("2024-03-01", &has_time), 19783 * 86400);
    assert_int_equal(seconds_of("1970-01-02T01:30", &has_time), 86400 + 90 * 60);
    assert_true(has_time);
    assert_int_equal(seconds_of("1970-01-02 01:30:59.25Z", &has_time), 86400 + 90 * 60 + 59);
    assert_int_equal(seconds_of("1970-01-01T02:00+02:00", &has_time), 0);
    assert_int_equal(seconds_of("1970-01-01T02:00-0130", &has_time), 210 * 60);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_false(
            drove__cell_date(DROVE_DATE_YMD, none[i], strlen(none[i]), &seconds, &has_time));
}

/* As C's asctime, date(1) and the clocks of feeds write it. */
TEST(test_dates_with_the_year_last)
{
    static const char *const same[] = {
        "Wed Oct 10 20:19:24 2018",     "Oct 10 20:19:24 2018",
        "Wed Oct 10 20:19:24 UTC 2018", "Wed Oct 10 20:19:24 +0000 2018",
        "Oct 10 22:19:24 +0200 2018",   "Wednesday October 10 8:19:24 PM 2018",
    };
    static const char *const none[] = {"Wed Oct 10 20:19:24 EST 2018", "Wed Oct 10 20:19:24",
                                       "Wed Oct 10 2018 20:19:24 2018", "Oct 32 20:19:24 2018",
                                       "Oct 10 20:19:242018"};
    bool has_time;
    int64_t seconds;
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        assert_int_equal(seconds_of(same[i], &has_time), 1539202764);
        assert_true(has_time);
    }
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_false(
            drove__cell_date(DROVE_DATE_YMD, none[i], strlen(none[i]), &seconds, &has_time));
}

/* Every day of 200 years: back to the same date, weekdays in turn. */
TEST(test_calendar)
{
    unsigned weekday = 0;
    for (int32_t day = -25567; day < 47482; day++) { /* 1900-01-01, a Monday, to 2099 */
        char text[16];
        bool has_time;
        drove_date d = drove__date_of((int64_t)day * 86400 + 125 * 60 + 7);
        snprintf(text, sizeof text, "%04u-%02u-%02u", (unsigned)d.year % 10000u, d.month % 100u,
                 d.day % 100u);
        assert_int_equal(seconds_of(text, &has_time), (int64_t)day * 86400);
        assert_int_equal(d.weekday, weekday);
        assert_true(d.hour == 2 && d.minute == 5 && d.second == 7);
        weekday = (weekday + 1) % 7;
    }
}
