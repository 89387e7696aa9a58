/* tests/unit/engine/fixed_problem.c - see fixed_problem.h. */
#include "fixed_problem.h"
#include "support/test.h"

#include "base/cpu.h"
#include "base/mem.h"
#include "fixed_numbers.h"

#include <string.h>

void *fixed_zeroed(size_t count, size_t size)
{
    void *memory = drove__alloc(count, size);
    assert_non_null(memory);
    return memory;
}

void fixed_make_data(fixed_problem *p)
{
    drove_storage *s = &p->storage;
    *s = (drove_storage){.n_rows = FIXED_ROWS,
                         .n_features = FIXED_FEATURES,
                         .x_kind = DROVE_X_F32,
                         .y_kind = DROVE_Y_CLASS,
                         .n_classes = FIXED_CLASSES};
    s->x_f32 = fixed_zeroed(FIXED_ROWS * FIXED_FEATURES, sizeof(float));
    s->y_class = fixed_zeroed(FIXED_ROWS, sizeof(int32_t));
    fixed_draw(s->x_f32, FIXED_ROWS * FIXED_FEATURES, 5);
    for (size_t i = 0; i < FIXED_ROWS; i++) s->y_class[i] = (int32_t)(i % FIXED_CLASSES);
    p->data = (drove_data){.storage = s, .n_rows = FIXED_ROWS};
}

drove_status fixed_prepare(fixed_problem *p, const char *precision, const char *rounding,
                           double range, double decay, bool by_rule)
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
                                       .each = FIXED_BATCH,
                                       .seed = 1,
                                       .by_rule = by_rule};
    return drove__engine_fixed.typed->prepare(&opt, &p->shared);
}

static void make(fixed_problem *p, const char *model, const char *activation, const char *precision,
                 const char *rounding, double range, double decay, const drove_engine_rule *rule)
{
    const drove_model_io io = {.n_features = FIXED_FEATURES, .n_classes = FIXED_CLASSES};
    memset(p, 0, sizeof *p);
    fixed_make_data(p);
    assert_int_equal(drovek_select(&p->kernels, drove__cpu_features(), NULL), DROVE_OK);
    assert_int_equal(drove__model_create(model, activation, "softmax", &io, &p->model), DROVE_OK);
    if (strncmp(precision, "bf16", 4) == 0) p->model->factors = DROVEK_FACTORS_BF16;
    p->theta = fixed_zeroed(p->model->n_params, sizeof(float));
    p->after = fixed_zeroed(p->model->n_params, sizeof(float));
    assert_int_equal(drove__model_init(p->model, "normal:0.3", 1, p->theta), DROVE_OK);
    assert_int_equal(fixed_prepare(p, precision, rounding, range, decay, rule != NULL), DROVE_OK);
    const drove_engine_options opt = {.model = p->model,
                                      .kernels = &p->kernels,
                                      .data = &p->data,
                                      .max_rows = FIXED_ROWS,
                                      .shared = p->shared,
                                      .rule = rule};
    assert_int_equal(drove__engine_fixed.create(&opt, &p->engine), DROVE_OK);
    p->words = fixed_zeroed(drove__engine_fixed.typed->n_words(p->shared), sizeof *p->words);
    drove__engine_fixed.typed->pack(p->shared, NULL, p->theta, p->words);
}

void fixed_setup_rule(fixed_problem *p, const char *model, const char *precision,
                      const char *rounding, double decay, const drove_engine_rule *rule)
{
    make(p, model, "relu", precision, rounding, 0.0, decay, rule);
}

void fixed_setup(fixed_problem *p, const char *precision, const char *rounding, double range,
                 double decay)
{
    make(p, "mlp:20,9", "tanh", precision, rounding, range, decay, NULL);
}

void fixed_teardown(fixed_problem *p)
{
    drove__engine_fixed.destroy(p->engine);
    drove__engine_fixed.typed->dismiss(p->shared);
    drove__model_destroy(p->model);
    drove__free(p->theta);
    drove__free(p->after);
    drove__free(p->words);
    drove__free(p->storage.x_f32);
    drove__free(p->storage.y_class);
}

drove_batch fixed_batch(const fixed_problem *p, size_t n, uint64_t number)
{
    static uint32_t row[FIXED_ROWS];
    for (uint32_t i = 0; i < FIXED_ROWS; i++) row[i] = (i * 11 + 3) % FIXED_ROWS;
    return (drove_batch){.data = &p->data, .row = row, .n_rows = n, .number = number};
}
