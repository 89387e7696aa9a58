/* data/read/csv.c - tables in text: one example per line; one column is the label.
 *
 * Separator: ?sep=, or the first of comma, semicolon and tab that the first line holds.  Fields
 * may be quoted, with "" for a quote; a field ends on its line.  A first line in which no
 * feature is a number is a header.  Blank lines are skipped; a line with more or fewer fields
 * than the first is an error, and so is an empty field.
 */
#include "data/export.h"
#include "data/read/labels.h"
#include "data/origin.h"
#include "data/read/text.h"

#include "base/mem.h"
#include "base/textfile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_COLUMN SIZE_MAX /* ?label=none */

typedef struct csv_options {
    const char *label, *separator, *encoding; /* NULL: not given */
    enum { HEADER_AUTO, HEADER_YES, HEADER_NO } header;
    drove_label_options labels;
    drove_export_options written;
} csv_options;

static const char *const headers[] = {"auto", "yes", "no", NULL};
static const drove_spec_key keys[] = {
    {"label", "last", DROVE_AS_TEXT(csv_options, label),
     .help = "column of the label: last, first, none, its number or its name"},
    {"sep", NULL, DROVE_AS_TEXT(csv_options, separator), .help = DROVE_SEPARATOR_HELP},
    {"header", "auto", DROVE_AS_WORD(csv_options, header, headers),
     .help = "the first line names the columns"},
    DROVE_SPEC_KEYS_OF(csv_options, labels, drove_label_options, drove__label_keys),
    DROVE_SPEC_KEYS_OF(csv_options, written, drove_export_options, drove__export_keys),
    {"encoding", NULL, DROVE_AS_TEXT(csv_options, encoding), .help = DROVE_ENCODING_HELP},
    DROVE_SPEC_END,
};

typedef struct csv_file { /* a file being read */
    drove_reader *reader;
    drove_labels *labels;
    drove_storage *storage;
    csv_options opt;
    char separator; /* 0: not known yet                             */
    char stops[4];  /* bytes that end a number                      */
    size_t n_columns, label_column;
    const drove_shard *shard; /* rows to keep                             */
    size_t n_rows;            /* of the file                              */
    float *x;                 /* [kept][n_columns - 1], grows                 */
    size_t n_x, x_capacity;
    uint64_t n_rounded; /* as in drove_line                         */
    char *unquoted;     /* scratch for a field that holds ""            */
    size_t unquoted_capacity;
} csv_file;

typedef struct field {
    const char *start; /* for errors                                   */
    const char *text;  /* without quotes and the blanks around it      */
    size_t length;
    bool doubled; /* holds "" for "                               */
} field;

/* ---- fields ---- */

/* Blanks are separators or padding. */
static void skip_padding(const csv_file *f, drove_line *line)
{
    while (line->at < line->end && drove__is_blank(*line->at) && *line->at != f->separator)
        line->at++;
}

/* The field at line->at; line->at then is at the separator after it or at the end. */
static drove_status scan_field(const csv_file *f, drove_line *line, field *out)
{
    skip_padding(f, line);
    *out = (field){.start = line->at, .text = line->at};
    if (line->at < line->end && *line->at == '"') {
        const char *c = line->at + 1;
        out->text = c;
        while (true) {
            c = c < line->end ? memchr(c, '"', (size_t)(line->end - c)) : NULL;
            if (c == NULL)
                return drove__line_fail(line, line->end, "a closing quote on the same line");
            if (c + 1 == line->end || c[1] != '"') break;
            out->doubled = true;
            c += 2;
        }
        out->length = (size_t)(c - out->text);
        line->at = c + 1;
        skip_padding(f, line);
        if (line->at < line->end && *line->at != f->separator) {
            return drove__line_fail(line, line->at, "a separator after the closing quote");
        }
        return DROVE_OK;
    }
    const char *end = NULL;
    if (line->at < line->end) end = memchr(line->at, f->separator, (size_t)(line->end - line->at));
    if (end == NULL) end = line->end;
    line->at = end;
    while (end > out->text && drove__is_blank(end[-1])) end--;
    out->length = (size_t)(end - out->text);
    return DROVE_OK;
}

/* Replaces a text with "" by one with ", in scratch of the file. */
static drove_status unquote(csv_file *f, field *text)
{
    if (!text->doubled) return DROVE_OK;
    DROVE_TRY(drove__reserve(&f->unquoted, &f->unquoted_capacity, text->length, 1));
    size_t n = 0;
    for (size_t i = 0; i < text->length; i++) {
        f->unquoted[n++] = text->text[i];
        if (text->text[i] == '"') i++;
    }
    text->text = f->unquoted;
    text->length = n;
    return DROVE_OK;
}

/* ---- the first line ---- */

/* Sets label_column; *by_name: the first line must be a header. */
static drove_status find_label_column(csv_file *f, const drove_line *line, bool *by_name)
{
    uint64_t number;
    *by_name = false;
    if (strcmp(f->opt.label, "none") == 0) {
        f->label_column = NO_COLUMN;
    } else if (strcmp(f->opt.label, "last") == 0) {
        f->label_column = f->n_columns - 1;
    } else if (strcmp(f->opt.label, "first") == 0) {
        f->label_column = 0;
    } else if (strspn(f->opt.label, "0123456789") == strlen(f->opt.label)) {
        DROVE_TRY(drove__parse_u64("label", f->opt.label, 1, f->n_columns, &number));
        f->label_column = (size_t)number - 1;
    } else {
        *by_name = true;
        drove_line rest = *line;
        for (size_t column = 0; column < f->n_columns; column++) {
            field name;
            DROVE_TRY(scan_field(f, &rest, &name));
            DROVE_TRY(unquote(f, &name));
            if (name.length == strlen(f->opt.label) &&
                memcmp(name.text, f->opt.label, name.length) == 0) {
                f->label_column = column;
                return DROVE_OK;
            }
            if (rest.at < rest.end) rest.at++;
        }
        char expected[96];
        snprintf(expected, sizeof expected, "a header with a column called \"%.40s\" (?label=)",
                 f->opt.label);
        return drove__line_fail(line, line->at, expected);
    }
    return DROVE_OK;
}

/* Whether no feature of the line is a number. */
static drove_status looks_like_header(const csv_file *f, drove_line line, bool *out)
{
    *out = true;
    for (size_t column = 0; column < f->n_columns && *out; column++) {
        field text;
        float number;
        DROVE_TRY(scan_field(f, &line, &text));
        const char *next, *end = text.text + text.length;
        if (column != f->label_column && drove__scan_float(text.text, end, &next, &number) &&
            next == end)
            *out = false;
        if (line.at < line.end) line.at++;
    }
    return DROVE_OK;
}

/* Columns, label and header; *is_header: the line holds no example. */
static drove_status examine_first_line(csv_file *f, const drove_line *line, bool *is_header)
{
    bool by_name;
    static const char candidates[] = {',', ';', '\t'};
    static const char *const names[] = {"comma", "semicolon", "tab"};
    for (size_t i = 0; i < sizeof candidates && f->separator == 0; i++) {
        if (memchr(line->at, candidates[i], (size_t)(line->end - line->at)) == NULL) continue;
        f->separator = candidates[i];
        if (i > 0) drove__storage_note(f->storage, "fields are separated by a %s", names[i]);
    }
    if (f->separator == 0) f->separator = ',';
    f->stops[0] = f->separator;
    strcpy(f->stops + 1, drove__is_blank(f->separator) ? "" : " \t");
    drove_line rest = *line;
    for (f->n_columns = 1;; f->n_columns++) {
        field skipped;
        DROVE_TRY(scan_field(f, &rest, &skipped));
        if (rest.at == rest.end) break;
        rest.at++;
    }
    if (f->n_columns < 2)
        return drove__line_fail(line, line->at, "at least two columns (another separator: ?sep=)");
    DROVE_TRY(find_label_column(f, line, &by_name));
    if (by_name && f->opt.header == HEADER_NO) {
        return drove__fail(
            DROVE_E_ARG,
            "label: expected last, first or a number where there is no header, found "
            "\"%s\"",
            f->opt.label);
    }
    *is_header = by_name || f->opt.header == HEADER_YES;
    if (f->opt.header == HEADER_AUTO && !by_name) {
        DROVE_TRY(looks_like_header(f, *line, is_header));
        if (*is_header) drove__storage_note(f->storage, "the first line is a header");
    }
    return DROVE_OK;
}

/* ---- rows ---- */

static drove_status parse_feature(csv_file *f, drove_line *line)
{
    skip_padding(f, line);
    drove_line quoted = *line;
    if (line->at < line->end && *line->at == '"') {
        field text;
        DROVE_TRY(scan_field(f, line, &text));
        quoted.at = text.text;
        quoted.end = text.text + text.length;
        DROVE_TRY(drove__line_number(&quoted, "", "a number", &f->x[f->n_x]));
        if (quoted.at != quoted.end) return drove__line_fail(&quoted, text.text, "a number");
        line->n_rounded = quoted.n_rounded;
    } else {
        DROVE_TRY(drove__line_number(line, f->stops, "a number", &f->x[f->n_x]));
        skip_padding(f, line);
        if (line->at < line->end && *line->at != f->separator) {
            return drove__line_fail(line, line->at, "a separator after a number");
        }
    }
    f->n_x++;
    return DROVE_OK;
}

static drove_status parse_label(csv_file *f, drove_line *line)
{
    field text;
    DROVE_TRY(scan_field(f, line, &text));
    if (text.length == 0) return drove__line_fail(line, text.start, "a label");
    DROVE_TRY(unquote(f, &text));
    if (memchr(text.text, '\0', text.length) != NULL)
        return drove__line_fail(line, text.start, "a label without zero bytes");
    DROVE_TRY(drove__labels_add(f->labels, line, text.text, text.length, true));
    return drove__labels_end_row(f->labels, line);
}

static size_t count_features(const csv_file *f)
{
    return f->label_column == NO_COLUMN ? f->n_columns : f->n_columns - 1;
}

static drove_status parse_row(csv_file *f, drove_line *line)
{
    DROVE_TRY(drove__reserve(&f->x, &f->x_capacity, f->n_x + count_features(f), sizeof *f->x));
    if (f->label_column == NO_COLUMN) { /* rows to predict: all have the same label */
        DROVE_TRY(drove__labels_add_number(f->labels, 0.0));
        DROVE_TRY(drove__labels_end_row(f->labels, line));
    }
    for (size_t column = 0; column < f->n_columns; column++) {
        DROVE_TRY(column == f->label_column ? parse_label(f, line) : parse_feature(f, line));
        bool is_last = column + 1 == f->n_columns;
        if ((line->at == line->end) != is_last) {
            char expected[80];
            snprintf(expected, sizeof expected, "%zu fields as in the first line, not %s",
                     f->n_columns, column + 1 < f->n_columns ? "fewer" : "more");
            return drove__line_fail(line, line->at, expected);
        }
        if (!is_last) line->at++;
    }
    if (!drove__shard_has(f->shard, f->n_rows)) f->n_x -= count_features(f);
    f->n_rows++;
    return DROVE_OK;
}

static drove_status read_options(const drove_spec *spec, csv_file *f)
{
    DROVE_TRY(drove__spec_take(spec, keys, &f->opt));
    DROVE_TRY(drove__read_separator("csv?sep", f->opt.separator, &f->separator));
    if (*f->opt.label == '\0')
        return drove__fail(DROVE_E_ARG, "label: expected last, first, none, a number or a name");
    return DROVE_OK;
}

static drove_status read_csv(const drove_spec *spec, int part, const drove_shard *shard,
                             drove_storage **out)
{
    csv_file f = {.shard = shard};
    (void)part;
    drove_status status = read_options(spec, &f);
    if (status != DROVE_OK) goto end;
    if ((status = drove__textfile_open(spec->arg[0], f.opt.encoding, &f.reader)) != DROVE_OK)
        goto end;
    if ((status = drove__storage_create(&f.storage)) != DROVE_OK) goto end;
    if ((status = drove__labels_create(&f.labels)) != DROVE_OK) goto end;
    const char *path = drove__reader_path(f.reader);
    while (true) {
        drove_line line;
        bool found, is_header = false;
        if ((status = drove__line_next(f.reader, &line, &found)) != DROVE_OK) goto end;
        if (!found) break;
        if (f.n_columns == 0 && (status = examine_first_line(&f, &line, &is_header)) != DROVE_OK)
            goto end;
        if (!is_header && (status = parse_row(&f, &line)) != DROVE_OK) goto end;
        f.n_rounded += line.n_rounded;
    }
    if (f.n_rows == 0) {
        status = drove__fail(DROVE_E_DATA, "%s: expected lines of numbers and a label, found none",
                             path);
        goto end;
    }
    if ((status = drove__storage_check_shard(f.shard, f.n_rows, path)) != DROVE_OK) goto end;
    /* Moves the rows to memory from drove__alloc, which x_f32 requires. */
    drove_storage *s = f.storage;
    s->x_kind = DROVE_X_F32;
    s->n_rows = f.n_rows;
    s->n_features = count_features(&f);
    f.n_x = drove__shard_size(f.shard, f.n_rows) * s->n_features;
    s->x_f32 = drove__alloc(f.n_x, sizeof *s->x_f32);
    if (s->x_f32 == NULL) {
        status = drove__fail_nomem("data set", f.n_x * sizeof *s->x_f32);
        goto end;
    }
    memcpy(s->x_f32, f.x, f.n_x * sizeof *s->x_f32);
    free(f.x);
    f.x = NULL;
    if ((status = drove__labels_finish(f.labels, &f.opt.labels, path, f.storage)) != DROVE_OK)
        goto end;
    drove__storage_keep_targets(f.storage, f.shard);
    drove__storage_note_rounded(f.storage, f.n_rounded);
    status = drove__storage_check(f.storage, path);
end:
    drove__labels_destroy(f.labels);
    drove__reader_close(f.reader);
    free(f.x);
    free(f.unquoted);
    if (status != DROVE_OK) drove__storage_release(f.storage);
    else *out = f.storage;
    return status;
}

/* ---- writing ---- */

static void write_text(FILE *stream, const char *text, char separator)
{
    if (strchr(text, separator) == NULL && strpbrk(text, "\" \t") == NULL) {
        fputs(text, stream);
        return;
    }
    putc('"', stream);
    for (; *text != '\0'; text++) {
        if (*text == '"') putc('"', stream);
        putc(*text, stream);
    }
    putc('"', stream);
}

static drove_status write_csv(const drove_data *data, const drove_spec *to)
{
    const drove_storage *s = data->storage;
    csv_file options = {0};
    drove_writer *writer;
    bool scaled;
    if (s->y_kind == DROVE_Y_LABELS) {
        return drove__fail(DROVE_E_UNSUPPORTED,
                           "csv: holds one label per row; these data have several (libsvm and npy "
                           "hold them)");
    }
    DROVE_TRY(read_options(to, &options));
    if (strcmp(options.opt.label, "last") != 0) {
        return drove__fail(DROVE_E_UNSUPPORTED,
                           "csv: the label is written last; expected no ?label");
    }
    DROVE_TRY(drove__export_begin(to, &scaled));
    double *origin = NULL; /* of the numbers of x, which are not scaled; NULL: zeros */
    if (!scaled || data->factor == NULL) DROVE_TRY(drove__origin_all(s, &origin));
    float *x = drove__grow(NULL, s->n_features, sizeof *x);
    if (x == NULL) {
        free(origin);
        return drove__fail_nomem("a row", s->n_features * sizeof *x);
    }
    drove_status status = drove__writer_create(to->arg[0], &writer);
    if (status == DROVE_OK) {
        FILE *stream = drove__writer_stream(writer);
        char separator = options.separator != 0 ? options.separator : ',';
        for (size_t i = 0; i < data->n_rows && !ferror(stream); i++) {
            size_t row = drove__data_row(data, i);
            drove__export_row(data, i, scaled, x);
            for (size_t j = 0; j < s->n_features; j++) {
                drove__export_number(stream, x[j], origin != NULL ? origin[j] : 0.0);
                putc(separator, stream);
            }
            if (s->y_kind == DROVE_Y_VALUE) {
                drove__export_number(stream, s->y_value[row], drove__origin_y(s, 0));
            } else {
                char number[DROVE_CLASS_TEXT_SIZE];
                write_text(stream, drove__class_text(s, (size_t)s->y_class[row], number),
                           separator);
            }
            putc('\n', stream);
        }
        status = drove__writer_commit(writer);
    }
    free(x);
    free(origin);
    return status;
}

const drove_format_ops drove__format_csv = {
    .name = "csv",
    .help = "text table of numbers; dense",
    .source = "RFC 4180",
    .arguments = "FILE",
    .least_args = 1,
    .most_args = 1,
    .keys = keys,
    .read = read_csv,
    .reads_shards = true,
    .write = write_csv,
    .default_scaling = DROVE_SCALE_NONE,
};
