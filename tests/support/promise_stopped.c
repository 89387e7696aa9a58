/* A worker that stops, in the middle of what it does, and does not come back until the others are
 * done.
 *
 *   LOCK_FREE   wherever it stops (holding a view; inside publish), the others take all their steps
 *   otherwise   of shared vectors, so that nobody promises less than there is: stopped inside
 *               publish it keeps a lock, and the others stand still until it goes on.  Holding a
 *               view it keeps nothing (a private copy), except where the strategy itself waits for
 *               everyone's step and so has `stop`
 */
#include "support/promises.h"

#include <pthread.h>
#include <semaphore.h>

enum { T = 4, N = 256, STEPS = 2000 };

typedef enum place { HOLDING_A_VIEW, INSIDE_PUBLISH } place;

static sem_t stopped, go_on;
static _Thread_local bool stops_here;
static float ones[N];

static void stopping_apply(const drove_rule *rule, const drovek_table *k, const drovek_update *u,
                           float eta, uint64_t t)
{
    (void)rule, (void)t;
    k->sgd_f32(u->out, u->in, u->g, u->n, eta);
    if (!stops_here) return;
    stops_here = false;
    sem_post(&stopped);
    sem_wait(&go_on);
}

static const drove_rule_ops stopping_rule = {.name = "sgd",
                                             .zero_is_noop = true,
                                             .apply = stopping_apply};

typedef struct scene {
    rig r;
    place where;
    _Atomic unsigned n_done; /* workers that have taken all their steps */
    _Atomic unsigned n_failed;
} scene;

typedef struct actor {
    scene *in;
    unsigned worker;
    pthread_t thread;
} actor;

static void *stop_in_the_middle(void *arg)
{
    actor *me = arg;
    scene *c = me->in;
    drove_sync *s = c->r.sync;
    drove_view view;
    drove_publish_info info;
    drove_step step = {.value = ones, .eta = 1.0f};
    if (c->where == INSIDE_PUBLISH) {
        stops_here = true;
        if (s->ops->publish(s, me->worker, &step, &info) != DROVE_OK)
            atomic_fetch_add(&c->n_failed, 1);
        if (!stops_here) return NULL;
        stops_here = false; /* its publish never came by the rule: it stops behind it */
        sem_post(&stopped);
        sem_wait(&go_on);
        return NULL;
    }
    if (s->ops->acquire(s, me->worker, &view) != DROVE_OK) atomic_fetch_add(&c->n_failed, 1);
    sem_post(&stopped);
    sem_wait(&go_on);
    drove__sync_release(s, me->worker);
    return NULL;
}

static void *take_all_steps(void *arg)
{
    actor *me = arg;
    for (unsigned i = 0; i < STEPS / STEPS_DIVISOR; i++)
        if (take_step(&me->in->r, me->worker, ones, 1.0f, NULL, NULL) != DROVE_OK)
            atomic_fetch_add(&me->in->n_failed, 1);
    atomic_fetch_add(&me->in->n_done, 1);
    return NULL;
}

/* True: all others finished while worker 0 stood. */
static bool others_finish(const drove_sync_ops *ops, const char *variant, place where,
                          unsigned patience_us)
{
    scene c = {.where = where};
    actor actors[T];
    sem_init(&stopped, 0, 0);
    sem_init(&go_on, 0, 0);
    for (unsigned j = 0; j < N; j++) ones[j] = 1.0f;
    rig_init(&c.r,
             (rig_options){
                 .variant = variant, .ops = ops, .n = N, .n_workers = T, .hook = &stopping_rule});
    for (unsigned w = 0; w < T; w++) {
        actors[w] = (actor){.in = &c, .worker = w};
        void *(*body)(void *) = w == 0 ? stop_in_the_middle : take_all_steps;
        assert_int_equal(pthread_create(&actors[w].thread, NULL, body, &actors[w]), 0);
        if (w == 0) sem_wait(&stopped);
    }
    for (unsigned waited = 0; waited < patience_us && atomic_load(&c.n_done) < T - 1;
         waited += 1000)
        rest_us(1000);
    bool finished = atomic_load(&c.n_done) == T - 1;
    sem_post(&go_on);
    if (!finished && ops->stop != NULL) c.r.sync->ops->stop(c.r.sync);
    for (unsigned w = 0; w < T; w++) pthread_join(actors[w].thread, NULL);
    if (ops->stop == NULL) assert_int_equal(c.n_failed, 0);
    rig_fini(&c.r);
    return finished;
}

enum { LONG_US = 60000000, SHORT_US = 100000 };

static const char *said(bool finished)
{
    return finished ? "others go on" : "others wait";
}

static void expect(const char *variant, const char *where, bool finished, bool wanted)
{
    if (finished != wanted)
        fail_msg("%s: a worker that stops %s %s the others", variant, where,
                 wanted ? "stops" : "should stop");
}

void promise_lock_free(const drove_sync_ops *ops, const char *variant)
{
    variant_facts f = facts_of(ops, variant, T);
    bool lock_free = (f.promises & DROVE_SYNC_LOCK_FREE) != 0;
    bool waits = ops->stop != NULL, spread = (f.needs & DROVE_SYNC_SPREAD) != 0;
    if ((f.needs & DROVE_SYNC_ONE) != 0 || (spread && !lock_free)) return;
    bool goes_on = lock_free || !waits;
    bool with_view = others_finish(ops, variant, HOLDING_A_VIEW, goes_on ? LONG_US : SHORT_US);
    expect(variant, "while it holds a view", with_view, goes_on);
    printf("%-28s holding a view: %s", variant, said(with_view));
    /* A contribution that completes no update never reaches the rule, and steps straight into the
     * parameters have no publish. */
    if (f.batches_per_update > 1 || (f.needs & DROVE_SYNC_LIVE) != 0) {
        printf("\n");
        return;
    }
    bool inside = others_finish(ops, variant, INSIDE_PUBLISH, lock_free ? LONG_US : SHORT_US);
    expect(variant, "inside publish", inside, lock_free);
    printf("; inside publish: %s\n", said(inside));
}
