/* tests/support/rig.h - one strategy, ready to be driven: what every test of a strategy makes
 * first and frees last.
 *
 * A rig owns kernels, a rule, a spec and the strategy that is made of them.  Drive it with
 * take_step, or by a thread for each worker with run_workers; or call rig.sync->ops.  Tests that
 * name a strategy instead of its row include support/strategies.h, which knows the registry.
 */
#ifndef DROVE_TESTS_RIG_H
#define DROVE_TESTS_RIG_H

#include "base/racy.h"
#include "kernel/tiers.h"
#include "strategy/strategy.h"
#include "support/test.h"

#include <stdio.h>
#include <string.h>

/* ThreadSanitizer makes a step some twenty times slower. */
#define STEPS_DIVISOR (DROVE_TSAN ? 40u : 1u)

enum { MOST_WORKERS = 64 };

typedef struct rig {
    drovek_table kernels;
    drove_optim *optim;
    drove_sync  *sync;
    drove_spec   spec;
} rig;

typedef struct rig_options {   /* zeroed: sgd, step size 1, one worker, 64 parameters of 0 */
    const drove_sync_ops *ops; /* the row; NULL: found by the variant's name (strategies.h) */
    const char           *variant;
    const char           *rule, *schedule, *backoff;
    double                lr, weight_decay, clip;
    drove_state_place     state;
    unsigned              n_workers;
    size_t                n;
    const float          *theta0;  /* [n] or NULL */
    const drovek_table   *kernels; /* copied; NULL: the best of this processor */
    const drove_rule_ops *hook;    /* takes the place of the rule's functions */

    const drove_place        *place;                 /* [n_workers] or NULL */
    const bool               *is_deep, *is_resident; /* [n_workers] or NULL */
    const drove_layout       *layout;                /* or NULL */
    const drove_sync_convert *convert;
    const drove_span         *part; /* [n_parts] by layer; or NULL */
    size_t                    n_parts;
    bool                      is_packed;      /* parts, but one message for all of them */
    bool                      is_read_beside; /* snapshot will be called */

    /* of strategies that exchange */
    struct drove_transport *transport; /* NULL: one for the threads of this process */
    double                  rho;
    const char             *period;
    const char             *wire_format;
} rig_options;

/* rig_try_row: with the status of drove__sync_create, all else must succeed; rig_init_row: that
 * too.  rig_fini frees what either has left. */
drove_status rig_try_row(rig *r, rig_options o);
void         rig_init_row(rig *r, rig_options o);
void         rig_fini(rig *r);
/* What they give to drove__sync_create, for another strategy of the same rule and spec. */
drove_sync_options rig_sync_options(const rig *r, const rig_options *o);

/* acquire, release and publish of value[n], in memory lent by the strategy if it does that; view
 * and info may be NULL. */
drove_status take_step(rig *r, unsigned worker, const float *value, float eta, drove_view *view,
                       drove_publish_info *info);

/* Runs body on a thread for every worker, all starting together, and waits for them.  cmocka's
 * assertions belong to the main thread: bodies record, the test asserts. */
void run_workers(rig *r, void (*body)(rig *r, unsigned worker, void *arg), void *arg);

void rest_us(unsigned us);

#endif
