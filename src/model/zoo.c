/* model/zoo.c - the families of models: from a spec and the data's shape to a stack of layers.
 *
 * model->n_inputs and model->n_outputs are set before a family's build is called.  The last layer
 * is linear: the loss turns its outputs into probabilities.
 */
#include "model/layer.h"
#include "model/model.h"
#include "model/zoo.h"

#include <stdlib.h>

enum { MOST_UNITS = 1 << 24 }; /* of one layer */

static drove_status add_layer(drove_model *model, const drove_layer_ops *ops, const char *prefix,
                              size_t number, size_t n_out, drovek_act act)
{
    const size_t at = model->n_layers;
    const drove_activation *row = drove__activation(act);
    const drove_shape in = drove__blob_shape(model, (uint32_t)at);
    drove_layer *l = &model->layer[at];
    *l = (drove_layer){.ops = ops, .n_bottoms = 1, .bottom = {(uint32_t)at}, .act = act};
    l->opt.n_out = n_out;
    if (row != NULL) l->opt.slope = row->slope.value, l->opt.level = row->level.value;
    snprintf(l->name, sizeof l->name, "%s%zu", prefix, number);
    drove_status status = ops->shape(l, &in, 1, model->n_outputs);
    if (status != DROVE_OK) return drove__fail_in(status, "model %s: %s", model->spec, l->name);
    model->n_layers++;
    return DROVE_OK;
}

/* n_hidden layers with activation act, then the linear output layer. */
static drove_status stack_dense(drove_model *model, const size_t *hidden, size_t n_hidden,
                                drovek_act act)
{
    const bool is_curve = n_hidden > 0 && drovek_is_curve(act); /* then it is a layer of its own */
    const size_t n_layers = n_hidden * (is_curve ? 2 : 1) + 1;
    model->layer = calloc(n_layers, sizeof *model->layer);
    if (model->layer == NULL) return drove__fail_nomem("layers", n_layers * sizeof *model->layer);
    model->is_chain = !is_curve;
    for (size_t l = 0; l < n_hidden; l++) {
        DROVE_TRY(add_layer(model, &drove__layer_dense, "layer", l, hidden[l],
                            is_curve ? DROVEK_LINEAR : act));
        if (is_curve) DROVE_TRY(add_layer(model, &drove__layer_activation, "act", l, 0, act));
    }
    DROVE_TRY(add_layer(model, &drove__layer_dense, "layer", n_hidden, 0, DROVEK_LINEAR));
    model->head[model->n_heads++] = (drove_head){.layer = n_layers - 1, .weight = 1.0f};
    return DROVE_OK;
}

typedef struct mlp_settings {
    drove_counts units;
} mlp_settings;

static const drove_spec_key mlp_keys[] = {
    {"UNITS", NULL, DROVE_AS_COUNTS(mlp_settings, units, 1, MOST_UNITS), .is_argument = true,
     .help = "of each hidden layer"},
    DROVE_SPEC_END,
};

static drove_status build_mlp(const drove_spec *spec, const drove_model_io *io, drovek_act act,
                              drove_model *model)
{
    (void)io;
    size_t hidden[DROVE_SPEC_MAX_ARGS];
    mlp_settings set;
    DROVE_TRY(drove__spec_take(spec, mlp_keys, &set));
    if (set.units.n == 0) {
        return drove__fail(DROVE_E_ARG,
                           "model mlp: expected sizes of hidden layers, as in mlp:128,128; "
                           "without any it is logistic, linear or svm");
    }
    for (unsigned i = 0; i < set.units.n; i++) hidden[i] = (size_t)set.units.of[i];
    return stack_dense(model, hidden, set.units.n, act);
}

static drove_status build_one_layer(const drove_spec *spec, const drove_model_io *io,
                                    drovek_act act, drove_model *model)
{
    (void)io, (void)spec;
    return stack_dense(model, NULL, 0, act);
}

static const drove_model_ops mlp = {
    .name = "mlp",
    .help = "multi-layer perceptron; mlp:128,64 has hidden layers of 128 and 64 units",
    .source = "Rumelhart, Hinton, Williams, Nature 1986",
    .default_loss = NULL,
    .keys = mlp_keys,
    .build = build_mlp,
};

static const drove_model_ops logistic = {
    .name = "logistic",
    .help = "logistic regression: one output for two classes, else softmax, or sigmoids for labels",
    .source = "Cox, J. R. Stat. Soc. B 1958",
    .default_loss = "logistic",
    .build = build_one_layer,
};

static const drove_model_ops linear = {
    .name = "linear",
    .help = "linear model with squared loss: least squares",
    .source = "Widrow, Hoff, WESCON 1960",
    .default_loss = "squared",
    .build = build_one_layer,
};

static const drove_model_ops svm = {
    .name = "svm",
    .help = "linear model with hinge loss; more than two classes: one against all",
    .source = "Cortes, Vapnik, Machine Learning 1995",
    .default_loss = "hinge",
    .build = build_one_layer,
};

const drove_model_ops *const drove__models[] = {
    &mlp,
    &logistic,
    &linear,
    &svm,
    &drove__zoo_lenet,
    &drove__zoo_cifar_quick,
    &drove__zoo_alexnet,
    &drove__zoo_alexnet_cifar,
    &drove__zoo_googlenet,
    &drove__zoo_vgg16,
    &drove__zoo_vgg19,
    &drove__zoo_resnet18,
    &drove__zoo_resnet34,
    &drove__zoo_resnet50,
    &drove__zoo_mobilenetv3,
    NULL,
};
