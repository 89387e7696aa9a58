/* tests/unit/engine/test_linear_windows.c - low-precision steps on rows that come in windows: bit
 * for bit the steps on the same rows in memory, whatever the precision, the loss and the weights.
 */
#include "engine/linear/problem.h"
#include "support/test.h"

#include "base/cpu.h"
#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_ROWS = 90, TURN = 15, AHEAD = 4, HALF = TURN + 3, WINDOW_ROWS = AHEAD + 2 * HALF };

typedef struct setting {
    const char *model, *loss, *precision, *rounding;
    drove_number number;
    unsigned index_bits; /* 0: dense */
    size_t n_features, n_classes, each;
    double range; /* 0: from the data */
} setting;

static const setting settings[] = {
    {"logistic", "logistic", "D8M8", "shared", DROVE_I8, 0, 100, 2, 1, 2.0},
    {"logistic", "logistic", "D8M8", "nearest", DROVE_I8, 0, 64, 2, 1, 0.0},
    {"logistic", "logistic", "D4M4", "shared", DROVE_I4, 0, 101, 2, 1, 2.0},
    {"linear", "squared", "D4M8", "xorshift", DROVE_I4, 0, 20, 0, 3, 2.0},
    {"svm", "hinge", "D16M16", "xorshift", DROVE_I16, 0, 37, 2, 5, 2.0},
    {"linear", "squared", "D32fM32f", "nearest", DROVE_F32, 0, 20, 0, 1, 0.0},
    {"linear", "squared", "D8M16", "nearest", DROVE_I8, 0, 20, 0, 3, 0.0},
    {"logistic", "softmax", "D8M8", "shared", DROVE_I8, 0, 50, 4, 1, 2.0},
    {"logistic", "logistic", "D8i8M8", "shared", DROVE_I8, 8, 900, 2, 1, 2.0},
    {"logistic", "logistic", "D16i16M16", "nearest", DROVE_I16, 16, 900, 2, 5, 0.0},
    {"svm", "hinge", "D32fi32M32f", "nearest", DROVE_F32, 32, 300, 3, 1, 0.0},
};

typedef struct rig {
    const setting *set;
    drove_model *model;
    drovek_table kernels;
    drove_storage *all, *some;
    drove_data memory, windows; /* views of both */
    float class_weight[8];
} rig;

/* ---- the rows ---- */

static void make_numbers(drove_storage *s, bool is_sparse, drove_rng *rng)
{
    size_t n = 0;
    s->x_kind = is_sparse ? DROVE_X_CSR : DROVE_X_F32;
    s->row_start = calloc(N_ROWS + 1, sizeof *s->row_start);
    s->index = calloc(N_ROWS * s->n_features, sizeof *s->index);
    s->value = calloc(N_ROWS * s->n_features, sizeof *s->value);
    s->x_f32 = drove__alloc(N_ROWS * s->n_features, sizeof *s->x_f32);
    for (size_t i = 0; i < N_ROWS; i++) {
        for (size_t j = 0; j < s->n_features; j++) {
            const float x = (float)(2.0 * drove__rng_uniform(rng) - 1.0);
            s->x_f32[i * s->n_features + j] = x;
            if (drove__rng_below(rng, 40) > i % 3) continue; /* rows of several lengths */
            s->index[n] = (uint32_t)j;
            s->value[n++] = x;
        }
        s->row_start[i + 1] = n;
    }
}

static void make_targets(drove_storage *s, size_t n_rows, size_t n_classes)
{
    s->n_classes = n_classes;
    s->y_kind = n_classes > 0 ? DROVE_Y_CLASS : DROVE_Y_VALUE;
    s->y_class = calloc(n_rows, sizeof *s->y_class);
    s->y_value = calloc(n_rows, sizeof *s->y_value);
}

static drove_storage *make_storage(const setting *set, size_t n_rows)
{
    drove_storage *s;
    assert_int_equal(drove__storage_create(&s), DROVE_OK);
    s->n_rows = n_rows;
    s->n_features = set->n_features;
    make_targets(s, n_rows, set->n_classes);
    return s;
}

/* All rows, quantised, in memory. */
static void make_all(rig *r)
{
    const setting *set = r->set;
    const drove_quant_options opt = {.number = set->number, .index_bits = set->index_bits};
    drove_storage *plain = make_storage(set, N_ROWS);
    const drove_data view = {.storage = plain, .n_rows = N_ROWS};
    drove_rng rng;
    drove__rng_seed(&rng, 1, DROVE_RNG_TEST, 9);
    make_numbers(plain, set->index_bits != 0, &rng);
    r->all = make_storage(set, N_ROWS);
    r->all->x_kind = DROVE_X_QUANT;
    assert_int_equal(drove__quant_create(&view, &opt, &r->all->quant), DROVE_OK);
    drove__storage_release(plain);
    for (size_t i = 0; i < N_ROWS; i++) {
        if (set->n_classes > 0)
            r->all->y_class[i] = (int32_t)drove__rng_below(&rng, set->n_classes);
        r->all->y_value[i] = (float)(2.0 * drove__rng_uniform(&rng) - 1.0);
    }
}

/* Room for two windows of rows, which holds nothing yet. */
static void make_windows(rig *r)
{
    const drove_quant *all = r->all->quant;
    drove_quant *q = calloc(1, sizeof *q);
    *q = *all;
    q->n_rows = WINDOW_ROWS;
    atomic_init(&q->n_users, 1);
    q->row_start = drove__alloc(WINDOW_ROWS + 1, sizeof *q->row_start);
    if (q->index_bits == 0) {
        q->value = drove__alloc(WINDOW_ROWS, q->row_bytes);
    } else {
        q->value = drove__alloc(2 * all->n_stored, drove__number_size(q->number));
        q->index = drove__alloc(2 * all->n_stored, q->index_bits / 8);
    }
    r->some = make_storage(r->set, WINDOW_ROWS);
    r->some->x_kind = DROVE_X_QUANT;
    r->some->quant = q;
    for (size_t i = 0; q->index_bits != 0 && i < N_ROWS; i++) {
        size_t n = (size_t)(all->row_start[i + 1] - all->row_start[i]);
        if (n > r->some->longest_row) r->some->longest_row = n;
    }
}

/* Where the i-th row of a turn lies: not in the order of the rows. */
static size_t place_of(size_t turn, size_t i)
{
    return AHEAD + turn % 2 * HALF + i * 7 % TURN;
}

static void load_sparse(const drove_quant *all, size_t turn, drove_quant *q)
{
    const size_t size_bytes = drove__number_size(q->number), index_bytes = q->index_bits / 8;
    uint64_t to = turn % 2 * all->n_stored;
    const size_t first = AHEAD + turn % 2 * HALF;
    for (size_t place = first; place < first + TURN; place++) {
        size_t i = 0;
        while (place_of(turn, i) != place) i++;
        const uint64_t from = all->row_start[turn * TURN + i];
        const size_t n = (size_t)(all->row_start[turn * TURN + i + 1] - from);
        memcpy((char *)q->value + to * size_bytes, (char *)all->value + from * size_bytes,
               n * size_bytes);
        memcpy((char *)q->index + to * index_bytes, (char *)all->index + from * index_bytes,
               n * index_bytes);
        q->row_start[place] = to;
        q->row_start[place + 1] = to += n;
    }
}

/* The rows of a turn take the place of those of the turn before the last; those of the last one
 * become nonsense. */
static void load_turn(rig *r, size_t turn)
{
    const drove_quant *all = r->all->quant;
    drove_quant *q = r->some->quant;
    const drove_storage *s = r->some;
    for (size_t i = 0; i < WINDOW_ROWS; i++) {
        s->y_class[i] = 1 - s->y_class[i] % 2;
        s->y_value[i] = -3.0f;
    }
    if (q->index_bits != 0) load_sparse(all, turn, q);
    else memset(q->value, 0x55, WINDOW_ROWS * q->row_bytes);
    for (size_t i = 0; i < TURN; i++) {
        const size_t from = turn * TURN + i, to = place_of(turn, i);
        s->y_class[to] = r->all->y_class[from];
        s->y_value[to] = r->all->y_value[from];
        if (q->index_bits == 0)
            memcpy((char *)q->value + to * q->row_bytes, (char *)all->value + from * q->row_bytes,
                   q->row_bytes);
    }
}

static void rig_init(rig *r, const setting *set, bool is_weighted)
{
    const drove_model_io io = {.n_features = set->n_features, .n_classes = set->n_classes};
    memset(r, 0, sizeof *r);
    r->set = set;
    make_all(r);
    make_windows(r);
    r->memory = (drove_data){.storage = r->all, .n_rows = N_ROWS};
    r->windows = (drove_data){.storage = r->some, .n_rows = WINDOW_ROWS};
    for (size_t c = 0; c < DROVE_COUNT(r->class_weight); c++) r->class_weight[c] = 0.5f + (float)c;
    if (is_weighted) {
        r->memory.class_weight = r->windows.class_weight = r->class_weight;
        r->memory.mean_weight = r->windows.mean_weight = 1.25;
    }
    assert_int_equal(drove__model_create(set->model, "", set->loss, &io, &r->model), DROVE_OK);
    assert_int_equal(drovek_select(&r->kernels, drove__cpu_features(), NULL), DROVE_OK);
}

static void rig_fini(rig *r)
{
    drove__model_destroy(r->model);
    drove__storage_release(r->all);
    drove__storage_release(r->some);
}

/* ---- training ---- */

/* The words after one epoch; the caller frees them. */
static uint32_t *train(rig *r, bool is_windows, size_t *n_words, double *range)
{
    const drove_engine_ops *ops = &drove__engine_linear;
    const setting *set = r->set;
    float *theta = drove__alloc(r->model->n_params, sizeof *theta);
    const drove_prepare_options opt = {.model = r->model,
                                       .kernels = &r->kernels,
                                       .data = &r->memory,
                                       .theta = theta,
                                       .precision = set->precision,
                                       .rounding = set->rounding,
                                       .model_range = set->range,
                                       .eta = 0.1,
                                       .each = set->each,
                                       .seed = 3,
                                       .hints = true};
    drove_engine_shared *shared;
    drove_engine *e;
    assert_int_equal(ops->typed->prepare(&opt, &shared), DROVE_OK);
    if (is_windows) assert_int_equal(ops->typed->follow(shared, &r->windows), DROVE_OK);
    const drove_engine_options own = {.model = r->model,
                                      .kernels = &r->kernels,
                                      .data = is_windows ? &r->windows : &r->memory,
                                      .max_rows = TURN,
                                      .shared = shared};
    assert_int_equal(ops->create(&own, &e), DROVE_OK);
    *n_words = ops->typed->n_words(shared);
    *range = shared->model_range;
    uint32_t *words = drove__alloc(*n_words, sizeof *words), row[TURN];
    for (size_t turn = 0; turn < N_ROWS / TURN; turn++) {
        const drove_batch batch = {.data = own.data, .row = row, .n_rows = TURN, .number = turn};
        drove_steps made;
        if (is_windows) load_turn(r, turn);
        for (size_t i = 0; i < TURN; i++)
            row[i] = (uint32_t)(is_windows ? place_of(turn, i) : turn * TURN + i);
        assert_int_equal(ops->steps(e, &(drove_params){.words = words}, &batch, 0.1f, &made),
                         DROVE_OK);
        assert_true(made.is_finite);
    }
    ops->destroy(e);
    ops->typed->dismiss(shared);
    drove__free(theta);
    return words;
}

TEST(windows_give_the_same_steps)
{
    for (size_t k = 0; k < 2 * DROVE_COUNT(settings); k++) {
        const setting *set = &settings[k / 2];
        const bool is_weighted = k % 2 == 1 && set->n_classes > 0;
        rig r;
        size_t n, n_too, n_moved = 0;
        double range, range_too;
        rig_init(&r, set, is_weighted);
        uint32_t *words = train(&r, false, &n, &range);
        uint32_t *words_too = train(&r, true, &n_too, &range_too);
        assert_int_equal(n, n_too);
        assert_true(range == range_too);
        for (size_t i = 0; i < n; i++) n_moved += words[i] != 0;
        assert_true(n_moved > set->n_features / 8);
        if (memcmp(words, words_too, n * sizeof *words) != 0)
            fail_msg("%s, %s: other parameters", set->precision, set->loss);
        drove__free(words);
        drove__free(words_too);
        rig_fini(&r);
    }
}

/* A range from a sample of a third of the rows, as often as an epoch has rows, is near that from
 * all of them; from the sample once it is smaller. */
TEST(a_sample_is_walked_as_often_as_an_epoch_is_long)
{
    rig r;
    rig_init(&r, &settings[1], false);
    float *theta = drove__alloc(r.model->n_params, sizeof *theta);
    double range[3];
    for (unsigned i = 0; i < 3; i++) {
        drove_data sample = r.memory;
        if (i > 0) sample.n_rows = N_ROWS / 3;
        uint32_t row[N_ROWS];
        for (uint32_t k = 0; k < N_ROWS; k++) row[k] = k;
        sample.row = row;
        const drove_prepare_options opt = {.model = r.model,
                                           .kernels = &r.kernels,
                                           .data = &sample,
                                           .n_rows = i == 1 ? N_ROWS : 0,
                                           .theta = theta,
                                           .precision = "D8M8",
                                           .rounding = "nearest",
                                           .eta = 0.1,
                                           .each = 1,
                                           .seed = 3};
        drove_engine_shared *shared;
        assert_int_equal(drove__engine_linear.typed->prepare(&opt, &shared), DROVE_OK);
        range[i] = shared->model_range;
        drove__engine_linear.typed->dismiss(shared);
    }
    assert_true(range[1] > 0.6 * range[0] && range[1] < 1.8 * range[0]);
    assert_true(range[2] < range[1]);
    drove__free(theta);
    rig_fini(&r);
}
