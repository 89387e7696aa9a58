/* study/journal.h - the folder of a study: whose it is, and a record of each run that has ended.
 *
 *   study.json    the study.  A folder belongs to one.
 *   *.jsonl       its journal, a JSON object a line, by which an interrupted study goes on
 */
#ifndef DROVE_STUDY_JOURNAL_H
#define DROVE_STUDY_JOURNAL_H

#include "base/json.h"
#include "trace/trace.h"

#include <stdbool.h>
#include <stddef.h>

/* Makes the folder of a study, unless it exists.  One that has other files and no study.json is
 * refused; what: "a search".  Errors: DROVE_E_EXISTS, DROVE_E_FILE, DROVE_E_IO. */
drove_status drove__study_folder_make(const char *folder, const char *what);
/* Checks that the folder's study.json has the same `part` as this study, or with `part` NULL is the
 * same; a folder without one becomes that of the study.  flags: of jansson, for writing.  Errors:
 * DROVE_E_EXISTS (what differs), DROVE_E_DATA, DROVE_E_IO, DROVE_E_NOMEM. */
drove_status drove__study_claim(const char *folder, const json_t *study, const char *part,
                                size_t flags);
/* Where two values differ first, "grid.lr: expected A, found B", with A and B cut if long. */
void drove__study_difference(const json_t *expected, const json_t *found, char *into, size_t size);

/* Gives the records of a journal to `visit`, in turn; of one that does not exist there are none.
 * *out: the journal, to add to it, without half a line at its end; *had_half: there was one.  With
 * out NULL it is read alone, up to the last line end.
 * Errors: DROVE_E_DATA (file:line), DROVE_E_IO, DROVE_E_NOMEM, those of visit. */
drove_status drove__journal_open(const char *path,
                                 drove_status (*visit)(void *to, const json_t *record), void *to,
                                 drove_jsonl **out, bool *had_half);
/* Adds a line.  When it returns, the whole line is on the disk.  record NULL: DROVE_E_NOMEM, as a
 * builder leaves it.  Errors: DROVE_E_IO, DROVE_E_NOMEM. */
drove_status drove__journal_add(drove_jsonl *journal, const json_t *record);

#endif
