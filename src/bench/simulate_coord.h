/* bench/simulate_coord.h - a run in virtual time: the coordinator with workers that follow scripts.
 *
 * Nothing is computed and nobody sleeps: an event is the end of an assignment, a worker's failure,
 * a deadline or a halt, and the clock jumps from one to the next.  Messages take no time.  Two
 * events of one moment happen in the order of the workers' numbers, so a run is a function of its
 * arguments.  For tests, for experiments with policies, and for choosing batch sizes.
 */
#ifndef DROVE_BENCH_SIMULATE_COORD_H
#define DROVE_BENCH_SIMULATE_COORD_H

#include "coord/coord.h"
#include "engine/fake/script.h"

typedef struct drove_sim drove_sim;

typedef struct drove_sim_worker {
    drove_fake_script script; /* of one thread; its batches are the worker's */
    unsigned n_threads; /* of a CPU worker: a batch is cut into so many parts, each one update */
} drove_sim_worker;

typedef struct drove_sim_step { /* one assignment that was carried out */
    unsigned    worker;
    drove_range range;
    uint64_t    batch; /* b when it was given out */
    uint64_t    begin_ns, end_ns;
    uint64_t    n_updates;
} drove_sim_step;

/* Called at the end of each, after the coordinator has heard of it. */
typedef void drove_sim_hook(void *context, const drove_sim_step *step);

typedef struct drove_sim_options {
    drove_coord            *coord;  /* borrowed */
    const drove_sim_worker *worker; /* [n_workers], copied */
    unsigned                n_workers;
    drove_sim_hook         *hook; /* may be NULL */
    void                   *context;
} drove_sim_options;

typedef enum drove_sim_end {
    DROVE_SIM_PARKED,
    DROVE_SIM_DESERTED,
    DROVE_SIM_STUCK /* somebody hangs who has no timeout */
} drove_sim_end;

/* Errors: DROVE_E_NOMEM. */
drove_status drove__sim_create(const drove_sim_options *opt, drove_sim **out);
void         drove__sim_destroy(drove_sim *s); /* NULL accepted */

/* Hands the coordinator the OPEN of a stretch and goes on until that is over.  At halt_ns
 * (UINT64_MAX: never) it is halted. */
drove_sim_end drove__sim_run(drove_sim *s, const drove_coord_message *open, uint64_t halt_ns);

typedef struct drove_sim_facts {
    uint64_t now_ns;   /* the virtual clock, which starts at 0 */
    uint64_t train_ns; /* from OPEN to PARKED, all stretches */
    uint64_t n_updates, n_examples, n_messages;
    double   gap, most_gap; /* largest less smallest u of those not lost: now, and at its most */
} drove_sim_facts;
drove_sim_facts drove__sim_facts(const drove_sim *s);
/* Time in which a worker had something to do; idle for the rest of train_ns. */
uint64_t drove__sim_busy_ns(const drove_sim *s, unsigned worker);
/* Examples/s of a worker alone that always gets batches of this size. */
double drove__sim_alone(const drove_sim_worker *worker, uint64_t batch);

#endif
