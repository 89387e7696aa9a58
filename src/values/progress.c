/* values/progress.c - the standing of a run: interrupts, progress, parameters.
 *
 * Runs on the caller's thread, but for drove_train_interrupt.
 */
#include "values/progress.h"

#include "base/alive.h"
#include "loop/evaluation.h"
#include "values/ranks.h"

#include <math.h>
#include <signal.h>

/* ---- interrupts ---- */

const double drove__mark_percent[DROVE_N_MARKS] = {10.0, 5.0, 2.0};

/* How many interrupts there have been << SIGNAL_BITS | the number of the last one's signal.  Signal
 * handlers and any thread write it; runs compare it with what it was when they began, so nobody has
 * to clear it.  Relaxed: the word is all that is passed on. */
static _Atomic uint64_t interrupts;
enum { SIGNAL_BITS = 8, SIGNAL_MASK = (1 << SIGNAL_BITS) - 1 };
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "a signal handler writes `interrupts`");

void drove_train_interrupt(int signal_number)
{
    bool is_signal = signal_number > 0 && signal_number <= SIGNAL_MASK;
    uint64_t number = is_signal ? (uint64_t)signal_number : SIGINT;
    uint64_t word = atomic_load_explicit(&interrupts, memory_order_relaxed), next;
    do next = ((word >> SIGNAL_BITS) + 1) << SIGNAL_BITS | number;
    while (!atomic_compare_exchange_weak_explicit(&interrupts, &word, next, memory_order_relaxed,
                                                  memory_order_relaxed));
}

uint64_t drove__run_interrupts(void)
{
    return atomic_load_explicit(&interrupts, memory_order_relaxed);
}

int drove__run_signal_since(uint64_t before)
{
    uint64_t word = drove__run_interrupts();
    return word != before ? (int)(word & SIGNAL_MASK) : 0;
}

void drove_run_cancel(drove_run *run)
{
    if (run == NULL) return;
    DROVE_ALIVE(run, "a run");
    atomic_store_explicit(&run->state.is_cancelled, true, memory_order_relaxed);
}

int drove__run_signal(const drove_state *state)
{
    for (const drove_state *s = state; s != NULL; s = s->parent)
        if (atomic_load_explicit(&s->is_cancelled, memory_order_relaxed)) return SIGINT;
    return drove__run_signal_since(state->interrupts_before);
}

/* ---- progress ---- */

uint64_t drove__run_examples(const drove_workers *workers)
{
    uint64_t sum = drove__ranks_ahead(workers);
    for (unsigned i = 0; i < workers->plan.n_workers; i++) {
        sum += atomic_load_explicit(&workers->loop->worker[i].trace.examples, memory_order_relaxed);
    }
    return sum;
}

static double seconds(uint64_t ns)
{
    return (double)ns * 1e-9;
}

static double budget_fraction(const drove_config *config, double epochs, uint64_t updates,
                              double train_s)
{
    double fraction = NAN;
    if (isfinite(config->until.epochs)) fraction = fmax(epochs / config->until.epochs, 0.0);
    if (isfinite(config->until.seconds))
        fraction = fmax(train_s / config->until.seconds, isnan(fraction) ? 0.0 : fraction);
    if (config->until.updates != UINT64_MAX) {
        double part = (double)updates / (double)config->until.updates;
        fraction = fmax(part, isnan(fraction) ? 0.0 : fraction);
    }
    return fmin(fraction, 1.0);
}

void drove__run_progress(drove_run *run, uint64_t train_ns, int evaluated, drove_progress *out)
{
    const drove_standing *st = &run->state.standing;
    uint64_t examples = drove__run_examples(&run->workers);
    if (train_ns > run->output.rate_ns && examples > run->output.rate_examples) {
        run->output.rate = (double)(examples - run->output.rate_examples) /
                           seconds(train_ns - run->output.rate_ns);
    }
    double epochs = (double)examples / (double)run->workers.loop->order.n_rows,
           train_s = seconds(train_ns);
    *out = (drove_progress){
        .epochs = epochs,
        .epochs_total = isfinite(run->config.until.epochs) ? run->config.until.epochs : NAN,
        .examples = examples,
        .updates = atomic_load(&run->workers.loop->sync->published),
        .train_s = train_s,
        .examples_per_s = run->output.rate,
        .loss = st->loss,
        .loss_initial = st->loss_initial,
        .accuracy = st->accuracy,
        .test_loss = st->test_loss,
        .test_accuracy = st->test_accuracy,
        .target_loss = run->config.until.loss_is_relative
                           ? run->config.until.loss * st->loss_initial
                           : run->config.until.loss,
        .n_workers = run->workers.plan.n_workers,
        .evaluated = evaluated,
        .validation_loss = st->validation_loss,
        .validation_accuracy = st->validation_accuracy,
    };
    out->fraction = budget_fraction(&run->config, epochs, out->updates, train_s);
    out->eta_s = out->fraction > 0.0 ? train_s * (1.0 - out->fraction) / out->fraction : NAN;
}

/* ---- parameters ---- */

const char *drove__run_gemm(const drove_problem *problem, const drove_workers *workers)
{
    return drovek_narrow(&workers->kernels, problem->model->factors).gemm_source;
}

drove_status drove__run_theta(const drove_problem *problem, const drove_workers *workers,
                              drove_state *state, const float **out)
{
    drove_loop *loop = workers->loop;
    *out = state->best;
    if (state->gives_best) return DROVE_OK;
    const drove_params at = loop->sync->ops->peek(loop->sync);
    *out = state->theta != NULL ? state->theta : at.theta;
    if (state->theta == NULL || state->theta_is_current) return DROVE_OK;
    const bool has_statistics = problem->is_given && atomic_load(&loop->sync->published) == 0;
    if (at.words != NULL) loop->core_ops->unpack(loop->shared, at.words, state->theta);
    else if (has_statistics)
        memcpy(state->theta, at.theta, problem->model->n_params * sizeof *at.theta);
    else DROVE_TRY(drove__population_run(loop, at.theta));
    state->theta_is_current = true;
    return DROVE_OK;
}
