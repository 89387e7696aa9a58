/* allreduce over ranks: gradients that are exchanged in buckets during backward give the bits of
 * threads, which exchange them whole; and which gradients stay whole. */
#include "support/strategies.h"

#include "base/mem.h"
#include "base/rng.h"
#include "cluster/mailbox.h"
#include "cluster/messages.h"

#include <pthread.h>

enum { N = 140001, PARTS = 5, MOST = 4, STEPS = 3 };

static const drove_span part[PARTS] = {
    {0, 50000}, {50000, 17}, {50017, 60000}, {110017, 29983}, {140000, 1}};

typedef struct player { /* one worker */
    rig r;
    rig_options o;
    rig *shared; /* threads: of all */
    unsigned worker;
    bool brings_slices, stops;
    drove_publish_info info; /* of the last step */
    drove_status status;
    pthread_t thread;
} player;

static void fill(float *g, unsigned worker, unsigned step)
{
    drove_rng rng;
    drove__rng_seed(&rng, 3, DROVE_RNG_TEST, worker * 1000 + step);
    for (size_t i = 0; i < N; i++) g[i] = (float)drove__rng_normal(&rng);
}

static drove_status one_step(player *me, rig *r, unsigned number)
{
    drove_sync *s = r->sync;
    drove_view view;
    drove_step step;
    drove_optim_worker own = {0};
    DROVE_TRY(s->ops->acquire(s, me->worker, &view));
    float *g = s->ops->gradient(s, me->worker);
    fill(g, me->worker, number);
    if (s->slices == NULL)
        drove__optim_prepare(s->optim, &own, view.vector, g, NULL, 0, 0.01f, &step);
    else step = (drove_step){.value = g, .eta = 0.01f};
    for (unsigned i = PARTS; i-- > 0 && me->brings_slices;)
        (void)s->slices->ready(s, me->worker, part[i].offset, part[i].length, g, 0.01f);
    drove__sync_release(s, me->worker);
    if (me->stops) s->ops->stop(s);
    return s->ops->publish(s, me->worker, &step, &me->info);
}

static void *play(void *argument)
{
    player *me = argument;
    rig *r = me->shared;
    if (r == NULL) {
        r = &me->r;
        rig_init(r, me->o);
    }
    for (unsigned i = 0; i < STEPS && me->status == DROVE_OK; i++) me->status = one_step(me, r, i);
    return NULL;
}

static rig_options options_for(unsigned n, drove_transport *t, float *theta0)
{
    fill(theta0, 99, 0);
    return (rig_options){.variant = "allreduce",
                         .rule = "adam",
                         .lr = 0.01,
                         .weight_decay = 0.125,
                         .n = N,
                         .n_workers = n,
                         .theta0 = theta0,
                         .part = part,
                         .n_parts = PARTS,
                         .is_packed = true,
                         .transport = t,
                         .kernels = &drovek_ref};
}

static void play_all(player *of, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        assert_int_equal(pthread_create(&of[i].thread, NULL, play, &of[i]), 0);
    for (unsigned i = 0; i < n; i++) pthread_join(of[i].thread, NULL);
}

static void open_ranks(drove_transport **t, drove_wire **wire, unsigned n, bool has_progress_thread)
{
    static drovek_table kernels;
    const drove_mailbox_options box = {.n_ranks = n, .seed = n, .most_delay_us = 50};
    const drove_messages_options opt = {.timeout_s = 60,
                                        .has_progress_thread = has_progress_thread,
                                        .ends_wire = true};
    assert_int_equal(drovek_select(&kernels, 0, "ref"), DROVE_OK);
    assert_int_equal(drove__mailbox_create(&box, wire), DROVE_OK);
    for (unsigned i = 0; i < n; i++)
        assert_int_equal(drove__transport_messages(wire[i], &kernels, &opt, &t[i]), DROVE_OK);
}

TEST(buckets_during_backward_have_the_bits_of_threads)
{
    static float theta0[N], expected[N];
    for (unsigned n = 2; n <= MOST; n++) {
        static player of[MOST];
        drove_transport *t[MOST];
        drove_wire *wire[MOST];
        rig threads;
        memset(of, 0, sizeof of);
        rig_init(&threads, options_for(n, NULL, theta0));
        assert_null(threads.sync->slices);
        for (unsigned i = 0; i < n; i++) of[i] = (player){.shared = &threads, .worker = i};
        play_all(of, n);
        for (unsigned i = 0; i < n; i++) assert_int_equal(of[i].status, DROVE_OK);
        memcpy(expected, threads.sync->ops->peek(threads.sync).theta, sizeof expected);
        rig_fini(&threads);

        open_ranks(t, wire, n, true);
        for (unsigned i = 0; i < n; i++) /* the first rank's engine tells of no slices */
            of[i] =
                (player){.o = options_for(n, t[i], theta0), .worker = i, .brings_slices = i > 0};
        play_all(of, n);
        for (unsigned i = 0; i < n; i++) {
            assert_int_equal(of[i].status, DROVE_OK);
            assert_non_null(of[i].r.sync->slices);
            assert_true(of[i].info.bytes > N * sizeof(float));
            assert_true(of[i].info.messages > 0);
            assert_memory_equal(of[i].r.sync->ops->peek(of[i].r.sync).theta, expected,
                                sizeof expected);
        }
        for (unsigned i = 0; i < n; i++) rig_fini(&of[i].r);
        for (unsigned i = 0; i < n; i++) t[i]->ops->destroy(t[i]);
    }
}

/* One rank stops: nobody waits for ever. */
TEST(a_stop_ends_all_ranks)
{
    static float theta0[N];
    static player of[3];
    drove_transport *t[3];
    drove_wire *wire[3];
    open_ranks(t, wire, 3, true);
    for (unsigned i = 0; i < 3; i++)
        of[i] = (player){
            .o = options_for(3, t[i], theta0), .worker = i, .brings_slices = true, .stops = i == 1};
    play_all(of, 3);
    for (unsigned i = 0; i < 3; i++) assert_int_equal(of[i].status, DROVE_E_SYSTEM);
    for (unsigned i = 0; i < 3; i++) rig_fini(&of[i].r);
    for (unsigned i = 0; i < 3; i++) {
        t[i]->ops->destroy(t[i]); /* which leaves the wire of a stopped rank alone */
        wire[i]->ops->fini(wire[i]);
    }
}

TEST(some_gradients_stay_whole)
{
    static float theta0[N];
    for (unsigned k = 0; k < 6; k++) {
        drove_transport *t[1];
        drove_wire *wire;
        rig r;
        open_ranks(t, &wire, 1, k != 5);
        t[0]->n_processes = k == 4 ? 1 : 2; /* init only looks */
        rig_options o = options_for(1, t[0], theta0);
        if (k == 1) o.clip = 1.0;
        if (k == 2) o.n = 50017, o.n_parts = 2;
        if (k == 3) o.is_packed = false;
        rig_init(&r, o);
        assert_true((r.sync->slices != NULL) == (k == 0));
        t[0]->n_processes = 1;
        rig_fini(&r);
        t[0]->ops->destroy(t[0]);
    }
}
