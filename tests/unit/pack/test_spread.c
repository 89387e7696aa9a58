/* Packs whose units are spread over processes: the same pack, and what happens when one fails. */
#include "base/cpu.h"
#include "kernel/kernel.h"
#include "model/model.h"
#include "pack/pack.h"
#include "pack/spread.h"
#include "pack_rig.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { N_RANKS = 3 };

/* Ranks that are threads: what each gave is copied to all between two barriers. */
typedef struct meeting {
    pthread_barrier_t all_gave, all_took;
    const void *given[N_RANKS];
    size_t size_bytes[N_RANKS];
    bool is_odd; /* two ranks came to different exchanges */
} meeting;

typedef struct rank {
    meeting *meeting;
    unsigned index, n_looks, looks_until_over; /* 0: never */
    const char *loss;                          /* NULL: as the others */
    pthread_t thread;
    drove_pack_options options;
    drove_status status;
    drove_model *model;
    float *theta;
    drove_pack_record record;
    char error[DROVE_ERROR_TEXT_SIZE];
} rank;

static drove_status meet(void *context, const void *mine, size_t size_bytes, void *all)
{
    rank *r = context;
    meeting *m = r->meeting;
    m->given[r->index] = mine;
    m->size_bytes[r->index] = size_bytes;
    (void)pthread_barrier_wait(&m->all_gave);
    for (unsigned i = 0; i < N_RANKS; i++) {
        if (m->size_bytes[i] == size_bytes)
            memcpy((char *)all + i * size_bytes, m->given[i], size_bytes);
        else m->is_odd = true;
    }
    (void)pthread_barrier_wait(&m->all_took);
    return DROVE_OK;
}

static bool is_over(void *context)
{
    rank *r = context;
    return r->looks_until_over > 0 && ++r->n_looks >= r->looks_until_over;
}

static void *make(void *argument)
{
    rank *r = argument;
    r->status = drove__pack_train(&r->options, &r->model, &r->theta, &r->record);
    if (r->status != DROVE_OK) drove__error_copy(r->error);
    return NULL;
}

static drove_pack_options options_of(const drove_data *data, const drove_model_io *io,
                                     const drovek_table *kernels, rank *r)
{
    return (drove_pack_options){.data = data,
                                .io = io,
                                .loss = "",
                                .kernels = kernels,
                                .seed = 5,
                                .n_threads = 1,
                                .most_members = 5,
                                .epochs = 8,
                                .is_over = is_over,
                                .context = r};
}

static void free_rank(rank *r)
{
    drove__model_destroy(r->model);
    drove__free(r->theta);
}

static void assert_same_pack(const rank *a, const rank *b)
{
    assert_int_equal(a->status, DROVE_OK);
    assert_int_equal(b->status, DROVE_OK);
    assert_int_equal(a->model->n_params, b->model->n_params);
    assert_memory_equal(a->theta, b->theta, a->model->n_params * sizeof *a->theta);
    assert_true(a->record.loss == b->record.loss && a->record.n == b->record.n);
    for (unsigned i = 0; i < a->record.n; i++) {
        const drove_pack_member *x = &a->record.member[i], *y = &b->record.member[i];
        assert_true(x->loss == y->loss && x->share == y->share && x->epochs == y->epochs);
        assert_int_equal(x->n_divisions, y->n_divisions);
    }
}

static void run_ranks(meeting *m, rank r[N_RANKS], const drove_pack_options *options)
{
    *m = (meeting){.is_odd = false};
    assert_int_equal(pthread_barrier_init(&m->all_gave, NULL, N_RANKS), 0);
    assert_int_equal(pthread_barrier_init(&m->all_took, NULL, N_RANKS), 0);
    for (unsigned i = 0; i < N_RANKS; i++) {
        r[i].meeting = m;
        r[i].index = i;
        r[i].options = *options;
        r[i].options.context = &r[i];
        if (r[i].loss != NULL) r[i].options.loss = r[i].loss;
        r[i].options.exchange =
            (drove_pack_exchange){.n = N_RANKS, .rank = i, .gather = meet, .context = &r[i]};
        assert_int_equal(pthread_create(&r[i].thread, NULL, make, &r[i]), 0);
    }
    for (unsigned i = 0; i < N_RANKS; i++) assert_int_equal(pthread_join(r[i].thread, NULL), 0);
    (void)pthread_barrier_destroy(&m->all_gave);
    (void)pthread_barrier_destroy(&m->all_took);
    assert_true(!m->is_odd);
}

TEST(forked_processes_make_the_same_pack)
{
    drove_data *data = rig_signs(300, 2);
    const drove_model_io io = io_of(data);
    drovek_table kernels;
    assert_ok(drovek_select(&kernels, drove__cpu_features(), NULL));
    rank alone = {.index = 0}, procs[2] = {{.index = 0}};
    alone.options = options_of(data, &io, &kernels, &alone);
    make(&alone);
    for (unsigned i = 0; i < 2; i++) {
        procs[i].options = options_of(data, &io, &kernels, &procs[i]);
        procs[i].options.n_procs = i == 0 ? 2 : 60; /* more than units */
        make(&procs[i]);
        assert_same_pack(&alone, &procs[i]);
        free_rank(&procs[i]);
    }
    free_rank(&alone);
    drove_data_destroy(data);
}

TEST(ranks_make_the_same_pack)
{
    drove_data *data = rig_signs(300, 0);
    const drove_model_io io = io_of(data);
    drovek_table kernels;
    meeting m;
    rank alone = {.index = 0}, r[N_RANKS] = {{.index = 0}};
    assert_ok(drovek_select(&kernels, drove__cpu_features(), NULL));
    alone.options = options_of(data, &io, &kernels, &alone);
    make(&alone);
    run_ranks(&m, r, &alone.options);
    for (unsigned i = 0; i < N_RANKS; i++) {
        assert_same_pack(&alone, &r[i]);
        free_rank(&r[i]);
    }
    free_rank(&alone);
    drove_data_destroy(data);
}

/* One rank is told to end, or its clock is ahead: all go on with the same state. */
TEST(an_end_at_one_rank_is_everybodys)
{
    drove_data *data = rig_signs(300, 2);
    const drove_model_io io = io_of(data);
    drovek_table kernels;
    meeting m;
    rank r[N_RANKS] = {{.index = 0}};
    assert_ok(drovek_select(&kernels, drove__cpu_features(), NULL));
    drove_pack_options options = options_of(data, &io, &kernels, NULL);
    r[1].looks_until_over = 4;
    run_ranks(&m, r, &options);
    for (unsigned i = 0; i < N_RANKS; i++) {
        assert_same_pack(&r[0], &r[i]);
        assert_true(r[i].record.is_interrupted);
    }
    for (unsigned i = 0; i < N_RANKS; i++) free_rank(&r[i]);

    for (unsigned i = 0; i < N_RANKS; i++) r[i] = (rank){.index = i};
    options.seconds = 0.4;
    options.most_members = 0;
    run_ranks(&m, r, &options);
    for (unsigned i = 0; i < N_RANKS; i++) assert_same_pack(&r[0], &r[i]);
    for (unsigned i = 0; i < N_RANKS; i++) free_rank(&r[i]);
    drove_data_destroy(data);
}

static pid_t parent;

static bool dies_in_a_child(void *context)
{
    (void)context;
    if (getpid() != parent) (void)raise(SIGKILL);
    return false;
}

TEST(a_process_that_dies_fails_the_pack_by_name)
{
    drove_data *data = rig_signs(120, 2);
    const drove_model_io io = io_of(data);
    drovek_table kernels;
    rank r = {.index = 0};
    assert_ok(drovek_select(&kernels, drove__cpu_features(), NULL));
    parent = getpid();
    r.options = options_of(data, &io, &kernels, &r);
    r.options.n_procs = 3;
    r.options.is_over = dies_in_a_child;
    make(&r);
    assert_int_equal(r.status, DROVE_E_SYSTEM);
    assert_non_null(strstr(r.error, "--workers procs:3: process "));
    assert_non_null(strstr(r.error, "was killed by signal 9"));
    assert_null(r.model);
    drove_data_destroy(data);
}

/* What one rank alone cannot do is known to all, before they exchange anything else. */
TEST(a_failure_of_one_rank_is_everybodys)
{
    drove_data *data = rig_signs(120, 2);
    const drove_model_io io = io_of(data);
    drovek_table kernels;
    meeting m;
    rank r[N_RANKS] = {{.index = 0}};
    assert_ok(drovek_select(&kernels, drove__cpu_features(), NULL));
    drove_pack_options options = options_of(data, &io, &kernels, NULL);
    r[2].loss = "no such loss";
    run_ranks(&m, r, &options);
    for (unsigned i = 0; i < N_RANKS; i++) {
        assert_true(r[i].status != DROVE_OK && r[i].status == r[0].status);
        assert_non_null(strstr(r[i].error, "rank 2: "));
        assert_string_equal(r[i].error, r[0].error);
        assert_null(r[i].model);
    }
    drove_data_destroy(data);
}

/* Fewer units than threads take as long as one. */
TEST(waves_of_units)
{
    const drove_spread two = {.n_threads = 2}, many = {.n_threads = 32};
    const drove_spread procs = {.n_threads = 2, .n_procs = 3};
    assert_true(drove__spread_waves(&two, 0) == 0.0);
    assert_true(drove__spread_waves(&two, 1) == 1.0);
    assert_true(drove__spread_waves(&two, 11) == 5.5);
    assert_true(drove__spread_waves(&many, 5) == 1.0);
    assert_true(drove__spread_waves(&many, 48) == 48.0 / DROVE_TABLE_THREADS_MOST);
    assert_true(drove__spread_waves(&procs, 5) == 1.0);
    assert_true(drove__spread_waves(&procs, 12) == 2.0);
}
