/* stream/sample.h - rows of some blocks of a file, in memory. */
#ifndef DROVE_STREAM_SAMPLE_H
#define DROVE_STREAM_SAMPLE_H

#include "data/disk/blocks.h"

/* Reads blocks number[n] and gives a view of most_rows of their rows, evenly, or of all.  Errors:
 * those of reading, DROVE_E_NOMEM. */
drove_status drove__sample_read(const drove_blocks *b, const uint64_t *number, size_t n,
                                size_t most_rows, drove_data **out);

#endif
