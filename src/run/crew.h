/* run/crew.h - the workers of a run whose batches a coordinator gives out.
 *
 * Source: Ma and Rusu, section 5.  A group is what the paper calls a worker: cores that work
 * together (threads of run->worker[], the first of them leads), or a device with one thread that
 * serves it. One more thread carries the coordinator's messages (Figure 4):
 *
 *   crew.c    the coordinator's thread: requests in, orders out; lost groups
 *   group.c   a leader: takes orders, has its threads or its device carry them out, asks for more
 *   probe.c   batch sizes that were not given, from a short measurement
 *
 * Between two commands of the caller all of them are parked (run/gang.c).
 *
 * Threads: a group's fields belong to its leader while it works, to the caller's thread while it is
 * parked; the rest is said below.
 */
#ifndef DROVE_RUN_CREW_H
#define DROVE_RUN_CREW_H

#include "coord/coord.h"
#include "coord/method.h"
#include "coord/queue.h"
#include "engine/device.h"
#include "strategy/strategy.h"
#include "trace/timeline.h"
#include "run/workers.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct drove_run    drove_run;
typedef struct drove_worker drove_worker;

/* What became of a group; whoever changes it from WORKING first has decided. */
typedef enum drove_fate {
    DROVE_FATE_WORKING,
    DROVE_FATE_FAILED, /* by its own word: its leader still parks with the others */
    DROVE_FATE_SILENT  /* taken off by the coordinator: its leader never comes back */
} drove_fate;

typedef struct drove_task { /* to a leader */
    enum { DROVE_TASK_EXECUTE, DROVE_TASK_PARK } verb;
    drove_coord_action action;
} drove_task;

typedef struct drove_request { /* to the coordinator's thread */
    enum { DROVE_REQUEST_MESSAGE, DROVE_REQUEST_PUBLISH } verb;
    drove_coord_message message;
    /* PUBLISH: this worker's step is to be applied, then `message` handled (id 0: none), and the
     * worker told */
    drove_worker       *publisher;
    const drove_step   *step;
    drove_publish_info *info;
} drove_request;

typedef struct drove_group {
    drove_run              *run;
    const drove_group_plan *plan;
    unsigned                index;
    unsigned                first, n_threads; /* of run->worker[] */
    drove_device           *device;           /* NULL: cores */
    const drove_engine_ops *engine_ops;
    size_t                  engine_rows;        /* largest batch of one engine's call */
    uint64_t                batch, least, most; /* of the group, as settled before training */
    drove_queue            *inbox;              /* of drove_task; the leader takes */
    drove_queue            *done;               /* of drove_lane_done; the leader takes */
    drove_task              ahead;              /* taken before its time; if has_ahead */
    bool                    has_ahead;
    bool                    is_measured; /* batch sizes are known; changed under the lock */
    /* STEP: sub-batches that were taken; relaxed, the number is all that is passed on */
    _Atomic uint64_t   n_taken;
    float             *sum; /* [n_params] of a batch in pieces; NULL: never needed */
    drove_timeline     busy;
    uint64_t           told_busy_ns;                 /* at the last record of the log ... */
    double             utilisation;                  /* ... and between the last two */
    drove_engine_times times;                        /* of a device, added up */
    char               error[DROVE_ERROR_TEXT_SIZE]; /* of a lost group */
    bool               error_is_told;
    /* Of a device: held from the look at `fate` until the step is in the parameters and its message
     * in the queue, and while the coordinator looks for silent groups: a batch that was published
     * is never given to another. */
    pthread_mutex_t lock;
    bool            lock_is_made;
    _Atomic int     fate;      /* drove_fate; changed under the lock */
    _Atomic int     has_ended; /* a silent leader came back after all, and is gone */
} DROVE_ALIGNED_CACHE_LINE drove_group;

typedef struct drove_lane_job { /* from a leader to the other threads of its group */
    enum {
        DROVE_LANE_STEP,
        DROVE_LANE_GRADIENT,
        DROVE_LANE_SUM,
        DROVE_LANE_SCORE,
        DROVE_LANE_END
    } verb;
    drove_range range; /* of this thread; STEP: of all; SUM: elements of the gradient */
    uint64_t    each;  /* STEP: rows of a sub-batch; each thread takes the next that is left */
    uint64_t    id;
} drove_lane_job;

enum { DROVE_LANE_JOBS = 2 }; /* that wait for one lane: a job, and the end */

typedef struct drove_lane_done { /* the answer */
    drove_status status;
    drove_score  score;
} drove_lane_done;

typedef struct drove_crew {
    drove_crew_plan plan;
    drove_method    method;
    unsigned        n_groups;
    drove_group    *group;   /* [n_groups] */
    bool           *is_deep; /* [threads] for the strategy */
    drove_coord    *coord; /* made when the batch sizes are settled; its thread's while it works */
    drove_queue    *requests;   /* of drove_request */
    drove_coord_action *action; /* [most] */
    pthread_t           thread;
    bool                thread_started;
    uint64_t            most_updates; /* of the run; UINT64_MAX: no limit; set while parked */
    uint64_t            since_ns;     /* training time when these workers began; before: others */
    uint64_t            told_ns;      /* training time at the last record of the log */
    uint64_t            clock_ns;     /* training time when this stretch began, for time lines */
    uint64_t            started_ns;   /* drove__now_ns then */
    unsigned            last_lost;    /* group */
    _Atomic int         deserted;     /* no group is left */
} drove_crew;

/* crew.c; caller's thread */
/* Parses, opens devices, places threads: fills run->crew, run->n_workers, run->place.  Errors:
 * those of drove__crew_plan_parse and drove__device_open. */
drove_status drove__crew_open(drove_run *run);
/* The model and the data are there: largest batch of each engine.  Errors: DROVE_E_ARG (a device
 * too small for one example). */
drove_status drove__crew_size_engines(drove_run *run);
/* After the threads are there: batch sizes, coordinator. */
drove_status drove__crew_settle(drove_run *run);
void         drove__crew_close(drove_run *run);
/* Asks the coordinator to give out nothing more; by any thread. */
void drove__crew_halt(drove_run *run);
/* DROVE_OK, or DROVE_E_SYSTEM if no group is left. */
drove_status drove__crew_status(const drove_run *run);
/* A message for each group that was lost since the last call. */
void drove__crew_tell(drove_run *run);
/* The step is applied by the coordinator's thread, and done (id 0: nothing) handled with it. */
drove_status drove__crew_publish(drove_worker *w, const drove_step *step,
                                 const drove_coord_message *done, drove_publish_info *info);
/* What came too late for the last command, before the next one is given: a halt, the word of a
 * silent leader that has come back. */
void drove__crew_clear(drove_run *run);
/* Are there examples that lost groups left undone? */
bool drove__crew_has_undone(const drove_run *run);

/* crew.c; the coordinator's own thread: one command from parked to parked. */
void drove__crew_coordinate(drove_run *run, drove_job job);

/* group.c; on the threads of a group, one command from parked to parked.  false: the thread is to
 * end without parking (a silent leader). */
bool drove__group_work(drove_worker *w);
void drove__group_lane(drove_worker *w); /* threads other than the leader's */
bool drove__group_leads(const drove_worker *w);
/* Of one batch of its device; UINT64_MAX: none. */
uint64_t drove__group_timeout_ns(const drove_group *g);
/* group.c; a leader whose group cannot go on says why, to the coordinator with `failed` (NULL: to
 * nobody yet).  false: it had been taken off before. */
bool drove__group_fail(drove_group *g, const drove_coord_message *failed);
/* probe.c; on the leader's thread: examples/s of the group's device by batch size, then least and
 * most where they were not given; a device that fails is lost.  false: the thread is to end without
 * parking (a silent leader). */
bool drove__group_probe(drove_worker *w);
/* Longest measurement, without its first and its last batch. */
#define DROVE_PROBE_MOST_S 2.0

#endif
