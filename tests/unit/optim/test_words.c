/* The step of some parameters of a theta that is held as words: the same as that of floats by every
 * rule, wherever the state lies and however the step is cut. */
#include "support.h"

#include <math.h>
#include <string.h>

/* Words are fewer than numbers here; N is longer than what is stepped at once, and no multiple. */
enum { N = 5008, WORDS = 1264, STEPS = 6 };
static const float eta = 0.01f;

static drove_optim *optim_of(const drove_rule_ops *rule, drove_state_place place, bool is_words,
                             const drovek_table *kernels)
{
    drove_optim_options opt = plain_options(is_words ? WORDS : N);
    opt.rule = rule->name;
    opt.state = place;
    opt.kernels = kernels;
    if (is_words) opt.n_theta = N;
    return make_optim(&opt);
}

/* Parts of theta in any order, as layers come backwards and gradients in pieces. */
static const size_t cut[] = {0, 16, 1000, 1003, 3100, 4999, N};

typedef struct pair { /* the same run, by floats and by words */
    drove_optim *floats, *words;
    drove_optim_worker float_worker, word_worker;
    float *vector; /* [N (1 + states)] floats, state */
    float *theta;  /* [N] parameters of the run by words */
    float *state;  /* [states][N] shared; NULL */
} pair;

static void pair_step(pair *p, const float *g, uint64_t t, bool in_place)
{
    drove_step step;
    float *of_floats = copy_vector(g, N), *of_words = copy_vector(g, N);
    drove__optim_prepare(p->floats, &p->float_worker, p->vector, of_floats, NULL, 0, eta, &step);
    drove__optim_apply(p->floats, &step, 0, t, 0, N, p->vector, p->vector);
    for (size_t i = DROVE_COUNT(cut) - 1; i-- > 0;) {
        const size_t n = cut[i + 1] - cut[i];
        float *theta = p->theta + cut[i], *d = of_words + cut[i];
        drove__optim_step(p->words, &p->word_worker, p->state, t, cut[i], n,
                          in_place ? theta : NULL, d, eta);
        for (size_t k = 0; k < n && !in_place; k++) theta[k] += d[k];
    }
    drove__free(of_floats);
    drove__free(of_words);
}

static void check_rule(const drove_rule_ops *rule, drove_state_place place, bool in_place,
                       const drovek_table *kernels)
{
    pair p = {.floats = optim_of(rule, place, false, kernels),
              .words = optim_of(rule, place, true, kernels)};
    drove_rng rng;
    drove__rng_seed(&rng, 11, DROVE_RNG_TEST, 0);
    const bool is_own = p.words->state == DROVE_STATE_WORKER;
    const size_t n_states = is_own ? 0 : rule->n_state;
    assert_int_equal(p.words->n_vector, WORDS + n_states * N);
    assert_int_equal(p.floats->n_vector, N + n_states * N);
    assert_ok(drove__optim_worker_init(&p.float_worker, p.floats));
    assert_ok(drove__optim_worker_init(&p.word_worker, p.words));
    p.vector = drove__alloc(p.floats->n_vector, sizeof(float));
    p.theta = random_vector(&rng, N);
    p.state = is_own ? NULL : drove__alloc((n_states + 1) * N, sizeof(float));
    memcpy(p.vector, p.theta, N * sizeof(float));
    for (uint64_t t = 1; t <= STEPS; t++) {
        float *g = random_vector(&rng, N);
        pair_step(&p, g, t, in_place);
        drove__free(g);
        /* A step apart from theta rounds once more than some kernels do. */
        for (size_t i = 0; i < N && !in_place; i++)
            assert_true(fabsf(p.theta[i] - p.vector[i]) <= 4e-7f * (fabsf(p.vector[i]) + 1.0f));
        if (in_place) assert_same_bits(p.theta, p.vector, N, rule->name);
        if (n_states > 0) assert_same_bits(p.state, p.vector + N, n_states * N, rule->name);
        for (unsigned i = 0; is_own && i < rule->n_state; i++)
            assert_same_bits(p.word_worker.state[i], p.float_worker.state[i], N, rule->name);
    }
    drove__optim_worker_fini(&p.float_worker);
    drove__optim_worker_fini(&p.word_worker);
    drove__optim_destroy(p.floats);
    drove__optim_destroy(p.words);
    drove__free(p.vector);
    drove__free(p.theta);
    drove__free(p.state);
}

TEST(test_every_rule_is_that_of_floats)
{
    drovek_table kernels;
    for (unsigned tier = 0; next_tier(tier, &kernels); tier++)
        for (size_t i = 0; drove__rules[i] != NULL; i++)
            for (unsigned k = 0; k < 4; k++) {
                if (drove__rules[i]->n_state == 0 && k > 1) continue;
                check_rule(drove__rules[i], k / 2 ? DROVE_STATE_WORKER : DROVE_STATE_SHARED,
                           k % 2 != 0, &kernels);
            }
}

/* The steps themselves, by Adam's equations in double precision. */
TEST(test_adams_steps)
{
    drove_optim_options opt = plain_options(WORDS);
    opt.rule = "adam";
    opt.n_theta = N;
    drove_optim *optim = make_optim(&opt);
    drove_rng rng;
    drove__rng_seed(&rng, 12, DROVE_RNG_TEST, 0);
    float *shared = drove__alloc(2 * N, sizeof *shared);
    double *m = drove__alloc(2 * N, sizeof *m);
    for (int t = 1; t <= STEPS; t++) {
        float *g = random_vector(&rng, N), *d = copy_vector(g, N);
        drove__optim_step(optim, NULL, shared, (uint64_t)t, 0, N, NULL, d, eta);
        for (size_t i = 0; i < N; i++) {
            const double x = (double)g[i];
            m[i] = 0.9 * m[i] + 0.1 * x;
            m[N + i] = 0.999 * m[N + i] + 0.001 * x * x;
            const double step = -(double)eta * m[i] / (1.0 - pow(0.9, t)) /
                                (sqrt(m[N + i] / (1.0 - pow(0.999, t))) + 1e-8);
            assert_true(fabs((double)d[i] - step) < 2e-6 * (double)eta);
        }
        drove__free(g);
        drove__free(d);
    }
    drove__free(shared);
    drove__free(m);
    drove__optim_destroy(optim);
}

/* theta + mu v of some parameters is what all of them give. */
TEST(test_looking_ahead)
{
    for (int own = 0; own <= 1; own++) {
        drove_optim_options opt = plain_options(N);
        opt.rule = "nesterov:0.7";
        opt.state = own ? DROVE_STATE_WORKER : DROVE_STATE_SHARED;
        drove_optim *floats = make_optim(&opt);
        opt.n_params = WORDS, opt.n_theta = N;
        drove_optim *words = make_optim(&opt);
        drove_optim_worker of_floats, of_words;
        drove_rng rng;
        drove__rng_seed(&rng, 13, DROVE_RNG_TEST, 0);
        assert_ok(drove__optim_worker_init(&of_floats, floats));
        assert_ok(drove__optim_worker_init(&of_words, words));
        float *vector = random_vector(&rng, 2 * N), *theta = copy_vector(vector, N);
        if (own) memcpy(of_floats.state[0], vector + N, N * sizeof *vector);
        if (own) memcpy(of_words.state[0], vector + N, N * sizeof *vector);
        for (size_t i = DROVE_COUNT(cut) - 1; i-- > 0;)
            drove__optim_look_ahead(words, &of_words, own ? NULL : vector + N, cut[i],
                                    cut[i + 1] - cut[i], theta + cut[i]);
        const float *ahead = drove__optim_theta(floats, &of_floats, vector);
        assert_same_bits(theta, ahead, N, "ahead");
        for (size_t i = 0; i < N; i++) {
            const double by = (double)vector[i] + 0.7 * (double)vector[N + i];
            assert_true(fabs((double)theta[i] - by) < 1e-6 * (fabs(by) + 1.0));
        }
        drove__optim_worker_fini(&of_floats);
        drove__optim_worker_fini(&of_words);
        drove__optim_destroy(floats);
        drove__optim_destroy(words);
        drove__free(vector);
        drove__free(theta);
    }
}
