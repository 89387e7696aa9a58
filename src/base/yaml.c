/* base/yaml.c - items of a YAML text, from libfyaml's events. */
#include "base/yaml.h"

#include "base/available.h"

#include <errno.h>
#include <libfyaml.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct drove_yaml {
    const char *path, *content;
    const char *text;
    size_t size_bytes;
    drove_status bad;
    struct fy_diag *diag;
    struct fy_parser *parser;
    size_t n_events; /* taken from it */
    char *value;     /* of the current item */
};

static const char *const kind_names[] = {
    [DROVE_YAML_VALUE] = "a value",
    [DROVE_YAML_MAPPING] = "a mapping",
    [DROVE_YAML_MAPPING_END] = "the end of the mapping",
    [DROVE_YAML_LIST] = "a list",
    [DROVE_YAML_LIST_END] = "the end of a list",
    [DROVE_YAML_ALIAS] = "an alias",
    [DROVE_YAML_DOCUMENT] = "a second document",
    [DROVE_YAML_DOCUMENT_END] = "the end of the document",
    [DROVE_YAML_END] = "the end of the file",
    [DROVE_YAML_OTHER] = "nothing",
};

static drove_yaml_kind kind_of(enum fy_event_type type)
{
    switch (type) {
    case FYET_STREAM_END: return DROVE_YAML_END;
    case FYET_DOCUMENT_START: return DROVE_YAML_DOCUMENT;
    case FYET_DOCUMENT_END: return DROVE_YAML_DOCUMENT_END;
    case FYET_MAPPING_START: return DROVE_YAML_MAPPING;
    case FYET_MAPPING_END: return DROVE_YAML_MAPPING_END;
    case FYET_SEQUENCE_START: return DROVE_YAML_LIST;
    case FYET_SEQUENCE_END: return DROVE_YAML_LIST_END;
    case FYET_SCALAR: return DROVE_YAML_VALUE;
    case FYET_ALIAS: return DROVE_YAML_ALIAS;
    default: return DROVE_YAML_OTHER;
    }
}

/* ---- errors ---- */

drove_status drove__yaml_fail(const drove_yaml *y, int line, int column, const char *format, ...)
{
    char text[DROVE_ERROR_TEXT_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return drove__fail(y->bad, "%s:%d:%d: %s", y->path, line, column, text);
}

drove_status drove__yaml_unexpected(const drove_yaml *y, const drove_yaml_item *item,
                                    const char *expected)
{
    return drove__yaml_fail(y, item->line, item->column, "expected %s, found %s", expected,
                            kind_names[item->kind]);
}

static drove_status fail_nomem(const drove_yaml *y)
{
    return drove__fail_nomem(y->path, y->size_bytes);
}

/* Reports libfyaml's first error. */
static drove_status syntax_error(const drove_yaml *y)
{
    void *previous = NULL;
    const struct fy_diag_error *error = fy_diag_errors_iterate(y->diag, &previous);
    if (error == NULL)
        return drove__fail(y->bad, "%s: expected YAML, found something else", y->path);
    return drove__yaml_fail(y, error->line, error->column, "expected YAML: %s",
                            error->msg != NULL ? error->msg : "not understood");
}

/* ---- parsers ---- */

static void quiet(struct fy_diag *diag, void *user, const char *text, size_t size_bytes)
{
    (void)diag;
    (void)user;
    (void)text;
    (void)size_bytes;
}

static drove_status open_parser(drove_yaml *y)
{
    struct fy_diag_cfg diag_cfg;
    fy_diag_cfg_default(&diag_cfg);
    diag_cfg.fp = NULL;
    diag_cfg.output_fn = quiet;
    y->diag = fy_diag_create(&diag_cfg);
    if (y->diag == NULL) return fail_nomem(y);
    fy_diag_set_collect_errors(y->diag, true);
    struct fy_parse_cfg cfg = {.search_path = "", .flags = FYPCF_JSON_NONE, .diag = y->diag};
    y->parser = fy_parser_create(&cfg);
    if (y->parser == NULL || fy_parser_set_string(y->parser, y->text, y->size_bytes) != 0)
        return fail_nomem(y);
    return DROVE_OK;
}

/* ---- was there memory? ---- */

static const char *text_of(const struct fy_event *event, size_t *size_bytes)
{
    struct fy_token *token = event->type == FYET_SCALAR ? event->scalar.value : NULL;
    *size_bytes = 0;
    return token != NULL ? fy_token_get_text(token, size_bytes) : "";
}

/* Of two parsers of one text; NULL: a mistake. */
static bool is_same_event(const struct fy_event *a, const struct fy_event *b)
{
    size_t n_a, n_b;
    if (a == NULL || b == NULL) return a == b;
    const char *text_a = text_of(a, &n_a), *text_b = text_of(b, &n_b);
    return a->type == b->type && text_a != NULL && text_b != NULL && n_a == n_b &&
           memcmp(text_a, text_b, n_a) == 0;
}

/* libfyaml drops characters, or ends the text, where it finds no memory, and errno alone tells.
 * But the C library also leaves ENOMEM behind where it found memory in another way.  So the text is
 * parsed anew up to this event, or mistake: where there is memory and both are the same, nothing
 * was lost.  again: of the second parser, which the caller closes. */
static bool is_whole(const drove_yaml *y, const struct fy_event *event, drove_yaml *again)
{
    struct fy_event *other = NULL;
    *again =
        (drove_yaml){.path = y->path, .text = y->text, .size_bytes = y->size_bytes, .bad = y->bad};
    if (!drove__memory_is_there(y->size_bytes) || open_parser(again) != DROVE_OK) return false;
    for (size_t i = 0; i < y->n_events; i++) {
        if (other != NULL) fy_parser_event_free(again->parser, other);
        other = fy_parser_parse(again->parser);
        if (other == NULL && i + 1 < y->n_events) return false;
    }
    const bool is_same = is_same_event(event, other);
    if (other != NULL) fy_parser_event_free(again->parser, other);
    return is_same;
}

static void close_parser(drove_yaml *y)
{
    if (y->parser != NULL) fy_parser_destroy(y->parser);
    if (y->diag != NULL) fy_diag_destroy(y->diag);
}

/* After ENOMEM.  event: NULL: a mistake, which is reported; else DROVE_OK: it is whole. */
static drove_status check_memory(const drove_yaml *y, const struct fy_event *event)
{
    drove_yaml again;
    drove_status status = DROVE_OK;
    if (!is_whole(y, event, &again)) status = fail_nomem(y);
    else if (event == NULL) status = syntax_error(&again);
    close_parser(&again);
    return status;
}

/* ---- items ---- */

/* Position of an event; unchanged if the event has none. */
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
    bool is_behind = style == FYSS_SINGLE_QUOTED || style == FYSS_DOUBLE_QUOTED ||
                     event->type == FYET_ALIAS; /* the mark is after the quote, or the asterisk */
    *line = mark->line + 1;
    *column = mark->column + (is_behind ? 0 : 1);
}

/* A copy of a scalar's text, into y->value. */
static drove_status take_text(drove_yaml *y, const struct fy_event *event,
                              const drove_yaml_item *item)
{
    size_t size_bytes = 0;
    struct fy_token *token = event->scalar.value;
    const char *text = token != NULL ? fy_token_get_text(token, &size_bytes) : "";
    if (text == NULL || memchr(text, '\0', size_bytes) != NULL) {
        return drove__yaml_fail(y, item->line, item->column, "expected UTF-8 text without NUL");
    }
    y->value = strndup(text, size_bytes);
    if (y->value == NULL) return drove__fail_nomem(y->path, size_bytes);
    bool is_plain = token == NULL || fy_token_scalar_style(token) == FYSS_PLAIN;
    if (is_plain && (strcmp(y->value, "~") == 0 || strcmp(y->value, "null") == 0)) *y->value = '\0';
    return DROVE_OK;
}

drove_status drove__yaml_next(drove_yaml *y, drove_yaml_item *out)
{
    drove_yaml_item item = {.line = out->line > 0 ? out->line : 1,
                            .column = out->column > 0 ? out->column : 1};
    drove_status status = DROVE_OK;
    free(y->value);
    y->value = NULL;
    errno = 0;
    struct fy_event *event = fy_parser_parse(y->parser);
    y->n_events++;
    if (event == NULL) return errno == ENOMEM ? check_memory(y, NULL) : syntax_error(y);
    item.kind = kind_of(event->type);
    event_place(event, &item.line, &item.column);
    if (item.kind == DROVE_YAML_VALUE) status = take_text(y, event, &item);
    if (errno == ENOMEM) {
        status = check_memory(y, event);
        free(y->value);
        y->value = NULL;
        if (status == DROVE_OK && item.kind == DROVE_YAML_VALUE)
            status = take_text(y, event, &item);
    }
    fy_parser_event_free(y->parser, event);
    if (status != DROVE_OK) return status;
    item.text = y->value;
    *out = item;
    return DROVE_OK;
}

drove_status drove__yaml_expect(drove_yaml *y, drove_yaml_kind kind, const char *expected,
                                drove_yaml_item *out)
{
    DROVE_TRY(drove__yaml_next(y, out));
    return out->kind == kind ? DROVE_OK : drove__yaml_unexpected(y, out, expected);
}

/* An empty document counts as an empty mapping. */
drove_status drove__yaml_begin(drove_yaml *y, const char *expected, int *is_empty)
{
    drove_yaml_item item = {0};
    DROVE_TRY(drove__yaml_next(y, &item)); /* the beginning of the text */
    if (item.kind != DROVE_YAML_OTHER) return drove__yaml_unexpected(y, &item, "YAML");
    item.line = item.column = 0;
    DROVE_TRY(drove__yaml_next(y, &item));
    *is_empty = item.kind == DROVE_YAML_END;
    if (*is_empty) return DROVE_OK;
    item.line = item.column = 0;
    return drove__yaml_expect(y, DROVE_YAML_MAPPING, expected, &item);
}

drove_status drove__yaml_finish(drove_yaml *y)
{
    drove_yaml_item item = {0};
    DROVE_TRY(drove__yaml_expect(y, DROVE_YAML_DOCUMENT_END, "the end of the document", &item));
    item.line = item.column = 0;
    return drove__yaml_expect(y, DROVE_YAML_END, "one document", &item);
}

/* ---- opening ---- */

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

/* Refuses texts that the parser mishandles: it takes a NUL byte for the end of the file, and never
 * returns from a directive that is not UTF-8.  None of our files needs a directive. */
static drove_status check_text(const drove_yaml *y)
{
    const unsigned char *c = (const unsigned char *)y->text, *end = c + y->size_bytes;
    for (int line = 1, column = 1; c < end;) {
        size_t n_bytes = *c == '\0' ? 0 : utf8_bytes(c, (size_t)(end - c));
        if (n_bytes == 0) {
            return drove__yaml_fail(y, line, column, "expected UTF-8 text, found %s",
                                    *c == '\0' ? "a NUL byte" : "other bytes");
        }
        if (column == 1 && *c == '%') {
            return drove__yaml_fail(y, line, 1, "expected %s, found a YAML directive", y->content);
        }
        column = *c == '\n' ? 1 : column + 1;
        line += *c == '\n';
        c += n_bytes;
    }
    return DROVE_OK;
}

drove_status drove__yaml_open(const char *text, size_t size_bytes, const char *path,
                              drove_status bad, const char *content, drove_yaml **out)
{
    *out = NULL;
    drove_yaml *y = calloc(1, sizeof *y);
    if (y == NULL) return drove__fail_nomem(path, sizeof *y);
    *y = (drove_yaml){
        .path = path, .content = content, .text = text, .size_bytes = size_bytes, .bad = bad};
    drove_status status = check_text(y);
    if (status == DROVE_OK) status = open_parser(y);
    if (status != DROVE_OK) {
        drove__yaml_close(y);
        return status;
    }
    *out = y;
    return DROVE_OK;
}

void drove__yaml_close(drove_yaml *y)
{
    if (y == NULL) return;
    close_parser(y);
    free(y->value);
    free(y);
}
