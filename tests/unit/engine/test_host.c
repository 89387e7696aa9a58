/* tests/unit/engine/test_host.c - the host engine: what it loads from every kind of storage, its
 * gradients and spans against a float64 reference, fused steps, scores, predictions, errors.
 */
#include "engine/engine.h"
#include "support/test.h"

#include "base/cpu.h"
#include "base/mem.h"
#include "data/quant.h"
#include "model/loss.h"
#include "support/reference_mlp.h"
#include "support/engine_calls.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_STORED = 40, N_VIEW = 30, N_FEATURES = 70, N_CLASSES = 3, MAX_ROWS = 64 };

/* A data set made by hand: values, view (a choice of rows) and scaling. */
typedef struct problem {
    drove_storage storage;
    drove_data data;
    double x[N_STORED][N_FEATURES]; /* as the model must see it */
    drovek_factors factors;
    drove_model *model;
    float *theta;
    double *packed;
    reference_mlp reference;
    drovek_table kernels;
    drove_engine *engine;
} problem;

typedef struct kind {
    const char *name;
    drove_x_kind x_kind;
    bool has_values, is_scaled, has_view, is_quantised;
    drove_number number; /* if it is quantised */
    unsigned index_bits;
} kind;

static const kind kinds[] = {
    {"u8", DROVE_X_U8, true, false, false, false, DROVE_F32, 0},
    {"u8 scaled, view", DROVE_X_U8, true, true, true, false, DROVE_F32, 0},
    {"f32", DROVE_X_F32, true, false, false, false, DROVE_F32, 0},
    {"f32 view", DROVE_X_F32, true, false, true, false, DROVE_F32, 0},
    {"f32 scaled", DROVE_X_F32, true, true, false, false, DROVE_F32, 0},
    {"sparse", DROVE_X_CSR, true, false, true, false, DROVE_F32, 0},
    {"sparse ones", DROVE_X_CSR, false, false, false, false, DROVE_F32, 0},
    {"sparse scaled", DROVE_X_CSR, true, true, true, false, DROVE_F32, 0},
    {"sparse ones scaled", DROVE_X_CSR, false, true, false, false, DROVE_F32, 0},
    {"D8", DROVE_X_U8, true, false, false, true, DROVE_I8, 0},
    {"D16 view", DROVE_X_F32, true, false, true, true, DROVE_I16, 0},
    {"D32f", DROVE_X_F32, true, false, false, true, DROVE_F32, 0},
    {"D16i8 view", DROVE_X_CSR, true, false, true, true, DROVE_I16, 8},
    {"D32fi32", DROVE_X_CSR, true, false, false, true, DROVE_F32, 32},
};

static void *zeroed(size_t count, size_t size_bytes)
{
    void *memory = drove__alloc(count, size_bytes);
    assert_non_null(memory);
    return memory;
}

/* Raw values of one kind of storage; rare features so that spans have holes. */
static void fill_storage(problem *p, const kind *how, drove_rng *rng)
{
    drove_storage *s = &p->storage;
    size_t n_pairs = 0;
    s->n_rows = N_STORED;
    s->n_features = N_FEATURES;
    s->x_kind = how->x_kind;
    s->x_u8 = zeroed(N_STORED * N_FEATURES, 1);
    s->x_f32 = zeroed(N_STORED * N_FEATURES, sizeof *s->x_f32);
    s->row_start = zeroed(N_STORED + 1, sizeof *s->row_start);
    s->index = zeroed(N_STORED * N_FEATURES, sizeof *s->index);
    s->value = how->has_values ? zeroed(N_STORED * N_FEATURES, sizeof *s->value) : NULL;
    for (size_t i = 0; i < N_STORED; i++) {
        for (size_t j = 0; j < N_FEATURES; j++) {
            if (drove__rng_below(rng, 12) != 0) continue;
            uint8_t byte = (uint8_t)(1 + drove__rng_below(rng, 255));
            float real = (float)drove__rng_normal(rng);
            float stored = how->x_kind == DROVE_X_U8 ? byte : how->has_values ? real : 1.0f;
            s->x_u8[i * N_FEATURES + j] = byte;
            s->x_f32[i * N_FEATURES + j] = real;
            s->index[n_pairs] = (uint32_t)j;
            if (how->has_values) s->value[n_pairs] = real;
            n_pairs++;
            p->x[i][j] = stored;
        }
        s->row_start[i + 1] = n_pairs;
    }
    s->y_kind = DROVE_Y_CLASS;
    s->n_classes = N_CLASSES;
    s->y_class = zeroed(N_STORED, sizeof *s->y_class);
    for (size_t i = 0; i < N_STORED; i++) s->y_class[i] = (int32_t)drove__rng_below(rng, N_CLASSES);
}

/* Replaces what was stored, and what is expected, by quantised numbers. */
static void quantise(problem *p, const kind *how)
{
    const drove_data all = {.storage = &p->storage, .n_rows = N_STORED};
    const drove_quant_options opt = {.number = how->number, .index_bits = how->index_bits};
    assert_int_equal(drove__quant_create(&all, &opt, &p->storage.quant), DROVE_OK);
    p->storage.x_kind = DROVE_X_QUANT;
    for (size_t i = 0; i < N_STORED; i++) {
        float x[N_FEATURES];
        drove__quant_unpack(p->storage.quant, i, N_FEATURES, x);
        for (size_t j = 0; j < N_FEATURES; j++) {
            assert_true(fabs((double)x[j] - p->x[i][j]) <= 0.501 * (double)p->storage.quant->scale);
            p->x[i][j] = (double)x[j];
        }
    }
}

static void fill_view(problem *p, const kind *how, drove_rng *rng)
{
    drove_data *d = &p->data;
    d->storage = &p->storage;
    d->n_rows = how->has_view ? N_VIEW : N_STORED;
    if (how->has_view) {
        d->row = zeroed(N_VIEW, sizeof *d->row);
        for (size_t i = 0; i < N_VIEW; i++) d->row[i] = (uint32_t)(N_STORED - 1 - i);
    }
    if (!how->is_scaled) return;
    d->shift = zeroed(N_FEATURES, sizeof *d->shift);
    d->factor = zeroed(N_FEATURES, sizeof *d->factor);
    for (size_t j = 0; j < N_FEATURES; j++) {
        d->shift[j] = how->x_kind == DROVE_X_CSR ? 0.0f : (float)drove__rng_normal(rng);
        d->factor[j] = (float)(0.01 + drove__rng_uniform(rng));
        for (size_t i = 0; i < N_STORED; i++)
            p->x[i][j] = (p->x[i][j] - d->shift[j]) * d->factor[j];
    }
}

static void pack(const drove_model *m, const float *flat, double *packed)
{
    for (size_t l = 0; l < m->n_layers; l++) {
        const drove_layer *y = &m->layer[l];
        for (size_t i = 0; i < y->n_in * y->n_out; i++) *packed++ = flat[y->w_offset + i];
        for (size_t i = 0; i < y->n_out; i++) *packed++ = flat[y->b_offset + i];
    }
}

static void make_model(problem *p, const char *spec, const char *loss)
{
    drove_model_io io = {.n_features = N_FEATURES, .n_classes = p->storage.n_classes};
    assert_int_equal(drove__model_create(spec, "tanh", loss, &io, &p->model), DROVE_OK);
    p->model->factors = p->factors;
    p->theta = zeroed(p->model->n_params, sizeof *p->theta);
    p->packed = zeroed(p->model->n_weights, sizeof *p->packed);
    assert_int_equal(drove__model_init(p->model, "normal:0.2", 1, p->theta), DROVE_OK);
    pack(p->model, p->theta, p->packed);
    p->reference = (reference_mlp){.n_layers = p->model->n_layers,
                                   .size = {N_FEATURES},
                                   .act = REFERENCE_TANH,
                                   .bf16 = p->factors == DROVEK_FACTORS_BF16};
    for (size_t l = 0; l < p->model->n_layers; l++) {
        p->reference.size[l + 1] = p->model->layer[l].n_out;
    }
}

static void setup_for(problem *p, const kind *how, const char *spec, const char *tier,
                      drovek_factors factors)
{
    drove_rng rng;
    memset(p, 0, sizeof *p);
    p->factors = factors;
    drove__rng_seed(&rng, 11, DROVE_RNG_TEST, (uint64_t)(how - kinds));
    fill_storage(p, how, &rng);
    if (how->is_quantised) quantise(p, how);
    fill_view(p, how, &rng);
    make_model(p, spec, "softmax");
    assert_int_equal(drovek_select(&p->kernels, drove__cpu_features(), tier), DROVE_OK);
    drove_engine_options opt = {
        .model = p->model, .kernels = &p->kernels, .data = &p->data, .max_rows = MAX_ROWS};
    assert_int_equal(drove__engine_host.create(&opt, &p->engine), DROVE_OK);
}

static void setup(problem *p, const kind *how, const char *spec, const char *tier)
{
    setup_for(p, how, spec, tier, DROVEK_FACTORS_F32);
}

static void teardown(problem *p)
{
    drove__engine_host.destroy(p->engine);
    drove__model_destroy(p->model);
    drove__free(p->theta);
    drove__free(p->packed);
    drove__free(p->storage.x_u8);
    drove__free(p->storage.x_f32);
    drove__free(p->storage.row_start);
    drove__free(p->storage.index);
    drove__free(p->storage.value);
    drove__quant_release(p->storage.quant);
    drove__free(p->storage.y_class);
    drove__free(p->data.row);
    drove__free(p->data.shift);
    drove__free(p->data.factor);
}

/* n random examples (with repetition) as a batch, and for the reference. */
typedef struct choice {
    uint32_t row[MAX_ROWS];
    double x[MAX_ROWS * N_FEATURES], t[MAX_ROWS * N_CLASSES];
    drove_batch batch;
} choice;

static void choose(choice *c, const problem *p, size_t n, uint64_t seed)
{
    drove_rng rng;
    drove__rng_seed(&rng, seed, DROVE_RNG_TEST, 1);
    memset(c, 0, sizeof *c);
    for (size_t i = 0; i < n; i++) {
        c->row[i] = (uint32_t)drove__rng_below(&rng, p->data.n_rows);
        size_t stored = drove__data_row(&p->data, c->row[i]);
        memcpy(c->x + i * N_FEATURES, p->x[stored], sizeof p->x[stored]);
        c->t[i * N_CLASSES + (size_t)p->storage.y_class[stored]] = 1;
    }
    c->batch = (drove_batch){.data = &p->data, .row = c->row, .n_rows = n};
}

static const size_t batches[] = {1, 2, 7, 64};

/* Fills what the spans do not cover with zeros, checking that it was left alone. */
static void fill_gaps(const problem *p, drove_gradient *g, float left)
{
    size_t at = 0;
    for (size_t i = 0; i <= g->n_spans; i++) {
        size_t end = i < g->n_spans ? g->span[i].offset : p->model->n_params;
        assert_true(at <= end);
        for (; at < end; at++) {
            /* a gap behind W may be zero or left alone; everything else must be left alone */
            assert_true(g->value[at] == left ||
                        (g->value[at] == 0.0f && at >= N_FEATURES * p->model->layer[0].n_out));
            g->value[at] = 0.0f;
        }
        if (i < g->n_spans) {
            assert_true(g->span[i].length > 0);
            at += g->span[i].length;
        }
    }
    assert_int_equal(at, p->model->n_params);
}

/* Errors of a sum that starts from singles.  In bf16 a single next to a tie may be rounded
 * the other way than its double: 2^-8 of one term. */
static double tolerance(const problem *p)
{
    return p->factors == DROVEK_FACTORS_BF16 ? 1e-4 : 3e-5;
}

static void check_gradient(problem *p, const char *name, size_t n, bool spans_wanted)
{
    choice c;
    double expected[8192], found[8192], error = 0;
    size_t n_params = p->model->n_params;
    drove_score score = {0};
    assert_true(p->model->n_weights <= DROVE_COUNT(found));
    choose(&c, p, n, n);
    drove_gradient g = {.value = zeroed(n_params, sizeof(float)), .spans_wanted = spans_wanted};
    for (size_t i = 0; i < n_params; i++) g.value[i] = 7.0f;
    assert_int_equal(
        engine_gradient(&drove__engine_host, p->engine, p->theta, &c.batch, &g, &score), DROVE_OK);
    if (!spans_wanted || !drove__storage_is_sparse(&p->storage)) assert_null(g.span);
    if (spans_wanted && drove__storage_is_sparse(&p->storage) && n < 3) assert_non_null(g.span);
    if (g.span != NULL) fill_gaps(p, &g, 7.0f);
    double loss = reference_gradient(&p->reference, p->packed, c.x, c.t, n, expected);
    assert_int_equal(score.n_rows, n);
    if (!(fabs(score.loss / (double)n - loss) < tolerance(p) * (1 + loss))) {
        fail_msg("%s, %zu rows: loss %g instead of %g", name, n, score.loss / (double)n, loss);
    }
    pack(p->model, g.value, found);
    double largest = 0;
    for (size_t i = 0; i < p->model->n_weights; i++) {
        double e = fabs(found[i] - expected[i]);
        error = e <= error ? error : e;
        largest = fmax(largest, fabs(expected[i]));
    }
    if (!(error <= tolerance(p) * (1 + largest))) {
        fail_msg("%s, %zu rows, spans %d: error %g of %g", name, n, spans_wanted, error, largest);
    }
    drove__free(g.value);
}

static void check_storages(drovek_factors factors)
{
    const char *const *tiers = drovek_tiers();
    for (size_t tier = 0; tiers[tier] != NULL; tier++) {
        drovek_table k;
        if (drovek_select(&k, drove__cpu_features(), tiers[tier]) != DROVE_OK) continue;
        for (size_t i = 0; i < DROVE_COUNT(kinds); i++) {
            problem p;
            setup_for(&p, &kinds[i], "mlp:20,9", tiers[tier], factors);
            for (size_t b = 0; b < DROVE_COUNT(batches); b++) {
                check_gradient(&p, kinds[i].name, batches[b], false);
                check_gradient(&p, kinds[i].name, batches[b], true);
            }
            teardown(&p);
        }
    }
}

TEST(gradients_of_every_storage_equal_the_reference)
{
    check_storages(DROVEK_FACTORS_F32);
}

TEST(gradients_in_bf16_equal_the_reference)
{
    check_storages(DROVEK_FACTORS_BF16);
}

/* Spans name exactly the touched rows of the first W, then the rest. */
TEST(spans_are_the_touched_rows)
{
    problem p;
    choice c;
    bool is_touched[N_FEATURES] = {false};
    drove_score score = {0};
    setup(&p, &kinds[5], "mlp:20,9", NULL);
    choose(&c, &p, 2, 3);
    for (size_t i = 0; i < 2; i++) {
        for (size_t j = 0; j < N_FEATURES; j++) is_touched[j] |= c.x[i * N_FEATURES + j] != 0;
    }
    drove_gradient g = {.value = zeroed(p.model->n_params, sizeof(float)), .spans_wanted = true};
    assert_int_equal(engine_gradient(&drove__engine_host, p.engine, p.theta, &c.batch, &g, &score),
                     DROVE_OK);
    size_t n_seen = 0;
    for (size_t s = 0; s + 1 < g.n_spans; s++) {
        assert_int_equal(g.span[s].offset % 20, 0);
        assert_int_equal(g.span[s].length % 20, 0);
        for (size_t j = g.span[s].offset / 20; j < (g.span[s].offset + g.span[s].length) / 20;
             j++) {
            assert_true(is_touched[j]);
            n_seen++;
        }
    }
    for (size_t j = 0; j < N_FEATURES; j++) n_seen -= is_touched[j];
    assert_int_equal(n_seen, 0);
    assert_int_equal(g.span[g.n_spans - 1].offset, p.model->layer[0].b_offset);

    choose(&c, &p, 64, 3); /* touches as many rows as there are: spans would spare nothing */
    assert_int_equal(engine_gradient(&drove__engine_host, p.engine, p.theta, &c.batch, &g, &score),
                     DROVE_OK);
    assert_null(g.span);
    drove__free(g.value);
    teardown(&p);
}

/* Batch 1: equal to gradient and sgd bit for bit; larger batches: to rounding. */
static void check_fused_steps(drovek_factors factors)
{
    const float eta = 0.3f;
    for (size_t i = 0; i < DROVE_COUNT(kinds); i++) {
        problem p;
        setup_for(&p, &kinds[i], "mlp:20,9", NULL, factors);
        size_t n = p.model->n_params;
        float *plain = zeroed(n, sizeof *plain), *fused = zeroed(n, sizeof *fused);
        for (size_t b = 0; b < DROVE_COUNT(batches); b++) {
            choice c;
            drove_score score = {0};
            drove_gradient g = {.value = zeroed(n, sizeof(float)), .spans_wanted = true};
            choose(&c, &p, batches[b], 20 + b);
            engine_gradient(&drove__engine_host, p.engine, p.theta, &c.batch, &g, &score);
            memcpy(plain, p.theta, n * sizeof *plain);
            memcpy(fused, p.theta, n * sizeof *fused);
            drove_span all = {0, n};
            const drove_span *span = g.span != NULL ? g.span : &all;
            for (size_t s = 0; s < (g.span != NULL ? g.n_spans : 1); s++) {
                float *at = plain + span[s].offset;
                p.kernels.sgd_f32(at, at, g.value + span[s].offset, span[s].length, eta);
            }
            const drove_params live = {.theta = fused};
            drove_steps made;
            assert_int_equal(drove__engine_host.steps(p.engine, &live, &c.batch, eta, &made),
                             DROVE_OK);
            assert_true(score.loss == made.score.loss);
            assert_true(made.n_steps == 1 && made.n_clamped == 0 && made.is_finite);
            if (batches[b] == 1) assert_memory_equal(plain, fused, n * sizeof *plain);
            for (size_t at = 0; at < n; at++) {
                assert_true(fabsf(plain[at] - fused[at]) <= 1e-5f * (1 + fabsf(plain[at])));
            }
            drove__free(g.value);
        }
        drove__free(plain);
        drove__free(fused);
        teardown(&p);
    }
}

TEST(fused_steps_equal_gradient_and_sgd)
{
    check_fused_steps(DROVEK_FACTORS_F32);
    check_fused_steps(DROVEK_FACTORS_BF16);
}

/* The same batch gives the same bits again, whatever was computed in between. */
TEST(results_repeat)
{
    for (size_t i = 0; i < DROVE_COUNT(kinds); i++) {
        problem p;
        choice c, other;
        setup(&p, &kinds[i], "mlp:20,9", NULL);
        size_t n = p.model->n_params;
        drove_gradient g = {.value = zeroed(n, sizeof(float))};
        float *first = zeroed(n, sizeof *first);
        choose(&c, &p, 33, 5);
        choose(&other, &p, 64, 6);
        engine_gradient(&drove__engine_host, p.engine, p.theta, &c.batch, &g, NULL);
        memcpy(first, g.value, n * sizeof *first);
        engine_gradient(&drove__engine_host, p.engine, p.theta, &other.batch, &g, NULL);
        assert_true(memcmp(first, g.value, n * sizeof *first) != 0);
        engine_gradient(&drove__engine_host, p.engine, p.theta, &c.batch, &g, NULL);
        assert_memory_equal(first, g.value, n * sizeof *first);
        drove__free(first);
        drove__free(g.value);
        teardown(&p);
    }
}

/* The same score and predictions from one pass. */
static void check_score_with_predictions(const problem *p, const drove_batch *batch,
                                         const drove_score *score, const float *prob)
{
    float both[MAX_ROWS * N_CLASSES];
    drove_work_done done = {0};
    const drove_work work = {.batch = batch, .theta = p->theta, .prob = both};
    assert_int_equal(drove__engine_do(&drove__engine_host, p->engine, &work, UINT64_MAX, &done),
                     DROVE_OK);
    assert_memory_equal(both, prob, batch->n_rows * N_CLASSES * sizeof(float));
    assert_true(done.score.loss == score->loss && done.score.n_correct == score->n_correct);
}

TEST(scores_and_predictions_equal_the_reference)
{
    for (size_t i = 0; i < DROVE_COUNT(kinds); i++) {
        problem p;
        choice c;
        double z[MAX_ROWS * N_CLASSES];
        float prob[MAX_ROWS * N_CLASSES];
        setup(&p, &kinds[i], "mlp:20,9", NULL);
        choose(&c, &p, 50, 9);
        drove_score score = {0};
        engine_score(&drove__engine_host, p.engine, p.theta, &c.batch, &score);
        drove__engine_host.predict(p.engine, p.theta, &c.batch, prob);
        check_score_with_predictions(&p, &c.batch, &score, prob);
        double loss = reference_gradient(&p.reference, p.packed, c.x, c.t, 50, NULL);
        assert_true(fabs(score.loss / 50 - loss) < 2e-5 * (1 + loss));
        reference_outputs(&p.reference, p.packed, c.x, 50, z);
        size_t n_correct = 0;
        for (size_t r = 0; r < 50; r++) {
            size_t best = 0;
            double sum = 0;
            for (size_t o = 1; o < N_CLASSES; o++) {
                if (z[r * N_CLASSES + o] > z[r * N_CLASSES + best]) best = o;
            }
            n_correct += c.t[r * N_CLASSES + best] == 1;
            for (size_t o = 0; o < N_CLASSES; o++) sum += exp(z[r * N_CLASSES + o]);
            for (size_t o = 0; o < N_CLASSES; o++) {
                double expected = exp(z[r * N_CLASSES + o]) / sum;
                assert_true(fabs(prob[r * N_CLASSES + o] - expected) < 2e-5);
            }
        }
        assert_int_equal(score.n_correct, n_correct);
        assert_int_equal(score.n_rows, 50);
        double once = score.loss;
        engine_score(&drove__engine_host, p.engine, p.theta, &c.batch, &score); /* is added */
        assert_true(score.loss == 2 * once);
        assert_int_equal(score.n_rows, 100);
        assert_int_equal(score.n_correct, 2 * n_correct);
        teardown(&p);
    }
}

/* An engine made for one data set may be given another of the same width: evaluation on test data.
 * */
TEST(other_data_may_be_loaded)
{
    problem dense, sparse;
    choice c;
    setup(&dense, &kinds[0], "mlp:20,9", NULL);
    setup(&sparse, &kinds[7], "mlp:20,9", NULL);
    for (size_t way = 0; way < 2; way++) {
        problem *data = way == 0 ? &sparse : &dense, *owner = way == 0 ? &dense : &sparse;
        drove_score score = {0}, same = {0};
        choose(&c, data, 64, 4);
        assert_int_equal(engine_score(&drove__engine_host, owner->engine, owner->theta, &c.batch,
                                      &score),
                         DROVE_OK);
        assert_int_equal(engine_score(&drove__engine_host, data->engine, owner->theta, &c.batch,
                                      &same),
                         DROVE_OK);
        assert_true(score.loss == same.loss && score.n_rows == 64);
        drove_gradient g = {.value = zeroed(owner->model->n_params, sizeof(float)),
                            .spans_wanted = true};
        assert_int_equal(engine_gradient(&drove__engine_host, owner->engine, owner->theta, &c.batch,
                                         &g, NULL),
                         DROVE_OK);
        drove__free(g.value);
    }
    teardown(&dense);
    teardown(&sparse);
}

TEST(wrong_batches_are_refused)
{
    problem p;
    choice c;
    drove_score score = {0};
    drove_engine *engine = (drove_engine *)1;
    setup(&p, &kinds[0], "mlp:20,9", NULL);
    choose(&c, &p, 5, 1);
    c.batch.n_rows = 0;
    assert_int_equal(engine_score(&drove__engine_host, p.engine, p.theta, &c.batch, &score),
                     DROVE_E_ARG);
    c.batch.n_rows = MAX_ROWS + 1;
    assert_int_equal(engine_score(&drove__engine_host, p.engine, p.theta, &c.batch, &score),
                     DROVE_E_ARG);
    c.batch.n_rows = 5;
    p.storage.n_features = N_FEATURES - 1;
    assert_int_equal(engine_score(&drove__engine_host, p.engine, p.theta, &c.batch, &score),
                     DROVE_E_SHAPE);
    drove_engine_options opt = {
        .model = p.model, .kernels = &p.kernels, .data = &p.data, .max_rows = MAX_ROWS};
    assert_int_equal(drove__engine_host.create(&opt, &engine), DROVE_E_SHAPE);
    assert_null(engine);
    p.storage.n_features = N_FEATURES;
    opt.max_rows = 0;
    assert_int_equal(drove__engine_host.create(&opt, &engine), DROVE_E_ARG);
    opt.max_rows = SIZE_MAX / 100;
    assert_int_equal(drove__engine_host.create(&opt, &engine), DROVE_E_ARG);
    assert_true(score.n_rows == 0 && score.loss == 0);
    drove__engine_host.destroy(NULL);
    teardown(&p);
}

TEST(phases_are_timed)
{
    problem p;
    choice c;
    setup(&p, &kinds[0], "mlp:20,9", "ref");
    choose(&c, &p, 64, 1);
    drove_gradient g = {.value = zeroed(p.model->n_params, sizeof(float))};
    const drove_work work = {.batch = &c.batch, .theta = p.theta, .grad = &g};
    drove_work_done done = {.times = {.forward_ns = 5, .backward_ns = 7}};
    assert_null(drove__engine_host.part);
    assert_int_equal(drove__engine_host.begin(p.engine, &work), DROVE_OK);
    assert_int_equal(drove__engine_host.finish(p.engine, 0, &done), DROVE_OK);
    assert_true(done.times.forward_ns > 1000 && done.times.backward_ns > 1000);
    assert_true(done.times.forward_ns < 1000000000u && done.times.backward_ns < 1000000000u);
    assert_int_equal(done.score.n_rows, 64);
    drove__free(g.value);
    teardown(&p);
}
