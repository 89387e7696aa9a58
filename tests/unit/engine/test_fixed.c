/* tests/unit/engine/test_fixed.c - networks in fixed point: signatures, the rounding of arrays, the
 * shared words, and steps against the host engine's gradient.
 */
#include "engine/fixed/round.h"
#include "engine/fixed/shared.h"

#include "base/cpu.h"
#include "base/mem.h"
#include "kernel/bf16.h"
#include "kernel/tiers.h"
#include "support/engine_calls.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- signatures ---- */

static void check_format(const char *text, unsigned data, unsigned model, unsigned gradient)
{
    drove_fixed f;
    assert_int_equal(drove__fixed_parse(text, &f), DROVE_OK);
    assert_true(f.data == data && f.model == model && f.gradient == gradient);
    assert_string_equal(f.text, text);
}

static void check_refused(const char *text, drove_status status, const char *word)
{
    drove_fixed f = {.data = 77};
    assert_int_equal(drove__fixed_parse(text, &f), status);
    assert_non_null(strstr(drove_error_text(), word));
    assert_int_equal(f.data, 77);
}

static void signatures(void **state)
{
    (void)state;
    check_format("D8M8", 8, 8, 8);
    check_format("D16M8", 16, 8, 16);
    check_format("D8M16G16", 8, 16, 16);
    check_format("D8M8G32f", 8, 8, 0);
    check_format("M8", 0, 8, 0);
    check_format("D8", 8, 0, 8);
    check_format("D32fM32f", 0, 0, 0);
    check_format("D6M5?simulated=yes", 6, 5, 6);
    check_format("D2M16G9?simulated=yes", 2, 16, 9);
    check_format("D8M8?simulated=no", 8, 8, 8);
    check_format("D16M16G16?simulated=yes&scales=channel", 16, 16, 16);
    check_format("M8?scales=layer", 0, 8, 0);
    check_refused("D8M8?scales=row", DROVE_E_ARG, "expected channel or layer, found \"row\"");
    check_refused("D8M32f?scales=channel", DROVE_E_UNSUPPORTED, "expected an M term");
    check_refused("D8M8C8s?scales=channel", DROVE_E_UNSUPPORTED, "found C");
    check_refused("bf16?masters=float", DROVE_E_ARG, "found \"float\"");
    check_refused("bf16?weights=bf16", DROVE_E_ARG, "weights");
    check_refused("D6M8", DROVE_E_UNSUPPORTED, "found D6");
    check_refused("D8M6?simulated=no", DROVE_E_UNSUPPORTED, "M2 to M16 with ?simulated=yes");
    check_refused("D1M8?simulated=yes", DROVE_E_UNSUPPORTED, "found D1");
    check_refused("D8M17?simulated=yes", DROVE_E_UNSUPPORTED, "found M17");
    check_refused("D16fM8", DROVE_E_UNSUPPORTED, "found D16f");
    check_refused("D8i8M8", DROVE_E_UNSUPPORTED, "found i");
    check_format("D8M8C8s", 8, 8, 8); /* exchanges read C */
    check_refused("D8M8C8s?simulated=yes", DROVE_E_UNSUPPORTED, "found C");
    check_refused("D8M8?simulated=maybe", DROVE_E_ARG, "maybe");
    check_refused("D8M8?simulate=yes", DROVE_E_ARG, "simulate");
    check_refused("8", DROVE_E_ARG, "8");
}

/* ---- arrays ---- */

static void units(void **state)
{
    (void)state;
    for (unsigned bits = 2; bits <= 16; bits++) {
        const double most = drove__fixed_most(bits);
        for (float m = 1e-30f; m < 1e30f; m *= 1.37f) {
            double unit = (double)drove__fixed_unit(bits, m);
            int exponent;
            assert_true(frexp(unit, &exponent) == 0.5);
            assert_true(most * unit >= (double)m && most * unit / 2 < (double)m);
        }
        assert_true((double)drove__fixed_unit(bits, (float)most) == 1.0); /* fits exactly */
        assert_true(isfinite(1.0f / drove__fixed_unit(bits, 1e-38f)));
    }
}

enum { N = 1100 };

static void draw(float *x, size_t n, uint64_t seed)
{
    drove_rng rng;
    drove__rng_seed(&rng, seed, DROVE_RNG_TEST, 0);
    for (size_t i = 0; i < n; i++) x[i] = (float)drove__rng_normal(&rng);
}

static float largest(const float *x, size_t n)
{
    float most = 0.0f;
    for (size_t i = 0; i < n; i++) most = fmaxf(most, fabsf(x[i]));
    return most;
}

/* Multiples of the unit, not beyond the format, next to x; every tier has the bits of plain C. */
static void check_rounding(const drovek_table *k, const char *how, unsigned bits)
{
    static float x[N], got[N], plain[N];
    drove_rounding rounding;
    drove_rounder r;
    assert_int_equal(drove__rounding_parse(how, &rounding), DROVE_OK);
    assert_int_equal(drove__rounder_init(&r, &rounding, 32), DROVE_OK);
    draw(x, N, bits);
    memcpy(got, x, sizeof x);
    memcpy(plain, x, sizeof x);
    drove__rounder_seed(&r, 1, bits);
    drove__fixed_round(k, &r, bits, NULL, got, N);
    drovek_table ref;
    assert_int_equal(drovek_select(&ref, 0, NULL), DROVE_OK);
    drove__rounder_seed(&r, 1, bits);
    drove__fixed_round(&ref, &r, bits, NULL, plain, N);
    assert_memory_equal(got, plain, sizeof got);
    const double unit = (double)drove__fixed_unit(bits, largest(x, N));
    const double bound = rounding.ops->is_unbiased ? 1.0 : 0.5 + 1e-4;
    for (size_t i = 0; i < N; i++) {
        double q = (double)got[i] / unit;
        assert_true(q == nearbyint(q) && fabs(q) <= drove__fixed_most(bits));
        assert_true(fabs((double)got[i] - (double)x[i]) <= bound * unit);
    }
    memcpy(plain, got, sizeof got); /* what is rounded stays as it is */
    drove__rounder_seed(&r, 2, bits);
    drove__fixed_round(k, &r, bits, NULL, got, N);
    assert_memory_equal(got, plain, sizeof got);
    drove__rounder_fini(&r);
}

static const char *const roundings[] = {"nearest", "shared", "shared?bits=256", "xorshift",
                                        "mt19937"};

static void arrays_are_rounded(void **state)
{
    (void)state;
    for (const char *const *tier = drovek_tiers(); *tier != NULL; tier++) {
        drovek_table k;
        if (drovek_select(&k, drove__cpu_features(), *tier) != DROVE_OK) continue;
        for (size_t i = 0; i < DROVE_COUNT(roundings); i++)
            for (unsigned bits = 2; bits <= 16; bits++) check_rounding(&k, roundings[i], bits);
    }
}

/* The mean of many roundings of a number is the number: a variance of at most unit^2 / 4 each. */
static void roundings_are_unbiased(void **state)
{
    enum { TIMES = 2000, FEW = 70 };
    drovek_table k;
    (void)state;
    assert_int_equal(drovek_select(&k, drove__cpu_features(), NULL), DROVE_OK);
    for (size_t i = 1; i < DROVE_COUNT(roundings); i++) {
        drove_rounding rounding;
        drove_rounder r;
        float x[FEW], got[FEW];
        double sum[FEW] = {0};
        assert_int_equal(drove__rounding_parse(roundings[i], &rounding), DROVE_OK);
        assert_int_equal(drove__rounder_init(&r, &rounding, 32), DROVE_OK);
        draw(x, FEW, 7);
        const double unit = (double)drove__fixed_unit(4, largest(x, FEW));
        for (unsigned t = 0; t < TIMES; t++) {
            memcpy(got, x, sizeof x);
            drove__rounder_seed(&r, 3, t);
            drove__fixed_round(&k, &r, 4, NULL, got, FEW);
            for (size_t n = 0; n < FEW; n++) sum[n] += (double)got[n];
        }
        for (size_t n = 0; n < FEW; n++)
            assert_true(fabs(sum[n] / TIMES - (double)x[n]) < 5.0 * unit / 2.0 / sqrt(TIMES));
        drove__rounder_fini(&r);
    }
}

/* x[rows][places][CHANNELS], or in blocks of 16: each number is a multiple of its channel's unit
 * and next to what it was; the array's unit is that of the largest scaled number.  Bytes hold the
 * same integers. */
static void check_channels(const drovek_table *k, size_t places, size_t block)
{
    enum { CHANNELS = 48, ROUNDED = CHANNELS * 20, BITS = 8 };
    static float x[ROUNDED], got[ROUNDED], values[ROUNDED], by[CHANNELS], inverse[CHANNELS];
    static uint8_t high[ROUNDED + DROVEK_PLANES_SLACK];
    static size_t channel[ROUNDED];
    const drove_fixed_channels c = {by, inverse, CHANNELS, places, block};
    drovek_planes planes = {.high = high};
    drove_rounding rounding;
    drove_rounder r;
    float most = 0.0f;
    assert_int_equal(drove__rounding_parse("xorshift", &rounding), DROVE_OK);
    assert_int_equal(drove__rounder_init(&r, &rounding, 32), DROVE_OK);
    draw(x, ROUNDED, places);
    for (size_t i = 0; i < CHANNELS; i++) {
        inverse[i] = ldexpf(1.0f, (int)(i * 5 % 7));
        by[i] = 1.0f / inverse[i];
    }
    for (size_t i = 0; i < ROUNDED; i++) {
        channel[i] = i / block / places * block % CHANNELS + i % block;
        most = fmaxf(most, fabsf(x[i] * by[channel[i]]));
    }
    memcpy(got, x, sizeof x);
    drove__rounder_seed(&r, 1, 2);
    drove__fixed_round(k, &r, BITS, &c, got, ROUNDED);
    const float unit = drove__fixed_unit(BITS, most);
    for (size_t i = 0; i < ROUNDED; i++) {
        const float own = unit * inverse[channel[i]], q = got[i] / own;
        assert_true(q == nearbyintf(q) && fabsf(q) <= 127.0f && fabsf(got[i] - x[i]) < own);
    }
    drove__rounder_fini(&r);
    if (k->integers == NULL || block != CHANNELS) return;
    const drovek_table narrow = drovek_narrow(k, DROVEK_FACTORS_I8);
    assert_int_equal(drove__rounder_init(&r, &rounding, 32), DROVE_OK);
    drove__rounder_seed(&r, 1, 2);
    drove__fixed_round_planes(&narrow, &r, BITS, &c, x, values, ROUNDED, 0, &planes);
    assert_memory_equal(values, got, sizeof got);
    assert_true(planes.unit == unit && planes.by == inverse);
    for (size_t i = 0; i < ROUNDED; i++)
        assert_true((float)drovek_planes_at(&planes, i) * unit * inverse[channel[i]] == got[i]);
    planes.by = NULL; /* and so they do if they are kept, which may halve the unit */
    drove__fixed_keep_planes(&narrow, BITS, &c, got, ROUNDED, 0, &planes);
    assert_true(planes.by == inverse);
    for (size_t i = 0; i < ROUNDED; i++)
        assert_true((float)drovek_planes_at(&planes, i) * planes.unit * inverse[channel[i]] ==
                    got[i]);
    drove__rounder_fini(&r);
}

static void channels_have_units_of_their_own(void **state)
{
    (void)state;
    for (const char *const *tier = drovek_tiers(); *tier != NULL; tier++) {
        drovek_table k;
        if (drovek_select(&k, drove__cpu_features(), *tier) != DROVE_OK) continue;
        check_channels(&k, 1, 48);
        check_channels(&k, 5, 48);
        check_channels(&k, 4, 16);
        check_channels(&k, 10, 16);
    }
}

static void what_cannot_be_rounded_stays(void **state)
{
    drove_rounding rounding;
    drove_rounder r;
    drovek_table k;
    float x[3] = {0.3f, INFINITY, 1.0f}, zero[2] = {0.0f, -0.0f}, bad[2] = {NAN, 2.7f};
    (void)state;
    assert_int_equal(drovek_select(&k, drove__cpu_features(), NULL), DROVE_OK);
    assert_int_equal(drove__rounding_parse("nearest", &rounding), DROVE_OK);
    assert_int_equal(drove__rounder_init(&r, &rounding, 32), DROVE_OK);
    drove__fixed_round(&k, &r, 4, NULL, x, 3);
    drove__fixed_round(&k, &r, 4, NULL, zero, 2);
    drove__fixed_round(&k, &r, 4, NULL, bad, 2);
    drove__fixed_round(&k, &r, 4, NULL, bad, 0);
    assert_true(x[0] == 0.3f && x[2] == 1.0f && zero[0] == 0.0f && bad[1] == 2.7f);
    x[1] = 0.4f;
    drove__fixed_round(&k, &r, 0, NULL, x, 3); /* floats */
    assert_true(x[0] == 0.3f && x[1] == 0.4f);
    drove__rounder_fini(&r);
}

/* ---- steps ---- */

enum { ROWS = 40, FEATURES = 12, CLASSES = 3, BATCH = 7 };

typedef struct problem {
    drove_storage storage;
    drove_data data;
    drove_model *model;
    drovek_table kernels;
    float *theta, *after; /* [n_params] */
    drove_engine_shared *shared;
    drove_engine *engine;
    uint32_t *words;
} problem;

static void *zeroed(size_t count, size_t size)
{
    void *memory = drove__alloc(count, size);
    assert_non_null(memory);
    return memory;
}

static void make_data(problem *p)
{
    drove_storage *s = &p->storage;
    *s = (drove_storage){.n_rows = ROWS,
                         .n_features = FEATURES,
                         .x_kind = DROVE_X_F32,
                         .y_kind = DROVE_Y_CLASS,
                         .n_classes = CLASSES};
    s->x_f32 = zeroed(ROWS * FEATURES, sizeof(float));
    s->y_class = zeroed(ROWS, sizeof(int32_t));
    draw(s->x_f32, ROWS * FEATURES, 5);
    for (size_t i = 0; i < ROWS; i++) s->y_class[i] = (int32_t)(i % CLASSES);
    p->data = (drove_data){.storage = s, .n_rows = ROWS};
}

static drove_status prepare(problem *p, const char *precision, const char *rounding, double range,
                            double decay)
{
    const drove_prepare_options opt = {.model = p->model,
                                       .kernels = &p->kernels,
                                       .data = &p->data,
                                       .theta = p->theta,
                                       .precision = precision,
                                       .rounding = rounding,
                                       .model_range = range,
                                       .weight_decay = decay,
                                       .eta = 0.1,
                                       .each = BATCH,
                                       .seed = 1};
    return drove__engine_fixed.prepare(&opt, &p->shared);
}

static void setup(problem *p, const char *precision, const char *rounding, double range,
                  double decay)
{
    const drove_model_io io = {.n_features = FEATURES, .n_classes = CLASSES};
    memset(p, 0, sizeof *p);
    make_data(p);
    assert_int_equal(drovek_select(&p->kernels, drove__cpu_features(), NULL), DROVE_OK);
    assert_int_equal(drove__model_create("mlp:20,9", "tanh", "softmax", &io, &p->model), DROVE_OK);
    p->theta = zeroed(p->model->n_params, sizeof(float));
    p->after = zeroed(p->model->n_params, sizeof(float));
    assert_int_equal(drove__model_init(p->model, "normal:0.3", 1, p->theta), DROVE_OK);
    assert_int_equal(prepare(p, precision, rounding, range, decay), DROVE_OK);
    const drove_engine_options opt = {.model = p->model,
                                      .kernels = &p->kernels,
                                      .data = &p->data,
                                      .max_rows = ROWS,
                                      .shared = p->shared};
    assert_int_equal(drove__engine_fixed.create(&opt, &p->engine), DROVE_OK);
    p->words = zeroed(drove__engine_fixed.n_words(p->shared), sizeof *p->words);
    drove__engine_fixed.pack(p->shared, NULL, p->theta, p->words);
}

static void teardown(problem *p)
{
    drove__engine_fixed.destroy(p->engine);
    drove__engine_fixed.dismiss(p->shared);
    drove__model_destroy(p->model);
    drove__free(p->theta);
    drove__free(p->after);
    drove__free(p->words);
    drove__free(p->storage.x_f32);
    drove__free(p->storage.y_class);
}

static drove_batch batch_of(const problem *p, size_t n, uint64_t number)
{
    static uint32_t row[ROWS];
    for (uint32_t i = 0; i < ROWS; i++) row[i] = (i * 11 + 3) % ROWS;
    return (drove_batch){.data = &p->data, .row = row, .n_rows = n, .number = number};
}

static drove_steps take_steps(problem *p, size_t n_rows, uint64_t number, float eta)
{
    const drove_batch batch = batch_of(p, n_rows, number);
    const drove_params live = {.words = p->words};
    drove_steps made;
    assert_int_equal(drove__engine_fixed.steps(p->engine, &live, &batch, eta, &made), DROVE_OK);
    assert_true(made.is_finite);
    drove__engine_fixed.unpack(p->shared, p->words, p->after);
    return made;
}

/* The host engine's steps from theta. */
static void host_steps(problem *p, size_t n_rows, float eta, float decay, float *theta)
{
    const drove_engine_options opt = {
        .model = p->model, .kernels = &p->kernels, .data = &p->data, .max_rows = ROWS};
    const drove_batch all = batch_of(p, n_rows, 0);
    drove_engine *host;
    drove_gradient g = {.value = zeroed(p->model->n_params, sizeof(float))};
    assert_int_equal(drove__engine_host.create(&opt, &host), DROVE_OK);
    for (size_t first = 0; first < n_rows; first += BATCH) {
        drove_batch one = all;
        drove_score score = {0};
        one.row += first;
        one.n_rows = n_rows - first < BATCH ? n_rows - first : BATCH;
        assert_int_equal(engine_gradient(&drove__engine_host, host, theta, &one, &g, &score),
                         DROVE_OK);
        if (decay > 0.0f) p->kernels.axpy_f32(g.value, theta, p->model->n_params, decay);
        p->kernels.sgd_f32(theta, theta, g.value, p->model->n_params, eta);
    }
    drove__free(g.value);
    drove__engine_host.destroy(host);
}

/* With floats for all numbers the steps are those of the host engine, to the bit. */
static void floats_are_the_hosts_steps(void **state)
{
    (void)state;
    for (int decays = 0; decays <= 1; decays++) {
        problem p;
        const float decay = decays ? 0.01f : 0.0f;
        setup(&p, "D32fM32f", "shared", 0, (double)decay);
        assert_int_equal(take_steps(&p, 3 * BATCH + 2, 0, 0.1f).n_steps, 4);
        host_steps(&p, 3 * BATCH + 2, 0.1f, decay, p.theta);
        assert_memory_equal(p.after, p.theta, p.model->n_params * sizeof(float));
        teardown(&p);
    }
}

/* Largest distance from the host's step, in units of its largest change. */
static double distance(const char *precision)
{
    problem p;
    double far = 0.0, largest_change = 0.0;
    setup(&p, precision, "nearest", 0, 0);
    const size_t n = p.model->n_params;
    float *start = zeroed(n, sizeof *start);
    memcpy(start, p.theta, n * sizeof *start);
    (void)take_steps(&p, BATCH, 0, 0.1f);
    host_steps(&p, BATCH, 0.1f, 0.0f, p.theta);
    for (size_t i = 0; i < n; i++) {
        far = fmax(far, fabs((double)p.after[i] - (double)p.theta[i]));
        largest_change = fmax(largest_change, fabs((double)p.theta[i] - (double)start[i]));
    }
    drove__free(start);
    teardown(&p);
    return far / largest_change;
}

/* More bits, nearer to floats; examples, outputs and derivatives are all rounded. */
static void more_bits_are_nearer(void **state)
{
    (void)state;
    double before = 10.0;
    for (unsigned bits = 3; bits <= 15; bits += 3) {
        char precision[40];
        snprintf(precision, sizeof precision, "D%uM32f?simulated=yes", bits);
        double now = distance(precision);
        assert_true(now > 0.0 && now < before / 2.0 && now < 16.0 * ldexp(1.0, -(int)bits));
        before = now;
    }
    /* so they are with units by channel, whose weights are the first step's distance */
    assert_true(distance("D16M16?scales=channel") < distance("D8M16?scales=channel"));
    assert_true(distance("D8M16?scales=channel") < 0.2);
    assert_true(distance("D16M32fG32f") < distance("D16M32fG8"));
    assert_true(distance("D32fM32fG8") > 1e-4); /* derivatives alone */
}

/* Each weight is an integer times its layer's unit, within the format. */
static void check_grid(const problem *p, unsigned bits)
{
    for (size_t i = 0; i < p->shared->n_parts; i++) {
        const drove_fixed_part *part = &p->shared->part[i];
        for (size_t k = 0; !part->is_tail && k < part->length; k++) {
            double unit = (double)drove__fixed_unit_at(part, k);
            double q = (double)p->after[part->offset + k] / unit;
            assert_true(q == nearbyint(q) && fabs(q) <= drove__fixed_most(bits) + (bits % 8 == 0));
        }
    }
}

static void weights_stay_within_their_format(void **state)
{
    (void)state;
    for (unsigned bits = 2; bits <= 16; bits++) {
        problem p;
        char precision[64];
        const bool by_channel = bits % 2 == 1; /* these outgrow their ranges by a negative decay */
        snprintf(precision, sizeof precision, "D32fM%u?simulated=yes&scales=%s", bits,
                 by_channel ? "channel" : "layer");
        setup(&p, precision, "xorshift", by_channel ? 0 : 0.5, by_channel ? -3.0 : 0);
        assert_true(by_channel || p.shared->model_range == 0.5);
        assert_true(p.shared->layout.number == (bits <= 8 ? DROVE_I8 : DROVE_I16));
        drove__engine_fixed.unpack(p.shared, p.words, p.after);
        check_grid(&p, bits);
        uint64_t n_clamped = 0;
        for (uint64_t t = 0; t < 20; t++) {
            n_clamped += take_steps(&p, ROWS, t, 0.5f).n_clamped;
            check_grid(&p, bits);
        }
        assert_true(n_clamped > 0); /* 0.5 is too little for some of them */
        teardown(&p);
    }
}

/* Words and floats of the first parameters are half a unit apart at most; gaps and the float
 * parameters are as they were. */
static void words_hold_the_parameters(void **state)
{
    problem p;
    size_t n_numbers = 0;
    (void)state;
    setup(&p, "D8M8", "shared", 0, 0);
    drove__engine_fixed.unpack(p.shared, p.words, p.after);
    const float *unpacked = p.after;
    for (size_t i = 0; i < p.shared->n_parts; i++) {
        const drove_fixed_part *part = &p.shared->part[i];
        double top = (double)largest(p.theta + part->offset, part->length);
        double bound = part->is_tail ? 0.0 : (double)part->unit / 2;
        for (size_t k = 0; k < part->length; k++) {
            double d = (double)unpacked[part->offset + k] - (double)p.theta[part->offset + k];
            assert_true(fabs(d) <= bound);
        }
        if (part->is_tail) continue;
        n_numbers += part->length;
        assert_true(127 * (double)part->unit >= top && (double)part->unit * 16 < top);
    }
    assert_int_equal(n_numbers, FEATURES * 20 + 20 * 9 + 9 * CLASSES);
    assert_true(drove__engine_fixed.layout(p.shared)->n_numbers >= n_numbers);
    assert_int_equal(drove__engine_fixed.set_range(p.shared, p.shared->model_range), DROVE_OK);
    assert_int_equal(drove__engine_fixed.set_range(p.shared, 3.0), DROVE_E_ARG);
    teardown(&p);
}

/* By channel: the unit of each is the power of two with which twice its largest weight fits, and no
 * larger. */
static void channels_have_ranges_of_their_own(void **state)
{
    static double most[FEATURES * 20];
    problem p;
    size_t n_other = 0;
    (void)state;
    setup(&p, "D8M8?scales=channel", "shared", 0, 0);
    drove__engine_fixed.unpack(p.shared, p.words, p.after);
    for (size_t i = 0; i < p.shared->n_parts; i++) {
        const drove_fixed_part *part = &p.shared->part[i];
        if (part->is_tail) continue;
        const size_t n = p.model->layer[part->layer].n_out;
        assert_true(part->n_groups == 1 && part->n_channels == n);
        memset(most, 0, sizeof most);
        for (size_t k = 0; k < part->length; k++) {
            const double w = (double)p.theta[part->offset + k];
            const double unit = (double)part->unit * (double)part->by[k % n];
            most[k % n] = fmax(most[k % n], fabs(w));
            assert_true(fabs((double)p.after[part->offset + k] - w) <= unit / 2);
        }
        for (size_t c = 0; c < n; c++) {
            const double range = 128.0 * (double)part->unit * (double)part->by[c];
            assert_true(range >= 2 * most[c] && range < 4 * most[c]);
            assert_true(part->by[c] * part->inverse[c] == 1.0f && part->by[c] <= 1.0f);
            n_other += part->by[c] != 1.0f;
        }
    }
    assert_true(n_other > 0);
    teardown(&p);
    setup(&p, "D8M8?scales=channel", "shared", 4.0, 0); /* a range for all is one for all */
    for (size_t i = 0; i < p.shared->n_parts; i++)
        for (size_t c = 0; !p.shared->part[i].is_tail && c < p.shared->part[i].n_channels; c++)
            assert_true(p.shared->part[i].by[c] == 1.0f && p.shared->part[i].unit == 0x1p-5f);
    teardown(&p);
}

/* With parameters in bf16 a step is the host's from the numbers that the words hold, rounded to the
 * nearest; biases stay floats. */
static void bf16_parameters_take_the_hosts_steps(void **state)
{
    problem p;
    (void)state;
    setup(&p, "bf16?masters=bf16", "nearest", 0, 0);
    const size_t n = p.model->n_params;
    assert_true(p.shared->layout.in_bf16 && p.shared->layout.number == DROVE_I16);
    drove__engine_fixed.unpack(p.shared, p.words, p.after);
    for (size_t i = 0; i < p.shared->n_parts; i++) {
        const drove_fixed_part *part = &p.shared->part[i];
        for (size_t k = part->offset; k < part->offset + part->length; k++) {
            double d = fabs((double)p.after[k] - (double)p.theta[k]);
            assert_true(d <= (part->is_tail ? 0.0 : 0x1p-8 * fabs((double)p.theta[k])));
            if (!part->is_tail) assert_true(drovek_bf16(p.after[k]) == p.after[k]);
        }
    }
    memcpy(p.theta, p.after, n * sizeof *p.theta);
    (void)take_steps(&p, BATCH, 0, 0.1f);
    host_steps(&p, BATCH, 0.1f, 0.0f, p.theta);
    for (size_t i = 0; i < p.shared->n_parts; i++) {
        const drove_fixed_part *part = &p.shared->part[i];
        for (size_t k = part->offset; k < part->offset + part->length; k++) {
            double d = fabs((double)p.after[k] - (double)p.theta[k]);
            assert_true(d <= (part->is_tail ? 0.0 : 0x1p-8 * fabs((double)p.theta[k])));
        }
    }
    teardown(&p);
    setup(&p, "D8M8", "nearest", 0, 0); /* a range is for integers */
    drove__engine_fixed.dismiss(p.shared);
    p.shared = NULL;
    assert_int_equal(prepare(&p, "bf16?masters=bf16", "nearest", 1.0, 0), DROVE_E_ARG);
    teardown(&p);
}

/* The mean of many steps of 8-bit weights from one place is the step of floats from there. */
static void check_unbiased(const char *precision)
{
    enum { TIMES = 1500 };
    problem p;
    setup(&p, precision, "xorshift", 0, 0);
    const size_t n = p.model->n_params, n_words = drove__engine_fixed.n_words(p.shared);
    double *sum = calloc(n, sizeof *sum);
    uint32_t *start = zeroed(n_words, sizeof *start);
    assert_non_null(sum);
    memcpy(start, p.words, n_words * sizeof *start);
    drove__engine_fixed.unpack(p.shared, start, p.theta);
    host_steps(&p, BATCH, 0.02f, 0.0f, p.theta);
    for (uint64_t t = 0; t < TIMES; t++) {
        memcpy(p.words, start, n_words * sizeof *start);
        (void)take_steps(&p, BATCH, t, 0.02f);
        for (size_t i = 0; i < n; i++) sum[i] += (double)p.after[i];
    }
    for (size_t i = 0; i < p.shared->n_parts; i++) {
        const drove_fixed_part *part = &p.shared->part[i];
        for (size_t k = 0; k < part->length; k++) {
            const double unit = part->is_tail ? 0.0 : (double)drove__fixed_unit_at(part, k);
            const double bound = 5.0 * unit / 2.0 / sqrt(TIMES) + 1e-6;
            const size_t at = part->offset + k;
            assert_true(fabs(sum[at] / TIMES - (double)p.theta[at]) <= bound);
        }
    }
    free(sum);
    drove__free(start);
    teardown(&p);
}

static void steps_are_unbiased(void **state)
{
    (void)state;
    check_unbiased("D32fM8");
    check_unbiased("D32fM8?scales=channel");
}

/* ---- integers kept as bytes ---- */

/* The words after some steps of a network, with such products of bytes; NULL: of floats. */
static uint32_t *words_after(const char *model, size_t n_inputs, const char *precision,
                             const char *rounding, double decay, const drovek_planes_ops *bytes,
                             size_t *n)
{
    enum { FEW = 9, STEPS = 3 };
    problem p = {.storage = {.n_rows = FEW,
                             .n_features = n_inputs,
                             .x_kind = DROVE_X_F32,
                             .y_kind = DROVE_Y_CLASS,
                             .n_classes = CLASSES}};
    drove_model_io io = {.n_features = n_inputs, .n_classes = CLASSES};
    uint32_t row[FEW];
    if (n_inputs == 28 * 28) io.image = (drove_shape){1, 28, 28};
    if (n_inputs == 3 * 32 * 32) io.image = (drove_shape){3, 32, 32};
    assert_int_equal(drovek_select(&p.kernels, drove__cpu_features(), NULL), DROVE_OK);
    p.kernels.integers = bytes;
    p.storage.x_f32 = zeroed(FEW * n_inputs, sizeof(float));
    p.storage.y_class = zeroed(FEW, sizeof(int32_t));
    p.data = (drove_data){.storage = &p.storage, .n_rows = FEW};
    draw(p.storage.x_f32, FEW * n_inputs, 5);
    for (size_t i = 0; i < FEW; i++) {
        p.storage.y_class[i] = (int32_t)(i % CLASSES);
        row[i] = (uint32_t)i;
    }
    assert_int_equal(drove__model_create(model, "relu", "softmax", &io, &p.model), DROVE_OK);
    p.theta = zeroed(p.model->n_params, sizeof(float));
    p.after = zeroed(p.model->n_params, sizeof(float));
    assert_int_equal(drove__model_init(p.model, "normal:0.1", 1, p.theta), DROVE_OK);
    assert_int_equal(prepare(&p, precision, rounding, 0, decay), DROVE_OK);
    const drove_engine_options opt = {.model = p.model,
                                      .kernels = &p.kernels,
                                      .data = &p.data,
                                      .max_rows = FEW,
                                      .shared = p.shared};
    assert_int_equal(drove__engine_fixed.create(&opt, &p.engine), DROVE_OK);
    *n = drove__engine_fixed.n_words(p.shared);
    p.words = zeroed(*n, sizeof *p.words);
    drove__engine_fixed.pack(p.shared, NULL, p.theta, p.words);
    for (uint64_t t = 0; t < STEPS; t++) {
        const drove_batch batch = {.data = &p.data, .row = row, .n_rows = FEW - t, .number = t};
        const drove_params live = {.words = p.words};
        drove_steps made;
        assert_int_equal(drove__engine_fixed.steps(p.engine, &live, &batch, 0.02f, &made),
                         DROVE_OK);
        assert_true(made.is_finite);
    }
    uint32_t *words = p.words;
    p.words = NULL;
    teardown(&p);
    return words;
}

static void check_bytes(const drovek_planes_ops *own, const char *model, size_t n_inputs,
                        const char *precision, const char *rounding, double decay)
{
    size_t n, n_other;
    uint32_t *bytes = words_after(model, n_inputs, precision, rounding, decay, own, &n);
    uint32_t *floats = words_after(model, n_inputs, precision, rounding, decay, NULL, &n_other);
    uint32_t *start = words_after(model, n_inputs, precision, rounding, 0.5, own, &n_other);
    assert_int_equal(n, n_other);
    assert_memory_equal(bytes, floats, n * sizeof *bytes);
    assert_memory_not_equal(bytes, start, n * sizeof *bytes); /* another decay, other steps */
    drove__free(bytes);
    drove__free(floats);
    drove__free(start);
}

/* Where sums are exact either way, products of bytes and of floats make the same steps, bit for
 * bit: the same integers, biases and random numbers. */
static void bytes_make_the_steps_of_floats(void **state)
{
    static const char *const precisions[] = {"D8M8", "D6M5?simulated=yes", "D8M8G4?simulated=yes",
                                             "D8M8?scales=channel"};
    drovek_table k;
    (void)state;
    assert_int_equal(drovek_select(&k, drove__cpu_features(), NULL), DROVE_OK);
    if (k.integers == NULL) skip();
    for (size_t i = 0; i < DROVE_COUNT(roundings); i++) {
        for (size_t q = 0; q < DROVE_COUNT(precisions); q++) {
            check_bytes(k.integers, "mlp:64,9", FEATURES, precisions[q], roundings[i], 0.0);
            check_bytes(k.integers, "mlp:33", 70, precisions[q], roundings[i], 0.01);
        }
        check_bytes(k.integers, "lenet", 28 * 28, "D8M8", roundings[i], 0.0);
        check_bytes(k.integers, "lenet", 28 * 28, "D8M8?scales=channel", roundings[i], 0.01);
    }
    /* images of floats may lie in blocks, and other random numbers would meet them */
    check_bytes(k.integers, "cifar-quick", 3 * 32 * 32, "D8M8", "nearest", 0.0);
    check_bytes(k.integers, "cifar-quick", 3 * 32 * 32, "D8M8?scales=channel", "nearest", 0.0);
    check_bytes(k.integers, "mlp:20,9", FEATURES, "D9M8G7?simulated=yes", "xorshift", 0.0);
    check_bytes(k.integers, "mlp:20,9", FEATURES, "D8M11?simulated=yes", "xorshift", 0.0);
}

/* Sums of integers have the same bits in every tier, so its products of bytes make the steps of
 * plain C's.  Of convolutions this holds where the singles that they add up are exact. */
static void check_tiers(const char *model, size_t n_inputs, const char *precision, bool both_wide)
{
    size_t n, n_other;
    const drovek_planes_ops *ops = &drovek_planes_ref;
    uint32_t *plain = words_after(model, n_inputs, precision, "shared", 0.0, ops, &n);
    for (const char *const *tier = drovek_tiers(); *tier != NULL; tier++) {
        drovek_table k;
        if (drovek_select(&k, drove__cpu_features(), *tier) != DROVE_OK) continue;
        ops = k.integers;
        if (ops == NULL || (both_wide && ops->one_wide)) continue;
        uint32_t *own = words_after(model, n_inputs, precision, "shared", 0.0, ops, &n_other);
        assert_memory_equal(own, plain, n * sizeof *own);
        drove__free(own);
    }
    drove__free(plain);
}

static void bytes_make_the_same_steps_in_every_tier(void **state)
{
    (void)state;
    check_tiers("mlp:64,24", 600, "D8M8", false);
    check_tiers("mlp:130", 600, "D16M16", true);
    check_tiers("mlp:20", 600, "D8M16", false);
    check_tiers("mlp:20", 600, "D16M8?scales=channel", true);
    check_tiers("lenet", 28 * 28, "D8M8", false);
}

static void what_it_cannot_train_is_refused(void **state)
{
    problem p;
    drove_engine_shared *kept;
    (void)state;
    setup(&p, "D8M8", "shared", 0, 0);
    kept = p.shared;
    p.storage.x_kind = DROVE_X_CSR;
    assert_int_equal(prepare(&p, "D8M8", "shared", 0, 0), DROVE_E_ARG);
    assert_non_null(strstr(drove_error_text(), "sparse"));
    p.storage.x_kind = DROVE_X_F32;
    assert_int_equal(prepare(&p, "D8M7", "shared", 0, 0), DROVE_E_UNSUPPORTED);
    assert_int_equal(prepare(&p, "D8M8", "upwards", 0, 0), DROVE_E_ARG);
    p.model->n_statistics = 4;
    assert_int_equal(prepare(&p, "D8M8", "shared", 0, 0), DROVE_E_ARG);
    assert_non_null(strstr(drove_error_text(), "batch normalisation"));
    p.model->n_statistics = 0;
    p.shared = kept;
    drove_gradient g = {.value = p.after};
    const drove_batch batch = batch_of(&p, BATCH, 0);
    const drove_work work = {.batch = &batch, .theta = p.theta, .grad = &g};
    assert_int_equal(drove__engine_fixed.begin(p.engine, &work), DROVE_E_UNSUPPORTED);
    teardown(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signatures),
        cmocka_unit_test(units),
        cmocka_unit_test(arrays_are_rounded),
        cmocka_unit_test(roundings_are_unbiased),
        cmocka_unit_test(channels_have_units_of_their_own),
        cmocka_unit_test(what_cannot_be_rounded_stays),
        cmocka_unit_test(floats_are_the_hosts_steps),
        cmocka_unit_test(more_bits_are_nearer),
        cmocka_unit_test(weights_stay_within_their_format),
        cmocka_unit_test(words_hold_the_parameters),
        cmocka_unit_test(channels_have_ranges_of_their_own),
        cmocka_unit_test(bf16_parameters_take_the_hosts_steps),
        cmocka_unit_test(steps_are_unbiased),
        cmocka_unit_test(bytes_make_the_steps_of_floats),
        cmocka_unit_test(bytes_make_the_same_steps_in_every_tier),
        cmocka_unit_test(what_it_cannot_train_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
