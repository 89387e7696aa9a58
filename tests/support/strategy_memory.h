/* tests/support/strategy_memory.h - memory of a strategy: each allocation of its creation fails in
 * turn, and then its workers step in memory with guards behind it (no_memory.h).  Included by one
 * file of a test. */
#ifndef DROVE_TESTS_STRATEGY_MEMORY_H
#define DROVE_TESTS_STRATEGY_MEMORY_H

#include "support/rig.h"

#include "support/no_memory.h"

enum { STRATEGY_MEMORY_MOST_CALLS = 10000, STRATEGY_MEMORY_MOST_NUMBERS = 1024 };

/* An error says that memory has run out, nothing is made and nothing stays.  The status without
 * that: what is refused leaves nothing, either. */
static inline drove_status strategy_memory_walk(rig_options o)
{
    static float    theta[STRATEGY_MEMORY_MOST_NUMBERS];
    static uint32_t words[STRATEGY_MEMORY_MOST_NUMBERS];
    drove_params    start = {.theta = o.layout == NULL ? theta : NULL,
                             .words = o.layout != NULL ? words : NULL};
    rig             r; /* with an optim and a spec to borrow */
    unsigned long   n = 1;
    assert_in_range(o.n, 0, STRATEGY_MEMORY_MOST_NUMBERS);
    const drove_status       expected = rig_try_row(&r, o);
    const drove_sync_options opt = rig_sync_options(&r, &o);
    for (bool has_failed = true; has_failed && n < STRATEGY_MEMORY_MOST_CALLS; n++) {
        drove_sync *s = NULL;
        no_memory_begin(n);
        const drove_status status = drove__sync_create(o.ops, &opt, &start, &s);
        has_failed = no_memory_end();
        if (status != (has_failed ? DROVE_E_NOMEM : expected) ||
            (status == DROVE_OK) != (s != NULL))
            fail_msg("%s, allocation %lu: status %d: %s", o.variant, n, status, drove_error_text());
        drove__sync_destroy(s);
        if (no_memory_live() != 0)
            fail_msg("%s, allocation %lu: %zu pieces of memory stay", o.variant, n,
                     no_memory_live());
    }
    assert_in_range(n, expected == DROVE_OK ? 3 : 2, STRATEGY_MEMORY_MOST_CALLS - 1);
    rig_fini(&r);
    return expected;
}

static inline void strategy_memory_step(rig *r, unsigned worker, void *arg)
{
    static const float value[64];
    atomic_uint       *n_failed = arg;
    for (unsigned i = 0; i < 4; i++)
        if (take_step(r, worker, value, 1.0f, NULL, NULL) != DROVE_OK)
            atomic_fetch_add(n_failed, 1);
}

/* Steps by n_workers threads, of 64 parameters, a look at these and going on from them: what is
 * written lies in the strategy's memory, and none of it stays. */
static inline void strategy_memory_steps(const drove_sync_ops *ops, const char *variant,
                                         unsigned n_workers)
{
    rig         r;
    float       theta[64];
    atomic_uint n_failed = 0;
    no_memory_begin(0);
    rig_init_row(&r, (rig_options){.variant = variant, .ops = ops, .n_workers = n_workers});
    (void)no_memory_end();
    run_workers(&r, strategy_memory_step, &n_failed);
    if (n_failed != 0) fail_msg("%s: %u steps failed", variant, (unsigned)n_failed);
    no_memory_go_on();
    memcpy(theta, r.sync->ops->peek(r.sync).theta, sizeof theta);
    if (drove__sync_restore(r.sync, 4, &(drove_params){.theta = theta}, NULL) != DROVE_OK)
        fail_msg("%s: %s", variant, drove_error_text());
    (void)no_memory_end();
    rig_fini(&r);
    if (no_memory_live() != 0)
        fail_msg("%s, %u workers: %zu pieces of memory stay", variant, n_workers, no_memory_live());
}

#endif
