/* model/init.c - initial parameters.
 *
 *   xavier:g  W uniform in (-a, a), a = g sqrt(6 / (fan_in + fan_out)); b = 0
 *             Glorot, Bengio, AISTATS 2010, equation 16
 *   he:g      W normal with deviation g sqrt(2 / fan_in); b = 0
 *             He et al., ICCV 2015, equation 10
 *   lecun:g   W uniform in (-a, a), a = g sqrt(3 / fan_in); b = 0: variance 1 / fan_in.  Caffe
 *             calls it xavier
 *             LeCun, Bottou, Orr, Mueller, Efficient BackProp, 1998, equation 16
 *   normal:s  W and b normal with deviation s, 0.01 by default
 *             Ek's thesis, where N(0, 0.01) starts all of theta and 0.01 is the deviation
 *
 * A layer whose description gives initial values (Caffe's fillers) uses those, and a model whose
 * file has parameters (ONNX) starts with them, unless the run asks for an initialiser.  Batch
 * normalisation starts with factors of 1 and no shift.
 *
 * Each layer has its own stream of random numbers, so its numbers do not depend on the sizes of the
 * others.
 */
#include "model/model.h"

#include "model/custom.h"
#include "model/freeze.h"
#include "model/support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct filling {
    double number;
} filling;

static const drove_spec_key gain_keys[] = {
    {"GAIN", "1", DROVE_AS_REAL(filling, number, 0.0, 1e6), .is_argument = true,
     .help = "times the usual size"},
    DROVE_SPEC_END,
};
static const drove_spec_key deviation_keys[] = {
    {"S", "0.01", DROVE_AS_REAL(filling, number, 0.0, 1e6), .is_argument = true,
     .help = "standard deviation"},
    DROVE_SPEC_END,
};

static void fill_uniform(float *to, size_t n, double bound, drove_rng *rng)
{
    for (size_t i = 0; i < n; i++) to[i] = (float)(bound * (2.0 * drove__rng_uniform(rng) - 1.0));
}

static void fill_xavier(double gain, const drove_layer *layer, drove_rng *rng, float *theta)
{
    double bound = gain * sqrt(6.0 / ((double)layer->fan_in + (double)layer->fan_out));
    fill_uniform(theta + layer->w_offset, layer->n_w, bound, rng);
}

static void fill_lecun(double gain, const drove_layer *layer, drove_rng *rng, float *theta)
{
    double bound = gain * sqrt(3.0 / (double)layer->fan_in);
    fill_uniform(theta + layer->w_offset, layer->n_w, bound, rng);
}

static void fill_normal(float *to, size_t n, double deviation, drove_rng *rng)
{
    for (size_t i = 0; i < n; i++) to[i] = (float)(deviation * drove__rng_normal(rng));
}

static void fill_he(double gain, const drove_layer *layer, drove_rng *rng, float *theta)
{
    fill_normal(theta + layer->w_offset, layer->n_w, gain * sqrt(2.0 / (double)layer->fan_in), rng);
}

static void fill_plain(double deviation, const drove_layer *layer, drove_rng *rng, float *theta)
{
    fill_normal(theta + layer->w_offset, layer->n_w, deviation, rng);
    fill_normal(theta + layer->b_offset, layer->n_b, deviation, rng);
}

static const drove_init_ops xavier = {
    .name = "xavier",
    .help = "uniform in +-g sqrt(6 / (n_in + n_out)), biases 0",
    .source = "Glorot, Bengio, AISTATS 2010",
    .keys = gain_keys,
    .fill = fill_xavier,
};

static const drove_init_ops he = {
    .name = "he",
    .help = "normal with deviation g sqrt(2 / n_in), biases 0",
    .source = "He, Zhang, Ren, Sun, ICCV 2015",
    .keys = gain_keys,
    .fill = fill_he,
};

static const drove_init_ops lecun = {
    .name = "lecun",
    .help = "uniform in +-g sqrt(3 / fan_in), biases 0; Caffe's xavier",
    .source = "LeCun, Bottou, Orr, Mueller, Efficient BackProp, 1998",
    .keys = gain_keys,
    .fill = fill_lecun,
};

static const drove_init_ops normal = {
    .name = "normal",
    .help = "all of theta normal with deviation s",
    .source = "Ek, master's thesis, Chalmers 2021",
    .keys = deviation_keys,
    .fill = fill_plain,
};

const drove_init_ops *const drove__inits[] = {&xavier, &he, &lecun, &normal, NULL};

static drove_status fill_by(const char *text, const drove_layer *layer, drove_rng *rng,
                            float *theta)
{
    const char *names[DROVE_MODEL_MAX_NAMES];
    const drove_init_ops *ops = NULL;
    drove_spec spec;
    filling set;
    size_t n = 0;
    DROVE_TRY(drove__spec_parse(text, &spec));
    for (; ops == NULL && drove__inits[n] != NULL; n++) {
        names[n] = drove__inits[n]->name;
        if (strcmp(names[n], spec.name) == 0) ops = drove__inits[n];
    }
    drove_status status = DROVE_OK;
    if (ops == NULL) status = drove__fail_unknown("initialisation", spec.name, names, n);
    if (status == DROVE_OK) status = drove__spec_read(&spec, ops->keys, &set);
    if (status == DROVE_OK) ops->fill(set.number, layer, rng, theta);
    drove__spec_fini(&spec);
    return status;
}

static void fill_constant(float *to, size_t n, float value)
{
    for (size_t i = 0; i < n; i++) to[i] = value;
}

/* Uses the model's own fillers; the rest as `text` says. */
static drove_status fill_as_described(const char *text, const drove_layer *layer, drove_rng *rng,
                                      float *theta)
{
    const drove_filler *w = &layer->opt.w_filler, *b = &layer->opt.b_filler;
    char own[64];
    if (w->kind == NULL) {
        DROVE_TRY(fill_by(text, layer, rng, theta));
    } else if (strcmp(w->kind, "constant") == 0) {
        fill_constant(theta + layer->w_offset, layer->n_w, w->value);
    } else {
        snprintf(own, sizeof own, "%s:%.9g", w->kind, (double)w->value);
        DROVE_TRY(fill_by(own, layer, rng, theta));
        fill_constant(theta + layer->b_offset, layer->n_b, 0.0f);
    }
    if (b->kind == NULL) return DROVE_OK;
    if (strcmp(b->kind, "constant") != 0)
        fill_normal(theta + layer->b_offset, layer->n_b, b->value, rng);
    else fill_constant(theta + layer->b_offset, layer->n_b, b->value);
    return DROVE_OK;
}

/* Layer l's parameters, and the statistics of normalisation. */
static drove_status fill_layer(const drove_model *model, size_t l, const char *init,
                               bool by_default, uint64_t seed, float *theta)
{
    const drove_layer *layer = &model->layer[l];
    drove_rng rng;
    drove__rng_seed(&rng, seed, DROVE_RNG_INIT, l);
    if (layer->n_w == 0) return DROVE_OK;
    if (layer->ops->custom != NULL)
        return drove__custom_layer_start(layer, seed + l, theta + layer->w_offset);
    if (layer->fan_in == 0) {
        /* normalisation: factors of 1, no shift, the population of N(0, 1); slopes as given */
        const bool is_given = layer->opt.w_filler.kind != NULL;
        fill_constant(theta + layer->w_offset, layer->n_w,
                      is_given ? layer->opt.w_filler.value : 1.0f);
        fill_constant(theta + layer->s_offset + layer->n_statistics / 2, layer->n_statistics / 2,
                      1.0f);
        return DROVE_OK;
    }
    return by_default ? fill_as_described(init, layer, &rng, theta)
                      : fill_by(init, layer, &rng, theta);
}

static const char *default_init(const drove_model *model)
{
    return strcmp(model->activation, "relu") == 0 ? "he:1" : "xavier:1";
}

drove_status drove__model_init_heads(const drove_model *model, uint64_t seed, float *theta)
{
    for (unsigned h = 0; h < model->n_heads; h++) {
        const size_t l = drove__head_layer(model, h);
        if (l == model->n_layers) continue;
        const drove_layer *layer = &model->layer[l];
        memset(theta + layer->w_offset, 0, layer->n_w * sizeof *theta);
        memset(theta + layer->b_offset, 0, layer->n_b * sizeof *theta);
        DROVE_TRY(fill_layer(model, l, default_init(model), true, seed, theta));
    }
    return DROVE_OK;
}

drove_status drove__model_init(const drove_model *model, const char *init, uint64_t seed,
                               float *theta)
{
    bool by_default = init == NULL || init[0] == '\0';
    if (by_default && model->initial != NULL) {
        memcpy(theta, model->initial, model->n_params * sizeof *theta);
        return model->has_new_heads ? drove__model_init_heads(model, seed, theta) : DROVE_OK;
    }
    memset(theta, 0, model->n_params * sizeof *theta);
    if (by_default && model->n_layers == 1 && model->layer[0].ops->custom == NULL) return DROVE_OK;
    if (by_default) init = default_init(model);
    for (size_t l = 0; l < model->n_layers; l++)
        DROVE_TRY(fill_layer(model, l, init, by_default, seed, theta));
    return DROVE_OK;
}
