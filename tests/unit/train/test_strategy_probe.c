/* The strategy that a probe comes to, from given measurements. */
#include "train/strategy_probe.h"
#include "support/test.h"

#include <math.h>

static const double FIRST = 1.0; /* loss of the first parameters */

/* The loss after so many examples of a method that needs `factor` times those of one thread. */
static double loss_after(double n_examples, double factor)
{
    return FIRST / (1.0 + n_examples / (1000.0 * factor));
}

/* Pieces that double, at a steady speed; the curves are sampled where the speed says. */
static drove_rival rival(unsigned n_threads, double per_s, double factor, unsigned n_pieces)
{
    drove_rival r = {.strategy = "any", .n_threads = n_threads, .n_pieces = n_pieces, .rate = NAN};
    for (unsigned i = 0; i < n_pieces; i++) {
        double train_s = 0.01 * (double)(1u << i);
        r.piece[i] = (drove_probe_piece){.train_s = train_s,
                                         .n_examples = (uint64_t)(per_s * train_s),
                                         .loss = loss_after(per_s * train_s, factor)};
    }
    return r;
}

/* By speed alone: the fastest piece of each but the first, which one thread has disturbed twice
 * and the other once; a loss that is not finite is no speed. */
TEST(speed_is_that_of_the_fastest_pieces)
{
    drove_rival one = rival(1, 1e5, 1.0, 4), other = rival(2, 1.7e5, 9.0, 4);
    const drove_rival none = rival(2, 1e5, 1.0, 0);
    assert_true(fabs(drove__strategy_probe_speed(&one, &other) - 1.7) < 0.01);
    for (unsigned i = 2; i < 4; i++) one.piece[i].train_s += 0.5 * i;
    for (unsigned i = 3; i < 4; i++) other.piece[i].train_s += 0.5 * i;
    assert_true(fabs(drove__strategy_probe_speed(&one, &other) - 1.7) < 0.01);
    for (unsigned i = 0; i < 4; i++) other.piece[i].train_s += 0.3; /* of the first one */
    assert_true(fabs(drove__strategy_probe_speed(&one, &other) - 1.7) < 0.01);
    other.piece[3].loss = INFINITY;
    assert_true(drove__strategy_probe_speed(&one, &other) == 0.0);
    assert_true(isnan(drove__strategy_probe_speed(&one, &none)));
}

static drove_strategy_probe of_rates(const double *rate, unsigned n)
{
    drove_strategy_probe p = {.n = n + 1, .margin = drove__strategy_probe_margin};
    p.rival[0] = rival(1, 1e5, 1.0, 5);
    for (unsigned i = 0; i < n; i++) {
        p.rival[i + 1] = rival(2 + i, 1e5, 1.0, 5);
        p.rival[i + 1].rate = rate[i];
    }
    return p;
}

/* By speed alone, as fast is enough; what is slower than one thread never is. */
TEST(the_margin_is_the_contests)
{
    const double level[] = {1.05};
    drove_strategy_probe p = of_rates(level, 1);
    assert_int_equal(drove__strategy_probe_choose(&p), 0);
    p.margin = drove__strategy_speed_margin;
    assert_int_equal(drove__strategy_probe_choose(&p), 1);
    p.rival[1].rate = 0.95;
    assert_int_equal(drove__strategy_probe_choose(&p), 0);
}

TEST(a_faster_method_of_the_same_steps)
{
    const drove_rival one = rival(1, 1e5, 1.0, 5), other = rival(2, 1.6e5, 1.0, 5);
    assert_true(fabs(drove__strategy_probe_rate(&one, &other, FIRST) - 1.6) < 0.05);
    assert_true(drove__strategy_probe_rate(&one, &one, FIRST) == 1.0);
}

/* Twice the steps in a second, each worth less than half as much. */
TEST(steps_alone_do_not_win)
{
    const drove_rival one = rival(1, 1e5, 1.0, 5), other = rival(2, 2e5, 2.5, 5);
    double rate = drove__strategy_probe_rate(&one, &other, FIRST);
    assert_true(fabs(rate - 2.0 / 2.5) < 0.08);
}

/* A better loss from fewer examples is luck: the speed is the limit. */
TEST(a_lucky_loss_does_not_win)
{
    const drove_rival one = rival(1, 1e5, 1.0, 5), other = rival(2, 1e5, 0.4, 5);
    assert_true(fabs(drove__strategy_probe_rate(&one, &other, FIRST) - 1.0) < 1e-3);
}

/* The first piece of one thread is slow, as it fetches the data, and one of the other's is. */
TEST(cold_caches_and_a_disturbance)
{
    drove_rival one = rival(1, 1e5, 1.0, 5);
    const drove_rival other = rival(2, 1.5e5, 1.0, 5);
    for (unsigned i = 0; i < one.n_pieces; i++) one.piece[i].train_s += 0.3;
    assert_true(fabs(drove__strategy_probe_rate(&one, &other, FIRST) - 1.5) < 0.05);
    one.piece[4].train_s += 1.0;
    assert_true(fabs(drove__strategy_probe_rate(&one, &other, FIRST) - 1.5) < 0.05);
    for (unsigned i = 2; i < 5; i++) one.piece[i].train_s += 0.5 * i; /* most are disturbed */
    assert_true(fabs(drove__strategy_probe_rate(&one, &other, FIRST) - 1.5) < 0.05);
}

/* A loss that falls fast at first, as most do, and a first piece that lasted longer than asked, as
 * it does where a thread waits for a core: as many steps are worth as much. */
TEST(a_long_first_piece_costs_nothing)
{
    drove_rival one = rival(1, 1e5, 1.0, 5), other = rival(2, 1.5e5, 1.0, 5);
    for (unsigned i = 0; i < 5; i++) {
        other.piece[i].train_s += 0.02;
        other.piece[i].n_examples += 3000;
        one.piece[i].loss = 0.3 + 0.7 / (1.0 + (double)one.piece[i].n_examples / 100.0);
        other.piece[i].loss = 0.3 + 0.7 / (1.0 + (double)other.piece[i].n_examples / 100.0);
    }
    double rate = drove__strategy_probe_rate(&one, &other, FIRST);
    assert_true(fabs(rate - 1.5) < 0.05);
}

/* Curves that share no loss behind their first pieces. */
TEST(curves_far_apart)
{
    const drove_rival one = rival(1, 1e5, 1.0, 3), far = rival(2, 1e5, 50.0, 3);
    assert_true(drove__strategy_probe_rate(&one, &far, FIRST) < 0.1);
    const drove_rival quick = rival(2, 1e7, 1.0, 3);
    assert_true(fabs(drove__strategy_probe_rate(&one, &quick, FIRST) - 100.0) < 1.0);
}

TEST(losses_that_say_nothing)
{
    const drove_rival one = rival(1, 1e5, 1.0, 4), none = rival(2, 1e5, 1.0, 0);
    drove_rival bad = rival(2, 3e5, 1.0, 4), flat = one;
    assert_true(isnan(drove__strategy_probe_rate(&one, &none, FIRST)));
    bad.piece[3].loss = INFINITY;
    assert_true(drove__strategy_probe_rate(&one, &bad, FIRST) == 0.0);
    for (unsigned i = 0; i < 4; i++) bad.piece[i].loss = FIRST + 1.0;
    assert_true(drove__strategy_probe_rate(&one, &bad, FIRST) == 0.0);
    for (unsigned i = 0; i < 4; i++) flat.piece[i].loss = FIRST;
    assert_true(isnan(drove__strategy_probe_rate(&flat, &one, FIRST)));
}

TEST(fewer_threads_where_it_is_a_tie)
{
    const double none[] = {1.05, 0.7}, last[] = {1.2, 1.9}, close[] = {1.8, 1.9, 0.2};
    drove_strategy_probe p = of_rates(none, 2);
    assert_int_equal(drove__strategy_probe_choose(&p), 0);
    p = of_rates(last, 2);
    assert_int_equal(drove__strategy_probe_choose(&p), 2);
    p = of_rates(close, 3);
    assert_int_equal(drove__strategy_probe_choose(&p), 1);
}

TEST(what_was_hardly_measured_does_not_win)
{
    const double rates[] = {3.0, NAN};
    drove_strategy_probe p = of_rates(rates, 2);
    assert_int_equal(drove__strategy_probe_choose(&p), 1);
    p.rival[1].n_pieces = 2;
    assert_int_equal(drove__strategy_probe_choose(&p), 0);
    assert_false(drove__strategy_probe_is_clear(&p));
}

TEST(when_the_probe_may_end)
{
    const double rates[] = {1.3, 1.05, NAN, 0.5, 1.2};
    static const struct {
        unsigned n_pieces;
        bool is_clear, is_out[5]; /* of the rates above */
    } expected[] = {
        {2, false, {false, false, false, false, false}},
        {3, true, {false, false, false, true, false}},
        {4, true, {false, false, false, true, false}},
        {5, true, {false, true, false, true, false}},
    };
    for (size_t k = 0; k < sizeof expected / sizeof *expected; k++) {
        drove_strategy_probe p = of_rates(rates, 5);
        for (unsigned i = 0; i < p.n; i++) p.rival[i].n_pieces = expected[k].n_pieces;
        assert_int_equal(drove__strategy_probe_is_clear(&p), expected[k].is_clear);
        for (unsigned i = 0; i < 5; i++)
            assert_int_equal(drove__strategy_probe_is_out(&p, i + 1), expected[k].is_out[i]);
        p.rival[1].rate = 1.0;
        assert_int_equal(drove__strategy_probe_is_clear(&p), expected[k].n_pieces >= 4); /* 1.2 */
    }
}

TEST(a_tenth_of_the_run_or_ten_seconds)
{
    assert_true(drove__strategy_probe_budget(30.0) == 3.0);
    assert_true(drove__strategy_probe_budget(1e6) == 10.0);
    assert_true(drove__strategy_probe_budget(INFINITY) == 10.0);
}
