/* data/read/npy.h - NumPy's array files (NumPy Enhancement Proposal 1): the header, and reading. */
#ifndef DROVE_DATA_READ_NPY_H
#define DROVE_DATA_READ_NPY_H

#include "base/file.h"
#include "data/data.h"
#include "data/read/labels.h"

#include <stddef.h>

enum { DROVE_NPY_HEADER_SIZE = 384 };

/* Writes the header of version 1 of an array of shape[rank] (rank 1 to 4) in C order, of elements
 * like "<f4"; returns its bytes, a multiple of 64.  The elements follow. */
size_t drove__npy_header(const char *type, unsigned rank, const size_t *shape,
                         char into[DROVE_NPY_HEADER_SIZE]);

typedef struct drove_npy_options {
    drove_label_options labels;
    enum { DROVE_CHANNELS_FIRST, DROVE_CHANNELS_LAST, DROVE_CHANNELS_BY_SHAPE } channels;
} drove_npy_options;
extern const drove_spec_key drove__npy_keys[];

/* Reads an array of examples and one of targets; y NULL: rows to predict, without targets.  The
 * caller closes both readers.  Errors: DROVE_E_DATA,
 * DROVE_E_UNSUPPORTED (column-major or big-endian arrays), DROVE_E_NOMEM. */
drove_status drove__npy_read_pair(drove_reader *x, drove_reader *y, const drove_npy_options *opt,
                                  const drove_shard *shard, drove_storage **out);

#endif
