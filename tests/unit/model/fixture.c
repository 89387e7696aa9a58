/* tests/unit/model/fixture.c - see fixture.h. */
#include "unit/model/fixture.h"

#include "base/cpu.h"
#include "base/mem.h"
#include "model/loss.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void *own(fixture *f, size_t count, size_t size_bytes)
{
    void *memory = drove__alloc(count, size_bytes);
    assert(memory != NULL && f->n_owned < DROVE_COUNT(f->owned));
    return f->owned[f->n_owned++] = memory;
}

static reference_act reference_act_of(const char *name)
{
    if (strcmp(name, "relu") == 0) return REFERENCE_RELU;
    if (strcmp(name, "sigmoid") == 0) return REFERENCE_LOGISTIC_CURVE;
    return REFERENCE_TANH;
}

static reference_loss reference_loss_of(const char *name)
{
    if (strcmp(name, "softmax") == 0) return REFERENCE_SOFTMAX;
    if (strcmp(name, "hinge") == 0) return REFERENCE_HINGE;
    return strcmp(name, "squared") == 0 ? REFERENCE_SQUARED : REFERENCE_SIGMOID;
}

static void describe(fixture *f)
{
    const drove_model *m = f->model;
    f->reference = (reference_mlp){.n_layers = m->n_layers,
                                   .size = {m->n_inputs},
                                   .act = reference_act_of(m->activation),
                                   .loss = reference_loss_of(m->loss->name)};
    for (size_t l = 0; l < m->n_layers; l++) f->reference.size[l + 1] = m->layer[l].n_out;
}

static void make_examples(fixture *f, const fixture_options *opt, drove_rng *rng)
{
    size_t n_in = f->model->n_inputs, n_pairs = 0;
    uint64_t *first = own(f, f->n_rows, sizeof *first), *last = own(f, f->n_rows, sizeof *last);
    uint32_t *index = own(f, f->n_rows * n_in, sizeof *index);
    float *value = own(f, f->n_rows * n_in, sizeof *value);
    f->x = own(f, f->n_rows * n_in, sizeof *f->x);
    f->x64 = own(f, f->n_rows * n_in, sizeof *f->x64);
    for (size_t i = 0; i < f->n_rows; i++) {
        first[i] = n_pairs;
        for (size_t j = 0; j < n_in; j++) {
            if (drove__rng_below(rng, 3) != 0) continue;
            float v = opt->ones ? 1.0f : (float)drove__rng_normal(rng);
            f->x[i * n_in + j] = v;
            f->x64[i * n_in + j] = v;
            index[n_pairs] = (uint32_t)j;
            value[n_pairs++] = v;
        }
        last[i] = n_pairs;
    }
    f->dense = (drove_input){.n_rows = f->n_rows, .dense = f->x};
    f->sparse = (drove_input){.n_rows = f->n_rows,
                              .first = first,
                              .last = last,
                              .index = index,
                              .value = opt->ones ? NULL : value};
}

static void make_class_targets(fixture *f, const fixture_options *opt, drove_rng *rng)
{
    size_t n_out = f->model->n_outputs;
    int32_t *y = own(f, f->n_rows, sizeof *y);
    double other = f->reference.loss == REFERENCE_HINGE ? -1 : 0;
    for (size_t i = 0; i < f->n_rows; i++) {
        y[i] = (int32_t)drove__rng_below(rng, opt->io.n_classes);
        for (size_t o = 0; o < n_out; o++) {
            bool is_own = n_out == 1 ? y[i] == 1 : (size_t)y[i] == o;
            f->t64[i * n_out + o] = is_own ? 1 : other;
        }
    }
    f->target.y_class = y;
}

static void make_label_targets(fixture *f, drove_rng *rng)
{
    size_t n_out = f->model->n_outputs, n_labels = 0;
    uint64_t *first = own(f, f->n_rows, sizeof *first), *last = own(f, f->n_rows, sizeof *last);
    uint32_t *label = own(f, f->n_rows * n_out, sizeof *label);
    for (size_t i = 0; i < f->n_rows; i++) {
        first[i] = n_labels;
        for (size_t o = 0; o < n_out; o++) {
            if (drove__rng_below(rng, 3) != 0) continue;
            label[n_labels++] = (uint32_t)o;
            f->t64[i * n_out + o] = 1;
        }
        last[i] = n_labels;
    }
    f->target = (drove_target){.label_first = first, .label_last = last, .label = label};
}

static void make_value_targets(fixture *f, drove_rng *rng)
{
    const size_t n = f->n_rows * f->model->n_outputs;
    float *y = own(f, n, sizeof *y);
    for (size_t i = 0; i < n; i++) {
        y[i] = (float)drove__rng_normal(rng);
        f->t64[i] = y[i];
    }
    f->target.y_value = y;
}

void fixture_init(fixture *f, const fixture_options *opt)
{
    drove_rng rng;
    memset(f, 0, sizeof *f);
    drove__rng_seed(&rng, opt->seed, DROVE_RNG_TEST, 0);
    drove_status status =
        drove__model_create(opt->spec, opt->activation, opt->loss, &opt->io, &f->model);
    assert(status == DROVE_OK);
    f->n_rows = opt->n_rows;
    describe(f);
    f->theta = own(f, f->model->n_params, sizeof *f->theta);
    f->grad = own(f, f->model->n_params, sizeof *f->grad);
    f->packed = own(f, f->model->n_weights, sizeof *f->packed);
    status = drove__model_init(f->model, "normal:0.5", opt->seed, f->theta);
    assert(status == DROVE_OK);
    fixture_pack(f->model, f->theta, f->packed);
    make_examples(f, opt, &rng);
    f->t64 = own(f, f->n_rows * f->model->n_outputs, sizeof *f->t64);
    if (opt->io.is_multi_label) {
        make_label_targets(f, &rng);
    } else if (opt->io.n_classes > 0) {
        make_class_targets(f, opt, &rng);
    } else {
        make_value_targets(f, &rng);
    }
    status = drove__pass_init(&f->pass, f->model, NULL, f->n_rows);
    assert(status == DROVE_OK);
    (void)status;
}

void fixture_fini(fixture *f)
{
    drove__pass_fini(&f->pass);
    drove__model_destroy(f->model);
    while (f->n_owned > 0) drove__free(f->owned[--f->n_owned]);
}

double fixture_gradient(fixture *f, const drovek_table *k, const drove_input *in, bool spans_wanted)
{
    drove_score score = {0};
    drove__model_forward(f->model, k, f->theta, in, &f->pass);
    drove__model_loss(f->model, k, &f->target, in->n_rows, 1.0f / (float)in->n_rows, &f->pass,
                      &score);
    drove__model_backward(f->model, k, f->theta, in, &f->pass,
                          &(drove_backward){.grad = f->grad, .spans_wanted = spans_wanted});
    return score.loss / (double)score.n_rows;
}

void fixture_pack(const drove_model *model, const float *flat, double *packed)
{
    for (size_t l = 0; l < model->n_layers; l++) {
        const drove_layer *layer = &model->layer[l];
        for (size_t i = 0; i < layer->n_in * layer->n_out; i++) {
            *packed++ = flat[layer->w_offset + i];
        }
        for (size_t i = 0; i < layer->n_out; i++) *packed++ = flat[layer->b_offset + i];
    }
}

bool fixture_gaps_are_zero(const drove_model *model, const float *flat)
{
    size_t end = 0;
    for (size_t l = 0; l < model->n_layers; l++) {
        const drove_layer *layer = &model->layer[l];
        for (; end < layer->w_offset; end++) {
            if (flat[end] != 0.0f) return false;
        }
        for (end += layer->n_in * layer->n_out; end < layer->b_offset; end++) {
            if (flat[end] != 0.0f) return false;
        }
        end += layer->n_out;
    }
    for (; end < model->n_params; end++) {
        if (flat[end] != 0.0f) return false;
    }
    return true;
}

bool fixture_tier(size_t i, drovek_table *out)
{
    const char *const *tiers = drovek_tiers();
    for (size_t at = 0; at <= i; at++) {
        if (tiers[at] == NULL) return false;
    }
    /* The last one without a cap, so that a matrix product of a library is covered too. */
    const char *cap = tiers[i + 1] != NULL ? tiers[i] : NULL;
    return drovek_select(out, drove__cpu_features(), cap) == DROVE_OK;
}
