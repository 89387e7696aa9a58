/* tests/unit/engine/test_fixed_rules.c - steps of networks in fixed point by a rule with state: the
 * rule here is a plain loop of this file, and every word is computed a second time, by hand.
 */
#include "fixed_numbers.h"
#include "fixed_problem.h"
#include "support/test.h"

#include "base/mem.h"
#include "support/engine_calls.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct adam {   /* what the rule saw and gave, in the order of theta */
    double *m1, *m2;    /* [n] */
    float *g, *d;       /* [n] gradient, step */
    unsigned *n_calls;  /* [n] in this call of steps */
    double t;           /* updates before this call */
    uint64_t most_step; /* number of a step in this call */
    float mu_v;         /* of a rule that looks ahead */
    float constant;     /* the step, in the place of Adam's; 0: Adam's */
} adam;

/* Kingma and Ba, ICLR 2015, Algorithm 1. */
static void adam_step(void *context, uint64_t step, size_t offset, size_t n, float *theta, float *g,
                      float eta)
{
    adam *a = context;
    const double t = a->t + (double)step + 1.0;
    if (step > a->most_step) a->most_step = step;
    for (size_t i = 0; i < n; i++) {
        const size_t k = offset + i;
        const double x = (double)g[i];
        a->m1[k] = 0.9 * a->m1[k] + 0.1 * x;
        a->m2[k] = 0.999 * a->m2[k] + 0.001 * x * x;
        const double m1 = a->m1[k] / (1.0 - pow(0.9, t)), m2 = a->m2[k] / (1.0 - pow(0.999, t));
        a->g[k] = g[i];
        a->d[k] = a->constant > 0.0f ? a->constant : (float)(-(double)eta * m1 / (sqrt(m2) + 1e-8));
        a->n_calls[k]++;
        if (theta != NULL) theta[i] += a->d[k];
        else g[i] = a->d[k];
    }
}

static void adam_ahead(void *context, size_t offset, size_t n, float *theta)
{
    const adam *a = context;
    for (size_t i = 0; i < n; i++) theta[i] += a->mu_v * (float)((offset + i) % 5);
}

typedef struct rig {
    fixed_problem p;
    adam a;
    drove_engine_rule rule;
    float *before; /* [n] parameters before the steps */
    size_t n;
} rig;

static void rig_setup(rig *r, const char *model, const char *precision, const char *rounding,
                      double decay, bool looks_ahead)
{
    memset(r, 0, sizeof *r);
    r->rule = (drove_engine_rule){.step = adam_step,
                                  .look_ahead = looks_ahead ? adam_ahead : NULL,
                                  .context = &r->a};
    fixed_setup_rule(&r->p, model, precision, rounding, decay, &r->rule);
    const size_t n = r->n = r->p.model->n_params;
    r->a.m1 = fixed_zeroed(n, sizeof(double));
    r->a.m2 = fixed_zeroed(n, sizeof(double));
    r->a.g = fixed_zeroed(n, sizeof(float));
    r->a.d = fixed_zeroed(n, sizeof(float));
    r->a.n_calls = fixed_zeroed(n, sizeof(unsigned));
    r->before = fixed_zeroed(n, sizeof(float));
}

static void rig_teardown(rig *r)
{
    fixed_teardown(&r->p);
    drove__free(r->a.m1);
    drove__free(r->a.m2);
    drove__free(r->a.g);
    drove__free(r->a.d);
    drove__free(r->a.n_calls);
    drove__free(r->before);
}

static drove_steps take(rig *r, size_t n_rows, uint64_t number, float eta)
{
    const drove_batch batch = fixed_batch(&r->p, n_rows, number);
    const drove_params live = {.words = r->p.words};
    drove_steps made;
    memset(r->a.n_calls, 0, r->n * sizeof *r->a.n_calls);
    r->a.most_step = 0;
    drove__engine_fixed.typed->unpack(r->p.shared, r->p.words, r->before);
    assert_int_equal(drove__engine_fixed.steps(r->p.engine, &live, &batch, eta, &made), DROVE_OK);
    assert_true(made.is_finite);
    r->a.t += (double)made.n_steps;
    drove__engine_fixed.typed->unpack(r->p.shared, r->p.words, r->p.after);
    return made;
}

/* ---- what a word becomes ---- */

/* An integer and a step in units, rounded to the nearest, within the format: floor of their sum
 * with the middle of the random numbers (kernel/linear.h). */
static float moved_integer(const drove_engine_shared *shared, float before, float d, float unit)
{
    const unsigned bits = shared->format.model;
    const float most = (float)drove__fixed_most(bits), least = bits % 8 == 0 ? -most - 1.0f : -most;
    const float half = (0x8000 + 0.5f) / 0x10000;
    float q = before / unit + floorf(fmaf(d, 1.0f / unit, half));
    q = q > most ? most : q < least ? least : q;
    return q * unit;
}

/* The nearest of the two bf16 numbers next to before + d, ties away from zero. */
static float moved_bf16(float before, float d)
{
    const float sum = before + d;
    uint32_t bits;
    float out;
    memcpy(&bits, &sum, sizeof bits);
    bits = (bits + 0x8000u) & 0xffff0000u;
    memcpy(&out, &bits, sizeof out);
    return out;
}

static void check_part(const rig *r, const drove_fixed_part *part, unsigned n_steps)
{
    const drove_engine_shared *shared = r->p.shared;
    for (size_t k = 0; k < part->length; k++) {
        const size_t i = part->offset + k;
        const float before = r->before[i], d = r->a.d[i];
        float expected = before + d;
        assert_int_equal(r->a.n_calls[i], n_steps);
        if (!part->is_tail && shared->format.in_bf16) expected = moved_bf16(before, d);
        else if (!part->is_tail && shared->format.model > 0)
            expected = moved_integer(shared, before, d, drove__fixed_unit_at(part, k));
        if (r->p.after[i] != expected)
            fail_msg("%s: number %zu of layer %zu: %g by %g: expected %g, found %g",
                     shared->format.text, k, part->layer, (double)before, (double)d,
                     (double)expected, (double)r->p.after[i]);
    }
}

static void host_gradient(const fixed_problem *p, const float *theta, float decay, float *g)
{
    const drove_engine_options opt = {
        .model = p->model, .kernels = &p->kernels, .data = &p->data, .max_rows = FIXED_ROWS};
    const drove_batch batch = fixed_batch(p, FIXED_BATCH, 0);
    drove_engine *host;
    drove_gradient to = {.value = g};
    drove_score score = {0};
    assert_int_equal(drove__engine_host.create(&opt, &host), DROVE_OK);
    assert_int_equal(engine_gradient(&drove__engine_host, host, theta, &batch, &to, &score),
                     DROVE_OK);
    if (decay > 0.0f) p->kernels.axpy_f32(g, theta, p->model->n_params, decay);
    drove__engine_host.destroy(host);
}

/* Where everything but the weights is a float, the gradient is the host engine's. */
static void check_gradient(const rig *r, const float *at)
{
    float *g = fixed_zeroed(r->n, sizeof *g);
    host_gradient(&r->p, at, 0.0f, g);
    const float decay = (float)r->p.shared->weight_decay;
    if (decay > 0.0f) r->p.kernels.axpy_f32(g, r->before, r->n, decay);
    for (size_t i = 0; i < r->p.shared->n_parts; i++) {
        const drove_fixed_part *part = &r->p.shared->part[i];
        assert_memory_equal(g + part->offset, r->a.g + part->offset, part->length * sizeof *g);
    }
    drove__free(g);
}

/* ---- tests ---- */

/* Each word of each format moves by the rule's step, rounded once; the second model has a layer
 * whose gradient comes in several pieces, the third one that plain SGD steps by a product. */
TEST(words_move_by_the_rules_step)
{
    static const char *const models[] = {"mlp:20,9", "mlp:300,120", "mlp:64,128"};
    static const char *const precisions[] = {"D32fM32f",
                                             "M8",
                                             "M16",
                                             "D8M8",
                                             "D16M16",
                                             "D8M16",
                                             "bf16?masters=bf16",
                                             "D8M8?scales=channel",
                                             "M8?scales=channel",
                                             "D5M5?simulated=yes",
                                             "D16M11?simulated=yes&scales=channel"};
    for (size_t k = 0; k < DROVE_COUNT(models) * DROVE_COUNT(precisions); k++) {
        const char *precision = precisions[k / DROVE_COUNT(models)];
        for (int decays = 0; decays <= 1; decays++) {
            rig r;
            rig_setup(&r, models[k % DROVE_COUNT(models)], precision, "nearest",
                      decays ? 0.01 : 0.0, false);
            const drove_fixed *f = &r.p.shared->format;
            for (uint64_t t = 0; t < 4; t++) {
                assert_int_equal(take(&r, FIXED_BATCH, t, 0.03f).n_steps, 1);
                for (size_t i = 0; i < r.p.shared->n_parts; i++)
                    check_part(&r, &r.p.shared->part[i], 1);
                if (f->data == 0 && f->gradient == 0 && !f->in_bf16) check_gradient(&r, r.before);
            }
            rig_teardown(&r);
        }
    }
}

static size_t n_clipped;

static void halve(void *context, float *g)
{
    (void)context;
    for (size_t i = 0; i < n_clipped; i++) g[i] *= 0.5f;
}

/* A rule that clips gets the whole gradient, decay included, before any of it is stepped. */
TEST(clipping_comes_first)
{
    static const char *const precisions[] = {"M8", "M16?scales=channel", "D32fM32f"};
    for (size_t k = 0; k < 2 * DROVE_COUNT(precisions); k++) {
        const float decay = k % 2 ? 0.02f : 0.0f;
        rig r;
        rig_setup(&r, "mlp:300,120", precisions[k / 2], "nearest", (double)decay, false);
        r.rule.clip = halve;
        n_clipped = r.n;
        float *g = fixed_zeroed(r.n, sizeof *g);
        (void)take(&r, FIXED_BATCH, 0, 0.03f);
        host_gradient(&r.p, r.before, decay, g);
        for (size_t i = 0; i < r.p.shared->n_parts; i++) {
            const drove_fixed_part *part = &r.p.shared->part[i];
            check_part(&r, part, 1);
            for (size_t j = part->offset; j < part->offset + part->length; j++)
                assert_true(r.a.g[j] == 0.5f * g[j]);
        }
        drove__free(g);
        rig_teardown(&r);
    }
}

/* One call makes several updates, which the rule can tell apart. */
TEST(updates_of_one_call_are_numbered)
{
    rig r;
    rig_setup(&r, "mlp:20,9", "D8M8", "shared", 0.0, false);
    assert_int_equal(take(&r, 3 * FIXED_BATCH + 2, 0, 0.01f).n_steps, 4);
    assert_true(r.a.most_step == 3);
    const drove_fixed_part *part = &r.p.shared->part[0];
    for (size_t k = 0; k < part->length; k++) assert_int_equal(r.a.n_calls[part->offset + k], 4);
    rig_teardown(&r);
}

/* The gradient is taken at words that are mu v ahead, the words move from where they are, and decay
 * is that of the words as they are. */
TEST(a_rule_may_look_ahead)
{
    static const char *const precisions[] = {"M8", "M16?scales=channel", "M7?simulated=yes",
                                             "D32fM32f"};
    for (size_t k = 0; k < 2 * DROVE_COUNT(precisions); k++) {
        rig r;
        rig_setup(&r, "mlp:20,9", precisions[k / 2], "nearest", k % 2 ? 0.02 : 0.0, true);
        r.a.mu_v = 0.04f;
        for (uint64_t t = 0; t < 3; t++) {
            float *ahead = fixed_zeroed(r.n, sizeof *ahead);
            (void)take(&r, FIXED_BATCH, t, 0.03f);
            for (size_t i = 0; i < r.p.shared->n_parts; i++) {
                const drove_fixed_part *part = &r.p.shared->part[i];
                const bool is_float = part->is_tail || r.p.shared->format.model == 0;
                check_part(&r, part, 1);
                for (size_t j = 0; j < part->length; j++) {
                    const size_t at = part->offset + j;
                    const float by = 0.04f * (float)(at % 5);
                    ahead[at] = is_float ? r.before[at] + by
                                         : moved_integer(r.p.shared, r.before[at], by,
                                                         drove__fixed_unit_at(part, j));
                }
            }
            check_gradient(&r, ahead);
            drove__free(ahead);
        }
        rig_teardown(&r);
    }
}

/* 16 bits have room for weights that a rule lets grow further, 8 have not. */
TEST(ranges_of_rules_are_wide)
{
    static const struct {
        const char *precision;
        float factor; /* of a unit by plain SGD */
    } cases[] = {{"M16", 4.0f},
                 {"M16?scales=channel", 4.0f},
                 {"M14?simulated=yes", 4.0f},
                 {"M13?simulated=yes", 1.0f},
                 {"M8", 1.0f},
                 {"M8?scales=channel", 1.0f}};
    for (size_t k = 0; k < DROVE_COUNT(cases); k++) {
        fixed_problem plain;
        rig r;
        fixed_setup_rule(&plain, "mlp:20,9", cases[k].precision, "nearest", 0.0, NULL);
        rig_setup(&r, "mlp:20,9", cases[k].precision, "nearest", 0.0, false);
        for (size_t i = 0; i < plain.shared->n_parts; i++) {
            const drove_fixed_part *a = &plain.shared->part[i], *b = &r.p.shared->part[i];
            for (size_t j = 0; !a->is_tail && j < a->length; j++)
                assert_true(drove__fixed_unit_at(b, j) ==
                            cases[k].factor * drove__fixed_unit_at(a, j));
        }
        fixed_teardown(&plain);
        rig_teardown(&r);
    }
}

/* Steps of three tenths of a unit move three of ten words, by one unit. */
TEST(steps_below_a_unit_are_not_lost)
{
    for (size_t rounding = 1; rounding < FIXED_ROUNDINGS; rounding++) {
        rig r;
        double n = 0.0, n_moved = 0.0;
        rig_setup(&r, "mlp:300,120", "D8M8", fixed_roundings[rounding], 0.0, false);
        const drove_fixed_part *part = &r.p.shared->part[1]; /* 36,000 numbers */
        r.a.constant = 0.3f * part->unit;
        for (uint64_t t = 0; t < 5; t++) {
            (void)take(&r, FIXED_BATCH, t, 0.01f);
            for (size_t k = 0; k < part->length; k++) {
                const float by = r.p.after[part->offset + k] - r.before[part->offset + k];
                assert_true(by == 0.0f || by == part->unit);
                n_moved += by > 0.0f;
                n += 1.0;
            }
        }
        /* `shared` draws once for 512 numbers: few draws */
        const double draws = strncmp(fixed_roundings[rounding], "shared", 6) == 0 ? n / 512.0 : n;
        assert_true(fabs(n_moved / n - 0.3) < 5.0 * sqrt(0.21 / draws));
        rig_teardown(&r);
    }
}

static void sgd_step(void *context, uint64_t step, size_t offset, size_t n, float *theta, float *g,
                     float eta)
{
    (void)context, (void)step, (void)offset;
    for (size_t i = 0; i < n; i++) {
        if (theta != NULL) theta[i] -= eta * g[i];
        else g[i] *= -eta;
    }
}

/* What an engine without a rule writes by products and pieces is what the rule sgd would, in words
 * whose ranges are those of plain SGD. */
TEST(sgd_as_a_rule_has_the_same_bits)
{
    static const char *const precisions[] = {"D8M8", "D16M8", "M8?scales=channel", "D8M8G32f"};
    const drove_engine_rule sgd = {.step = sgd_step};
    const float eta = 0x1p-4f; /* a power of two: eta g has no error */
    for (size_t k = 0; k < DROVE_COUNT(precisions); k++) {
        fixed_problem plain, ruled;
        fixed_setup_rule(&plain, "mlp:64,128", precisions[k], "xorshift", 0.0, NULL);
        fixed_setup_rule(&ruled, "mlp:64,128", precisions[k], "xorshift", 0.0, &sgd);
        fixed_problem *both[] = {&plain, &ruled};
        for (uint64_t t = 0; t < 6; t++)
            for (size_t i = 0; i < DROVE_COUNT(both); i++) {
                const drove_batch batch = fixed_batch(both[i], FIXED_BATCH, t);
                const drove_params live = {.words = both[i]->words};
                drove_steps made;
                assert_int_equal(drove__engine_fixed.steps(both[i]->engine, &live, &batch, eta,
                                                           &made),
                                 DROVE_OK);
            }
        assert_memory_equal(plain.words, ruled.words,
                            drove__engine_fixed.typed->n_words(plain.shared) * sizeof *plain.words);
        fixed_teardown(&plain);
        fixed_teardown(&ruled);
    }
}
