/* study/records.h - the one reader of JSON objects and of files with one a line: log.jsonl of runs,
 * results.jsonl of sweeps.
 *
 * Strict: a line that cannot be used is an error.  Tolerant: it is left out, with a message.  Text
 * behind the last line end is no record in both: a program is writing it, or was killed while it
 * did.  A file is read in pieces, so its size does not matter; one that is not regular (a pipe
 * would block) is refused.
 */
#ifndef DROVE_STUDY_RECORDS_H
#define DROVE_STUDY_RECORDS_H

#include "base/json.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct drove_records {
    const char *path;
    size_t      most;  /* of more lines every k-th is read, and the last: at most so many; 0: all */
    size_t      first; /* lines that are passed over */
    bool        is_strict;
    void (*message)(void *context, const char *line); /* tolerant: what is left out; NULL: nobody */
    void *context;
} drove_records;

/* What a file had. */
typedef struct drove_records_found {
    size_t n_lines;  /* that have an end */
    bool   has_half; /* text behind the last of them */
} drove_records_found;

/* Reads the lines in turn: `visit` borrows each record; it returns DROVE_E_DATA for one that cannot
 * be used.  found may be NULL.  Errors: DROVE_E_DATA (file:line), DROVE_E_FILE (not a regular
 * file), DROVE_E_IO, DROVE_E_NOMEM, and those of visit. */
drove_status drove__records_each(const drove_records *in,
                                 drove_status (*visit)(void *to, const json_t *record), void *to,
                                 drove_records_found *found);
/* Reads them into a new array; *out is NULL on failure.  Errors: the same. */
drove_status drove__records_read(const drove_records *in, json_t **out, drove_records_found *found);
/* Reads a file that is one object.  *out: new; NULL on failure.  Errors: the same. */
drove_status drove__record_load(const char *path, json_t **out);
/* Says that something of a file is left out; line 0: the whole file. */
void drove__records_say(const drove_records *in, size_t line, const char *why);

#endif
