/* table/odd.h - odd cells of a column of numbers or dates: neither missing nor what the others are.
 *
 * Words that mean a missing cell (drove__cell_is_missing_value) count as one, at any share; so does
 * a word that is the only one in a column of many different numbers, and so do a few others.  Many
 * odd cells, or numbers and dates written in another way than the column's, make it a column of
 * text.
 */
#ifndef DROVE_TABLE_ODD_H
#define DROVE_TABLE_ODD_H

#include "table/scan.h"

#include <stdint.h>

enum {
    DROVE_ODD_KINDS_MOST = 3,  /* different words that count as missing, any number of cells */
    DROVE_ODD_CELLS_MOST = 10, /* or so many cells, however different */
    DROVE_ODD_TEXT_SIZE = 160,
    DROVE_ODD_LEAST_RATIO = 20 /* cells to odd ones: 95 % are numbers */
};

typedef struct drove_odd { /* zeroed: none */
    uint64_t   n;          /* cells */
    uint64_t   first;      /* row of the first, from 0 */
    uint64_t   n_written;  /* of them numbers and dates, written in another way */
    uint64_t   n_known;    /* of them words that mean a missing cell            */
    bool       has_kind;   /* of the others, the first: */
    bool       has_kinds;  /* and there are different ones */
    drove_cell other;
    size_t     n_kinds; /* at most DROVE_ODD_KINDS_MOST + 1, which means more */
    drove_cell kind[DROVE_ODD_KINDS_MOST + 1];
} drove_odd;

void drove__odd_add(drove_odd *odd, const drove_cell *cell, uint64_t row);
void drove__odd_merge(drove_odd *into, const drove_odd *from);

/* Whether nearly all of n cells (odd ones included) are numbers, or dates. */
bool drove__odd_is_rare(uint64_t n_odd, uint64_t n);
/* Whether they count as missing among n cells that are not missing (odd ones included).
 * is_rich: the numbers have many different values. */
bool drove__odd_are_words(const drove_odd *odd, uint64_t n, bool is_rich);

/* "unknown", "n.k." in the order of the text, with "..." after them if there are more. */
const char *drove__odd_list(const drove_odd *odd, char text[DROVE_ODD_TEXT_SIZE]);

#endif
