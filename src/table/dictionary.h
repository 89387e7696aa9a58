/* table/dictionary.h - the different texts of a column, with their counts.
 *
 * A text is known by its hash (table/murmur.h): two texts with the same 32 bits count as one, which
 * among N texts happens with probability N^2 / 2^33.  A dictionary that is full says so, and counts
 * nothing further: neither new texts nor those that it has.
 */
#ifndef DROVE_TABLE_DICTIONARY_H
#define DROVE_TABLE_DICTIONARY_H

#include "base/status.h"
#include "table/scan.h"

#include <stdbool.h>
#include <stdint.h>

enum { DROVE_DICTIONARY_MOST = 4096 };

typedef struct drove_entry {
    drove_cell cell; /* where it occurred first; the content must outlive the dictionary */
    uint32_t   hash; /* not 0 */
} drove_entry;

typedef struct drove_slot { /* hash 0: free */
    uint32_t hash, place;
} drove_slot;

typedef struct drove_dictionary {
    drove_entry *entry;   /* [n] in the order in which they were added */
    uint64_t    *n_cells; /* [n] how often each occurred */
    drove_slot  *slot;    /* [n_slots] a power of two.  A text that is known costs an access here
                             and one to n_cells, which stay in the cache */
    size_t       n, n_slots;
    bool         is_full; /* had to leave texts out */
} drove_dictionary;       /* zeroed: empty */

/* Adds a cell; cells come in the order of the content.  Errors: DROVE_E_NOMEM. */
drove_status drove__dictionary_add(drove_dictionary *dictionary, const drove_cell *cell,
                                   uint32_t hash);
/* Adds all of `other`, of any other cells of the content. */
drove_status drove__dictionary_merge(drove_dictionary *dictionary, const drove_dictionary *other);
void         drove__dictionary_fini(drove_dictionary *dictionary);

/* Never 0, which stands for a missing cell. */
uint32_t drove__text_hash(const char *text, size_t length);

#endif
