/* tests/unit/loop/replay_rig.h - a replay of a record that is written by hand, by workers whose
 * strategy and engine note what they do, and in which order.  Of worker N:
 *
 *     aN  takes its view           pN  publishes      qN  publishes what stays unseen
 *     rN  tries again what failed  sN  is told as made
 *     lN, dN, tN, eN  in place: is lent the parameters, is done, settles, ends
 *
 * Batch n has the mean loss n + 1/2 and a gradient of length n + 1; its record says a staleness of
 * REPLAY_STALE + n.  All that is noted is compared with the record as it comes. */
#ifndef DROVE_TESTS_UNIT_LOOP_REPLAY_RIG_H
#define DROVE_TESTS_UNIT_LOOP_REPLAY_RIG_H

#include "loop/replay.h"

enum {
    REPLAY_ROWS = 40,
    REPLAY_BATCH = 4,
    REPLAY_WORKERS = 3,
    REPLAY_PARAMS = 4,
    REPLAY_STALE = 100,
    REPLAY_MARK = REPLAY_WORKERS
};

typedef struct replay_planned {
    unsigned       worker; /* REPLAY_MARK: there the stretch ends */
    drove_recorded step;
} replay_planned;

/* Worker, batch, where its view is taken, steps in place, factor of the step size; its place, and
 * what else is to be said. */
#define REPLAY_STEPS(w, batch_, view, n, factor, ...)                                              \
    {                                                                                              \
        w,                                                                                         \
        {                                                                                          \
            .number = batch_, .view_order = view, .staleness = REPLAY_STALE + batch_,              \
            .n_steps = n, .lr_factor = factor, .order = __VA_ARGS__                                \
        }                                                                                          \
    }
#define REPLAY_STEP(w, batch_, view, ...) REPLAY_STEPS(w, batch_, view, 1, 1.0, __VA_ARGS__)
#define REPLAY_NOBODY                     DROVE_RECORDED_NO_ORDER

typedef struct replay_rig {
    drovek_table      kernels;
    drove_optim      *optim;
    drove_plan        plan;
    drove_plan_worker place[REPLAY_WORKERS];
    drove_data        data;
    drove_sync        sync;
    drove_source      source;
    drove_loop        loop;
    drove_worker      worker[REPLAY_WORKERS];
    drove_replay      replay;
    drove_host       *host;
    char              shared; /* only its address is used */
} replay_rig;

extern struct replay_seen {
    char                  text[1000];
    drove_loop           *loop;
    const replay_planned *plan; /* [n_plan] */
    size_t                n_plan;
    uint64_t              n_told;
} replay_seen;

extern uint64_t               replay_time_ns; /* each gradient and score takes 1000 */
extern float                  replay_theta[REPLAY_PARAMS];
extern const drove_engine_ops replay_engine, replay_engine_staging;
/* By views; in place; in place, and what is settled in the end is published. */
extern const drove_sync_ops replay_strategy, replay_live, replay_live_ended;

/* Writes the record and starts the workers. */
void replay_open(replay_rig *r, const replay_planned *p, size_t n, const drove_source_ops *source,
                 const drove_sync_ops *strategy, const drove_engine_ops *engine);
void replay_close(replay_rig *r);
/* The next stretch, as far as it goes. */
drove_status replay_train(replay_rig *r);
void         replay_assert_seen(const replay_rig *r, const char *expected);
/* In the calling thread. */
bool replay_keeps_denormals(void);

#endif
