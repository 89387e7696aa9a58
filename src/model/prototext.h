/* model/prototext.h - protobuf's text format, without a schema: a tree of named fields.
 *
 * A reader marks each field that it uses; an unused field is unknown, and reported with its line.
 *
 * Source: "Text Format Language Specification", protobuf.dev.  Supported: nested messages in braces
 * or angle brackets, repeated fields and lists, strings, numbers, words, comments; no extensions.
 */
#ifndef DROVE_MODEL_PROTOTEXT_H
#define DROVE_MODEL_PROTOTEXT_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct drove_prototext_field {
    const char *name;
    const char *value; /* as written, or a string's content; NULL: a message */
    int         line;
    bool        is_used;
    uint32_t    first, last; /* of a message's fields; 0: none */
    uint32_t    next;        /* field of the same message; 0: none */
} drove_prototext_field;

typedef struct drove_prototext {
    const char            *file; /* for errors; borrowed */
    size_t                 n, n_room;
    drove_prototext_field *field; /* [n]; field 0 is the whole text, a message */
    char                  *chars; /* names and values */
} drove_prototext;

typedef drove_prototext_field drove_message; /* one that is a message */

/* Errors: DROVE_E_DATA (file, line, expected, found), DROVE_E_NOMEM.  *out is valid also after a
 * failure. */
drove_status drove__prototext_parse(const char *text, size_t size_bytes, const char *file,
                                    drove_prototext *out);
void         drove__prototext_fini(drove_prototext *t);

/* The next field of this name after `after` (NULL: the first), marked as used; NULL: none. */
drove_prototext_field *drove__prototext_next(const drove_prototext *t, const drove_message *m,
                                             const char *name, const drove_prototext_field *after);
/* The one field of this name; *out NULL: none.  Errors: DROVE_E_DATA (given twice). */
drove_status drove__prototext_one(const drove_prototext *t, const drove_message *m,
                                  const char *name, drove_prototext_field **out);
/* Marks everything inside as used. */
void drove__prototext_skip(const drove_prototext *t, drove_message *m);
/* Errors: DROVE_E_DATA for the first field, however deep, that is not used. */
drove_status drove__prototext_check_used(const drove_prototext *t, const drove_message *m);

/* Values; *out is unchanged if there is no such field.  Errors: DROVE_E_DATA. */
drove_status drove__prototext_message(const drove_prototext *t, const drove_message *m,
                                      const char *name, drove_message **out);
drove_status drove__prototext_text(const drove_prototext *t, const drove_message *m,
                                   const char *name, const char **out);
drove_status drove__prototext_count(const drove_prototext *t, const drove_message *m,
                                    const char *name, size_t least, size_t most, size_t *out);
drove_status drove__prototext_real(const drove_prototext *t, const drove_message *m,
                                   const char *name, double least, double most, float *out);
drove_status drove__prototext_flag(const drove_prototext *t, const drove_message *m,
                                   const char *name, bool *out);
drove_status drove__prototext_take_real(const drove_prototext *t, const drove_prototext_field *f,
                                        double least, double most, float *out);
drove_status drove__prototext_take_count(const drove_prototext *t, const drove_prototext_field *f,
                                         size_t least, size_t most, size_t *out);

/* "file:line: ..." with DROVE_E_DATA. */
drove_status drove__prototext_fail(const drove_prototext *t, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
