/* Which strategies run on which workers: the rules of combine.h, one by one, on rows that need one
 * thing each. */
#include "strategy/combine.h"
#include "support/test.h"

#include <string.h>

enum { FUSED = DROVE_COMBINE_FUSED, TYPED = DROVE_COMBINE_TYPED, ALL = FUSED | TYPED };

static void expect(const drove_sync_ops *ops, drove_combination at, const char *reason)
{
    const char *found = drove__combine(ops, &at);
    if ((found == NULL) != (reason == NULL) || (reason != NULL && strcmp(found, reason) != 0))
        fail_msg("expected %s, found %s", reason != NULL ? reason : "no reason",
                 found != NULL ? found : "none");
}

TEST(what_a_row_says_of_places_holds)
{
    static const drove_sync_ops plain = {.name = "plain"};
    static const drove_sync_places nowhere = {.not_procs = "no processes", .not_ranks = "no ranks"};
    static const drove_sync_ops bound = {.name = "bound", .places = &nowhere};
    static const drove_sync_ops alone = {.name = "alone", .needs = DROVE_SYNC_ONE};
    for (unsigned n = 1; n <= 3; n++) {
        expect(&plain, (drove_combination){.n_workers = n, .procs = true}, NULL);
        expect(&plain, (drove_combination){.n_workers = n, .ranks = true}, NULL);
        expect(&bound, (drove_combination){.n_workers = n}, NULL);
        expect(&bound, (drove_combination){.n_workers = n, .procs = true}, "no processes");
        expect(&bound, (drove_combination){.n_workers = n, .ranks = true}, "no ranks");
        expect(&alone, (drove_combination){.n_workers = n}, n == 1 ? NULL : "it has one worker");
    }
}

TEST(low_precision_needs_a_row_and_an_engine)
{
    static const drove_sync_ops plain = {.name = "plain"};
    static const drove_sync_places wide = {.not_typed = "it is wide"};
    static const drove_sync_ops reasoned = {.name = "reasoned", .places = &wide};
    static const drove_sync_ops able = {.name = "able", .needs = DROVE_SYNC_TYPED};
    static const drove_sync_ops heavy = {.name = "heavy",
                                         .needs = DROVE_SYNC_TYPED | DROVE_SYNC_MOMENTUM};
    const drove_combination low = {.n_workers = 2, .typed = true, .engine_can = ALL};
    const drove_combination device = {.n_workers = 2, .typed = true, .engine_can = FUSED};
    const drove_combination floats = {.n_workers = 2, .engine_can = ALL};
    expect(&plain, low,
           "its workers publish gradients, and low-precision steps go straight into the "
           "parameters");
    expect(&reasoned, low, "it is wide");
    expect(&able, low, NULL);
    expect(&heavy, low,
           "its rule is momentum, with which low-precision parameters are not exchanged");
    expect(&able, device, "low-precision steps are made on the host, and a worker is a device");
    expect(&plain, floats, NULL);
    expect(&reasoned, floats, NULL);
    expect(&able, floats, NULL);
    expect(&heavy, floats, NULL);
}

TEST(live_workers_write_on_the_host)
{
    static const drove_sync_ops live = {.name = "live",
                                        .needs = DROVE_SYNC_LIVE | DROVE_SYNC_TYPED};
    static const char reason[] =
        "its workers write the shared parameters while they compute, which a device cannot";
    expect(&live, (drove_combination){.n_workers = 2, .engine_can = FUSED}, NULL);
    expect(&live, (drove_combination){.n_workers = 2, .engine_can = TYPED}, reason);
    expect(&live, (drove_combination){.n_workers = 2}, reason);
    expect(&live, (drove_combination){.n_workers = 2, .typed = true, .engine_can = TYPED}, NULL);
}

/* The columns have names of their own and say what they are. */
TEST(columns_can_be_told_apart)
{
    unsigned n = 0;
    for (const drove_combination_column *c = drove__combinations; c->name != NULL; c++, n++) {
        assert_true(c->help[0] != '\0' && c->at.n_workers >= 1);
        assert_int_equal(c->at.procs, strncmp(c->name, "procs", 5) == 0);
        assert_int_equal(c->at.ranks, strncmp(c->name, "ranks", 5) == 0);
        for (const drove_combination_column *d = drove__combinations; d < c; d++)
            assert_string_not_equal(c->name, d->name);
    }
    assert_true(n >= 11);
}
