/* tests/unit/data/quant_files.h - quantised files of every kind, and forged ones. */
#ifndef DROVE_TEST_DATA_QUANT_FILES_H
#define DROVE_TEST_DATA_QUANT_FILES_H

#include "support.h"

#include "data/disk/rows_file.h"

/* Files with every kind of target; the classes have names. */
void                     write_sources(void);
extern const char *const quant_sources[]; /* NULL-terminated, as are the precisions */
extern const char *const quant_dense[], *const quant_sparse[];

/* Writes a file `q`, replacing it. */
void convert(const drove_data *data, const char *to);
void convert_spec(const char *from, const char *to);

/* A part of the description is another one, or one byte of an array of the first block. */
typedef struct quant_forgery {
    const char *from, *precision, *part, *by;
    int         section; /* drove_rows_section; -1: none */
    size_t      at;
    char        byte;
    const char *word; /* of the error; NULL: may be accepted */
} quant_forgery;
extern const quant_forgery quant_forgeries[];
extern const size_t        quant_n_forgeries;

/* Rewrites q as `forged`, with the right checksums.  how NULL: all else is as it was. */
void quant_forge(const quant_forgery *how);

/* A file of rows, and where the arrays of a block of it lie. */
drove_blocks *open_rows(const char *path);
void          lay_out_block(const drove_blocks *b, size_t block, drove_rows_layout *lay);

#endif
