/* run/stopping.c - see stopping.h. */
#include "run/stopping.h"

#include "values/say.h"

#include <math.h>
#include <string.h>

enum { MOST_RECOVERIES = 8 };
static const double RECOVERY_FACTOR = 0.1;
static const double LEAST_GAIN = 1e-3; /* of the loss, for an evaluation to count as better */

/* The loss that decides. */
static double deciding_loss(const drove_problem *problem, const drove_state *state)
{
    return problem->validation != NULL ? state->standing.validation_loss : state->standing.loss;
}

static drove_status step_back(const drove_workers *workers, drove_state *state, double factor)
{
    drove_sync *sync = workers->loop->sync;
    const drove_params now = sync->ops->peek(sync);
    drove_params back = {.theta = state->back};
    if (now.words != NULL) back = (drove_params){.words = (uint32_t *)(void *)state->back};
    DROVE_TRY(drove__sync_restore(sync, atomic_load(&sync->published), &back, NULL));
    /* Workers' own state of the rule belongs to other parameters. */
    for (unsigned i = 0; i < workers->plan.n_workers; i++) {
        drove_worker *w = &workers->loop->worker[i];
        w->resident.has_params = false;
        if (!drove__plan_is_here(&workers->plan, i) || w->optim.state[0] == NULL) continue;
        for (unsigned k = 0; k < DROVE_RULE_MAX_STATE && w->optim.state[k] != NULL; k++)
            memset(w->optim.state[k], 0, workers->optim->n_theta * sizeof *w->optim.state[k]);
        w->optim.t = 0;
    }
    state->theta_is_current = false;
    state->has_logged = false; /* not of these parameters */
    state->standing.back_off *= factor;
    workers->optim->back_off = state->standing.back_off;
    state->standing.n_stalled = 0;
    state->standing.since_best = 0;
    return DROVE_OK;
}

drove_status drove__stopping_evaluated(const drove_problem *problem, const drove_workers *workers,
                                       drove_state *state, bool *wants_cut)
{
    drove_standing *st = &state->standing;
    drove_plateau plateau;
    double loss = deciding_loss(problem, state);
    bool cuts = drove__optim_plateau(workers->optim, &plateau);
    *wants_cut = false;
    if ((!cuts && !st->recovers) || !isfinite(loss)) return DROVE_OK;
    if (loss < st->back_loss) {
        drove_sync *sync = workers->loop->sync;
        if (state->back == NULL) state->back = drove__alloc(sync->n_vector, sizeof *state->back);
        if (state->back == NULL)
            return drove__fail_nomem("parameters to step back to", sync->n_vector * sizeof(float));
        const drove_params at = drove__loop_now(workers->loop);
        if (drove__params_bytes(&at) == NULL)
            return drove__fail_nomem("parameters to step back to", sync->n_vector * sizeof(float));
        memcpy(state->back, drove__params_bytes(&at), sync->n_vector * sizeof *state->back);
        st->back_loss = deciding_loss(problem, state);
        st->back_epochs =
            drove__order_epochs(&workers->loop->order, atomic_load(&workers->loop->source->next));
    }
    st->n_stalled++;
    if (loss < st->stall_loss - LEAST_GAIN * fabs(st->stall_loss) || isinf(st->stall_loss)) {
        st->stall_loss = loss;
        st->n_stalled = 0;
    }
    if (!cuts) return DROVE_OK;
    st->since_best = st->n_stalled;
    *wants_cut = st->n_stalled >= plateau.patience && st->n_cuts < plateau.most_cuts;
    return DROVE_OK;
}

drove_status drove__stopping_cut(const drove_workers *workers, drove_state *state,
                                 const drove_callbacks *cb)
{
    drove_standing *st = &state->standing;
    drove_plateau plateau;
    (void)drove__optim_plateau(workers->optim, &plateau);
    st->n_cuts++;
    DROVE_TRY(step_back(workers, state, plateau.factor));
    drove__run_say(cb,
                   "plateau: back to the parameters of epoch %.2f, where the loss was %.4g; step "
                   "size x %.3g from now on",
                   st->back_epochs, st->back_loss, st->back_off);
    return DROVE_OK;
}

drove_status drove__stopping_recover(const drove_workers *workers, drove_state *state,
                                     const drove_callbacks *cb)
{
    drove_standing *st = &state->standing;
    if (!st->recovers || state->back == NULL || st->n_recoveries >= MOST_RECOVERIES)
        return DROVE_OK;
    st->n_recoveries++;
    DROVE_TRY(step_back(workers, state, RECOVERY_FACTOR));
    atomic_store(&workers->loop->ending.nonfinite, 0);
    drove__run_say(cb,
                   "the loss is not finite: back to the parameters of epoch %.2f; step size x %.3g "
                   "from now on",
                   st->back_epochs, st->back_off);
    return DROVE_OK;
}
