/* loop/rule.c - see rule.h.
 *
 * t, the number of an update, is found when its first number is stepped, after the gradient: with a
 * shared state it counts what is in the state by then, so that of workers who step at once some may
 * have the same t.  Shared state is racy as that of floats is (docs/inside/memory-model.md, R2).
 */
#include "loop/rule.h"

static bool has_own_state(const drove_worker *w)
{
    return w->loop->optim->state == DROVE_STATE_WORKER;
}

/* The number of the first step of this call of the engine. */
static uint64_t first_number(drove_worker *w)
{
    drove_sync *s = w->loop->sync;
    if (has_own_state(w)) return w->optim.t + 1;
    if (w->word_rule.t == 0) w->word_rule.t = s->live->next_step(s, w->index);
    return w->word_rule.t;
}

static void step(void *context, uint64_t number, size_t offset, size_t n, float *theta, float *g,
                 float eta)
{
    drove_worker *w = context;
    drove__optim_step(w->loop->optim, &w->optim, w->word_rule.state, first_number(w) + number,
                      offset, n, theta, g, eta);
}

static void clip(void *context, float *g)
{
    drove__optim_clip(((drove_worker *)context)->loop->optim, g);
}

static void look_ahead(void *context, size_t offset, size_t n, float *theta)
{
    drove_worker *w = context;
    drove__optim_look_ahead(w->loop->optim, &w->optim, w->word_rule.state, offset, n, theta);
}

const drove_engine_rule *drove__worker_rule(drove_worker *w)
{
    const drove_optim *optim = w->loop->optim;
    const bool looks_ahead = optim->rule.ops->lookahead, clips = optim->clip > 0.0f;
    if (w->loop->shared == NULL || (optim->rule.ops->n_state == 0 && !clips)) return NULL;
    w->word_rule.ops = (drove_engine_rule){.step = step,
                                           .clip = clips ? clip : NULL,
                                           .look_ahead = looks_ahead ? look_ahead : NULL,
                                           .context = w};
    return &w->word_rule.ops;
}

void drove__rule_begin(drove_worker *w, const drove_params *live)
{
    const drove_optim *optim = w->loop->optim;
    w->word_rule.t = 0;
    w->word_rule.state = NULL;
    if (live->words != NULL && !has_own_state(w))
        w->word_rule.state = (float *)(void *)(live->words + optim->n);
}

void drove__rule_made(drove_worker *w, uint64_t n_steps)
{
    if (has_own_state(w)) w->optim.t += n_steps;
    else if (w->word_rule.t > 0) w->word_rule.t += n_steps;
}
