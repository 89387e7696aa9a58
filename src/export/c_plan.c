/* export/c_plan.c - the scratch memory of a written network: every array has a place for as long as
 * a layer will read it, and arrays that never live together may share memory.
 *
 * A layer that works number by number writes over its input where that is not read any more.  The
 * rest are placed by size, the largest first, each at the lowest place that is free during its
 * life: Pisarchyk, Lee, Efficient memory management for deep neural net inference,
 * arXiv:2001.03288, "greedy by size".
 *
 * A batch normalisation right behind a dense layer or a convolution is folded into the weights.
 */
#include "export/c_source.h"

#include "base/mem.h"
#include "model/layer.h"

#include <stdlib.h>

/* Layer l works at time l + 1; the input is there at time 0, and the outputs are read at the end.
 * Arrays are numbered as plan->place. */
typedef struct life {
    size_t n_floats, first, last; /* of an array that is no other's */
    size_t of;                    /* the array in whose memory it lies; itself */
} life;

/* The array whose memory it has in the end. */
static size_t root_of(const life *lives, size_t array)
{
    while (lives[array].of != array) array = lives[array].of;
    return array;
}

static bool is_needed(const drove_c_plan *p, size_t layer)
{
    return !p->file->model->layer[layer].training.is_only;
}

/* ---- batch normalisation ---- */

static void fold(drove_c_plan *p)
{
    const drove_layer *layer = p->file->model->layer;
    for (size_t i = 0; i < p->n_layers; i++) {
        const uint32_t blob = layer[i].bottom[0];
        if (layer[i].ops != &drove__layer_batch_norm || blob == 0 || !is_needed(p, i)) continue;
        const drove_layer *below = &layer[blob - 1];
        size_t n_readers = 0;
        for (size_t j = 0; j < p->n_layers; j++)
            for (unsigned b = 0; b < layer[j].n_bottoms; b++)
                n_readers += is_needed(p, j) && layer[j].bottom[b] == blob;
        p->is_folded[i] =
            (below->ops == &drove__layer_dense || below->ops == &drove__layer_convolution) &&
            below->act == DROVEK_LINEAR && n_readers == 1;
    }
}

/* ---- lives ---- */

/* Arrays that are the input of their layer as it is share its memory, and with it its life. */
static drove_status list_lives(drove_c_plan *p, life *lives)
{
    const drove_model *model = p->file->model;
    for (size_t i = 0; i <= p->n_layers + 1; i++) {
        const bool is_input = i == 0 || i > p->n_layers;
        lives[i].of = i;
        lives[i].n_floats = is_input ? model->n_inputs : model->layer[i - 1].n_out;
        lives[i].first = lives[i].last = is_input ? 0 : i;
    }
    for (size_t i = 0; i < p->n_layers; i++) {
        const drove_layer *l = &model->layer[i];
        drove_c_memory memory;
        if (!is_needed(p, i)) continue;
        DROVE_TRY(drove__c_layer_memory(p, i, &memory));
        for (unsigned b = 0; b < l->n_bottoms; b++) {
            const size_t array = drove__c_array(p, l, b);
            p->has_plain = p->has_plain || array > p->n_layers;
            p->has_image = p->has_image || array == 0;
            lives[root_of(lives, array)].last = i + 1;
        }
        if (memory == DROVE_C_SAME) lives[i + 1].of = root_of(lives, drove__c_array(p, l, 0));
    }
    lives[root_of(lives, p->n_layers)].last = p->n_layers + 1;
    return DROVE_OK;
}

static drove_status work_in_place(const drove_c_plan *p, life *lives)
{
    for (size_t i = 0; i < p->n_layers; i++) {
        const drove_layer *l = &p->file->model->layer[i];
        drove_c_memory memory;
        if (!is_needed(p, i)) continue;
        DROVE_TRY(drove__c_layer_memory(p, i, &memory));
        for (unsigned b = 0; memory == DROVE_C_IN_PLACE && b < l->n_bottoms; b++) {
            life *x = &lives[root_of(lives, drove__c_array(p, l, b))];
            if (x->last != i + 1 || x->n_floats != l->n_out) continue;
            lives[i + 1].of = (size_t)(x - lives);
            x->last = lives[i + 1].last;
            break;
        }
    }
    return DROVE_OK;
}

/* ---- places ---- */

/* The lowest place that no placed array overlaps that lives at the same time. */
static size_t find_place(const drove_c_plan *p, const life *lives, const bool *is_placed, size_t me)
{
    size_t at = 0;
    for (bool moved = true; moved;) {
        moved = false;
        for (size_t i = 0; i <= p->n_layers + 1; i++) {
            const bool together = is_placed[i] && lives[i].first <= lives[me].last &&
                                  lives[me].first <= lives[i].last;
            if (!together || at >= p->place[i] + lives[i].n_floats ||
                p->place[i] >= at + lives[me].n_floats)
                continue;
            at = p->place[i] + lives[i].n_floats;
            moved = true;
        }
    }
    return at;
}

static bool has_memory(const drove_c_plan *p, const life *lives, size_t i)
{
    if (lives[i].of != i) return false;
    if (i > p->n_layers) return p->has_plain;
    return i == 0 ? p->has_image : is_needed(p, i - 1);
}

static void place_arrays(drove_c_plan *p, const life *lives, bool *is_placed)
{
    const size_t n = p->n_layers + 2;
    for (;;) {
        size_t largest = n;
        for (size_t i = 0; i < n; i++) {
            if (is_placed[i] || !has_memory(p, lives, i)) continue;
            if (largest == n || lives[i].n_floats > lives[largest].n_floats) largest = i;
        }
        if (largest == n) break;
        const size_t at = find_place(p, lives, is_placed, largest);
        p->place[largest] = at;
        is_placed[largest] = true;
        if (at + lives[largest].n_floats > p->n_scratch)
            p->n_scratch = at + lives[largest].n_floats;
    }
    for (size_t i = 0; i < n; i++) p->place[i] = p->place[root_of(lives, i)];
}

/* ---- the whole ---- */

drove_status drove__c_plan_make(const drove_modelfile *f, drove_c_plan *out)
{
    const drove_model *model = f->model;
    drove_c_plan p = {.file = f, .n_layers = model->head[model->n_heads - 1].layer + 1};
    const size_t n = p.n_layers + 2;
    life *lives = calloc(n, sizeof *lives);
    bool *is_placed = calloc(n, sizeof *is_placed);
    p.is_folded = calloc(n, sizeof *p.is_folded);
    p.place = calloc(n, sizeof *p.place);
    drove_status status = DROVE_OK;
    if (lives == NULL || is_placed == NULL || p.is_folded == NULL || p.place == NULL)
        status = drove__fail_nomem("the arrays of a network", n * sizeof *lives);
    if (status == DROVE_OK) {
        fold(&p);
        status = list_lives(&p, lives);
    }
    if (status == DROVE_OK) status = work_in_place(&p, lives);
    if (status == DROVE_OK) place_arrays(&p, lives, is_placed);
    free(lives);
    free(is_placed);
    if (status == DROVE_OK) *out = p;
    else drove__c_plan_fini(&p);
    return status;
}

void drove__c_plan_fini(drove_c_plan *p)
{
    free(p->is_folded);
    free(p->place);
    *p = (drove_c_plan){0};
}
