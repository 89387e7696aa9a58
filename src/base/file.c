/* base/file.c - the reader: plain or compressed, a file or standard input, bytes or lines.  The
 * writer: base/writer.c.
 *
 * Content passes through one buffer of BUFFER_BYTES.  A request for at least that much goes
 * straight into the caller's memory.  A compressed file may have several streams one after the
 * other.  A section is a part of a file, stored or deflated, whose size and CRC-32 are known
 * beforehand.  Text in another encoding passes through one more buffer.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "base/file.h"

#include "base/decode.h"
#include "base/mem.h"
#include "base/memfile.h"
#include "base/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define BUFFER_BYTES    ((size_t)256 << 10)
#define LINE_MOST_BYTES ((size_t)64 << 20)

/* Bytes of UTF-8 of one byte of another encoding. */
enum { DECODED_MOST_RATIO = 4 };

#define UNPACKED_FREE ((uint64_t)256 << 20) /* bytes of content of any compression */
enum { UNPACKED_TIMES = 200 };              /* more may be so many times as large as compressed */

typedef struct section_left {           /* of a section while it is read */
    uint64_t disk_bytes, content_bytes; /* packed, and of content, that are not read yet */
    uint32_t crc, want_crc;             /* CRC-32 so far, and of the whole content       */
} section_left;

struct drove_reader {
    char *path;
    int fd;
    bool is_input; /* standard input                                                    */
    bool is_section;
    drove_memfile *memory; /* a file in memory, of which piece is the rest; one reference  */
    const char *piece;     /* text in memory instead of fd ...                             */
    size_t piece_left;     /* ... that is not read yet                                     */
    section_left section;  /* where is_section                                         */
    bool disk_ended;       /* fd is at its end                                              */
    const drove_unpack_ops *unpack;  /* NULL: neither compressed nor a deflated section      */
    void *unpacker;                  /* its state                                            */
    bool is_in_stream;               /* the current compressed stream is not complete        */
    uint8_t *packed;                 /* [BUFFER_BYTES] compressed bytes                      */
    size_t packed_begin, packed_end; /* packed[begin .. end) is not consumed yet            */
    drove_decoder *decoder;          /* NULL: bytes are delivered as they are                */
    uint8_t *raw;                    /* [BUFFER_BYTES] bytes to be decoded                   */
    size_t raw_begin, raw_end;
    bool raw_ended;
    uint64_t disk_bytes;   /* read from fd so far                                           */
    uint64_t most_bytes;   /* as drove__reader_most_bytes                                  */
    uint64_t packed_bytes; /* compressed: of the file or section; UINT64_MAX: not known   */
    uint64_t consumed;     /* bytes of content delivered                                    */
    uint64_t line_number;
    char *content;     /* [BUFFER_BYTES + 1] the last byte is for the NUL of a line     */
    size_t begin, end; /* content[begin .. end) is not consumed yet                     */
    char *line;        /* [line_capacity] a line that spans several buffers             */
    size_t line_capacity;
};

/* ---- reading the disk and decompressing ---- */

static drove_status read_disk(drove_reader *r, void *into, size_t size_bytes, size_t *n_read)
{
    ssize_t n;
    if (r->piece != NULL) {
        *n_read = size_bytes < r->piece_left ? size_bytes : r->piece_left;
        memcpy(into, r->piece, *n_read);
        r->piece += *n_read;
        r->piece_left -= *n_read;
        r->disk_ended = *n_read == 0;
        return DROVE_OK;
    }
    if (r->is_section && size_bytes > r->section.disk_bytes)
        size_bytes = (size_t)r->section.disk_bytes;
    do {
        n = read(r->fd, into, size_bytes);
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return drove__fail_errno(drove__open_status(errno), errno, "%s: cannot be read", r->path);
    r->disk_bytes += (uint64_t)n;
    r->disk_ended = n == 0;
    if (r->is_section) r->section.disk_bytes -= (uint64_t)n;
    *n_read = (size_t)n;
    return DROVE_OK;
}

/* Bytes of the file that have been decompressed. */
static unsigned long long unpacked_up_to(const drove_reader *r)
{
    return (unsigned long long)(r->disk_bytes - (r->packed_end - r->packed_begin));
}

static drove_status refill_packed(drove_reader *r)
{
    size_t n = 0;
    if (r->packed_begin < r->packed_end || r->disk_ended) return DROVE_OK;
    DROVE_TRY(read_disk(r, r->packed, BUFFER_BYTES, &n));
    r->packed_begin = 0;
    r->packed_end = n;
    return DROVE_OK;
}

/* Between two streams: sets is_in_stream if another one follows.  At the end of the file leaves it
 * unset, with nothing left to read. */
static drove_status next_stream(drove_reader *r)
{
    const drove_unpack_ops *u = r->unpack;
    do {
        DROVE_TRY(refill_packed(r));
        while (u->is_padded && r->packed_begin < r->packed_end && r->packed[r->packed_begin] == 0)
            r->packed_begin++;
    } while (r->packed_begin == r->packed_end && !r->disk_ended);
    if (r->packed_begin == r->packed_end) return DROVE_OK;
    if (u->is_padded && r->packed[r->packed_begin] != (uint8_t)u->magic[0]) {
        return drove__fail(DROVE_E_DATA,
                           "%s: expected another %s %s or the end of the file at "
                           "byte %llu, found byte value %u",
                           r->path, u->name, u->member, unpacked_up_to(r),
                           (unsigned)r->packed[r->packed_begin]);
    }
    if (!u->again(r->unpacker))
        return drove__fail(DROVE_E_NOMEM, "%s: not enough memory to decompress", r->path);
    r->is_in_stream = true;
    return DROVE_OK;
}

/* Up to size_bytes of content; *n_read == 0 only at the end of the last stream. */
static drove_status read_packed(drove_reader *r, void *into, size_t size_bytes, size_t *n_read)
{
    const drove_unpack_ops *u = r->unpack;
    const char *why = "no detail";
    drove_unpack_io io = {.out = into, .n_out = size_bytes};
    while (io.n_out > 0) {
        if (!r->is_in_stream) {
            if (r->is_section) break;
            DROVE_TRY(next_stream(r));
            if (!r->is_in_stream) break;
        }
        DROVE_TRY(refill_packed(r));
        io.in = r->packed + r->packed_begin;
        io.n_in = r->packed_end - r->packed_begin;
        const drove_unpack_result result = u->step(r->unpacker, &io, &why);
        r->packed_begin = r->packed_end - io.n_in;
        if (result == DROVE_UNPACK_END) {
            r->is_in_stream = false;
        } else if (result == DROVE_UNPACK_NO_MEMORY) {
            return drove__fail(DROVE_E_NOMEM, "%s: not enough memory to decompress", r->path);
        } else if (io.n_in == 0 && r->disk_ended && io.n_out > 0) {
            return drove__fail(DROVE_E_DATA,
                               "%s: truncated: the %s ends at byte %llu, inside its %s stream",
                               r->path, r->is_section ? "member" : "file", unpacked_up_to(r),
                               u->name);
        } else if (result == DROVE_UNPACK_DAMAGED) {
            return drove__fail(DROVE_E_DATA, "%s: damaged %s stream near byte %llu: %s", r->path,
                               u->name, unpacked_up_to(r), why);
        }
    }
    *n_read = size_bytes - io.n_out;
    return DROVE_OK;
}

/* The first bytes of the file are in r->content, or none where it is a section. */
static drove_status start_unpacking(drove_reader *r, const drove_unpack_ops *unpack)
{
    if (unpack->create == NULL)
        return drove__fail(DROVE_E_UNSUPPORTED,
                           "%s: is compressed with %s, which this build cannot read (%s '%s' "
                           "decompresses it)",
                           r->path, unpack->name, unpack->command, r->path);
    r->packed = malloc(BUFFER_BYTES);
    r->unpacker = unpack->create();
    if (r->packed == NULL || r->unpacker == NULL)
        return drove__fail(DROVE_E_NOMEM, "%s: not enough memory to decompress", r->path);
    r->unpack = unpack;
    r->is_in_stream = true;
    memcpy(r->packed, r->content, r->end);
    r->packed_end = r->end;
    r->end = 0;
    r->packed_bytes = r->is_section ? r->section.disk_bytes : r->most_bytes;
    if (r->is_section) return DROVE_OK;
    if (unpack->most_ratio == 0 ||
        __builtin_mul_overflow(r->most_bytes, unpack->most_ratio, &r->most_bytes))
        r->most_bytes = UINT64_MAX;
    return DROVE_OK;
}

/* Of a section counts the content, checks its size and, with the last byte, its CRC-32. */
static drove_status read_bytes(drove_reader *r, void *into, size_t size_bytes, size_t *n_read)
{
    if (r->unpack != NULL) DROVE_TRY(read_packed(r, into, size_bytes, n_read));
    else DROVE_TRY(read_disk(r, into, size_bytes, n_read));
    if (!r->is_section) return DROVE_OK;
    const size_t n = *n_read;
    if (n > r->section.content_bytes || (n == 0 && r->section.content_bytes > 0)) {
        return drove__fail(DROVE_E_DATA,
                           "%s: damaged: its content is %s than its directory entry says", r->path,
                           n == 0 ? "shorter" : "longer");
    }
    if (n == 0) return DROVE_OK;
    r->section.crc = (uint32_t)crc32_z(r->section.crc, into, n);
    r->section.content_bytes -= n;
    if (r->section.content_bytes > 0 || r->section.crc == r->section.want_crc) return DROVE_OK;
    return drove__fail(DROVE_E_DATA, "%s: damaged: expected CRC-32 0x%08x, found 0x%08x", r->path,
                       r->section.want_crc, r->section.crc);
}

/* size_bytes >= BUFFER_BYTES. */
static drove_status read_content(drove_reader *r, void *into, size_t size_bytes, size_t *n_read)
{
    if (r->decoder == NULL) return read_bytes(r, into, size_bytes, n_read);
    for (*n_read = 0; *n_read == 0;) {
        size_t n = r->raw_end - r->raw_begin, n_more = 0;
        if (r->raw_ended && n == 0) return DROVE_OK;
        memmove(r->raw, r->raw + r->raw_begin, n);
        if (!r->raw_ended && n < BUFFER_BYTES) {
            DROVE_TRY(read_bytes(r, r->raw + n, BUFFER_BYTES - n, &n_more));
            r->raw_ended = n_more == 0;
        }
        const uint8_t *in = r->raw;
        r->raw_end = n += n_more;
        *n_read = drove__decoder_step(r->decoder, &in, &n, r->raw_ended, into, size_bytes);
        r->raw_begin = r->raw_end - n;
    }
    return DROVE_OK;
}

/* ---- opening ---- */

drove_status drove__fail_url(const char *url)
{
    const size_t n_scheme = strspn(url, "abcdefghijklmnopqrstuvwxyz0123456789+.-");
    const size_t n = strncmp(url + n_scheme, "://", 3) == 0 ? n_scheme : 0; /* 0: it is no URL */
    const size_t n_path = strcspn(url, "?#");
    size_t begin = n_path;
    while (begin > 0 && url[begin - 1] != '/') begin--;
    const bool has_name = begin > n + 3 && begin < n_path;
    const int n_name = has_name ? (int)(n_path - begin) : (int)strlen("FILE");
    const char *name = has_name ? url + begin : "FILE";
    if (n == 0 || strchr(url, '\'') != NULL) return DROVE_OK;
    if (strncmp(url, "file", n) == 0)
        return drove__fail(DROVE_E_FILE, "%s: expected a path, found a URL (%s is the path)", url,
                           url + n + 3);
    if (strncmp(url, "http", 4) != 0 && strncmp(url, "ftp", 3) != 0)
        return drove__fail(DROVE_E_FILE,
                           "%s: expected a file, found the address of a store (its own program "
                           "copies it to a file, which drove reads, or to a pipe: drove ... -)",
                           url);
    return drove__fail(DROVE_E_FILE,
                       "%s: expected a file, found a URL (curl -fL -o '%.*s' '%s' fetches it)", url,
                       n_name, name, url);
}

static const char *const compressions[] = {".gz", ".bz2", ".xz", ".zst", ".zip"};

size_t drove__compression_ending(const char *path, size_t n)
{
    for (size_t i = 0; i < DROVE_COUNT(compressions); i++) {
        const size_t n_ending = strlen(compressions[i]);
        if (n > n_ending && strncasecmp(path + n - n_ending, compressions[i], n_ending) == 0)
            return n_ending;
    }
    return 0;
}

/* For a missing file: names FILE with or without the ending of a compression, if that exists. */
static drove_status fail_to_open(const char *path, int error)
{
    char other[4096];
    const size_t length = strlen(path), n_ending = drove__compression_ending(path, length);
    if (error == ENOENT || error == ENOTDIR) DROVE_TRY(drove__fail_url(path));
    for (size_t i = 0;
         error == ENOENT && length + 5 < sizeof other && i < DROVE_COUNT(compressions); i++) {
        snprintf(other, sizeof other, "%.*s%s", (int)(length - n_ending), path,
                 n_ending > 0 ? "" : compressions[i]);
        if (access(other, F_OK) == 0)
            return drove__fail(DROVE_E_FILE, "%s: no such file; did you mean %s?", path, other);
    }
    return drove__fail_errno(drove__open_status(error), error, "%s: cannot be opened", path);
}

/* Detects compression by the first bytes of the file. */
static drove_status detect_compression(drove_reader *r)
{
    while (r->end < DROVE_UNPACK_MAGIC_MOST && !r->disk_ended) {
        size_t n = 0;
        DROVE_TRY(read_disk(r, r->content + r->end, BUFFER_BYTES - r->end, &n));
        r->end += n;
    }
    const drove_unpack_ops *unpack = drove__unpack_find(r->content, r->end);
    return unpack != NULL ? start_unpacking(r, unpack) : DROVE_OK;
}

drove_status drove__reader_open(const char *path, drove_reader **out)
{
    *out = NULL;
    drove_reader *r = calloc(1, sizeof *r);
    if (r == NULL) return drove__fail_nomem(path, sizeof *r);
    r->fd = -1;
    r->is_input = strcmp(path, "-") == 0;
    r->path = strdup(r->is_input ? "standard input" : path);
    r->content = malloc(BUFFER_BYTES + 1);
    r->memory = drove__memfile_find(path);
    drove_status status;
    struct stat about;
    if (r->path == NULL || r->content == NULL) {
        status = drove__fail_nomem(path, BUFFER_BYTES);
        goto fail;
    }
    if (r->memory != NULL) {
        r->piece = r->memory->n_bytes > 0 ? r->memory->bytes : "";
        r->piece_left = r->most_bytes = r->memory->n_bytes;
    } else {
        r->fd = r->is_input ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                            : open(r->path, O_RDONLY | O_CLOEXEC);
        const int error = r->fd < 0 || fstat(r->fd, &about) != 0 ? errno
                          : S_ISDIR(about.st_mode)               ? EISDIR
                                                                 : 0;
        if (error != 0) {
            status = fail_to_open(r->path, error);
            goto fail;
        }
        r->most_bytes = S_ISREG(about.st_mode) ? (uint64_t)about.st_size : UINT64_MAX;
    }
    if ((status = detect_compression(r)) != DROVE_OK) goto fail;
    *out = r;
    return DROVE_OK;
fail:
    drove__reader_close(r);
    return status;
}

drove_status drove__reader_open_piece(const char *path, const drove_piece *piece,
                                      drove_reader **out)
{
    *out = NULL;
    if (piece == NULL) return drove__reader_open(path, out);
    drove_reader *r = calloc(1, sizeof *r);
    if (r == NULL) return drove__fail_nomem(path, sizeof *r);
    r->fd = -1;
    r->path = strdup(path);
    r->content = malloc(BUFFER_BYTES + 1);
    r->piece = piece->text;
    r->piece_left = piece->n;
    r->most_bytes = piece->n;
    r->line_number = piece->first_line - 1;
    if (r->path == NULL || r->content == NULL) {
        drove__reader_close(r);
        return drove__fail_nomem(path, BUFFER_BYTES);
    }
    *out = r;
    return DROVE_OK;
}

/* Refuses a section that is not in the file, or that declares more than it can hold. */
static drove_status check_bounds(const drove_reader *r, const drove_section *s)
{
    uint64_t most = s->packed_bytes;
    if (s->offset > r->most_bytes || s->packed_bytes > r->most_bytes - s->offset) {
        return drove__fail(DROVE_E_DATA,
                           "%s: truncated: needs %llu bytes from byte %llu on; the file has %llu",
                           r->path, (unsigned long long)s->packed_bytes,
                           (unsigned long long)s->offset, (unsigned long long)r->most_bytes);
    }
    if (s->is_deflated && __builtin_mul_overflow(most, drove__unpack_deflate.most_ratio, &most))
        most = UINT64_MAX;
    if (s->is_deflated ? s->size_bytes <= most : s->size_bytes == most) return DROVE_OK;
    return drove__fail(DROVE_E_DATA, "%s: declares %llu bytes, but has %llu%s", r->path,
                       (unsigned long long)s->size_bytes, (unsigned long long)s->packed_bytes,
                       s->is_deflated ? " compressed ones" : "");
}

drove_status drove__reader_open_section(const char *path, const drove_section *section,
                                        drove_reader **out)
{
    *out = NULL;
    drove_reader *r = calloc(1, sizeof *r);
    if (r == NULL) return drove__fail_nomem(path, sizeof *r);
    r->fd = -1;
    r->path = strdup(path);
    r->content = malloc(BUFFER_BYTES + 1);
    drove_status status;
    struct stat about;
    if (r->path == NULL || r->content == NULL) {
        status = drove__fail_nomem(path, BUFFER_BYTES);
        goto fail;
    }
    r->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (r->fd < 0 || fstat(r->fd, &about) != 0) {
        status = fail_to_open(path, errno);
        goto fail;
    }
    r->most_bytes = S_ISREG(about.st_mode) ? (uint64_t)about.st_size : 0;
    const size_t size = strlen(path) + strlen(section->name) + 2;
    char *name = malloc(size);
    if (name == NULL) {
        status = drove__fail_nomem(path, size);
        goto fail;
    }
    snprintf(name, size, "%s:%s", path, section->name);
    free(r->path);
    r->path = name;
    if ((status = check_bounds(r, section)) != DROVE_OK) goto fail;
    if (lseek(r->fd, (off_t)section->offset, SEEK_SET) < 0) {
        status = drove__fail_errno(DROVE_E_IO, errno, "%s: cannot be read", r->path);
        goto fail;
    }
    r->most_bytes = r->section.content_bytes = section->size_bytes;
    r->section.disk_bytes = section->packed_bytes;
    r->section.want_crc = section->crc;
    r->is_section = true;
    if (section->is_deflated && (status = start_unpacking(r, &drove__unpack_deflate)) != DROVE_OK)
        goto fail;
    *out = r;
    return DROVE_OK;
fail:
    drove__reader_close(r);
    return status;
}

void drove__reader_close(drove_reader *r)
{
    if (r == NULL) return;
    if (r->unpack != NULL) r->unpack->destroy(r->unpacker);
    drove__decoder_destroy(r->decoder);
    if (r->fd >= 0) close(r->fd);
    drove__memfile_release(r->memory);
    free(r->packed);
    free(r->raw);
    free(r->content);
    free(r->line);
    free(r->path);
    free(r);
}

/* ---- reading ---- */

/* Fills an empty buffer; it stays empty only at the end of the content. */
static drove_status fill(drove_reader *r)
{
    if (r->begin < r->end) return DROVE_OK;
    size_t n = 0;
    DROVE_TRY(read_content(r, r->content, BUFFER_BYTES, &n));
    r->begin = 0;
    r->end = n;
    return DROVE_OK;
}

drove_status drove__reader_head(drove_reader *r, const char **head, size_t *n)
{
    DROVE_TRY(fill(r));
    *head = r->content + r->begin;
    *n = r->end - r->begin;
    return DROVE_OK;
}

drove_status drove__reader_decode(drove_reader *r, const char *encoding)
{
    const char *head;
    size_t n, mark_bytes = 0;
    DROVE_TRY(drove__reader_head(r, &head, &n));
    const char *marked = drove__decode_mark(head, n, &mark_bytes);
    if (marked != NULL) encoding = marked;
    if (encoding == NULL || drove__decode_is_utf8(encoding)) return DROVE_OK;
    DROVE_TRY(drove__decoder_create(encoding, &r->decoder));
    r->raw = malloc(BUFFER_BYTES);
    if (r->raw == NULL) return drove__fail_nomem(r->path, BUFFER_BYTES);
    memcpy(r->raw, head + mark_bytes, n - mark_bytes);
    r->raw_end = n - mark_bytes;
    r->begin = r->end = 0;
    if (__builtin_mul_overflow(r->most_bytes, (uint64_t)DECODED_MOST_RATIO, &r->most_bytes))
        r->most_bytes = UINT64_MAX;
    return DROVE_OK;
}

uint64_t drove__reader_n_replaced(const drove_reader *r)
{
    return r->decoder != NULL ? drove__decoder_n_replaced(r->decoder) : 0;
}

drove_status drove__reader_read_some(drove_reader *r, void *into, size_t size_bytes, size_t *n_read)
{
    size_t n = 0;
    if (size_bytes >= BUFFER_BYTES && r->begin == r->end) {
        DROVE_TRY(read_content(r, into, size_bytes, &n));
    } else {
        DROVE_TRY(fill(r));
        n = r->end - r->begin;
        if (n > size_bytes) n = size_bytes;
        memcpy(into, r->content + r->begin, n);
        r->begin += n;
    }
    r->consumed += n;
    *n_read = n;
    return DROVE_OK;
}

static drove_status fail_early_end(const drove_reader *r, uint64_t n_missing)
{
    return drove__fail(DROVE_E_DATA, "%s: ends at byte %llu%s; expected %llu more", r->path,
                       (unsigned long long)r->consumed,
                       r->unpack != NULL ? " of its decompressed content" : "",
                       (unsigned long long)n_missing);
}

drove_status drove__reader_read(drove_reader *r, void *into, size_t size_bytes)
{
    size_t done = 0;
    while (done < size_bytes) {
        size_t n = 0;
        DROVE_TRY(drove__reader_read_some(r, (char *)into + done, size_bytes - done, &n));
        if (n == 0) return fail_early_end(r, size_bytes - done);
        done += n;
    }
    return DROVE_OK;
}

drove_status drove__reader_read_at(const drove_reader *r, uint64_t offset, void *into,
                                   size_t size_bytes, size_t *n_read)
{
    size_t n_done = 0;
    while (n_done < size_bytes) {
        ssize_t n =
            pread(r->fd, (char *)into + n_done, size_bytes - n_done, (off_t)(offset + n_done));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0)
            return drove__fail_errno(drove__open_status(errno), errno, "%s: cannot be read",
                                     r->path);
        if (n == 0) break;
        n_done += (size_t)n;
    }
    *n_read = n_done;
    return DROVE_OK;
}

drove_status drove__reader_skip(drove_reader *r, uint64_t size_bytes)
{
    bool seeks = r->piece == NULL && !r->is_section && r->unpack == NULL && r->decoder == NULL &&
                 r->most_bytes != UINT64_MAX;
    while (size_bytes > 0) {
        bool fits = r->most_bytes >= r->consumed && size_bytes <= r->most_bytes - r->consumed;
        if (r->begin == r->end && seeks && fits) {
            if (lseek(r->fd, (off_t)size_bytes, SEEK_CUR) < 0)
                return drove__fail_errno(DROVE_E_IO, errno, "%s: cannot be read", r->path);
            r->consumed += size_bytes;
            return DROVE_OK;
        }
        DROVE_TRY(fill(r));
        uint64_t n = r->end - r->begin < size_bytes ? r->end - r->begin : size_bytes;
        if (n == 0) return fail_early_end(r, size_bytes);
        r->begin += n;
        r->consumed += n;
        size_bytes -= n;
    }
    return DROVE_OK;
}

/* Appends bytes to r->line[*length], with room for a NUL. */
static drove_status append_to_line(drove_reader *r, const char *bytes, size_t size_bytes,
                                   size_t *length)
{
    size_t needed = *length + size_bytes + 1;
    if (needed > LINE_MOST_BYTES + 1) {
        return drove__fail(DROVE_E_DATA, "%s:%llu: expected lines of at most %zu bytes, found more",
                           r->path, (unsigned long long)r->line_number + 1, LINE_MOST_BYTES);
    }
    if (needed > r->line_capacity) {
        size_t capacity = needed <= LINE_MOST_BYTES / 2 ? 2 * needed : LINE_MOST_BYTES + 1;
        char *line = realloc(r->line, capacity);
        if (line == NULL) return drove__fail_nomem(r->path, capacity);
        r->line = line;
        r->line_capacity = capacity;
    }
    memcpy(r->line + *length, bytes, size_bytes);
    *length += size_bytes;
    return DROVE_OK;
}

drove_status drove__reader_line(drove_reader *r, char **line, size_t *length)
{
    char *found = NULL;
    size_t n = 0;
    bool complete = false;
    while (!complete) {
        DROVE_TRY(fill(r));
        if (r->begin == r->end) break;
        char *start = r->content + r->begin;
        const size_t available = r->end - r->begin;
        char *newline = memchr(start, '\n', available);
        const size_t n_part = newline != NULL ? (size_t)(newline - start) : available;
        complete = newline != NULL;
        if (complete && n == 0) { /* all in the buffer: no copy */
            found = start;
            n = n_part;
        } else {
            DROVE_TRY(append_to_line(r, start, n_part, &n));
            found = r->line;
        }
        r->begin += n_part + complete;
        r->consumed += n_part + complete;
    }
    *line = found;
    *length = 0;
    if (found == NULL) return DROVE_OK;
    if (n > 0 && found[n - 1] == '\r') n--;
    found[n] = '\0';
    *length = n;
    r->line_number++;
    return DROVE_OK;
}

const char *drove__reader_path(const drove_reader *r)
{
    return r->path;
}

uint64_t drove__reader_line_number(const drove_reader *r)
{
    return r->line_number;
}

uint64_t drove__reader_offset(const drove_reader *r)
{
    return r->consumed;
}

uint64_t drove__reader_most_bytes(const drove_reader *r)
{
    return r->most_bytes;
}

drove_status drove__reader_check_unpacked(const drove_reader *r, uint64_t size_bytes)
{
    if (r->unpack == NULL || size_bytes <= UNPACKED_FREE ||
        size_bytes / UNPACKED_TIMES <= r->packed_bytes)
        return DROVE_OK;
    if (r->is_section)
        return drove__fail(DROVE_E_UNSUPPORTED,
                           "%s: expected a member that unpacks to at most %d times its size, found "
                           "%llu bytes that would be %llu: unpack the archive, if it is meant",
                           r->path, UNPACKED_TIMES, (unsigned long long)r->packed_bytes,
                           (unsigned long long)size_bytes);
    return drove__fail(DROVE_E_UNSUPPORTED,
                       "%s: expected a file that unpacks to at most %d times its size, found %llu "
                       "bytes that would be %llu: unpack it first (%s '%s'), if it is meant",
                       r->path, UNPACKED_TIMES, (unsigned long long)r->packed_bytes,
                       (unsigned long long)size_bytes, r->unpack->command, r->path);
}

uint64_t drove__reader_plain_bytes(const drove_reader *r)
{
    return r->unpack != NULL || r->decoder != NULL ? UINT64_MAX : r->most_bytes;
}

bool drove__reader_is_regular(const drove_reader *r)
{
    return r->piece == NULL && !r->is_input && !r->is_section && r->unpack == NULL &&
           r->decoder == NULL && r->most_bytes != UINT64_MAX;
}

bool drove__is_folder(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

drove_status drove__file_load(const char *path, size_t most_bytes, char **out, size_t *size_bytes)
{
    drove_reader *r;
    char *text = NULL;
    size_t used = 0, capacity = 4096, n;
    DROVE_TRY(drove__reader_open(path, &r));
    drove_status status = DROVE_OK;
    do {
        capacity *= 2;
        char *grown = realloc(text, capacity);
        if (grown == NULL) {
            status = drove__fail_nomem(path, capacity);
            goto done;
        }
        text = grown;
        do {
            status = drove__reader_read_some(r, text + used, capacity - 1 - used, &n);
            if (status != DROVE_OK) goto done;
            used += n;
        } while (n > 0 && used < capacity - 1);
        if (used > most_bytes) {
            status = drove__fail(DROVE_E_DATA, "%s: expected at most %zu bytes, found more", path,
                                 most_bytes);
            goto done;
        }
    } while (n > 0);
    text[used] = '\0';
    *out = text;
    *size_bytes = used;
    text = NULL;
done:
    free(text);
    drove__reader_close(r);
    return status;
}

char *drove__path_join(const char *folder, const char *name)
{
    size_t size = strlen(folder) + strlen(name) + 2;
    char *path = malloc(size);
    if (path != NULL) snprintf(path, size, "%s/%s", folder, name);
    return path;
}
