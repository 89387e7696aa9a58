/* A run ends soon after a loss that is no number, however long its batches take: nobody can know
 * the time of a program's own loss, so its batches are claimed one at a time. */
#include "system/run_support.h"
#include "support/test.h"

#include <stdatomic.h>
#include <math.h>
#include <time.h>

enum { N_THREADS = 2, FIRST_LAST = 40, N_RUNS = 4 };

static atomic_int n_calls; /* with a derivative; call last_call gives NaN */
static int last_call;

static drove_status slow_squared(void *context, const drove_loss_batch *b)
{
    (void)context;
    const bool trains = b->derivative != NULL;
    const int call = trains ? atomic_fetch_add(&n_calls, 1) : 0;
    const bool is_last = trains && call == last_call;
    for (size_t i = 0; i < b->n_rows; i++) {
        const float e = b->outputs[i] - (float)b->class_of[i];
        b->loss[i] = is_last ? NAN : 0.5f * e * e;
        if (trains) b->derivative[i] = is_last ? NAN : e;
    }
    /* Later calls leave the thread of the last one the time to publish, on a busy machine too. */
    if (trains && !is_last)
        nanosleep(&(struct timespec){0, call > last_call ? 50000000 : 1000000}, NULL);
    return DROVE_OK;
}

TEST(slow_batches_are_not_claimed_ahead)
{
    static const char *const strategies[] = {"hogwild", "mutex"};
    const drove_custom_loss loss = {.name = "slow",
                                    .outputs = DROVE_OUTPUTS_PLAIN,
                                    .eval = slow_squared};
    for (size_t i = 0; i < N_RUNS * DROVE_COUNT(strategies); i++) {
        drove_options opt = small_run();
        set(&opt, "data", "synth:logistic?n=2000&d=4");
        set(&opt, "model", "logistic");
        set(&opt, "batch", "1");
        set(&opt, "threads", "2");
        set(&opt, "strategy", strategies[i % DROVE_COUNT(strategies)]);
        assert_int_equal(drove_options_set_loss(&opt, &loss), DROVE_OK);
        atomic_store(&n_calls, 0);
        last_call = FIRST_LAST + 7 * (int)i;
        run_to(&opt, DROVE_CRASHED);
        assert_in_range(atomic_load(&n_calls), last_call + 1, last_call + 1 + 2 * N_THREADS);
    }
}
