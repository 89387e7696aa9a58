/* tests/support/strategies.h - every strategy and variant of the registry, ready to be driven by
 * hand or by threads.
 *
 * A rig owns a strategy with its rule; drive it with take_step, or with run_workers.  Strategies
 * that exchange get a transport for the threads of this process.
 */
#ifndef DROVE_TESTS_STRATEGIES_H
#define DROVE_TESTS_STRATEGIES_H

#include "base/racy.h"
#include "run/registry.h"
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

typedef struct rig_options { /* zeroed: sgd, step size 1, one worker, 64 parameters of 0 */
    const char       *variant;
    const char       *rule, *schedule, *backoff;
    double            lr;
    drove_state_place state;
    unsigned          n_workers;
    size_t            n;
    const float      *theta0; /* [n] or NULL */

    const drove_place        *place;  /* [n_workers] or NULL */
    const drove_layout       *layout; /* or NULL */
    const drove_sync_convert *convert;

    const drove_sync_ops *ops;  /* NULL: found by the variant's name */
    const drove_rule_ops *hook; /* takes the place of the rule's functions */

    /* of strategies that exchange */
    double            rho;
    const char       *period;
    const drove_span *part; /* [n_parts] by layer; or NULL */
    size_t            n_parts;
    const char       *wire_format;
} rig_options;

/* rig_try: with the status of drove__sync_create, all else must succeed; rig_init: that too. */
drove_status rig_try(rig *r, rig_options o);
void         rig_init(rig *r, rig_options o);
void         rig_fini(rig *r);

/* acquire, release and publish of value[n], in memory lent by the strategy if it does that; view
 * and info may be NULL. */
drove_status take_step(rig *r, unsigned worker, const float *value, float eta, drove_view *view,
                       drove_publish_info *info);

/* Does the variant take these options?  Some refuse rules. */
bool rig_accepts(rig_options o);

typedef struct variant_facts { /* a variant may differ from its row */
    unsigned promises, needs, batches_per_update;
    bool     shares_state; /* views have the rule's state; else a worker may see theta alone */
} variant_facts;
variant_facts facts_of(const drove_sync_ops *ops, const char *variant, unsigned n_workers);

/* Row of the registry; fails the test where there is none. */
const drove_sync_ops *find_strategy(const char *name);
/* Calls body once for every variant of every row of the registry. */
void for_each_variant(void (*body)(const drove_sync_ops *ops, const char *variant));

/* Runs body on a thread for every worker, all starting together, and waits for them.  cmocka's
 * assertions belong to the main thread: bodies record, the test asserts. */
void run_workers(rig *r, void (*body)(rig *r, unsigned worker, void *arg), void *arg);

void rest_us(unsigned us);

#endif
