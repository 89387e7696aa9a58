/* engine/fixed/state.h - the engine of networks in fixed point from inside: engine.c, which makes
 * passes, and write.c, which writes their steps.
 */
#ifndef DROVE_ENGINE_FIXED_STATE_H
#define DROVE_ENGINE_FIXED_STATE_H

#include "engine/fixed/round.h"
#include "engine/fixed/shared.h"
#include "model/integers.h"

struct drove_engine {
    const drove_engine_shared *p;
    const drove_engine_rule   *rule;  /* NULL: plain SGD */
    drove_engine              *host;  /* of steps                      */
    drove_engine              *judge; /* of evaluation: floats throughout */
    drove_rounder              rounder;
    drove_round                round;   /* for the host's passes */
    drove_taker                taker;   /* of their gradients */
    drovek_table               kernels; /* narrowed as the host's */
    drovek_planes *weight;  /* [n_layers] this thread's copy of the weights' words; NULL: floats */
    uint8_t       *weights; /* memory of weight */
    struct {                /* the step under way */
        uint32_t        *words;
        uint64_t         number; /* of the step, in this call of steps */
        float            eta;
        size_t           n_clamped;
        bool            *is_taken; /* [n_layers] its weights are written already */
        const uint16_t **read;     /* [n_layers] weights that are read as words; NULL: theta's */
    } now;
    float    *theta, *grad; /* [n_params] */
    uint32_t *ahead;        /* [n_words] where the gradient is taken, of a rule that looks ahead */
};

/* write.c.  The step under way is e->now's; its gradient e->grad, taken at e->theta.
 * Slots of drove_taker; context: the engine. */
drove_gradient_fn      drove__fixed_write_gradient;
drove_product_fn       drove__fixed_write_product;
drove_words_product_fn drove__fixed_write_words_product;
/* e->ahead = the words, moved by the rule's mu v as a step moves them. */
void drove__fixed_look_ahead(drove_engine *e);
/* What these have not taken.  Returns the number of writes that were saturated. */
size_t drove__fixed_write_step(drove_engine *e);

#endif
