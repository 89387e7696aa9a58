/* base/unpack.h - decompressors as streams: gzip, raw deflate, bzip2, xz, zstd. */
#ifndef DROVE_BASE_UNPACK_H
#define DROVE_BASE_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct drove_unpack_io { /* of one step; both sides advance */
    const uint8_t *in;
    size_t         n_in;
    uint8_t       *out;
    size_t         n_out;
} drove_unpack_io;

typedef enum drove_unpack_result {
    DROVE_UNPACK_MORE, /* all input is consumed, or the output is full, or another step is due */
    DROVE_UNPACK_END,  /* a stream is complete; another one may follow */
    DROVE_UNPACK_DAMAGED,
    DROVE_UNPACK_NO_MEMORY
} drove_unpack_result;

typedef struct drove_unpack_ops {
    const char *name;    /* "gzip" */
    const char *command; /* writes the content to standard output: "gzip -dc" */
    const char *magic;   /* [n_magic] the first bytes of a file; n_magic 0: has none */
    size_t      n_magic;
    uint64_t    most_ratio; /* bytes of content per byte of the file; 0: no useful bound */
    /* Zeros may follow a stream, and then only a stream that begins with magic[0]. */
    bool        is_padded;
    const char *member; /* one of several streams: "member" */
    /* create NULL: this build lacks the library.  Returns NULL without memory. */
    void *(*create)(void);
    drove_unpack_result (*step)(void *state, drove_unpack_io *io, const char **why);
    bool (*again)(void *state); /* after the end of a stream; false: no memory */
    void (*destroy)(void *state);
} drove_unpack_ops;

/* The compression of a file that begins so; NULL: none of those that are known. */
const drove_unpack_ops *drove__unpack_find(const void *head, size_t n);

extern const drove_unpack_ops drove__unpack_deflate; /* without header and check, as in ZIP files */

enum { DROVE_UNPACK_MAGIC_MOST = 6 };

#endif
