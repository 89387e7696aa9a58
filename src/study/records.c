/* study/records.c - see records.h. */
#include "study/records.h"

#include "base/file.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PIECE_BYTES = 256 << 10, MOST_OBJECT_BYTES = 64 << 20, LINE_SIZE = 8192 };

void drove__records_say(const drove_records *in, size_t line, const char *why)
{
    char text[LINE_SIZE];
    if (in->message == NULL) return;
    if (line > 0) snprintf(text, sizeof text, "%s:%zu: left out: %s", in->path, line, why);
    else snprintf(text, sizeof text, "%s: left out: %s", in->path, why);
    in->message(in->context, text);
}

/* Whoever opens a pipe waits for a writer.  Opening says what else there may be. */
static drove_status check_regular(const char *path)
{
    struct stat about;
    if (stat(path, &about) != 0 || S_ISREG(about.st_mode)) return DROVE_OK;
    return drove__fail(DROVE_E_FILE, "%s: expected a regular file, found %s", path,
                       S_ISDIR(about.st_mode)    ? "a folder"
                       : S_ISFIFO(about.st_mode) ? "a pipe"
                                                 : "a device or a socket");
}

static drove_status parse_object(const char *text, size_t n_bytes, json_t **out)
{
    json_error_t why;
    DROVE_TRY(drove__json_parse(text, n_bytes, JSON_REJECT_DUPLICATES, &why, out));
    if (json_is_object(*out)) return DROVE_OK;
    json_decref(*out);
    *out = NULL;
    return drove__fail(DROVE_E_DATA, "expected a JSON object");
}

drove_status drove__record_load(const char *path, json_t **out)
{
    char *text = NULL;
    size_t n_bytes;
    *out = NULL;
    DROVE_TRY(check_regular(path));
    DROVE_TRY(drove__file_load(path, MOST_OBJECT_BYTES, &text, &n_bytes));
    const drove_status status = parse_object(text, n_bytes, out);
    free(text);
    return status == DROVE_OK ? status : drove__fail_in(status, "%s", path);
}

/* ---- lines ---- */

typedef drove_status visit_fn(void *to, const json_t *record);

/* Parses nothing. */
static drove_status count_lines(const char *path, drove_records_found *found)
{
    drove_reader *reader = NULL;
    size_t n = 0;
    char *piece = malloc(PIECE_BYTES);
    *found = (drove_records_found){0};
    if (piece == NULL) return drove__fail_nomem("lines", PIECE_BYTES);
    drove_status status = drove__reader_open(path, &reader);
    while (status == DROVE_OK) {
        status = drove__reader_read_some(reader, piece, PIECE_BYTES, &n);
        if (status != DROVE_OK || n == 0) break;
        for (const char *at = piece; (at = memchr(at, '\n', (size_t)(piece + n - at))) != NULL;
             at++)
            found->n_lines++;
        found->has_half = piece[n - 1] != '\n';
    }
    drove__reader_close(reader);
    free(piece);
    return status;
}

drove_status drove__records_each(const drove_records *in, visit_fn *visit, void *to,
                                 drove_records_found *found)
{
    drove_reader *reader = NULL;
    drove_records_found here;
    char *line;
    size_t n_bytes;
    DROVE_TRY(check_regular(in->path));
    DROVE_TRY(count_lines(in->path, &here)); /* a program may add lines meanwhile: not read */
    if (found != NULL) *found = here;
    const bool is_thin = in->most > 1 && here.n_lines > in->most;
    const size_t step = is_thin ? (here.n_lines - 1) / (in->most - 1) + 1 : 1;
    drove_status status = drove__reader_open(in->path, &reader);
    for (size_t i = 0; i < here.n_lines && status == DROVE_OK; i++) {
        status = drove__reader_line(reader, &line, &n_bytes);
        if (status != DROVE_OK || line == NULL) break;
        if (i < in->first || n_bytes == 0 || (i % step != 0 && i + 1 < here.n_lines)) continue;
        json_t *record = NULL;
        status = parse_object(line, n_bytes, &record);
        if (status == DROVE_OK) status = visit(to, record);
        json_decref(record);
        if (status == DROVE_E_DATA && !in->is_strict) {
            drove__records_say(in, i + 1, drove_error_text());
            status = DROVE_OK;
        }
        if (status != DROVE_OK) status = drove__fail_in(status, "%s:%zu", in->path, i + 1);
    }
    drove__reader_close(reader);
    if (status == DROVE_OK && here.has_half)
        drove__records_say(in, here.n_lines + 1, "a line without an end");
    return status;
}

static drove_status collect(void *to, const json_t *record)
{
    json_t **all = to;
    drove__json_add(all, json_incref((json_t *)(uintptr_t)record));
    return *all != NULL ? DROVE_OK : drove__fail_nomem("records", 1);
}

drove_status drove__records_read(const drove_records *in, json_t **out, drove_records_found *found)
{
    json_t *all = json_array();
    *out = NULL;
    drove_status status = all != NULL ? drove__records_each(in, collect, &all, found)
                                      : drove__fail_nomem("records", 1);
    if (status == DROVE_OK) *out = all;
    else json_decref(all);
    return status;
}
