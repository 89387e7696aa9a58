/* pack/ensemble.h - the greedy ensemble of members, by examples that none of them was trained on.
 *
 * Caruana, Niculescu-Mizil, Crew, Ksikes, Ensemble Selection from Libraries of Models, ICML 2004:
 * starting with the best member, the one whose addition makes the mean of the outputs best is added
 * again and again, with replacement; how often it was taken is a member's share.  Whether the
 * ensemble is better than the best member is judged across halves of the rows: the shares are
 * chosen on one, the losses are those of the other.
 */
#ifndef DROVE_PACK_ENSEMBLE_H
#define DROVE_PACK_ENSEMBLE_H

#include "pack/judge.h"
#include "pack/record.h"

enum { DROVE_ENSEMBLE_MOST = DROVE_PACK_MOST_MEMBERS + 1 }; /* members, and a guess */

typedef struct drove_ensemble_input {
    const drove_judge *judge;
    const uint32_t    *row; /* [n_rows] of the judge's view */
    size_t             n_rows;
    unsigned           n_members;
    uint64_t           end_ns; /* of drove__now_ns: no member is added after it; 0: none */
    const float       *output[DROVE_ENSEMBLE_MOST]; /* [n_rows][n_outputs] of each */
} drove_ensemble_input;

typedef struct drove_ensemble {
    double   share[DROVE_ENSEMBLE_MOST]; /* their sum is 1 */
    double   loss, error;                /* across halves: the mean, and its standard error */
    unsigned best;                       /* member by itself */
    double   best_loss;                  /* across halves, too */
    double   sharpness; /* factor of the mean outputs that makes the loss least; 1 of values */
} drove_ensemble;

/* Errors: DROVE_E_NOMEM. */
drove_status drove__ensemble_choose(const drove_ensemble_input *in, drove_ensemble *out);

#endif
