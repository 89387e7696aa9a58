/* use/pytorch.c - see pytorch.h. */
#include "use/pytorch.h"

#include "base/half.h"
#include "base/mem.h"
#include "base/safetensors.h"
#include "data/scale.h"
#include "model/freeze.h"
#include "model/layer.h"
#include "model/pytorch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char PREFIX[] = "pytorch:";

const char *drove__pytorch_file(const char *init)
{
    const size_t n = sizeof PREFIX - 1;
    return strncmp(init, PREFIX, n) == 0 ? init + n : NULL;
}

typedef struct loading {
    const char *path;
    const drove_data *data;
    drove_safetensors file;
    bool *is_taken;   /* [file.n_tensors] */
    char prefix[32];  /* before all names: of DataParallel, of torch.compile; or "" */
    float *converted; /* the numbers of the last tensor that has other types than floats */
} loading;

/* Names of modules that wrap the network in PyTorch: all tensors have them, or none. */
static void find_prefix(loading *ld)
{
    static const char *const words[] = {"module.", "_orig_mod."};
    size_t used = 0;
    for (bool goes_on = ld->file.n_tensors > 0; goes_on;) {
        goes_on = false;
        for (size_t w = 0; w < DROVE_COUNT(words) && !goes_on; w++) {
            const size_t n = strlen(words[w]);
            bool all = used + n < sizeof ld->prefix;
            for (size_t i = 0; all && i < ld->file.n_tensors; i++) {
                const char *name = ld->file.tensor[i].name;
                all =
                    strncmp(name, ld->prefix, used) == 0 && strncmp(name + used, words[w], n) == 0;
            }
            if (!all) continue;
            memcpy(ld->prefix + used, words[w], n + 1);
            used += n;
            goes_on = true;
        }
    }
}

static const drove_tensor *find(loading *ld, const drove_layer *l, const char *what)
{
    char name[DROVE_TENSOR_NAME_SIZE + 32]; /* longer than any in the file: not found */
    const drove_tensor *t = NULL;
    /* the whole prefix, or less of it: a layer may be called module */
    for (size_t n = strlen(ld->prefix) + 1; t == NULL && n-- > 0;) {
        if (n > 0 && ld->prefix[n - 1] != '.') continue;
        snprintf(name, sizeof name, "%.*s%s.%s", (int)n, ld->prefix, l->name, what);
        t = drove__safetensors_find(&ld->file, name);
    }
    if (t != NULL) ld->is_taken[t - ld->file.tensor] = true;
    return t;
}

static void print_shape(const size_t *shape, unsigned rank, char *into, size_t size)
{
    size_t n = 0;
    into[0] = '\0';
    for (unsigned i = 0; i < rank && n < size; i++)
        n += (size_t)snprintf(into + n, size - n, "%s%zu", i > 0 ? " x " : "", shape[i]);
}

/* Floats of this shape, all finite; valid until the next call. */
static drove_status want(loading *ld, const drove_layer *l, const char *what, unsigned rank,
                         const size_t *shape, const float **values)
{
    char expected[96], found[96];
    const drove_tensor *t = find(ld, l, what);
    size_t n = 1;
    if (t == NULL)
        return drove__fail(DROVE_E_DATA, "%s: expected a tensor %s.%s, found none", ld->path,
                           l->name, what);
    if (!(t->type == DROVE_T_F32 || t->type == DROVE_T_F64 || t->type == DROVE_T_F16 ||
          t->type == DROVE_T_BF16))
        return drove__fail(DROVE_E_DATA,
                           "%s: %s: expected floats of 16, 32 or 64 bits, found another type",
                           ld->path, t->name);
    bool is_same = t->rank == rank;
    for (unsigned i = 0; i < rank; i++) {
        is_same = is_same && t->shape[i] == shape[i];
        n *= shape[i];
    }
    print_shape(shape, rank, expected, sizeof expected);
    print_shape(t->shape, t->rank, found, sizeof found);
    if (!is_same)
        return drove__fail(DROVE_E_SHAPE, "%s: %s: expected %s, as in the model, found %s",
                           ld->path, t->name, expected, found);
    *values = t->bytes; /* n is that of the file, too */
    if (t->type != DROVE_T_F32) {
        float *wide = drove__grow(ld->converted, n, sizeof *wide);
        if (wide == NULL) return drove__fail_nomem("parameters", n * sizeof *wide);
        ld->converted = wide;
        for (size_t i = 0; i < n; i++) {
            wide[i] = t->type == DROVE_T_F64 ? (float)((const double *)t->bytes)[i]
                      : t->type == DROVE_T_F16
                          ? drove__float_of_half(((const uint16_t *)t->bytes)[i])
                          : drove__float_of_bf16(((const uint16_t *)t->bytes)[i]);
        }
        *values = wide;
    }
    for (size_t i = 0; i < n; i++)
        if (!isfinite((*values)[i]))
            return drove__fail(DROVE_E_DATA, "%s: %s: expected finite numbers, found %g", ld->path,
                               t->name, (double)(*values)[i]);
    return DROVE_OK;
}

static drove_status take_vector(loading *ld, const drove_layer *l, const char *what, size_t n,
                                float *to)
{
    const float *values;
    if (n == 0) return DROVE_OK;
    DROVE_TRY(want(ld, l, what, 1, &n, &values));
    memcpy(to, values, n * sizeof *to);
    return DROVE_OK;
}

static drove_status take_layer(loading *ld, const drove_model *m, const drove_layer *l,
                               float *theta)
{
    const bool is_dense = l->ops == &drove__layer_dense;
    const bool is_product = is_dense || l->ops == &drove__layer_convolution;
    if (l->training.is_only && find(ld, l, "weight") == NULL) return DROVE_OK;
    if (m->has_new_heads && drove__is_of_head(m, (size_t)(l - m->layer))) {
        (void)find(ld, l, "weight"); /* of other classes */
        (void)find(ld, l, "bias");
        return DROVE_OK;
    }
    if (!is_product && l->n_statistics > 0) {
        const size_t n = l->n_statistics / 2;
        (void)find(ld, l, "num_batches_tracked"); /* of no use here */
        DROVE_TRY(take_vector(ld, l, "weight", l->n_w, theta + l->w_offset));
        DROVE_TRY(take_vector(ld, l, "bias", l->n_b, theta + l->b_offset));
        DROVE_TRY(take_vector(ld, l, "running_mean", n, theta + l->s_offset));
        return take_vector(ld, l, "running_var", n, theta + l->s_offset + n);
    }
    if (!is_product && l->n_w == 0) return DROVE_OK;
    size_t sides[3];
    const bool has_numbers = l->ops == &drove__layer_layer_norm || l->ops == &drove__layer_prelu;
    const unsigned rank = has_numbers ? drove__pytorch_numbers_shape(l, sides) : 0;
    if (rank > 0) { /* layer normalisation, prelu */
        const float *values;
        DROVE_TRY(want(ld, l, "weight", rank, sides, &values));
        drove__pytorch_numbers(l, DROVE_FROM_PYTORCH, values, theta + l->w_offset);
        if (l->n_b == 0) return DROVE_OK;
        DROVE_TRY(want(ld, l, "bias", rank, sides, &values));
        drove__pytorch_numbers(l, DROVE_FROM_PYTORCH, values, theta + l->b_offset);
        return DROVE_OK;
    }
    if (!is_product)
        return drove__fail(DROVE_E_UNSUPPORTED,
                           "%s: layer %s: expected a layer that PyTorch has, found one of type %s",
                           ld->path, l->name, l->ops->name);

    /* A product: its weights in our order, and the scaling of its inputs taken out of them. */
    const size_t dense[] = {l->n_out, l->n_in};
    const size_t window[] = {l->w_shape[0] * l->w_shape[4], l->w_shape[3], l->w_shape[1],
                             l->w_shape[2]};
    drove_shape image = {0};
    const float *w;
    if (is_dense) DROVE_TRY(drove__pytorch_image(m, l, &image));
    DROVE_TRY(want(ld, l, "weight", is_dense ? 2 : 4, is_dense ? dense : window, &w));
    if (is_dense) drove__pytorch_dense(l, image, DROVE_FROM_PYTORCH, w, theta + l->w_offset);
    else drove__pytorch_convolution(l, DROVE_FROM_PYTORCH, w, theta + l->w_offset);
    DROVE_TRY(take_vector(ld, l, "bias", l->n_b, theta + l->b_offset));
    if (!drove__pytorch_reads_data(l)) return DROVE_OK;
    const char *why;
    DROVE_TRY(drove__pytorch_scale(l, ld->data->shift, ld->data->factor, DROVE_FROM_PYTORCH,
                                   theta + l->w_offset, theta + l->b_offset, &why));
    if (why == NULL) return DROVE_OK;
    return drove__fail(DROVE_E_UNSUPPORTED,
                       "%s: layer %s: the scaling of its inputs (%s) cannot be taken out of it: "
                       "%s (?scale=none, and a module that was trained so)",
                       ld->path, l->name, drove__scaling_name(drove__data_scale(ld->data).scaling),
                       why);
}

drove_status drove__pytorch_load(const char *path, const drove_data *data, const float *theta,
                                 drove_model *model)
{
    loading ld = {.path = path, .data = data};
    if (data->storage->schema != NULL)
        return drove__fail(DROVE_E_UNSUPPORTED,
                           "--init pytorch:%s: expected data of plain numbers or images, found a "
                           "table, whose columns are encoded",
                           path);
    DROVE_TRY(drove__safetensors_load(path, &ld.file));
    float *initial = drove__alloc(model->n_params, sizeof *initial);
    drove_status status = initial != NULL ? DROVE_OK
                                          : drove__fail_nomem("the model's parameters",
                                                              model->n_params * sizeof *initial);
    if (status != DROVE_OK) goto fail;
    memcpy(initial, theta, model->n_params * sizeof *initial);
    ld.is_taken = drove__alloc(ld.file.n_tensors + 1, sizeof *ld.is_taken);
    if (ld.is_taken == NULL) {
        status = drove__fail_nomem("tensors", ld.file.n_tensors);
        goto fail;
    }
    find_prefix(&ld);
    for (size_t i = 0; i < model->n_layers; i++)
        if ((status = take_layer(&ld, model, &model->layer[i], initial)) != DROVE_OK) goto fail;
    /* A module of other layers is another network. */
    for (size_t i = 0; i < ld.file.n_tensors; i++)
        if (!ld.is_taken[i]) {
            status = drove__fail(DROVE_E_DATA,
                                 "%s: expected tensors of the model's layers alone, found %s",
                                 ld.path, ld.file.tensor[i].name);
            goto fail;
        }
fail:
    drove__free(ld.is_taken);
    free(ld.converted);
    drove__safetensors_fini(&ld.file);
    if (status != DROVE_OK) {
        drove__free(initial);
        return status;
    }
    drove__free(model->initial);
    model->initial = initial;
    return DROVE_OK;
}

drove_status drove__pytorch_resume(const float *theta, drove_model *model)
{
    float *initial = drove__alloc(model->n_params, sizeof *initial);
    if (initial == NULL)
        return drove__fail_nomem("the model's parameters", model->n_params * sizeof *initial);
    memcpy(initial, theta, model->n_params * sizeof *initial);
    drove__free(model->initial);
    model->initial = initial;
    return DROVE_OK;
}
