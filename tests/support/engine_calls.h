/* tests/support/engine_calls.h - an engine's gradient or score of a batch in one call. */
#ifndef DROVE_TESTS_SUPPORT_ENGINE_CALLS_H
#define DROVE_TESTS_SUPPORT_ENGINE_CALLS_H

#include "engine/engine.h"

/* Far beyond any batch of a test, so that a hanging device fails it. */
#define ENGINE_TIMEOUT_NS 600000000000u

/* Adds to *score (NULL: not wanted). */
static inline drove_status engine_gradient(const drove_engine_ops *ops, drove_engine *e,
                                           const float *theta, const drove_batch *batch,
                                           drove_gradient *grad, drove_score *score)
{
    const drove_work work = {.batch = batch, .theta = theta, .grad = grad};
    drove_work_done  done = {0};
    DROVE_TRY(drove__engine_do(ops, e, &work, ENGINE_TIMEOUT_NS, &done));
    if (score != NULL) drove__score_add(score, &done.score);
    return DROVE_OK;
}

static inline drove_status engine_score(const drove_engine_ops *ops, drove_engine *e,
                                        const float *theta, const drove_batch *batch,
                                        drove_score *score)
{
    return engine_gradient(ops, e, theta, batch, NULL, score);
}

#endif
