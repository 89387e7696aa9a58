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
        uint32_t *words = s->ops->live(s, worker).words;
        int8_t *number = (int8_t *)words;
        float *tail = (float *)(words + NUMBERS / 4);
        for (int j = 0; j < NUMBERS; j++) number[j] = (int8_t)(number[j] + w->add[worker]);
        for (int j = 0; j < TAIL; j++) tail[j] += 1.0f;
        if (s->ops->live_done(s, worker, 1, &info) != DROVE_OK) atomic_fetch_add(&w->n_failed, 1);
    }
}

static void run_steps(rig *r, int first, int second, unsigned calls)
{
    walk w = {.add = {first, second}, .calls = calls};
    run_workers(r, step_in_place, &w);
    assert_int_equal(w.n_failed, 0);
    if (r->sync->ops->parked != NULL) assert_int_equal(r->sync->ops->parked(r->sync), DROVE_OK);
}

static void expect(const uint32_t *words, int number, float tail)
{
    for (int i = 0; i < NUMBERS; i++) assert_int_equal(((const int8_t *)words)[i], number);
    const float *behind = (const float *)(words + NUMBERS / 4);
    for (int i = 0; i < TAIL; i++) assert_true(fabsf(behind[i] - tail) < 1e-5f);
}

/* Two workers that step apart have their mean after each exchange, and none before. */
static void local_steps_meet_in_their_mean(void **state)
{
    (void)state;
    rig r;
    rig_init(&r, options(&drove__sync_local, "2"));
    assert_int_equal(r.sync->most_steps, 2);
    run_steps(&r, 4, 0, 2);
    for (unsigned w = 0; w < P; w++) expect(r.sync->ops->live(r.sync, w).words, 4, 2.0f);
    run_steps(&r, 6, 0, 1); /* not yet: but what is evaluated is the mean */
    expect(r.sync->ops->live(r.sync, 0).words, 10, 3.0f);
    expect(r.sync->ops->live(r.sync, 1).words, 4, 3.0f);
    expect(r.sync->ops->peek(r.sync).words, 7, 3.0f);
    assert_int_equal(atomic_load(&r.sync->published), 3);
    drove_elastic_facts facts;
    assert_true(drove__elastic_facts(r.sync, &facts) && facts.period == 2);
    rig_fini(&r);
}

/* alpha = 0.9 / 2: W = 8 and 0, c = 0: pulled to 4.4 and 0, c to 3.6. */
static void elastic_steps_are_pulled(void **state)
{
    (void)state;
    rig r;
    rig_init(&r, options(&drove__sync_easgd_sync3, "1"));
    run_steps(&r, 8, 0, 1);
    expect(r.sync->ops->live(r.sync, 0).words, 4, 0.55f);
    expect(r.sync->ops->live(r.sync, 1).words, 0, 0.55f);
    expect(r.sync->ops->peek(r.sync).words, 4, 0.9f);
    rig_fini(&r);
}

static const drove_sync_ops *const all[] = {&drove__sync_local,        &drove__sync_diloco,
                                            &drove__sync_easgd_sync1,  &drove__sync_easgd_sync2,
                                            &drove__sync_easgd_sync3,  &drove__sync_easgd_async,
                                            &drove__sync_easgd_hogwild};

/* Workers that step alike get about where the steps lead: a centre follows late, an outer momentum
 * goes further. */
static void all_of_them_exchange(void **state)
{
    (void)state;
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
static void fewer_bits_travel(void **state)
{
    (void)state;
    rig r;
    rig_options o = options(&drove__sync_local, "1");
    o.wire_format = "C8s";
    rig_init(&r, o);
    run_steps(&r, 4, 0, 4);
    int mean = ((const int8_t *)r.sync->ops->peek(r.sync).words)[0];
    assert_true(mean >= 6 && mean <= 10);
    rig_fini(&r);
}

static void refuses_what_it_has_not(void **state)
{
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(local_steps_meet_in_their_mean),
        cmocka_unit_test(elastic_steps_are_pulled),
        cmocka_unit_test(all_of_them_exchange),
        cmocka_unit_test(fewer_bits_travel),
        cmocka_unit_test(refuses_what_it_has_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
