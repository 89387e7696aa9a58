/* Low-precision parameters with exchange: words of each worker, floats between them. */
#include "support/strategies.h"

#include "elastic/elastic.h"

#include <math.h>

enum { NUMBERS = 64, TAIL = 16, N_WORDS = NUMBERS / 4 + TAIL, N_FLOATS = NUMBERS + TAIL, P = 2 };
static const float SCALE = 0.125f;

static const drove_layout layout = {.number = DROVE_I8, .n_numbers = NUMBERS, .tail = NUMBERS / 4};

static void unpack(void *context, const uint32_t *words, float *theta)
{
    const int8_t *number = (const int8_t *)words;
    (void)context;
    for (int i = 0; i < NUMBERS; i++) theta[i] = (float)number[i] * SCALE;
    memcpy(theta + NUMBERS, words + NUMBERS / 4, TAIL * sizeof *theta);
}

static void pack(void *context, unsigned worker, uint64_t number_of, const float *theta,
                 uint32_t *words)
{
    int8_t *number = (int8_t *)words;
    (void)context, (void)worker, (void)number_of;
    for (int i = 0; i < NUMBERS; i++) number[i] = (int8_t)lrintf(theta[i] / SCALE);
    memcpy(words + NUMBERS / 4, theta + NUMBERS, TAIL * sizeof *theta);
}

static const drove_sync_convert convert = {.n_floats = N_FLOATS, .unpack = unpack, .pack = pack};

static rig_options options(const drove_sync_ops *ops, const char *period)
{
    return (rig_options){.variant = ops->name,
                         .ops = ops,
                         .n = N_WORDS,
                         .n_workers = P,
                         .layout = &layout,
                         .convert = &convert,
                         .period = period};
}

typedef struct walk {
    int add[P]; /* to each number, each call; to the floats behind, 1 */
    unsigned calls;
    _Atomic unsigned n_failed;
} walk;

static void step_in_place(rig *r, unsigned worker, void *arg)
{
    walk *w = arg;
    drove_sync *s = r->sync;
    for (unsigned i = 0; i < w->calls; i++) {
        drove_publish_info info;
        uint32_t *words = s->live->begin(s, worker).words;
        int8_t *number = (int8_t *)words;
        float *tail = (float *)(words + NUMBERS / 4);
        for (int j = 0; j < NUMBERS; j++) number[j] = (int8_t)(number[j] + w->add[worker]);
        for (int j = 0; j < TAIL; j++) tail[j] += 1.0f;
        if (s->live->done(s, worker, 1, &info) != DROVE_OK) atomic_fetch_add(&w->n_failed, 1);
    }
}

static void run_steps(rig *r, int first, int second, unsigned calls)
{
    walk w = {.add = {first, second}, .calls = calls};
    run_workers(r, step_in_place, &w);
    assert_int_equal(w.n_failed, 0);
    assert_int_equal(drove__sync_parked(r->sync), DROVE_OK);
}

static void expect(const uint32_t *words, int number, float tail)
{
    for (int i = 0; i < NUMBERS; i++) assert_int_equal(((const int8_t *)words)[i], number);
    const float *behind = (const float *)(words + NUMBERS / 4);
    for (int i = 0; i < TAIL; i++) assert_true(fabsf(behind[i] - tail) < 1e-5f);
}

static const drove_sync_ops *const all[] = {&drove__sync_local,        &drove__sync_diloco,
                                            &drove__sync_easgd_sync1,  &drove__sync_easgd_sync2,
                                            &drove__sync_easgd_sync3,  &drove__sync_easgd_async,
                                            &drove__sync_easgd_hogwild};

/* Words are lent; there is no vector to look at and no gradient to take. */
TEST(words_are_lent_by_live_alone)
{
    for (size_t i = 0; i < DROVE_COUNT(all); i++) {
        rig r;
        rig_init(&r, options(all[i], "1"));
        const drove_sync_ops *ops = r.sync->ops;
        static const float gradient[N_WORDS];
        const drove_step step = {.value = gradient, .eta = 1.0f};
        drove_view view = {.vector = gradient};
        drove_publish_info info;
        char text[128];
        assert_int_equal(ops->acquire(r.sync, 0, &view), DROVE_E_UNSUPPORTED);
        assert_null(view.vector);
        snprintf(text, sizeof text, "%s: low-precision parameters are lent by live alone",
                 all[i]->name);
        assert_string_equal(drove_error_text(), text);
        assert_int_equal(ops->publish(r.sync, 0, &step, &info), DROVE_E_UNSUPPORTED);
        snprintf(text, sizeof text, "%s: low-precision parameters take no gradients", all[i]->name);
        assert_string_equal(drove_error_text(), text);
        assert_true(ops->gradient == NULL && ops->replicas->vector == NULL);
        assert_true((ops->leave == NULL) == (all[i]->leave == NULL));
        assert_true((ops->tensors == NULL) == (all[i]->tensors == NULL));
        rig_fini(&r);
    }
    rig r;
    rig_options o = options(&drove__sync_local, "auto");
    assert_int_equal(rig_try(&r, o), DROVE_E_ARG);
    assert_non_null(strstr(drove_error_text(), "--period auto: expected a number of steps"));
    rig_fini(&r);
}

/* Calls make several steps; which of them ends in an exchange follows from calls and the largest of
 * them: three of up to 2 steps where the period is 5. */
TEST(updates_are_counted_as_the_method_counts)
{
    static const uint64_t n_steps[] = {2, 1, 2, 2, 1, 1};
    static const drove_sync_ops *const methods[] = {&drove__sync_easgd_async, &drove__sync_local};
    for (size_t i = 0; i < DROVE_COUNT(methods); i++) {
        rig r;
        uint64_t sum = 0;
        rig_options o = options(methods[i], "5");
        o.n_workers = 1;
        rig_init(&r, o);
        for (size_t k = 0; k < DROVE_COUNT(n_steps); k++) {
            drove_publish_info info = {.order = 7};
            uint32_t *words = r.sync->live->begin(r.sync, 0).words;
            for (int j = 0; j < NUMBERS; j++) ((int8_t *)words)[j] = 100;
            assert_int_equal(r.sync->live->done(r.sync, 0, n_steps[k], &info), DROVE_OK);
            sum += n_steps[k];
            assert_int_equal(atomic_load(&r.sync->published), sum);
            assert_int_equal(info.attempts, 1);
            assert_int_equal(info.updated, 1);
            bool is_met = info.messages > 0 || info.distance > 0.0;
            if (i == 0) assert_true(is_met == (k % 3 == 2));
        }
        assert_int_equal(r.sync->most_steps, 5);
        rig_fini(&r);
    }
}

enum { CALLS = 9, STEPS = 2 };

typedef struct tally {
    unsigned n_updated[3], n_failed[3];
} tally;

static void step_and_count(rig *r, unsigned worker, void *arg)
{
    tally *found = arg;
    for (unsigned i = 0; i < CALLS; i++) {
        drove_publish_info info = {.updated = 7};
        (void)r->sync->live->begin(r->sync, worker);
        found->n_failed[worker] += r->sync->live->done(r->sync, worker, STEPS, &info) != DROVE_OK;
        found->n_updated[worker] += info.updated;
    }
}

/* Where all meet, the steps of one worker are those of all, and it alone says so; an odd number of
 * workers tells it from the others. */
TEST(a_round_is_counted_once)
{
    for (size_t i = 0; i < DROVE_COUNT(all); i++) {
        rig r;
        tally found = {{0}, {0}};
        rig_options o = options(all[i], "4");
        o.n_workers = 3;
        rig_init(&r, o);
        const bool has_rounds = r.sync->batches_per_update > 1;
        assert_int_equal(has_rounds, strncmp(all[i]->name, "easgd-async", 11) != 0 &&
                                         strcmp(all[i]->name, "easgd-hogwild") != 0);
        run_workers(&r, step_and_count, &found);
        for (unsigned w = 0; w < 3; w++) {
            assert_int_equal(found.n_failed[w], 0);
            assert_int_equal(found.n_updated[w], has_rounds && w > 0 ? 0 : CALLS);
        }
        assert_int_equal(atomic_load(&r.sync->published), CALLS * STEPS * (has_rounds ? 1 : 3));
        rig_fini(&r);
    }
}

/* Saved between two exchanges: each worker goes on with its own words, and meets when it would
 * have. */
TEST(a_saved_turn_goes_on)
{
    rig r, other;
    drove_tensor saved[16];
    uint32_t mean[N_WORDS];
    rig_init(&r, options(&drove__sync_local, "2"));
    run_steps(&r, 4, 0, 1);
    memcpy(mean, r.sync->ops->peek(r.sync).words, sizeof mean);
    expect(mean, 2, 1.0f);
    size_t n = r.sync->ops->tensors(r.sync, saved, DROVE_COUNT(saved));
    assert_true(n > 0 && n <= DROVE_COUNT(saved));
    const drove_safetensors st = {.n_tensors = n, .tensor = saved};
    rig_init(&other, options(&drove__sync_local, "2"));
    const drove_params vector = {.words = mean};
    assert_int_equal(drove__sync_restore(other.sync, 1, &vector, &st), DROVE_OK);
    expect(other.sync->live->begin(other.sync, 0).words, 4, 1.0f);
    expect(other.sync->live->begin(other.sync, 1).words, 0, 1.0f);
    expect(other.sync->ops->peek(other.sync).words, 2, 1.0f);
    run_steps(&other, 4, 0, 1); /* 8 and 0 meet */
    for (unsigned w = 0; w < P; w++) expect(other.sync->live->begin(other.sync, w).words, 4, 2.0f);
    assert_int_equal(atomic_load(&other.sync->published), 2);
    rig_fini(&other);
    rig_fini(&r);
}

/* Two workers that step apart have their mean after each exchange, and none before. */
TEST(local_steps_meet_in_their_mean)
{
    rig r;
    rig_init(&r, options(&drove__sync_local, "2"));
    assert_int_equal(r.sync->most_steps, 2);
    run_steps(&r, 4, 0, 2);
    for (unsigned w = 0; w < P; w++) expect(r.sync->live->begin(r.sync, w).words, 4, 2.0f);
    run_steps(&r, 6, 0, 1); /* not yet: but what is evaluated is the mean */
    expect(r.sync->live->begin(r.sync, 0).words, 10, 3.0f);
    expect(r.sync->live->begin(r.sync, 1).words, 4, 3.0f);
    expect(r.sync->ops->peek(r.sync).words, 7, 3.0f);
    assert_int_equal(atomic_load(&r.sync->published), 3);
    drove_elastic_facts facts;
    assert_true(drove__elastic_facts(r.sync, &facts) && facts.period == 2);
    rig_fini(&r);
}

/* alpha = 0.9 / 2: W = 8 and 0, c = 0: pulled to 4.4 and 0, c to 3.6. */
TEST(elastic_steps_are_pulled)
{
    rig r;
    rig_init(&r, options(&drove__sync_easgd_sync3, "1"));
    run_steps(&r, 8, 0, 1);
    expect(r.sync->live->begin(r.sync, 0).words, 4, 0.55f);
    expect(r.sync->live->begin(r.sync, 1).words, 0, 0.55f);
    expect(r.sync->ops->peek(r.sync).words, 4, 0.9f);
    rig_fini(&r);
}

/* Workers that step alike get about where the steps lead: a centre follows late, an outer momentum
 * goes further. */
TEST(all_of_them_exchange)
{
    for (size_t i = 0; i < DROVE_COUNT(all); i++) {
        rig r;
        drove_params saved;
        rig_options o = options(all[i], "3");
        rig_init(&r, o);
        run_steps(&r, 1, 1, 9);
        int moved = ((const int8_t *)r.sync->ops->peek(r.sync).words)[0];
        if (moved < 2 || moved > 24) fail_msg("%s: %d after 9 steps of 1", all[i]->name, moved);
        uint32_t words[N_WORDS];
        memcpy(words, r.sync->ops->peek(r.sync).words, sizeof words);
        saved = (drove_params){.words = words};
        assert_int_equal(drove__sync_restore(r.sync, 9, &saved, NULL), DROVE_OK);
        assert_memory_equal(r.sync->ops->peek(r.sync).words, words, sizeof words);
        rig_fini(&r);
    }
}

/* Fewer bits between the workers: the sums differ by what is rounded. */
TEST(fewer_bits_travel)
{
    rig r;
    rig_options o = options(&drove__sync_local, "1");
    o.wire_format = "C8s";
    rig_init(&r, o);
    run_steps(&r, 4, 0, 4);
    int mean = ((const int8_t *)r.sync->ops->peek(r.sync).words)[0];
    assert_true(mean >= 6 && mean <= 10);
    rig_fini(&r);
}

TEST(refuses_what_it_has_not)
{
    static const drove_sync_ops *const none[] = {&drove__sync_allreduce, &drove__sync_psgd_async,
                                                 &drove__sync_easgd};
    rig r;
    for (size_t i = 0; i < DROVE_COUNT(none); i++) {
        assert_int_equal(rig_try(&r, options(none[i], NULL)), DROVE_E_ARG);
        assert_null(r.sync);
        rig_fini(&r);
    }
    assert_int_equal(rig_try(&r, options(&drove__sync_local, "auto")), DROVE_E_ARG);
    rig_fini(&r);
    rig_options o = options(&drove__sync_local, NULL);
    o.convert = NULL;
    assert_int_equal(rig_try(&r, o), DROVE_E_ARG);
    rig_fini(&r);
}

/* Who would wait for the others is woken, and none of its steps is lost. */
TEST(a_stop_reaches_the_method)
{
    static const drove_sync_ops *const rows[] = {&drove__sync_local, &drove__sync_diloco,
                                                 &drove__sync_easgd_sync3};
    for (size_t i = 0; i < DROVE_COUNT(rows); i++) {
        rig r;
        drove_publish_info info;
        rig_init(&r, options(rows[i], "1"));
        ((int8_t *)r.sync->live->begin(r.sync, 0).words)[0] = 3;
        r.sync->ops->stop(r.sync);
        assert_int_equal(atomic_load(&r.sync->stopping), 1);
        assert_int_equal(r.sync->live->done(r.sync, 0, 1, &info), DROVE_E_SYSTEM);
        assert_int_equal(((int8_t *)r.sync->live->begin(r.sync, 0).words)[0], 3);
        rig_fini(&r);
    }
}

TEST(messages_by_layer_are_refused)
{
    rig r;
    static const drove_span two[] = {{0, 10}, {10, N_FLOATS - 10}};
    rig_options o = options(&drove__sync_local, "2");
    o.part = two;
    o.n_parts = 2;
    assert_int_equal(rig_try(&r, o), DROVE_E_ARG);
    assert_non_null(strstr(drove_error_text(), "--messages layers: expected packed"));
    rig_fini(&r);
}
