/* What is saved of each worker, by hand, and what a restore without it begins anew; parts of a
 * message to the centre, which are one update. */
#include "support/strategies.h"

#include "elastic/central.h"
#include "elastic/elastic.h"

#include <math.h>

enum { N = 200, P = 2, MOST_TENSORS = 16 };

static const drove_tensor *tensor_of(rig *r, drove_tensor *all, const char *name)
{
    const size_t n = r->sync->ops->tensors(r->sync, all, MOST_TENSORS);
    for (size_t i = 0; i < n; i++)
        if (strcmp(all[i].name, name) == 0) return &all[i];
    fail_msg("no tensor %s", name);
    return NULL;
}

static void expect_progress(rig *r, unsigned worker, const uint64_t *expected)
{
    drove_tensor all[MOST_TENSORS];
    const uint64_t *found = tensor_of(r, all, "elastic.progress")->bytes;
    for (unsigned i = 0; i < DROVE_ELASTIC_PROGRESS; i++)
        assert_int_equal(found[worker * DROVE_ELASTIC_PROGRESS + i], expected[i]);
}

static void expect_all(rig *r, const char *name, float value)
{
    drove_tensor all[MOST_TENSORS];
    const drove_tensor *t = tensor_of(r, all, name);
    for (size_t i = 0; i < N; i++) assert_true(((const float *)t->bytes)[i] == value);
}

static void step(rig *r, unsigned worker, unsigned n)
{
    float g[N];
    for (size_t i = 0; i < N; i++) g[i] = 1.0f + (float)(i % 3);
    for (unsigned t = 0; t < n; t++)
        assert_int_equal(take_step(r, worker, g, 0.25f, NULL, NULL), DROVE_OK);
}

/* Steps; those since the last exchange; known updates; period; exchanges in fewer bits. */
TEST(progress_is_saved_as_it_is)
{
    rig r;
    rig_init(&r, (rig_options){.variant = "easgd-async",
                               .ops = &drove__sync_easgd_async,
                               .n = N,
                               .n_workers = P,
                               .lr = 0.25,
                               .period = "2"});
    step(&r, 0, 3); /* two of them exchanged */
    step(&r, 1, 2); /* the third and fourth update */
    expect_progress(&r, 0, (const uint64_t[]){3, 1, 2, 2, 0});
    expect_progress(&r, 1, (const uint64_t[]){2, 0, 4, 2, 0});
    drove_tensor all[MOST_TENSORS];
    uint64_t *progress = (uint64_t *)tensor_of(&r, all, "elastic.progress")->bytes;
    progress[4] = 9; /* as another format left it */
    progress[3] = 9;
    expect_progress(&r, 0, (const uint64_t[]){3, 1, 2, 2, 0});
    rig_fini(&r);
}

TEST(exchanges_in_fewer_bits_are_counted)
{
    rig r;
    rig_init(&r, (rig_options){.variant = "local",
                               .ops = &drove__sync_local,
                               .n = N,
                               .n_workers = 1,
                               .lr = 0.25,
                               .period = "2",
                               .wire_format = "C8s"});
    step(&r, 0, 7);
    expect_progress(&r, 0, (const uint64_t[]){7, 1, 0, 2, 3});
    rig_fini(&r);
}

/* Without a saved state: all workers from the vector, with no velocity, and in no interval. */
TEST(a_restore_without_replicas_begins_anew)
{
    static const struct {
        const drove_sync_ops *ops;
        const char *wire_format, *tensor; /* what is begun anew */
        float value;
    } cases[] = {{&drove__sync_diloco, NULL, "elastic.v.0", 0.0f},
                 {&drove__sync_local, "C8s", "elastic.c", 5.0f}};
    float theta[N];
    for (size_t i = 0; i < N; i++) theta[i] = 5.0f;
    for (unsigned k = 0; k < DROVE_COUNT(cases); k++) {
        rig r;
        drove_tensor all[MOST_TENSORS];
        rig_init(&r, (rig_options){.variant = cases[k].ops->name,
                                   .ops = cases[k].ops,
                                   .n = N,
                                   .n_workers = 1,
                                   .lr = 0.25,
                                   .period = "2",
                                   .wire_format = cases[k].wire_format});
        step(&r, 0, 3);
        const float *before = tensor_of(&r, all, cases[k].tensor)->bytes;
        assert_true(before[0] != 0.0f && before[0] != 5.0f);
        assert_int_equal(drove__sync_restore(r.sync, 11, &(drove_params){.theta = theta}, NULL),
                         DROVE_OK);
        expect_all(&r, "elastic.w.0", 5.0f);
        expect_all(&r, cases[k].tensor, cases[k].value);
        const uint64_t *progress = tensor_of(&r, all, "elastic.progress")->bytes;
        assert_int_equal(progress[0], 11);
        assert_int_equal(progress[1], 0);
        assert_int_equal(progress[2], 11);
        rig_fini(&r);
    }
}

/* What was rounded away belongs to the parameters of before: were it infinite, it would stay so. */
TEST(a_restore_without_replicas_forgets_what_was_rounded)
{
    float theta[N] = {0};
    rig r;
    rig_init(&r, (rig_options){.variant = "local",
                               .ops = &drove__sync_local,
                               .n = N,
                               .n_workers = 1,
                               .lr = 0.25,
                               .period = "1",
                               .wire_format = "C8s"});
    step(&r, 0, 3);
    drove_tensor all[MOST_TENSORS];
    float *residual = (float *)tensor_of(&r, all, "elastic.residual.0")->bytes;
    float *slice = (float *)tensor_of(&r, all, "elastic.slice.0")->bytes;
    for (size_t i = 0; i < N; i++) residual[i] = INFINITY, slice[i] = -INFINITY;
    assert_int_equal(drove__sync_restore(r.sync, 3, &(drove_params){.theta = theta}, NULL),
                     DROVE_OK);
    expect_all(&r, "elastic.residual.0", 0.0f);
    expect_all(&r, "elastic.slice.0", 0.0f);
    step(&r, 0, 1);
    for (size_t i = 0; i < N; i++) assert_true(isfinite(r.sync->ops->peek(r.sync).theta[i]));
    rig_fini(&r);
}

/* A period that was measured goes on, if it can be one. */
TEST(a_measured_period_goes_on)
{
    static const uint64_t saved[] =
        {7, 1, 9, 0, DROVE_MOST_PERIOD + UINT64_C(1), DROVE_MOST_PERIOD},
                          expected[] = {7, 1, 9, 9, 9, DROVE_MOST_PERIOD};
    rig r;
    drove_tensor all[MOST_TENSORS];
    float theta[N] = {0};
    rig_init(&r, (rig_options){.variant = "local",
                               .ops = &drove__sync_local,
                               .n = N,
                               .n_workers = 1,
                               .lr = 0.25,
                               .period = "auto"});
    for (unsigned k = 0; k < DROVE_COUNT(saved); k++) {
        drove_elastic_facts facts;
        const size_t n = r.sync->ops->tensors(r.sync, all, MOST_TENSORS);
        uint64_t progress[DROVE_ELASTIC_PROGRESS] = {0, 0, 0, saved[k], 0};
        for (size_t i = 0; i < n; i++)
            if (strcmp(all[i].name, "elastic.progress") == 0) all[i].bytes = progress;
        const drove_safetensors st = {.n_tensors = n, .tensor = all};
        assert_int_equal(drove__sync_restore(r.sync, 0, &(drove_params){.theta = theta}, &st),
                         DROVE_OK);
        assert_true(drove__elastic_facts(r.sync, &facts));
        assert_int_equal(facts.period, expected[k]);
    }
    rig_fini(&r);
}

/* The first part counts the update; the others have the same number, whoever sends in between. */
TEST(parts_of_a_message_are_one_update)
{
    static const drove_span parts[] = {{0, 120}, {120, 80}};
    rig r;
    rig_init(&r, (rig_options){.variant = "easgd-async",
                               .ops = &drove__sync_easgd_async,
                               .n = N,
                               .n_workers = P,
                               .lr = 0.25,
                               .part = parts,
                               .n_parts = 2});
    drove_central *v = r.sync->impl;
    static const struct {
        unsigned worker, part;
        float n_steps;
        uint64_t before;
    } cases[] = {{0, 0, 3.0f, 0}, {1, 0, 2.0f, 3}, {0, 1, 3.0f, 0},
                 {1, 1, 2.0f, 3}, {0, 0, 1.0f, 5}, {0, 1, 1.0f, 5}};
    for (unsigned k = 0; k < DROVE_COUNT(cases); k++) {
        uint64_t before = 77;
        float number[DROVE_EXCHANGE_NUMBERS] = {0.5f, cases[k].n_steps, 0.0f, (float)cases[k].part};
        const drove_span *part = drove__central_receive(v, cases[k].worker, N, number, &before);
        assert_non_null(part);
        assert_int_equal(part->offset, parts[cases[k].part].offset);
        assert_int_equal(before, cases[k].before);
        assert_int_equal(drove__elastic_join(number), cases[k].before);
    }
    uint64_t before = 77;
    float none[DROVE_EXCHANGE_NUMBERS] = {0.5f, 1.0f, 0.0f, 2.0f};
    assert_null(drove__central_receive(v, 0, N, none, &before)); /* no such part */
    none[3] = 0.0f;
    assert_null(drove__central_receive(v, P, N, none, &before)); /* nor worker */
    assert_null(drove__central_receive(v, 0, 119, none, &before));
    assert_non_null(drove__central_receive(v, 0, 120, none, &before));
    assert_int_equal(before, 6); /* what was refused does not count */
    rig_fini(&r);
}
