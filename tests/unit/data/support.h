/* tests/unit/data/support.h - small files and the usual questions about data sets. */
#ifndef DROVE_TEST_DATA_SUPPORT_H
#define DROVE_TEST_DATA_SUPPORT_H

#include "data/data.h"
#include "support/files.h"
#include "support/status.h"

#include <stdint.h>

void write_gzip(const char *path, const void *bytes, size_t size_bytes);
/* IDX of bytes: magic, type 0x08, dimensions, then bytes 0, 1, 2 ... (modulo `modulus`) times
 * `step`. */
void write_idx_file(const char *path, unsigned rank, const uint32_t *shape, unsigned modulus,
                    unsigned step);
/* NPY version 1 with this dictionary, then the content. */
void write_npy_file(const char *path, const char *dictionary, const void *content,
                    size_t size_bytes);

/* Opens and fails the test, with the error's text, unless that works. */
drove_data *open_data(const char *spec);
void        open_both(const char *spec, const char *test, uint64_t seed, drove_data **train,
                      drove_data **held_out);
/* Opening must fail with this status, and the error text must contain each of the words
 * (NULL-terminated). */
void expect_refusal(const char *spec, const char *test, drove_status status, ...)
    __attribute__((sentinel));

/* Value of a feature of row i of the view, as stored (unscaled); 0 where sparse data store none. */
float value_at(const drove_data *data, size_t i, size_t feature);
/* ... as a model sees it. */
float       scaled_at(const drove_data *data, size_t i, size_t feature);
const char *class_of(const drove_data *data, size_t i); /* name; valid until the next call */
float       target_of(const drove_data *data, size_t i);

/* Same rows, features, values and targets (by class name), row by row. */
void expect_same(const drove_data *a, const drove_data *b);

/* Path of a file of the real data sets, or NULL (and a line that says so) if it is not there. */
const char *real_file(const char *name);

#endif
