/* Predictions by several threads: every chunk once and in order, failures, and metrics of values
 * that were scaled for training. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "use/measure.h"
#include "support/test.h"

enum { N_ROWS = 100 };

typedef struct problem { /* y = 2 a - b + 5 by a linear model that says 2 a - b + 4.5 */
    drovek_table kernels;
    drove_data *data;
    drove_model *model;
    float *theta;
    drove_infer infer;
} problem;

FIXTURE(setup)
{
    problem *p = calloc(1, sizeof *p);
    FILE *f = fopen("plane.csv", "w");
    assert_non_null(f);
    for (int i = 0; i < N_ROWS; i++) {
        int a = i * 7 % 13, b = i * 5 % 11;
        fprintf(f, "%d,%d,%g\n", a, b, 2.0 * a - b + 5.0);
    }
    fclose(f);
    assert_int_equal(drovek_select(&p->kernels, 0, NULL), DROVE_OK);
    assert_int_equal(drove_data_open("csv:plane.csv?target=value", NULL, 1, &p->data, NULL),
                     DROVE_OK);
    const drove_model_io io = {.n_features = 2};
    assert_int_equal(drove__model_create("linear", NULL, NULL, &io, &p->model), DROVE_OK);
    p->theta = drove__alloc(p->model->n_params, sizeof *p->theta);
    p->theta[p->model->layer[0].w_offset] = 2.0f;
    p->theta[p->model->layer[0].w_offset + 1] = -1.0f;
    p->theta[p->model->layer[0].b_offset] = 4.5f;
    p->infer = (drove_infer){.model = p->model,
                             .kernels = &p->kernels,
                             .data = p->data,
                             .theta = p->theta,
                             .chunk_rows = 3,
                             .n_threads = 4};
    *state = p;
    return 0;
}

FIXTURE(teardown)
{
    problem *p = *state;
    drove__free(p->theta);
    drove__model_destroy(p->model);
    drove_data_destroy(p->data);
    free(p);
    return 0;
}

typedef struct taken {
    size_t n_rows, fails_at;
    bool is_in_order;
} taken;

static drove_status prepare(void *context, drove_infer_chunk *chunk)
{
    const taken *t = context;
    if (chunk->first + chunk->n_rows == N_ROWS && t->fails_at == N_ROWS)
        return drove__fail(DROVE_E_DATA, "the last chunk");
    DROVE_TRY(drove__infer_reserve(&chunk->text, 1));
    chunk->text.bytes[chunk->text.n_bytes++] = (char)chunk->first;
    return DROVE_OK;
}

static drove_status take(void *context, const drove_infer_chunk *chunk)
{
    taken *t = context;
    t->is_in_order &= chunk->first == t->n_rows && chunk->text.n_bytes == 1 &&
                      chunk->text.bytes[0] == (char)chunk->first;
    if (chunk->first >= t->fails_at) return drove__fail(DROVE_E_IO, "row %zu", chunk->first);
    t->n_rows += chunk->n_rows;
    return DROVE_OK;
}

TEST_WITH(chunks_come_once_and_in_order, setup, teardown)
{
    problem *p = *state;
    for (unsigned n_threads = 1; n_threads < 50; n_threads += 16) {
        taken t = {.fails_at = SIZE_MAX, .is_in_order = true};
        drove_infer infer = p->infer;
        infer.n_threads = n_threads;
        infer.prepare = prepare;
        infer.take = take;
        infer.context = &t;
        assert_int_equal(drove__infer_run(&infer), DROVE_OK);
        assert_true(t.is_in_order);
        assert_int_equal(t.n_rows, N_ROWS);
    }
}

TEST_WITH(a_failure_ends_all_of_it, setup, teardown)
{
    problem *p = *state;
    taken t = {.fails_at = 30, .is_in_order = true};
    drove_infer infer = p->infer;
    infer.prepare = prepare;
    infer.take = take;
    infer.context = &t;
    assert_int_equal(drove__infer_run(&infer), DROVE_E_IO);
    assert_string_equal(drove_error_text(), "row 30");
    assert_int_equal(t.n_rows, 30);
    assert_true(t.is_in_order);
    t = (taken){.fails_at = N_ROWS, .is_in_order = true};
    assert_int_equal(drove__infer_run(&infer), DROVE_E_DATA);
    assert_string_equal(drove_error_text(), "the last chunk");
}

static drove_metrics *metrics_of(const drove_infer *on, const double *constant)
{
    drove_metrics *m;
    drove_score score;
    assert_int_equal(drove__metrics_measure(on, constant, NULL, &score, &m), DROVE_OK);
    assert_int_equal(score.n_rows, N_ROWS);
    return m;
}

/* The model's outputs and the targets are y' = (y - 10) / 4; every figure is that of y. */
TEST_WITH(figures_have_the_unit_of_the_targets, setup, teardown)
{
    problem *p = *state;
    const double factor = 0.25, scale = 1 / factor, shift = 10.0;
    drove_metrics *own = metrics_of(&p->infer, NULL);
    assert_true(fabs(own->model.rmse - 0.5) < 1e-6 && fabs(own->model.mae - 0.5) < 1e-6);
    assert_true(own->constant.r2 == 0.0 && !own->constant_is_training);
    drove_infer scaled = p->infer;
    scaled.value_shift = &shift;
    scaled.value_scale = &scale;
    for (size_t i = 0; i < N_ROWS; i++) {
        float *y = &p->data->storage->y_value[i];
        *y = (float)(((double)*y - shift) * factor);
    }
    for (size_t i = 0; i < p->model->n_params; i++) p->theta[i] *= (float)factor;
    p->theta[p->model->layer[0].b_offset] -= (float)(shift * factor);
    const double mean = own->constant_value;
    for (unsigned way = 0; way < 2; way++) {
        drove_metrics *m = metrics_of(&scaled, way == 0 ? NULL : &mean);
        assert_true(fabs(m->model.rmse - own->model.rmse) < 1e-6);
        assert_true(fabs(m->model.r2 - own->model.r2) < 1e-6);
        assert_true(fabs(m->constant_value - own->constant_value) < 1e-6);
        assert_true(fabs(m->constant.mae - own->constant.mae) < 1e-6);
        drove_metrics_destroy(m);
    }
    drove_metrics_destroy(own);
}
