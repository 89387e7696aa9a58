/* base/unpack.c - see unpack.h.  Each library behind the same four functions. */
#include "base/unpack.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#ifdef DROVE_HAVE_BZIP2
#include <bzlib.h>
#endif
#ifdef DROVE_HAVE_XZ
#include <lzma.h>
#endif
#ifdef DROVE_HAVE_ZSTD
#include <zstd.h>
#endif

/* The libraries count in unsigned int. */
static unsigned clamp(size_t n)
{
    return n < (1u << 30) ? (unsigned)n : 1u << 30;
}

/* ---- zlib ---- */

/* zlib: largest window, with gzip's header and check, or with neither */
enum { GZIP_WINDOW = 15 + 16, RAW_WINDOW = -15, DEFLATE_MOST_RATIO = 1100 };

static void *create_zlib(int window)
{
    z_stream *z = calloc(1, sizeof *z);
    if (z == NULL || inflateInit2(z, window) == Z_OK) return z;
    free(z);
    return NULL;
}

static void *create_gzip(void)
{
    return create_zlib(GZIP_WINDOW);
}

static void *create_deflate(void)
{
    return create_zlib(RAW_WINDOW);
}

static drove_unpack_result step_zlib(void *state, drove_unpack_io *io, const char **why)
{
    z_stream *z = state;
    const unsigned n_in = clamp(io->n_in), n_out = clamp(io->n_out);
    z->next_in = (Bytef *)(uintptr_t)io->in; /* zlib declares it without const */
    z->avail_in = n_in;
    z->next_out = io->out;
    z->avail_out = n_out;
    const int result = inflate(z, Z_NO_FLUSH);
    io->in += n_in - z->avail_in;
    io->n_in -= n_in - z->avail_in;
    io->out += n_out - z->avail_out;
    io->n_out -= n_out - z->avail_out;
    if (result == Z_STREAM_END) return DROVE_UNPACK_END;
    if (result == Z_OK || result == Z_BUF_ERROR) return DROVE_UNPACK_MORE;
    if (result == Z_MEM_ERROR) return DROVE_UNPACK_NO_MEMORY;
    *why = z->msg != NULL ? z->msg : "no detail";
    return DROVE_UNPACK_DAMAGED;
}

static bool again_zlib(void *state)
{
    return inflateReset(state) == Z_OK;
}

static void destroy_zlib(void *state)
{
    inflateEnd(state);
    free(state);
}

/* ---- bzip2 ---- */

#ifdef DROVE_HAVE_BZIP2

static void *create_bzip2(void)
{
    bz_stream *b = calloc(1, sizeof *b);
    if (b == NULL || BZ2_bzDecompressInit(b, 0, 0) == BZ_OK) return b;
    free(b);
    return NULL;
}

static drove_unpack_result step_bzip2(void *state, drove_unpack_io *io, const char **why)
{
    bz_stream *b = state;
    const unsigned n_in = clamp(io->n_in), n_out = clamp(io->n_out);
    b->next_in = (char *)(uintptr_t)io->in;
    b->avail_in = n_in;
    b->next_out = (char *)io->out;
    b->avail_out = n_out;
    const int result = BZ2_bzDecompress(b);
    io->in += n_in - b->avail_in;
    io->n_in -= n_in - b->avail_in;
    io->out += n_out - b->avail_out;
    io->n_out -= n_out - b->avail_out;
    if (result == BZ_STREAM_END) return DROVE_UNPACK_END;
    if (result == BZ_OK) return DROVE_UNPACK_MORE;
    if (result == BZ_MEM_ERROR) return DROVE_UNPACK_NO_MEMORY;
    *why = result == BZ_DATA_ERROR_MAGIC ? "expected another stream or the end of the file"
                                         : "its checksum or its structure is wrong";
    return DROVE_UNPACK_DAMAGED;
}

static bool again_bzip2(void *state)
{
    bz_stream *b = state;
    BZ2_bzDecompressEnd(b);
    memset(b, 0, sizeof *b);
    return BZ2_bzDecompressInit(b, 0, 0) == BZ_OK;
}

static void destroy_bzip2(void *state)
{
    BZ2_bzDecompressEnd(state);
    free(state);
}

#define BZIP2_FUNCTIONS                                                                            \
    .create = create_bzip2, .step = step_bzip2, .again = again_bzip2, .destroy = destroy_bzip2
#else
#define BZIP2_FUNCTIONS .create = NULL
#endif

/* ---- xz ---- */

#ifdef DROVE_HAVE_XZ

/* xz -9 needs 65 MiB to decompress; a header may ask for 4 GiB. */
#define XZ_MOST_MEMORY ((uint64_t)256 << 20)

static bool again_xz(void *state)
{
    return lzma_stream_decoder(state, XZ_MOST_MEMORY, 0) == LZMA_OK;
}

static void *create_xz(void)
{
    lzma_stream *x = calloc(1, sizeof *x);
    if (x == NULL || again_xz(x)) return x;
    free(x);
    return NULL;
}

static drove_unpack_result step_xz(void *state, drove_unpack_io *io, const char **why)
{
    lzma_stream *x = state;
    x->next_in = io->in;
    x->avail_in = io->n_in;
    x->next_out = io->out;
    x->avail_out = io->n_out;
    const lzma_ret result = lzma_code(x, LZMA_RUN);
    io->in = x->next_in;
    io->n_in = x->avail_in;
    io->out = x->next_out;
    io->n_out = x->avail_out;
    if (result == LZMA_STREAM_END) return DROVE_UNPACK_END;
    if (result == LZMA_OK || result == LZMA_BUF_ERROR) return DROVE_UNPACK_MORE;
    if (result == LZMA_MEM_ERROR) return DROVE_UNPACK_NO_MEMORY;
    *why = result == LZMA_MEMLIMIT_ERROR ? "it needs more than 256 MiB of memory to decompress"
           : result == LZMA_FORMAT_ERROR ? "expected another stream or the end of the file"
                                         : "its checksum or its structure is wrong";
    return DROVE_UNPACK_DAMAGED;
}

static void destroy_xz(void *state)
{
    lzma_end(state);
    free(state);
}

#define XZ_FUNCTIONS .create = create_xz, .step = step_xz, .again = again_xz, .destroy = destroy_xz
#else
#define XZ_FUNCTIONS .create = NULL
#endif

/* ---- zstd ---- */

#ifdef DROVE_HAVE_ZSTD

static void *create_zstd(void)
{
    return ZSTD_createDCtx();
}

static drove_unpack_result step_zstd(void *state, drove_unpack_io *io, const char **why)
{
    ZSTD_inBuffer in = {io->in, io->n_in, 0};
    ZSTD_outBuffer out = {io->out, io->n_out, 0};
    const size_t result = ZSTD_decompressStream(state, &out, &in);
    io->in += in.pos;
    io->n_in -= in.pos;
    io->out += out.pos;
    io->n_out -= out.pos;
    if (!ZSTD_isError(result)) return result == 0 ? DROVE_UNPACK_END : DROVE_UNPACK_MORE;
    *why = ZSTD_getErrorName(result);
    return DROVE_UNPACK_DAMAGED;
}

/* A context begins the next frame by itself. */
static bool again_zstd(void *state)
{
    (void)state;
    return true;
}

static void destroy_zstd(void *state)
{
    ZSTD_freeDCtx(state);
}

#define ZSTD_FUNCTIONS                                                                             \
    .create = create_zstd, .step = step_zstd, .again = again_zstd, .destroy = destroy_zstd
#else
#define ZSTD_FUNCTIONS .create = NULL
#endif

/* ---- the table ---- */

static const drove_unpack_ops all[] = {
    {.name = "gzip",
     .command = "gzip -dc",
     .magic = "\x1f\x8b",
     .n_magic = 2,
     .most_ratio = DEFLATE_MOST_RATIO, /* deflate reaches at most 1,032 */
     .is_padded = true,
     .member = "member",
     .create = create_gzip,
     .step = step_zlib,
     .again = again_zlib,
     .destroy = destroy_zlib},
    {.name = "bzip2",
     .command = "bzip2 -dc",
     .magic = "BZh",
     .n_magic = 3,
     .member = "stream",
     BZIP2_FUNCTIONS},
    {.name = "xz",
     .command = "xz -dc",
     .magic = "\xfd"
              "7zXZ\0",
     .n_magic = 6,
     .is_padded = true,
     .member = "stream",
     XZ_FUNCTIONS},
    {.name = "zstd",
     .command = "zstd -dc",
     .magic = "\x28\xb5\x2f\xfd",
     .n_magic = 4,
     .member = "frame",
     ZSTD_FUNCTIONS},
};

const drove_unpack_ops drove__unpack_deflate = {.name = "deflate",
                                                .most_ratio = DEFLATE_MOST_RATIO,
                                                .create = create_deflate,
                                                .step = step_zlib,
                                                .again = again_zlib,
                                                .destroy = destroy_zlib};

const drove_unpack_ops *drove__unpack_find(const void *head, size_t n)
{
    for (size_t i = 0; i < DROVE_COUNT(all); i++) {
        if (n >= all[i].n_magic && memcmp(head, all[i].magic, all[i].n_magic) == 0) return &all[i];
    }
    return NULL;
}
