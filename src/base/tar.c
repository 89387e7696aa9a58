/* base/tar.c - see tar.h.  Fields as in POSIX.1-2017, pax, "ustar Interchange Format". */
#include "base/tar.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BLOCK = 512,
    NAME = 0, /* offsets in a header, and sizes */
    NAME_SIZE = 100,
    SIZE = 124,
    SIZE_SIZE = 12,
    CHECKSUM = 148,
    CHECKSUM_SIZE = 8,
    TYPE = 156,
    MAGIC = 257,
    PREFIX = 345,
    PREFIX_SIZE = 155,
    EXTENSION_MOST = 1 << 20 /* bytes of a long name, or of a pax header */
};

struct drove_tar {
    drove_reader *reader;
    drove_tar_member member; /* name: NULL before the first */
    uint64_t left;           /* content of the current member that is not read, with its padding */
    char *name;              /* of the current member */
    char *long_name;         /* for the next member, from an extension; NULL: none */
    uint64_t long_size;      /* likewise; UINT64_MAX: none */
};

static drove_status fail(const drove_tar *t, uint64_t offset, const char *expected)
{
    return drove__fail(DROVE_E_DATA, "%s: byte %llu: damaged tar archive: expected %s",
                       drove__reader_path(t->reader), (unsigned long long)offset, expected);
}

/* ---- numbers ---- */

/* Octal digits with blanks around, or, after a first byte of 0x80, base 256. */
static bool scan_number(const uint8_t *field, size_t n, uint64_t *out)
{
    uint64_t value = 0;
    size_t i = 0;
    if (field[0] == 0x80) {
        for (i = 1; i < n; i++) {
            if (value >> 56 != 0) return false;
            value = value << 8 | field[i];
        }
        *out = value;
        return value <= INT64_MAX;
    }
    while (i < n && field[i] == ' ') i++;
    size_t first = i;
    for (; i < n && field[i] >= '0' && field[i] <= '7'; i++) value = value << 3 | (field[i] - '0');
    if (i == first || (i < n && field[i] != ' ' && field[i] != '\0')) return false;
    *out = value;
    return true;
}

/* The sum of all bytes, with blanks where the sum stands; old programs took bytes as signed. */
static bool sum_is_right(const uint8_t *block)
{
    uint64_t wanted;
    int64_t sum = 0, signed_sum = 0;
    for (size_t i = 0; i < BLOCK; i++) {
        bool is_sum = i >= CHECKSUM && i < CHECKSUM + CHECKSUM_SIZE;
        sum += is_sum ? ' ' : block[i];
        signed_sum += is_sum ? ' ' : (int8_t)block[i];
    }
    if (!scan_number(block + CHECKSUM, CHECKSUM_SIZE, &wanted)) return false;
    return (int64_t)wanted == sum || (int64_t)wanted == signed_sum;
}

static uint64_t padding(uint64_t size_bytes)
{
    return (BLOCK - size_bytes % BLOCK) % BLOCK;
}

/* ---- extensions ---- */

static drove_status load(drove_tar *t, uint64_t size_bytes, size_t most, char **out)
{
    if (size_bytes > most) {
        return drove__fail(DROVE_E_DATA, "%s: byte %llu: expected at most %zu bytes, found %llu",
                           drove__reader_path(t->reader),
                           (unsigned long long)drove__reader_offset(t->reader), most,
                           (unsigned long long)size_bytes);
    }
    uint64_t n_file = drove__reader_most_bytes(t->reader), at = drove__reader_offset(t->reader);
    if (at > n_file || size_bytes > n_file - at) return fail(t, at, "the content of a member");
    char *bytes = drove__grow(NULL, (size_t)size_bytes + 1, 1);
    if (bytes == NULL) return drove__fail_nomem(drove__reader_path(t->reader), (size_t)size_bytes);
    drove_status status = drove__reader_read(t->reader, bytes, (size_t)size_bytes);
    if (status != DROVE_OK) {
        free(bytes);
        return status;
    }
    bytes[size_bytes] = '\0';
    *out = bytes;
    return DROVE_OK;
}

static void set_long_name(drove_tar *t, char *name)
{
    free(t->long_name);
    t->long_name = name;
}

/* "LENGTH KEY=VALUE\n" at *at, LENGTH counting all of it. */
static drove_status read_record(drove_tar *t, char **at, const char *end, uint64_t offset)
{
    char *next = *at;
    uint64_t length = 0;
    for (; next < end && *next >= '0' && *next <= '9' && length < EXTENSION_MOST; next++)
        length = 10 * length + (uint64_t)(*next - '0');
    if (next == *at || next == end || *next != ' ' || length > (uint64_t)(end - *at) ||
        length <= (uint64_t)(next - *at) + 1 || (*at)[length - 1] != '\n')
        return fail(t, offset, "a pax record \"LENGTH KEY=VALUE\"");
    char *key = next + 1, *last = *at + length - 1,
         *equals = memchr(key, '=', (size_t)(last - key));
    if (equals == NULL) return fail(t, offset, "a pax record \"LENGTH KEY=VALUE\"");
    *last = '\0';
    *at += length;
    size_t n_key = (size_t)(equals - key);
    if (n_key == 4 && memcmp(key, "path", 4) == 0) {
        char *name = strdup(equals + 1);
        if (name == NULL) return drove__fail_nomem("a name", length);
        set_long_name(t, name);
    }
    if (n_key == 4 && memcmp(key, "size", 4) == 0) {
        char *stop;
        t->long_size = strtoull(equals + 1, &stop, 10);
        if (equals[1] < '0' || equals[1] > '9' || *stop != '\0' || t->long_size > INT64_MAX)
            return fail(t, offset, "a size in a pax record");
    }
    return DROVE_OK;
}

/* A header that describes the next one; *is_extension: it was one, and is consumed. */
static drove_status read_extension(drove_tar *t, char type, uint64_t size_bytes, uint64_t offset,
                                   bool *is_extension)
{
    char *name, *text;
    drove_status status = DROVE_OK;
    *is_extension = true;
    switch (type) {
    case 'x':
    case 'X':
        DROVE_TRY(load(t, size_bytes, EXTENSION_MOST, &text));
        for (char *at = text; at < text + size_bytes && status == DROVE_OK;)
            status = read_record(t, &at, text + size_bytes, offset);
        free(text);
        DROVE_TRY(status);
        break;
    case 'L':
        DROVE_TRY(load(t, size_bytes, EXTENSION_MOST, &name));
        set_long_name(t, name);
        break;
    case 'g': /* comments for the whole archive */
    case 'K': /* a long target of a link */
        DROVE_TRY(drove__reader_skip(t->reader, size_bytes));
        break;
    default: *is_extension = false; return DROVE_OK;
    }
    return drove__reader_skip(t->reader, padding(size_bytes));
}

/* ---- members ---- */

/* The name in a header, from malloc. */
static char *make_name(const uint8_t *block)
{
    const char *name = (const char *)block + NAME, *prefix = (const char *)block + PREFIX;
    bool has_prefix = memcmp(block + MAGIC, "ustar\0", 6) == 0 && prefix[0] != '\0';
    char *out = malloc(NAME_SIZE + PREFIX_SIZE + 2);
    if (out == NULL) return NULL;
    snprintf(out, NAME_SIZE + PREFIX_SIZE + 2, "%.*s%s%.*s", has_prefix ? PREFIX_SIZE : 0, prefix,
             has_prefix ? "/" : "", NAME_SIZE, name);
    return out;
}

drove_status drove__tar_next(drove_tar *t, drove_tar_member *out, bool *found)
{
    static const uint8_t zero[BLOCK]; /* ends an archive */
    uint8_t block[BLOCK];
    uint64_t offset, size_bytes;
    *found = false;
    DROVE_TRY(drove__reader_skip(t->reader, t->left));
    t->left = 0;
    while (!*found) {
        bool is_extension;
        offset = drove__reader_offset(t->reader);
        drove_status status = drove__reader_read(t->reader, block, BLOCK);
        if (status == DROVE_E_DATA)
            status = drove__fail_in(status, "truncated tar archive (two blocks of zeros end one)");
        DROVE_TRY(status);
        if (memcmp(block, zero, BLOCK) == 0) return DROVE_OK;
        if (!sum_is_right(block)) return fail(t, offset, "a header with the right checksum");
        if (!scan_number(block + SIZE, SIZE_SIZE, &size_bytes))
            return fail(t, offset, "a size in a header");
        char type = (char)block[TYPE];
        DROVE_TRY(read_extension(t, type, size_bytes, offset, &is_extension));
        if (is_extension) continue;
        if (type == 'S')
            return drove__fail(DROVE_E_UNSUPPORTED,
                               "%s: byte %llu: expected files as they are, found a sparse one",
                               drove__reader_path(t->reader), (unsigned long long)offset);
        /* The name and the size from the header, or from the extensions before it. */
        free(t->name);
        t->name = t->long_name != NULL ? t->long_name : make_name(block);
        t->long_name = NULL;
        if (t->name == NULL) return drove__fail_nomem("a name", NAME_SIZE);
        if (t->long_size != UINT64_MAX) size_bytes = t->long_size;
        t->long_size = UINT64_MAX;
        t->member = (drove_tar_member){t->name, size_bytes, drove__reader_offset(t->reader)};
        t->left = size_bytes + padding(size_bytes);
        /* links, devices and folders have no content, whatever their size says */
        if (type >= '1' && type <= '6') t->left = 0;
        *found = type == '0' || type == '\0' || type == '7';
        if (*found) break;
        DROVE_TRY(drove__reader_skip(t->reader, t->left));
        t->left = 0;
    }
    *out = t->member;
    return DROVE_OK;
}

drove_status drove__tar_load(drove_tar *t, size_t most_bytes, char **out, size_t *size_bytes)
{
    DROVE_TRY(load(t, t->member.size_bytes, most_bytes, out));
    *size_bytes = (size_t)t->member.size_bytes;
    t->left = padding(t->member.size_bytes);
    return DROVE_OK;
}

drove_status drove__tar_open(const char *path, drove_tar **out)
{
    *out = NULL;
    drove_tar *t = calloc(1, sizeof *t);
    if (t == NULL) return drove__fail_nomem(path, sizeof *t);
    t->long_size = UINT64_MAX;
    drove_status status = drove__reader_open(path, &t->reader);
    if (status != DROVE_OK) {
        drove__tar_close(t);
        return status;
    }
    *out = t;
    return DROVE_OK;
}

void drove__tar_close(drove_tar *t)
{
    if (t == NULL) return;
    drove__reader_close(t->reader);
    free(t->name);
    free(t->long_name);
    free(t);
}
