/* model/pass.c - a worker's scratch: image formats, outputs, derivatives, layers' own memory.
 *
 * Outputs live from forward to backward.  A derivative lives from the first layer that writes it
 * (in backward, the last one that reads its blob) to the layer that made the blob; derivatives with
 * disjoint lifetimes share memory.
 */
#include "base/mem.h"
#include "model/integers.h"

#include <stdlib.h>
#include <string.h>

/* A stretch of memory that is needed while backward is at layers [last, first]; last <= first. */
typedef struct lease {
    size_t first, last;
    size_t n_floats, offset;
    float **to;
} lease;

typedef struct plan {
    size_t n_fixed;            /* floats that are never shared */
    size_t n_unwanted;         /* of them, gradients of frozen layers */
    size_t n_leases, n_shared; /* floats of all leases together */
    lease *lease;
} plan;

/* ---- formats ---- */

static drove_status choose_formats(const drove_pass_options *opt, drove_pass *pass)
{
    const drove_model *model = opt->model;
    pass->format[0] =
        (model->input.c == 1 || model->input.h * model->input.w == 1) ? DROVEK_NHWC : DROVEK_NCHW;
    for (size_t l = 0; l < model->n_layers; l++) {
        const drove_layer *layer = &model->layer[l];
        drovek_format in[DROVE_LAYER_MOST_BOTTOMS], want[DROVE_LAYER_MOST_BOTTOMS];
        drovek_format out = DROVEK_NHWC;
        for (unsigned i = 0; i < layer->n_bottoms; i++) in[i] = pass->format[layer->bottom[i]];
        if (layer->ops->format == DROVE_FORMAT_OWN) {
            DROVE_TRY(layer->ops->formats(opt, layer, in, want, &out));
        } else if (layer->ops->format == DROVE_FORMAT_SAME) {
            /* blocks if the first bottom has them and all can have them */
            const size_t block = drovek_block(in[0], layer->out.c);
            bool in_blocks = drovek_is_blocked(in[0]) && layer->out.c % block == 0;
            for (unsigned i = 0; i < layer->n_bottoms; i++)
                in_blocks = in_blocks && drove__blob_shape(model, layer->bottom[i]).c % block == 0;
            out = in_blocks ? in[0] : DROVEK_NHWC;
            for (unsigned i = 0; i < layer->n_bottoms; i++) want[i] = out;
        } else {
            for (unsigned i = 0; i < layer->n_bottoms; i++)
                want[i] = layer->bottom[i] == 0 ? in[i] : DROVEK_NHWC;
        }
        for (unsigned i = 0; i < layer->n_bottoms; i++)
            pass->bottom[l * DROVE_LAYER_MOST_BOTTOMS + i].format = want[i];
        pass->format[l + 1] = out;
    }
    return DROVE_OK;
}

/* ---- memory ---- */

static bool converts(const drove_pass *pass, const drove_layer *layer, size_t l, unsigned i)
{
    return pass->bottom[l * DROVE_LAYER_MOST_BOTTOMS + i].format != pass->format[layer->bottom[i]];
}

size_t drove__model_first_writer(const drove_model *model, size_t l)
{
    size_t first = l;
    for (unsigned h = 0; h < model->n_heads; h++) {
        if (model->head[h].layer == l) return model->n_layers;
    }
    for (size_t j = l + 1; j < model->n_layers; j++) {
        for (unsigned i = 0; i < model->layer[j].n_bottoms; i++) {
            if (model->layer[j].bottom[i] == l + 1) first = j;
        }
    }
    return first;
}

/* Whether backward needs the derivative of this blob. */
static bool is_varied(const drove_model *model, uint32_t blob)
{
    return blob > 0 && !model->layer[blob - 1].training.is_constant;
}

static void add_lease(plan *p, size_t first, size_t last, size_t n_floats, float **to)
{
    p->lease[p->n_leases++] =
        (lease){.first = first, .last = last, .n_floats = drove__pad_floats(n_floats), .to = to};
}

/* Places a lease at the lowest offset free of earlier leases with overlapping lifetimes. */
static void place(plan *p, size_t which)
{
    lease *mine = &p->lease[which];
    bool moved = true;
    mine->offset = 0;
    while (moved) {
        moved = false;
        for (size_t i = 0; i < which; i++) {
            const lease *other = &p->lease[i];
            bool together = mine->last <= other->first && other->last <= mine->first;
            bool overlap = mine->offset < other->offset + other->n_floats &&
                           other->offset < mine->offset + mine->n_floats;
            if (!together || !overlap) continue;
            mine->offset = other->offset + other->n_floats;
            moved = true;
        }
    }
    size_t end = mine->offset + mine->n_floats;
    if (end > p->n_shared) p->n_shared = end;
}

/* Lists the memory needed; the fixed part in the order in which `allocate` assigns it. */
static drove_status make_plan(const drove_pass_options *opt, drove_pass *pass, plan *p)
{
    const drove_model *model = opt->model;
    const size_t rows = opt->max_rows;
    size_t most = 0, widest = 0;
    for (size_t l = 0; l < model->n_layers; l++) most += 1 + model->layer[l].n_bottoms;
    p->lease = calloc(most, sizeof *p->lease);
    if (p->lease == NULL) return drove__fail_nomem("the plan of a pass", most * sizeof *p->lease);
    for (size_t l = model->n_layers; l-- > 0;) {
        const drove_layer *layer = &model->layer[l];
        if (opt->trains && !layer->training.is_constant)
            add_lease(p, drove__model_first_writer(model, l), l, rows * layer->n_out,
                      &pass->delta[l]);
        if (opt->trains && !layer->training.is_constant && layer->training.is_frozen)
            p->n_unwanted = drove__pad_floats(model->n_frozen);
        p->n_fixed += drove__pad_floats(rows * layer->n_out);
        if (layer->n_out > widest) widest = layer->n_out;
        for (unsigned i = 0; i < layer->n_bottoms; i++) {
            drove_bottom *b = &pass->bottom[l * DROVE_LAYER_MOST_BOTTOMS + i];
            size_t n = rows * drove__shape_floats(drove__blob_shape(model, layer->bottom[i]));
            if (!converts(pass, layer, l, i)) continue;
            p->n_fixed += drove__pad_floats(n);
            if (opt->trains && is_varied(model, layer->bottom[i]))
                add_lease(p, l, l, n, &b->copy_delta);
        }
    }
    p->n_fixed += drove__pad_floats(widest) + p->n_unwanted;
    for (size_t i = 0; i < p->n_leases; i++) place(p, i);
    return DROVE_OK;
}

/* Floats of one batch; false: it would overflow. */
static bool fits(const drove_pass_options *opt)
{
    size_t left = SIZE_MAX / 64 / 4;
    for (size_t l = 0; l < opt->model->n_layers; l++) {
        size_t n = opt->model->layer[l].n_out;
        if (opt->max_rows > left / n) return false;
        left -= opt->max_rows * n;
    }
    return opt->max_rows <= left / opt->model->n_inputs;
}

static drove_status allocate(const drove_pass_options *opt, drove_pass *pass)
{
    const drove_model *model = opt->model;
    plan p = {0};
    drove_status status = make_plan(opt, pass, &p);
    if (status != DROVE_OK) goto end;
    size_t n_floats = p.n_fixed + p.n_shared;
    pass->n_bytes = n_floats * sizeof *pass->memory;
    pass->memory = drove__alloc(n_floats, sizeof *pass->memory);
    if (pass->memory == NULL) {
        status = drove__fail_nomem("outputs of a batch", pass->n_bytes);
        goto end;
    }

    /* The fixed part, then what the leases share. */
    float *next = pass->memory;
    for (size_t l = 0; l < model->n_layers; l++) {
        const drove_layer *layer = &model->layer[l];
        pass->out[l] = next;
        next += drove__pad_floats(opt->max_rows * layer->n_out);
        for (unsigned i = 0; i < layer->n_bottoms; i++) {
            size_t n = drove__shape_floats(drove__blob_shape(model, layer->bottom[i]));
            if (!converts(pass, layer, l, i)) continue;
            pass->bottom[l * DROVE_LAYER_MOST_BOTTOMS + i].copy = next;
            next += drove__pad_floats(opt->max_rows * n);
        }
    }
    for (size_t i = 0; i < p.n_leases; i++) *p.lease[i].to = next + p.lease[i].offset;
    pass->db = next + p.n_shared;
    if (p.n_unwanted > 0) pass->unwanted = pass->memory + n_floats - p.n_unwanted;

    /* Each layer's inputs are the outputs of others, or copies in another format. */
    for (size_t l = 0; l < model->n_layers; l++) {
        const drove_layer *layer = &model->layer[l];
        for (unsigned i = 0; i < layer->n_bottoms; i++) {
            drove_bottom *b = &pass->bottom[l * DROVE_LAYER_MOST_BOTTOMS + i];
            uint32_t blob = layer->bottom[i];
            const float *x = blob > 0 ? pass->out[blob - 1] : NULL;
            float *dx = opt->trains && is_varied(model, blob) ? pass->delta[blob - 1] : NULL;
            b->x = b->copy != NULL ? b->copy : x;
            b->dx = b->copy_delta != NULL ? b->copy_delta : dx;
            b->adds = layer->adds[i] && b->copy_delta == NULL;
        }
    }
end:
    free(p.lease);
    return status;
}

static drove_status make_lists(const drove_pass_options *opt, drove_pass *pass)
{
    const size_t n = opt->model->n_layers;
    pass->out = calloc(2 * n, sizeof *pass->out);
    pass->format = calloc(n + 1, sizeof *pass->format);
    pass->bottom = calloc(n * DROVE_LAYER_MOST_BOTTOMS, sizeof *pass->bottom);
    pass->own = calloc(n, sizeof *pass->own);
    if (pass->out == NULL || pass->format == NULL || pass->bottom == NULL || pass->own == NULL)
        return drove__fail_nomem("a pass", n * DROVE_LAYER_MOST_BOTTOMS * sizeof *pass->bottom);
    pass->delta = pass->out + n;
    return DROVE_OK;
}

static drove_pass_options settled(const drove_pass_options *given)
{
    drove_pass_options opt = *given;
    if (opt.rows == 0) opt.rows = opt.max_rows;
    if (opt.n_parts == 0) opt.n_parts = 1;
    return opt;
}

drove_status drove__pass_create(const drove_pass_options *opt, drove_pass *pass)
{
    const drove_pass_options all = settled(opt);
    memset(pass, 0, sizeof *pass);
    pass->model = all.model;
    pass->max_rows = all.max_rows;
    pass->n_parts = all.n_parts;
    pass->trains = all.trains;
    pass->seed = all.seed;
    drove_status status = DROVE_OK;
    if (!fits(&all)) {
        status = drove__fail(DROVE_E_ARG, "a batch of %zu examples is too large for model %s",
                             all.max_rows, all.model->spec);
        goto fail;
    }
    if ((status = make_lists(&all, pass)) != DROVE_OK) goto fail;
    if ((status = choose_formats(&all, pass)) != DROVE_OK) goto fail;
    if ((status = allocate(&all, pass)) != DROVE_OK) goto fail;
    if (all.round != NULL && (status = drove__integers_create(&all, pass)) != DROVE_OK) goto fail;
    for (size_t l = 0; l < all.model->n_layers; l++) {
        const drove_layer_ops *ops = all.model->layer[l].ops;
        if (ops->scratch_bytes != NULL)
            pass->n_bytes += ops->scratch_bytes(&all, &all.model->layer[l]);
        if (ops->prepare == NULL) continue;
        if ((status = ops->prepare(&all, pass, l, &pass->own[l])) != DROVE_OK) goto fail;
    }
    return DROVE_OK;
fail:
    drove__pass_fini(pass);
    return status;
}

drove_status drove__pass_init(drove_pass *pass, const drove_model *model,
                              const drovek_table *kernels, size_t max_rows)
{
    drove_pass_options opt = {
        .model = model, .kernels = kernels, .max_rows = max_rows, .trains = true};
    return drove__pass_create(&opt, pass);
}

/* Without conversions: their formats are chosen later. */
drove_status drove__pass_bytes(const drove_pass_options *opt, size_t *n_bytes)
{
    const drove_pass_options all = settled(opt);
    drove_pass pass = {0};
    plan p = {0};
    *n_bytes = SIZE_MAX;
    if (!fits(&all)) return DROVE_OK;
    drove_status status = make_lists(&all, &pass);
    if (status == DROVE_OK) status = make_plan(&all, &pass, &p);
    if (status == DROVE_OK) {
        size_t bytes = (p.n_fixed + p.n_shared) * sizeof(float);
        for (size_t l = 0; l < all.model->n_layers; l++) {
            const drove_layer_ops *ops = all.model->layer[l].ops;
            if (ops->scratch_bytes != NULL) bytes += ops->scratch_bytes(&all, &all.model->layer[l]);
        }
        *n_bytes = bytes;
    }
    free(p.lease);
    drove__pass_fini(&pass);
    return status;
}

void drove__pass_fini(drove_pass *pass)
{
    if (pass == NULL) return;
    for (size_t l = 0; pass->own != NULL && pass->model != NULL && l < pass->model->n_layers; l++) {
        const drove_layer_ops *ops = pass->model->layer[l].ops;
        if (ops->release != NULL) ops->release(pass->own[l]);
    }
    drove__free(pass->memory);
    drove__integers_destroy(pass->integers);
    free(pass->out);
    free(pass->format);
    free(pass->bottom);
    free(pass->own);
    memset(pass, 0, sizeof *pass);
}
