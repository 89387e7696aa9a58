/* What elastic strategies do beside their equations: questions to rank 0, what is refused, states
 * that make no sense or are of other workers, facts, and low-precision workers that stop. */
#include "support/strategies.h"

#include "elastic/central.h"
#include "elastic/elastic.h"

#include <math.h>
#include <stdlib.h>

enum { N = 24, P = 3, MOST_TENSORS = 32 };

static rig_options options(const drove_sync_ops *ops, const char *variant)
{
    return (rig_options){.variant = variant, .ops = ops, .n = N, .n_workers = P, .lr = 0.25};
}

static void expect_refused(rig_options o, const char *words)
{
    rig r;
    assert_int_equal(rig_try(&r, o), DROVE_E_ARG);
    if (strstr(drove_error_text(), words) == NULL) fail_msg("%s", drove_error_text());
    rig_fini(&r);
}

/* ---- questions ---- */

typedef struct asked {
    unsigned n, worker;
    drove_question question;
} asked;

static void answer(void *context, unsigned worker, drove_question *question)
{
    asked *a = context;
    a->n++;
    a->worker = worker;
    a->question = *question;
    for (unsigned i = 0; i < DROVE_QUESTION_WORDS; i++) question->word[i] = ~question->word[i];
}

/* Any bits go there and come back, among steps; without somebody who answers, as they were. */
TEST(questions_are_carried_as_they_are)
{
    static const drove_sync_ops *const rows[] = {&drove__sync_psgd_async, &drove__sync_pmsgd_async};
    for (size_t k = 0; k < DROVE_COUNT(rows); k++) {
        rig r;
        asked a = {0};
        static const float g[N] = {1.0f};
        rig_options o = options(rows[k], rows[k]->name);
        o.rule = k == 1 ? "momentum" : "sgd";
        rig_init(&r, o);
        for (unsigned has_answer = 0; has_answer < 2; has_answer++) {
            if (has_answer) r.sync->answer = answer, r.sync->answer_context = &a;
            for (unsigned w = 0; w < P; w++) {
                drove_question q = {{0, UINT64_MAX, 0x7fc00001ffc00001u, w, 1u << w, 5}};
                const drove_question before = q;
                assert_int_equal(r.sync->ops->replicas->ask(r.sync, w, &q), DROVE_OK);
                assert_int_equal(a.n, has_answer ? w + 1 : 0);
                for (unsigned i = 0; i < DROVE_QUESTION_WORDS; i++)
                    assert_true(q.word[i] == (has_answer ? ~before.word[i] : before.word[i]));
                if (has_answer) assert_int_equal(a.worker, w);
                if (has_answer) assert_memory_equal(&a.question, &before, sizeof before);
                assert_int_equal(take_step(&r, w, g, 0.25f, NULL, NULL), DROVE_OK);
            }
        }
        assert_int_equal(atomic_load(&r.sync->published), 2 * P); /* a question is no step */
        r.sync->ops->stop(r.sync);
        drove_question q = {{0}};
        assert_int_equal(r.sync->ops->replicas->ask(r.sync, 0, &q), DROVE_E_SYSTEM);
        rig_fini(&r);
    }
}

/* ---- refusals and facts ---- */

TEST(numbers_out_of_range_are_refused)
{
    static const drove_span two[] = {{0, 10}, {10, N - 10}};
    static const double rhos[] = {-0.5, NAN, INFINITY, 1e10};
    for (size_t i = 0; i < DROVE_COUNT(rhos); i++) {
        rig_options o = options(&drove__sync_easgd_async, "easgd-async");
        o.rho = rhos[i];
        expect_refused(o, "--rho: expected a number from 0 to 1e9, found");
        o = options(&drove__sync_allreduce, "allreduce");
        o.rho = rhos[i];
        expect_refused(o, "since allreduce has no elastic pull");
    }
    rig_options o = options(&drove__sync_easgd_async, "easgd-async");
    o.lr = 0.5;
    o.rho = 2.0; /* together the limit, at which a worker jumps to the centre */
    expect_refused(o, "expected step size x --rho below 1,");
    o.rho = 1.75;
    assert_true(rig_accepts(o));
    o = options(&drove__sync_psgd_async, "psgd-async");
    o.rule = "nesterov";
    o.part = two;
    o.n_parts = 2;
    expect_refused(o, "psgd-async: expected --messages packed, since this rule's velocity travels");
    rig r;
    o.rule = "sgd"; /* has none */
    rig_init(&r, o);
    rig_fini(&r);
    o.rule = "nesterov";
    o.state = DROVE_STATE_WORKER; /* keeps it */
    rig_init(&r, o);
    rig_fini(&r);
    o = options(&drove__sync_local, "local");
    o.period = ""; /* as not given */
    drove_elastic_facts facts;
    rig_init(&r, o);
    assert_true(drove__elastic_facts(r.sync, &facts));
    assert_int_equal(facts.period, 16);
    rig_fini(&r);
}

/* Each method names the argument that it does not have, and the range of each that it has. */
TEST(arguments_are_checked)
{
    static const char *const bad[][2] = {{"easgd-async?overlap=2", "overlap"},
                                         {"easgd?overlap=2", "overlap"},
                                         {"diloco?lr=0", "lr"},
                                         {"diloco?momentum=1", "momentum"},
                                         {"diloco?h=0", "h"},
                                         {"easgd-sync3?centre=2", "centre"},
                                         {"easgd-hogwild?overlap=x", "overlap"}};
    for (const drove_sync_ops *const *row = drove__strategies; *row != NULL; row++) {
        char variant[64];
        if (((*row)->needs & DROVE_SYNC_SPREAD) == 0) continue;
        rig_options o = options(*row, (*row)->name);
        if (!rig_accepts(o)) o.rule = "momentum";
        assert_true(rig_accepts(o));
        snprintf(variant, sizeof variant, "%s?nonsense=1", (*row)->name);
        o.variant = variant;
        expect_refused(o, "nonsense");
        snprintf(variant, sizeof variant, "%s:1", (*row)->name);
        expect_refused(o, "expected 0 arguments, found 1");
    }
    for (size_t i = 0; i < DROVE_COUNT(bad); i++) {
        rig_options o = options(NULL, bad[i][0]);
        expect_refused(o, bad[i][1]);
    }
}

TEST(facts_are_those_of_the_options)
{
    static const struct {
        const drove_sync_ops *ops;
        const char *variant, *period;
        double rho;
        uint64_t expected_period;
        bool is_auto, has_pull;
        double alpha;
    } cases[] = {
        {&drove__sync_easgd_async, "easgd-async", NULL, 0.0, 1, false, true, 0.3},
        {&drove__sync_easgd_async, "easgd-async", "7", 2.0, 7, false, true, 0.5},
        {&drove__sync_easgd_sync3, "easgd-sync3", "3", 1.0, 3, false, true, 0.25},
        {&drove__sync_easgd, "easgd", NULL, 0.0, 1, false, true, 0.3},
        {&drove__sync_local, "local", "auto", 0.0, 1, true, false, 0.0},
        {&drove__sync_diloco, "diloco?h=9", NULL, 0.0, 9, false, false, 0.0},
        {&drove__sync_diloco, "diloco?h=9", "4", 0.0, 4, false, false, 0.0},
        {&drove__sync_allreduce, "allreduce", "1", 0.0, 1, false, false, 0.0},
    };
    for (size_t i = 0; i < DROVE_COUNT(cases); i++) {
        rig r;
        drove_elastic_facts f;
        rig_options o = options(cases[i].ops, cases[i].variant);
        o.period = cases[i].period;
        o.rho = cases[i].rho;
        rig_init(&r, o);
        assert_true(drove__elastic_facts(r.sync, &f));
        assert_int_equal(f.period, cases[i].expected_period);
        assert_int_equal(f.period_is_auto, cases[i].is_auto);
        assert_int_equal(f.has_pull, cases[i].has_pull);
        assert_true(fabs(f.alpha - cases[i].alpha) < 1e-6);
        rig_fini(&r);
    }
    rig r;
    drove_elastic_facts f;
    rig_init(&r, options(find_strategy("mutex"), "mutex"));
    assert_false(drove__elastic_facts(r.sync, &f)); /* not one of these */
    rig_fini(&r);
}

/* ---- messages ---- */

/* Whatever another rank sends: a count is one, or 0. */
TEST(counts_in_messages)
{
    static const uint64_t counts[] = {0, 1, 12345, (1u << 24) - 1, 1u << 24, UINT64_C(1) << 40};
    static const float odd[] = {-1.0f, NAN, INFINITY, -INFINITY, 16777216.0f, 1e30f};
    for (size_t i = 0; i < DROVE_COUNT(counts); i++) {
        float number[2];
        drove__elastic_split(counts[i], number);
        assert_true(drove__elastic_join(number) == counts[i]);
    }
    for (size_t i = 0; i < DROVE_COUNT(odd); i++) {
        assert_int_equal(drove__elastic_join((const float[2]){odd[i], 0.0f}), 0);
        assert_int_equal(drove__elastic_join((const float[2]){7.0f, odd[i]}), 7);
    }
}

/* A part that is not there, a worker that is not there, too few floats: nothing is counted. */
TEST(messages_for_nobody)
{
    static const drove_span parts[] = {{0, 10}, {10, N - 10}};
    static const struct {
        unsigned worker;
        size_t n;
        float part;
        bool is_good;
    } cases[] = {{0, N, 0.0f, true},      {2, 14, 1.0f, true},     {0, 9, 0.0f, false},
                 {0, 13, 1.0f, false},    {P, N, 0.0f, false},     {UINT32_MAX, N, 0.0f, false},
                 {0, N, 2.0f, false},     {0, N, -2.0f, false},    {0, N, NAN, false},
                 {0, N, INFINITY, false}, {0, N, -INFINITY, false}};
    rig r;
    rig_options o = options(NULL, "easgd-async");
    o.part = parts;
    o.n_parts = 2;
    rig_init(&r, o);
    drove_central *v = r.sync->impl;
    for (size_t i = 0; i < DROVE_COUNT(cases); i++) {
        uint64_t before = 77, n = atomic_load(&v->n_updates);
        float number[4] = {0.1f, 1.0f, 0.0f, cases[i].part};
        const drove_span *found =
            drove__central_receive(v, cases[i].worker, cases[i].n, number, &before);
        assert_true((found != NULL) == cases[i].is_good);
        if (found != NULL) assert_ptr_equal(found, &v->e.part[(size_t)cases[i].part]);
        const bool is_counted = cases[i].is_good && cases[i].part == 0.0f;
        assert_int_equal(atomic_load(&v->n_updates), n + is_counted);
        if (found == NULL) assert_int_equal(before, 77);
        float message[N] = {0}, c = v->centre[0];
        if (found == NULL) drove__central_elastic(v, cases[i].worker, message, cases[i].n, number);
        assert_true(v->centre[0] == c); /* a message for nobody moves nothing */
    }
    rig_fini(&r);
}

/* ---- saved states ---- */

static drove_status restore_into(rig_options o, const drove_tensor *tensor, size_t n,
                                 drove_elastic_facts *facts)
{
    rig r;
    static float vector[3 * N];
    const drove_safetensors st = {.n_tensors = n, .tensor = (drove_tensor *)(uintptr_t)tensor};
    rig_init(&r, o);
    drove_status status = drove__sync_restore(r.sync, 0, &(drove_params){.theta = vector}, &st);
    if (facts != NULL) assert_true(drove__elastic_facts(r.sync, facts));
    rig_fini(&r);
    return status;
}

/* All or nothing: all where there is room for four tensors of the last worker and two of all. */
static void check_room(rig *r, const drove_tensor *saved, size_t n, unsigned n_workers)
{
    drove_tensor out[MOST_TENSORS];
    char first[40];
    size_t before = 0;
    snprintf(first, sizeof first, "elastic.w.%u", n_workers - 1);
    while (strcmp(saved[before].name, first) != 0) before++;
    for (size_t most = 0; most <= MOST_TENSORS; most++) {
        const size_t n_listed = r->sync->ops->tensors(r->sync, out, most);
        if (n_listed != (most >= before + 6 ? n : 0))
            fail_msg("%s: %zu of %zu tensors where there is room for %zu", r->sync->ops->name,
                     n_listed, n, most);
    }
}

/* Of each method: a state that lacks a tensor beside the replicas is refused, and names it. */
static bool whole_states(rig_options o)
{
    rig r;
    drove_tensor saved[MOST_TENSORS], changed[MOST_TENSORS];
    rig_init(&r, o);
    const size_t n = r.sync->ops->tensors(r.sync, saved, MOST_TENSORS);
    if (n > 0) check_room(&r, saved, n, o.n_workers);
    if (n > 0) assert_int_equal(restore_into(o, saved, n, NULL), DROVE_OK);
    for (size_t i = 0; i < n; i++) {
        if (strncmp(saved[i].name, "elastic.w.", 10) == 0) continue;
        if (strcmp(saved[i].name, "elastic.progress") == 0) continue;
        memcpy(changed, saved, sizeof changed);
        changed[i].name[0] = '\0';
        assert_int_equal(restore_into(o, changed, n, NULL), DROVE_E_DATA);
        if (strstr(drove_error_text(), saved[i].name) == NULL) fail_msg("%s", drove_error_text());
    }
    rig_fini(&r);
    return n > 0;
}

TEST(states_are_whole)
{
    static const char *const encoding[] = {"easgd-sync3", "allreduce", "local", "diloco"};
    unsigned n_with_state = 0;
    for (const drove_sync_ops *const *row = drove__strategies; *row != NULL; row++) {
        rig_options o = options(*row, (*row)->name);
        if (((*row)->needs & DROVE_SYNC_SPREAD) == 0 || (*row)->tensors == NULL) continue;
        if (!rig_accepts(o)) o.rule = "momentum";
        n_with_state += whole_states(o);
    }
    assert_in_range(n_with_state, 9, 64);
    for (size_t i = 0; i < DROVE_COUNT(encoding); i++) {
        rig_options o = options(NULL, encoding[i]);
        o.wire_format = "C8s";
        assert_true(whole_states(o));
    }
}

/* A period that was found out goes on; one that no run can have does not. */
TEST(a_period_is_restored)
{
    static const struct {
        uint64_t saved, expected;
    } cases[] = {
        {12, 12}, {DROVE_MOST_PERIOD, DROVE_MOST_PERIOD}, {0, 1}, {DROVE_MOST_PERIOD + 1, 1}};
    rig r;
    drove_tensor saved[MOST_TENSORS];
    rig_options o = options(NULL, "local");
    o.period = "auto";
    rig_init(&r, o);
    const size_t n = r.sync->ops->tensors(r.sync, saved, MOST_TENSORS);
    size_t at = 0;
    while (strcmp(saved[at].name, "elastic.progress") != 0) at++;
    uint64_t counts[P * DROVE_ELASTIC_PROGRESS];
    memcpy(counts, saved[at].bytes, sizeof counts);
    saved[at].bytes = counts;
    for (size_t i = 0; i < DROVE_COUNT(cases); i++) {
        drove_elastic_facts facts;
        for (unsigned w = 0; w < P; w++) counts[w * DROVE_ELASTIC_PROGRESS + 3] = cases[i].saved;
        assert_int_equal(restore_into(o, saved, n, &facts), DROVE_OK);
        assert_int_equal(facts.period, cases[i].expected);
    }
    rig_fini(&r);
}

/* A run of a few steps whose tensors are then changed. */
static size_t save(rig *r, const char *variant, drove_tensor *out)
{
    static const float g[N] = {1.0f, 2.0f};
    rig_options o = options(find_strategy("easgd-async"), variant);
    o.rule = "momentum";
    rig_init(r, o);
    for (unsigned i = 0; i < 7; i++)
        assert_int_equal(take_step(r, i % 2, g, 0.25f, NULL, NULL), DROVE_OK);
    size_t n = r->sync->ops->tensors(r->sync, out, MOST_TENSORS);
    assert_true(n > P);
    return r->sync->ops->tensors(r->sync, out, MOST_TENSORS);
}

static drove_status restore(const drove_tensor *tensor, size_t n, float *first)
{
    rig r;
    static float vector[3 * N];
    rig_options o = options(find_strategy("easgd-async"), "easgd-async");
    o.rule = "momentum";
    rig_init(&r, o);
    const drove_safetensors st = {.n_tensors = n, .tensor = (drove_tensor *)(uintptr_t)tensor};
    for (size_t i = 0; i < DROVE_COUNT(vector); i++) vector[i] = 77.0f;
    drove_status status =
        drove__sync_restore(r.sync, 7, &(drove_params){.theta = vector}, n > 0 ? &st : NULL);
    if (first != NULL) *first = r.sync->ops->replicas->vector(r.sync, 0)[0];
    rig_fini(&r);
    return status;
}

TEST(states_are_checked)
{
    rig r;
    drove_tensor saved[MOST_TENSORS], changed[MOST_TENSORS];
    size_t n = save(&r, "easgd-async", saved), at = 0;
    float first;
    assert_int_equal(restore(saved, n, &first), DROVE_OK);
    assert_true(first == r.sync->ops->replicas->vector(r.sync, 0)[0] && first != 77.0f);
    while (strcmp(saved[at].name, "elastic.progress") != 0) at++;
    size_t n_counts = saved[at].shape[0] * saved[at].shape[1];
    uint64_t *counts = malloc(n_counts * sizeof *counts);
    assert_non_null(counts);
    for (size_t i = 0; i < n_counts; i++) {
        memcpy(counts, saved[at].bytes, n_counts * sizeof *counts);
        memcpy(changed, saved, sizeof changed);
        changed[at].bytes = counts;
        counts[i] = (UINT64_C(1) << 62) + 1;
        assert_int_equal(restore(changed, n, NULL), DROVE_E_DATA);
        assert_non_null(strstr(drove_error_text(), "expected counts up to 2^62, found 461168601"));
    }
    /* Of other workers, or without one of them: all begin where the centre is. */
    for (unsigned what = 0; what < 4; what++) {
        memcpy(changed, saved, sizeof changed);
        size_t m = n;
        if (what == 0) changed[at].shape[0] = P + 1;
        if (what == 1) changed[at].rank = 1;
        if (what == 2) changed[at].name[0] = '\0';
        if (what == 3) m = 0;
        assert_int_equal(restore(changed, m, &first), DROVE_OK);
        assert_true(first == 77.0f);
    }
    for (size_t i = 0; i < n; i++) {
        memcpy(changed, saved, sizeof changed);
        if (i == at || strncmp(saved[i].name, "elastic.w.", 10) != 0) continue;
        changed[i].name[0] = '\0';
        assert_int_equal(restore(changed, n, &first), DROVE_OK);
        assert_true(first == 77.0f);
        memcpy(changed, saved, sizeof changed);
        changed[i].type = DROVE_T_U32;
        assert_int_equal(restore(changed, n, NULL), DROVE_E_DATA);
    }
    free(counts);
    rig_fini(&r);
}
