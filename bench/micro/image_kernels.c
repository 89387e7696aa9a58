/* bench/micro/image_kernels.c - the kernels of image layers at the sizes of the papers' networks:
 * one thread, interleaved in one run, fastest of the rounds.
 *
 *   drove   the kernel of the table
 *   copy    the table's copy_f32 over as many bytes as the kernel must read and write
 *   onednn  the library's own primitive, in the same format (pooling and LRN)
 *
 * usage: bench_image_kernels [--isa TIER] [--rounds N] [--kernel TEXT] [--batch N]
 * Output: one JSON object a line: milliseconds; of_copy = copy / drove, of_onednn = onednn / drove
 * (above 1: faster than it).
 */
#include "base/clock.h"
#include "base/cpu.h"
#include "base/mem.h"
#include "base/topo.h"
#include "kernel/conv/conv.h"
#include "kernel/tiers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if DROVEK_ONEDNN
#include <dnnl.h>
#endif

enum { LEAST_NS = 200000 };

typedef enum work {
    MAX_POOL,
    AVERAGE_POOL,
    LRN,
    DROPOUT,
    SUMS,
    COMBINE,
    ACT,
    CONCAT,
    DEPTHWISE,
    N_WORKS
} work;
static const char *const work_names[N_WORKS] = {"max_pool", "average_pool", "lrn",
                                                "dropout",  "sums",         "combine",
                                                "act",      "concat",       "depthwise"};

typedef struct layer {
    const char *name;
    work work;
    size_t c, h, k, s, p, oh; /* square images and windows */
} layer;

static const layer layers[] = {
    {"lenet pool1", MAX_POOL, 20, 24, 2, 2, 0, 12},
    {"lenet pool2", MAX_POOL, 50, 8, 2, 2, 0, 4},
    {"mnist, one channel", MAX_POOL, 1, 28, 2, 2, 0, 14},
    {"cifar pool1", MAX_POOL, 32, 32, 3, 2, 0, 16},
    {"alexnet pool1", MAX_POOL, 96, 55, 3, 2, 0, 27},
    {"alexnet pool5", MAX_POOL, 256, 13, 3, 2, 0, 6},
    {"googlenet pool1", MAX_POOL, 64, 112, 3, 2, 0, 56},
    {"googlenet 3a", MAX_POOL, 192, 28, 3, 1, 1, 28},
    {"vgg pool1", MAX_POOL, 64, 224, 2, 2, 0, 112},
    {"cifar pool2", AVERAGE_POOL, 32, 16, 3, 2, 0, 8},
    {"googlenet aux", AVERAGE_POOL, 512, 14, 5, 3, 0, 4},
    {"googlenet global", AVERAGE_POOL, 1024, 7, 7, 1, 0, 1},
    {"alexnet norm1", LRN, 96, 55, 5, 0, 0, 55},
    {"alexnet norm2", LRN, 256, 27, 5, 0, 0, 27},
    {"googlenet norm2", LRN, 192, 56, 5, 0, 0, 56},
    {"alexnet drop6", DROPOUT, 4096, 1, 0, 0, 0, 1},
    {"an image", DROPOUT, 64, 28, 0, 0, 0, 28},
    {"batch norm", SUMS, 64, 56, 0, 0, 0, 56},
    {"batch norm", COMBINE, 64, 56, 0, 0, 0, 56},
    {"relu", ACT, 64, 56, 0, 0, 0, 56},
    {"googlenet 3a", CONCAT, 256, 28, 0, 0, 0, 28},
    {"mobilenetv3 2", DEPTHWISE, 72, 56, 3, 2, 1, 28},
    {"mobilenetv3 3", DEPTHWISE, 88, 28, 3, 1, 1, 28},
    {"mobilenetv3 5", DEPTHWISE, 240, 14, 5, 1, 2, 14},
    {"mobilenetv3 10", DEPTHWISE, 576, 7, 5, 1, 2, 7},
};
enum { N_LAYERS = sizeof layers / sizeof layers[0], N_PASSES = 2, N_FORMATS = 2 };

typedef struct timing {
    double drove, copy, onednn; /* nanoseconds, 0: not measured */
} timing;

typedef struct job { /* one layer in one format */
    const layer *l;
    const drovek_table *k;
    size_t batch, block, n_blocks, n_x, n_y;
    bool blocked, back;
    float *x, *y, *dx, *dy;
    uint8_t *place;
    double bytes;
#if DROVEK_ONEDNN
    dnnl_primitive_t primitive;
    dnnl_exec_arg_t args[4];
    int n_args;
#endif
} job;

#if DROVEK_ONEDNN
static dnnl_engine_t engine;
static dnnl_stream_t stream;
#endif

static void check(drove_status status)
{
    if (status == DROVE_OK) return;
    fprintf(stderr, "bench_image_kernels: %s\n", drove_error_text());
    exit(2);
}

static void *memory(size_t count, size_t size)
{
    void *p = drove__alloc(count, size);
    if (p == NULL) {
        fprintf(stderr, "bench_image_kernels: no memory\n");
        exit(2);
    }
    return p;
}

/* ---- drove ---- */

static void run_pool(const job *j)
{
    const layer *l = j->l;
    const drovek_pool p = {.c = j->block,
                           .h = l->h,
                           .w = l->h,
                           .oh = l->oh,
                           .ow = l->oh,
                           .kh = l->k,
                           .kw = l->k,
                           .sh = l->s,
                           .sw = l->s,
                           .ph = l->p,
                           .pw = l->p,
                           .y1 = l->h + 2 * l->p,
                           .x1 = l->h + 2 * l->p};
    size_t n = j->batch * j->n_blocks;
    if (l->work == DEPTHWISE) { /* dx stands for the weights, and the biases */
        if (j->back) j->k->depthwise_back_f32(&p, j->dy, j->x, j->dx, n, false);
        else j->k->depthwise_f32(&p, j->x, j->dx, j->dx, j->y, n);
    } else if (l->work == MAX_POOL && !j->back) j->k->max_pool_f32(&p, j->x, j->y, j->place, n);
    else if (l->work == MAX_POOL) j->k->max_pool_back_f32(&p, j->dy, j->place, j->dx, n, false);
    else if (!j->back) j->k->average_pool_f32(&p, j->x, j->y, n);
    else j->k->average_pool_back_f32(&p, j->dy, j->dx, n, false);
}

static void run_lrn(const job *j)
{
    const drovek_lrn l = {.c = j->l->c,
                          .hw = j->l->h * j->l->h,
                          .block = j->block,
                          .reach = 2,
                          .factor = 2e-5f,
                          .beta = 0.75f,
                          .kappa = 1.0f};
    if (!j->back) j->k->lrn_f32(&l, j->x, j->y, j->batch);
    else j->k->lrn_back_f32(&l, j->x, j->dy, j->dx, j->batch, false);
}

static void run_dropout(const job *j)
{
    drovek_dropout d = {.threshold = 1 << 23, .factor = 2.0f};
    size_t n = j->n_x / j->batch, hw = j->l->h * j->l->h;
    for (size_t row = 0; row < j->batch; row++) {
        d.key = drovek_dropout_key(1, 2, 3, row);
        for (size_t b = 0; b < j->n_blocks; b++) {
            size_t at = row * n + b * hw * j->block;
            if (j->n_blocks == 1) j->k->dropout_f32(&d, j->y + at, j->x + at, 1, n, 0, 0, false);
            else j->k->dropout_f32(&d, j->y + at, j->x + at, hw, j->block, b * 16, j->l->c, false);
        }
    }
}

/* Sums and combinations by channel; backward has two inputs. */
static void run_columns(const job *j)
{
    static double sum[4096], product[4096];
    size_t hw = j->l->h * j->l->h, n = j->blocked ? j->batch * j->n_blocks : 1;
    size_t rows = j->blocked ? hw : j->batch * hw;
    for (size_t i = 0; i < n; i++) {
        size_t at = i * rows * j->block;
        const float *second = j->back ? j->dy + at : NULL;
        if (j->l->work == SUMS)
            j->k->column_sums_f32(j->x + at, NULL, j->back ? second : j->x + at, j->dx, rows,
                                  j->block, sum, product);
        else
            j->k->column_combine_f32(j->y + at, j->x + at, second, j->dx, j->dx, j->dx, rows,
                                     j->block, false);
    }
}

static void run_concat(const job *j)
{
    static const size_t share[4] = {64, 128, 32, 32};
    size_t hw = j->l->h * j->l->h, begin = 0;
    for (int i = 0; i < 4; i++) {
        size_t cols = j->blocked ? share[i] * hw : share[i];
        size_t rows = j->blocked ? j->batch : j->batch * hw, stride = j->n_x / rows;
        if (j->back) j->k->copy_rows_f32(j->dx, cols, j->dy + begin, stride, rows, cols, false);
        else j->k->copy_rows_f32(j->y + begin, stride, j->x, cols, rows, cols, false);
        begin += cols;
    }
}

static void run_act(const job *j)
{
    if (j->back) j->k->act_back_f32(j->dx, j->dy, j->y, j->n_x, DROVEK_RELU, false);
    else j->k->act_f32(j->y, j->x, j->n_x, DROVEK_RELU);
}

static void run_drove(const job *j)
{
    switch (j->l->work) {
    case MAX_POOL:
    case DEPTHWISE:
    case AVERAGE_POOL: run_pool(j); break;
    case LRN: run_lrn(j); break;
    case DROPOUT: run_dropout(j); break;
    case SUMS:
    case COMBINE: run_columns(j); break;
    case ACT: run_act(j); break;
    default: run_concat(j); break;
    }
}

static void run_copy(const job *j)
{
    j->k->copy_f32(j->dx, j->x, (size_t)(j->bytes / 8));
}

/* What a pass must read and write. */
static double bytes_of(const job *j)
{
    double x = 4.0 * (double)j->n_x, y = 4.0 * (double)j->n_y;
    switch (j->l->work) {
    case MAX_POOL: return x + y * 1.25;
    case LRN:
    case COMBINE:
    case ACT: return x + y + (j->back ? x : 0);
    case SUMS: return x + (j->back ? x : 0);
    default: return x + y;
    }
}

/* ---- oneDNN ---- */

#if DROVEK_ONEDNN
static dnnl_memory_t wrap(const dnnl_memory_desc_t *md, void *data)
{
    dnnl_memory_t m = NULL;
    if (dnnl_memory_create(&m, md, engine, data) != dnnl_success) exit(2);
    return m;
}

static void add_arg(job *j, int which, dnnl_memory_t m)
{
    j->args[j->n_args++] = (dnnl_exec_arg_t){which, m};
}

static bool describe(const job *j, dnnl_memory_desc_t *x, dnnl_memory_desc_t *y)
{
    dnnl_format_tag_t tag = j->blocked ? dnnl_nChw16c : dnnl_nhwc;
    dnnl_dims_t in = {(dnnl_dim_t)j->batch, (dnnl_dim_t)j->l->c, (dnnl_dim_t)j->l->h,
                      (dnnl_dim_t)j->l->h};
    dnnl_dims_t out = {in[0], in[1], (dnnl_dim_t)j->l->oh, (dnnl_dim_t)j->l->oh};
    return dnnl_memory_desc_init_by_tag(x, 4, in, dnnl_f32, tag) == dnnl_success &&
           dnnl_memory_desc_init_by_tag(y, 4, out, dnnl_f32, tag) == dnnl_success;
}

static dnnl_primitive_desc_t pooling(const job *j, const dnnl_memory_desc_t *x,
                                     const dnnl_memory_desc_t *y, dnnl_primitive_desc_t hint)
{
    const layer *l = j->l;
    dnnl_dim_t k = (dnnl_dim_t)l->k, s = (dnnl_dim_t)l->s, p = (dnnl_dim_t)l->p;
    dnnl_dim_t end = ((dnnl_dim_t)l->oh - 1) * s + k - (dnnl_dim_t)l->h - p;
    dnnl_dims_t strides = {s, s}, kernel = {k, k}, before = {p, p}, behind = {end, end};
    dnnl_alg_kind_t how = l->work == MAX_POOL ? dnnl_pooling_max : dnnl_pooling_avg_include_padding;
    dnnl_pooling_desc_t d;
    dnnl_primitive_desc_t pd = NULL;
    if (hint == NULL)
        dnnl_pooling_forward_desc_init(&d, dnnl_forward_training, how, x, y, strides, kernel,
                                       before, behind);
    else dnnl_pooling_backward_desc_init(&d, how, x, y, strides, kernel, before, behind);
    dnnl_primitive_desc_create(&pd, &d, NULL, engine, hint);
    return pd;
}

static dnnl_primitive_desc_t normalisation(const dnnl_memory_desc_t *x, dnnl_primitive_desc_t hint)
{
    dnnl_lrn_desc_t d;
    dnnl_primitive_desc_t pd = NULL;
    dnnl_alg_kind_t how = dnnl_lrn_across_channels;
    if (hint == NULL)
        dnnl_lrn_forward_desc_init(&d, dnnl_forward_training, how, x, 5, 1e-4f, 0.75f, 1.0f);
    else dnnl_lrn_backward_desc_init(&d, how, x, x, 5, 1e-4f, 0.75f, 1.0f);
    dnnl_primitive_desc_create(&pd, &d, NULL, engine, hint);
    return pd;
}

static dnnl_primitive_desc_t primitive_of(const job *j, const dnnl_memory_desc_t *x,
                                          const dnnl_memory_desc_t *y, dnnl_primitive_desc_t hint)
{
    return j->l->work == LRN ? normalisation(x, hint) : pooling(j, x, y, hint);
}

/* forward makes the workspace that backward reads. */
static void prepare_library(job *forward, job *back)
{
    dnnl_memory_desc_t x, y;
    if (forward->l->work > LRN || (forward->blocked && forward->l->c % 16 != 0) ||
        !describe(forward, &x, &y))
        return;
    dnnl_primitive_desc_t pd = primitive_of(forward, &x, &y, NULL);
    if (pd == NULL) return;
    dnnl_primitive_desc_t back_pd = primitive_of(back, &x, &y, pd);
    const dnnl_memory_desc_t *ws = dnnl_primitive_desc_query_md(pd, dnnl_query_workspace_md, 0);
    dnnl_memory_t space = NULL;
    if (ws != NULL && dnnl_memory_desc_get_size(ws) > 0)
        space = wrap(ws, memory(dnnl_memory_desc_get_size(ws), 1));
    add_arg(forward, DNNL_ARG_SRC, wrap(&x, forward->x));
    add_arg(forward, DNNL_ARG_DST, wrap(&y, forward->y));
    if (forward->l->work == LRN) add_arg(back, DNNL_ARG_SRC, wrap(&x, forward->x));
    add_arg(back, DNNL_ARG_DIFF_DST, wrap(&y, forward->dy));
    add_arg(back, DNNL_ARG_DIFF_SRC, wrap(&x, forward->dx));
    if (space != NULL) add_arg(forward, DNNL_ARG_WORKSPACE, space);
    if (space != NULL) add_arg(back, DNNL_ARG_WORKSPACE, space);
    if (dnnl_primitive_create(&forward->primitive, pd) != dnnl_success) forward->primitive = NULL;
    if (back_pd == NULL || dnnl_primitive_create(&back->primitive, back_pd) != dnnl_success)
        back->primitive = NULL;
    if (forward->primitive != NULL) /* fills the workspace */
        dnnl_primitive_execute(forward->primitive, stream, forward->n_args, forward->args);
}

static void run_library(const job *j)
{
    dnnl_primitive_execute(j->primitive, stream, j->n_args, j->args);
    dnnl_stream_wait(stream);
}
#endif

/* ---- measuring ---- */

static void measure(const job *j, void (*run)(const job *), bool counts, double *best)
{
    uint64_t total = 0;
    size_t n_calls = 0;
    while (total < LEAST_NS) {
        n_calls = 2 * n_calls + 1;
        uint64_t begin = drove__now_ns();
        for (size_t i = 0; i < n_calls; i++) run(j);
        total = drove__now_ns() - begin;
    }
    double ns = (double)total / (double)n_calls;
    if (counts && (*best == 0.0 || ns < *best)) *best = ns;
}

static void set_up(job *j, const layer *l, const drovek_table *k, size_t batch, bool blocked)
{
    *j = (job){.l = l, .k = k, .batch = batch, .blocked = blocked};
    j->block = blocked ? 16 : l->c;
    j->n_blocks = l->c / j->block;
    j->n_x = batch * l->c * l->h * l->h;
    j->n_y = batch * l->c * l->oh * l->oh;
    j->x = memory(j->n_x + 8192, sizeof *j->x);
    j->dx = memory(2 * j->n_x + 8192, sizeof *j->x);
    j->y = memory(j->n_x, sizeof *j->x);
    j->dy = memory(j->n_x, sizeof *j->x);
    j->place = memory(j->n_y, 1);
    uint32_t r = 12345;
    for (size_t i = 0; i < j->n_x; i++) {
        r = r * 1664525u + 1013904223u;
        j->x[i] = (float)(r >> 8) * 0x1p-23f - 1.0f;
        j->dy[i] = (float)(r >> 10) * 0x1p-22f - 0.5f;
    }
}

static void report(const job *j, const timing *t)
{
    printf("{\"kernel\":\"%s%s\",\"shape\":\"%s\",\"isa\":\"%s\",\"format\":\"%s\",\"batch\":%zu",
           work_names[j->l->work], j->back ? "_back" : "", j->l->name, j->k->isa,
           j->blocked ? "nchw16" : "nhwc", j->batch);
    printf(",\"ms\":%.4f,\"gb_per_s\":%.1f,\"copy_ms\":%.4f,\"of_copy\":%.2f", t->drove * 1e-6,
           j->bytes / t->drove, t->copy * 1e-6, t->copy / t->drove);
    if (t->onednn > 0.0)
        printf(",\"onednn_ms\":%.4f,\"of_onednn\":%.2f", t->onednn * 1e-6, t->onednn / t->drove);
    printf("}\n");
    fflush(stdout);
}

static void run_layer(const layer *l, const drovek_table *k, size_t batch, bool blocked, int rounds)
{
    job pass[N_PASSES];
    timing t[N_PASSES] = {{0}};
    set_up(&pass[0], l, k, batch, blocked);
    run_drove(&pass[0]);
    pass[1] = pass[0];
    pass[1].back = true;
    for (int i = 0; i < N_PASSES; i++) pass[i].bytes = bytes_of(&pass[i]);
#if DROVEK_ONEDNN
    prepare_library(&pass[0], &pass[1]);
#endif
    for (int round = 0; round <= rounds; round++) {
        for (int i = 0; i < N_PASSES; i++) {
            measure(&pass[i], run_drove, round > 0, &t[i].drove);
            measure(&pass[i], run_copy, round > 0, &t[i].copy);
#if DROVEK_ONEDNN
            if (pass[i].primitive != NULL) measure(&pass[i], run_library, round > 0, &t[i].onednn);
#endif
        }
    }
    for (int i = 0; i < (l->work == DROPOUT ? 1 : N_PASSES); i++) report(&pass[i], &t[i]);
    drove__free(pass[0].x), drove__free(pass[0].dx), drove__free(pass[0].y);
    drove__free(pass[0].dy), drove__free(pass[0].place);
}

int main(int argc, char **argv)
{
    const char *isa = NULL, *kernel = "";
    int rounds = 7;
    size_t batch = 16;
    drovek_table k;
    drove_topo *topo;
    drove_place place;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--isa") == 0) isa = argv[i + 1];
        if (strcmp(argv[i], "--kernel") == 0) kernel = argv[i + 1];
        if (strcmp(argv[i], "--rounds") == 0) rounds = atoi(argv[i + 1]);
        if (strcmp(argv[i], "--batch") == 0) batch = (size_t)atoi(argv[i + 1]);
    }
    check(drovek_select(&k, drove__cpu_features(), isa));
    check(drove__topo_create(NULL, &topo));
    drove__topo_place(topo, DROVE_BIND_COMPACT, 1, &place);
    check(drove__topo_bind_self(topo, &place));
    drovek_thread_init();
#if DROVEK_ONEDNN
    if (dnnl_engine_create(&engine, dnnl_cpu, 0) != dnnl_success ||
        dnnl_stream_create(&stream, engine, dnnl_stream_default_flags) != dnnl_success)
        return 2;
#endif
    for (size_t i = 0; i < N_LAYERS; i++) {
        if (strstr(work_names[layers[i].work], kernel) == NULL) continue;
        for (int blocked = 0; blocked < (layers[i].c % 16 == 0 ? N_FORMATS : 1); blocked++)
            run_layer(&layers[i], &k, batch, blocked, rounds);
    }
    drove__topo_destroy(topo);
    return 0;
}
