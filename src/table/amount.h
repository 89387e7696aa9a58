/* table/amount.h - numbers as people write them in tables: 12.5 %, $1,234.50, 1.234,50 EUR, (12.5),
 * 50.0 kg, 7:30.
 *
 * An amount is a number (table/cell.h) with at most one unit before or behind it; in brackets it is
 * negative, as in accounting.  Its value is the number as written: 12.5 % is 12.5.  Before a number
 * a unit is a percent sign or a currency; behind it, it may be any word.  Times of day and
 * durations are amounts of seconds, whose unit is called h:mm.
 */
#ifndef DROVE_TABLE_AMOUNT_H
#define DROVE_TABLE_AMOUNT_H

#include "table/cell.h"

enum { DROVE_UNIT_SIZE = 24 };
typedef struct drove_unit { /* "%", "$", "EUR", "kg"; "": none */
    char text[DROVE_UNIT_SIZE];
} drove_unit;

/* NULL where there is none. */
const char *drove__unit_text(const drove_unit *unit);
/* false: it is too long for a unit, or empty. */
bool       drove__unit_set(const char *text, size_t length, drove_unit *out);
bool       drove__unit_is_same(const drove_unit *a, const drove_unit *b);
drove_unit drove__unit_clock(void);
bool       drove__unit_is_clock(const drove_unit *unit);

/* How the amounts of a column are written. */
typedef struct drove_amount_style {
    drove_number_form form;
    drove_unit        unit;
    bool              is_unit_optional; /* of further data: amounts may also have no unit */
} drove_amount_style;

typedef struct drove_amount { /* a cell without unit and brackets */
    const char *text;         /* [length] in the cell: a number, or anything else */
    size_t      length;
    drove_unit  unit;
    bool        is_known;    /* the unit is a percent sign or a currency */
    bool        is_negative; /* brackets, or a minus before the unit */
} drove_amount;
drove_amount drove__amount_of(const char *text, size_t length);

/* A number in this style; the whole text. */
bool drove__cell_amount(const drove_amount_style *style, const char *text, size_t length,
                        double *out);

#endif
