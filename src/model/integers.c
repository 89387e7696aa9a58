/* model/integers.c - see integers.h: where arrays of a pass are rounded, and read as integers. */
#include "model/integers.h"

#include "base/mem.h"

#include <stdlib.h>

static const uint32_t UNKNOWN = (uint32_t)DROVE_LARGEST_UNKNOWN;

/* ---- which layers ---- */

static bool takes_planes(const drove_layer *l)
{
    return l->ops->integers != NULL && l->ops->integers->takes_planes;
}

static bool keeps_numbers(const drove_layer *l)
{
    return l->ops->integers != NULL && l->ops->integers->keeps_numbers;
}

static bool keeps_derivatives(const drove_layer *l)
{
    const drove_integer_ops *ops = l->ops->integers;
    return ops != NULL && ops->keeps_derivatives != NULL && ops->keeps_derivatives(l);
}

/* The layer that alone reads layer l's output; n_layers: none, several, or a loss does. */
static size_t only_reader(const drove_model *model, size_t l)
{
    size_t reader = model->n_layers, n = 0;
    for (unsigned h = 0; h < model->n_heads; h++) n += model->head[h].layer == l;
    for (size_t j = l + 1; j < model->n_layers; j++) {
        for (unsigned i = 0; i < model->layer[j].n_bottoms; i++) {
            if (model->layer[j].bottom[i] != l + 1) continue;
            reader = j;
            n++;
        }
    }
    return n == 1 ? reader : model->n_layers;
}

/* True if layer l, which keeps numbers, reads and writes integers: the layers around it do, so that
 * nobody needs the floats. */
static bool passes_integers_on(const drove_pass *pass, const drove_integers *p, size_t l)
{
    const drove_model *model = pass->model;
    const drove_layer *layer = &model->layer[l];
    const size_t from = layer->bottom[0], reader = only_reader(model, l);
    return keeps_derivatives(layer) && layer->n_bottoms == 1 && from > 0 &&
           p->layer[from - 1].has_rounded_derivative && takes_planes(&model->layer[from - 1]) &&
           reader < model->n_layers && takes_planes(&model->layer[reader]) &&
           pass->format[from] == DROVEK_NHWC && pass->format[l + 1] == DROVEK_NHWC;
}

/* ---- memory ---- */

/* Room for n integers from memory[*at] on; memory NULL: only counts it. */
static void hand_out_planes(drovek_planes *p, size_t n, bool is_wide, uint8_t *memory, size_t *at)
{
    const size_t line = DROVE_CACHE_LINE, size = (n + line - 1) / line * line + line;
    if (memory != NULL) p->high = memory + *at;
    if (memory != NULL && is_wide) p->low = memory + *at + size;
    *at += is_wide ? 2 * size : size;
}

/* Returns the bytes of all integers. */
static size_t assign_planes(const drove_pass_options *opt, drove_integers *p,
                            const bool *has_planes, uint8_t *memory)
{
    const drove_model *model = opt->model;
    const drove_round *r = opt->round;
    size_t at = 0;
    for (size_t b = 0; b <= model->n_layers; b++) {
        const size_t n = opt->max_rows * drove__shape_floats(drove__blob_shape(model, (uint32_t)b));
        if (has_planes[b]) hand_out_planes(&p->value[b], n, r->is_wide_value, memory, &at);
        if (b == model->n_layers || !p->layer[b].is_used) continue;
        hand_out_planes(&p->derivative[b], opt->max_rows * model->layer[b].n_out,
                        r->is_wide_derivative, memory, &at);
    }
    return at;
}

static drove_status allocate_planes(const drove_pass_options *opt, drove_pass *pass,
                                    drove_integers *p)
{
    const drove_model *model = opt->model;
    const size_t n = model->n_layers;
    bool *has_planes = calloc(n + 1, sizeof *has_planes);
    p->value = calloc(n + 1, sizeof *p->value);
    p->derivative = calloc(n, sizeof *p->derivative);
    p->has_floats = calloc(n + 1, sizeof *p->has_floats);
    size_t n_bytes = n * sizeof *p->value;
    bool fails =
        has_planes == NULL || p->value == NULL || p->derivative == NULL || p->has_floats == NULL;
    if (fails) goto end;

    /* The layers that read integers. */
    for (size_t l = 0; l < n; l++) {
        drove_layer_integers *own = &p->layer[l];
        const bool takes = takes_planes(&model->layer[l]);
        own->is_used = takes || passes_integers_on(pass, p, l);
        own->has_one_reader = only_reader(model, l) < n;
        own->largest = own->largest_derivative = UNKNOWN;
        if (!own->is_used) continue;
        const size_t from = model->layer[l].bottom[0];
        if (!takes) {
            p->layer[from - 1].is_written = true;
            own->takes_floats = p->layer[from - 1].is_rounded_behind;
            if (own->takes_floats) p->layer[from - 1].pooled_by = l;
            own->dx = &p->derivative[from - 1];
        }
        own->x = own->takes_floats ? NULL : &p->value[from];
        own->y = &p->value[l + 1];
        own->dy = &p->derivative[l];
        own->w = opt->round->weight != NULL ? &opt->round->weight[l] : NULL;
    }

    /* The blobs whose integers layers read, and those whose floats. */
    for (size_t l = 0; l < n; l++) {
        const drove_layer *layer = &model->layer[l];
        const bool takes = p->layer[l].is_used;
        bool *read = takes && !p->layer[l].takes_floats ? has_planes : p->has_floats;
        for (unsigned i = 0; i < layer->n_bottoms; i++) read[layer->bottom[i]] = true;
        if (takes && layer->act != DROVEK_LINEAR) has_planes[l + 1] = true;
        if (!takes) p->has_floats[l + 1] = true;
    }
    for (unsigned h = 0; h < model->n_heads; h++) p->has_floats[model->head[h].layer + 1] = true;

    n_bytes = assign_planes(opt, p, has_planes, NULL);
    p->memory = drove__alloc(n_bytes, 1);
    fails = p->memory == NULL;
    if (!fails) (void)assign_planes(opt, p, has_planes, p->memory);
    pass->n_bytes += n_bytes;
end:
    free(has_planes);
    return fails ? drove__fail_nomem("integers of a batch", n_bytes) : DROVE_OK;
}

drove_status drove__integers_create(const drove_pass_options *opt, drove_pass *pass)
{
    const drove_model *model = opt->model;
    const size_t n = model->n_layers;
    drove_integers *p = calloc(1, sizeof *p);
    pass->integers = p;
    if (p != NULL) p->layer = calloc(n, sizeof *p->layer);
    if (p == NULL || p->layer == NULL) return drove__fail_nomem("a pass", n * sizeof *p->layer);
    p->round = opt->round;
    for (size_t l = 0; l < n; l++) {
        p->layer[l].reads_derivative = l;
        /* Rounded behind the layer that alone reads it and whose outputs are some of these, unless
         * an activation's derivative looks at the output. */
        const size_t reader = only_reader(model, l);
        p->layer[l].is_rounded_behind = reader < n && keeps_numbers(&model->layer[reader]) &&
                                        model->layer[l].act == DROVEK_LINEAR;
    }
    for (size_t l = 0; l < n; l++) { /* a reader comes behind */
        const size_t reader = only_reader(model, l);
        if (reader == n || !keeps_derivatives(&model->layer[reader])) continue;
        p->layer[l].has_rounded_derivative = true;
        p->layer[reader].reads_derivative = p->layer[l].reads_derivative;
    }
    if (opt->kernels->planes == NULL || !opt->trains) return DROVE_OK;
    return allocate_planes(opt, pass, p);
}

void drove__integers_destroy(drove_integers *p)
{
    if (p == NULL) return;
    drove__free(p->memory);
    free(p->value);
    free(p->derivative);
    free(p->has_floats);
    free(p->layer);
    free(p);
}

/* ---- rounding ---- */

void drove__integers_tell_largest(const drove_call *c, uint32_t largest)
{
    const uint32_t blob = c->layer->bottom[0];
    const drove_bottom *b = &c->bottom[0];
    if (blob == 0 || b->adds || b->copy_delta != NULL) return;
    drove_layer_integers *of = &c->pass->integers->layer[blob - 1];
    if (of->has_one_reader) of->largest_derivative = largest;
}

void drove__integers_round(const drove_call *c, bool of_values)
{
    const drove_integers *p = c->pass->integers;
    const drove_round *r = p->round;
    drove_layer_integers *own = &p->layer[c->index];
    const drove_shape s = c->layer->out;
    const size_t n = c->n_rows * c->layer->n_out;
    if (of_values && own->is_rounded_behind) return;

    /* Outputs of a layer that keeps numbers are some of its inputs, which are rounded. */
    const uint32_t below = c->layer->bottom[0];
    const bool keeps_rounded =
        keeps_numbers(c->layer) && (below == 0 || !p->layer[below - 1].is_rounded_behind);
    const drove_rounded of = {.layer = of_values ? c->index : own->reads_derivative,
                              .n_places = s.h * s.w,
                              .block = drovek_block(c->format, s.c),
                              .is_rounded =
                                  of_values ? keeps_rounded : own->has_rounded_derivative};
    if (p->value == NULL) {
        float *x = of_values ? c->y : c->dy;
        (of_values ? r->values : r->derivatives)(r->context, &of, x, x, n, UNKNOWN, NULL);
    } else if (of_values) {
        if (own->dx != NULL && own->x != NULL) return; /* written as integers */
        drovek_planes *to = &p->value[c->index + 1];
        r->values(r->context, &of, c->y, p->has_floats[c->index + 1] ? c->y : NULL, n, own->largest,
                  to->high != NULL ? to : NULL);
    } else {
        drovek_planes *to = &p->derivative[c->index];
        const bool is_read = to->high != NULL; /* by its layer, which then reads no floats */
        const uint32_t largest = own->largest_derivative;
        own->largest_derivative = UNKNOWN;
        if (own->is_written) return;
        r->derivatives(r->context, &of, c->dy, is_read ? NULL : c->dy, n, largest,
                       is_read ? to : NULL);
    }
}

void drove__integers_round_examples(const drove_pass *pass, drove_input *in, float *to)
{
    const drove_integers *p = pass->integers;
    const size_t n_inputs = pass->model->n_inputs;
    const bool has_planes = p->value != NULL && p->value[0].high != NULL;
    const drove_rounded of = {.layer = SIZE_MAX, .n_places = 1, .block = n_inputs};
    if (p->value != NULL && !p->has_floats[0]) to = NULL;
    p->round->values(p->round->context, &of, in->dense, to, in->n_rows * n_inputs, UNKNOWN,
                     has_planes ? &p->value[0] : NULL);
    if (to != NULL) in->dense = to;
}
