/* table/amount.h - numbers as people write them in tables: 12.5 %, $1,234.50, 1.234,50 EUR, (12.5).
 *
 * An amount is a number (table/cell.h) with at most one unit, a percent sign or a currency, before
 * or behind it; in brackets it is negative, as in accounting.  Its value is the number as written:
 * 12.5 % is 12.5.
 */
#ifndef DROVE_TABLE_AMOUNT_H
#define DROVE_TABLE_AMOUNT_H

#include "table/cell.h"

/* A unit is a row of the table in amount.c; 0: none. */
typedef unsigned drove_unit;

/* "%", "$", "EUR"; NULL for 0. */
const char *drove__unit_text(drove_unit unit);
/* The unit of this text; false: there is none. */
bool drove__unit_find(const char *text, drove_unit *out);

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
    bool        is_negative; /* brackets, or a minus before the unit */
} drove_amount;
drove_amount drove__amount_of(const char *text, size_t length);

/* A finite number in this style; the whole text. */
bool drove__cell_amount(const drove_amount_style *style, const char *text, size_t length,
                        float *out);

#endif
