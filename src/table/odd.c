/* table/odd.c - see odd.h. */
#include "table/odd.h"

#include "table/amount.h"
#include "table/cell.h"

#include <stdio.h>
#include <string.h>

/* A number with any unit and decimal sign, or a date in any order. */
static bool is_written(const drove_cell *cell)
{
    double number;
    int64_t seconds;
    bool has_time;
    const drove_amount a = drove__amount_of(cell->text, cell->length);
    for (int form = 0; form < DROVE_N_FORMS && a.length > 0; form++) {
        if (drove__cell_number((drove_number_form)form, a.text, a.length, &number)) return true;
    }
    for (int order = 0; order < DROVE_N_DATE_ORDERS; order++) {
        if (drove__cell_date((drove_date_order)order, cell->text, cell->length, &seconds,
                             &has_time))
            return true;
    }
    return drove__cell_clock(cell->text, cell->length, &number);
}

/* Keeps the first cell of each kind, so that the order does not depend on threads. */
static void add_kind(drove_odd *odd, const drove_cell *cell)
{
    for (size_t i = 0; i < odd->n_kinds; i++) {
        drove_cell *known = &odd->kind[i];
        if (known->length != cell->length || memcmp(known->text, cell->text, cell->length) != 0)
            continue;
        if (cell->text < known->text) *known = *cell;
        return;
    }
    if (odd->n_kinds <= DROVE_ODD_KINDS_MOST) odd->kind[odd->n_kinds++] = *cell;
}

static void add_other(drove_odd *odd, const drove_cell *cell)
{
    if (!odd->has_kind) odd->other = *cell;
    else if (odd->other.length != cell->length ||
             memcmp(odd->other.text, cell->text, cell->length) != 0)
        odd->has_kinds = true;
    odd->has_kind = true;
}

void drove__odd_add(drove_odd *odd, const drove_cell *cell, uint64_t row)
{
    if (odd->n == 0 || row < odd->first) odd->first = row;
    odd->n++;
    add_kind(odd, cell);
    if (drove__cell_is_missing_value(cell->text, cell->length)) {
        odd->n_known++;
        return;
    }
    odd->n_written += is_written(cell);
    add_other(odd, cell);
}

void drove__odd_merge(drove_odd *into, const drove_odd *from)
{
    if (from->n > 0 && (into->n == 0 || from->first < into->first)) into->first = from->first;
    into->n += from->n;
    into->n_written += from->n_written;
    into->n_known += from->n_known;
    if (from->has_kind) add_other(into, &from->other);
    into->has_kinds = into->has_kinds || from->has_kinds;
    for (size_t i = 0; i < from->n_kinds; i++) add_kind(into, &from->kind[i]);
}

bool drove__odd_is_rare(uint64_t n_odd, uint64_t n)
{
    return n_odd <= n / DROVE_ODD_LEAST_RATIO;
}

bool drove__odd_are_words(const drove_odd *odd, uint64_t n, bool is_rich)
{
    const uint64_t n_other = odd->n - odd->n_known;
    const bool are_few = odd->n_kinds <= DROVE_ODD_KINDS_MOST || n_other <= DROVE_ODD_CELLS_MOST;
    const bool is_one = is_rich && !odd->has_kinds && n_other <= n / 2;
    if (odd->n == 0 || odd->n_written > 0 || odd->n == n) return false;
    return n_other == 0 || is_one || (are_few && drove__odd_is_rare(n_other, n));
}

const char *drove__odd_list(const drove_odd *odd, char text[DROVE_ODD_TEXT_SIZE])
{
    enum { SHOWN = 30 };
    const drove_cell *before = NULL;
    size_t used = 0;
    *text = '\0';
    for (size_t shown = 0; shown < odd->n_kinds && shown < DROVE_ODD_KINDS_MOST; shown++) {
        const drove_cell *next = NULL;
        for (size_t i = 0; i < odd->n_kinds; i++) {
            const drove_cell *cell = &odd->kind[i];
            if (before != NULL && cell->text <= before->text) continue;
            if (next == NULL || cell->text < next->text) next = cell;
        }
        used += (size_t)snprintf(text + used, DROVE_ODD_TEXT_SIZE - used, "%s\"%.*s\"",
                                 shown > 0 ? ", " : "",
                                 (int)(next->length < SHOWN ? next->length : SHOWN), next->text);
        before = next;
    }
    if (odd->n_kinds > DROVE_ODD_KINDS_MOST) strcpy(text + used, " ...");
    return text;
}
