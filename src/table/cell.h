/* table/cell.h - the meaning of one cell: missing, a number, a truth value, a date, a time. */
#ifndef DROVE_TABLE_CELL_H
#define DROVE_TABLE_CELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Empty, NA, N/A, n/a, nan, NaN, null, NULL, None, #N/A, <NA>, ?, - or a point. */
bool drove__cell_is_missing(const char *text, size_t length);
/* Word i of them; NULL: there are no more. */
const char *drove__cell_missing_word(size_t i);
/* Words that mean it among numbers and dates alone, in upper or lower case: \N, NaT, #DIV/0!,
 * missing, unknown, (null), 1.#QNAN, nan(ind) ...  In a column of texts they are texts. */
bool drove__cell_is_missing_value(const char *text, size_t length);
/* Those of them that no one writes as a word: \N, NaT, #DIV/0!, (null) ...: never a label. */
bool drove__cell_is_missing_notation(const char *text, size_t length);

/* "None": missing, but among labels that are words the name of a class. */
bool drove__cell_is_none(const char *text, size_t length);

/* How the numbers of a column are written: 1234.5, 1,234.5, 1234,5 or 1.234,5. */
typedef enum drove_number_form {
    DROVE_FORM_POINT,
    DROVE_FORM_POINT_GROUPS,
    DROVE_FORM_COMMA,
    DROVE_FORM_COMMA_GROUPS,
    DROVE_N_FORMS
} drove_number_form;

/* A number within the range of a float; the whole text.  In every form, groups of three digits may
 * also be joined by blanks (U+0020, U+00A0, U+2007, U+2009, U+202F), apostrophes (', U+2019) or
 * underscores; the minus may be U+2212, U+2013 or U+FF0D, and may stand behind the number.  The
 * exponent of a number with a point may be Fortran's: 1.5D+03.  192.168.100.101 is no number. */
bool drove__cell_number(drove_number_form form, const char *text, size_t length, double *out);

/* inf, -inf, infinity, or a number beyond the range of a float. */
bool drove__cell_is_infinite(const char *text, size_t length);

/* Only digits, after an optional sign. */
bool drove__cell_is_integer(const char *text, size_t length);
/* A zero before another digit: 007 and 007.1. */
bool drove__cell_is_padded(const char *text, size_t length);

/* true/false, yes/no, t/f, y/n in upper or lower case, 1/0 (also 1.0): 1 or 0. */
bool drove__cell_boolean(const char *text, size_t length, float *out);
/* Word i for false (value 0) or true (1), in lower case; NULL: there are no more. */
const char *drove__cell_boolean_word(unsigned value, size_t i);

/* ---- date.c ---- */

/* The order of a date's parts: 2020-12-31 (also with / or .), 31/12/2020, 12/31/2020. */
typedef enum drove_date_order {
    DROVE_DATE_YMD,
    DROVE_DATE_DMY,
    DROVE_DATE_MDY,
    DROVE_N_DATE_ORDERS
} drove_date_order;

#define DROVE_NO_DATE      INT64_MIN
#define DROVE_SECONDS_MOST 3.8e11 /* from 1970 to the years -9999 and 9999, and a little more */

/* A date whose parts are joined by -, / or ., and stand in this order; also with Thh:mm, :ss and
 * fractions (dropped), AM or PM, Z, UTC, GMT or an offset from UTC; T may be a blank.  Of YMD the
 * year has four digits; of the others it may have two: 69 to 99 are 1969 to 1999, 00 to 68 are 2000
 * to 2068.  With - or . and a year of two digits, month and day have two digits each.
 *
 * In every order also what leaves none open: a month by its English name (1 Jan 2019, Jan 1, 2019,
 * 2019-Jan-01; with a time also Jan 1 10:30:00 2019), a month (2019-01, 01/2019, Jan 2019,
 * 2019M01), a quarter (2019Q1, Q1 2019) and a week (2019-W05): their first day.
 *
 * *seconds since 1970-01-01T00:00 UTC; DROVE_NO_DATE for what databases write for none: 0000-00-00,
 * 0001-01-01, and the year 9999. */
bool drove__cell_date(drove_date_order order, const char *text, size_t length, int64_t *seconds,
                      bool *has_time);

typedef struct drove_date {
    int      year;
    unsigned month, day, weekday, hour, minute, second; /* 1.., 1.., 0 = Monday, 0 .. 23, 59, 59 */
} drove_date;
drove_date drove__date_of(int64_t seconds);

/* A time of day or a duration, in seconds: 7:30, 7:30:15.5, 7:30 PM, 36:15:00, -1 days +23:59:00,
 * 2 days, 1h 30m, 90 s, PT1H30M.  The whole text. */
bool drove__cell_clock(const char *text, size_t length, double *seconds);

/* Blanks and signs that may join groups of digits; NULL-terminated. */
extern const char *const drove__digit_joints[];

#endif
