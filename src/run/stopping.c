/* run/stopping.c - see stopping.h. */
#include "run/stopping.h"

#include <math.h>
#include <string.h>

enum { MOST_RECOVERIES = 8 };
static const double RECOVERY_FACTOR = 0.1;
static const double LEAST_GAIN = 1e-3; /* of the loss, for an evaluation to count as better */

bool drove__stopping_has_best(const drove_run *run)
{
    return run->validation != NULL && isfinite(run->standing.best_loss);
}

/* The loss that decides. */
static double deciding_loss(const drove_run *run)
{
    return run->validation != NULL ? run->standing.validation_loss : run->standing.loss;
}

static drove_status keep_back(drove_run *run)
{
    drove_sync *sync = run->loop->sync;
    drove_standing *st = &run->standing;
    if (run->back == NULL) run->back = drove__alloc(sync->n_vector, sizeof *run->back);
    if (run->back == NULL)
        return drove__fail_nomem("parameters to step back to", sync->n_vector * sizeof(float));
    const drove_params at = sync->ops->peek(sync);
    memcpy(run->back, drove__params_bytes(&at), sync->n_vector * sizeof *run->back);
    st->back_loss = deciding_loss(run);
    st->back_epochs = drove__order_epochs(&run->loop->order, atomic_load(&run->loop->source->next));
    return DROVE_OK;
}

/* Workers' own state of the rule belongs to other parameters. */
static void forget_own_state(drove_run *run)
{
    for (unsigned i = 0; i < run->plan.n_workers; i++) {
        drove_worker *w = &run->loop->worker[i];
        w->has_params = false;
        if (!drove__plan_is_here(&run->plan, i) || w->optim.state[0] == NULL) continue;
        for (unsigned k = 0; k < DROVE_RULE_MAX_STATE && w->optim.state[k] != NULL; k++)
            memset(w->optim.state[k], 0, run->optim->n_theta * sizeof *w->optim.state[k]);
        w->optim.t = 0;
    }
}

static drove_status step_back(drove_run *run, double factor)
{
    drove_sync *sync = run->loop->sync;
    const drove_params now = sync->ops->peek(sync);
    drove_params back = {.theta = run->back};
    if (now.words != NULL) back = (drove_params){.words = (uint32_t *)(void *)run->back};
    DROVE_TRY(drove__sync_restore(sync, atomic_load(&sync->published), &back, NULL));
    forget_own_state(run);
    run->theta_is_current = false;
    run->has_logged = false; /* not of these parameters */
    run->standing.back_off *= factor;
    run->optim->back_off = run->standing.back_off;
    run->standing.n_stalled = 0;
    run->standing.since_best = 0;
    return DROVE_OK;
}

drove_status drove__stopping_evaluated(drove_run *run, bool *is_current)
{
    drove_standing *st = &run->standing;
    drove_plateau plateau;
    double loss = deciding_loss(run);
    bool cuts = drove__optim_plateau(run->optim, &plateau);
    if ((!cuts && !st->recovers) || !isfinite(loss)) return DROVE_OK;
    if (loss < st->back_loss) DROVE_TRY(keep_back(run));
    st->n_stalled++;
    if (loss < st->stall_loss - LEAST_GAIN * fabs(st->stall_loss) || isinf(st->stall_loss)) {
        st->stall_loss = loss;
        st->n_stalled = 0;
    }
    if (!cuts) return DROVE_OK;
    st->since_best = st->n_stalled;
    if (st->n_stalled < plateau.patience || st->n_cuts >= plateau.most_cuts) return DROVE_OK;
    st->n_cuts++;
    *is_current = false;
    DROVE_TRY(step_back(run, plateau.factor));
    drove__run_say(run,
                   "plateau: back to the parameters of epoch %.2f, where the loss was %.4g; step "
                   "size x %.3g from now on",
                   st->back_epochs, st->back_loss, st->back_off);
    return DROVE_OK;
}

drove_status drove__stopping_recover(drove_run *run)
{
    drove_standing *st = &run->standing;
    if (!st->recovers || run->back == NULL || st->n_recoveries >= MOST_RECOVERIES) return DROVE_OK;
    st->n_recoveries++;
    DROVE_TRY(step_back(run, RECOVERY_FACTOR));
    atomic_store(&run->loop->nonfinite, 0);
    drove__run_say(run,
                   "the loss is not finite: back to the parameters of epoch %.2f; step size x %.3g "
                   "from now on",
                   st->back_epochs, st->back_off);
    return DROVE_OK;
}
