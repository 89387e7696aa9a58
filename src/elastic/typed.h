/* elastic/typed.h - low-precision parameters with exchange: every worker steps on words of its own,
 * and what the workers exchange are floats.
 *
 * Source: the number formats are De Sa et al., ISCA 2017 (DMGC): D, M of the words, C of what
 * travels.  When an exchange is due a worker unpacks its words, takes part in the exchange of the
 * method with W^i = those floats and a step of nothing, and packs W^i again, rounded as its
 * engine rounds.  So the local steps come first, and the method's pull or mean is taken of where
 * they led; without low precision the pull is taken of where they began (equation 1).
 *
 * The method itself is another drove_sync of the same row, whose vectors are floats.
 */
#ifndef DROVE_ELASTIC_TYPED_H
#define DROVE_ELASTIC_TYPED_H

#include "elastic/common.h"

/* The init of a row, where a layout is given: s->ops becomes a table of s's own.
 * Errors: those of the row; DROVE_E_ARG (--period auto, --messages layers). */
drove_status drove__typed_init(drove_sync *s, const drove_sync_options *opt,
                               const drove_params *start);

#endif
