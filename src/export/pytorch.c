/* export/pytorch.c - the parameters of a network as PyTorch's modules have them.
 *
 * A file of safetensors whose names are those that a module with the same names of layers has in
 * its state_dict.  Linear: weight [out][in]; Conv2d: [out][in / groups][kh][kw]; BatchNorm2d:
 * weight, bias, running_mean, running_var; LayerNorm: weight, bias; PReLU: weight.  The scaling of
 * the inputs is multiplied into the first layers, so the module takes data as they are.
 */
#include "export/export.h"

#include "base/given.h"
#include "base/locale.h"
#include "base/mem.h"
#include "base/safetensors.h"
#include "data/open/overwrite.h"
#include "data/scale.h"
#include "model/layer.h"
#include "model/loss.h"
#include "model/pytorch.h"
#include "use/modelfile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TENSORS_OF_A_LAYER = 4 };

typedef struct state {
    drove_modelfile file;
    drove_tensor *tensor; /* [TENSORS_OF_A_LAYER * n_layers] at most; bytes from drove__alloc */
    size_t n_tensors;
} state;

/* ---- tensors ---- */

static drove_status add(state *s, const drove_layer *l, const char *what, unsigned rank,
                        const size_t *shape, float **values)
{
    drove_tensor *t = &s->tensor[s->n_tensors];
    size_t n = 1;
    *t = (drove_tensor){.type = DROVE_T_F32, .rank = rank};
    for (unsigned i = 0; i < rank; i++) n *= t->shape[i] = shape[i];
    snprintf(t->name, sizeof t->name, "%s.%s", l->name, what);
    *values = drove__alloc(n, sizeof **values);
    if (*values == NULL) return drove__fail_nomem("parameters", n * sizeof **values);
    t->bytes = *values;
    s->n_tensors++;
    return DROVE_OK;
}

static drove_status add_copy(state *s, const drove_layer *l, const char *what, size_t n,
                             const float *from)
{
    float *to;
    if (n == 0) return DROVE_OK;
    DROVE_TRY(add(s, l, what, 1, &n, &to));
    memcpy(to, from, n * sizeof *to);
    return DROVE_OK;
}

static drove_status fail_scaling(const state *s, const drove_layer *l, const char *why)
{
    return drove__fail(DROVE_E_UNSUPPORTED,
                       "layer %s: the scaling of its inputs (%s) cannot be multiplied into it: %s "
                       "(ONNX has it)",
                       l->name, drove__scaling_name(s->file.scaling), why);
}

/* ---- layers ---- */

/* w[n_w] and b[n_b] in our order, as the module has them. */
static drove_status add_product(state *s, const drove_layer *l, const float *w, const float *b)
{
    const size_t dense[] = {l->n_out, l->n_in};
    const size_t window[] = {l->w_shape[0] * l->w_shape[4], l->w_shape[3], l->w_shape[1],
                             l->w_shape[2]};
    const bool is_dense = l->ops == &drove__layer_dense;
    drove_shape image = {0};
    float *to;
    if (is_dense) DROVE_TRY(drove__pytorch_image(s->file.model, l, &image));
    DROVE_TRY(add(s, l, "weight", is_dense ? 2 : 4, is_dense ? dense : window, &to));
    if (is_dense) drove__pytorch_dense(l, image, DROVE_TO_PYTORCH, w, to);
    else drove__pytorch_convolution(l, DROVE_TO_PYTORCH, w, to);
    return add_copy(s, l, "bias", l->n_b, b);
}

static drove_status add_layer(state *s, const drove_layer *l)
{
    const float *theta = s->file.theta;
    const bool is_product = l->ops == &drove__layer_dense || l->ops == &drove__layer_convolution;
    if (s->file.factor != NULL && drove__pytorch_reads_data(l)) {
        if (!is_product) return fail_scaling(s, l, l->ops->name);
        float *w = drove__alloc(l->n_w + l->n_b, sizeof *w);
        if (w == NULL) return drove__fail_nomem("parameters", (l->n_w + l->n_b) * sizeof *w);
        float *b = w + l->n_w;
        memcpy(w, theta + l->w_offset, l->n_w * sizeof *w);
        memcpy(b, theta + l->b_offset, l->n_b * sizeof *b);
        const char *why;
        drove_status status =
            drove__pytorch_scale(l, s->file.shift, s->file.factor, DROVE_TO_PYTORCH, w, b, &why);
        if (status == DROVE_OK && why != NULL) status = fail_scaling(s, l, why);
        if (status == DROVE_OK) status = add_product(s, l, w, b);
        drove__free(w);
        return status;
    }
    if (is_product) return add_product(s, l, theta + l->w_offset, theta + l->b_offset);
    if (l->n_w == 0) return DROVE_OK;
    if (l->n_statistics == 0) { /* layer normalisation, prelu */
        size_t sides[3];
        const unsigned rank = drove__pytorch_numbers_shape(l, sides);
        float *to;
        if (rank == 0)
            return drove__fail(DROVE_E_UNSUPPORTED,
                               "layer %s: expected a layer that PyTorch has, found %s of these "
                               "sides (ONNX has it)",
                               l->name, l->ops->name);
        DROVE_TRY(add(s, l, "weight", rank, sides, &to));
        drove__pytorch_numbers(l, DROVE_TO_PYTORCH, theta + l->w_offset, to);
        if (l->n_b == 0) return DROVE_OK;
        DROVE_TRY(add(s, l, "bias", rank, sides, &to));
        drove__pytorch_numbers(l, DROVE_TO_PYTORCH, theta + l->b_offset, to);
        return DROVE_OK;
    }

    /* batch normalisation */
    const size_t n = l->n_statistics / 2;
    DROVE_TRY(add_copy(s, l, "weight", l->n_w, theta + l->w_offset));
    DROVE_TRY(add_copy(s, l, "bias", l->n_b, theta + l->b_offset));
    DROVE_TRY(add_copy(s, l, "running_mean", n, theta + l->s_offset));
    return add_copy(s, l, "running_var", n, theta + l->s_offset + n);
}

/* ---- the file ---- */

static drove_status build(state *s)
{
    const drove_model *model = s->file.model;
    const size_t n = TENSORS_OF_A_LAYER * model->n_layers;

    const char *found = s->file.schema != NULL         ? "a table, whose columns it encodes"
                        : s->file.features.ops != NULL ? "a feature map"
                        : drove__augment_is_on(&s->file.augment)
                            ? "parts that are cut out of images"
                            : NULL;
    if (found != NULL)
        return drove__fail(DROVE_E_UNSUPPORTED,
                           "expected a network of plain numbers or whole images, found one with %s "
                           "(ONNX has it)",
                           found);

    if (s->file.x_origin != NULL || s->file.y_origin != NULL)
        return drove__fail(DROVE_E_UNSUPPORTED,
                           "%s hold digits that the floats of a state_dict lose: expected numbers "
                           "less a constant of their size (ONNX subtracts it in double)",
                           s->file.x_origin != NULL ? "the inputs" : "the targets");
    s->tensor = calloc(n, sizeof *s->tensor);
    if (s->tensor == NULL) return drove__fail_nomem("tensors", n * sizeof *s->tensor);
    for (size_t i = 0; i < model->n_layers; i++)
        if (!model->layer[i].training.is_only) DROVE_TRY(add_layer(s, &model->layer[i]));
    return DROVE_OK;
}

static void say(const state *s, const drove_export_options *opt)
{
    const drove_model *model = s->file.model;
    char line[DROVE_TENSOR_NAME_SIZE + 128];
    if (opt->line == NULL) return;
    for (size_t i = 0; i < s->n_tensors; i++) {
        const drove_tensor *t = &s->tensor[i];
        int n = snprintf(line, sizeof line, "tensor  %-28s", t->name);
        for (unsigned k = 0; k < t->rank; k++)
            n += snprintf(line + n, sizeof line - (size_t)n, "%s%zu", k > 0 ? " x " : " ",
                          t->shape[k]);
        opt->line(opt->context, line);
    }
    snprintf(line, sizeof line, "input   %zu numbers%s, as in the data", model->n_inputs,
             s->file.x_kind == DROVE_X_U8 ? " from 0 to 255" : "");
    opt->line(opt->context, line);
    snprintf(line, sizeof line, "output  %zu numbers, before what the loss %s makes of them",
             model->n_outputs, model->loss->name);
    opt->line(opt->context, line);
}

drove_status drove_export_pytorch(const drove_export_options *opt)
{
    DROVE_GIVEN(opt);
    DROVE_GIVEN_AS(opt->model, "opt->model");
    DROVE_GIVEN_AS(opt->out, "opt->out");
    DROVE_IN_C_LOCALE;
    state s = {0};
    DROVE_TRY(drove__overwrite_check("--pytorch", opt->out, opt->model));
    DROVE_TRY(drove__modelfile_load(opt->model, &s.file));
    const char *meta[] = {"format", "pt", "model", s.file.model->spec, NULL};
    drove_status status = build(&s);
    if (status == DROVE_OK)
        status = drove__safetensors_write(opt->out, s.tensor, s.n_tensors, meta);
    if (status == DROVE_OK) say(&s, opt);
    for (size_t i = 0; i < s.n_tensors; i++) drove__free((void *)(uintptr_t)s.tensor[i].bytes);
    free(s.tensor);
    drove__modelfile_fini(&s.file);
    return status;
}
