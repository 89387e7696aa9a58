/* tests/unit/data/quant_files.h - quantised files of every kind, and forged ones. */
#ifndef DROVE_TEST_DATA_QUANT_FILES_H
#define DROVE_TEST_DATA_QUANT_FILES_H

#include "support.h"

/* Files with every kind of target; the classes have names. */
void                     write_sources(void);
extern const char *const quant_sources[]; /* NULL-terminated, as are the precisions */
extern const char *const quant_dense[], *const quant_sparse[];

/* Writes a file `q`, replacing it. */
void convert(const drove_data *data, const char *to);
void convert_spec(const char *from, const char *to);

/* One metadata value, or one byte of a tensor, is another one. */
typedef struct quant_forgery {
    const char *from, *precision, *key, *value, *tensor;
    size_t      at;
    char        byte;
    const char *word; /* of the error; NULL: may be accepted */
} quant_forgery;
extern const quant_forgery quant_forgeries[];
extern const size_t        quant_n_forgeries;

/* Rewrites q as `forged`, with the right checksums.  how NULL: all else is as it was. */
void quant_forge(const quant_forgery *how);

#endif
