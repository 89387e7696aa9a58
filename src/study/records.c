/* study/records.c - see records.h. */
#include "study/records.h"

#include "base/file.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LINES_BYTES = 1 << 30, MOST_OBJECT_BYTES = 64 << 20, LINE_SIZE = 8192 };

void drove__records_say(const drove_records *in, size_t line, const char *why)
{
    char text[LINE_SIZE];
    if (in->message == NULL) return;
    if (line > 0) snprintf(text, sizeof text, "%s:%zu: left out: %s", in->path, line, why);
    else snprintf(text, sizeof text, "%s: left out: %s", in->path, why);
    in->message(in->context, text);
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
    DROVE_TRY(drove__file_load(path, MOST_OBJECT_BYTES, &text, &n_bytes));
    const drove_status status = parse_object(text, n_bytes, out);
    free(text);
    return status == DROVE_OK ? status : drove__fail_in(status, "%s", path);
}

static drove_status check_result(const json_t *record, size_t n_runs)
{
    const json_t *run = json_object_get(record, "run");
    if (!json_is_integer(run) || !json_is_string(json_object_get(record, "outcome")) ||
        !json_is_object(json_object_get(record, "figures")))
        return drove__fail(DROVE_E_DATA, "expected a run with its outcome and figures");
    if (json_integer_value(run) >= 1 && (uint64_t)json_integer_value(run) <= n_runs)
        return DROVE_OK;
    return drove__fail(DROVE_E_DATA, "expected a run from 1 to %zu, found %lld", n_runs,
                       (long long)json_integer_value(run));
}

static drove_status take_line(const drove_records *in, const char *line, size_t n_bytes,
                              size_t number, json_t **all)
{
    json_t *record = NULL;
    drove_status status = parse_object(line, n_bytes, &record);
    if (status == DROVE_OK && in->is_results) status = check_result(record, in->n_runs);
    if (status == DROVE_OK) {
        drove__json_add(all, record);
        return *all != NULL ? DROVE_OK : drove__fail_nomem("records", n_bytes);
    }
    json_decref(record);
    if (status != DROVE_E_DATA || in->message == NULL)
        return drove__fail_in(status, "%s:%zu", in->path, number);
    drove__records_say(in, number, drove_error_text());
    return DROVE_OK;
}

drove_status drove__records_read(const drove_records *in, json_t **out, bool *has_half)
{
    char *text = NULL;
    size_t n_bytes, n_lines = 0;
    json_t *all = json_array();
    *out = NULL;
    if (has_half != NULL) *has_half = false;
    drove_status status = all != NULL
                              ? drove__file_load(in->path, MOST_LINES_BYTES, &text, &n_bytes)
                              : drove__fail_nomem("records", 1);
    const char *at = text, *end = status == DROVE_OK ? text + n_bytes : text;
    while (at < end && status == DROVE_OK) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        n_lines++;
        if (stop == NULL) {
            if (has_half != NULL) *has_half = true;
            drove__records_say(in, n_lines, "a line without an end");
            break;
        }
        if (stop > at) status = take_line(in, at, (size_t)(stop - at), n_lines, &all);
        at = stop + 1;
    }
    free(text);
    if (status == DROVE_OK) *out = all;
    else json_decref(all);
    return status;
}
