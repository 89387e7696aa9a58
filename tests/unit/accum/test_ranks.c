/* Strategies of replicas over ranks with one worker each, on mailboxes: parameters, step sizes and
 * what residents get are means of integers, by hand. */
#include "accum/accum.h"
#include "support/test.h"

#include "cluster/mailbox.h"
#include "cluster/messages.h"

#include <pthread.h>
#include <string.h>

enum { N = 64, N_PARTS = 2, RANKS = 4, STEPS = 3, RESIDENT = 1 };
static const drove_span parts[N_PARTS] = {{0, 24}, {24, 40}};

typedef struct method {
    const drove_sync_ops *ops;
    const char *variant;
    bool has_resident, by_layer;
} method;

static const method methods[] = {
    {&drove__accum_accumulate, "accumulate", false, true},
    {&drove__accum_accumulate, "accumulate", true, true},
    {&drove__accum_accumulate, "accumulate:at-end", false, false},
    {&drove__accum_tree, "tree", false, false},
    {&drove__accum_tree, "tree", true, true},
};

typedef struct member {
    const method *m;
    drove_wire *wire;
    unsigned rank, n_wrong;
} member;

/* Of all ranks the mean is 4 (i + 1) (t + 1) - 1. */
static float gradient_of(unsigned rank, size_t i, unsigned t)
{
    static const float share[RANKS] = {1.0f, 5.0f, 2.0f, 8.0f};
    return share[rank] * (float)((i + 1) * (t + 1)) - (rank == 2 ? 4.0f : 0.0f);
}

static float mean_of(size_t i, unsigned t)
{
    return 4.0f * (float)((i + 1) * (t + 1)) - 1.0f;
}

/* A mean of 1.5. */
static float eta_of(unsigned rank)
{
    return rank < 2 ? 1.0f : 2.0f;
}

static void take_sums(member *me, drove_sync *s, unsigned t)
{
    for (unsigned p = N_PARTS; p-- > 0;) {
        drove_sum sum = {0};
        me->n_wrong += !s->ops->slices->next_sum(s, me->rank, true, &sum);
        me->n_wrong += sum.offset != parts[p].offset || sum.length != parts[p].length;
        for (size_t i = sum.offset; i < sum.offset + sum.length; i++)
            me->n_wrong += sum.value[i] != mean_of(i, t);
    }
}

static void step(member *me, drove_sync *s, unsigned t)
{
    drove_view view;
    drove_publish_info info;
    const bool is_resident = me->m->has_resident && me->rank == RESIDENT;
    float *g = s->ops->gradient(s, me->rank);
    const drove_step step = {.value = g, .eta = eta_of(me->rank)};
    me->n_wrong += s->ops->acquire(s, me->rank, &view) != DROVE_OK || view.version != t;
    for (size_t i = 0; i < N; i++) g[i] = gradient_of(me->rank, i, t);
    for (unsigned p = N_PARTS; me->m->by_layer && p-- > 0;)
        (void)s->ops->slices->ready(s, me->rank, parts[p].offset, parts[p].length, g, step.eta);
    if (is_resident) take_sums(me, s, t);
    drove__sync_release(s, me->rank);
    me->n_wrong += s->ops->publish(s, me->rank, &step, &info) != DROVE_OK;
    me->n_wrong += info.updated != (me->rank == 0) || info.attempts != 1;
    if (me->m->ops == &drove__accum_tree) me->n_wrong += info.messages == 0 || info.bytes == 0;
    me->n_wrong += atomic_load(&s->published) != t + 1;
}

static void check(member *me, drove_sync *s)
{
    const float *theta = s->ops->replicas->vector(s, me->rank);
    drove_accum_facts facts;
    const bool is_resident = me->m->has_resident && me->rank == RESIDENT;
    me->n_wrong += s->ops->peek(s).theta != theta;
    for (size_t i = 0; i < N; i++) {
        float expected = 0.0f;
        for (unsigned t = 0; t < STEPS; t++) expected -= 1.5f * mean_of(i, t);
        me->n_wrong += theta[i] != (is_resident ? 0.0f : expected);
    }
    me->n_wrong +=
        (drove__sync_parked(s) == DROVE_OK) == me->m->has_resident; /* residents lag behind */
    me->n_wrong += !drove__accum_facts(s, &facts) || facts.n_devices != RANKS;
}

static void *rank_main(void *argument)
{
    member *me = argument;
    static float theta[N];
    bool is_resident[RANKS] = {false};
    drovek_table kernels;
    drove_optim *optim = NULL;
    drove_spec spec;
    drove_transport *t = NULL;
    drove_sync *s = NULL;
    is_resident[RESIDENT] = me->m->has_resident && me->rank == RESIDENT;
    const drove_messages_options messages = {.timeout_s = 60,
                                             .has_progress_thread = true,
                                             .ends_wire = true};
    me->n_wrong += drovek_select(&kernels, 0, "ref") != DROVE_OK;
    me->n_wrong += drove__transport_messages(me->wire, &kernels, &messages, &t) != DROVE_OK;
    const drove_optim_options rule = {.rule = "sgd",
                                      .schedule = "constant",
                                      .lr = 1.0,
                                      .n_params = N,
                                      .n_workers = RANKS,
                                      .kernels = &kernels};
    me->n_wrong += drove__optim_create(&rule, &optim) != DROVE_OK;
    me->n_wrong += drove__spec_parse(me->m->variant, &spec) != DROVE_OK;
    const drove_sync_options opt = {.spec = &spec,
                                    .n_workers = RANKS,
                                    .optim = optim,
                                    .part = parts,
                                    .n_parts = N_PARTS,
                                    .is_resident = is_resident,
                                    .transport = t};
    me->n_wrong +=
        drove__sync_create(me->m->ops, &opt, &(drove_params){.theta = theta}, &s) != DROVE_OK;
    for (unsigned k = 0; s != NULL && k < STEPS; k++) step(me, s, k);
    if (s != NULL) check(me, s);
    drove__sync_destroy(s);
    t->ops->destroy(t);
    drove__spec_fini(&spec);
    drove__optim_destroy(optim);
    return NULL;
}

TEST(ranks_follow_the_mean_of_all)
{
    for (size_t k = 0; k < DROVE_COUNT(methods); k++) {
        pthread_t thread[RANKS];
        member of[RANKS];
        drove_wire *wire[RANKS];
        const drove_mailbox_options box = {
            .n_ranks = RANKS, .seed = 1, .most_delay_us = 50, .n_eager = 128};
        assert_int_equal(drove__mailbox_create(&box, wire), DROVE_OK);
        for (unsigned r = 0; r < RANKS; r++) {
            of[r].m = &methods[k];
            of[r].wire = wire[r];
            of[r].rank = r;
            of[r].n_wrong = 0;
            assert_int_equal(pthread_create(&thread[r], NULL, rank_main, &of[r]), 0);
        }
        for (unsigned r = 0; r < RANKS; r++) pthread_join(thread[r], NULL);
        for (unsigned r = 0; r < RANKS; r++)
            if (of[r].n_wrong > 0)
                fail_msg("%s, case %zu, rank %u: %u are wrong", methods[k].variant, k, r,
                         of[r].n_wrong);
    }
}
