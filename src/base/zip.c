/* base/zip.c - see zip.h.  Names of records and fields as in APPNOTE.TXT. */
#include "base/zip.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    END_BYTES = 22, /* end of central directory record, without its comment */
    COMMENT_MOST = 65535,
    LOCATOR_BYTES = 20, /* zip64 end of central directory locator               */
    END64_BYTES = 56,   /* zip64 end of central directory record                */
    ENTRY_BYTES = 46,   /* central directory header, without name and extra     */
    LOCAL_BYTES = 30,   /* local file header, likewise                          */
    STORED = 0,
    DEFLATED = 8,
    FLAG_ENCRYPTED = 1,
    EXTRA_ZIP64 = 1
};

static const size_t DIRECTORY_MOST = (size_t)256 << 20; /* bytes */

typedef struct zip_entry {
    char *name;
    uint64_t packed_bytes, size_bytes, offset; /* offset: of the local file header */
    uint32_t crc;
    unsigned method, flags;
} zip_entry;

struct drove_zip {
    char *path;
    int fd;
    uint64_t file_bytes;
    zip_entry *entry; /* [n] */
    size_t n, capacity;
};

static uint64_t number(const uint8_t *bytes, unsigned n_bytes)
{
    uint64_t value = 0;
    for (unsigned i = n_bytes; i-- > 0;) value = value << 8 | bytes[i];
    return value;
}

/* Reads n bytes at an offset, which must be in the file. */
static drove_status read_at(const drove_zip *zip, uint64_t offset, void *into, size_t n)
{
    if (offset > zip->file_bytes || n > zip->file_bytes - offset) {
        return drove__fail(DROVE_E_DATA,
                           "%s: truncated ZIP archive: expected %zu bytes at byte %llu, the file "
                           "has %llu",
                           zip->path, n, (unsigned long long)offset,
                           (unsigned long long)zip->file_bytes);
    }
    for (size_t done = 0; done < n;) {
        ssize_t now = pread(zip->fd, (char *)into + done, n - done, (off_t)(offset + done));
        if (now < 0 && errno == EINTR) continue;
        if (now <= 0)
            return drove__fail_errno(DROVE_E_IO, now < 0 ? errno : EIO, "%s: cannot be read",
                                     zip->path);
        done += (size_t)now;
    }
    return DROVE_OK;
}

/* ---- the end of the archive ---- */

typedef struct directory { /* where the central directory is */
    uint64_t offset, size_bytes, n;
} directory;

/* The zip64 records stand before the end record, at byte `end`; where they are absent, the
 * directory stays as it is. */
static drove_status read_end64(const drove_zip *zip, uint64_t end, directory *out)
{
    uint8_t locator[LOCATOR_BYTES], record[END64_BYTES];
    if (end < LOCATOR_BYTES) return DROVE_OK;
    DROVE_TRY(read_at(zip, end - LOCATOR_BYTES, locator, sizeof locator));
    if (memcmp(locator, "PK\6\7", 4) != 0) return DROVE_OK;
    uint64_t at = number(locator + 8, 8);
    DROVE_TRY(read_at(zip, at, record, sizeof record));
    if (memcmp(record, "PK\6\6", 4) != 0) {
        return drove__fail(DROVE_E_DATA,
                           "%s: byte %llu: expected the zip64 end of a ZIP archive's directory",
                           zip->path, (unsigned long long)at);
    }
    *out = (directory){.n = number(record + 32, 8),
                       .size_bytes = number(record + 40, 8),
                       .offset = number(record + 48, 8)};
    return DROVE_OK;
}

/* The last place where an end record, with its comment, ends the file. */
static drove_status find_end(const drove_zip *zip, directory *out)
{
    size_t n = END_BYTES + COMMENT_MOST;
    if (n > zip->file_bytes) n = (size_t)zip->file_bytes;
    uint8_t *tail = drove__grow(NULL, n + 1, 1);
    if (tail == NULL) return drove__fail_nomem(zip->path, n);
    drove_status status = read_at(zip, zip->file_bytes - n, tail, n);
    bool found = false;
    for (size_t i = n < END_BYTES ? 0 : n - END_BYTES + 1; status == DROVE_OK && i-- > 0;) {
        if (memcmp(tail + i, "PK\5\6", 4) != 0) continue;
        if (number(tail + i + 20, 2) != n - i - END_BYTES) continue;
        *out = (directory){.n = number(tail + i + 10, 2),
                           .size_bytes = number(tail + i + 12, 4),
                           .offset = number(tail + i + 16, 4)};
        status = read_end64(zip, zip->file_bytes - n + i, out);
        found = true;
        break;
    }
    free(tail);
    DROVE_TRY(status);
    if (found) return DROVE_OK;
    return drove__fail(DROVE_E_DATA,
                       "%s: no ZIP archive, or truncated: expected its directory at the end",
                       zip->path);
}

/* ---- the central directory ---- */

static drove_status fail_entry(const drove_zip *zip, const char *why)
{
    return drove__fail(DROVE_E_DATA, "%s: damaged ZIP directory, entry %zu: %s", zip->path,
                       zip->n + 1, why);
}

/* Fields of 32 bits that are all ones stand in the zip64 extra field, in this order. */
static drove_status read_extra(const drove_zip *zip, const uint8_t *extra, size_t n, zip_entry *e)
{
    uint64_t *const field[] = {&e->size_bytes, &e->packed_bytes, &e->offset};
    while (n >= 4) {
        size_t id = (size_t)number(extra, 2), size = (size_t)number(extra + 2, 2);
        const uint8_t *at = extra + 4;
        if (size > n - 4) return fail_entry(zip, "an extra field is longer than all of them");
        extra += 4 + size;
        n -= 4 + size;
        if (id != EXTRA_ZIP64) continue;
        for (size_t i = 0; i < DROVE_COUNT(field); i++) {
            if (*field[i] != UINT32_MAX) continue;
            if (size < 8) return fail_entry(zip, "its zip64 field is too short");
            *field[i] = number(at, 8);
            at += 8;
            size -= 8;
        }
    }
    return DROVE_OK;
}

/* One entry at *at; what stays of the directory is *left bytes. */
static drove_status read_entry(drove_zip *zip, const uint8_t **at, size_t *left)
{
    const uint8_t *h = *at;
    if (*left < ENTRY_BYTES || memcmp(h, "PK\1\2", 4) != 0)
        return fail_entry(zip, "expected a directory entry");
    size_t n_name = (size_t)number(h + 28, 2), n_extra = (size_t)number(h + 30, 2);
    size_t n_comment = (size_t)number(h + 32, 2), n = ENTRY_BYTES + n_name + n_extra + n_comment;
    if (n > *left) return fail_entry(zip, "it is longer than the directory");
    if (n_name == 0 || memchr(h + ENTRY_BYTES, '\0', n_name) != NULL)
        return fail_entry(zip, "expected a name without zero bytes");
    zip_entry *e = &zip->entry[zip->n];
    *e = (zip_entry){.flags = (unsigned)number(h + 8, 2),
                     .method = (unsigned)number(h + 10, 2),
                     .crc = (uint32_t)number(h + 16, 4),
                     .packed_bytes = number(h + 20, 4),
                     .size_bytes = number(h + 24, 4),
                     .offset = number(h + 42, 4)};
    DROVE_TRY(read_extra(zip, h + ENTRY_BYTES + n_name, n_extra, e));
    e->name = strndup((const char *)h + ENTRY_BYTES, n_name);
    if (e->name == NULL) return drove__fail_nomem(zip->path, n_name);
    zip->n++;
    *at += n;
    *left -= n;
    return DROVE_OK;
}

static drove_status read_directory(drove_zip *zip)
{
    directory d = {0};
    DROVE_TRY(find_end(zip, &d));
    if (d.size_bytes > DIRECTORY_MOST || d.n > d.size_bytes / ENTRY_BYTES) {
        return drove__fail(DROVE_E_DATA,
                           "%s: damaged ZIP archive: its directory declares %llu entries in %llu "
                           "bytes",
                           zip->path, (unsigned long long)d.n, (unsigned long long)d.size_bytes);
    }
    size_t left = (size_t)d.size_bytes;
    uint8_t *bytes = drove__grow(NULL, left + 1, 1);
    zip->entry = drove__grow(NULL, (size_t)d.n + 1, sizeof *zip->entry);
    drove_status status = DROVE_OK;
    if (bytes == NULL || zip->entry == NULL) status = drove__fail_nomem(zip->path, left);
    if (status == DROVE_OK) status = read_at(zip, d.offset, bytes, left);
    if (status == DROVE_OK) bytes[left] = '\0'; /* behind the last name */
    const uint8_t *at = bytes;
    while (status == DROVE_OK && zip->n < d.n) status = read_entry(zip, &at, &left);
    free(bytes);
    return status;
}

/* ---- public ---- */

drove_status drove__zip_open(const char *path, drove_zip **out)
{
    *out = NULL;
    drove_zip *zip = calloc(1, sizeof *zip);
    if (zip == NULL) return drove__fail_nomem(path, sizeof *zip);
    struct stat about;
    drove_status status;
    zip->fd = -1;
    zip->path = strdup(path);
    if (zip->path == NULL) {
        status = drove__fail_nomem(path, 1);
        goto fail;
    }
    zip->fd = open(zip->path, O_RDONLY | O_CLOEXEC);
    if (zip->fd < 0 || fstat(zip->fd, &about) != 0) {
        status =
            drove__fail_errno(drove__open_status(errno), errno, "%s: cannot be opened", zip->path);
        goto fail;
    }
    if (!S_ISREG(about.st_mode)) {
        status =
            drove__fail(DROVE_E_FILE,
                        "%s: expected a regular file, since a ZIP archive is read from its end",
                        zip->path);
        goto fail;
    }
    zip->file_bytes = (uint64_t)about.st_size;
    if ((status = read_directory(zip)) != DROVE_OK) goto fail;
    *out = zip;
    return DROVE_OK;
fail:
    drove__zip_close(zip);
    return status;
}

void drove__zip_close(drove_zip *zip)
{
    if (zip == NULL) return;
    for (size_t i = 0; i < zip->n; i++) free(zip->entry[i].name);
    free(zip->entry);
    free(zip->path);
    if (zip->fd >= 0) close(zip->fd);
    free(zip);
}

size_t drove__zip_count(const drove_zip *zip)
{
    return zip->n;
}

const char *drove__zip_name(const drove_zip *zip, size_t member)
{
    return zip->entry[member].name;
}

drove_status drove__zip_member(const drove_zip *zip, size_t member, drove_reader **out)
{
    const zip_entry *e = &zip->entry[member];
    uint8_t local[LOCAL_BYTES];
    *out = NULL;
    if ((e->flags & FLAG_ENCRYPTED) != 0 || (e->method != STORED && e->method != DEFLATED)) {
        return drove__fail(DROVE_E_UNSUPPORTED,
                           "%s:%s: expected a member that is stored or deflated, found %s %u "
                           "(7z x '%s' unpacks it)",
                           zip->path, e->name,
                           (e->flags & FLAG_ENCRYPTED) != 0 ? "an encrypted one, flags" : "method",
                           (e->flags & FLAG_ENCRYPTED) != 0 ? e->flags : e->method, zip->path);
    }
    DROVE_TRY(read_at(zip, e->offset, local, sizeof local));
    if (memcmp(local, "PK\3\4", 4) != 0) {
        return drove__fail(DROVE_E_DATA, "%s:%s: byte %llu: expected a member's header", zip->path,
                           e->name, (unsigned long long)e->offset);
    }
    /* the header is within the file, so the sum is far below 2^64 */
    const drove_section section = {.name = e->name,
                                   .offset = e->offset + LOCAL_BYTES + number(local + 26, 2) +
                                             number(local + 28, 2),
                                   .packed_bytes = e->packed_bytes,
                                   .size_bytes = e->size_bytes,
                                   .crc = e->crc,
                                   .is_deflated = e->method == DEFLATED};
    DROVE_TRY(drove__reader_open_section(zip->path, &section, out));
    const drove_status status = drove__reader_check_unpacked(*out, e->size_bytes);
    if (status == DROVE_OK) return DROVE_OK;
    drove__reader_close(*out);
    *out = NULL;
    return status;
}
