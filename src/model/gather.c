/* model/gather.c - y[j] = x[index[j]]: numbers of an example chosen, reordered and repeated.
 *
 * An image is numbered [c][h][w], as ONNX flattens it.  The derivative of a number is the sum of
 * those of its copies, in their order.
 *
 * Threads: the places of the numbers in memory are written by prepare, and then only read. */
#include "model/layer.h"

#include <stdlib.h>
#include <string.h>

/* Numbers that follow each other in x and in y. */
typedef struct run {
    uint32_t from, n;
} run;

typedef struct gather {
    size_t n_runs; /* 0: too short to be worth a copy each */
    run *runs;     /* [n_runs] */
    uint32_t at[]; /* [n_out] place in x of each number of y */
} gather;

enum { LEAST_RUN = 8 }; /* mean length */

static drove_status shape(drove_layer *l, const drove_shape *bottom, unsigned n_bottoms,
                          size_t n_outputs)
{
    const drove_indices *index = &l->opt.index;
    (void)n_bottoms, (void)n_outputs;
    l->in = bottom[0];
    l->n_in = drove__shape_floats(l->in);
    if (l->n_in > UINT32_MAX) return drove__fail(DROVE_E_ARG, "the layer is too large");
    if (index->n == 0) return drove__fail(DROVE_E_SHAPE, "expected an index, found none");
    for (size_t i = 0; i < index->n; i++) {
        if (index->value[i] >= l->n_in)
            return drove__fail(DROVE_E_SHAPE,
                               "index: expected 0 to %zu, as its input has %zu numbers, found %lu",
                               l->n_in - 1, l->n_in, (unsigned long)index->value[i]);
    }
    l->out = (drove_shape){index->n, 1, 1};
    l->n_out = index->n;
    return DROVE_OK;
}

/* Place in a row of number i of [c][h][w]: the model's input is as it is, others are [h][w][c]. */
static uint32_t place(const drove_layer *l, size_t i)
{
    const size_t hw = l->in.h * l->in.w;
    return (uint32_t)(l->bottom[0] == 0 ? i : i % hw * l->in.c + i / hw);
}

static drove_status prepare(const drove_pass_options *opt, const drove_pass *pass, size_t index,
                            void **own)
{
    const drove_layer *l = &opt->model->layer[index];
    const size_t n_bytes = sizeof(gather) + l->n_out * sizeof(uint32_t);
    (void)pass;
    gather *g = malloc(n_bytes);
    if (g == NULL) return drove__fail_nomem("places of numbers", n_bytes);
    *own = g;
    *g = (gather){0};
    size_t n_runs = 1;
    for (size_t j = 0; j < l->n_out; j++) {
        g->at[j] = place(l, l->opt.index.value[j]);
        n_runs += j > 0 && g->at[j] != g->at[j - 1] + 1;
    }
    if (n_runs * LEAST_RUN > l->n_out) return DROVE_OK;
    g->runs = malloc(n_runs * sizeof *g->runs);
    if (g->runs == NULL) return drove__fail_nomem("runs of numbers", n_runs * sizeof *g->runs);
    for (size_t j = 0; j < l->n_out; j++) {
        if (j == 0 || g->at[j] != g->at[j - 1] + 1) g->runs[g->n_runs++] = (run){g->at[j], 0};
        g->runs[g->n_runs - 1].n++;
    }
    return DROVE_OK;
}

static void release(void *own)
{
    gather *g = own;
    if (g != NULL) free(g->runs);
    free(g);
}

static void forward(const drove_call *c)
{
    const drove_layer *l = c->layer;
    const gather *g = c->own;
    for (size_t row = c->first_row; row < c->last_row; row++) {
        const float *restrict x = c->bottom[0].x + row * l->n_in;
        float *restrict y = c->y + row * l->n_out;
        for (size_t i = 0; i < g->n_runs; i++) {
            memcpy(y, x + g->runs[i].from, g->runs[i].n * sizeof *y);
            y += g->runs[i].n;
        }
        for (size_t j = 0; g->n_runs == 0 && j < l->n_out; j++) y[j] = x[g->at[j]];
    }
}

static void backward(const drove_call *c)
{
    const drove_layer *l = c->layer;
    const gather *g = c->own;
    const drove_bottom *b = &c->bottom[0];
    if (b->dx == NULL) return;
    if (!b->adds)
        memset(b->dx + c->first_row * l->n_in, 0,
               (c->last_row - c->first_row) * l->n_in * sizeof *b->dx);
    for (size_t row = c->first_row; row < c->last_row; row++) {
        float *restrict dx = b->dx + row * l->n_in;
        const float *restrict dy = c->dy + row * l->n_out;
        for (size_t j = 0; j < l->n_out; j++) dx[g->at[j]] += dy[j];
    }
}

const drove_layer_ops drove__layer_gather = {
    .name = "gather",
    .help = "numbers of its input by their places: chosen, reordered, repeated",
    .source = "ONNX, Gather",
    .least_bottoms = 1,
    .most_bottoms = 1,
    .format = DROVE_FORMAT_PLAIN,
    .shape = shape,
    .prepare = prepare,
    .release = release,
    .forward = forward,
    .backward = backward,
};
