/* engine/features_apply.c - drawing a feature map, and the features of a whole data set.
 *
 * Omega is kept transposed and in panels of PANEL features, [panel][n_in][PANEL], so that the
 * product of a block of examples with a panel reads and writes memory in sequence and its result,
 * BLOCK x PANEL, stays in the second-level cache for the cosine.  Every block has BLOCK rows, the
 * last one filled up with zeros: the kernels' order of sums depends on the shape, and so a row's
 * features do not depend on how many rows stand around it.
 *
 * Threads: started here and joined before the call returns; they take the next block or the next
 * input from a counter.  The caller's thread only waits, so that its settings of a library stay.
 */
#include "engine/features.h"

#include "base/available.h"
#include "base/mem.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 256, PANEL = 512 };

static const double two_pi = 6.283185307179586;

struct drove_features {
    drove_features_options opt;
    size_t n_in;
    const drovek_table *kernels;
    float *weight; /* Omega: panel p at weight + p * PANEL * n_in */
    float *phase;  /* [n_out] b */
};

/* ---- work shared out to threads ---- */

typedef struct rooms { /* scratch of one thread */
    float *x;          /* [BLOCK][n_in] dense examples; or the values of one sparse example */
    float *y;          /* [BLOCK][PANEL]; or [n_out] weights of one input */
} rooms;

typedef struct work work;
struct work {
    const drove_features *map;
    float *weight;                                  /* drawing: the map's */
    const drove_data *data;                         /* applying: inputs, and */
    float *z;                                       /* [n_rows][n_out] features */
    size_t n_x, n_y;                                /* floats of each scratch */
    void (*run)(const work *w, rooms *s, size_t i); /* item i of n_items */
    size_t n_items;
    _Atomic size_t next; /* relaxed: the join orders the results */
    _Atomic int starved; /* a thread had no memory for its scratch */
};

static void *work_main(void *argument)
{
    work *w = argument;
    rooms s = {.x = drove__alloc(w->n_x, sizeof(float)), .y = drove__alloc(w->n_y, sizeof(float))};
    drovek_thread_init();
    if (s.x == NULL || s.y == NULL) atomic_store(&w->starved, 1);
    while (atomic_load(&w->starved) == 0) {
        size_t i = atomic_fetch_add_explicit(&w->next, 1, memory_order_relaxed);
        if (i >= w->n_items) break;
        w->run(w, &s, i);
    }
    drove__free(s.x);
    drove__free(s.y);
    return NULL;
}

/* As many threads as there are items, at most n_threads; fewer where the system has no more. */
static drove_status share_out(work *w, unsigned n_threads)
{
    unsigned n_started = 0;
    int error = 0;
    if (n_threads > w->n_items) n_threads = (unsigned)w->n_items;
    if (n_threads == 0) return DROVE_OK;
    pthread_t *thread = calloc(n_threads, sizeof *thread);
    if (thread == NULL) return drove__fail_nomem("threads", n_threads * sizeof *thread);
    while (n_started < n_threads && error == 0) {
        error = pthread_create(&thread[n_started], NULL, work_main, w);
        if (error == 0) n_started++;
    }
    for (unsigned i = 0; i < n_started; i++) pthread_join(thread[i], NULL);
    free(thread);
    if (n_started == 0) return drove__fail_errno(DROVE_E_SYSTEM, error, "cannot start a thread");
    if (atomic_load(&w->starved) == 0) return DROVE_OK;
    return drove__fail_nomem("features of a block", (w->n_x + w->n_y) * sizeof(float));
}

/* ---- drawing ---- */

/* Weights of input i.  Its stream is i + 1; stream 0 is the phases'. */
static void draw_input(const work *w, rooms *s, size_t i)
{
    drove_rng rng;
    const drove_features *map = w->map;
    size_t n_out = map->opt.n_out;
    drove__rng_seed(&rng, map->opt.seed, DROVE_RNG_FEATURES, i + 1);
    map->opt.ops->draw(map->opt.gamma, &rng, s->y, n_out);
    for (size_t first = 0; first < n_out; first += PANEL) {
        size_t width = n_out - first < PANEL ? n_out - first : PANEL;
        memcpy(w->weight + first * map->n_in + i * width, s->y + first, width * sizeof(float));
    }
}

/* Refuses what no swapping could make usable, before the system grants it and regrets. */
static drove_status check_memory(const char *what, size_t rows, size_t cols)
{
    double wanted = (double)rows * (double)cols * (double)sizeof(float);
    double there = (double)drove__memory_most();
    if (there <= 0 || wanted <= there) return DROVE_OK;
    return drove__fail(DROVE_E_NOMEM,
                       "%s: %zu x %zu numbers: expected at most the machine's memory, %.1f GB, "
                       "found %.1f GB",
                       what, rows, cols, there * 1e-9, wanted * 1e-9);
}

static drove_status draw(drove_features *map, unsigned n_threads)
{
    size_t n_out = map->opt.n_out;
    DROVE_TRY(check_memory("weights of the feature map", map->n_in, n_out));
    map->weight = drove__alloc(map->n_in * n_out, sizeof *map->weight);
    map->phase = drove__alloc(n_out, sizeof *map->phase);
    if (map->weight == NULL || map->phase == NULL)
        return drove__fail_nomem("weights of the feature map", map->n_in * n_out * sizeof(float));
    drove_rng rng;
    drove__rng_seed(&rng, map->opt.seed, DROVE_RNG_FEATURES, 0);
    for (size_t i = 0; i < n_out; i++) map->phase[i] = (float)(two_pi * drove__rng_uniform(&rng));
    work w = {.map = map,
              .weight = map->weight,
              .n_x = 1,
              .n_y = n_out,
              .run = draw_input,
              .n_items = map->n_in};
    return share_out(&w, n_threads);
}

drove_status drove__features_create(const drove_features_options *opt, size_t n_in,
                                    const drovek_table *kernels, unsigned n_threads,
                                    drove_features **out)
{
    *out = NULL;
    drove_features *map = calloc(1, sizeof *map);
    if (map == NULL) return drove__fail_nomem("a feature map", sizeof *map);
    map->opt = *opt;
    map->n_in = n_in;
    map->kernels = kernels;
    drove_status status = draw(map, n_threads);
    if (status != DROVE_OK) {
        drove__features_destroy(map);
        return status;
    }
    *out = map;
    return DROVE_OK;
}

void drove__features_destroy(drove_features *map)
{
    if (map == NULL) return;
    drove__free(map->weight);
    drove__free(map->phase);
    free(map);
}

void drove__features_weights(const drove_features *map, float *weight, const float **phase)
{
    const size_t n_out = map->opt.n_out;
    for (size_t first = 0; first < n_out; first += PANEL) {
        size_t width = n_out - first < PANEL ? n_out - first : PANEL;
        const float *panel = map->weight + first * map->n_in;
        for (size_t i = 0; i < map->n_in; i++)
            memcpy(weight + i * n_out + first, panel + i * width, width * sizeof *weight);
    }
    *phase = map->phase;
}

/* ---- applying ---- */

/* y[n][width] = the sparse examples of a block times one panel. */
static void multiply_sparse(const work *w, size_t first, size_t n, const float *panel, size_t width,
                            rooms *room)
{
    const drove_data *data = w->data;
    const drove_storage *s = data->storage;
    memset(room->y, 0, n * width * sizeof *room->y);
    for (size_t i = 0; i < n; i++) {
        size_t row = drove__data_row(data, first + i);
        uint64_t begin = s->row_start[row];
        size_t nnz = (size_t)(s->row_start[row + 1] - begin);
        const uint32_t *index = s->index + begin;
        const float *value = s->value != NULL ? s->value + begin : NULL;
        if (data->factor != NULL) {
            for (size_t k = 0; k < nnz; k++)
                room->x[k] = (value != NULL ? value[k] : 1.0f) * data->factor[index[k]];
            value = room->x;
        }
        w->map->kernels->spmatvec_f32(room->y + i * width, index, value, nnz, panel, width);
    }
}

static void map_block(const work *w, rooms *s, size_t block)
{
    const drove_features *map = w->map;
    const drovek_table *k = map->kernels;
    bool is_sparse = w->data->storage->x_kind == DROVE_X_CSR;
    size_t n_in = map->n_in, n_out = map->opt.n_out;
    size_t first = block * BLOCK, left = w->data->n_rows - first;
    size_t n = left < BLOCK ? left : BLOCK;
    for (size_t i = 0; !is_sparse && i < n; i++)
        drove__features_load(k, w->data, first + i, s->x + i * n_in);
    if (!is_sparse) memset(s->x + n * n_in, 0, (BLOCK - n) * n_in * sizeof *s->x);
    for (size_t j = 0; j < n_out; j += PANEL) {
        size_t width = n_out - j < PANEL ? n_out - j : PANEL;
        const float *panel = map->weight + j * n_in;
        if (is_sparse) multiply_sparse(w, first, n, panel, width, s);
        else
            k->gemm_f32(false, false, BLOCK, width, n_in, 1.0f, s->x, n_in, panel, width, 0.0f,
                        s->y, width);
        map->opt.ops->finish(k, s->y, map->phase + j, n, width, n_out);
        for (size_t i = 0; i < n; i++) {
            memcpy(w->z + (first + i) * n_out + j, s->y + i * width, width * sizeof(float));
        }
    }
}

drove_status drove__features_apply(const drove_features *map, const drove_data *data,
                                   unsigned n_threads, drove_data **out)
{
    drove_data *derived;
    bool is_sparse = data->storage->x_kind == DROVE_X_CSR;
    *out = NULL;
    DROVE_TRY(check_memory("features of the data set", data->n_rows, map->opt.n_out));
    DROVE_TRY(drove__data_derive(data, map->opt.n_out, &derived));

    /* Scratch of a thread: a block of dense examples, or the longest sparse one. */
    size_t n_x = is_sparse ? 1 : BLOCK * map->n_in;
    for (size_t i = 0; is_sparse && i < data->n_rows; i++) {
        const uint64_t *start = data->storage->row_start + drove__data_row(data, i);
        if (start[1] - start[0] > n_x) n_x = (size_t)(start[1] - start[0]);
    }
    work w = {.map = map,
              .data = data,
              .z = derived->storage->x_f32,
              .n_x = n_x,
              .n_y = (size_t)BLOCK * PANEL,
              .run = map_block,
              .n_items = (data->n_rows + BLOCK - 1) / BLOCK};
    drove_status status = share_out(&w, n_threads);
    if (status != DROVE_OK) {
        drove_data_destroy(derived);
        return status;
    }
    *out = derived;
    return DROVE_OK;
}
