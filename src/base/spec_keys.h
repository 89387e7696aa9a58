/* base/spec_keys.h - the arguments and keys of a spec, declared in a table and read by one parser.
 *
 * A row of a registry (a rule, a strategy, a format ...) has a table: its arguments in their order,
 * then its keys, each with its kind, range, default and member of a struct of settings.  The same
 * table refuses what is unknown, fills the struct, and is what `drove list` prints.
 *
 *     typedef struct settings {
 *         uint64_t helpers;
 *         bool     overlap;
 *     } settings;
 *     static const drove_spec_key keys[] = {
 *         {"helpers", "0", DROVE_AS_COUNT(settings, helpers, 0, 64), .help = "threads that add"},
 *         {"overlap", "1", DROVE_AS_BIT(settings, overlap), .help = "exchange while computing"},
 *         DROVE_SPEC_END,};
 *     settings set = {0};
 *     DROVE_TRY(drove__spec_read(spec, keys, &set));
 */
#ifndef DROVE_BASE_SPEC_KEYS_H
#define DROVE_BASE_SPEC_KEYS_H

#include "base/spec.h"

#include <stddef.h>

typedef enum drove_spec_kind {
    DROVE_SPEC_COUNT,  /* uint64_t */
    DROVE_SPEC_REAL,   /* double */
    DROVE_SPEC_FLOAT,  /* float */
    DROVE_SPEC_WORD,   /* unsigned, or an enum: which of the words */
    DROVE_SPEC_FLAG,   /* bool: true for the last of the words; without any no, yes */
    DROVE_SPEC_BIT,    /* bool: 0, 1 */
    DROVE_SPEC_TEXT,   /* const char *: borrowed from the spec, or the default */
    DROVE_SPEC_BYTES,  /* uint64_t: 4096, 64MiB */
    DROVE_SPEC_SIDES,  /* drove_sides: 32, or 24x32 */
    DROVE_SPEC_COUNTS, /* drove_counts: all arguments from here on */
    DROVE_SPEC_REST,   /* nothing: arguments from here on are read elsewhere */
    DROVE_SPEC_KEYS    /* a struct, whose own table is `keys` */
} drove_spec_kind;

typedef struct drove_sides {
    size_t height, width;
} drove_sides;

typedef struct drove_counts {
    unsigned n;
    uint64_t of[DROVE_SPEC_MAX_ARGS];
} drove_counts;

typedef struct drove_spec_key {
    const char     *name;         /* of an argument in capitals, for help and errors */
    const char     *default_text; /* NULL: the struct keeps what it has */
    drove_spec_kind kind;
    size_t          offset; /* in the struct of settings */
    union {
        struct {
            uint64_t least, most;
        } count; /* COUNT, COUNTS, SIDES */
        struct {
            double least, most;
        } real;                             /* REAL, FLOAT; open ranges as in base/number.h */
        const char *const           *words; /* WORD, FLAG; NULL-terminated; "": no argument */
        const struct drove_spec_key *keys;  /* KEYS */
    };
    bool        is_argument, is_needed;
    const char *word; /* with it, too, the struct keeps what it has: "inf", "all" */
    const char *help; /* one line */
} drove_spec_key;

/* The end of a table; and a line that stands for all of another table, whose struct is a member
 * of this one's, or is the same. */
#define DROVE_SPEC_END                                                                             \
    {                                                                                              \
        .name = NULL                                                                               \
    }
#define DROVE_SPEC_KEYS_OF(type, field, field_type, table)                                         \
    {                                                                                              \
        .name = "", .kind = DROVE_SPEC_KEYS, DROVE_FIELD_AT(type, field, field_type),              \
        .keys = (table)                                                                            \
    }
#define DROVE_SPEC_KEYS_TOO(table)                                                                 \
    {                                                                                              \
        .name = "", .kind = DROVE_SPEC_KEYS, .keys = (table)                                       \
    }

/* The offset of a field, which must be of the type that is wanted. */
#define DROVE_FIELD_AT(type, field, wanted)                                                        \
    .offset = _Generic(&((type *)0)->field, wanted * : offsetof(type, field))
#define DROVE_AS_COUNT(type, field, low, high)                                                     \
    .kind = DROVE_SPEC_COUNT, DROVE_FIELD_AT(type, field, uint64_t), .count = {(low), (high)}
#define DROVE_AS_REAL(type, field, low, high)                                                      \
    .kind = DROVE_SPEC_REAL, DROVE_FIELD_AT(type, field, double), .real = {(low), (high)}
#define DROVE_AS_FLOAT(type, field, low, high)                                                     \
    .kind = DROVE_SPEC_FLOAT, DROVE_FIELD_AT(type, field, float), .real = {(low), (high)}
#define DROVE_AS_WORD(type, field, list)                                                           \
    .kind = DROVE_SPEC_WORD, DROVE_FIELD_AT(type, field, unsigned), .words = (list)
#define DROVE_AS_FLAG(type, field) .kind = DROVE_SPEC_FLAG, DROVE_FIELD_AT(type, field, bool)
#define DROVE_AS_EITHER(type, field, list)                                                         \
    .kind = DROVE_SPEC_FLAG, DROVE_FIELD_AT(type, field, bool), .words = (list)
#define DROVE_AS_BIT(type, field) .kind = DROVE_SPEC_BIT, DROVE_FIELD_AT(type, field, bool)
#define DROVE_AS_TEXT(type, field)                                                                 \
    .kind = DROVE_SPEC_TEXT, DROVE_FIELD_AT(type, field, const char *)
#define DROVE_AS_BYTES(type, field) .kind = DROVE_SPEC_BYTES, DROVE_FIELD_AT(type, field, uint64_t)
#define DROVE_AS_SIDES(type, field, low, high)                                                     \
    .kind = DROVE_SPEC_SIDES, DROVE_FIELD_AT(type, field, drove_sides), .count = {(low), (high)}
#define DROVE_AS_COUNTS(type, field, low, high)                                                    \
    .kind = DROVE_SPEC_COUNTS, DROVE_FIELD_AT(type, field, drove_counts), .count = {(low), (high)}

/* Refuses arguments and keys that are not in the table (NULL: there are none), with the nearest
 * key, and a spec without the arguments that are needed.  Errors: DROVE_E_ARG. */
drove_status drove__spec_accept(const drove_spec *spec, const drove_spec_key *keys);
/* Fills the struct: defaults, then what the spec says.  Other keys of the spec are left alone.
 * Errors: DROVE_E_ARG: "hogwild?copy: expected ..., found ...". */
drove_status drove__spec_take(const drove_spec *spec, const drove_spec_key *keys, void *settings);
/* Both. */
drove_status drove__spec_read(const drove_spec *spec, const drove_spec_key *keys, void *settings);

/* Calls `tell` for each line of the table, those of the tables in it included. */
void drove__spec_walk(const drove_spec_key *keys,
                      void (*tell)(const drove_spec_key *key, void *context), void *context);
/* What the value of a key may be: "a number from 0 to 1", "tree, pairs or first-come"; "": any
 * text. */
enum { DROVE_SPEC_VALUES_SIZE = 512 };
void drove__spec_name_values(const drove_spec_key *key, char into[DROVE_SPEC_VALUES_SIZE]);

/* True if the table has a key of this name. */
bool drove__spec_knows(const drove_spec_key *keys, const char *name);
/* Gives a spec a key, or another value of it; both texts are borrowed.
 * Errors: DROVE_E_ARG (too many keys). */
drove_status drove__spec_set(drove_spec *spec, const char *key, const char *value);
/* The same where the table has the key, and the spec has neither it nor too many. */
void drove__spec_add(drove_spec *spec, const drove_spec_key *keys, const char *key,
                     const char *value);

#endif
