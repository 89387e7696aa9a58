/* accumulate and tree between processes: ranks that exchange by messages which take a random time
 * (threads here, each with a strategy of its own), processes on shared memory, and devices that
 * keep their parameters, played by threads that make their updates.  All of them must give the bits
 * of as many threads of one process. */
#define _GNU_SOURCE
#include "support/strategies.h"

#include "accum/accum.h"
#include "base/mem.h"
#include "base/rng.h"
#include "cluster/mailbox.h"
#include "cluster/messages.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 5000, PARTS = 4, MOST = 6, STEPS = DROVE_TSAN ? 6 : 12 };

static const drove_span part[PARTS] = {{0, 1600}, {1600, 16}, {1616, 3040}, {4656, 344}};
static const char *const variants[] = {"accumulate", "accumulate:at-end", "tree", NULL};

typedef struct player { /* one worker */
    rig *r;
    drove_transport *transport;
    unsigned worker, n_workers;
    const char *variant;
    bool is_resident, stops;
    drove_status status;
    pthread_t thread;
} player;

static void fill_gradient(float *g, unsigned worker, unsigned step)
{
    drove_rng rng;
    drove__rng_seed(&rng, 9, DROVE_RNG_TEST, worker * 1000 + step);
    for (size_t i = 0; i < N; i++) g[i] = (float)drove__rng_normal(&rng);
}

static float eta_of(unsigned worker, unsigned step)
{
    return 0.001f * (float)(1 + (worker + step) % 3);
}

/* What a device does: takes the mean slice by slice, and makes the update. */
static drove_status update_device(player *me, float eta)
{
    drove_sync *s = me->r->sync;
    float mean[N];
    for (unsigned i = 0; i < PARTS; i++) {
        drove_sum sum;
        if (!s->ops->slices->next_sum(s, me->worker, true, &sum)) return DROVE_E_SYSTEM;
        memcpy(mean + sum.offset, sum.value + sum.offset, sum.length * sizeof(float));
    }
    float *theta = s->ops->replicas->vector(s, me->worker);
    const drove_step step = {.value = mean, .eta = eta};
    drove__optim_apply(s->optim, &step, 0, 1, 0, N, theta, theta);
    return DROVE_OK;
}

static drove_status one_step(player *me, unsigned number)
{
    drove_sync *s = me->r->sync;
    drove_view view;
    drove_publish_info info;
    /* A device makes its update by the step size that it was told, which is everybody's. */
    float eta = me->is_resident || me->r->optim->n_vector == N ? 0.01f : eta_of(me->worker, number);
    DROVE_TRY(s->ops->acquire(s, me->worker, &view));
    float *g = s->ops->gradient(s, me->worker);
    fill_gradient(g, me->worker, number);
    for (unsigned i = PARTS; i-- > 0;)
        (void)s->ops->slices->ready(s, me->worker, part[i].offset, part[i].length, g, eta);
    drove__sync_release(s, me->worker);
    if (me->is_resident) DROVE_TRY(update_device(me, eta));
    const drove_step step = {.value = g, .eta = eta};
    return s->ops->publish(s, me->worker, &step, &info);
}

static void *play(void *argument)
{
    player *me = argument;
    for (unsigned i = 0; i < STEPS && me->status == DROVE_OK; i++) {
        if (me->stops && i == STEPS / 2) {
            me->r->sync->ops->stop(me->r->sync);
            me->status = DROVE_E_SYSTEM;
        } else {
            me->status = one_step(me, i);
        }
    }
    return NULL;
}

static void open_rig(rig *r, const player *me, const char *rule, const bool *is_resident)
{
    float theta0[N];
    fill_gradient(theta0, 99, 0);
    rig_init(r, (rig_options){.variant = me->variant,
                              .rule = rule,
                              .lr = 0.01,
                              .n = N,
                              .n_workers = me->n_workers,
                              .theta0 = theta0,
                              .part = part,
                              .n_parts = PARTS,
                              .is_resident = is_resident,
                              .transport = me->transport,
                              .kernels = &drovek_ref});
}

static void start(player *me)
{
    assert_int_equal(pthread_create(&me->thread, NULL, play, me), 0);
}

static void compare(rig *r, const float *expected, const char *variant, unsigned n)
{
    const float *theta = r->sync->ops->peek(r->sync).theta;
    for (size_t i = 0; i < N; i++)
        if (memcmp(&theta[i], &expected[i], sizeof *theta) != 0)
            fail_msg("%s, %u workers: element %zu is %.9g, expected %.9g", variant, n, i,
                     (double)theta[i], (double)expected[i]);
}

/* Threads of one process: what all others are compared with. */
static void by_threads(const char *variant, unsigned n, const char *rule, const bool *is_resident,
                       float *result)
{
    rig r;
    player all[MOST];
    for (unsigned w = 0; w < n; w++)
        all[w] = (player){.r = &r,
                          .variant = variant,
                          .worker = w,
                          .n_workers = n,
                          .is_resident = is_resident != NULL && is_resident[w]};
    open_rig(&r, &all[0], rule, is_resident);
    for (unsigned w = 0; w < n; w++) start(&all[w]);
    for (unsigned w = 0; w < n; w++) pthread_join(all[w].thread, NULL);
    for (unsigned w = 0; w < n; w++) assert_int_equal(all[w].status, DROVE_OK);
    assert_int_equal(drove__sync_parked(r.sync), DROVE_OK);
    memcpy(result, r.sync->ops->peek(r.sync).theta, N * sizeof *result);
    rig_fini(&r);
}

/* ---- ranks ---- */

typedef struct ranks {
    unsigned n;
    drove_wire *wire[MOST];
    drove_transport *t[MOST];
    rig rig[MOST];
    player player[MOST];
} ranks;

static void *open_rank(void *argument)
{
    player *me = argument;
    static const bool all[MOST] = {true, true, true, true, true, true};
    const char *rule = me->is_resident || me->stops ? "sgd" : "adam";
    open_rig(me->r, me, rule, me->is_resident ? all : NULL);
    return NULL;
}

/* parked and init are collective: by all ranks at once. */
static void *park_rank(void *argument)
{
    player *me = argument;
    me->status = drove__sync_parked(me->r->sync);
    return NULL;
}

static void by_all(ranks *k, void *(*body)(void *))
{
    for (unsigned i = 0; i < k->n; i++)
        assert_int_equal(pthread_create(&k->player[i].thread, NULL, body, &k->player[i]), 0);
    for (unsigned i = 0; i < k->n; i++) pthread_join(k->player[i].thread, NULL);
}

static void open_ranks(ranks *k, const char *variant, unsigned n)
{
    drovek_table *kernels = &k->rig[0].kernels;
    drove_mailbox_options box = {
        .n_ranks = n, .seed = n, .most_delay_us = 100, .ns_per_byte = 0.1, .n_eager = 4096};
    drove_messages_options opt = {.timeout_s = 60, .has_progress_thread = true, .ends_wire = false};
    memset(k, 0, sizeof *k);
    static drovek_table table;
    kernels = &table;
    k->n = n;
    assert_int_equal(drovek_select(kernels, 0, "ref"), DROVE_OK);
    assert_int_equal(drove__mailbox_create(&box, k->wire), DROVE_OK);
    for (unsigned i = 0; i < n; i++) {
        assert_int_equal(drove__transport_messages(k->wire[i], kernels, &opt, &k->t[i]), DROVE_OK);
        k->player[i] = (player){
            .r = &k->rig[i], .transport = k->t[i], .variant = variant, .worker = i, .n_workers = n};
    }
}

static void close_ranks(ranks *k)
{
    for (unsigned i = 0; i < k->n; i++) rig_fini(&k->rig[i]);
    for (unsigned i = 0; i < k->n; i++) k->t[i]->ops->destroy(k->t[i]);
    for (unsigned i = 0; i < k->n; i++) k->wire[i]->ops->fini(k->wire[i]);
}

TEST(ranks_give_the_bits_of_threads)
{
    static float expected[N];
    for (const char *const *v = variants; *v != NULL; v++) {
        for (unsigned n = 2; n <= MOST; n++) {
            ranks k;
            by_threads(*v, n, "adam", NULL, expected);
            open_ranks(&k, *v, n);
            by_all(&k, open_rank);
            by_all(&k, play);
            for (unsigned i = 0; i < n; i++) assert_int_equal(k.player[i].status, DROVE_OK);
            by_all(&k, park_rank);
            for (unsigned i = 0; i < n; i++) {
                assert_int_equal(k.player[i].status, DROVE_OK);
                assert_int_equal(atomic_load(&k.rig[i].sync->published), STEPS);
                compare(&k.rig[i], expected, *v, n);
            }
            close_ranks(&k);
        }
    }
}

/* Devices that keep their parameters, of some ranks or all. */
TEST(ranks_may_have_devices)
{
    static float expected[N];
    for (const char *const *v = variants; *v != NULL; v++) {
        for (unsigned which = 1; which < 4; which++) {
            ranks k;
            by_threads(*v, 2, "sgd", NULL, expected);
            open_ranks(&k, *v, 2);
            for (unsigned i = 0; i < 2; i++) {
                k.player[i].is_resident = (which >> i & 1) != 0;
                k.player[i].stops = true; /* the rule sgd */
            }
            by_all(&k, open_rank);
            for (unsigned i = 0; i < 2; i++) k.player[i].stops = false;
            by_all(&k, play);
            for (unsigned i = 0; i < 2; i++) {
                assert_int_equal(k.player[i].status, DROVE_OK);
                compare(&k.rig[i], expected, *v, 2);
            }
            close_ranks(&k);
        }
    }
}

/* One rank stops: all others are told, and nobody waits for ever. */
TEST(all_ranks_end_when_one_stops)
{
    for (const char *const *v = variants; *v != NULL; v++) {
        ranks k;
        open_ranks(&k, *v, 3);
        k.player[1].stops = true;
        by_all(&k, open_rank);
        by_all(&k, play);
        for (unsigned i = 0; i < 3; i++) assert_int_equal(k.player[i].status, DROVE_E_SYSTEM);
        close_ranks(&k);
    }
}

/* ---- processes ---- */

TEST(processes_give_the_bits_of_threads)
{
    static float expected[N];
    for (const char *const *v = variants; *v != NULL; v++) {
        for (unsigned n = 1; n <= 4; n++) {
            rig r;
            pid_t child[MOST];
            player me = {.r = &r, .variant = *v, .n_workers = n};
            by_threads(*v, n, "adam", NULL, expected);
            drove__memory_share_begin();
            open_rig(&r, &me, "adam", NULL);
            for (me.worker = 0; me.worker < n; me.worker++) {
                child[me.worker] = fork();
                assert_true(child[me.worker] >= 0);
                if (child[me.worker] > 0) continue;
                (void)play(&me);
                _exit(me.status == DROVE_OK ? 0 : 1);
            }
            for (unsigned w = 0; w < n; w++) {
                int status;
                assert_int_equal(waitpid(child[w], &status, 0), child[w]);
                assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
            }
            assert_int_equal(drove__sync_parked(r.sync), DROVE_OK);
            assert_int_equal(atomic_load(&r.sync->published), STEPS);
            compare(&r, expected, *v, n);
            rig_fini(&r);
            drove__memory_share_end();
        }
    }
}

/* ---- devices of one process ---- */

TEST(devices_make_their_updates)
{
    static float expected[N], result[N];
    for (const char *const *v = variants; *v != NULL; v++) {
        for (unsigned n = 1; n <= 4; n++) {
            bool is_resident[MOST];
            by_threads(*v, n, "sgd", NULL, expected);
            for (unsigned mask = 1; mask < 1u << n; mask++) {
                for (unsigned w = 0; w < n; w++) is_resident[w] = (mask >> w & 1) != 0;
                by_threads(*v, n, "sgd", is_resident, result);
                if (memcmp(result, expected, sizeof result) != 0)
                    fail_msg("%s, %u workers, devices %x: other bits", *v, n, mask);
            }
        }
    }
}
