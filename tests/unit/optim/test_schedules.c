/* Schedules at points worked out by hand, and the staleness-adaptive ones against the property
 * that defines each. */
#include "support.h"

#include <math.h>
#include <string.h>
#include <stdio.h>

static const double factor_bound = 1e-7; /* eta is a float near 1 */
static const double mean_bound = 1e-9;

/* ---- by epoch ---- */

typedef struct point {
    const char *schedule;
    double epoch, factor;
} point;

static const point points[] = {
    {"constant", 7.5, 1.0},
    {"step:0.1,10", 0.0, 1.0},
    {"step:0.1,10", 9.99, 1.0},
    {"step:0.1,10", 10.0, 0.1},
    {"step:0.1,10", 25.0, 0.01},
    {"step:0.5,0.25", 1.0, 0.0625},
    {"exponential:0.5", 0.0, 1.0},
    {"exponential:0.5", 0.5, 0.70710678},
    {"exponential:0.5", 3.0, 0.125},
    {"inverse:0.5", 0.0, 1.0},
    {"inverse:0.5", 2.0, 0.5},
    {"inverse:0.5", 18.0, 0.1},
    {"cosine:10", 0.0, 1.0},
    {"cosine:10", 2.5, 0.85355339},
    {"cosine:10", 5.0, 0.5},
    {"cosine:10", 10.0, 0.0},
    {"cosine:10", 15.0, 0.0},
    {"cosine:10?floor=0.2", 5.0, 0.6},
    {"cosine:10?floor=0.2", 11.0, 0.2},
    {"linear:4", 1.0, 0.75},
    {"linear:4", 9.0, 0.0},
    {"linear:4?floor=0.1", 2.0, 0.55},
    {"linear:4?floor=0.1", 9.0, 0.1},
    {"warmup:2", 0.0, 0.0},
    {"warmup:2", 0.5, 0.25},
    {"warmup:2", 2.5, 1.0},
    {"warmup:2?floor=0.1", 1.0, 0.55},
    {"plateau:0.5?patience=2&cuts=1", 3.0, 1.0},
    {"cosine:10+plateau", 5.0, 0.5},
    /* factors multiply; what depends on staleness does not count here */
    {"warmup:2+step:0.1,10", 1.0, 0.5},
    {"warmup:2+step:0.1,10", 12.0, 0.1},
    {"inverse:0.5+linear:4+step:0.5,1", 2.0, 0.0625},
    {"staleness+exponential:0.5+mindthestep", 1.0, 0.5},
};

TEST(test_points)
{
    for (unsigned i = 0; i < DROVE_COUNT(points); i++) {
        drove_optim_options opt = plain_options(16);
        opt.schedule = points[i].schedule;
        opt.lr = 2.0;
        opt.n_workers = 4;
        drove_optim *optim = make_optim(&opt);
        double eta = (double)drove__optim_eta(optim, points[i].epoch);
        if (!(fabs(eta - 2.0 * points[i].factor) <= 2.0 * factor_bound))
            fail_msg("%s at %g: %.9g, expected %.9g", points[i].schedule, points[i].epoch,
                     eta / 2.0, points[i].factor);
        drove__optim_destroy(optim);
    }
}

/* The cuts are made by the controlling thread, with these numbers; defaults are those of --help. */
TEST(test_plateau)
{
    static const struct {
        const char *schedule;
        double factor; /* 0: there is no plateau */
        uint64_t patience, most_cuts;
    } cases[] = {
        {"plateau", 0.2, 4, 3},        {"plateau:0.5", 0.5, 4, 3},
        {"plateau?cuts=7", 0.2, 4, 7}, {"cosine:10+plateau:0.25?patience=2&cuts=0", 0.25, 2, 0},
        {"cosine:10", 0.0, 0, 0},      {"constant", 0.0, 0, 0},
    };
    for (size_t i = 0; i < DROVE_COUNT(cases); i++) {
        drove_optim_options opt = plain_options(16);
        drove_plateau p = {0};
        opt.schedule = cases[i].schedule;
        drove_optim *optim = make_optim(&opt);
        assert_int_equal(drove__optim_plateau(optim, &p), cases[i].factor > 0.0);
        assert_true(p.factor == cases[i].factor);
        assert_int_equal(p.patience, cases[i].patience);
        assert_int_equal(p.most_cuts, cases[i].most_cuts);
        drove__optim_destroy(optim);
    }
}

/* ---- by staleness ---- */

static double factor_at(const drove_optim *optim, uint64_t tau)
{
    drove_progress_point at = {.staleness = tau};
    return optim->schedule[0].ops->factor(&optim->schedule[0], &at);
}

static drove_optim *make_schedule(const char *schedule, unsigned n_workers)
{
    drove_optim_options opt = plain_options(16);
    opt.schedule = schedule;
    opt.n_workers = n_workers;
    drove_optim *optim = make_optim(&opt);
    assert_true(optim->by_staleness);
    return optim;
}

TEST(test_staleness)
{
    drove_optim *optim = make_schedule("staleness", 4);
    static const double expected[] = {1.0, 1.0, 0.5, 1.0 / 3.0, 0.25};
    for (uint64_t tau = 0; tau < DROVE_COUNT(expected); tau++) {
        assert_true(factor_at(optim, tau) == expected[tau]);
    }
    assert_true(factor_at(optim, 1000000) == 1e-6);
    drove__optim_destroy(optim);
}

/* Probabilities by multiplication from P(0), another way than the program's. */
static double poisson(double mean, unsigned tau)
{
    double p = exp(-mean);
    for (unsigned i = 1; i <= tau; i++) p *= mean / (double)i;
    return p;
}

static double geometric(double mean, unsigned tau)
{
    return pow(mean / (1.0 + mean), (double)tau) / (1.0 + mean);
}

typedef double probability(double mean, unsigned tau);

static void check_mean_and_order(const char *schedule, double mean, probability *p, double cap,
                                 bool falling)
{
    drove_optim *optim = make_schedule(schedule, 2);
    double sum = 0.0, total = 0.0;
    for (unsigned tau = 0; tau < 4000; tau++) {
        double factor = factor_at(optim, tau);
        if (!(factor >= 0.0 && factor <= cap))
            fail_msg("%s: factor(%u) = %g", schedule, tau, factor);
        if (falling && tau > 0) assert_true(factor <= factor_at(optim, tau - 1));
        sum += p(mean, tau) * factor;
        total += p(mean, tau);
    }
    assert_true(fabs(total - 1.0) < mean_bound);
    if (!(fabs(sum - 1.0) < mean_bound)) fail_msg("%s: mean factor %.12g", schedule, sum);
    drove__optim_destroy(optim);
}

TEST(test_mean_factor_is_one)
{
    check_mean_and_order("mindthestep?mean=0.5", 0.5, poisson, 5.0, true);
    check_mean_and_order("mindthestep?mean=7", 7.0, poisson, 5.0, true);
    check_mean_and_order("mindthestep?mean=63", 63.0, poisson, 5.0, true);
    check_mean_and_order("mindthestep?mean=700", 700.0, poisson, 5.0, true); /* a long tail */
    check_mean_and_order("mindthestep?mean=63&cap=1.5", 63.0, poisson, 1.5, true);
    check_mean_and_order("mindthestep?mean=20&cap=1000000", 20.0, poisson, 1e6, true);
    check_mean_and_order("mindthestep?model=geometric&mean=1", 1.0, geometric, 5.0, true);
    check_mean_and_order("mindthestep?model=geometric&mean=15", 15.0, geometric, 5.0, true);
    check_mean_and_order("mindthestep?model=geometric&mean=15&momentum=0.1&cap=20", 15.0, geometric,
                         20.0, true);
    check_mean_and_order("mindthestep?model=geometric&mean=3&momentum=0.95", 3.0, geometric, 5.0,
                         false);
}

/* The weights P(i) factor(i) of the expected step, where no cap interferes, fall by mu per age:
 * momentum mu. */
TEST(test_geometric_gives_the_momentum_asked_for)
{
    static const struct {
        const char *schedule;
        double momentum;
    } cases[] = {
        {"mindthestep?model=geometric&mean=7&momentum=0.6&cap=1000", 0.6},
        {"mindthestep?model=geometric&mean=7&momentum=0.875&cap=1000",
         0.875}, /* 1 - p: constant step */
        {"mindthestep?model=geometric&mean=7&cap=1000", 0.875 * 0.875},
    };
    for (unsigned c = 0; c < DROVE_COUNT(cases); c++) {
        drove_optim *optim = make_schedule(cases[c].schedule, 2);
        for (unsigned i = 0; i < 60; i++) {
            double now = geometric(7.0, i) * factor_at(optim, i);
            double next = geometric(7.0, i + 1) * factor_at(optim, i + 1);
            assert_true(fabs(next / now - cases[c].momentum) < 1e-9);
        }
        drove__optim_destroy(optim);
    }
    drove_optim *constant = make_schedule(cases[1].schedule, 2);
    for (unsigned i = 0; i < 60; i++) assert_true(fabs(factor_at(constant, i) - 1.0) < 1e-9);
    drove__optim_destroy(constant);
}

/* Poisson, no cap: factor(i) = P(tau >= i) / ((1 + mean) P(tau = i)), so that the weights fall
 * from age to age in proportion to P. */
TEST(test_poisson_closed_form)
{
    static const double means[] = {1.0, 3.0, 7.0};
    for (unsigned m = 0; m < DROVE_COUNT(means); m++) {
        char schedule[64];
        snprintf(schedule, sizeof schedule, "mindthestep?mean=%g&cap=1000000", means[m]);
        drove_optim *optim = make_schedule(schedule, 2);
        for (unsigned i = 0; i < 20; i++) {
            double at_least = 0.0;
            for (unsigned k = i; k < 100; k++) at_least += poisson(means[m], k);
            double expected = at_least / ((1.0 + means[m]) * poisson(means[m], i));
            assert_true(fabs(factor_at(optim, i) / expected - 1.0) < 1e-9);
            double fall = poisson(means[m], i) * factor_at(optim, i) -
                          poisson(means[m], i + 1) * factor_at(optim, i + 1);
            assert_true(fabs(fall * (1.0 + means[m]) / poisson(means[m], i) - 1.0) < 1e-8);
        }
        drove__optim_destroy(optim);
    }
}

/* p[n] of CMP(lambda, nu), and its mean. */
static double cmp(double lambda, double nu, double *p, unsigned n)
{
    double sum = p[0] = 1.0, mean = 0.0;
    for (unsigned i = 1; i < n; i++) sum += p[i] = p[i - 1] * lambda / pow((double)i, nu);
    for (unsigned i = 0; i < n; i++) p[i] /= sum;
    for (unsigned i = 0; i < n; i++) mean += (double)i * p[i];
    return mean;
}

TEST(test_cmp)
{
    enum { N_P = 400 };
    static double p[N_P];
    static const double nus[] = {0.5, 1.0, 2.0}; /* none reaches the cap */
    for (unsigned c = 0; c < DROVE_COUNT(nus); c++) {
        char schedule[96];
        snprintf(schedule, sizeof schedule, "mindthestep?model=cmp&nu=%g&mean=7&cap=1000000",
                 nus[c]);
        drove_optim *optim = make_schedule(schedule, 2);
        double low = 1e-6, high = 1e6; /* lambda with mean 7, by bisection on its logarithm */
        for (int i = 0; i < 200; i++) {
            double middle = sqrt(low * high);
            if (cmp(middle, nus[c], p, N_P) < 7.0) low = middle;
            else high = middle;
        }
        double mean_factor = 0.0;
        for (unsigned i = 0; i < N_P; i++) mean_factor += p[i] * factor_at(optim, i);
        assert_true(fabs(mean_factor - 1.0) < 1e-6);
        for (unsigned i = 0; i < 12; i++) { /* weights fall in proportion to P */
            double fall = p[i] * factor_at(optim, i) - p[i + 1] * factor_at(optim, i + 1);
            assert_true(fabs(fall * 8.0 / p[i] - 1.0) < 1e-6);
        }
        drove__optim_destroy(optim);
    }
}

TEST(test_one_worker_changes_nothing)
{
    static const char *const schedules[] = {"mindthestep", "mindthestep?model=geometric",
                                            "mindthestep?model=cmp&nu=2"};
    for (unsigned i = 0; i < DROVE_COUNT(schedules); i++) {
        drove_optim *optim = make_schedule(schedules[i], 1);
        for (uint64_t tau = 0; tau < 1000; tau += 37) assert_true(factor_at(optim, tau) == 1.0);
        drove__optim_destroy(optim);
    }
    /* and the mean follows the number of workers */
    drove_optim *eight = make_schedule("mindthestep", 8),
                *mean = make_schedule("mindthestep?mean=7", 2);
    for (uint64_t tau = 0; tau < 40; tau++) {
        assert_true(factor_at(eight, tau) == factor_at(mean, tau));
    }
    drove__optim_destroy(eight);
    drove__optim_destroy(mean);
}

/* The ends of what is accepted: no overflow, no endless search, a finite positive factor
 * everywhere.  Where nearly nothing is stale the mean factor, which is 1, is that of no
 * staleness. */
TEST(test_extremes)
{
    static const char *const schedules[] = {
        "mindthestep?mean=1e-9",
        "mindthestep?mean=10000",
        "mindthestep?model=cmp&nu=0.1&mean=10000",
        "mindthestep?model=cmp&nu=10&mean=10000",
        "mindthestep?model=cmp&nu=10&mean=1e-9",
        "mindthestep?model=cmp&nu=10&mean=1e-60",
        "mindthestep?model=geometric&mean=1e-9&momentum=0.9999",
        "mindthestep?model=geometric&mean=10000&momentum=0.001&cap=1000000",
        "mindthestep?model=geometric&mean=10000&momentum=0.9999&cap=1.001",
    };
    for (unsigned i = 0; i < DROVE_COUNT(schedules); i++) {
        drove_optim *optim = make_schedule(schedules[i], 2);
        for (uint64_t tau = 0; tau < 1000000000; tau = 2 * tau + 1) {
            double factor = factor_at(optim, tau);
            if (!(factor >= 0.0 && factor <= 1e6)) fail_msg("%s: factor %g", schedules[i], factor);
        }
        if (strstr(schedules[i], "mean=1e-") != NULL && fabs(factor_at(optim, 0) - 1.0) > 1e-6)
            fail_msg("%s: factor(0) %g", schedules[i], factor_at(optim, 0));
        drove__optim_destroy(optim);
    }
}

/* ---- options ---- */

typedef struct bounds {
    const char *before, *least, *most, *too_little, *too_much;
} bounds;

/* Least and most are accepted, what lies beyond is not. */
static const bounds all_bounds[] = {
    {"step:", "1e-300,1", "1,1", "0,1", "1.01,1"},
    {"step:1,", "1e-9", "1e9", "0.9e-9", "1.1e9"},
    {"exponential:", "1e-300", "1", "0", "1.01"},
    {"inverse:", "0", "1e9", "-0.1", "1.1e9"},
    {"cosine:", "1e-9", "1e9", "0.9e-9", "1.1e9"},
    {"cosine:10?floor=", "0", "1", "-0.1", "1.1"},
    {"plateau:", "1e-300", "1", "0", "1.01"},
    {"plateau?patience=", "1", "1073741824", "0", "1073741825"},
    {"plateau?cuts=", "0", "1000", "-1", "1001"},
    {"mindthestep?mean=", "0", "10000", "-1", "10001"},
    {"mindthestep?cap=", "1.001", "1e6", "1", "1.1e6"},
    {"mindthestep?model=cmp&nu=", "0.1", "10", "0.09", "10.1"},
    {"mindthestep?model=geometric&momentum=", "0.001", "0.9999", "0", "1"},
};

static drove_status try_value(const char *before, const char *value)
{
    char schedule[64];
    snprintf(schedule, sizeof schedule, "%s%s", before, value);
    drove_optim_options opt = plain_options(16);
    opt.schedule = schedule;
    drove_optim *optim = NULL;
    drove_status status = drove__optim_create(&opt, &optim);
    drove__optim_destroy(optim);
    return status;
}

TEST(test_bounds)
{
    for (unsigned i = 0; i < DROVE_COUNT(all_bounds); i++) {
        const bounds *b = &all_bounds[i];
        if (try_value(b->before, b->least) != DROVE_OK || try_value(b->before, b->most) != DROVE_OK)
            fail_msg("%s", drove_error_text());
        if (try_value(b->before, b->too_little) != DROVE_E_ARG ||
            try_value(b->before, b->too_much) != DROVE_E_ARG)
            fail_msg("%s%s or %s was accepted", b->before, b->too_little, b->too_much);
    }
}

static void refused(const char *schedule, const char *words)
{
    drove_optim_options opt = plain_options(16);
    opt.schedule = schedule;
    drove_optim *optim = NULL;
    assert_int_equal(drove__optim_create(&opt, &optim), DROVE_E_ARG);
    assert_null(optim);
    if (strstr(drove_error_text(), words) == NULL)
        fail_msg("%s: expected \"%s\", found \"%s\"", schedule, words, drove_error_text());
}

/* An error says how many arguments there have to be, and how many there are. */
TEST(test_arguments_are_counted)
{
    refused("step", "step: expected step:FACTOR,EPOCHS, found 0 arguments");
    refused("step:0.5", "step: expected step:FACTOR,EPOCHS, found 1 argument");
    assert_null(strstr(drove_error_text(), "arguments"));
    static const char *const one[] = {"exponential:FACTOR", "inverse:K", "cosine:EPOCHS",
                                      "linear:EPOCHS", "warmup:EPOCHS"};
    for (size_t i = 0; i < DROVE_COUNT(one); i++) {
        char name[32], words[96];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(one[i], ":"), one[i]);
        snprintf(words, sizeof words, "%s: expected %s, found 0 arguments", name, one[i]);
        refused(name, words);
        strcat(name, ":1,1");
        refused(name, "argument");
    }
    refused("constant:1", "argument");
    refused("staleness:1", "argument");
    refused("mindthestep:1", "argument");
    refused("plateau:0.5,1", "argument");
    refused("step:0.5,1,1", "argument");
    refused("step:0.5,1?floor=0", "floor");
    refused("mindthestep?nu=2",
            "mindthestep?nu: expected with model=cmp only, found model=poisson");
    refused("mindthestep?model=geometric&nu=2", "found model=geometric");
    refused("mindthestep?momentum=0.5",
            "mindthestep?momentum: expected with model=geometric only, found model=poisson");
    refused("mindthestep?model=cmp&momentum=0.5", "found model=cmp");
}
