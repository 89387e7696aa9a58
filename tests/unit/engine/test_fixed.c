/* tests/unit/engine/test_fixed.c - networks in fixed point: signatures, the shared words, and steps
 * against the host engine's gradient.
 */
#include "fixed_numbers.h"
#include "fixed_problem.h"
#include "support/test.h"

#include "engine/fixed/round.h"
#include "engine/fixed/shared.h"

#include "base/cpu.h"
#include "base/mem.h"
#include "kernel/bf16.h"
#include "kernel/tiers.h"
#include "support/engine_calls.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

TEST(signatures)
{
    static const struct {
        const char *text;
        bool in_bf16, by_channel;
    } keyed[] = {{"bf16?masters=bf16", true, false},
                 {"D8M8?scales=channel", false, true},
                 {"D8M8?scales=layer", false, false},
                 {"D8M8", false, false}};
    char longer[65];
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
    check_format("bf16?masters=bf16", 0, 16, 0);
    for (size_t i = 0; i < DROVE_COUNT(keyed); i++) {
        drove_fixed f = {0};
        assert_int_equal(drove__fixed_parse(keyed[i].text, &f), DROVE_OK);
        assert_int_equal(f.in_bf16, keyed[i].in_bf16);
        assert_int_equal(f.by_channel, keyed[i].by_channel);
    }
    memset(longer, 'x', sizeof longer);
    memcpy(longer, "D8M8?scales=", 12); /* 63 characters fit */
    longer[63] = '\0';
    check_refused(longer, DROVE_E_ARG, "scales: expected layer or channel");
    longer[63] = 'x', longer[64] = '\0';
    check_refused(longer, DROVE_E_ARG, "--precision: expected at most 63 characters, found 64");
    check_refused("D8M8?bits=8", DROVE_E_ARG, "--precision: ");
    check_refused("bf16:1?masters=bf16", DROVE_E_ARG, "--precision: ");
    check_refused("D8M8?simulated=perhaps", DROVE_E_ARG,
                  "simulated: expected no or yes, found \"perhaps\"");
    check_refused("D32M8", DROVE_E_UNSUPPORTED,
                  "--precision D32M8: expected D8, D16 or D32f, or D2 to D16 with ?simulated=yes, "
                  "found D32");
    check_refused("D8M8G16f", DROVE_E_UNSUPPORTED, "found G16f");
    check_refused("nonsense-of-many-letters?simulated=yes", DROVE_E_ARG,
                  "or C8s, found \"nonsense-of-many-let\"");
    check_refused("D8M", DROVE_E_ARG, "--precision: signature \"D8M\": character 4");
    check_refused("D8M8?scales=row", DROVE_E_ARG, "expected layer or channel, found \"row\"");
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

/* ---- steps ---- */

static drove_steps take_steps(fixed_problem *p, size_t n_rows, uint64_t number, float eta)
{
    const drove_batch batch = fixed_batch(p, n_rows, number);
    const drove_params live = {.words = p->words};
    drove_steps made;
    assert_int_equal(drove__engine_fixed.steps(p->engine, &live, &batch, eta, &made), DROVE_OK);
    assert_true(made.is_finite);
    drove__engine_fixed.typed->unpack(p->shared, p->words, p->after);
    return made;
}

/* The host engine's steps from theta. */
static void host_steps(fixed_problem *p, size_t n_rows, float eta, float decay, float *theta)
{
    const drove_engine_options opt = {
        .model = p->model, .kernels = &p->kernels, .data = &p->data, .max_rows = FIXED_ROWS};
    const drove_batch all = fixed_batch(p, n_rows, 0);
    drove_engine *host;
    drove_gradient g = {.value = fixed_zeroed(p->model->n_params, sizeof(float))};
    assert_int_equal(drove__engine_host.create(&opt, &host), DROVE_OK);
    for (size_t first = 0; first < n_rows; first += FIXED_BATCH) {
        drove_batch one = all;
        drove_score score = {0};
        one.row += first;
        one.n_rows = n_rows - first < FIXED_BATCH ? n_rows - first : FIXED_BATCH;
        assert_int_equal(engine_gradient(&drove__engine_host, host, theta, &one, &g, &score),
                         DROVE_OK);
        if (decay > 0.0f) p->kernels.axpy_f32(g.value, theta, p->model->n_params, decay);
        p->kernels.sgd_f32(theta, theta, g.value, p->model->n_params, eta);
    }
    drove__free(g.value);
    drove__engine_host.destroy(host);
}

/* With floats for all numbers the steps are those of the host engine, to the bit. */
TEST(floats_are_the_hosts_steps)
{
    for (int decays = 0; decays <= 1; decays++) {
        fixed_problem p;
        const float decay = decays ? 0.01f : 0.0f;
        fixed_setup(&p, "D32fM32f", "shared", 0, (double)decay);
        assert_int_equal(take_steps(&p, 3 * FIXED_BATCH + 2, 0, 0.1f).n_steps, 4);
        host_steps(&p, 3 * FIXED_BATCH + 2, 0.1f, decay, p.theta);
        assert_memory_equal(p.after, p.theta, p.model->n_params * sizeof(float));
        fixed_teardown(&p);
    }
}

/* Largest distance from the host's step, in units of its largest change. */
static double distance(const char *precision)
{
    fixed_problem p;
    double far = 0.0, largest_change = 0.0;
    fixed_setup(&p, precision, "nearest", 0, 0);
    const size_t n = p.model->n_params;
    float *start = fixed_zeroed(n, sizeof *start);
    memcpy(start, p.theta, n * sizeof *start);
    (void)take_steps(&p, FIXED_BATCH, 0, 0.1f);
    host_steps(&p, FIXED_BATCH, 0.1f, 0.0f, p.theta);
    for (size_t i = 0; i < n; i++) {
        far = fmax(far, fabs((double)p.after[i] - (double)p.theta[i]));
        largest_change = fmax(largest_change, fabs((double)p.theta[i] - (double)start[i]));
    }
    drove__free(start);
    fixed_teardown(&p);
    return far / largest_change;
}

/* More bits, nearer to floats; examples, outputs and derivatives are all rounded. */
TEST(more_bits_are_nearer)
{
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
static void check_grid(const fixed_problem *p, unsigned bits)
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

TEST(weights_stay_within_their_format)
{
    for (unsigned bits = 2; bits <= 16; bits++) {
        fixed_problem p;
        char precision[64];
        const bool by_channel = bits % 2 == 1; /* these outgrow their ranges by a negative decay */
        snprintf(precision, sizeof precision, "D32fM%u?simulated=yes&scales=%s", bits,
                 by_channel ? "channel" : "layer");
        fixed_setup(&p, precision, "xorshift", by_channel ? 0 : 0.5, by_channel ? -3.0 : 0);
        assert_true(by_channel || p.shared->model_range == 0.5);
        assert_true(p.shared->layout.number == (bits <= 8 ? DROVE_I8 : DROVE_I16));
        drove__engine_fixed.typed->unpack(p.shared, p.words, p.after);
        check_grid(&p, bits);
        uint64_t n_clamped = 0;
        for (uint64_t t = 0; t < 20; t++) {
            n_clamped += take_steps(&p, FIXED_ROWS, t, 0.5f).n_clamped;
            check_grid(&p, bits);
        }
        assert_true(n_clamped > 0); /* 0.5 is too little for some of them */
        fixed_teardown(&p);
    }
}

/* All numbers of the shared words. */
static size_t fill_words(fixed_problem *p, int value)
{
    size_t n = 0;
    for (size_t i = 0; i < p->shared->n_parts; i++) {
        const drove_fixed_part *part = &p->shared->part[i];
        void *words = drove__fixed_at(p->shared, part, p->words);
        for (size_t k = 0; !part->is_tail && k < part->length; k++, n++) {
            if (p->shared->layout.number == DROVE_I8) ((int8_t *)words)[k] = (int8_t)value;
            else ((int16_t *)words)[k] = (int16_t)value;
        }
    }
    return n;
}

/* A step of size 0: numbers at the ends of the range are left, and not counted; those beyond are
 * brought back, and each is counted. */
TEST(numbers_beyond_the_ends_are_counted)
{
    static const struct {
        const char *precision;
        int most;
    } cases[] = {{"D32fM4?simulated=yes", 7},
                 {"D8M4?simulated=yes", 7},
                 {"D6M7?simulated=yes", 63},
                 {"D32fM12?simulated=yes", 2047}};
    for (size_t i = 0; i < DROVE_COUNT(cases) * 5; i++) {
        fixed_problem p;
        const int most = cases[i / 5].most, value[] = {-most - 1, -most, 0, most, most + 1};
        const int at = value[i % 5], kept = at > most ? most : at < -most ? -most : at;
        fixed_setup(&p, cases[i / 5].precision, "nearest", 0.5, 0);
        const size_t n = fill_words(&p, at),
                     n_bytes = 4 * drove__engine_fixed.typed->n_words(p.shared);
        const size_t n_clamped = (size_t)take_steps(&p, FIXED_BATCH, 0, 0.0f).n_clamped;
        if (n_clamped != (at == kept ? 0 : n))
            fail_msg("%s, all numbers %d: %zu of %zu clamped", cases[i / 5].precision, at,
                     n_clamped, n);
        uint32_t *found = memcpy(fixed_zeroed(n_bytes, 1), p.words, n_bytes);
        (void)fill_words(&p, kept);
        assert_memory_equal(found, p.words, n_bytes);
        drove__free(found);
        fixed_teardown(&p);
    }
}

/* Words and floats of the first parameters are half a unit apart at most; gaps and the float
 * parameters are as they were. */
TEST(words_hold_the_parameters)
{
    fixed_problem p;
    size_t n_numbers = 0;
    fixed_setup(&p, "D8M8", "shared", 0, 0);
    drove__engine_fixed.typed->unpack(p.shared, p.words, p.after);
    const float *unpacked = p.after;
    for (size_t i = 0; i < p.shared->n_parts; i++) {
        const drove_fixed_part *part = &p.shared->part[i];
        double top = (double)fixed_largest(p.theta + part->offset, part->length);
        double bound = part->is_tail ? 0.0 : (double)part->unit / 2;
        for (size_t k = 0; k < part->length; k++) {
            double d = (double)unpacked[part->offset + k] - (double)p.theta[part->offset + k];
            assert_true(fabs(d) <= bound);
        }
        if (part->is_tail) continue;
        n_numbers += part->length;
        assert_true(127 * (double)part->unit >= top && (double)part->unit * 16 < top);
    }
    assert_int_equal(n_numbers, FIXED_FEATURES * 20 + 20 * 9 + 9 * FIXED_CLASSES);
    assert_true(drove__engine_fixed.typed->layout(p.shared)->n_numbers >= n_numbers);
    assert_int_equal(drove__engine_fixed.typed->set_range(p.shared, p.shared->model_range),
                     DROVE_OK);
    assert_int_equal(drove__engine_fixed.typed->set_range(p.shared, 3.0), DROVE_E_ARG);
    fixed_teardown(&p);
}

/* By channel: the unit of each is the power of two with which twice its largest weight fits, and no
 * larger. */
TEST(channels_have_ranges_of_their_own)
{
    static double most[FIXED_FEATURES * 20];
    fixed_problem p;
    size_t n_other = 0;
    fixed_setup(&p, "D8M8?scales=channel", "shared", 0, 0);
    drove__engine_fixed.typed->unpack(p.shared, p.words, p.after);
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
    fixed_teardown(&p);
    fixed_setup(&p, "D8M8?scales=channel", "shared", 4.0, 0); /* a range for all is one for all */
    for (size_t i = 0; i < p.shared->n_parts; i++)
        for (size_t c = 0; !p.shared->part[i].is_tail && c < p.shared->part[i].n_channels; c++)
            assert_true(p.shared->part[i].by[c] == 1.0f && p.shared->part[i].unit == 0x1p-5f);
    fixed_teardown(&p);
}

/* With parameters in bf16 a step is the host's from the numbers that the words hold, rounded to the
 * nearest; biases stay floats. */
TEST(bf16_parameters_take_the_hosts_steps)
{
    fixed_problem p;
    fixed_setup(&p, "bf16?masters=bf16", "nearest", 0, 0);
    const size_t n = p.model->n_params;
    assert_true(p.shared->layout.in_bf16 && p.shared->layout.number == DROVE_I16);
    drove__engine_fixed.typed->unpack(p.shared, p.words, p.after);
    for (size_t i = 0; i < p.shared->n_parts; i++) {
        const drove_fixed_part *part = &p.shared->part[i];
        for (size_t k = part->offset; k < part->offset + part->length; k++) {
            double d = fabs((double)p.after[k] - (double)p.theta[k]);
            assert_true(d <= (part->is_tail ? 0.0 : 0x1p-8 * fabs((double)p.theta[k])));
            if (!part->is_tail) assert_true(drovek_bf16(p.after[k]) == p.after[k]);
        }
    }
    memcpy(p.theta, p.after, n * sizeof *p.theta);
    (void)take_steps(&p, FIXED_BATCH, 0, 0.1f);
    host_steps(&p, FIXED_BATCH, 0.1f, 0.0f, p.theta);
    for (size_t i = 0; i < p.shared->n_parts; i++) {
        const drove_fixed_part *part = &p.shared->part[i];
        for (size_t k = part->offset; k < part->offset + part->length; k++) {
            double d = fabs((double)p.after[k] - (double)p.theta[k]);
            assert_true(d <= (part->is_tail ? 0.0 : 0x1p-8 * fabs((double)p.theta[k])));
        }
    }
    fixed_teardown(&p);
    fixed_setup(&p, "D8M8", "nearest", 0, 0); /* a range is for integers */
    drove__engine_fixed.typed->dismiss(p.shared);
    p.shared = NULL;
    assert_int_equal(fixed_prepare(&p, "bf16?masters=bf16", "nearest", 1.0, 0, false), DROVE_E_ARG);
    fixed_teardown(&p);
}

/* The mean of many steps of 8-bit weights from one place is the step of floats from there. */
static void check_unbiased(const char *precision)
{
    enum { TIMES = 1500 };
    fixed_problem p;
    fixed_setup(&p, precision, "xorshift", 0, 0);
    const size_t n = p.model->n_params, n_words = drove__engine_fixed.typed->n_words(p.shared);
    double *sum = calloc(n, sizeof *sum);
    uint32_t *start = fixed_zeroed(n_words, sizeof *start);
    assert_non_null(sum);
    memcpy(start, p.words, n_words * sizeof *start);
    drove__engine_fixed.typed->unpack(p.shared, start, p.theta);
    host_steps(&p, FIXED_BATCH, 0.02f, 0.0f, p.theta);
    for (uint64_t t = 0; t < TIMES; t++) {
        memcpy(p.words, start, n_words * sizeof *start);
        (void)take_steps(&p, FIXED_BATCH, t, 0.02f);
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
    fixed_teardown(&p);
}

TEST(steps_are_unbiased)
{
    check_unbiased("D32fM8");
    check_unbiased("D32fM8?scales=channel");
}

/* ---- integers kept as bytes ---- */

typedef struct short_run {
    const char *model;
    size_t n_inputs;
    const char *precision, *rounding;
    double decay;
    size_t n_rows; /* of the first step, then fewer; 0: nine, in steps of FIXED_BATCH */
} short_run;

/* The words after some steps of a network with these kernels. */
static uint32_t *words_after(const short_run *r, const drovek_table *kernels, size_t *n)
{
    enum { STEPS = 3 };
    const size_t n_rows = r->n_rows > 0 ? r->n_rows : 9, n_inputs = r->n_inputs;
    fixed_problem p = {.storage = {.n_rows = n_rows,
                                   .n_features = n_inputs,
                                   .x_kind = DROVE_X_F32,
                                   .y_kind = DROVE_Y_CLASS,
                                   .n_classes = FIXED_CLASSES}};
    drove_model_io io = {.n_features = n_inputs, .n_classes = FIXED_CLASSES};
    uint32_t *row = fixed_zeroed(n_rows, sizeof *row);
    if (n_inputs == 28 * 28) io.image = (drove_shape){1, 28, 28};
    if (n_inputs == 3 * 32 * 32) io.image = (drove_shape){3, 32, 32};
    p.kernels = *kernels;
    p.storage.x_f32 = fixed_zeroed(n_rows * n_inputs, sizeof(float));
    p.storage.y_class = fixed_zeroed(n_rows, sizeof(int32_t));
    p.data = (drove_data){.storage = &p.storage, .n_rows = n_rows};
    fixed_draw(p.storage.x_f32, n_rows * n_inputs, 5);
    for (size_t i = 0; i < n_rows; i++) {
        p.storage.y_class[i] = (int32_t)(i % FIXED_CLASSES);
        row[i] = (uint32_t)i;
    }
    assert_int_equal(drove__model_create(r->model, "relu", "softmax", &io, &p.model), DROVE_OK);
    if (strncmp(r->precision, "bf16", 4) == 0) p.model->factors = DROVEK_FACTORS_BF16;
    p.theta = fixed_zeroed(p.model->n_params, sizeof(float));
    p.after = fixed_zeroed(p.model->n_params, sizeof(float));
    assert_int_equal(drove__model_init(p.model, "normal:0.1", 1, p.theta), DROVE_OK);
    assert_int_equal(fixed_prepare(&p, r->precision, r->rounding, 0, r->decay, false), DROVE_OK);
    if (r->n_rows > 0) p.shared->each = n_rows;
    const drove_engine_options opt = {.model = p.model,
                                      .kernels = &p.kernels,
                                      .data = &p.data,
                                      .max_rows = n_rows,
                                      .shared = p.shared};
    assert_int_equal(drove__engine_fixed.create(&opt, &p.engine), DROVE_OK);
    *n = drove__engine_fixed.typed->n_words(p.shared);
    p.words = fixed_zeroed(*n, sizeof *p.words);
    drove__engine_fixed.typed->pack(p.shared, NULL, p.theta, p.words);
    for (uint64_t t = 0; t < STEPS; t++) {
        const drove_batch batch = {.data = &p.data, .row = row, .n_rows = n_rows - t, .number = t};
        const drove_params live = {.words = p.words};
        drove_steps made;
        assert_int_equal(drove__engine_fixed.steps(p.engine, &live, &batch, 0.02f, &made),
                         DROVE_OK);
        assert_true(made.is_finite);
    }
    uint32_t *words = p.words;
    p.words = NULL;
    drove__free(row);
    fixed_teardown(&p);
    return words;
}

static void check_alike(const short_run *run, const drovek_table *own, const drovek_table *other)
{
    size_t n, n_other;
    short_run decays = *run;
    decays.decay = 0.5;
    uint32_t *mine = words_after(run, own, &n), *theirs = words_after(run, other, &n_other);
    uint32_t *another = words_after(&decays, own, &n_other);
    assert_int_equal(n, n_other);
    assert_memory_equal(mine, theirs, n * sizeof *mine);
    assert_memory_not_equal(mine, another, n * sizeof *mine); /* other steps */
    drove__free(mine);
    drove__free(theirs);
    drove__free(another);
}

static void check_bytes(const drovek_table *own, const char *model, size_t n_inputs,
                        const char *precision, const char *rounding, double decay)
{
    const short_run run = {model, n_inputs, precision, rounding, decay, 0};
    drovek_table floats = *own;
    floats.integers = NULL;
    check_alike(&run, own, &floats);
}

/* Where sums are exact either way, products of bytes and of floats make the same steps, bit for
 * bit: the same integers, biases and random numbers. */
TEST(bytes_make_the_steps_of_floats)
{
    static const char *const precisions[] = {"D8M8", "D6M5?simulated=yes", "D8M8G4?simulated=yes",
                                             "D8M8?scales=channel"};
    drovek_table k;
    assert_int_equal(drovek_select(&k, drove__cpu_features(), NULL), DROVE_OK);
    if (k.integers == NULL) skip();
    for (size_t i = 0; i < FIXED_ROUNDINGS; i++) {
        for (size_t q = 0; q < DROVE_COUNT(precisions); q++) {
            check_bytes(&k, "mlp:64,9", FIXED_FEATURES, precisions[q], fixed_roundings[i], 0.0);
            check_bytes(&k, "mlp:33", 70, precisions[q], fixed_roundings[i], 0.01);
        }
        if (k.gemm_i8 == NULL) continue; /* convolutions of singles go beyond 2^24 */
        check_bytes(&k, "lenet", 28 * 28, "D8M8", fixed_roundings[i], 0.0);
        check_bytes(&k, "lenet", 28 * 28, "D8M8?scales=channel", fixed_roundings[i], 0.01);
    }
    /* images of floats may lie in blocks, and other random numbers would meet them */
    if (k.gemm_i8 != NULL) {
        check_bytes(&k, "cifar-quick", 3 * 32 * 32, "D8M8", "nearest", 0.0);
        check_bytes(&k, "cifar-quick", 3 * 32 * 32, "D8M8?scales=channel", "nearest", 0.0);
    }
    check_bytes(&k, "mlp:20,9", FIXED_FEATURES, "D9M8G7?simulated=yes", "xorshift", 0.0);
    check_bytes(&k, "mlp:20,9", FIXED_FEATURES, "D8M11?simulated=yes", "xorshift", 0.0);
    check_bytes(&k, "mlp:20,9", FIXED_FEATURES, "D8M8G32f", "xorshift", 0.0); /* are none */
}

/* Sums of integers have the same bits in every tier, so its products of bytes make the steps of
 * plain C's.  Of convolutions this holds where the singles that they add up are exact. */
static void check_tiers(const char *model, size_t n_inputs, const char *precision,
                        const char *rounding, bool both_wide)
{
    const short_run run = {model, n_inputs, precision, rounding, 0.0, 0};
    size_t n, n_other;
    drovek_table k;
    assert_int_equal(drovek_select(&k, drove__cpu_features(), NULL), DROVE_OK);
    k.integers = &drovek_planes_ref;
    uint32_t *plain = words_after(&run, &k, &n);
    const drovek_planes_ops *last = k.integers; /* several tiers may have the same */
    for (const char *const *tier = drovek_tiers(); *tier != NULL; tier++) {
        drovek_table of;
        if (drovek_select(&of, drove__cpu_features(), *tier) != DROVE_OK) continue;
        k.integers = of.integers;
        if (k.integers == NULL || k.integers == last) continue;
        last = k.integers;
        if (both_wide && k.integers->one_wide) continue;
        uint32_t *own = words_after(&run, &k, &n_other);
        assert_memory_equal(own, plain, n * sizeof *own);
        drove__free(own);
    }
    drove__free(plain);
}

TEST(bytes_make_the_same_steps_in_every_tier)
{
    check_tiers("mlp:64,24", 600, "D8M8", "shared", false);
    check_tiers("mlp:130", 600, "D16M16", "shared", true);
    check_tiers("mlp:20", 600, "D8M16", "shared", false);
    check_tiers("mlp:20", 600, "D16M8?scales=channel", "shared", true);
    check_tiers("lenet", 28 * 28, "D8M8", "shared", false);
}

/* Where bytes_make_the_steps_of_floats has no convolutions. */
TEST(convolutions_of_bytes_make_the_steps_of_plain_c)
{
    drovek_table k;
    assert_int_equal(drovek_select(&k, drove__cpu_features(), NULL), DROVE_OK);
    if (k.integers == NULL || k.gemm_i8 != NULL) skip();
    const bool is_long = getenv("DROVE_TEST_LONG") != NULL;
    for (size_t i = 0; i < FIXED_ROUNDINGS;
         i++) { /* one of the two in turns; in the long tests both */
        for (size_t q = 0; q < 2; q++)
            if (is_long || q == i % 2)
                check_tiers("lenet", 28 * 28, q == 0 ? "D8M8" : "D8M8?scales=channel",
                            fixed_roundings[i], false);
    }
    check_tiers("cifar-quick", 3 * 32 * 32, "D8M8", "nearest", false);
}

/* Layers that read and write words where they are make the steps of those that widen them first,
 * but for the order of random bits; also of more rows than a product that writes words takes, and
 * with layers of other widths between.  One or two rows are added up in another order. */
TEST(words_make_the_steps_of_floats)
{
    static const short_run runs[] = {{"mlp:64,32", 70, "bf16?masters=bf16", "nearest", 0.0, 9},
                                     {"mlp:96,33,32", 31, "bf16?masters=bf16", "nearest", 0.0, 40},
                                     {"mlp:32", 20, "bf16?masters=bf16", "nearest", 0.0, 5},
                                     {"mlp:320,64", 50, "bf16?masters=bf16", "nearest", 0.0, 300},
                                     {"mlp:64,32", 70, "bf16?masters=bf16", "nearest", 0.01, 9}};
    drovek_table own, floats;
    assert_int_equal(drovek_select(&own, drove__cpu_features(), NULL), DROVE_OK);
    if (own.words == NULL) skip();
    floats = own;
    floats.words = NULL;
    for (size_t i = 0; i < DROVE_COUNT(runs); i++) check_alike(&runs[i], &own, &floats);
}

TEST(what_it_cannot_train_is_refused)
{
    fixed_problem p;
    drove_engine_shared *kept;
    fixed_setup(&p, "D8M8", "shared", 0, 0);
    kept = p.shared;
    p.storage.x_kind = DROVE_X_CSR;
    assert_int_equal(fixed_prepare(&p, "D8M8", "shared", 0, 0, false), DROVE_E_ARG);
    assert_non_null(strstr(drove_error_text(), "sparse"));
    p.storage.x_kind = DROVE_X_F32;
    assert_int_equal(fixed_prepare(&p, "D8M7", "shared", 0, 0, false), DROVE_E_UNSUPPORTED);
    assert_int_equal(fixed_prepare(&p, "D8M8", "upwards", 0, 0, false), DROVE_E_ARG);
    p.model->n_statistics = 4;
    assert_int_equal(fixed_prepare(&p, "D8M8", "shared", 0, 0, false), DROVE_E_ARG);
    assert_non_null(strstr(drove_error_text(), "batch normalisation"));
    p.model->n_statistics = 0;
    p.shared = kept;
    drove_gradient g = {.value = p.after};
    const drove_batch batch = fixed_batch(&p, FIXED_BATCH, 0);
    const drove_work work = {.batch = &batch, .theta = p.theta, .grad = &g};
    assert_int_equal(drove__engine_fixed.begin(p.engine, &work), DROVE_E_UNSUPPORTED);
    fixed_teardown(&p);
}
