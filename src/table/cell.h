/* table/cell.h - the meaning of one cell: missing, a number, a truth value, a date. */
#ifndef DROVE_TABLE_CELL_H
#define DROVE_TABLE_CELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Empty, NA, N/A, n/a, nan, NaN, null, NULL, None, #N/A, <NA>, ?, - or a point. */
bool drove__cell_is_missing(const char *text, size_t length);
/* Word i of them; NULL: there are no more. */
const char *drove__cell_missing_word(size_t i);

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

/* A finite number; the whole text. */
bool drove__cell_number(drove_number_form form, const char *text, size_t length, float *out);

/* inf, -inf, infinity, nan, or a number beyond the range of a float. */
bool drove__cell_is_infinite(const char *text, size_t length);

/* Only digits, after an optional sign. */
bool drove__cell_is_integer(const char *text, size_t length);

/* true/false, yes/no, t/f, y/n in upper or lower case, 1/0 (also 1.0): 1 or 0. */
bool drove__cell_boolean(const char *text, size_t length, float *out);
/* Word i for false (value 0) or true (1), in lower case; NULL: there are no more. */
const char *drove__cell_boolean_word(unsigned value, size_t i);

/* The order of a date's parts: 2020-12-31 (also with / or .), 31/12/2020, 12/31/2020. */
typedef enum drove_date_order {
    DROVE_DATE_YMD,
    DROVE_DATE_DMY,
    DROVE_DATE_MDY,
    DROVE_N_DATE_ORDERS
} drove_date_order;

/* A date whose parts are joined by -, / or ., and stand in this order; also with Thh:mm, :ss and
 * fractions (dropped), AM or PM, Z or an offset from UTC; T may be a blank.  Of YMD the year has
 * four digits; of the others it may have two: 69 to 99 are 1969 to 1999, 00 to 68 are 2000 to 2068.
 * With -, month and day have two digits each; with a year of two digits after ., too.
 * *minutes since 1970-01-01T00:00 UTC. */
bool drove__cell_date(drove_date_order order, const char *text, size_t length, int32_t *minutes,
                      bool *has_time);

typedef struct drove_date {
    int      year;
    unsigned month, day, weekday, hour; /* 1.., 1.., 0 = Monday, 0 .. 23 */
} drove_date;
drove_date drove__date_of(int32_t minutes);

#endif
