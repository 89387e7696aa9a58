/* model/graph_keys.h - the keys that describe a layer's options in model files.
 *
 * One table gives each key its field of drove_layer_options, its range and the kinds of layers that
 * have it; reading, printing and the documentation of model files use the table.
 */
#ifndef DROVE_MODEL_GRAPH_KEYS_H
#define DROVE_MODEL_GRAPH_KEYS_H

#include "model/graph.h"

typedef enum drove_graph_key_kind {
    DROVE_KEY_COUNT,  /* size_t */
    DROVE_KEY_PAIR,   /* two size_t: one number for both, or [height, width] */
    DROVE_KEY_SIDES,  /* the padding: as a pair, or [above, left, below, right] */
    DROVE_KEY_REAL,   /* float */
    DROVE_KEY_RATE,   /* float; 0: DROVE_LR_NONE */
    DROVE_KEY_FLAG,   /* bool: true, false */
    DROVE_KEY_NO,     /* bool with inverted meaning */
    DROVE_KEY_FILLER, /* drove_filler: an initialiser's name, or constant, with a number */
    DROVE_KEY_REALS,  /* float[DROVE_LAYER_MOST_BOTTOMS]: one for each input */
    DROVE_KEY_LIST,   /* drove_floats: any number of them */
    DROVE_KEY_INDICES /* drove_indices: 3, 3-7, 3-7x2 (each twice) */
} drove_graph_key_kind;

enum { DROVE_GRAPH_MOST_LIST = 1 << 16 }; /* numbers of a list: descriptions stay small */

typedef struct drove_graph_key {
    const char          *name;
    drove_graph_key_kind kind;
    size_t               offset, offset2; /* in drove_layer_options; offset2: second of a pair */
    double               least, most;     /* of numbers, inclusive */
    unsigned             uses;            /* kinds of layers: bits of drove__graph_kind_bit */
} drove_graph_key;

extern const drove_graph_key drove__graph_keys[]; /* ends with name NULL */

unsigned drove__graph_kind_bit(const drove_layer_ops *ops);
/* Of a kind that has parameters. */
bool drove__graph_has_parameters(const drove_layer_ops *ops);
/* Options of a layer of this kind that its description does not set. */
drove_layer_options drove__graph_default_options(const drove_layer_ops *ops);

/* A name of a layer or blob as allowed in files: ASCII without blanks, quotation marks,
 * backslashes.  Errors: DROVE_E_ARG. */
drove_status drove__graph_take_name(const char *text, char into[DROVE_LAYER_NAME_SIZE]);
/* kinds: the program's own, too; may be NULL.  Errors: DROVE_E_ARG (unknown, with the nearest). */
drove_status drove__graph_find_kind(const char *word, const drove_kinds *kinds,
                                    const drove_layer_ops **out);
/* "linear" means none. */
drove_status drove__graph_find_act(const char *word, drovek_act *out);
const char  *drove__graph_act_name(drovek_act act);
/* "xavier:1", "constant:0.1". */
drove_status drove__graph_read_filler(const char *text, drove_filler *out);

#endif
