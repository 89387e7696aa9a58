/* Slices between processes, each of which has several workers: means of values and of step sizes
 * over all workers, slice by slice from the last.  The processes are ranks on mailboxes. */
#include "cluster/slices.h"
#include "support/test.h"

#include "accum/collect.h"
#include "base/mem.h"
#include "cluster/mailbox.h"
#include "cluster/messages.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

enum { N = 3000, PARTS = 5, MOST_RANKS = 4, EACH = 2, ROUNDS = 4 }; /* EACH: workers of a rank */

static const drove_span parts[PARTS] = {{0, 16}, {16, 2000}, {2016, 64}, {2080, 900}, {2980, 20}};

typedef struct process {
    drove_transport *t;
    drove_slice_exchange *x;
    float *sum;               /* [N] of its workers */
    float eta;                /* the mean step size, as told */
    size_t order[PARTS];      /* in which slices were done */
    _Atomic unsigned n_done;  /* in this round */
    _Atomic unsigned n_wrong; /* a step size with a slice that is not the last one done */
} process;

/* By the exchange's thread. */
static void done(void *context, size_t part, const float *eta)
{
    process *p = context;
    const unsigned k = atomic_load(&p->n_done);
    if ((eta != NULL) != (k == PARTS - 1) || part == PARTS) atomic_fetch_add(&p->n_wrong, 1);
    if (eta != NULL) p->eta = *eta;
    if (k < PARTS) p->order[k] = part;
    atomic_fetch_add(&p->n_done, 1);
}

/* Of all workers w: integers, with exact means for 4 and 8 of them. */
static float value_at(size_t i, unsigned w, unsigned round)
{
    return (float)((i * 5 + w * 11 + round * 3) % 23) - 11.0f;
}

static float eta_of(unsigned w, unsigned round)
{
    return (float)(1 + (w * 7 + round * 3) % 11) * 0.25f;
}

static void offer_all(process *p, unsigned rank, unsigned round)
{
    float eta[EACH];
    atomic_store(&p->n_done, 0);
    memset(p->sum, 0, N * sizeof *p->sum);
    for (unsigned w = 0; w < EACH; w++) {
        eta[w] = eta_of(rank * EACH + w, round);
        for (size_t i = 0; i < N; i++) p->sum[i] += value_at(i, rank * EACH + w, round);
    }
    for (size_t k = PARTS; k-- > 0;)
        assert_int_equal(drove__slices_offer(p->x, k, p->sum, eta), DROVE_OK);
}

static void check(const process *p, unsigned n_all, unsigned round)
{
    double eta = 0.0;
    for (unsigned w = 0; w < n_all; w++) eta += (double)eta_of(w, round);
    assert_true(p->eta == (float)(eta / n_all));
    for (size_t i = 0; i < N; i++) {
        float sum = 0.0f;
        for (unsigned w = 0; w < n_all; w++) sum += value_at(i, w, round);
        assert_true(p->sum[i] == sum / (float)n_all);
    }
    for (size_t k = 0; k < PARTS; k++) assert_int_equal(p->order[k], PARTS - 1 - k);
    assert_int_equal(p->n_wrong, 0);
}

static void open_ranks(process *p, unsigned n_ranks, const drovek_table *kernels)
{
    drove_wire *wire[MOST_RANKS];
    const drove_mailbox_options box = {
        .n_ranks = n_ranks, .seed = 1, .most_delay_us = 100, .ns_per_byte = 0.1, .n_eager = 4096};
    const drove_messages_options opt = {
        .timeout_s = 60, .has_progress_thread = true, .piece_bytes = 4096, .ends_wire = true};
    assert_int_equal(drove__mailbox_create(&box, wire), DROVE_OK);
    for (unsigned r = 0; r < n_ranks; r++) {
        p[r] = (process){.sum = drove__alloc(N, sizeof *p->sum)};
        assert_int_equal(drove__transport_messages(wire[r], kernels, &opt, &p[r].t), DROVE_OK);
        const drove_slice_exchange_options of = {.transport = p[r].t,
                                                 .worker = r,
                                                 .n_all = n_ranks * EACH,
                                                 .first = r * EACH,
                                                 .n_here = EACH,
                                                 .part = parts,
                                                 .n_parts = PARTS,
                                                 .kernels = kernels,
                                                 .done = done,
                                                 .context = &p[r]};
        assert_int_equal(drove__slices_create(&of, &p[r].x), DROVE_OK);
    }
}

typedef struct collecting {
    const drovek_table *kernels;
    drove_transport *t;
    unsigned rank, n_wrong;
    float g[EACH][N]; /* of its devices */
} collecting;

static void collect_round(collecting *me, drove_collector *c, unsigned round)
{
    double mean_eta = 0.0;
    for (unsigned w = 0; w < 2 * EACH; w++) mean_eta += (double)eta_of(w, round) / (2 * EACH);
    for (unsigned d = 0; d < EACH; d++) {
        const unsigned w = me->rank * EACH + d;
        for (size_t i = 0; i < N; i++) me->g[d][i] = value_at(i, w, round);
        for (unsigned p = PARTS; p-- > 0;)
            (void)drove__collect_arrive(c, d, p, me->g[d], eta_of(w, round), false);
    }
    for (unsigned d = 0; d < EACH; d++) {
        float *mean, eta;
        drove_collect_times times;
        me->n_wrong += !drove__collect_finish(c, d, &mean, &eta, &times);
        me->n_wrong += eta != (float)mean_eta;
        for (size_t i = 0; i < N; i++) {
            float sum = 0.0f;
            for (unsigned w = 0; w < 2 * EACH; w++) sum += value_at(i, w, round);
            me->n_wrong += mean[i] != sum / (float)(2 * EACH);
        }
    }
}

static void *collect_main(void *argument)
{
    collecting *me = argument;
    drove_collector *c = NULL;
    const drove_collector_options opt = {.n_devices = EACH,
                                         .part = parts,
                                         .n_parts = PARTS,
                                         .n = N,
                                         .kernels = me->kernels,
                                         .n_all = 2 * EACH,
                                         .first = me->rank * EACH,
                                         .transport = me->t,
                                         .as = me->rank};
    me->n_wrong += drove__collector_create(&opt, &c) != DROVE_OK;
    for (unsigned round = 0; c != NULL && round < ROUNDS; round++) collect_round(me, c, round);
    drove__collector_destroy(c);
    return NULL;
}

TEST(slices_become_means_of_all_workers)
{
    drovek_table kernels;
    assert_int_equal(drovek_select(&kernels, 0, "ref"), DROVE_OK);
    for (unsigned n_ranks = 1; n_ranks <= MOST_RANKS; n_ranks *= 2) {
        process p[MOST_RANKS];
        open_ranks(p, n_ranks, &kernels);
        for (unsigned round = 0; round < ROUNDS; round++) {
            for (unsigned r = 0; r < n_ranks; r++) offer_all(&p[r], r, round);
            for (unsigned r = 0; r < n_ranks; r++) {
                while (atomic_load(&p[r].n_done) < PARTS)
                    nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
                assert_int_equal(drove__slices_status(p[r].x), DROVE_OK);
            }
            for (unsigned r = 0; r < n_ranks; r++) check(&p[r], n_ranks * EACH, round);
        }
        for (unsigned r = 0; r < n_ranks; r++) drove__slices_destroy(p[r].x);
        for (unsigned r = 0; r < n_ranks; r++) p[r].t->ops->destroy(p[r].t);
        for (unsigned r = 0; r < n_ranks; r++) drove__free(p[r].sum);
    }
}

/* Two processes with a collector each: gradients and step sizes are means of all their devices. */
TEST(collectors_take_the_mean_of_all_devices)
{
    static collecting of[2];
    pthread_t thread[2];
    drovek_table kernels;
    drove_wire *wire[2];
    const drove_mailbox_options box = {.n_ranks = 2, .seed = 1, .n_eager = 4096};
    const drove_messages_options opt = {
        .timeout_s = 60, .has_progress_thread = true, .piece_bytes = 4096, .ends_wire = true};
    assert_int_equal(drovek_select(&kernels, 0, "ref"), DROVE_OK);
    assert_int_equal(drove__mailbox_create(&box, wire), DROVE_OK);
    for (unsigned r = 0; r < 2; r++) {
        of[r] = (collecting){.kernels = &kernels, .rank = r};
        assert_int_equal(drove__transport_messages(wire[r], &kernels, &opt, &of[r].t), DROVE_OK);
    }
    for (unsigned r = 0; r < 2; r++)
        assert_int_equal(pthread_create(&thread[r], NULL, collect_main, &of[r]), 0);
    for (unsigned r = 0; r < 2; r++) pthread_join(thread[r], NULL);
    for (unsigned r = 0; r < 2; r++) {
        assert_int_equal(of[r].n_wrong, 0);
        of[r].t->ops->destroy(of[r].t);
    }
}
