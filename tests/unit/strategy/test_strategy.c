/* What every strategy has before its own part begins, seen by a strategy that has nothing else. */
#include "strategy/strategy.h"
#include "support/test.h"

#include "base/cpu.h"

#include <string.h>

enum { N = 24, N_WORKERS = 3 };

static unsigned n_fini;
static uint64_t restored_at;

static drove_status init(drove_sync *s, const drove_sync_options *opt, const drove_params *start)
{
    assert_string_equal(opt->spec->name, "bare"); /* where the options have no spec */
    assert_non_null(start->theta);
    s->impl = drove__alloc(1, 1);
    return drove__sync_copies(s);
}

static drove_status init_nothing(drove_sync *s, const drove_sync_options *opt,
                                 const drove_params *start)
{
    (void)s, (void)opt, (void)start;
    return DROVE_OK;
}

static void fini(drove_sync *s)
{
    n_fini++;
    drove__free(s->impl);
}

static drove_status restore(drove_sync *s, const drove_params *vector, const drove_safetensors *st)
{
    (void)vector, (void)st;
    restored_at = atomic_load(&s->published);
    return DROVE_OK;
}

static const drove_sync_ops bare = {
    .name = "bare", .needs = DROVE_SYNC_BACKOFF, .init = init, .fini = fini, .restore = restore};

static drove_optim *make_optim(drovek_table *kernels)
{
    drove_optim *optim = NULL;
    assert_int_equal(drovek_select(kernels, drove__cpu_features(), "ref"), DROVE_OK);
    const drove_optim_options opt = {.rule = "momentum",
                                     .schedule = "constant",
                                     .lr = 1.0,
                                     .n_params = N,
                                     .n_workers = N_WORKERS,
                                     .kernels = kernels};
    assert_int_equal(drove__optim_create(&opt, &optim), DROVE_OK);
    return optim;
}

TEST(a_bare_strategy_has_the_defaults)
{
    drovek_table kernels;
    drove_optim *optim = make_optim(&kernels);
    float theta[N] = {0};
    const drove_params start = {.theta = theta};
    for (unsigned n = 1; n <= N_WORKERS; n++) {
        drove_sync *s = NULL;
        const drove_sync_options opt = {.n_workers = n, .optim = optim};
        n_fini = 0;
        assert_int_equal(drove__sync_create(&bare, &opt, &start, &s), DROVE_OK);
        assert_int_equal(s->n_workers, n);
        assert_int_equal(s->n_vector, 2 * N); /* parameters and their velocity */
        assert_int_equal(s->batches_per_update, 1);
        assert_true(s->most_steps == UINT64_MAX);
        assert_int_equal(s->needs, DROVE_SYNC_BACKOFF);
        assert_int_equal(s->layout.number, DROVE_F32);
        assert_int_equal(s->layout.n_numbers, N);
        assert_int_equal(s->layout.tail, N);
        assert_int_equal(atomic_load(&s->published), 0);
        assert_int_equal(atomic_load(&s->stopping), 0);
        for (unsigned w = 0; w < n; w++) {
            assert_int_equal(s->worker[w].backoff.kind, DROVE_BACKOFF_NONE);
            for (unsigned i = 0; i < 2 * N; i++) assert_true(s->worker[w].copy[i] == 0.0f);
        }
        assert_int_equal(drove__sync_restore(s, 77, &start, NULL), DROVE_OK);
        assert_int_equal(restored_at, 77); /* before the strategy's own part */
        drove__sync_destroy(s);
        assert_int_equal(n_fini, 1);
    }
    drove__optim_destroy(optim);
}

/* What a strategy is told of its workers it keeps: vectors are placed by it. */
TEST(places_are_kept)
{
    static const drove_place place[N_WORKERS] = {{0, 0, 0}, {1, 1, 0}, {2, 2, 0}};
    drovek_table kernels;
    drove_optim *optim = make_optim(&kernels);
    drove_topo *topo = NULL;
    float theta[N] = {0};
    drove_sync *s = NULL;
    assert_int_equal(drove__topo_create(NULL, &topo), DROVE_OK);
    const drove_sync_options opt = {
        .n_workers = N_WORKERS, .optim = optim, .topo = topo, .place = place};
    assert_int_equal(drove__sync_create(&bare, &opt, &(drove_params){.theta = theta}, &s),
                     DROVE_OK);
    assert_ptr_equal(s->topo, topo);
    assert_ptr_equal(s->place, place);
    assert_ptr_equal(s->optim, optim);
    assert_ptr_equal(s->ops, &bare);
    drove__sync_destroy(s);
    drove__topo_destroy(topo);
    drove__optim_destroy(optim);
}

TEST(no_worker_is_refused)
{
    drovek_table kernels;
    drove_optim *optim = make_optim(&kernels);
    float theta[N] = {0};
    drove_sync *s = NULL;
    const drove_sync_options opt = {.optim = optim};
    assert_int_equal(drove__sync_create(&bare, &opt, &(drove_params){.theta = theta}, &s),
                     DROVE_E_ARG);
    assert_null(s);
    assert_string_equal(drove_error_text(), "bare: expected at least one worker, found 0");
    drove__optim_destroy(optim);
}

/* Each worker's is as if it had been made alone. */
TEST(every_worker_has_a_backoff_of_its_own)
{
    static const char spec[] = "linear?first_us=3&step_us=5";
    drovek_table kernels;
    drove_optim *optim = make_optim(&kernels);
    float theta[N] = {0};
    drove_sync *s = NULL;
    const drove_sync_options opt = {
        .n_workers = N_WORKERS, .optim = optim, .backoff = spec, .seed = 42};
    assert_int_equal(drove__sync_create(&bare, &opt, &(drove_params){.theta = theta}, &s),
                     DROVE_OK);
    for (unsigned w = 0; w < N_WORKERS; w++) {
        drove_backoff alone, *found = &s->worker[w].backoff;
        assert_int_equal(drove__backoff_init(&alone, spec, 42, w), DROVE_OK);
        assert_int_equal(found->kind, DROVE_BACKOFF_LINEAR);
        assert_true(found->first_us == 3.0 && found->step_us == 5.0);
        assert_true(drove__rng_u64(&found->rng) == drove__rng_u64(&alone.rng));
    }
    drove__sync_destroy(s);
    drove__optim_destroy(optim);
}

TEST(the_layout_is_kept)
{
    static const drove_layout layout = {.number = DROVE_I8, .n_numbers = 50, .tail = 13};
    static uint32_t words[N];
    drovek_table kernels;
    drove_optim *optim = make_optim(&kernels);
    drove_sync *s = NULL;
    drove_sync_ops typed = bare;
    typed.needs |= DROVE_SYNC_TYPED;
    typed.init = init_nothing;
    const drove_sync_options opt = {.n_workers = 1, .optim = optim, .layout = &layout};
    assert_int_equal(drove__sync_create(&typed, &opt, &(drove_params){.words = words}, &s),
                     DROVE_OK);
    assert_int_equal(s->layout.number, DROVE_I8);
    assert_int_equal(s->layout.n_numbers, 50);
    assert_int_equal(s->layout.tail, 13);
    drove__sync_destroy(s);
    drove__optim_destroy(optim);
}

TEST(a_row_says_why_it_takes_floats_only)
{
    const drove_sync_places never = {.not_typed = "never"},
                            copies = {.not_typed = "its copies are floats"};
    const drove_sync_ops takes_both = {.needs = DROVE_SYNC_TYPED, .places = &never},
                         has_a_reason = {.places = &copies}, has_none = {0};
    assert_null(drove__sync_not_typed(&takes_both));
    assert_string_equal(drove__sync_not_typed(&has_a_reason), "its copies are floats");
    assert_non_null(strstr(drove__sync_not_typed(&has_none), "publish gradients"));
}

TEST(the_error_of_missing_memory_has_its_bytes)
{
    const drove_sync s = {.n_vector = 1000};
    assert_int_equal(drove__sync_no_memory(&s), DROVE_E_NOMEM);
    assert_non_null(strstr(drove_error_text(), "4000"));
}

static void expect_text(drove_sync_ops ops, const drove_sync_options *opt, const char *text)
{
    float theta[N] = {0};
    uint32_t words[N] = {0};
    drove_sync *s = NULL;
    const drove_params start =
        opt->layout != NULL ? (drove_params){.words = words} : (drove_params){.theta = theta};
    drove_status status = drove__sync_create(&ops, opt, &start, &s);
    if (text == NULL && status != DROVE_OK) fail_msg("%s", drove_error_text());
    if (text != NULL) {
        assert_int_equal(status, DROVE_E_ARG);
        assert_string_equal(drove_error_text(), text);
    }
    drove__sync_destroy(s);
}

/* Every mix of what a row needs, a layout, functions that convert, and a number of workers. */
TEST(options_must_suit_the_row)
{
    static const drove_layout layout = {.number = DROVE_I8, .n_numbers = N, .tail = N};
    static const drove_sync_convert convert = {.n_floats = N};
    drovek_table kernels;
    drove_optim *optim = make_optim(&kernels);
    for (unsigned mix = 0; mix < 64; mix++) {
        bool is_one = mix & 1, is_typed = mix & 2, is_spread = mix & 4;
        drove_sync_ops ops = {.name = "row", .init = init_nothing};
        if (is_one) ops.needs |= DROVE_SYNC_ONE;
        if (is_typed) ops.needs |= DROVE_SYNC_TYPED;
        if (is_spread) ops.needs |= DROVE_SYNC_SPREAD;
        const drove_sync_options opt = {.n_workers = mix & 8 ? 2 : 1,
                                        .optim = optim,
                                        .layout = mix & 16 ? &layout : NULL,
                                        .convert = mix & 32 ? &convert : NULL};
        const char *text = NULL;
        if (is_one && opt.n_workers == 2) text = "row: expected one worker, found 2";
        else if (opt.layout != NULL && !is_typed)
            text = "row: expected parameters that are floats, found low-precision ones: its "
                   "workers publish gradients, and low-precision steps go straight into the "
                   "parameters";
        else if (opt.layout != NULL && is_spread && opt.convert == NULL)
            text = "row: expected low-precision parameters with functions that convert them, "
                   "found none";
        expect_text(ops, &opt, text);
    }
    const drove_sync_options waits = {.n_workers = 1, .optim = optim, .backoff = "random?max_us=5"};
    drove_sync_ops tries_once = {.name = "row", .init = init_nothing}, tries_again = tries_once;
    tries_again.needs = DROVE_SYNC_BACKOFF;
    expect_text(tries_again, &waits, NULL);
    expect_text(tries_once, &waits,
                "row: expected back-off none, since it never tries twice; found "
                "\"random?max_us=5\"");
    drove__optim_destroy(optim);
}
