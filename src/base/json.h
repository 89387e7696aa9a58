/* base/json.h - JSON values of which every part is there, or that are NULL. */
#ifndef DROVE_BASE_JSON_H
#define DROVE_BASE_JSON_H

#include "base/status.h"

#include <jansson.h>

/* ---- building ----
 *
 * A container to which a member could not be added becomes NULL, and so does, in turn, the one that
 * it was meant for.  So a builder checks nothing on its way, and the text at the end is missing
 * where memory ran out anywhere: a key is never left out in silence. */

/* (*object)[key] = value.  Takes the reference to value; where that is NULL, or memory runs out,
 * releases *object and sets it to NULL.  The caller must be its only owner. */
void drove__json_set(json_t **object, const char *key, json_t *value);
/* The same at the end of a list. */
void drove__json_add(json_t **list, json_t *value);

/* ---- writing ---- */

/* The text of a value, as json_dumps gives it; the caller frees it.  NULL: memory ran out, or value
 * is NULL.  (jansson leaves out the name of a member for which it finds no memory, and goes on.) */
char *drove__json_dump(const json_t *value, size_t flags);

/* ---- parsing ---- */

/* Parses text[n_bytes]; flags are jansson's.  *out is NULL on failure.
 *
 * jansson's scanner drops a character for which it finds no memory, and goes on; if that is the
 * quote at the end of a string, it writes past its own memory.  So it first gets a number as long
 * as the longest token: then it has the memory that it needs, or reads none of the text.  What
 * could not be parsed so is parsed as it is, which finds an error's place.  Each is done twice, and
 * both results must be the same.
 *
 * Errors: DROVE_E_NOMEM; DROVE_E_DATA: the text of the error is jansson's, and *error says where;
 * the caller adds the name of the file. */
drove_status drove__json_parse(const char *text, size_t n_bytes, size_t flags, json_error_t *error,
                               json_t **out);

#endif
