/* table/content.c - see content.h.
 *
 * Pieces of the text are looked at by several threads.  Of a large regular file each thread also
 * reads its pieces, and so has them in its cache; the kernel's work, which is clearing new pages
 * and copying, is shared, too.
 */
#include "table/content.h"

#include "base/available.h"
#include "base/file.h"
#include "base/mem.h"
#include "table/parallel.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BYTES ((size_t)1 << 20)
#define PIECE_BYTES ((size_t)1 << 20)
#define LARGE_BYTES ((uint64_t)4 << 20) /* smaller files are read by one thread */

/* ---- reading ---- */

typedef struct growing {
    char *memory;
    size_t used, capacity;
} growing;

static drove_status grow(growing *g, const char *path, uint64_t plain_bytes)
{
    size_t wanted = g->capacity + g->capacity / 2 + FIRST_BYTES;
    if (g->capacity == 0 && plain_bytes < SIZE_MAX / 2) wanted = (size_t)plain_bytes + 1;
    if (wanted > drove__memory_available() / 4 * 3) {
        return drove__fail(DROVE_E_DATA, "%s: expected a table that fits in memory, found more",
                           path);
    }
    char *memory = drove__alloc(wanted, 1); /* large ones in huge pages */
    if (memory == NULL) return drove__fail_nomem(path, wanted);
    if (g->used > 0) memcpy(memory, g->memory, g->used);
    drove__free(g->memory);
    g->memory = memory;
    g->capacity = wanted;
    return DROVE_OK;
}

static drove_status check_first_line(const growing *g, const char *path)
{
    if (memchr(g->memory, '\n', g->used) != NULL || memchr(g->memory, '\r', g->used) != NULL)
        return DROVE_OK;
    return drove__fail(DROVE_E_DATA, "%s: expected lines of at most %zu bytes, found more", path,
                       DROVE_RECORD_MOST_BYTES);
}

static drove_status read_in_order(drove_reader *r, const char *path, growing *g)
{
    bool is_checked = false;
    while (true) {
        size_t n;
        if (g->used == g->capacity) DROVE_TRY(grow(g, path, drove__reader_plain_bytes(r)));
        size_t room = g->capacity - g->used;
        if (!is_checked && room > DROVE_RECORD_MOST_BYTES) room = DROVE_RECORD_MOST_BYTES;
        DROVE_TRY(drove__reader_read_some(r, g->memory + g->used, room, &n));
        if (n == 0) return DROVE_OK;
        g->used += n;
        if (is_checked || g->used <= DROVE_RECORD_MOST_BYTES) continue;
        DROVE_TRY(check_first_line(g, path));
        is_checked = true;
    }
}

/* ---- pieces ---- */

typedef struct facts {                  /* of a piece, then of all */
    bool has_zero, has_quote, has_high; /* a byte 0, '"', above 127 */
} facts;

typedef struct pieces {
    const drove_reader *reader; /* NULL: the bytes are in memory */
    char *memory;
    size_t size_bytes;
    facts *facts; /* [n_pieces] */
    atomic_bool has_failed;
    drove_status status; /* of the first that failed; its thread alone writes it and the text */
    char error[DROVE_ERROR_TEXT_SIZE];
} pieces;

/* First byte that is not ASCII, or size_bytes. */
static size_t skip_ascii(const char *text, size_t at, size_t size_bytes)
{
    uint64_t word;
    for (; at + sizeof word <= size_bytes; at += sizeof word) {
        memcpy(&word, text + at, sizeof word);
        if ((word & 0x8080808080808080u) != 0) break;
    }
    while (at < size_bytes && ((unsigned char)text[at] & 0x80u) == 0) at++;
    return at;
}

static drove_status read_piece(const pieces *p, size_t first, size_t n)
{
    size_t n_read;
    if (p->reader == NULL) return DROVE_OK;
    DROVE_TRY(drove__reader_read_at(p->reader, first, p->memory + first, n, &n_read));
    if (n_read == n) return DROVE_OK;
    return drove__fail(DROVE_E_DATA, "%s: expected %zu bytes, as at first, found %zu",
                       drove__reader_path(p->reader), p->size_bytes, first + n_read);
}

static void work_on_piece(void *context, size_t item, unsigned thread)
{
    pieces *p = context;
    size_t first = item * PIECE_BYTES, n = p->size_bytes - first;
    char *text = p->memory + first;
    (void)thread;
    if (n > PIECE_BYTES) n = PIECE_BYTES;
    /* relaxed: after a failure only time is to be saved; joining orders the text */
    if (atomic_load_explicit(&p->has_failed, memory_order_relaxed)) return;
    drove_status status = read_piece(p, first, n);
    if (status != DROVE_OK) {
        if (atomic_exchange_explicit(&p->has_failed, true, memory_order_relaxed)) return;
        p->status = status;
        drove__error_copy(p->error);
        return;
    }
    p->facts[item] = (facts){.has_zero = memchr(text, '\0', n) != NULL,
                             .has_quote = memchr(text, '"', n) != NULL,
                             .has_high = skip_ascii(text, 0, n) < n};
}

/* Reads g->used bytes unless reader is NULL, and looks at them. */
static drove_status work_on_pieces(const drove_reader *reader, const growing *g, unsigned n_threads,
                                   facts *out)
{
    size_t n_pieces = (g->used + PIECE_BYTES - 1) / PIECE_BYTES;
    pieces p = {.reader = reader, .memory = g->memory, .size_bytes = g->used};
    *out = (facts){0};
    p.facts = calloc(n_pieces + 1, sizeof *p.facts);
    if (p.facts == NULL) return drove__fail_nomem("pieces of a table", n_pieces * sizeof *p.facts);
    drove__table_run(n_threads, n_pieces, work_on_piece, &p);
    for (size_t i = 0; i < n_pieces; i++) {
        out->has_zero = out->has_zero || p.facts[i].has_zero;
        out->has_quote = out->has_quote || p.facts[i].has_quote;
        out->has_high = out->has_high || p.facts[i].has_high;
    }
    free(p.facts);
    return p.status == DROVE_OK ? DROVE_OK : drove__fail(p.status, "%s", p.error);
}

/* Of a file with more than DROVE_RECORD_MOST_BYTES: the first line, before all is read. */
static drove_status check_beginning(const drove_reader *r, const char *path, const growing *g)
{
    growing first = {.memory = g->memory};
    while (first.used < DROVE_RECORD_MOST_BYTES) {
        char *piece = g->memory + first.used;
        size_t n = 0;
        DROVE_TRY(drove__reader_read_at(r, first.used, piece, PIECE_BYTES, &n));
        if (n < PIECE_BYTES || memchr(piece, '\n', n) != NULL || memchr(piece, '\r', n) != NULL)
            return DROVE_OK;
        first.used += n;
    }
    return check_first_line(&first, path);
}

static drove_status read_all(drove_reader *r, const char *path, unsigned n_threads, growing *g,
                             facts *out)
{
    uint64_t n = drove__reader_plain_bytes(r);
    if (!drove__reader_is_regular(r) || n < LARGE_BYTES || n >= SIZE_MAX / 2) {
        DROVE_TRY(read_in_order(r, path, g));
        if (g->used == g->capacity) DROVE_TRY(grow(g, path, UINT64_MAX));
        return work_on_pieces(NULL, g, n_threads, out);
    }
    DROVE_TRY(grow(g, path, n));
    g->used = (size_t)n;
    if (n > DROVE_RECORD_MOST_BYTES + PIECE_BYTES) DROVE_TRY(check_beginning(r, path, g));
    DROVE_TRY(work_on_pieces(r, g, n_threads, out));
    return n > DROVE_RECORD_MOST_BYTES ? check_first_line(g, path) : DROVE_OK;
}

/* ---- encoding ---- */

static drove_status refuse_binary(const growing *g, const facts *known, const char *path)
{
    const unsigned char *b = (const unsigned char *)g->memory;
    if (g->used >= 2 && ((b[0] == 0xff && b[1] == 0xfe) || (b[0] == 0xfe && b[1] == 0xff))) {
        return drove__fail(DROVE_E_DATA,
                           "%s: expected text in UTF-8, found UTF-16 (iconv -f "
                           "UTF-16 -t UTF-8 converts it)",
                           path);
    }
    if (g->used >= 4 && memcmp(b, "PK\x03\x04", 4) == 0) {
        return drove__fail(DROVE_E_DATA,
                           "%s: expected a table as text, found a ZIP archive or a "
                           "spreadsheet (save it as CSV)",
                           path);
    }
    if (!known->has_zero) return DROVE_OK;
    const char *zero = memchr(g->memory, '\0', g->used);
    return drove__fail(DROVE_E_DATA,
                       "%s: expected a table as text, found a binary file (byte %zu is zero)", path,
                       (size_t)(zero - g->memory));
}

/* Bytes of the valid sequence at s[n], or 0 (Unicode, table 3-7: no surrogates, nothing longer than
 * needed, nothing above U+10FFFF). */
static size_t sequence_bytes(const unsigned char *s, size_t n)
{
    unsigned char least = 0x80, most = 0xbf;
    size_t n_bytes = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    if (s[0] < 0xc2 || s[0] > 0xf4 || n < n_bytes) return 0;
    if (s[0] == 0xe0) least = 0xa0;
    if (s[0] == 0xed) most = 0x9f;
    if (s[0] == 0xf0) least = 0x90;
    if (s[0] == 0xf4) most = 0x8f;
    if (s[1] < least || s[1] > most) return 0;
    for (size_t i = 2; i < n_bytes; i++) {
        if (s[i] < 0x80 || s[i] > 0xbf) return 0;
    }
    return n_bytes;
}

bool drove__is_utf8(const char *text, size_t size_bytes)
{
    size_t at = 0;
    while ((at = skip_ascii(text, at, size_bytes)) < size_bytes) {
        size_t n = sequence_bytes((const unsigned char *)text + at, size_bytes - at);
        if (n == 0) return false;
        at += n;
    }
    return true;
}

/* Each byte becomes the character of this number. */
static drove_status convert_latin1(growing *g, const char *path)
{
    size_t n_high = 0, n = 0;
    for (size_t i = 0; i < g->used; i++) n_high += ((unsigned char)g->memory[i] & 0x80u) != 0;
    char *into = drove__alloc(g->used + n_high + 1, 1); /* a zero stays behind the text */
    if (into == NULL) return drove__fail_nomem(path, g->used + n_high);
    for (size_t i = 0; i < g->used; i++) {
        unsigned char c = (unsigned char)g->memory[i];
        if (c >= 0x80) into[n++] = (char)(0xc0 | c >> 6);
        into[n++] = (char)(c >= 0x80 ? 0x80 | (c & 0x3f) : c);
    }
    drove__free(g->memory);
    *g = (growing){into, n, n};
    return DROVE_OK;
}

static drove_status understand(growing *g, const facts *known, const char *path, drove_content *out)
{
    DROVE_TRY(refuse_binary(g, known, path));
    bool was_latin1 = known->has_high && !drove__is_utf8(g->memory, g->used);
    if (was_latin1) DROVE_TRY(convert_latin1(g, path));
    *out = (drove_content){.memory = g->memory,
                           .text = g->memory,
                           .end = g->memory + g->used,
                           .was_latin1 = was_latin1,
                           .has_quote = known->has_quote};
    if (g->used >= 3 && memcmp(g->memory, "\xef\xbb\xbf", 3) == 0) out->text += 3;
    if (strspn(out->text, " \t\r\n") < (size_t)(out->end - out->text)) return DROVE_OK;
    return drove__fail(DROVE_E_DATA, "%s: expected a table, found an empty file", path);
}

drove_status drove__content_load(const char *path, unsigned n_threads, drove_content *out)
{
    drove_reader *reader;
    growing g = {0};
    facts known;
    *out = (drove_content){0};
    DROVE_TRY(drove__reader_open(path, &reader));
    path = drove__reader_path(reader);
    drove_status status = read_all(reader, path, n_threads, &g, &known);
    if (status == DROVE_OK) {
        g.memory[g.used] = '\0'; /* strspn stops there */
        status = understand(&g, &known, path, out);
    }
    drove__reader_close(reader);
    if (status == DROVE_OK) return DROVE_OK;
    drove__free(g.memory);
    *out = (drove_content){0};
    return status;
}

drove_status drove__content_of_piece(const char *path, const drove_piece *piece, drove_content *out)
{
    growing g = {.used = piece->n, .capacity = piece->n + 1};
    *out = (drove_content){0};
    g.memory = drove__alloc(g.capacity, 1); /* zeroed, so strspn stops */
    if (g.memory == NULL) return drove__fail_nomem(path, piece->n);
    memcpy(g.memory, piece->text, piece->n);
    facts known;
    drove_status status = work_on_pieces(NULL, &g, drove__table_threads(), &known);
    if (status == DROVE_OK) status = understand(&g, &known, path, out);
    if (status == DROVE_OK) return DROVE_OK;
    drove__free(g.memory);
    *out = (drove_content){0};
    return status;
}

void drove__content_fini(drove_content *content)
{
    drove__free(content->memory);
    *content = (drove_content){0};
}
