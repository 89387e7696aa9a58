/* study/records.h - the one reader of JSON objects and of files with one a line: log.jsonl of runs,
 * results.jsonl of sweeps.
 *
 * Strict (message NULL): a line that cannot be used is an error.  Tolerant: it is left out, with a
 * message.  Text behind the last line end is no record in both: a program is writing it, or was
 * killed while it did.
 */
#ifndef DROVE_STUDY_RECORDS_H
#define DROVE_STUDY_RECORDS_H

#include "base/json.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct drove_records {
    const char *path;
    bool   is_results; /* of a sweep: each a run from 1 to n_runs, its outcome and its figures */
    size_t n_runs;
    void (*message)(void *context, const char *line); /* NULL: strict */
    void *context;
} drove_records;

/* Reads all lines.  *out: new array of objects; NULL on failure.  *has_half (may be NULL): there is
 * text behind the last line end.  Errors: DROVE_E_DATA (file:line), DROVE_E_IO, DROVE_E_NOMEM. */
drove_status drove__records_read(const drove_records *in, json_t **out, bool *has_half);
/* Reads a file that is one object.  *out: new; NULL on failure.  Errors: the same. */
drove_status drove__record_load(const char *path, json_t **out);
/* Says that something of a file is left out; line 0: the whole file. */
void drove__records_say(const drove_records *in, size_t line, const char *why);

#endif
