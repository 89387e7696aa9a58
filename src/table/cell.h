/* table/cell.h - the meaning of one cell: missing, a number, a truth value, a date. */
#ifndef DROVE_TABLE_CELL_H
#define DROVE_TABLE_CELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Empty, NA, N/A, nan, NaN, null, NULL, None, ? or -. */
bool drove__cell_is_missing(const char *text, size_t length);

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

/* YYYY-MM-DD, also with Thh:mm, :ss and fractions (dropped), and Z or an offset from UTC; T may be
 * a blank.  *minutes since 1970-01-01T00:00 UTC. */
bool drove__cell_date(const char *text, size_t length, int32_t *minutes, bool *has_time);

typedef struct drove_date {
    int      year;
    unsigned month, day, weekday, hour; /* 1.., 1.., 0 = Monday, 0 .. 23 */
} drove_date;
drove_date drove__date_of(int32_t minutes);

#endif
