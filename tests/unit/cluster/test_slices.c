/* Buckets of a gradient between ranks on mailboxes: the bits of one all-reduce of the whole, for
 * slices of odd sizes that are joined and split. */
#include "cluster/slices.h"
#include "support/test.h"

#include "base/mem.h"
#include "base/rng.h"
#include "cluster/mailbox.h"
#include "cluster/messages.h"
#include "kernel/tiers.h"

#include <pthread.h>
#include <string.h>

enum { MOST_RANKS = 4, PARTS = 7, ROUNDS = 3, N = 300007 };

/* Buckets have at most 37500 numbers.  From the last one, three slices are joined and split into
 * four, then two into five; the others make one. */
static const drove_span parts[PARTS] = {{0, 777},        {777, 1},         {778, 150001},
                                        {150779, 16384}, {167163, 131072}, {298235, 1771},
                                        {300006, 1}};

typedef struct process {
    drove_transport *t;
    const drovek_table *kernels;
    unsigned rank, n_ranks, n_wrong;
    float *g, *whole; /* [N] */
    drove_exchange_info info;
} process;

static void fill(float *g, unsigned rank, unsigned round)
{
    drove_rng rng;
    drove__rng_seed(&rng, 5, DROVE_RNG_TEST, rank * 100 + round);
    for (size_t i = 0; i < N; i++) g[i] = (float)drove__rng_normal(&rng);
}

static void *exchange(void *argument)
{
    process *p = argument;
    drove_slice_exchange *x;
    const drove_slice_exchange_options opt = {.transport = p->t,
                                              .worker = p->rank,
                                              .n_all = p->n_ranks,
                                              .part = parts,
                                              .n_parts = PARTS,
                                              .kernels = p->kernels};
    p->n_wrong += drove__slices_create(&opt, &x) != DROVE_OK;
    for (unsigned round = 0; round < ROUNDS && p->n_wrong == 0; round++) {
        uint64_t begun_ns = 0, done_ns = 0;
        fill(p->whole, p->rank, round);
        const drove_exchange all = {
            .kind = DROVE_ALL_REDUCE, .channel = 5, .in = p->whole, .out = p->whole, .n = N};
        p->n_wrong += drove__exchange(p->t, p->rank, &all, NULL) != DROVE_OK;
        p->kernels->scale_f32(p->whole, N, 1.0f / (float)p->n_ranks);

        fill(p->g, p->rank, round);
        p->info = (drove_exchange_info){0};
        for (size_t i = PARTS; i-- > 0;)
            p->n_wrong += drove__slices_offer(x, i, p->g, NULL) != DROVE_OK;
        p->n_wrong += drove__slices_wait(x, &p->info, &begun_ns, &done_ns) != DROVE_OK;
        p->n_wrong += begun_ns == 0 || done_ns < begun_ns;
        p->n_wrong += memcmp(p->g, p->whole, N * sizeof *p->g) != 0;
    }
    drove__slices_destroy(x);
    return NULL;
}

TEST(buckets_give_the_bits_of_the_whole)
{
    drovek_table kernels;
    assert_int_equal(drovek_select(&kernels, 0, "ref"), DROVE_OK);
    for (unsigned n = 2; n <= MOST_RANKS; n++) {
        process p[MOST_RANKS];
        pthread_t thread[MOST_RANKS];
        drove_wire *wire[MOST_RANKS];
        const drove_mailbox_options box = {.n_ranks = n, .seed = n, .most_delay_us = 50};
        const drove_messages_options opt = {.timeout_s = 60,
                                            .has_progress_thread = true,
                                            .ends_wire = true};
        assert_int_equal(drove__mailbox_create(&box, wire), DROVE_OK);
        for (unsigned r = 0; r < n; r++) {
            p[r] = (process){.kernels = &kernels,
                             .rank = r,
                             .n_ranks = n,
                             .g = drove__alloc(N, sizeof(float)),
                             .whole = drove__alloc(N, sizeof(float))};
            assert_int_equal(drove__transport_messages(wire[r], &kernels, &opt, &p[r].t), DROVE_OK);
        }
        for (unsigned r = 0; r < n; r++)
            assert_int_equal(pthread_create(&thread[r], NULL, exchange, &p[r]), 0);
        for (unsigned r = 0; r < n; r++) pthread_join(thread[r], NULL);
        for (unsigned r = 0; r < n; r++) {
            assert_int_equal(p[r].n_wrong, 0);
            /* Of each number but the rank's own share a term is sent, and then a sum. */
            assert_true(p[r].info.bytes > 2 * (n - 1) * (N / n - PARTS * 16) * sizeof(float));
            assert_true(p[r].info.messages >= 2 * 9 * (n - 1));
            p[r].t->ops->destroy(p[r].t);
            drove__free(p[r].g);
            drove__free(p[r].whole);
        }
    }
}
