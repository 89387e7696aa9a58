/* study/sweep_study.h - the study of a sweep: which settings are run, how often, how long.
 *
 * A study file is YAML: options, grid, list, sample, repeat, limit, seed (docs/use/sweep.md).  The
 * document that is made of it has every key, names as in the table of options and values as typed:
 *   {"options": {name: value}, "grid": {name: [value]}, "list": [{name: value}],
 *    "sample": null or {"draws", "seed", "options": {name: [value] or {"log"|"uniform": [a, b]}}},
 *    "repeat": [seed], "limit": seconds or 0, "seed": of the order}
 * Two studies are the same if their documents are equal.
 */
#ifndef DROVE_STUDY_SWEEP_STUDY_H
#define DROVE_STUDY_SWEEP_STUDY_H

#include "base/json.h"
#include "study/space.h"

enum { DROVE_SWEEP_MOST_RUNS = 100000 };

typedef struct drove_sweep_study {
    json_t     *document;
    drove_space sample; /* that of the document; no dimensions: none */
} drove_sweep_study;

/* Errors: DROVE_E_IO, DROVE_E_ARG (file:line:column: what was expected and found), DROVE_E_NOMEM.
 * On failure *out is zeroed. */
drove_status drove__sweep_study_load(const char *path, drove_sweep_study *out);
void         drove__sweep_study_fini(drove_sweep_study *study); /* accepts a zeroed one */

/* The name of an option as the document has it, of "weight-decay" "weight_decay"; NULL: there is
 * none. */
const char *drove__sweep_option(const char *name);

#endif
