/* Ranks that are halted by any of them, at any moment of its step, and go on: every batch below the
 * limit is done exactly once, whether they wait for each other, take turns or go alone.  Threads
 * stand for ranks, each with a strategy and a source of its own, over messages that take a random
 * time; they are parked as values/ranks_park.c does it. */
#include "support/strategies.h"

#include "base/mem.h"
#include "cluster/mailbox.h"
#include "cluster/messages.h"
#include "loop/sources.h"

#include <pthread.h>
#include <stdlib.h>

enum {
    RANKS = 3,
    N = 16,                                 /* parameters */
    LIMIT = RANKS * (DROVE_TSAN ? 20 : 48), /* batches */
    MOST_STRETCHES = 200
};

typedef enum moment { BEFORE_ACQUIRE, BEFORE_PUBLISH, BEHIND_PUBLISH, N_MOMENTS } moment;

typedef struct job job;

typedef struct rank { /* a thread */
    job *job;
    unsigned index;
    drove_transport *transport;
    drovek_table kernels;
    drove_optim *optim;
    drove_sync *sync;
    drove_source source;
    drove_status status;
    char text[DROVE_ERROR_TEXT_SIZE];
    pthread_t thread;
} rank;

struct job {
    const drove_sync_ops *ops;
    const char *variant, *period;
    _Atomic unsigned times[LIMIT]; /* how often each batch was done */
    unsigned n_stretches;          /* by rank 0 */
    rank rank[RANKS];
};

/* ---- a rank ---- */

static drove_status make_source(rank *r)
{
    drove_source_worker worker[RANKS];
    for (unsigned i = 0; i < RANKS; i++) worker[i] = (drove_source_worker){.name = "rank"};
    const drove_source_options opt = {.clock = &drove__clock_real,
                                      .n_workers = RANKS,
                                      .n_groups = RANKS,
                                      .worker = worker,
                                      .n_rows = LIMIT,
                                      .batch = 1,
                                      .per_epoch = LIMIT,
                                      .sync = r->sync,
                                      .is_elsewhere = r->index != 0};
    r->source = (drove_source){.ops = &drove__source_rounds,
                               .clock = &drove__clock_real,
                               .n_workers = RANKS};
    return r->source.ops->init(&r->source, &opt);
}

static drove_status make_rank(rank *r)
{
    const job *j = r->job;
    const float zero[N] = {0};
    drove_params start = {.theta = (float *)(uintptr_t)zero};
    drove_spec spec;
    DROVE_TRY(drovek_select(&r->kernels, 0, "ref"));
    const bool has_momentum = (j->ops->needs & DROVE_SYNC_MOMENTUM) != 0;
    const drove_optim_options optim = {.rule = has_momentum ? "momentum" : "sgd",
                                       .schedule = "constant",
                                       .lr = 0.01,
                                       .n_params = N,
                                       .n_workers = RANKS,
                                       .kernels = &r->kernels};
    DROVE_TRY(drove__optim_create(&optim, &r->optim));
    DROVE_TRY(drove__spec_parse(j->variant, &spec));
    const drove_sync_options sync = {.spec = &spec,
                                     .n_workers = RANKS,
                                     .optim = r->optim,
                                     .seed = 1,
                                     .period = j->period,
                                     .transport = r->transport};
    drove_status status = drove__sync_create(j->ops, &sync, &start, &r->sync);
    drove__spec_fini(&spec);
    return status == DROVE_OK ? make_source(r) : status;
}

static void free_rank(rank *r)
{
    r->source.ops->fini(&r->source);
    drove__sync_destroy(r->sync);
    drove__optim_destroy(r->optim);
}

static void wish(rank *r, bool is_now)
{
    if (is_now) atomic_store(&r->transport->halt_wished, 1);
}

/* One batch, as loop/step.c; when: the moment at which this rank wishes that all halt. */
static drove_status take_batch(rank *r, moment when)
{
    drove_sync *s = r->sync;
    const float gradient[N] = {0.5f};
    drove_step step = {.value = gradient, .eta = 0.01f};
    drove_publish_info info;
    drove_view view;
    wish(r, when == BEFORE_ACQUIRE);
    DROVE_TRY(s->ops->acquire(s, r->index, &view));
    float *lent = s->ops->gradient != NULL ? s->ops->gradient(s, r->index) : NULL;
    if (lent != NULL) step.value = memcpy(lent, gradient, sizeof gradient);
    drove__sync_release(s, r->index);
    wish(r, when == BEFORE_PUBLISH);
    DROVE_TRY(s->ops->publish(s, r->index, &step, &info));
    wish(r, when == BEHIND_PUBLISH);
    return DROVE_OK;
}

/* As loop/worker.c.  In stretch k rank k + 1 wishes, in its step k % 5. */
static drove_status train(rank *r, unsigned stretch)
{
    drove_source *from = &r->source;
    drove_task task;
    from->ops->open(from, LIMIT, UINT64_MAX);
    for (unsigned i = 0; from->ops->next(from, r->index, true, &task); i++) {
        const bool is_mine = (stretch + 1) % RANKS == r->index && i == stretch % 5;
        const moment when = (moment)(stretch / RANKS % N_MOMENTS);
        if (task.number >= LIMIT) return drove__fail(DROVE_E_DATA, "a batch beyond the limit");
        DROVE_TRY(take_batch(r, is_mine ? when : N_MOMENTS));
        atomic_fetch_add(&r->job->times[task.number], 1);
        if (atomic_load(&r->transport->halt_seen)) from->ops->halt(from);
    }
    return DROVE_OK;
}

/* As drove__ranks_parked: all know how far each has come, and none has a wish left. */
static drove_status park(rank *r)
{
    drove_source *from = &r->source;
    drove_transport *t = r->transport;
    uint64_t mine = drove__source_begun(from, r->index), all[RANKS], next = 0;
    DROVE_TRY(t->ops->gather(t, &mine, sizeof mine, all));
    atomic_store(&t->halt_wished, 0);
    atomic_store(&t->halt_seen, 0);
    for (unsigned i = 0; i < RANKS; i++) {
        from->ops->ranks->hear(from, i, all[i]);
        if (all[i] > next) next = all[i];
    }
    atomic_store(&from->next, (next + RANKS - 1) / RANKS * RANKS);
    DROVE_TRY(t->ops->gather(t, &mine, sizeof mine, all));
    return drove__sync_parked(r->sync);
}

static drove_status train_all(rank *r)
{
    const drove_source *from = &r->source;
    for (unsigned k = 0; k < MOST_STRETCHES; k++) {
        DROVE_TRY(train(r, k));
        DROVE_TRY(park(r));
        if (r->index == 0) r->job->n_stretches = k + 1;
        if (atomic_load(&from->next) >= LIMIT && !from->ops->has_undone(from, LIMIT))
            return DROVE_OK;
    }
    return drove__fail(DROVE_E_DATA, "the run does not end");
}

static void *rank_main(void *argument)
{
    rank *r = argument;
    r->status = train_all(r);
    if (r->status != DROVE_OK) drove__error_copy(r->text);
    if (r->status != DROVE_OK) r->transport->ops->stop(r->transport);
    return NULL;
}

/* ---- all of them ---- */

static void run_job(job *j, bool has_progress_thread, uint64_t seed)
{
    drove_wire *wire[RANKS];
    const drove_mailbox_options box = {
        .n_ranks = RANKS, .seed = seed, .most_delay_us = 50, .n_eager = 4096};
    const drove_messages_options opt = {.timeout_s = 20.0,
                                        .has_progress_thread = has_progress_thread};
    drovek_table kernels;
    assert_int_equal(drovek_select(&kernels, 0, "ref"), DROVE_OK);
    assert_int_equal(drove__mailbox_create(&box, wire), DROVE_OK);
    for (unsigned i = 0; i < RANKS; i++) {
        rank *r = &j->rank[i];
        *r = (rank){.job = j, .index = i};
        assert_int_equal(drove__transport_messages(wire[i], &kernels, &opt, &r->transport),
                         DROVE_OK);
        if (make_rank(r) != DROVE_OK) fail_msg("%s: %s", j->variant, drove_error_text());
    }
    for (unsigned i = 0; i < RANKS; i++)
        assert_int_equal(pthread_create(&j->rank[i].thread, NULL, rank_main, &j->rank[i]), 0);
    for (unsigned i = 0; i < RANKS; i++) pthread_join(j->rank[i].thread, NULL);
    for (unsigned i = 0; i < RANKS; i++) {
        rank *r = &j->rank[i];
        if (r->status != DROVE_OK) fail_msg("%s: rank %u: %s", j->variant, i, r->text);
        free_rank(r);
    }
    for (unsigned i = 0; i < RANKS; i++) j->rank[i].transport->ops->destroy(j->rank[i].transport);
    for (unsigned i = 0; i < RANKS; i++) wire[i]->ops->fini(wire[i]);
}

/* Five stretches have at least 1 + 2 + ... + 5 rounds, if each is halted by its own wish. */
static void check_stretches(const job *j)
{
    if (j->ops->exchange_pattern->order == DROVE_EXCHANGE_ARRIVAL)
        return; /* one may be far ahead */
    if (j->n_stretches < 4) fail_msg("%s was not halted", j->variant);
    if (j->n_stretches > LIMIT / RANKS / 3 + 5)
        fail_msg("%s was halted %u times, also by old wishes", j->variant, j->n_stretches);
}

static void check(const drove_sync_ops *ops, const char *variant, const char *period)
{
    for (unsigned k = 0; k < 2; k++) {
        job *j = calloc(1, sizeof *j);
        assert_non_null(j);
        j->ops = ops;
        j->variant = variant;
        j->period = period;
        run_job(j, k == 0, 7 + k);
        for (unsigned i = 0; i < LIMIT; i++) {
            if (atomic_load(&j->times[i]) != 1)
                fail_msg("%s --period %s: batch %u of worker %u was done %u times", variant,
                         period != NULL ? period : "1", i, i % RANKS, atomic_load(&j->times[i]));
        }
        check_stretches(j);
        free(j);
    }
}

/* Those that exchange now and then see a wish when they do. */
static void check_variant(const drove_sync_ops *ops, const char *variant)
{
    if (ops->exchange_pattern == NULL || strcmp(ops->batches, "rounds") != 0) return;
    const bool is_seldom = strcmp(ops->name, "local") == 0 || strncmp(ops->name, "diloco", 6) == 0;
    check(ops, variant, is_seldom ? "3" : NULL);
}

TEST(every_batch_is_done_once)
{
    for_each_variant(check_variant);
}

/* Steps between two exchanges with the centre carry a wish no further than the next turn. */
TEST(so_it_is_with_local_steps)
{
    check(find_strategy("easgd"), "easgd", "4");
    check(find_strategy("easgd"), "easgd?overlap=0", "4");
    check(find_strategy("easgd-async"), "easgd-async", "4");
    check(find_strategy("local"), "local", "4");
}
