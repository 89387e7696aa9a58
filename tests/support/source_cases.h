/* A source of batches with workers that do nothing but take tasks and count them, and what every
 * source must keep whatever its row: each number below the limit is given out once, a halt leaves
 * nothing half done, what a lost worker leaves behind is accounted for.
 */
#ifndef DROVE_TESTS_SOURCE_CASES_H
#define DROVE_TESTS_SOURCE_CASES_H

#include "strategy/source.h"

enum { SOURCE_MOST_WORKERS = 64, SOURCE_MOST_LOST = 64 };

typedef struct source_setup {
    const drove_source_ops       *ops;
    const char                   *spec;                /* of the strategy; NULL: "sequential" */
    unsigned                      n_workers, n_groups; /* 0 groups: one for all */
    const drove_source_worker    *worker;              /* [n_workers]; NULL: cores of one group */
    uint64_t                      n_rows, batch;       /* 0: 100000 and 64 */
    uint64_t                      most_lost;           /* numbers that a worker may hold; 0: 1 */
    uint64_t                      most_claimed;        /* at once; 0: one */
    const drove_clock            *clock;               /* NULL: real */
    const drove_exchange_pattern *exchange_pattern;    /* of the strategy; NULL: it has none */
} source_setup;

typedef struct source_rig source_rig;

/* What a worker does with a task besides counting it, before it is done; false: the worker ends
 * without having done it. */
typedef bool source_work_fn(source_rig *rig, unsigned worker, const drove_task *task);

struct source_rig {
    drove_source        source;
    drove_sync          sync; /* published counts; its publish adds 1 to it */
    drove_sync_ops      sync_ops;
    source_setup        setup;
    drove_source_worker worker[SOURCE_MOST_WORKERS];
    uint64_t            n_numbers; /* that may be given out */
    _Atomic uint8_t    *times;     /* [n_numbers] how often each was done */
    _Atomic uint64_t    n_done;    /* numbers */
    _Atomic uint64_t    n_tasks;
    _Atomic int         is_lost[SOURCE_MOST_WORKERS];
    _Atomic unsigned    n_silenced;
    uint64_t            halt_at; /* somebody halts when so many numbers are done; 0: nobody */
    source_work_fn     *work;    /* NULL: nothing */
    void               *context; /* of work */
    unsigned            n_by[SOURCE_MOST_WORKERS]; /* tasks done by each */
};

void source_rig_open(source_rig *rig, const source_setup *setup, uint64_t n_numbers);
void source_rig_close(source_rig *rig);
/* One stretch of training by all workers that are not lost, with the source's own thread. */
void source_rig_train(source_rig *rig, uint64_t limit);
/* Fails the test unless exactly the numbers below n were done, each once. */
void source_rig_check(const source_rig *rig, uint64_t n);

/* ---- checks of any source; the setup has several workers ---- */

void source_gives_each_number_once(const source_setup *setup);
void source_halts_without_a_gap(const source_setup *setup);
void source_goes_on_without_a_lost_worker(const source_setup *setup);
void source_never_waits_when_asked_not_to(const source_setup *setup);
void source_check_all(const source_setup *setup);

#endif
