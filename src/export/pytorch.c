/* export/pytorch.c - the parameters of a network as PyTorch's modules have them.
 *
 * A file of safetensors whose names are those that a module with the same names of layers has in
 * its state_dict.  Linear: weight [out][in]; Conv2d: [out][in / groups][kh][kw]; BatchNorm2d:
 * weight, bias, running_mean, running_var.  The scaling of the inputs is multiplied into the first
 * layers, so the module takes data as they are:
 *
 *     W (f (x - s)) + b = (W f) x + (b - (W f) s)
 */
#include "export/export.h"

#include "base/locale.h"
#include "base/mem.h"
#include "base/safetensors.h"
#include "data/overwrite.h"
#include "data/scale.h"
#include "model/layer.h"
#include "model/loss.h"
#include "run/modelfile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TENSORS_OF_A_LAYER = 4 };

typedef struct state {
    drove_modelfile file;
    drove_tensor *tensor; /* [TENSORS_OF_A_LAYER * n_layers] at most; bytes from drove__alloc */
    size_t n_tensors;
} state;

/* ---- what can be written ---- */

static drove_status check(const drove_modelfile *f)
{
    const char *found = f->schema != NULL                   ? "a table, whose columns it encodes"
                        : f->features.ops != NULL           ? "a feature map"
                        : drove__augment_is_on(&f->augment) ? "parts that are cut out of images"
                                                            : NULL;
    if (found == NULL) return DROVE_OK;
    return drove__fail(DROVE_E_UNSUPPORTED,
                       "expected a network of plain numbers or whole images, found one with %s "
                       "(ONNX has it)",
                       found);
}

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

/* ---- the scaling of the inputs, in our own order of the weights ---- */

static drove_status fail_scaling(const state *s, const drove_layer *l, const char *why)
{
    return drove__fail(DROVE_E_UNSUPPORTED,
                       "layer %s: the scaling of its inputs (%s) cannot be multiplied into it: %s "
                       "(ONNX has it)",
                       l->name, drove__scaling_name(s->file.scaling), why);
}

/* The input that weight i of the layer is multiplied by; of a convolution, the first of its
 * channel. */
static size_t input_of(const drove_layer *l, size_t i)
{
    if (l->ops == &drove__layer_dense) return i / l->n_out;
    const size_t c = l->w_shape[3], o = l->w_shape[4];
    const size_t group = i / (l->n_w / l->w_shape[0]);
    return (group * c + i / o % c) * l->in.h * l->in.w;
}

static size_t output_of(const drove_layer *l, size_t i)
{
    if (l->ops == &drove__layer_dense) return i % l->n_out;
    const size_t o = l->w_shape[4];
    return i / (l->n_w / l->w_shape[0]) * o + i % o;
}

/* A convolution's window meets all places of a channel, and zeros beyond the edge. */
static drove_status check_channels(const state *s, const drove_layer *l)
{
    const float *shift = s->file.shift, *factor = s->file.factor;
    const size_t n = l->in.h * l->in.w;
    bool shifts = false;
    for (size_t i = 0; i < l->n_in; i++) {
        const size_t first = i / n * n;
        if (shift[i] != shift[first] || factor[i] != factor[first])
            return fail_scaling(s, l, "it differs within a channel");
        shifts |= shift[i] != 0.0f;
    }
    if (shifts && (l->opt.window.ph > 0 || l->opt.window.pw > 0))
        return fail_scaling(s, l, "its padding would be shifted, too");
    return DROVE_OK;
}

static drove_status fold_scaling(const state *s, const drove_layer *l, float *w, float *b)
{
    const float *shift = s->file.shift, *factor = s->file.factor;
    if (l->ops != &drove__layer_dense) DROVE_TRY(check_channels(s, l));
    double *moved = drove__alloc(l->n_w / l->fan_in, sizeof *moved);
    if (moved == NULL) return drove__fail_nomem("biases", l->n_w / l->fan_in * sizeof *moved);
    bool shifts = false;
    for (size_t i = 0; i < l->n_w; i++) {
        const size_t input = input_of(l, i);
        const double scaled = (double)w[i] * (double)factor[input];
        moved[output_of(l, i)] += scaled * (double)shift[input];
        shifts |= shift[input] != 0.0f;
        w[i] = (float)scaled;
    }
    for (size_t k = 0; k < l->n_b; k++) b[k] = (float)((double)b[k] - moved[k]);
    drove__free(moved);
    return shifts && l->n_b == 0 ? fail_scaling(s, l, "it has no bias") : DROVE_OK;
}

static bool reads_data(const drove_layer *l)
{
    for (unsigned i = 0; i < l->n_bottoms; i++)
        if (l->bottom[i] == 0) return true;
    return false;
}

/* ---- layers ---- */

/* The image whose numbers a vector has, in our order; {0}: in that of PyTorch, or no image's.  A
 * flatten layer gives that order to the model's input, too. */
static drove_status find_image(const drove_model *model, const drove_layer *l, drove_shape *out)
{
    uint32_t blob = l->bottom[0];
    *out = (drove_shape){0};
    while (!drove__export_is_reordered(model, blob)) {
        const drove_layer *below = blob > 0 ? &model->layer[blob - 1] : NULL;
        if (below == NULL || below->n_w > 0) return DROVE_OK;
        if (below->n_bottoms > 1)
            return drove__fail(DROVE_E_UNSUPPORTED,
                               "layer %s: expected numbers of one layer, found those of %s, which "
                               "has several inputs (ONNX has it)",
                               l->name, below->name);
        blob = below->bottom[0];
        if (below->ops == &drove__layer_flatten && !drove__export_has_one_order(below->in)) {
            *out = below->in;
            return DROVE_OK;
        }
    }
    *out = drove__blob_shape(model, blob);
    return DROVE_OK;
}

/* W[in][out] -> [out][in], images as [c][h][w]. */
static void turn_dense(const drove_layer *l, drove_shape image, const float *from, float *to)
{
    for (size_t i = 0; i < l->n_in; i++) {
        size_t at = i;
        if (image.c > 0) at = i % image.c * image.h * image.w + i / image.c;
        for (size_t k = 0; k < l->n_out; k++) to[k * l->n_in + at] = from[i * l->n_out + k];
    }
}

/* w[n_w] and b[n_b] in our order, as the module has them. */
static drove_status add_product(state *s, const drove_layer *l, const float *w, const float *b)
{
    const size_t dense[] = {l->n_out, l->n_in};
    const size_t window[] = {l->w_shape[0] * l->w_shape[4], l->w_shape[3], l->w_shape[1],
                             l->w_shape[2]};
    const bool is_dense = l->ops == &drove__layer_dense;
    drove_shape image = {0};
    float *to;
    if (is_dense) DROVE_TRY(find_image(s->file.model, l, &image));
    DROVE_TRY(add(s, l, "weight", is_dense ? 2 : 4, is_dense ? dense : window, &to));
    if (is_dense) turn_dense(l, image, w, to);
    else drove__export_convolution(l, w, to);
    return add_copy(s, l, "bias", l->n_b, b);
}

static drove_status add_scaled_product(state *s, const drove_layer *l)
{
    const float *theta = s->file.theta;
    float *w = drove__alloc(l->n_w + l->n_b, sizeof *w);
    if (w == NULL) return drove__fail_nomem("parameters", (l->n_w + l->n_b) * sizeof *w);
    float *b = w + l->n_w;
    memcpy(w, theta + l->w_offset, l->n_w * sizeof *w);
    memcpy(b, theta + l->b_offset, l->n_b * sizeof *b);
    drove_status status = fold_scaling(s, l, w, b);
    if (status == DROVE_OK) status = add_product(s, l, w, b);
    drove__free(w);
    return status;
}

static drove_status add_batch_norm(state *s, const drove_layer *l)
{
    const float *theta = s->file.theta;
    const size_t n = l->n_statistics / 2;
    DROVE_TRY(add_copy(s, l, "weight", l->n_w, theta + l->w_offset));
    DROVE_TRY(add_copy(s, l, "bias", l->n_b, theta + l->b_offset));
    DROVE_TRY(add_copy(s, l, "running_mean", n, theta + l->s_offset));
    return add_copy(s, l, "running_var", n, theta + l->s_offset + n);
}

static drove_status add_layer(state *s, const drove_layer *l)
{
    const float *theta = s->file.theta;
    const bool is_product = l->ops == &drove__layer_dense || l->ops == &drove__layer_convolution;
    if (s->file.factor != NULL && reads_data(l)) {
        if (!is_product) return fail_scaling(s, l, l->ops->name);
        return add_scaled_product(s, l);
    }
    if (is_product) return add_product(s, l, theta + l->w_offset, theta + l->b_offset);
    return l->n_statistics > 0 ? add_batch_norm(s, l) : DROVE_OK;
}

/* ---- the file ---- */

static drove_status build(state *s)
{
    const drove_model *model = s->file.model;
    const size_t n = TENSORS_OF_A_LAYER * model->n_layers;
    DROVE_TRY(check(&s->file));
    s->tensor = calloc(n, sizeof *s->tensor);
    if (s->tensor == NULL) return drove__fail_nomem("tensors", n * sizeof *s->tensor);
    for (size_t i = 0; i < model->n_layers; i++)
        if (!model->layer[i].trains_only) DROVE_TRY(add_layer(s, &model->layer[i]));
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
