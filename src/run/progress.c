/* run/progress.c - the standing of a run: interrupts, progress, parameters.
 *
 * Runs on the caller's thread, but for drove_train_interrupt.
 */
#include "run/progress.h"

#include "base/alive.h"
#include "loop/evaluation.h"
#include "run/ranks.h"

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
    DROVE_ALIVE(run, "a run");
    atomic_store_explicit(&run->is_cancelled, true, memory_order_relaxed);
}

int drove__run_signal(const drove_run *run)
{
    for (const drove_run *r = run; r != NULL; r = r->parent)
        if (atomic_load_explicit(&r->is_cancelled, memory_order_relaxed)) return SIGINT;
    return drove__run_signal_since(run->interrupts_before);
}

/* ---- progress ---- */

uint64_t drove__run_examples(const drove_run *run)
{
    uint64_t sum = drove__ranks_ahead(run);
    for (unsigned i = 0; i < run->plan.n_workers; i++) {
        sum += atomic_load_explicit(&run->loop->worker[i].trace.examples, memory_order_relaxed);
    }
    return sum;
}

static double seconds(uint64_t ns)
{
    return (double)ns * 1e-9;
}

static double budget_fraction(const drove_run *run, double epochs, uint64_t updates, double train_s)
{
    double fraction = NAN;
    if (isfinite(run->until.epochs)) fraction = fmax(epochs / run->until.epochs, 0.0);
    if (isfinite(run->until.seconds))
        fraction = fmax(train_s / run->until.seconds, isnan(fraction) ? 0.0 : fraction);
    if (run->until.updates != UINT64_MAX) {
        double part = (double)updates / (double)run->until.updates;
        fraction = fmax(part, isnan(fraction) ? 0.0 : fraction);
    }
    return fmin(fraction, 1.0);
}

void drove__run_progress(drove_run *run, uint64_t train_ns, int evaluated, drove_progress *out)
{
    const drove_standing *st = &run->standing;
    uint64_t examples = drove__run_examples(run);
    if (train_ns > run->rate_ns && examples > run->rate_examples) {
        run->rate = (double)(examples - run->rate_examples) / seconds(train_ns - run->rate_ns);
    }
    double epochs = (double)examples / (double)run->loop->order.n_rows, train_s = seconds(train_ns);
    *out = (drove_progress){
        .epochs = epochs,
        .epochs_total = isfinite(run->until.epochs) ? run->until.epochs : NAN,
        .examples = examples,
        .updates = atomic_load(&run->loop->sync->published),
        .train_s = train_s,
        .examples_per_s = run->rate,
        .loss = st->loss,
        .loss_initial = st->loss_initial,
        .accuracy = st->accuracy,
        .test_loss = st->test_loss,
        .test_accuracy = st->test_accuracy,
        .target_loss =
            run->until.loss_is_relative ? run->until.loss * st->loss_initial : run->until.loss,
        .n_workers = run->plan.n_workers,
        .evaluated = evaluated,
        .validation_loss = st->validation_loss,
        .validation_accuracy = st->validation_accuracy,
    };
    out->fraction = budget_fraction(run, epochs, out->updates, train_s);
    out->eta_s = out->fraction > 0.0 ? train_s * (1.0 - out->fraction) / out->fraction : NAN;
}

/* ---- parameters ---- */

const char *drove__run_gemm(const drove_run *run)
{
    return drovek_narrow(&run->kernels, run->model->factors).gemm_source;
}

drove_status drove__run_theta(drove_run *run, const float **out)
{
    drove_loop *loop = run->loop;
    *out = run->best;
    if (run->gives_best) return DROVE_OK;
    const drove_params at = loop->sync->ops->peek(loop->sync);
    *out = run->theta != NULL ? run->theta : at.theta;
    if (run->theta == NULL || run->theta_is_current) return DROVE_OK;
    const bool has_statistics = run->is_given && atomic_load(&loop->sync->published) == 0;
    if (at.words != NULL) loop->core_ops->unpack(loop->shared, at.words, run->theta);
    else if (has_statistics) memcpy(run->theta, at.theta, run->model->n_params * sizeof *at.theta);
    else DROVE_TRY(drove__population_run(loop, at.theta));
    run->theta_is_current = true;
    return DROVE_OK;
}
