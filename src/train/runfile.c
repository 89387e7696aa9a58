/* train/runfile.c - run files: a YAML mapping from option names to scalars.
 *
 * The file is read as a stream of events and refused at the first one that does not belong there,
 * so nothing nested is ever built, however deep the file goes.  Anchors, aliases and tags have no
 * use here; aliases are refused.
 */
#include "base/file.h"
#include "base/mem.h"
#include "base/status.h"

#include <drove/options.h>

#include <libfyaml.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { RUNFILE_MOST_BYTES = 1 << 20, MOST_GIVEN = 64 };

typedef struct runfile {
    const char *path;
    char *text;
    size_t size_bytes;
    struct fy_diag *diag;
    struct fy_parser *parser;
    drove_options options; /* becomes the caller's when the whole file was good          */
    size_t n_given;
    char given[MOST_GIVEN][32]; /* keys so far, with '_'                                    */
    int given_line[MOST_GIVEN];
} runfile;

static void quiet(struct fy_diag *diag, void *user, const char *text, size_t size_bytes)
{
    (void)diag;
    (void)user;
    (void)text;
    (void)size_bytes;
}

static const char *event_name(enum fy_event_type type)
{
    switch (type) {
    case FYET_STREAM_END: return "the end of the file";
    case FYET_DOCUMENT_START: return "a second document";
    case FYET_DOCUMENT_END: return "the end of the document";
    case FYET_MAPPING_START: return "a mapping";
    case FYET_MAPPING_END: return "the end of the mapping";
    case FYET_SEQUENCE_START: return "a list";
    case FYET_SEQUENCE_END: return "the end of a list";
    case FYET_SCALAR: return "a value";
    case FYET_ALIAS: return "an alias";
    default: return "nothing";
    }
}

/* Where an event stands; the end of what was read, if it does not say. */
static void event_place(const struct fy_event *event, int *line, int *column)
{
    struct fy_token *token = NULL;
    switch (event->type) {
    case FYET_SCALAR: token = event->scalar.value; break;
    case FYET_ALIAS: token = event->alias.anchor; break;
    case FYET_MAPPING_START: token = event->mapping_start.mapping_start; break;
    case FYET_SEQUENCE_START: token = event->sequence_start.sequence_start; break;
    case FYET_DOCUMENT_START: token = event->document_start.document_start; break;
    default: break;
    }
    const struct fy_mark *mark = token != NULL ? fy_token_start_mark(token) : NULL;
    if (mark == NULL) return;
    enum fy_scalar_style style = fy_token_scalar_style(token);
    bool is_quoted = style == FYSS_SINGLE_QUOTED || style == FYSS_DOUBLE_QUOTED;
    *line = mark->line + 1;
    *column = mark->column + (is_quoted ? 0 : 1); /* the mark stands after the quote */
}

/* What libfyaml found wrong first. */
static drove_status syntax_error(const runfile *f)
{
    void *previous = NULL;
    const struct fy_diag_error *error = fy_diag_errors_iterate(f->diag, &previous);
    if (error == NULL)
        return drove__fail(DROVE_E_ARG, "%s: expected YAML, found something else", f->path);
    return drove__fail(DROVE_E_ARG, "%s:%d:%d: expected YAML: %s", f->path, error->line,
                       error->column, error->msg != NULL ? error->msg : "not understood");
}

/* The next event, or NULL with the status set; the caller frees it. */
static struct fy_event *next_event(runfile *f, drove_status *status)
{
    struct fy_event *event = fy_parser_parse(f->parser);
    if (event == NULL) *status = syntax_error(f);
    return event;
}

/* Takes an event that must have this type. */
static drove_status expect(runfile *f, enum fy_event_type type, const char *expected)
{
    drove_status status = DROVE_OK;
    struct fy_event *event = next_event(f, &status);
    if (event == NULL) return status;
    if (event->type != type) {
        int line = 1, column = 1;
        event_place(event, &line, &column);
        status = drove__fail(DROVE_E_ARG, "%s:%d:%d: expected %s, found %s", f->path, line, column,
                             expected, event_name(event->type));
    }
    fy_parser_event_free(f->parser, event);
    return status;
}

static drove_status remember(runfile *f, const char *key, int line, int column)
{
    char plain[sizeof f->given[0]];
    snprintf(plain, sizeof plain, "%s", key);
    for (char *c = plain; *c != '\0'; c++) {
        if (*c == '-') *c = '_';
    }
    if (strcmp(plain, "workers") == 0) strcpy(plain, "threads");
    for (size_t i = 0; i < f->n_given; i++) {
        if (strcmp(f->given[i], plain) != 0) continue;
        return drove__fail(DROVE_E_ARG,
                           "%s:%d:%d: expected each option once, found \"%s\" again (first "
                           "on line %d)",
                           f->path, line, column, key, f->given_line[i]);
    }
    if (f->n_given < MOST_GIVEN) {
        memcpy(f->given[f->n_given], plain, sizeof plain);
        f->given_line[f->n_given++] = line;
    }
    return DROVE_OK;
}

/* A copy of a scalar's text: malloc.  A plain ~ or null, and nothing at all, are the empty text. */
static drove_status scalar_text(const runfile *f, const struct fy_event *event, int line,
                                int column, char **out)
{
    size_t size_bytes = 0;
    struct fy_token *token = event->scalar.value;
    const char *text = token != NULL ? fy_token_get_text(token, &size_bytes) : "";
    if (text == NULL || memchr(text, '\0', size_bytes) != NULL) {
        return drove__fail(DROVE_E_ARG, "%s:%d:%d: expected UTF-8 text without NUL", f->path, line,
                           column);
    }
    char *copy = strndup(text, size_bytes);
    if (copy == NULL) return drove__fail_nomem(f->path, size_bytes);
    bool is_plain = token == NULL || fy_token_scalar_style(token) == FYSS_PLAIN;
    if (is_plain && (strcmp(copy, "~") == 0 || strcmp(copy, "null") == 0)) *copy = '\0';
    *out = copy;
    return DROVE_OK;
}

/* One scalar event, as text and place. */
static drove_status take_scalar(runfile *f, struct fy_event *event, const char *expected, int *line,
                                int *column, char **out)
{
    event_place(event, line, column);
    if (event->type != FYET_SCALAR) {
        return drove__fail(DROVE_E_ARG, "%s:%d:%d: expected %s, found %s", f->path, *line, *column,
                           expected, event_name(event->type));
    }
    return scalar_text(f, event, *line, *column, out);
}

/* The value that belongs to key, and both into the options. */
static drove_status read_value(runfile *f, const char *key, int line, int column)
{
    drove_status status = DROVE_OK;
    char *value = NULL, expected[64];
    int value_line = line, value_column = column;
    struct fy_event *event = next_event(f, &status);
    if (event == NULL) return status;
    snprintf(expected, sizeof expected, "one value for \"%.32s\"", key);
    status = take_scalar(f, event, expected, &value_line, &value_column, &value);
    fy_parser_event_free(f->parser, event);
    if (status != DROVE_OK) return status;
    status = drove_options_set(&f->options, key, value);
    if (status != DROVE_OK) {
        status = drove__fail_in(status, "%s:%d:%d", f->path, value_line, value_column);
    }
    free(value);
    return status;
}

/* One key with its value, or the end of the mapping. */
static drove_status read_pair(runfile *f, bool *ended)
{
    drove_status status = DROVE_OK;
    int line = 1, column = 1;
    char *key = NULL, present[DROVE_TEXT_SIZE];
    struct fy_event *event = next_event(f, &status);
    if (event == NULL) return status;
    *ended = event->type == FYET_MAPPING_END;
    if (!*ended) status = take_scalar(f, event, "the name of an option", &line, &column, &key);
    fy_parser_event_free(f->parser, event);
    if (*ended || status != DROVE_OK) return status;

    if (strcmp(key, "workers") != 0)
        status = drove_options_get(&f->options, key, present, sizeof present);
    if (status != DROVE_OK) status = drove__fail_in(status, "%s:%d:%d", f->path, line, column);
    if (status == DROVE_OK) status = remember(f, key, line, column);
    if (status == DROVE_OK) status = read_value(f, key, line, column);
    free(key);
    return status;
}

/* Nothing but an empty document is the same as an empty mapping. */
static drove_status read_document(runfile *f)
{
    drove_status status = DROVE_OK;
    DROVE_TRY(expect(f, FYET_STREAM_START, "YAML"));
    struct fy_event *event = next_event(f, &status);
    if (event == NULL) return status;
    bool is_empty = event->type == FYET_STREAM_END;
    fy_parser_event_free(f->parser, event);
    if (is_empty) return DROVE_OK;
    DROVE_TRY(expect(f, FYET_MAPPING_START, "lines of the form option: value"));
    for (bool ended = false; !ended;) DROVE_TRY(read_pair(f, &ended));
    DROVE_TRY(expect(f, FYET_DOCUMENT_END, "the end of the document"));
    return expect(f, FYET_STREAM_END, "one document");
}

/* Bytes of the UTF-8 character at c[n], n >= 1; 0 if it is none. */
static size_t utf8_bytes(const unsigned char *c, size_t n)
{
    static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (c[0] < 0x80) return 1;
    size_t length = c[0] >= 0xf0 ? 4 : c[0] >= 0xe0 ? 3 : 2;
    if (c[0] < 0xc2 || c[0] > 0xf4 || length > n) return 0;
    unsigned code = c[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((c[i] & 0xc0) != 0x80) return 0;
        code = code << 6 | (c[i] & 0x3fu);
    }
    bool is_surrogate = code >= 0xd800 && code < 0xe000;
    return code >= least[length] && code <= 0x10ffff && !is_surrogate ? length : 0;
}

/* What the parser takes wrongly: a NUL byte ends the file for it, and from a directive that is not
 * UTF-8 it never returns.  A run file needs no directive. */
static drove_status check_text(const runfile *f)
{
    const unsigned char *c = (const unsigned char *)f->text, *end = c + f->size_bytes;
    for (int line = 1, column = 1; c < end;) {
        size_t n_bytes = *c == '\0' ? 0 : utf8_bytes(c, (size_t)(end - c));
        if (n_bytes == 0) {
            return drove__fail(DROVE_E_ARG, "%s:%d:%d: expected UTF-8 text, found %s", f->path,
                               line, column, *c == '\0' ? "a NUL byte" : "other bytes");
        }
        if (column == 1 && *c == '%') {
            return drove__fail(DROVE_E_ARG,
                               "%s:%d:1: expected option: value, found a YAML directive", f->path,
                               line);
        }
        column = *c == '\n' ? 1 : column + 1;
        line += *c == '\n';
        c += n_bytes;
    }
    return DROVE_OK;
}

static drove_status open_parser(runfile *f)
{
    struct fy_diag_cfg diag_cfg;
    fy_diag_cfg_default(&diag_cfg);
    diag_cfg.fp = NULL;
    diag_cfg.output_fn = quiet;
    f->diag = fy_diag_create(&diag_cfg);
    if (f->diag == NULL) return drove__fail(DROVE_E_NOMEM, "%s: not enough memory", f->path);
    fy_diag_set_collect_errors(f->diag, true);
    struct fy_parse_cfg cfg = {.search_path = "", .flags = FYPCF_JSON_NONE, .diag = f->diag};
    f->parser = fy_parser_create(&cfg);
    if (f->parser == NULL || fy_parser_set_string(f->parser, f->text, f->size_bytes) != 0) {
        return drove__fail(DROVE_E_NOMEM, "%s: not enough memory", f->path);
    }
    return DROVE_OK;
}

drove_status drove_options_load(drove_options *options, const char *path)
{
    runfile *f = calloc(1, sizeof *f);
    if (f == NULL) return drove__fail_nomem("run file", sizeof *f);
    f->path = path;
    f->options = *options;
    drove_status status = drove__file_load(path, RUNFILE_MOST_BYTES, &f->text, &f->size_bytes);
    if (status == DROVE_OK) status = check_text(f);
    if (status == DROVE_OK) status = open_parser(f);
    if (status == DROVE_OK) status = read_document(f);
    if (status == DROVE_OK) *options = f->options;
    if (f->parser != NULL) fy_parser_destroy(f->parser);
    if (f->diag != NULL) fy_diag_destroy(f->diag);
    free(f->text);
    free(f);
    return status;
}
