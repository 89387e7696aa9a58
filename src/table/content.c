/* table/content.c - see content.h.
 *
 * Pieces of the text are looked at by several threads.  Of a large regular file each thread also
 * reads its pieces, and so has them in its cache; the kernel's work, which is clearing new pages
 * and copying, is shared, too.
 */
#include "table/content.h"

#include "base/available.h"
#include "base/file.h"
#include "base/foreign.h"
#include "base/mem.h"
#include "base/textfile.h"
#include "table/detect.h"
#include "table/compose.h"
#include "table/parallel.h"
#include "table/rewrite.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define FIRST_BYTES ((size_t)1 << 20)
#define PIECE_BYTES ((size_t)1 << 20)
#define WATCH_BYTES ((size_t)16 << 20)
#define WAVE_PIECES ((size_t)128)
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

typedef struct watch { /* over the records of a text that grows */
    drove_dialect dialect;
    size_t record; /* where the last record begins that has been seen */
    size_t next; /* bytes at which to look again; 0: DROVE_RECORD_MOST_BYTES, for the first time */
} watch;

/* From 1, of a byte. */
static uint64_t line_of(const char *text, size_t at)
{
    uint64_t line = 1;
    for (size_t i = 0; i < at; i++) line += text[i] == '\n';
    return line;
}

static drove_status read_in_order(drove_reader *r, const char *path, growing *g)
{
    watch w = {0};
    while (true) {
        size_t n;
        if (g->used == g->capacity) DROVE_TRY(grow(g, path, drove__reader_plain_bytes(r)));
        size_t room = g->capacity - g->used;
        if (room > WATCH_BYTES) room = WATCH_BYTES;
        DROVE_TRY(drove__reader_read_some(r, g->memory + g->used, room, &n));
        if (n == 0) return DROVE_OK;
        g->used += n;
        /* Refuses a record that is too long once so much of it is there. */
        const drove_content content = {.text = g->memory, .end = g->memory + g->used};
        const char *start, *end;
        if (g->used > DROVE_RECORD_MOST_BYTES && g->used >= w.next) {
            if (w.next == 0) w.dialect = drove__detect_dialect(&content, 0);
            const char *at = g->memory + w.record;
            while (drove__record_next(&w.dialect, &at, content.end, &start, &end)) {
                w.record = (size_t)(start - g->memory);
                if ((size_t)(end - start) > DROVE_RECORD_MOST_BYTES) {
                    return drove__fail(
                        DROVE_E_DATA,
                        "%s:%llu: expected records of at most %zu bytes, found more (a quote that "
                        "is never closed?)",
                        path, (unsigned long long)line_of(g->memory, w.record),
                        DROVE_RECORD_MOST_BYTES);
                }
            }
            w.next = g->used + WATCH_BYTES;
        }
    }
}

/* ---- pieces ---- */

typedef struct facts {                  /* of a piece, then of all */
    bool has_zero, has_quote, has_high; /* a byte 0, '"', above 127 */
    /* of a piece, bytes before its first line end and behind its last; all: it has none */
    size_t n_before, n_behind;
} facts;

typedef struct pieces {
    const drove_reader *reader; /* NULL: the bytes are in memory */
    const char *path;           /* for messages */
    char *memory;
    size_t size_bytes;
    facts *facts; /* [n_pieces] */
    size_t first_piece;
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

static bool is_line_end(char c)
{
    return c == '\n' || c == '\r';
}

static void work_on_piece(void *context, size_t item, unsigned thread)
{
    pieces *p = context;
    item += p->first_piece;
    size_t first = item * PIECE_BYTES, n = p->size_bytes - first;
    char *text = p->memory + first;
    (void)thread;
    if (n > PIECE_BYTES) n = PIECE_BYTES;
    /* relaxed: after a failure only time is to be saved; joining orders the text */
    if (atomic_load_explicit(&p->has_failed, memory_order_relaxed)) return;
    drove_status status = DROVE_OK;
    size_t n_read;
    if (p->reader == NULL) goto end;
    if ((status = drove__reader_read_at(p->reader, first, p->memory + first, n, &n_read)) !=
        DROVE_OK)
        goto end;
    if (n_read != n)
        status = drove__fail(DROVE_E_DATA, "%s: expected %zu bytes, as at first, found %zu",
                             drove__reader_path(p->reader), p->size_bytes, first + n_read);
end:
    if (status != DROVE_OK) {
        if (atomic_exchange_explicit(&p->has_failed, true, memory_order_relaxed)) return;
        p->status = status;
        drove__error_copy(p->error);
        return;
    }
    size_t n_before = 0, n_behind = 0;
    while (n_before < n && !is_line_end(text[n_before])) n_before++;
    while (n_behind < n && !is_line_end(text[n - 1 - n_behind])) n_behind++;
    p->facts[item] = (facts){.n_before = n_before,
                             .n_behind = n_behind,
                             .has_zero = memchr(text, '\0', n) != NULL,
                             .has_quote = memchr(text, '"', n) != NULL,
                             .has_high = skip_ascii(text, 0, n) < n};
}

/* Refuses a line of some pieces that is too long for a record; *n_line: bytes of the last one. */
static void check_lines(pieces *p, size_t n_pieces, size_t *n_line)
{
    for (size_t i = p->first_piece; i < p->first_piece + n_pieces; i++) {
        const facts *f = &p->facts[i];
        size_t left = p->size_bytes - i * PIECE_BYTES, n = left < PIECE_BYTES ? left : PIECE_BYTES;
        *n_line += f->n_before;
        if (*n_line > DROVE_RECORD_MOST_BYTES) {
            p->status = DROVE_E_DATA;
            snprintf(p->error, sizeof p->error,
                     "%s:%llu: expected lines of at most %zu bytes, found more", p->path,
                     (unsigned long long)line_of(p->memory,
                                                 i * PIECE_BYTES + f->n_before - *n_line),
                     DROVE_RECORD_MOST_BYTES);
            return;
        }
        if (f->n_before < n) *n_line = f->n_behind;
    }
}

/* Reads g->used bytes unless reader is NULL, and looks at them, some pieces after the others so
 * that a line without an end is found before all of a file is in memory. */
static drove_status work_on_pieces(const drove_reader *reader, const char *path, const growing *g,
                                   unsigned n_threads, facts *out)
{
    size_t n_pieces = (g->used + PIECE_BYTES - 1) / PIECE_BYTES;
    pieces p = {.reader = reader, .path = path, .memory = g->memory, .size_bytes = g->used};
    *out = (facts){0};
    p.facts = calloc(n_pieces + 1, sizeof *p.facts);
    if (p.facts == NULL) return drove__fail_nomem("pieces of a table", n_pieces * sizeof *p.facts);
    for (size_t n_line = 0; p.first_piece < n_pieces && p.status == DROVE_OK;
         p.first_piece += WAVE_PIECES) {
        size_t n = n_pieces - p.first_piece;
        if (n > WAVE_PIECES) n = WAVE_PIECES;
        drove__table_run(n_threads, n, work_on_piece, &p);
        if (p.status == DROVE_OK) check_lines(&p, n, &n_line);
    }
    for (size_t i = 0; i < n_pieces; i++) {
        out->has_zero = out->has_zero || p.facts[i].has_zero;
        out->has_quote = out->has_quote || p.facts[i].has_quote;
        out->has_high = out->has_high || p.facts[i].has_high;
    }
    free(p.facts);
    return p.status == DROVE_OK ? DROVE_OK : drove__fail(p.status, "%s", p.error);
}

static drove_status read_all(drove_reader *r, const char *path, unsigned n_threads, growing *g,
                             facts *out)
{
    uint64_t n = drove__reader_plain_bytes(r);
    if (!drove__reader_is_regular(r) || n < LARGE_BYTES || n >= SIZE_MAX / 2) {
        DROVE_TRY(read_in_order(r, path, g));
        if (g->used == g->capacity) DROVE_TRY(grow(g, path, UINT64_MAX));
        return work_on_pieces(NULL, path, g, n_threads, out);
    }
    DROVE_TRY(grow(g, path, n));
    g->used = (size_t)n;
    return work_on_pieces(r, path, g, n_threads, out);
}

/* ---- encoding ---- */

static drove_status refuse_binary(const growing *g, const facts *known, const char *path)
{
    char what[DROVE_FOREIGN_SIZE];
    const char *foreign = drove__foreign_binary(path, g->memory, g->used, what);
    if (foreign != NULL)
        return drove__fail(DROVE_E_DATA, "%s: expected a table as text, found %s", path, foreign);
    if (!known->has_zero) return DROVE_OK;
    const char *zero = memchr(g->memory, '\0', g->used);
    /* A text whose every second byte is zero. */
    const size_t n = g->used < 200 ? g->used : 200;
    size_t n_zeros[2] = {0, 0};
    for (size_t i = 0; i < n; i++) n_zeros[i % 2] += g->memory[i] == '\0';
    const char *utf16 = NULL;
    if (3 * n_zeros[1] >= n && n_zeros[0] == 0) utf16 = "utf-16le";
    else if (3 * n_zeros[0] >= n && n_zeros[1] == 0) utf16 = "utf-16be";
    if (utf16 != NULL)
        return drove__fail(DROVE_E_DATA,
                           "%s: expected text in UTF-8, found UTF-16 without its mark "
                           "('%s?encoding=%s' reads it)",
                           path, path, utf16);
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

/* Windows-1252, bytes 0x80 to 0x9f; every other byte is the character of its number, as in
   Latin-1.  Five bytes are not assigned and keep their number, as web browsers read them
   (WHATWG Encoding Standard, index windows-1252). */
static const unsigned short cp1252_high[32] = {
    0x20ac, 0x81,   0x201a, 0x192,  0x201e, 0x2026, 0x2020, 0x2021, 0x2c6,  0x2030, 0x160,
    0x2039, 0x152,  0x8d,   0x17d,  0x8f,   0x90,   0x2018, 0x2019, 0x201c, 0x201d, 0x2022,
    0x2013, 0x2014, 0x2dc,  0x2122, 0x161,  0x203a, 0x153,  0x9d,   0x17e,  0x178};

/* Writes the UTF-8 of one byte of Windows-1252; returns its size, 1 to 3 bytes. */
static size_t put_cp1252(unsigned char c, char *into)
{
    unsigned code = c >= 0x80 && c < 0xa0 ? cp1252_high[c - 0x80] : c;
    if (code < 0x80) {
        into[0] = (char)code;
        return 1;
    }
    size_t n_more = code < 0x800 ? 1 : 2;
    into[0] = (char)(n_more == 1 ? 0xc0 | code >> 6 : 0xe0 | code >> 12);
    for (size_t i = 1; i <= n_more; i++) into[i] = (char)(0x80 | (code >> 6 * (n_more - i) & 0x3f));
    return 1 + n_more;
}

/* Makes the text UTF-8.  In a text of Windows-1252 a byte such as "A tilde" rarely stands before
 * one that makes a character of UTF-8 of both: where many do, the text is UTF-8 but for a few
 * bytes, and these alone are converted. */
static drove_status convert(growing *g, const char *path, drove_content *out)
{
    enum { PER_BYTE = 3 };
    const unsigned char *s = (const unsigned char *)g->memory;
    /* Bytes above 127: characters of UTF-8, and those that are part of none. */
    size_t n_sequences = 0, n_stray = 0, first_stray = 0, n = 0;
    for (size_t at = 0; (at = skip_ascii(g->memory, at, g->used)) < g->used;) {
        const size_t n_bytes = sequence_bytes(s + at, g->used - at);
        if (n_bytes == 0 && n_stray++ == 0) first_stray = at;
        n_sequences += n_bytes > 0;
        at += n_bytes > 0 ? n_bytes : 1;
    }
    if (n_stray == 0) return DROVE_OK;
    const bool all = n_sequences < n_stray;
    if (all)
        snprintf(out->note, sizeof out->note,
                 "the text is not UTF-8 and was read as Windows-1252 (Latin-1; ?encoding= names "
                 "another)");
    else
        snprintf(out->note, sizeof out->note,
                 "%zu byte%s in UTF-8 text %s no character of it and %s read as Windows-1252, "
                 "first in line %llu",
                 n_stray, n_stray == 1 ? "" : "s", n_stray == 1 ? "is" : "are",
                 n_stray == 1 ? "was" : "were",
                 (unsigned long long)line_of(g->memory, first_stray));
    out->was_cp1252 = all;

    char *into = g->used < SIZE_MAX / PER_BYTE ? drove__alloc(PER_BYTE * g->used + 1, 1) : NULL;
    if (into == NULL) return drove__fail_nomem(path, PER_BYTE * g->used);
    for (size_t i = 0; i < g->used;) {
        const size_t n_valid = all || s[i] < 0x80 ? 0 : sequence_bytes(s + i, g->used - i);
        memcpy(into + n, s + i, n_valid);
        n += n_valid > 0 ? n_valid : put_cp1252(s[i], into + n);
        i += n_valid > 0 ? n_valid : 1;
    }
    drove__free(g->memory); /* a zero stays behind the text */
    *g = (growing){into, n, n};
    return DROVE_OK;
}

size_t drove__content_separator_line(const char *text, size_t n, char *separator)
{
    const bool is_quoted = n > 0 && *text == '"';
    size_t at = is_quoted;
    if (n < 6 || strncasecmp(text + at, "sep=", 4) != 0 || is_line_end(text[at + 4])) return 0;
    const char found = text[at + 4];
    at += 5;
    if (is_quoted && (at == n || text[at++] != '"')) return 0;
    if (at == n || !is_line_end(text[at])) return 0;
    *separator = found;
    return at + (text[at] == '\r' && at + 1 < n && text[at + 1] == '\n' ? 2 : 1);
}

/* Moves the text behind the first lines that are no part of the table. */
static drove_status skip_lines(drove_content *c, const char *path, uint64_t n_lines)
{
    const size_t n = (size_t)(c->end - c->text);
    const char end = memchr(c->text, '\n', n) != NULL ? '\n' : '\r';
    for (uint64_t i = 0; i < n_lines; i++) {
        const char *line_end = memchr(c->text, end, (size_t)(c->end - c->text));
        if (line_end == NULL)
            return drove__fail(DROVE_E_DATA,
                               "%s: expected a table below %llu lines (?skip_lines=%llu), found "
                               "%llu lines",
                               path, (unsigned long long)n_lines, (unsigned long long)n_lines,
                               (unsigned long long)i + (c->text < c->end));
        c->text = line_end + 1;
        c->n_lines_above++;
    }
    return DROVE_OK;
}

/* Takes g->memory over, also on failure. */
static drove_status understand(growing *g, const facts *known, const char *path,
                               const drove_content_options *options, drove_content *out)
{
    char separator = 0;
    drove_status status = refuse_binary(g, known, path);
    if (status == DROVE_OK && known->has_high) status = convert(g, path, out);
    out->memory = g->memory;
    out->text = g->memory;
    out->end = g->memory + g->used;
    out->has_quote = known->has_quote;
    DROVE_TRY(status);
    if (g->used >= 3 && memcmp(g->memory, "\xef\xbb\xbf", 3) == 0) out->text += 3;
    if (known->has_high && drove__has_marks(out->text, (size_t)(out->end - out->text))) {
        const size_t n_composed =
            drove__compose((char *)(uintptr_t)out->text, (size_t)(out->end - out->text));
        out->end = out->text + n_composed;
        g->memory[out->end - g->memory] = '\0'; /* strspn stops there */
    }
    if (options->piece == NULL) DROVE_TRY(skip_lines(out, path, options->skip_lines));
    if (strspn(out->text, " \t\r\n") >= (size_t)(out->end - out->text))
        return drove__fail(DROVE_E_DATA, "%s: expected a table, found an empty file", path);
    size_t n = drove__content_separator_line(out->text, (size_t)(out->end - out->text), &separator);
    if (n > 0) {
        out->text += n;
        out->n_lines_above++;
        out->separator = separator;
    }
    return drove__rewrite(path, options, out);
}

drove_status drove__content_load(const char *path, const drove_content_options *options,
                                 unsigned n_threads, drove_content *out)
{
    drove_reader *reader = NULL;
    growing g = {0};
    facts known;
    *out = (drove_content){0};
    if (options->piece != NULL) {
        g = (growing){.used = options->piece->n, .capacity = options->piece->n + 1};
        g.memory = drove__alloc(g.capacity, 1); /* zeroed, so strspn stops */
        if (g.memory == NULL) return drove__fail_nomem(path, g.used);
        memcpy(g.memory, options->piece->text, g.used);
    } else {
        DROVE_TRY(drove__textfile_open(path, options->encoding, &reader));
        path = drove__reader_path(reader);
    }
    drove_status status = reader != NULL ? read_all(reader, path, n_threads, &g, &known)
                                         : work_on_pieces(NULL, path, &g, n_threads, &known);
    if (status == DROVE_OK) {
        g.memory[g.used] = '\0'; /* strspn stops there */
        status = understand(&g, &known, path, options, out);
    } else {
        drove__free(g.memory);
    }
    if (status == DROVE_OK && reader != NULL && drove__reader_n_replaced(reader) > 0)
        snprintf(out->note, sizeof out->note,
                 "what is no character in the encoding of the text was read as U+FFFD (%llu "
                 "times)",
                 (unsigned long long)drove__reader_n_replaced(reader));
    drove__reader_close(reader);
    if (status != DROVE_OK) drove__content_fini(out);
    return status;
}

void drove__content_fini(drove_content *content)
{
    drove__free(content->memory);
    free(content->type);
    *content = (drove_content){0};
}
