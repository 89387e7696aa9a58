/* bench/micro/trace.c - what tracing costs: the clock readings and counters of one step, against
 * the step.
 *
 * The work of tracing is what run/worker.c and engine/host do beside the step itself: seven
 * clock readings, ten additions to phases, the counters and one histogram entry.  It is repeated
 * on its own many times; the step is the gradient and update of the MLP 784-128-128-128-10 at
 * batch 16, measured in a run of drove in the same minute. JSON line; ratio = tracing / step.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "trace/trace.h"

#include <drove/drove.h>

#include <stdio.h>
#include <stdlib.h>

enum { STEPS = 200000, REPEATS = 9, CLOCK_READINGS = 7 };

static double tracing_ns(void)
{
    double best = 1e30;
    drove_trace_worker *t = drove__alloc(1, sizeof *t);
    for (int r = 0; r < REPEATS; r++) {
        uint64_t start = drove__now_ns();
        for (int i = 0; i < STEPS; i++) {
            uint64_t at[CLOCK_READINGS];
            for (int c = 0; c < CLOCK_READINGS; c++) at[c] = drove__now_ns();
            for (int p = 0; p < DROVE_N_PHASES; p++) t->phase_ns[p] += at[p % 6 + 1] - at[p % 6];
            t->steps++;
            t->attempts++;
            t->busy_ns += at[6] - at[0];
            atomic_store_explicit(&t->examples,
                                  atomic_load_explicit(&t->examples, memory_order_relaxed) + 16,
                                  memory_order_relaxed);
            atomic_store_explicit(&t->updates,
                                  atomic_load_explicit(&t->updates, memory_order_relaxed) + 1,
                                  memory_order_relaxed);
            drove__hist_add(&t->staleness, (uint64_t)(i & 7));
        }
        double ns = (double)(drove__now_ns() - start) / STEPS;
        if (ns < best) best = ns;
    }
    if (t->steps != (uint64_t)REPEATS * STEPS) exit(1);
    drove__free(t);
    return best;
}

static double step_ns(void)
{
    double best = 1e30;
    drove_options opt = drove__options_default();
    const char *const choice[][2] = {{"defaults", "classic"},
                                     {"data", "synth:digits?n=20000"},
                                     {"test", ""},
                                     {"model", "mlp:128,128,128"},
                                     {"batch", "16"},
                                     {"threads", "1"},
                                     {"strategy", "sequential"},
                                     {"until", "epochs=2"},
                                     {"eval-examples", "512"},
                                     {"eval-every", "2"}};
    for (size_t i = 0; i < DROVE_COUNT(choice); i++) {
        if (drove_options_set(&opt, choice[i][0], choice[i][1]) != DROVE_OK) exit(1);
    }
    for (int r = 0; r < REPEATS; r++) {
        drove_result *result;
        drove_progress end;
        if (drove_train(&opt, NULL, &result) != DROVE_OK) exit(1);
        drove_result_final(result, &end);
        double ns = end.train_s * 1e9 / (double)end.updates;
        if (ns < best) best = ns;
        drove_result_destroy(result);
    }
    return best;
}

int main(void)
{
    double tracing = tracing_ns(), step = step_ns();
    printf("{\"bench\": \"trace\", \"batch\": 16, \"tracing_ns\": %.1f, \"step_ns\": %.0f, "
           "\"ratio\": %.5f}\n",
           tracing, step, tracing / step);
    return 0;
}
