/* Memory that runs out while a strategy is made: at every allocation the error says so, nothing is
 * made and nothing stays.
 * ctest: home=release: a sanitizer has a malloc of its own.
 * ctest: apart: its malloc is for all */
#include "strategy/serialised.h"
#include "strategy/strategy.h"
#include "support/test.h"

#include "base/cpu.h"

#include <string.h>

#include "support/no_memory.h"

enum { N = 24, N_WORKERS = 3, MOST_CALLS = 1000 };

static drove_status init(drove_sync *s, const drove_sync_options *opt, const drove_params *start)
{
    (void)opt, (void)start;
    s->impl = drove__alloc(1, 1);
    return s->impl != NULL ? drove__sync_copies(s) : drove__sync_no_memory(s);
}

static void fini(drove_sync *s)
{
    drove__free(s->impl);
}

static const drove_sync_ops bare = {.name = "bare", .init = init, .fini = fini};

static drove_status create(const drove_optim *optim, drove_sync **out)
{
    float theta[N] = {0};
    const drove_sync_options opt = {.n_workers = N_WORKERS, .optim = optim};
    const drove_params start = {.theta = theta};
    return drove__sync_create(&bare, &opt, &start, out);
}

static drove_optim *make_optim(void)
{
    static drovek_table kernels;
    drove_optim *optim = NULL;
    assert_int_equal(drovek_select(&kernels, drove__cpu_features(), "ref"), DROVE_OK);
    const drove_optim_options with = {.rule = "momentum",
                                      .schedule = "constant",
                                      .lr = 1.0,
                                      .n_params = N,
                                      .n_workers = N_WORKERS,
                                      .kernels = &kernels};
    assert_int_equal(drove__optim_create(&with, &optim), DROVE_OK);
    return optim;
}

TEST(a_strategy_that_finds_no_memory_is_not_made)
{
    unsigned long n = 1;
    if (!no_memory_works()) skip();
    drove_optim *optim = make_optim();
    for (; n < MOST_CALLS; n++) {
        drove_sync *s = NULL;
        no_memory_begin(n);
        const drove_status status = create(optim, &s);
        const bool has_failed = no_memory_end();
        if (has_failed) {
            assert_int_equal(status, DROVE_E_NOMEM);
            assert_null(s);
        } else {
            assert_int_equal(status, DROVE_OK);
            drove__sync_destroy(s);
        }
        assert_int_equal(no_memory_live(), 0);
        if (!has_failed) break;
    }
    assert_in_range(n, 6, 20); /* itself, its workers, its own, a copy for each */
    drove__optim_destroy(optim);
}

/* It stays as it was, and is destroyed as such. */
TEST(a_strategy_that_cannot_be_serialised_says_so)
{
    unsigned long n = 1;
    if (!no_memory_works()) skip();
    drove_optim *optim = make_optim();
    for (bool has_failed = true; has_failed && n < MOST_CALLS; n++) {
        drove_sync *s = NULL;
        assert_int_equal(create(optim, &s), DROVE_OK);
        no_memory_begin(n);
        const drove_status status = drove__sync_serialise(s, false);
        has_failed = no_memory_end();
        assert_int_equal(status, has_failed ? DROVE_E_NOMEM : DROVE_OK);
        drove__sync_destroy(s);
        assert_int_equal(no_memory_live(), 0);
    }
    assert_in_range(n, 3, 20);
    drove__optim_destroy(optim);
}
