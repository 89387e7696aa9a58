/* data/fingerprint.h - which data these are: what a saved state compares before it goes on. */
#ifndef DROVE_DATA_FINGERPRINT_H
#define DROVE_DATA_FINGERPRINT_H

#include "data/data.h"

enum { DROVE_MOST_ROW_PARTS = 3, DROVE_FINGERPRINT_ROWS = 4096 };

typedef struct drove_row_part {
    const void *bytes;
    size_t      n;
} drove_row_part;

/* Where the bytes of a row of the storage lie: indices, values, and at last its label or value.
 * Returns how many. */
unsigned drove__row_parts(const drove_storage *storage, size_t row,
                          drove_row_part part[DROVE_MOST_ROW_PARTS]);

/* A checksum of the names of classes and columns and of at most DROVE_FINGERPRINT_ROWS rows,
 * evenly spread.  It tells other data, other labels and another order apart, but not one
 * changed number in a large set.  Errors: DROVE_E_NOMEM. */
drove_status drove__data_fingerprint(const drove_storage *storage, uint64_t *out);
/* The same of the names alone, whatever rows there are. */
drove_status drove__data_fingerprint_names(const drove_storage *storage, uint64_t *out);

#endif
