/* What publishing may rely on: a step applied in pieces, out of place or by spans gives the bits
 * of one applied whole, in place and dense; and what happens to a gradient before it is
 * published. */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N = 1008, N_STEPS = 5 };

static const char *const rules[] = {"sgd", "momentum", "nesterov", "adagrad", "rmsprop", "adam"};

/* How the steps of a run are applied. */
typedef enum manner { WHOLE = 0, IN_PIECES = 1, OUT_OF_PLACE = 2, BY_SPANS = 4 } manner;

/* A few parts of a vector, touching and apart, off any alignment; the last is not of the step, and
 * only lies behind the others in memory. */
static const drove_span spans[] = {{3, 1}, {4, 60}, {200, 16}, {255, 300}, {900, 107}, {1007, 1}};
enum { N_SPANS = DROVE_COUNT(spans) - 1 };

static bool in_span(size_t i)
{
    for (unsigned s = 0; s < N_SPANS; s++) {
        if (i >= spans[s].offset && i - spans[s].offset < spans[s].length) return true;
    }
    return false;
}

static void apply(const drove_optim *optim, const drove_step *step, uint64_t t, manner how,
                  drove_rng *rng, const float *in, float *out)
{
    if (!(how & IN_PIECES)) {
        drove__optim_apply(optim, step, 0, t, 0, N, in, out);
        return;
    }
    for (size_t at = 0; at < N;) {
        size_t length = 16 * (1 + drove__rng_below(rng, 12));
        if (length > N - at) length = N - at;
        drove__optim_apply(optim, step, 0, t, at, length, in, out);
        at += length;
    }
}

/* N_STEPS steps with gradients that are 0 outside the spans if `sparse`; the final vector,
 * drove__free. */
static float *run(const drove_optim *optim, manner how, bool sparse)
{
    drove_rng rng, pieces;
    drove__rng_seed(&rng, 2, DROVE_RNG_TEST, 0);
    drove__rng_seed(&pieces, 2, DROVE_RNG_TEST, 1);
    float *now = random_vector(&rng, optim->n_vector), *next = random_vector(&rng, optim->n_vector);
    for (size_t i = N; i < optim->n_vector; i++) now[i] = fabsf(now[i]); /* sums of squares */
    drove_optim_worker w;
    assert_ok(drove__optim_worker_init(&w, optim));
    for (uint64_t t = 1; t <= N_STEPS; t++) {
        float *g = random_vector(&rng, N);
        for (size_t i = 0; i < N; i++) {
            if (sparse && !in_span(i)) g[i] = how & BY_SPANS ? NAN : 0.0f; /* never read */
        }
        drove_step step;
        const drove_span *span = how & BY_SPANS ? spans : NULL;
        drove__optim_prepare(optim, &w, now, g, span, span == NULL ? 0 : N_SPANS,
                             drove__optim_eta(optim, 0.0), &step);
        if (how & OUT_OF_PLACE) {
            apply(optim, &step, t, how, &pieces, now, next);
            float *swap = now;
            now = next;
            next = swap;
        } else {
            apply(optim, &step, t, how, &pieces, now, now);
        }
        drove__free(g);
    }
    drove__optim_worker_fini(&w);
    drove__free(next);
    return now;
}

static void check_manners(const drove_optim *optim, const char *rule, bool sparse)
{
    float *whole = run(optim, WHOLE, sparse);
    for (int how = 1; how < 8; how++) {
        if ((how & BY_SPANS) && !(sparse && optim->spans_ok)) continue;
        char what[96];
        snprintf(what, sizeof what, "%s, %s, manner %d", rule, optim->kernels->isa, how);
        float *other = run(optim, (manner)how, sparse);
        assert_same_bits(whole, other, optim->n_vector, what);
        drove__free(other);
    }
    drove__free(whole);
}

TEST(test_all_manners_give_the_same_bits)
{
    drovek_table kernels;
    for (unsigned tier = 0; next_tier(tier, &kernels); tier++) {
        for (unsigned r = 0; r < DROVE_COUNT(rules); r++) {
            for (int place = 0; place < 2; place++) {
                drove_optim_options opt = plain_options(N);
                opt.kernels = &kernels;
                opt.rule = rules[r];
                opt.state = (drove_state_place)place;
                drove_optim *optim = make_optim(&opt);
                check_manners(optim, rules[r], false);
                check_manners(optim, rules[r], true);
                drove__optim_destroy(optim);
            }
        }
    }
}

static size_t n_copied;

static void counting_copy(float *to, const float *from, size_t n)
{
    memmove(to, from, n * sizeof *to);
    n_copied += n;
}

/* In place, what a step does not change is not written at all: others may write it meanwhile, and
 * what they wrote would be lost.  Elsewhere each vector of it is copied once. */
TEST(test_only_other_vectors_get_copies)
{
    size_t n_outside = 0;
    for (size_t i = 0; i < N; i++) n_outside += !in_span(i);
    for (unsigned r = 0; r < DROVE_COUNT(rules); r++) {
        drovek_table kernels;
        assert_true(next_tier(0, &kernels));
        kernels.copy_f32 = counting_copy;
        drove_optim_options opt = plain_options(N);
        opt.kernels = &kernels;
        opt.rule = rules[r];
        drove_optim *optim = make_optim(&opt);
        drove_rng rng;
        drove__rng_seed(&rng, 3, DROVE_RNG_TEST, 0);
        float *value = random_vector(&rng, N), *out = random_vector(&rng, optim->n_vector);
        float *in = drove__alloc(optim->n_vector, sizeof *in);
        const drove_step step = {.value = value, .span = spans, .n_spans = N_SPANS, .eta = 0.1f};
        n_copied = 0;
        drove__optim_apply(optim, &step, 0, 1, 0, N, in, in);
        assert_int_equal(n_copied, 0);
        drove__optim_apply(optim, &step, 0, 1, 0, N, in, out);
        assert_int_equal(n_copied, n_outside * (optim->n_vector / N));
        drove__free(in);
        drove__free(out);
        drove__free(value);
        drove__optim_destroy(optim);
    }
}

/* The same with a norm to clip to: the norm is of the spans, and the rest of the vector is not
 * looked at. */
TEST(test_clipped_spans)
{
    drove_optim_options opt = plain_options(N);
    opt.rule = "adagrad";
    opt.clip = 3.0; /* the gradients' norm is about 22 */
    drove_optim *optim = make_optim(&opt);
    float *dense = run(optim, WHOLE, true), *sparse = run(optim, BY_SPANS, true);
    for (size_t i = 0; i < optim->n_vector; i++) {
        /* the sum of squares is added up in another order, so its last bits may differ */
        assert_true(fabsf(dense[i] - sparse[i]) <= 1e-6f * (1.0f + fabsf(dense[i])));
    }
    drove__free(dense);
    drove__free(sparse);
    drove__optim_destroy(optim);
}

/* ---- what a rule promises and what a choice of options excludes ---- */

typedef struct promise {
    const char *rule, *schedule;
    double weight_decay, clip;
    drove_state_place place;
    size_t parts; /* n_vector / n */
    bool spans_ok, fusable;
} promise;

TEST(test_promises)
{
    static const promise promises[] = {
        {"sgd", "constant", 0, 0, DROVE_STATE_SHARED, 1, true, true},
        {"sgd", "step:0.5,2+warmup:1", 0, 0, DROVE_STATE_WORKER, 1, true, true},
        {"sgd", "constant+staleness", 0, 0, DROVE_STATE_SHARED, 1, true, false},
        {"sgd", "mindthestep", 0, 0, DROVE_STATE_SHARED, 1, true, false},
        {"sgd", "constant", 1e-4, 0, DROVE_STATE_SHARED, 1, false, false},
        {"sgd", "constant", 0, 1, DROVE_STATE_SHARED, 1, true, false},
        {"momentum", "constant", 0, 0, DROVE_STATE_SHARED, 2, false, false},
        {"momentum", "constant", 0, 0, DROVE_STATE_WORKER, 1, false, false},
        {"nesterov", "constant", 0, 0, DROVE_STATE_SHARED, 2, false, false},
        {"adagrad", "constant", 0, 0, DROVE_STATE_SHARED, 2, true, false},
        {"adagrad", "constant", 0, 0, DROVE_STATE_WORKER, 1, true, false},
        {"rmsprop", "constant", 0, 0, DROVE_STATE_SHARED, 2, false, false},
        {"adam", "constant", 0, 0, DROVE_STATE_SHARED, 3, false, false},
        {"adam", "constant", 0, 0, DROVE_STATE_WORKER, 1, false, false},
    };
    for (unsigned i = 0; i < DROVE_COUNT(promises); i++) {
        const promise *p = &promises[i];
        drove_optim_options opt = plain_options(N);
        opt.rule = p->rule;
        opt.schedule = p->schedule;
        opt.weight_decay = p->weight_decay;
        opt.clip = p->clip;
        opt.state = p->place;
        opt.n_workers = 4;
        drove_optim *optim = make_optim(&opt);
        if (optim->n_vector != p->parts * N || optim->spans_ok != p->spans_ok ||
            optim->fusable != p->fusable)
            fail_msg("promise %u: %zu floats, spans %d, fusable %d", i, optim->n_vector,
                     optim->spans_ok, optim->fusable);
        drove__optim_destroy(optim);
    }
}

/* ---- weight decay, clipping ---- */

/* (wd / 2) |theta|^2 in double, with theta[i] moved by h. */
static double penalty(const float *theta, size_t n, double wd, size_t moved, double h)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        double x = (double)theta[i] + (i == moved ? h : 0.0);
        sum += 0.5 * wd * x * x;
    }
    return sum;
}

TEST(test_weight_decay_is_the_gradient_of_the_penalty)
{
    drove_rng rng;
    drove__rng_seed(&rng, 3, DROVE_RNG_TEST, 0);
    enum { N_THETA = 3000 }; /* longer than the private copy it goes through */
    drove_optim_options opt = plain_options(N_THETA);
    opt.weight_decay = 0.25;
    drove_optim *optim = make_optim(&opt);
    drove_optim_worker w;
    assert_ok(drove__optim_worker_init(&w, optim));
    float *theta = random_vector(&rng, N_THETA), *g = random_vector(&rng, N_THETA);
    float *loss_gradient = copy_vector(g, N_THETA);
    drove_step step;
    drove__optim_prepare(optim, &w, theta, g, NULL, 0, 0.1f, &step);
    for (size_t i = 0; i < N_THETA; i++) {
        double h = 0.125, expected = (double)loss_gradient[i];
        expected +=
            (penalty(theta, N_THETA, 0.25, i, h) - penalty(theta, N_THETA, 0.25, i, -h)) / (2 * h);
        assert_true(fabs((double)step.value[i] - expected) < 1e-6);
    }
    assert_true(step.eta == 0.1f);
    drove__free(theta);
    drove__free(g);
    drove__free(loss_gradient);
    drove__optim_worker_fini(&w);
    drove__optim_destroy(optim);
}

static double norm(const float *x, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) sum += (double)x[i] * (double)x[i];
    return sqrt(sum);
}

TEST(test_clip)
{
    drove_rng rng;
    drove__rng_seed(&rng, 4, DROVE_RNG_TEST, 0);
    drove_optim_options opt = plain_options(N);
    opt.clip = 2.5;
    drove_optim *optim = make_optim(&opt);
    drove_optim_worker w;
    assert_ok(drove__optim_worker_init(&w, optim));
    float *theta = random_vector(&rng, N), *g = random_vector(&rng, N);
    float *before = copy_vector(g, N);
    drove_step step;

    double factor = 2.5 / norm(before, N);
    assert_true(factor < 0.2);
    drove__optim_prepare(optim, &w, theta, g, NULL, 0, 0.1f, &step);
    assert_true(fabs(norm(g, N) - 2.5) < 1e-5);
    for (size_t i = 0; i < N; i++) {
        assert_true(fabs((double)g[i] - factor * (double)before[i]) < 1e-6);
    }
    /* shorter than the limit: not a bit changes */
    for (size_t i = 0; i < N; i++) g[i] = before[i] = 0.5f * g[i];
    drove__optim_prepare(optim, &w, theta, g, NULL, 0, 0.1f, &step);
    assert_same_bits(g, before, N, "short gradient");

    /* a gradient that is not finite stays so: the run has to notice it */
    g[5] = INFINITY;
    drove__optim_prepare(optim, &w, theta, g, NULL, 0, 0.1f, &step);
    assert_false(isfinite(g[5]));
    drove__free(theta);
    drove__free(g);
    drove__free(before);
    drove__optim_worker_fini(&w);
    drove__optim_destroy(optim);
}

/* A gradient by itself, as a mean of several is limited: the same as in a step, by hand. */
TEST(test_clip_of_a_mean)
{
    drove_optim_options opt = plain_options(N);
    opt.clip = 2.5;
    drove_optim *optim = make_optim(&opt);
    float g[N] = {0};
    g[0] = 6.0f;
    g[N - 1] = -8.0f; /* a norm of 10 */
    drove__optim_clip(optim, g);
    assert_true(g[0] == 1.5f && g[N - 1] == -2.0f);
    drove__optim_clip(optim, g); /* it is 2.5 now */
    assert_true(g[0] == 1.5f && g[N - 1] == -2.0f);
    drove__optim_destroy(optim);
}

/* The norm that is limited is that of the gradient of loss and penalty together. */
TEST(test_decay_comes_before_clipping)
{
    drove_rng rng;
    drove__rng_seed(&rng, 6, DROVE_RNG_TEST, 0);
    drove_optim_options opt = plain_options(N);
    opt.clip = 2.5;
    opt.weight_decay = 0.5;
    drove_optim *optim = make_optim(&opt);
    drove_optim_worker w;
    assert_ok(drove__optim_worker_init(&w, optim));
    float *theta = random_vector(&rng, N), *g = random_vector(&rng, N);
    double sum[N], squares = 0.0;
    drove_step step;
    for (size_t i = 0; i < N; i++) {
        sum[i] = (double)g[i] + 0.5 * (double)theta[i];
        squares += sum[i] * sum[i];
    }
    drove__optim_prepare(optim, &w, theta, g, NULL, 0, 0.1f, &step);
    for (size_t i = 0; i < N; i++)
        assert_true(fabs((double)step.value[i] - sum[i] * 2.5 / sqrt(squares)) < 1e-6);
    drove__free(theta);
    drove__free(g);
    drove__optim_worker_fini(&w);
    drove__optim_destroy(optim);
}

/* ---- staleness reaches the step, wherever the state is ---- */

TEST(test_staleness_scales_the_step)
{
    static const struct {
        const char *rule;
        drove_state_place place;
    } kinds[] = {{"sgd", DROVE_STATE_SHARED},
                 {"momentum", DROVE_STATE_SHARED},
                 {"momentum", DROVE_STATE_WORKER}};
    for (unsigned k = 0; k < DROVE_COUNT(kinds); k++) {
        drove_optim_options opt = plain_options(16);
        opt.rule = kinds[k].rule;
        opt.state = kinds[k].place;
        opt.schedule = "staleness";
        opt.lr = 0.5;
        drove_optim *optim = make_optim(&opt);
        for (uint64_t tau = 0; tau <= 8; tau += 4) {
            drove_optim_worker w;
            assert_ok(drove__optim_worker_init(&w, optim));
            float vector[32] = {0}, g[16];
            for (int i = 0; i < 16; i++) g[i] = (float)i;
            drove_step step;
            drove__optim_prepare(optim, &w, vector, g, NULL, 0, drove__optim_eta(optim, 0), &step);
            drove__optim_apply(optim, &step, tau, 1, 0, 16, vector, vector);
            float factor = tau == 0 ? 1.0f : 1.0f / (float)tau;
            for (int i = 0; i < 16; i++) assert_true(vector[i] == -0.5f * factor * (float)i);
            drove__optim_worker_fini(&w);
        }
        drove__optim_destroy(optim);
    }
}

/* ---- refusals ---- */

static void refuse(const char *rule, const char *schedule, double lr, double decay, double clip,
                   const char *part)
{
    drove_optim_options opt = plain_options(16);
    opt.rule = rule;
    opt.schedule = schedule;
    opt.lr = lr;
    opt.weight_decay = decay;
    opt.clip = clip;
    drove_optim *optim = (drove_optim *)&opt;
    drove_status status = drove__optim_create(&opt, &optim);
    if (status != DROVE_E_ARG || strstr(drove_error_text(), part) == NULL)
        fail_msg("%s, %s: %s, expected \"%s\" in \"%s\"", rule, schedule, drove_status_name(status),
                 part, drove_error_text());
    assert_null(optim);
}

TEST(test_refusals)
{
    refuse("sdg", "constant", 0.1, 0, 0, "did you mean \"sgd\"?");
    refuse("xyzzy", "constant", 0.1, 0, 0, "sgd, momentum, nesterov, adagrad, rmsprop, adam");
    refuse("momentum:1", "constant", 0.1, 0, 0, "momentum");
    refuse("momentum:-0.1", "constant", 0.1, 0, 0, "-0.1");
    refuse("momentum:0.9,0.9", "constant", 0.1, 0, 0, "at most 1 argument");
    refuse("adam?beta1=0.9&beta3=0.9", "constant", 0.1, 0, 0, "beta3");
    refuse("adagrad?epsilon=0", "constant", 0.1, 0, 0, "epsilon");
    refuse("sgd:0.1", "constant", 0.1, 0, 0, "sgd");
    refuse("sgd", "constnat", 0.1, 0, 0, "did you mean \"constant\"?");
    refuse("sgd", "step:0.1", 0.1, 0, 0, "step:FACTOR,EPOCHS");
    refuse("sgd", "step:2,1", 0.1, 0, 0, "step");
    refuse("sgd", "step:0.5,0", 0.1, 0, 0, "step");
    refuse("sgd", "cosine:3?flor=1", 0.1, 0, 0, "did you mean \"floor\"?");
    refuse("sgd", "constant+", 0.1, 0, 0, "expected name");
    refuse("sgd", "constant+constant+constant+constant+constant", 0.1, 0, 0, "at most 4");
    refuse("sgd", "mindthestep?model=poison", 0.1, 0, 0, "poisson");
    refuse("sgd", "mindthestep?nu=2", 0.1, 0, 0, "model=cmp");
    refuse("sgd", "mindthestep?model=cmp&momentum=0.5", 0.1, 0, 0, "model=geometric");
    refuse("sgd", "mindthestep?cap=1", 0.1, 0, 0, "cap");
    static const char *const too_many[] = {"constant:1",   "step:0.5,1,1",  "exponential:0.5,1",
                                           "inverse:1,2",  "cosine:3,4",    "linear:3,4",
                                           "warmup:3,4",   "plateau:0.5,1", "staleness:1",
                                           "mindthestep:1"};
    for (size_t i = 0; i < DROVE_COUNT(too_many); i++)
        refuse("sgd", too_many[i], 0.1, 0, 0, "expected");
    refuse("sgd", "constant", 0.0, 0, 0, "lr");
    refuse("sgd", "constant", (double)NAN, 0, 0, "lr");
    refuse("sgd", "constant", (double)INFINITY, 0, 0, "lr");
    refuse("sgd", "constant", 0.1, -1, 0, "weight-decay");
    refuse("sgd", "constant", 0.1, 0, -1, "clip");
}
