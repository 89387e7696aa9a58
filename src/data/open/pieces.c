/* data/open/pieces.c - see pieces.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pread, memrchr */
#endif
#include "data/open/pieces.h"

#include "base/available.h"
#include "base/file.h"
#include "base/given.h"
#include "base/locale.h"
#include "base/mem.h"
#include "base/textfile.h"
#include "data/read/class_order.h"
#include "data/export.h"
#include "data/open/formats.h"
#include "data/read/libsvm.h"
#include "data/open/match.h"
#include "data/origin.h"
#include "data/synth.h"
#include "data/disk/rows_file.h"
#include "table/content.h"
#include "table/rewrite.h"
#include "table/schema.h"
#include "table/table.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SPANS = 16 }; /* of a sample, spread over the file */
#define MEASURED_BYTES   ((size_t)256 << 10)
#define CONVERT_BYTES    ((size_t)16 << 20)
#define PIECE_MOST_BYTES ((size_t)64 << 20)

typedef struct names { /* of classes or labels, in the order in which they were met */
    char **text;       /* [n] */
    size_t n, capacity;
    uint32_t *order; /* [n] by the texts, to find one */
} names;

typedef struct marks { /* ?comment=, escape= and sep= */
    char comment, escape, separator[2];
} marks;

typedef struct reading {
    const drove_pieces_options *opt;
    drove_spec spec; /* with the keys that pieces need */
    const drove_format_ops *format;
    drove_reader *reader;
    char *text;    /* [capacity] head, and then what was read and not yet given out */
    size_t n_head; /* bytes of the header, which each piece begins with */
    uint64_t n_head_lines;
    marks written; /* of a table */
    size_t n, capacity;
    size_t n_given; /* bytes of the piece that was given out last, head not counted */
    uint64_t line;  /* of the text behind the head */
    bool is_over;
    drove_storage *shape; /* of the sample; grows into that of all rows */
    bool finds_base, has_zero;
    uint64_t n_rows; /* written */
    names names;
    drove_rows_writer *writer;
    size_t sample_bytes;         /* of text */
    drove_libsvm_options libsvm; /* of LIBSVM data */
    bool has_beyond;     /* a number is libsvm.n_features: right only where they begin at 1 */
    bool counts_classes; /* classes of the sample are whole numbers, which nobody asked for */
    char number[2][24];  /* values of keys */
} reading;

/* ---- pieces of the file ---- */

/* Behind the last line end that is outside quotes; 0: there is none.  A quote in a comment and one
 * that is escaped are no quotes. */
static size_t find_cut(const reading *r, const char *text, size_t n)
{
    const char end = memchr(text, '\n', n) != NULL ? '\n' : '\r';
    const bool is_table = r->format->read_like != NULL;
    const bool has_quotes = is_table && (memchr(text, '"', n) != NULL || r->written.escape != 0);
    const char *last = memrchr(text, end, n);
    if (last == NULL) return 0;
    if (!has_quotes) return (size_t)(last - text) + 1;
    size_t cut = 0;
    bool is_inside = false;
    for (size_t i = 0; i < n; i++) {
        if (r->written.escape != 0 && text[i] == r->written.escape) {
            i++;
            continue;
        }
        if (r->written.comment != 0 && text[i] == r->written.comment && !is_inside &&
            (i == 0 || strchr(" \n\r", text[i - 1]) != NULL)) {
            const char *line_end = memchr(text + i, end, n - i);
            if (line_end == NULL) break;
            i = (size_t)(line_end - text);
        }
        if (text[i] == end && !is_inside) cut = i + 1;
        if (text[i] != '"') continue;
        if (is_inside && i + 1 < n && text[i + 1] == '"') i++; /* "" is one quote */
        else if (is_inside || drove__opens_cell(text, i, 0)) is_inside = !is_inside;
    }
    return cut;
}

/* Until `wanted` bytes are there behind the head, or the file ends. */
static drove_status fill(reading *r, size_t wanted)
{
    const size_t size = r->n_head + wanted + 1; /* a zero ends it */
    if (size > r->capacity) {
        char *text = drove__grow(r->text, size, 1);
        if (text == NULL) return drove__fail_nomem("a piece of a file", size);
        r->text = text;
        r->capacity = size;
    }
    while (!r->is_over && r->n < wanted) {
        size_t n;
        DROVE_TRY(
            drove__reader_read_some(r->reader, r->text + r->n_head + r->n, wanted - r->n, &n));
        r->is_over = n == 0;
        r->n += n;
    }
    r->text[r->n_head + r->n] = '\0';
    return DROVE_OK;
}

/* *found false: the file is at its end. */
static drove_status next_piece(reading *r, drove_piece *out, bool *found)
{
    char *begin = r->text + r->n_head;
    size_t cut = 0;
    if (r->n_given > 0) {
        const char *line = begin, *end = begin + r->n_given;
        while ((line = memchr(line, '\n', (size_t)(end - line))) != NULL) {
            r->line++;
            line++;
        }
        memmove(begin, begin + r->n_given, r->n - r->n_given);
        r->n -= r->n_given;
        r->n_given = 0;
    }
    for (size_t wanted = r->opt->piece_bytes; cut == 0; wanted *= 2) {
        if (wanted > PIECE_MOST_BYTES && wanted > r->opt->piece_bytes)
            return drove__fail(DROVE_E_DATA,
                               "%s:%llu: expected lines of at most %zu bytes, found more (a quote "
                               "that is never closed?)",
                               drove__reader_path(r->reader), (unsigned long long)r->line,
                               PIECE_MOST_BYTES);
        DROVE_TRY(fill(r, wanted));
        cut = r->is_over ? r->n : find_cut(r, r->text + r->n_head, r->n);
        if (r->is_over) break;
    }
    r->n_given = cut;
    *found = cut > 0 && strspn(r->text + r->n_head, " \t\r\n") < cut;
    *out = (drove_piece){.text = r->text,
                         .n = r->n_head + cut,
                         .first_line = r->line - r->n_head_lines};
    return DROVE_OK;
}

/* ---- the sample ---- */

/* Lines of a plain file from several places behind the first piece, appended at *n of text[].  A
 * place that cannot be read is an error: the types of columns must not depend on it. */
static drove_status add_spans(const char *path, char *text, size_t *n, size_t span_bytes)
{
    struct stat about;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return drove__fail_errno(drove__open_status(errno), errno, "%s: cannot be opened", path);
    drove_status status = DROVE_OK;
    if (fstat(fd, &about) == 0 && S_ISREG(about.st_mode)) {
        for (off_t i = 1; i < SPANS && status == DROVE_OK; i++) {
            char *to = text + *n;
            ssize_t got;
            do {
                got = pread(fd, to, span_bytes, about.st_size / SPANS * i);
            } while (got < 0 && errno == EINTR);
            if (got < 0) status = drove__fail_errno(DROVE_E_IO, errno, "%s: cannot be read", path);
            char *first = got > 0 ? memchr(to, '\n', (size_t)got) : NULL;
            char *last = got > 0 ? memrchr(to, '\n', (size_t)got) : NULL;
            bool has_quotes = got > 0 && memchr(to, '"', (size_t)got) != NULL;
            if (first == NULL || last == first || has_quotes) continue;
            memmove(to, first + 1, (size_t)(last - first));
            *n += (size_t)(last - first);
        }
    }
    close(fd);
    return status;
}

static drove_status set_key(reading *r, const char *key, const char *value)
{
    return drove__spec_set(&r->spec, key, value);
}

static drove_status set_number(reading *r, unsigned i, const char *key, uint64_t number)
{
    snprintf(r->number[i], sizeof r->number[i], "%llu", (unsigned long long)number);
    return set_key(r, key, r->number[i]);
}

/* The header, and comments and blank lines above it, which each piece then begins with. */
static drove_status keep_head(reading *r)
{
    const char *line = r->text, *end = r->text + r->n;
    if (r->shape->schema == NULL || !r->shape->schema->has_header) return DROVE_OK;
    for (bool is_header = false; !is_header && line < end; r->n_head_lines++) {
        const char *first = line + strspn(line, " \t");
        is_header = *first != '\r' && *first != '\n' &&
                    (r->written.comment == 0 || *first != r->written.comment);
        line += strcspn(line, "\r\n");
        line += strncmp(line, "\r\n", 2) == 0 ? 2 : 1;
    }
    if (line > end) {
        r->n_head_lines = 0;
        return DROVE_OK;
    }
    r->n_head = (size_t)(line - r->text);
    r->n -= r->n_head;
    r->line += r->n_head_lines;
    return DROVE_OK;
}

/* Opens the file, behind the lines that are no part of a table. */
static drove_status open_text(reading *r)
{
    drove_table_options table;
    char *line;
    size_t n;
    if (r->format->read_like == NULL) {
        DROVE_TRY(drove__spec_take(&r->spec, drove__libsvm_keys, &r->libsvm));
        return drove__textfile_open(r->spec.arg[0], r->libsvm.encoding, &r->reader);
    }
    DROVE_TRY(drove__table_read_options(&r->spec, &table));
    r->written.comment = table.written.comment;
    r->written.escape = table.written.escape;
    DROVE_TRY(drove__textfile_open(r->spec.arg[0], table.written.encoding, &r->reader));
    for (uint64_t i = 0; i < table.written.skip_lines; i++) {
        DROVE_TRY(drove__reader_line(r->reader, &line, &n));
        r->line++;
    }
    DROVE_TRY(fill(r, 16));
    const size_t n_mark = strncmp(r->text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    n = drove__content_separator_line(r->text + n_mark, r->n - n_mark, r->written.separator);
    if (n == 0) return DROVE_OK;
    r->n_given = n_mark + n;
    if (table.written.separator != 0) return DROVE_OK;
    return set_key(r, "sep", r->written.separator[0] == '\t' ? "tab" : r->written.separator);
}

/* Whether rows are read as data that the caller has, not as the sample says. */
static bool is_given(const reading *r)
{
    return r->opt->like != NULL && r->format->read_like != NULL;
}

/* Where the file is plain and large, lines from all of it; else the first ones. */
static drove_status read_sample(reading *r, drove_storage **out)
{
    const size_t span = r->opt->piece_bytes / SPANS;
    drove_piece first;
    bool found;
    DROVE_TRY(next_piece(r, &first, &found));
    r->n_given = 0; /* it comes again */
    char *text = drove__grow(NULL, first.n + SPANS * span, 1);
    if (text == NULL) return drove__fail_nomem("a sample of a file", first.n + SPANS * span);
    memcpy(text, first.text, first.n);
    drove_piece piece = {.text = text, .n = first.n, .first_line = r->line};
    drove_status status = DROVE_OK;
    bool may_span = drove__reader_is_regular(r->reader) && !r->is_over &&
                    memchr(first.text, '"', first.n) == NULL &&
                    memchr(first.text, '\n', first.n) != NULL;
    size_t cut = 0; /* as much from each place */
    if (may_span) cut = find_cut(r, text, first.n < span ? first.n : span);
    if (cut > 0) {
        piece.n = cut;
        if ((status = add_spans(r->spec.arg[0], text, &piece.n, span)) != DROVE_OK) goto end;
    }
    r->spec.piece = &piece;
    status = is_given(r) ? r->format->read_like(&r->spec, r->opt->like, true, out)
                         : r->format->read(&r->spec, 0, NULL, out);
    r->spec.piece = NULL;
    r->sample_bytes = piece.n;
    if (status != DROVE_OK) drove__fail_in(status, "in a sample of its lines");
end:
    free(text);
    return status;
}

static bool is_count(const char *text)
{
    double number;
    return drove__label_number(text, strlen(text), &number) && number == floor(number);
}

static drove_status learn(reading *r)
{
    drove_storage *sample = NULL;
    if (is_given(r)) DROVE_TRY(set_key(r, "target", drove__target_name(r->opt->like->y_kind)));
    drove_status status = read_sample(r, &sample);
    if (status != DROVE_OK) goto end;
    if ((status = drove__storage_create(&r->shape)) != DROVE_OK) goto end;
    status = drove__storage_describe(is_given(r) ? r->opt->like : sample, r->shape);
end:
    drove__storage_release(sample);
    DROVE_TRY(status);
    if (is_given(r)) return keep_head(r);
    drove_label_options labels = {.target = DROVE_TARGET_UNSAID};
    DROVE_TRY(drove__spec_take(&r->spec, drove__label_keys, &labels));
    /* Classes that are whole numbers: later rows may show that they are values. */
    char number[DROVE_CLASS_TEXT_SIZE];
    r->counts_classes = labels.target == DROVE_TARGET_UNSAID && r->shape->y_kind == DROVE_Y_CLASS;
    for (size_t i = 0; r->counts_classes && i < r->shape->n_classes; i++)
        r->counts_classes = is_count(drove__class_text(r->shape, i, number));
    DROVE_TRY(set_key(r, "target", drove__target_name(r->shape->y_kind)));
    if (strcmp(r->spec.name, "libsvm") == 0 && r->libsvm.base == DROVE_BASE_AUTO) {
        r->finds_base = true;
        DROVE_TRY(set_key(r, "base", "0"));
        if (r->libsvm.n_features > 0)
            DROVE_TRY(set_number(r, 0, "features", r->libsvm.n_features + 1));
    }
    r->shape->n_features = r->finds_base ? 0 : r->shape->n_features;
    return keep_head(r);
}

/* ---- classes ---- */

static int compare_with(const names *all, size_t i, const char *text)
{
    return strcmp(all->text[all->order[i]], text);
}

/* The number of a class, given to it when it is met first. */
static drove_status number_of(names *all, const char *text, uint32_t *out)
{
    size_t low = 0, high = all->n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (compare_with(all, middle, text) < 0) low = middle + 1;
        else high = middle;
    }
    if (low < all->n && compare_with(all, low, text) == 0) {
        *out = all->order[low];
        return DROVE_OK;
    }
    if (all->n == all->capacity) {
        size_t wanted = 2 * all->capacity + 16;
        char **grown = drove__grow(all->text, wanted, sizeof *grown);
        if (grown != NULL) all->text = grown;
        uint32_t *order = drove__grow(all->order, wanted, sizeof *order);
        if (order != NULL) all->order = order;
        if (grown == NULL || order == NULL) return drove__fail_nomem("classes", wanted);
        all->capacity = wanted;
    }
    all->text[all->n] = strdup(text);
    if (all->text[all->n] == NULL) return drove__fail_nomem("classes", strlen(text));
    memmove(all->order + low + 1, all->order + low, (all->n - low) * sizeof *all->order);
    all->order[low] = (uint32_t)all->n;
    *out = (uint32_t)all->n++;
    return DROVE_OK;
}

/* map[n_classes] of a piece; several columns of labels are the same in all pieces. */
static drove_status map_classes(reading *r, const drove_storage *s, uint32_t **map)
{
    char number[DROVE_CLASS_TEXT_SIZE];
    *map = NULL;
    if (s->y_kind == DROVE_Y_VALUE) return DROVE_OK;
    *map = drove__grow(NULL, s->n_classes, sizeof **map);
    if (*map == NULL) return drove__fail_nomem("classes", s->n_classes * sizeof **map);
    for (size_t i = 0; i < s->n_classes; i++) {
        const char *name = drove__class_text(s, i, number);
        if (r->counts_classes && !is_count(name))
            return drove__fail(DROVE_E_DATA,
                               "%s: in the lines from %llu on: expected whole numbers as labels, "
                               "as in the sample, found \"%.40s\" (?target=value reads all as "
                               "values, ?target=class as classes)",
                               drove__reader_path(r->reader), (unsigned long long)r->line, name);
        DROVE_TRY(number_of(&r->names, name, &(*map)[i]));
    }
    return DROVE_OK;
}

/* ---- rows ---- */

static drove_status write_piece(reading *r, const drove_piece *piece)
{
    drove_storage *s = NULL;
    uint32_t *map = NULL;
    r->spec.piece = piece;
    drove_status status = r->shape->schema != NULL
                              ? r->format->read_like(&r->spec, r->shape, true, &s)
                              : r->format->read(&r->spec, 0, NULL, &s);
    r->spec.piece = NULL;
    if (status != DROVE_OK)
        return drove__fail_in(status, "rows from line %llu on", (unsigned long long)r->line);
    const drove_data view = {.storage = s, .n_rows = s->n_rows};
    if (r->finds_base) {
        if (s->n_features > r->shape->n_features) r->shape->n_features = s->n_features;
        r->has_zero = r->has_zero || s->has_feature_0;
        for (size_t i = 0; i < s->n_rows && r->libsvm.n_features > 0 && !r->has_beyond; i++)
            r->has_beyond = s->row_start[i] < s->row_start[i + 1] &&
                            s->index[s->row_start[i + 1] - 1] == r->libsvm.n_features;
    }
    if (is_given(r)) { /* the classes are then those of the given data */
        status = drove__match(r->opt->like, s, true);
        if (status != DROVE_OK)
            status = drove__fail_in(status, "%s: rows from line %llu on",
                                    drove__reader_path(r->reader), (unsigned long long)r->line);
    } else status = map_classes(r, s, &map);
    if (status != DROVE_OK) goto end;
    if ((status = drove__origin_match(r->shape, s, true)) != DROVE_OK) goto end;
    status = drove__rows_append(r->writer, &view, NULL, map);
    r->n_rows += s->n_rows;
end:
    free(map);
    drove__storage_release(s);
    return status;
}

static drove_status commit(reading *r)
{
    drove_storage *s = r->shape;
    uint32_t *map = NULL;
    bool has_classes = s->y_kind != DROVE_Y_VALUE && !is_given(r);
    bool is_shifted = r->finds_base && !r->has_zero && s->n_features > 1;
    if (r->finds_base) s->index_base = is_shifted;
    s->n_features -= is_shifted;
    if (r->libsvm.n_features != 0) {
        s->n_features = (size_t)r->libsvm.n_features;
        if (!is_shifted && r->has_beyond)
            return drove__fail(
                DROVE_E_DATA,
                "%s: expected feature numbers from 0 to %llu (?features=%llu), found %llu",
                drove__reader_path(r->reader), (unsigned long long)r->libsvm.n_features - 1,
                (unsigned long long)r->libsvm.n_features, (unsigned long long)r->libsvm.n_features);
    }
    if (has_classes) {
        map = drove__grow(NULL, r->names.n, sizeof *map);
        if (map == NULL) return drove__fail_nomem("classes", r->names.n * sizeof *map);
        drove_status status =
            drove__classes_settle(s, (const char *const *)r->names.text, r->names.n, map);
        if (status != DROVE_OK) {
            free(map);
            return status;
        }
        if (s->schema != NULL) drove__classes_note_many(s, r->n_rows);
    }
    const drove_rows_end end = {.shape = s,
                                .map = map,
                                .n_map = r->names.n,
                                .index_shift = is_shifted,
                                .source = r->opt->source};
    drove_status status = drove__rows_commit(r->writer, &end);
    r->writer = NULL;
    free(map);
    return status;
}

/* ---- the file ---- */

static void fini(reading *r)
{
    drove__texts_free(r->names.text, r->names.n);
    free(r->names.order);
    free(r->text);
    drove__rows_abort(r->writer);
    drove__storage_release(r->shape);
    drove__reader_close(r->reader);
    drove__spec_fini(&r->spec);
}

/* The sample of a file; *text: its bytes. */
static drove_status read_some(const char *spec, size_t piece_bytes, drove_data **out, size_t *text)
{
    const drove_pieces_options opt = {.piece_bytes = piece_bytes};
    reading r = {.opt = &opt, .line = 1};
    drove_storage *s = NULL;
    *out = NULL;
    drove_status status = drove__format_parse(spec, &r.spec, &r.format);
    if (status != DROVE_OK) goto end;
    if ((status = open_text(&r)) != DROVE_OK) goto end;
    status = read_sample(&r, &s);
end:
    if (status == DROVE_OK) {
        *out = calloc(1, sizeof **out);
        if (*out == NULL) status = drove__fail_nomem("data set", sizeof **out);
    }
    *text = r.sample_bytes;
    fini(&r);
    if (status != DROVE_OK) {
        drove__storage_release(s);
        return status;
    }
    (*out)->storage = s;
    (*out)->n_rows = s->n_rows;
    return DROVE_OK;
}

/* JSON and ARFF: their columns are known once all of the file has been read, or at its start. */
static bool is_rewritten(const reading *r)
{
    drove_reader *reader;
    const char *head;
    size_t n;
    bool found = false;
    if (r->format->read_like == NULL) return false;
    drove_table_options table;
    if (drove__table_read_options(&r->spec, &table) != DROVE_OK ||
        drove__textfile_open(r->spec.arg[0], table.written.encoding, &reader) != DROVE_OK)
        return false;
    if (drove__reader_head(reader, &head, &n) == DROVE_OK) {
        const drove_content content = {.text = head, .end = head + n};
        found = drove__is_json(&content) || drove__is_arff(&content);
    }
    drove__reader_close(reader);
    return found;
}

/* No more is found out than whether it may be above the limit. */
static bool measure_text(const char *spec, const char *path, double limit, double *bytes)
{
    enum { INFLATED = 4 };   /* bytes of text of a compressed one */
    enum { WIDENED = 1024 }; /* most bytes in memory of a byte of text */
    struct stat about;
    if (stat(path, &about) != 0 || !S_ISREG(about.st_mode)) return false;
    *bytes = (double)about.st_size;
    if (drove__compression_ending(path, strlen(path)) > 0) *bytes *= INFLATED;
    if (*bytes > limit || *bytes * WIDENED <= limit) return true;
    /* Bytes in memory of a byte of text, by the first lines; at least 1. */
    drove_data *data;
    drove_data_facts facts;
    size_t text;
    if (read_some(spec, MEASURED_BYTES, &data, &text) != DROVE_OK) return true; /* said later */
    drove_data_describe(data, &facts);
    drove_data_destroy(data);
    *bytes *= fmax((double)facts.memory_bytes / (double)text, 1.0);
    return true;
}

/* Bytes of a row of generated data. */
static double measure_generated(const drove_logistic_options *of)
{
    return (of->density < 1 ? 8.0 : 4.0) * of->density * (double)of->d + 4.0;
}

bool drove__pieces_can(const char *text, double limit, double *bytes)
{
    reading r = {0};
    bool can = drove__format_parse(text, &r.spec, &r.format) == DROVE_OK;
    if (can && r.format->takes_first) {
        drove_logistic_options of;
        can = drove__spec_take(&r.spec, drove__logistic_keys, &of) == DROVE_OK;
        if (can) *bytes = (double)of.n * measure_generated(&of);
    } else {
        can = can && r.format->reads_pieces && measure_text(text, r.spec.arg[0], limit, bytes) &&
              (*bytes <= limit || !is_rewritten(&r));
    }
    drove__spec_fini(&r.spec);
    return can;
}

/* ---- generated rows ---- */

static drove_status write_generated(reading *r, const char *path)
{
    drove_logistic_options of;
    DROVE_TRY(drove__spec_take(&r->spec, drove__logistic_keys, &of));
    double rows = (double)r->opt->piece_bytes / measure_generated(&of);
    const uint64_t most = rows > 1 ? (uint64_t)rows : 1;
    DROVE_TRY(drove__rows_create(path, r->opt->block_bytes, &r->writer));
    for (uint64_t at = 0; at < of.n; at += most) {
        drove_storage *s;
        DROVE_TRY(set_number(r, 0, "n", of.n - at < most ? of.n - at : most));
        DROVE_TRY(set_number(r, 1, "first", of.first + at));
        DROVE_TRY(r->format->read(&r->spec, 0, NULL, &s));
        const drove_data view = {.storage = s, .n_rows = s->n_rows};
        drove_status status = drove__rows_append(r->writer, &view, NULL, NULL);
        if (status == DROVE_OK && r->shape == NULL) {
            status = drove__storage_create(&r->shape);
            if (status == DROVE_OK) status = drove__storage_describe(s, r->shape);
        }
        drove__storage_release(s);
        DROVE_TRY(status);
    }
    const drove_rows_end end = {.shape = r->shape, .source = r->opt->source};
    drove_status status = drove__rows_commit(r->writer, &end);
    r->writer = NULL;
    return status;
}

drove_status drove__pieces_sample(const char *spec, size_t piece_bytes, drove_data **out)
{
    size_t text;
    return read_some(spec, piece_bytes, out, &text);
}

drove_status drove__pieces_write(const char *spec, const char *path,
                                 const drove_pieces_options *opt)
{
    reading r = {.opt = opt, .line = 1};
    drove_status status = drove__format_parse(spec, &r.spec, &r.format);
    if (status != DROVE_OK) goto end;
    if (r.format->takes_first) {
        status = write_generated(&r, path);
        goto end;
    }
    if (!r.format->reads_pieces) {
        status =
            drove__fail(DROVE_E_UNSUPPORTED,
                        "%s: expected libsvm or a table, which are read in pieces", r.format->name);
        goto end;
    }
    if ((status = open_text(&r)) != DROVE_OK) goto end;
    if ((status = learn(&r)) != DROVE_OK) goto end;
    if ((status = drove__rows_create(path, opt->block_bytes, &r.writer)) != DROVE_OK) goto end;
    while (true) {
        drove_piece piece;
        bool found;
        if ((status = next_piece(&r, &piece, &found)) != DROVE_OK) goto end;
        if (!found) break;
        if ((status = write_piece(&r, &piece)) != DROVE_OK) goto end;
    }
    status = commit(&r);
end:
    fini(&r);
    return status;
}

/* ---- for programs ---- */

static bool names_rows(const char *to, drove_spec *spec)
{
    return drove__spec_parse(to, spec) == DROVE_OK && strcmp(spec->name, "rows") == 0 &&
           spec->n_args == 1;
}

bool drove__pieces_are_needed(const char *from, const char *to, double memory_bytes)
{
    drove_spec spec = {0};
    double bytes;
    const double limit = memory_bytes / 8;
    bool is_large =
        names_rows(to, &spec) && drove__pieces_can(from, limit, &bytes) && bytes > limit;
    drove__spec_fini(&spec);
    return is_large;
}

int drove_data_is_large(const char *from, const char *to)
{
    if (from == NULL || to == NULL) return 0;
    DROVE_IN_C_LOCALE;
    return drove__pieces_are_needed(from, to, (double)drove__memory_available());
}

drove_status drove_data_convert_large(const char *from, const char *to)
{
    DROVE_GIVEN(from);
    DROVE_GIVEN(to);
    DROVE_IN_C_LOCALE;
    drove_pieces_options opt = {.piece_bytes = CONVERT_BYTES, .source = from};
    drove_spec spec = {0};
    drove_rows_keys set = {.block = 0};
    bool scaled;
    drove_status status =
        names_rows(to, &spec)
            ? drove__export_begin(&spec, &scaled)
            : drove__fail(DROVE_E_UNSUPPORTED, "%s: expected rows:FILE, which is written in pieces",
                          to);
    if (status == DROVE_OK) status = drove__spec_take(&spec, drove__rows_keys, &set);
    opt.block_bytes = (size_t)set.block;
    if (status == DROVE_OK) status = drove__pieces_write(from, spec.arg[0], &opt);
    drove__spec_fini(&spec);
    return status;
}
