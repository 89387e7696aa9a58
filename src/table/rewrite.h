/* table/rewrite.h - texts that are not quite tables become tables in memory: comments, escapes,
 * JSON, ARFF.
 *
 * A rewritten text has its lines where the file has them, so that errors name the file's.
 */
#ifndef DROVE_TABLE_REWRITE_H
#define DROVE_TABLE_REWRITE_H

#include "base/status.h"
#include "table/text.h"

#include <stdbool.h>
#include <stddef.h>

/* Rewrites what the options or the text itself ask for; *content owns its memory also after a
 * failure.  Errors: DROVE_E_DATA (file, line), DROVE_E_NOMEM. */
drove_status drove__rewrite(const char *path, const drove_content_options *options,
                            drove_content *content);

/* True if a quote at text[i] opens a cell: only blanks stand between it and a separator, a line end
 * or the begin.  separator 0: it may be any of the usual ones. */
bool drove__opens_cell(const char *text, size_t i, char separator);

/* ---- between the files of this folder ---- */

/* json_lines.c: objects one after the other, or an array of them.  A row for each object, a column
 * for each key, in the order in which they first occur; of an object within it "outer.inner". */
bool         drove__is_json(const drove_content *content);
drove_status drove__rewrite_json(const char *path, drove_content *content);

/* arff.c: the text format of Weka. */
bool         drove__is_arff(const drove_content *content);
drove_status drove__rewrite_arff(const char *path, drove_content *content);

#endif
