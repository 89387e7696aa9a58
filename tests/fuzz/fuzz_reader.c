/* tests/fuzz/fuzz_reader.c - the input is a file, plain or compressed: however its content is read,
 * it is the same, and so is where it ends.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create */
#endif
#include "base/file.h"

#include "fuzz_text.h"
#include "memory_file.h"

enum { MOST = 1 << 20 }; /* of the content: more would only measure time */

typedef struct content {
    char *bytes; /* [n] */
    size_t n;
    drove_status status;
} content;

/* All of the file, at most `piece` bytes at a time. */
static content read_all(const char *path, size_t piece)
{
    content c = {.bytes = malloc(MOST + 1)};
    drove_reader *r;
    size_t n = 1;
    if (c.bytes == NULL) abort();
    c.status = drove__reader_open(path, &r);
    if (c.status != DROVE_OK) return c;
    while (c.n < MOST && n > 0) {
        const size_t room = MOST - c.n < piece ? MOST - c.n : piece;
        c.status = drove__reader_read_some(r, c.bytes + c.n, room, &n);
        if (c.status != DROVE_OK) break;
        if (n > room) abort();
        c.n += n;
        if (drove__reader_offset(r) != c.n) abort();
    }
    if (c.status == DROVE_OK && c.n > drove__reader_most_bytes(r)) abort();
    const uint64_t plain = drove__reader_plain_bytes(r);
    if (c.status == DROVE_OK && n == 0 && plain != UINT64_MAX && plain != c.n) abort();
    drove__reader_close(r);
    return c;
}

/* Its lines, one after the other with "\n" between them, are the content without "\r". */
static void check_lines(const char *path, const content *c)
{
    drove_reader *r;
    char *line;
    size_t at = 0, n, n_lines = 0;
    if (drove__reader_open(path, &r) != DROVE_OK) abort();
    while (at < c->n) {
        if (drove__reader_line(r, &line, &n) != DROVE_OK || line == NULL) break;
        if (drove__reader_line_number(r) != ++n_lines || line[n] != '\0') abort();
        const size_t known = c->n - at < n ? c->n - at : n;
        if (memcmp(line, c->bytes + at, known) != 0) abort();
        at += known;
        if (at < c->n && c->bytes[at] == '\r') at++;
        if (at < c->n && c->bytes[at] != '\n') abort();
        at++;
    }
    if (c->status == DROVE_OK && c->n < MOST && at < c->n) abort();
    drove__reader_close(r);
}

static void check_skip(const char *path, const content *c)
{
    drove_reader *r;
    char byte;
    size_t n;
    if (drove__reader_open(path, &r) != DROVE_OK) abort();
    if (drove__reader_skip(r, c->n / 2) != DROVE_OK) abort();
    if (drove__reader_read_some(r, &byte, 1, &n) != DROVE_OK || n != 1) abort();
    if (byte != c->bytes[c->n / 2]) abort();
    drove__reader_close(r);
}

/* Of a plain file any part can be read by itself. */
static void check_at(const char *path, const content *c)
{
    char part[7];
    drove_reader *r;
    size_t n;
    const size_t at = c->n / 3, most = c->n - at < sizeof part ? c->n - at : sizeof part;
    if (drove__reader_open(path, &r) != DROVE_OK) abort();
    if (drove__reader_is_regular(r)) {
        if (drove__reader_read_at(r, at, part, sizeof part, &n) != DROVE_OK || n != most) abort();
        if (memcmp(part, c->bytes + at, n) != 0) abort();
    }
    drove__reader_close(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    memory_file file;
    char *text;
    size_t n;
    memory_file_init(&file, data, size_bytes);
    const content whole = read_all(file.path, MOST), parts = read_all(file.path, 61);
    fuzz_is_ok(parts.status);
    if (whole.status != parts.status || whole.n > parts.n + MOST) abort();
    if (whole.status == DROVE_OK && whole.n != parts.n) abort();
    if (memcmp(whole.bytes, parts.bytes, whole.n < parts.n ? whole.n : parts.n) != 0) abort();
    if (parts.n > 0) check_lines(file.path, &parts);
    if (parts.status == DROVE_OK && parts.n > 1 && parts.n < MOST) check_skip(file.path, &parts);
    if (parts.status == DROVE_OK && parts.n < MOST) check_at(file.path, &parts);
    if (fuzz_is_ok(drove__file_load(file.path, MOST - 1, &text, &n))) {
        if (n != whole.n || memcmp(text, whole.bytes, n) != 0 || text[n] != '\0') abort();
        free(text);
    }
    free(whole.bytes);
    free(parts.bytes);
    memory_file_fini(&file);
    return 0;
}
