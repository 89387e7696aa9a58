/* data/npy.h - the header of NumPy's array files (NumPy Enhancement Proposal 1). */
#ifndef DROVE_DATA_NPY_H
#define DROVE_DATA_NPY_H

#include <stddef.h>

enum { DROVE_NPY_HEADER_SIZE = 384 };

/* Writes the header of version 1 of an array of shape[rank] (rank 1 to 4) in C order, of elements
 * like "<f4"; returns its bytes, a multiple of 64.  The elements follow. */
size_t drove__npy_header(const char *type, unsigned rank, const size_t *shape,
                         char into[DROVE_NPY_HEADER_SIZE]);

#endif
