/* base/spec.h - specs, the notation name:argument,argument?key=value&key=value of every option that
 * names something; "did you mean".
 *
 * The name ends at the first ':' or '?', the arguments at the first '?'; name:?key=value has no
 * arguments.  A file path may contain ':' and '=' as they are.  In arguments, keys and values %XX
 * stands for the byte with that hexadecimal number, so a path may also contain '?' (%3F), ','
 * (%2C), '&' (%26), '+' (%2B, which joins specs) and '%' (%25).
 */
#ifndef DROVE_BASE_SPEC_H
#define DROVE_BASE_SPEC_H

#include "base/number.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DROVE_SPEC_MAX_ARGS = 64, DROVE_SPEC_MAX_KEYS = 16 };

struct drove_piece; /* base/file.h */

typedef struct drove_spec {
    char       *text; /* one allocation that the pointers below point into */
    const char *name;
    unsigned    n_args, n_keys;
    const char *arg[DROVE_SPEC_MAX_ARGS];
    const char *key[DROVE_SPEC_MAX_KEYS];
    const char *value[DROVE_SPEC_MAX_KEYS];
    /* what of the file arg[0] is meant, for readers of text; NULL: all.  Borrowed */
    const struct drove_piece *piece;
} drove_spec;

/* Errors: DROVE_E_ARG (empty name, argument or key, "key" without "=", repeated key, too many
 * parts, '%' without two hexadecimal digits), DROVE_E_NOMEM. */
drove_status drove__spec_parse(const char *text, drove_spec *out);
void         drove__spec_fini(drove_spec *spec); /* accepts a zeroed spec */

/* The spec name:path, with %XX for what a path may not hold.  Cut at size. */
void drove__spec_of_path(const char *name, const char *path, char *into, size_t size);

/* The value of a key with %XX for what it may not hold.  Cut at size, not within an escape; returns
 * into. */
char *drove__spec_escape(const char *value, char *into, size_t size);

/* Value of a key, or fallback.  For base/ alone: others read a spec by a table, spec_keys.h. */
const char *drove__spec_get(const drove_spec *spec, const char *key, const char *fallback);

/* The candidate nearest to word (Damerau-Levenshtein), or NULL if none is near enough to
 * suggest. */
const char *drove__nearest(const char *word, const char *const *candidates, size_t n_candidates);

/* DROVE_E_ARG for a word that is in no table: `unknown WHAT "WORD"; did you mean "NEAREST"?`, what
 * drove has for this word of another program, or all candidates if none is near. */
drove_status drove__fail_unknown(const char *what, const char *word, const char *const *candidates,
                                 size_t n_candidates);

#endif
