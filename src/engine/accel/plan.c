/* engine/accel/plan.c - what a pass needs on a device beside parameters and examples; see state.h.
 *
 * Outputs live from forward to backward.  A derivative lives from the layer that is the first in
 * backward to write it (the last one that reads its blob, or the loss) to the layer that made the
 * blob: derivatives that do not live at the same time share a buffer.  A chain has two, in turns.
 */
#include "engine/accel/layers.h"

#include <stdlib.h>
#include <string.h>

/* A buffer that is free while backward is at layer `now` and before: the largest; else a new one.
 * until[b]: the last layer of backward that needs buffer b. */
static size_t take_buffer(drove_accel_plan *p, const size_t *until, size_t now)
{
    size_t best = p->n_deltas;
    for (size_t b = 0; b < p->n_deltas; b++) {
        bool is_free = until[b] > now;
        if (is_free && (best == p->n_deltas || p->delta_floats[b] > p->delta_floats[best]))
            best = b;
    }
    if (best == p->n_deltas) p->delta_floats[p->n_deltas++] = 0;
    return best;
}

drove_status drove__accel_plan_make(const drove_model *model, drove_accel_plan *out)
{
    size_t n = model->n_layers;
    drove_accel_plan p = {0};
    size_t *memory = calloc(4 * n, sizeof *memory);
    if (memory == NULL) return drove__fail_nomem("the plan of a pass", 4 * n * sizeof *memory);
    p.delta_of = memory;
    p.delta_floats = memory + n;
    size_t *first = memory + 2 * n, *until = memory + 3 * n;
    bool has_channels = model->input.c > 1 && model->input.h * model->input.w > 1;
    for (size_t l = 0; l < n; l++) {
        first[l] = drove__model_first_writer(model, l);
        const drove_layer *y = &model->layer[l];
        bool reads_input = false;
        for (unsigned i = 0; i < y->n_bottoms; i++) reads_input = reads_input || y->bottom[i] == 0;
        if (!reads_input) continue;
        if (y->ops != &drove__layer_dense && has_channels) p.converts_input = true;
        else p.reads_plain = true;
    }

    /* Derivatives that do not live at the same time share a buffer. */
    for (size_t now = model->n_layers + 1; now-- > 0;) {
        for (size_t l = 0; l < model->n_layers; l++) {
            if (first[l] != now) continue;
            size_t b = take_buffer(&p, until, now), n_out = model->layer[l].n_out;
            p.delta_of[l] = b;
            if (n_out > p.delta_floats[b]) p.delta_floats[b] = n_out;
            until[b] = l;
        }
    }
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): *out has it */
    *out = p;
    return DROVE_OK;
}

void drove__accel_plan_fini(drove_accel_plan *p)
{
    free(p->delta_of);
    memset(p, 0, sizeof *p);
}

size_t drove__accel_scratch(const drove_model *model, size_t rows)
{
    size_t most = 0;
    for (size_t l = 0; l < model->n_layers; l++) {
        const drove_accel_layer *kind = drove__accel_layer(&model->layer[l]);
        size_t n =
            kind != NULL && kind->scratch != NULL ? kind->scratch(&model->layer[l], rows) : 0;
        most = n > most ? n : most;
    }
    return most;
}

size_t drove__accel_kept(const drove_layer *y, size_t rows)
{
    const drove_accel_layer *kind = drove__accel_layer(y);
    return kind != NULL && kind->kept != NULL ? kind->kept(y, rows) : 0;
}
