/* bench/micro/conv.c - the convolutions of the papers' networks, as drove computes them and bare:
 * one thread, its own time, interleaved in one run, fastest of the rounds.
 *
 *   drove    the way that drovek_conv_choose finds, with all that belongs to a training step: bias
 *            and ReLU, weights in theta's order
 *   onednn   oneDNN's primitives alone, in the formats and with the weights that they like best
 *   caffe    as Caffe does it: im2col of one image at a time, oneDNN's matrix product
 *   bf16     as drove, with factors in bf16
 *   D8, D16  as in a fixed-point network of that many bits: products that take all factors to be
 *            such integers, and y and dx rounded to them (xorshift) after they have been computed
 *
 * For each pass billions of operations a second; ratio = the time of all passes by the faster of
 * the bare ones over drove's; gain_... = the time of drove over that of narrow numbers.
 *
 * usage: bench_conv [--isa TIER] [--rounds N] [--net NAME] [--batch N]
 * Output: one JSON object a line, and the smallest and mean ratio of each network.
 */
#include "base/clock.h"
#include "base/cpu.h"
#include "base/mem.h"
#include "base/topo.h"
#include "engine/fixed/round.h"
#include "kernel/conv/conv.h"
#include "kernel/tiers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if DROVEK_ONEDNN
#include <dnnl.h>
#endif

enum { N_PASSES = 3, MAX_NETS = 8, LEAST_NS = 2000000 };
static const char *const pass_names[N_PASSES] = {"forward", "data", "weights"};

typedef struct layer {
    const char *net, *name;
    size_t batch, c, h, o, k, step, padding, groups;
    bool is_first; /* reads the model's input */
} layer;

static const layer layers[] = {
    {"lenet", "conv1", 64, 1, 28, 20, 5, 1, 0, 1, true},
    {"lenet", "conv2", 64, 20, 12, 50, 5, 1, 0, 1, false},
    {"cifar_quick", "conv1", 100, 3, 32, 32, 5, 1, 2, 1, true},
    {"cifar_quick", "conv2", 100, 32, 16, 32, 5, 1, 2, 1, false},
    {"cifar_quick", "conv3", 100, 32, 8, 64, 5, 1, 2, 1, false},
    {"alexnet", "conv1", 16, 3, 227, 96, 11, 4, 0, 1, true},
    {"alexnet", "conv2", 16, 96, 27, 256, 5, 1, 2, 2, false},
    {"alexnet", "conv3", 16, 256, 13, 384, 3, 1, 1, 1, false},
    {"alexnet", "conv4", 16, 384, 13, 384, 3, 1, 1, 2, false},
    {"alexnet", "conv5", 16, 384, 13, 256, 3, 1, 1, 2, false},
    {"googlenet", "conv1", 16, 3, 224, 64, 7, 2, 3, 1, true},
    {"googlenet", "conv2_reduce", 16, 64, 56, 64, 1, 1, 0, 1, false},
    {"googlenet", "conv2", 16, 64, 56, 192, 3, 1, 1, 1, false},
    {"googlenet", "3a_1x1", 16, 192, 28, 64, 1, 1, 0, 1, false},
    {"googlenet", "3a_3x3_reduce", 16, 192, 28, 96, 1, 1, 0, 1, false},
    {"googlenet", "3a_3x3", 16, 96, 28, 128, 3, 1, 1, 1, false},
    {"googlenet", "3a_5x5_reduce", 16, 192, 28, 16, 1, 1, 0, 1, false},
    {"googlenet", "3a_5x5", 16, 16, 28, 32, 5, 1, 2, 1, false},
    {"googlenet", "3a_pool", 16, 192, 28, 32, 1, 1, 0, 1, false},
    {"googlenet", "3b_1x1", 16, 256, 28, 128, 1, 1, 0, 1, false},
    {"googlenet", "3b_3x3", 16, 128, 28, 192, 3, 1, 1, 1, false},
    {"googlenet", "3b_5x5_reduce", 16, 256, 28, 32, 1, 1, 0, 1, false},
    {"googlenet", "3b_5x5", 16, 32, 28, 96, 5, 1, 2, 1, false},
    {"googlenet", "3b_pool", 16, 256, 28, 64, 1, 1, 0, 1, false},
    {"googlenet", "4a_1x1", 16, 480, 14, 192, 1, 1, 0, 1, false},
    {"googlenet", "4a_3x3_reduce", 16, 480, 14, 96, 1, 1, 0, 1, false},
    {"googlenet", "4a_3x3", 16, 96, 14, 208, 3, 1, 1, 1, false},
    {"googlenet", "4a_5x5_reduce", 16, 480, 14, 16, 1, 1, 0, 1, false},
    {"googlenet", "4a_5x5", 16, 16, 14, 48, 5, 1, 2, 1, false},
    {"googlenet", "4a_pool", 16, 480, 14, 64, 1, 1, 0, 1, false},
    {"googlenet", "4b_1x1", 16, 512, 14, 160, 1, 1, 0, 1, false},
    {"googlenet", "4b_3x3_reduce", 16, 512, 14, 112, 1, 1, 0, 1, false},
    {"googlenet", "4b_3x3", 16, 112, 14, 224, 3, 1, 1, 1, false},
    {"googlenet", "4b_5x5_reduce", 16, 512, 14, 24, 1, 1, 0, 1, false},
    {"googlenet", "4b_5x5", 16, 24, 14, 64, 5, 1, 2, 1, false},
    {"googlenet", "4b_pool", 16, 512, 14, 64, 1, 1, 0, 1, false},
    {"googlenet", "4c_1x1", 16, 512, 14, 128, 1, 1, 0, 1, false},
    {"googlenet", "4c_3x3", 16, 128, 14, 256, 3, 1, 1, 1, false},
    {"googlenet", "4d_3x3_reduce", 16, 512, 14, 144, 1, 1, 0, 1, false},
    {"googlenet", "4d_3x3", 16, 144, 14, 288, 3, 1, 1, 1, false},
    {"googlenet", "4d_5x5_reduce", 16, 512, 14, 32, 1, 1, 0, 1, false},
    {"googlenet", "4d_5x5", 16, 32, 14, 64, 5, 1, 2, 1, false},
    {"googlenet", "4e_1x1", 16, 528, 14, 256, 1, 1, 0, 1, false},
    {"googlenet", "4e_3x3_reduce", 16, 528, 14, 160, 1, 1, 0, 1, false},
    {"googlenet", "4e_3x3", 16, 160, 14, 320, 3, 1, 1, 1, false},
    {"googlenet", "4e_5x5_reduce", 16, 528, 14, 32, 1, 1, 0, 1, false},
    {"googlenet", "4e_5x5", 16, 32, 14, 128, 5, 1, 2, 1, false},
    {"googlenet", "4e_pool", 16, 528, 14, 128, 1, 1, 0, 1, false},
    {"googlenet", "5a_1x1", 16, 832, 7, 256, 1, 1, 0, 1, false},
    {"googlenet", "5a_3x3_reduce", 16, 832, 7, 160, 1, 1, 0, 1, false},
    {"googlenet", "5a_3x3", 16, 160, 7, 320, 3, 1, 1, 1, false},
    {"googlenet", "5a_5x5_reduce", 16, 832, 7, 32, 1, 1, 0, 1, false},
    {"googlenet", "5a_5x5", 16, 32, 7, 128, 5, 1, 2, 1, false},
    {"googlenet", "5a_pool", 16, 832, 7, 128, 1, 1, 0, 1, false},
    {"googlenet", "5b_1x1", 16, 832, 7, 384, 1, 1, 0, 1, false},
    {"googlenet", "5b_3x3_reduce", 16, 832, 7, 192, 1, 1, 0, 1, false},
    {"googlenet", "5b_3x3", 16, 192, 7, 384, 3, 1, 1, 1, false},
    {"googlenet", "5b_5x5_reduce", 16, 832, 7, 48, 1, 1, 0, 1, false},
    {"googlenet", "5b_5x5", 16, 48, 7, 128, 5, 1, 2, 1, false},
    {"googlenet", "loss1", 16, 512, 4, 128, 1, 1, 0, 1, false},
    {"googlenet", "loss2", 16, 528, 4, 128, 1, 1, 0, 1, false},
    {"vgg16", "conv1_1", 4, 3, 224, 64, 3, 1, 1, 1, true},
    {"vgg16", "conv1_2", 4, 64, 224, 64, 3, 1, 1, 1, false},
    {"vgg16", "conv2_1", 4, 64, 112, 128, 3, 1, 1, 1, false},
    {"vgg16", "conv2_2", 4, 128, 112, 128, 3, 1, 1, 1, false},
    {"vgg16", "conv3_1", 4, 128, 56, 256, 3, 1, 1, 1, false},
    {"vgg16", "conv3_2", 4, 256, 56, 256, 3, 1, 1, 1, false},
    {"vgg16", "conv4_1", 4, 256, 28, 512, 3, 1, 1, 1, false},
    {"vgg16", "conv4_2", 4, 512, 28, 512, 3, 1, 1, 1, false},
    {"vgg16", "conv5_1", 4, 512, 14, 512, 3, 1, 1, 1, false},
};

static void check(drove_status status)
{
    if (status == DROVE_OK) return;
    fprintf(stderr, "bench_conv: %s\n", drove_error_text());
    exit(2);
}

static float *values(size_t n)
{
    float *x = drove__alloc(n, sizeof *x);
    if (x == NULL) check(drove__fail_nomem("benchmark", n * sizeof *x));
    for (size_t i = 0; i < n; i++) x[i] = 0.01f * (float)((int)(i % 13) - 6) + 0.001f;
    return x;
}

enum { N_FACTORS = DROVEK_FACTORS_I16 + 1, X = 0, Y, W, DX, DY, N_ARRAYS };

typedef struct bench {
    const layer *l;
    drovek_conv_shape shape;
    size_t n_images;
    drovek_table kernels[N_FACTORS];
    drovek_conv *conv[N_FACTORS];
    drovek_conv_choice choice[N_FACTORS];
    drove_rounder rounder;
    float *x, *y, *w, *b, *dx, *dy, *dw, *col;
    drovek_planes planes[2][N_ARRAYS]; /* of 8 and of 16 bits: kept as bytes */
    void *bare[N_PASSES];
} bench;

static bool has_pass(const bench *b, size_t pass)
{
    return pass != 1 || !b->l->is_first;
}

/* ---- drove ---- */

static void make_drove(bench *b, drovek_factors factors)
{
    drovek_conv_choice choice[8];
    size_t n;
    drovek_conv_options opt = {.shape = b->shape,
                               .act = DROVEK_RELU,
                               .rows = b->n_images,
                               .max_rows = b->n_images,
                               .passes = DROVEK_CONV_FORWARD | DROVEK_CONV_WEIGHTS,
                               .in = b->l->is_first ? DROVEK_NCHW : DROVEK_NHWC,
                               .out = DROVEK_NHWC,
                               .kernels = &b->kernels[factors]};
    if (!b->l->is_first) opt.passes |= DROVEK_CONV_DATA;
    check(drovek_conv_choose(&opt, choice, DROVE_COUNT(choice), &n));
    b->choice[factors] = choice[0];
    opt.way = choice[0].way;
    opt.in = choice[0].in;
    opt.out = choice[0].out;
    check(drovek_conv_create(&opt, &b->conv[factors]));
}

static void run_one(bench *b, drovek_factors factors, size_t pass)
{
    drovek_conv *conv = b->conv[factors];
    if (pass == 0) drovek_conv_forward(conv, b->x, b->w, b->b, b->y, b->n_images);
    if (pass == 1) drovek_conv_data(conv, b->dy, b->w, b->dx, b->n_images, false);
    if (pass == 2) drovek_conv_weights(conv, b->x, b->dy, b->dw, b->n_images);
}

static void run_drove(bench *b, size_t pass)
{
    run_one(b, DROVEK_FACTORS_F32, pass);
}

static void run_bf16(bench *b, size_t pass)
{
    run_one(b, DROVEK_FACTORS_BF16, pass);
}

/* The integers of x[n]; values: its floats are rounded too. */
static void round_array(bench *b, unsigned bits, float *x, size_t n, uint32_t largest,
                        drovek_planes *to)
{
    const drovek_table *k = &b->kernels[bits == 8 ? DROVEK_FACTORS_I8 : DROVEK_FACTORS_I16];
    drove__fixed_round_planes(k, &b->rounder, bits, NULL, x, x, n, largest, to);
}

static void make_array(bench *b, unsigned bits, unsigned array, float *x, size_t n)
{
    drovek_planes *p = &b->planes[bits == 16][array];
    const size_t size = n + DROVEK_PLANES_SLACK;
    if (b->kernels[bits == 8 ? DROVEK_FACTORS_I8 : DROVEK_FACTORS_I16].planes == NULL) return;
    p->high = drove__alloc(size, 1);
    p->low = bits == 16 ? drove__alloc(size, 1) : NULL;
    if (p->high == NULL || (bits == 16 && p->low == NULL))
        check(drove__fail_nomem("benchmark", 2 * size));
    round_array(b, bits, x, n, b->kernels[0].largest_f32(x, n), p);
}

static void run_fixed(bench *b, drovek_factors factors, unsigned bits, size_t pass)
{
    const drovek_conv_shape *s = &b->shape;
    const drovek_table *k = &b->kernels[factors];
    drovek_planes *p = b->planes[bits == 16];
    const bool is_forward = pass == 0;
    const size_t n = b->n_images * (is_forward ? s->o * s->oh * s->ow : s->c * s->h * s->w);
    float *to = is_forward ? b->y : b->dx;
    if (k->planes != NULL) drovek_conv_take(b->conv[factors], &p[X], &p[W], &p[DY]);
    run_one(b, factors, pass);
    if (pass == 2) return;
    if (k->planes == NULL) drove__fixed_round(k, &b->rounder, bits, NULL, to, n);
    else
        round_array(b, bits, to, n,
                    is_forward ? drovek_conv_largest(b->conv[factors]) : k->largest_f32(to, n),
                    &p[is_forward ? Y : DX]);
}

static void run_d8(bench *b, size_t pass)
{
    run_fixed(b, DROVEK_FACTORS_I8, 8, pass);
}

static void run_d16(bench *b, size_t pass)
{
    run_fixed(b, DROVEK_FACTORS_I16, 16, pass);
}

/* ---- the library alone ---- */

#if DROVEK_ONEDNN

static dnnl_engine_t engine;
static dnnl_stream_t stream;

static void ok(dnnl_status_t status)
{
    if (status != dnnl_success) check(drove__fail(DROVE_E_UNSUPPORTED, "oneDNN: %d", (int)status));
}

typedef struct bare {
    dnnl_primitive_t primitive;
    dnnl_exec_arg_t arg[4];
    int n_args;
} bare;

static void add(bare *p, int name, const dnnl_memory_desc_t *desc)
{
    float *data = values(dnnl_memory_desc_get_size(desc) / sizeof(float) + 16);
    ok(dnnl_memory_create(&p->arg[p->n_args].memory, desc, engine, data));
    p->arg[p->n_args++].arg = name;
}

static void free_bare(bare *p)
{
    for (int i = 0; i < p->n_args; i++) {
        void *data;
        ok(dnnl_memory_get_data_handle(p->arg[i].memory, &data));
        dnnl_memory_destroy(p->arg[i].memory);
        drove__free(data);
    }
    dnnl_primitive_destroy(p->primitive);
    free(p);
}

static bare *make_bare(const bench *b, size_t pass)
{
    const drovek_conv_shape *s = &b->shape;
    dnnl_dim_t n = (dnnl_dim_t)b->n_images, g = (dnnl_dim_t)s->groups, k = (dnnl_dim_t)b->l->k;
    dnnl_dim_t c = (dnnl_dim_t)s->c, o = (dnnl_dim_t)s->o;
    dnnl_dims_t in = {n, c, (dnnl_dim_t)s->h, (dnnl_dim_t)s->w}, bias = {o};
    dnnl_dims_t out = {n, o, (dnnl_dim_t)s->oh, (dnnl_dim_t)s->ow}, w = {g, o / g, c / g, k, k};
    dnnl_dims_t step = {(dnnl_dim_t)b->l->step, (dnnl_dim_t)b->l->step};
    dnnl_dims_t padding = {(dnnl_dim_t)b->l->padding, (dnnl_dim_t)b->l->padding};
    dnnl_dims_t after = {((dnnl_dim_t)s->oh - 1) * step[0] + k - in[2] - padding[0],
                         ((dnnl_dim_t)s->ow - 1) * step[1] + k - in[3] - padding[1]};
    for (int i = 0; i < 2; i++)
        if (after[i] < 0) after[i] = 0;
    dnnl_memory_desc_t x, y, weights, bias_desc;
    const dnnl_format_tag_t any = dnnl_format_tag_any;
    ok(dnnl_memory_desc_init_by_tag(&x, 4, in, dnnl_f32, any));
    ok(dnnl_memory_desc_init_by_tag(&y, 4, out, dnnl_f32, any));
    ok(dnnl_memory_desc_init_by_tag(&weights, g > 1 ? 5 : 4, w + (g == 1), dnnl_f32, any));
    ok(dnnl_memory_desc_init_by_tag(&bias_desc, 1, bias, dnnl_f32, dnnl_x));
    dnnl_convolution_desc_t forward, desc;
    dnnl_primitive_desc_t hint, pd;
    ok(dnnl_convolution_forward_desc_init(&forward, dnnl_forward_training, dnnl_convolution_direct,
                                          &x, &weights, &bias_desc, &y, step, padding, after));
    ok(dnnl_primitive_desc_create(&hint, &forward, NULL, engine, NULL));
    if (pass == 1) {
        ok(dnnl_convolution_backward_data_desc_init(&desc, dnnl_convolution_direct, &x, &weights,
                                                    &y, step, padding, after));
    } else {
        ok(dnnl_convolution_backward_weights_desc_init(&desc, dnnl_convolution_direct, &x, &weights,
                                                       NULL, &y, step, padding, after));
    }
    if (pass == 0) pd = hint;
    else ok(dnnl_primitive_desc_create(&pd, &desc, NULL, engine, hint));
    bare *p = calloc(1, sizeof *p);
    if (p == NULL) check(drove__fail_nomem("benchmark", sizeof *p));
    const dnnl_query_t of_x = pass == 1 ? dnnl_query_diff_src_md : dnnl_query_src_md;
    const dnnl_query_t of_w = pass == 2 ? dnnl_query_diff_weights_md : dnnl_query_weights_md;
    const dnnl_query_t of_y = pass == 0 ? dnnl_query_dst_md : dnnl_query_diff_dst_md;
    add(p, pass == 1 ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, dnnl_primitive_desc_query_md(pd, of_x, 0));
    add(p, pass == 2 ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS,
        dnnl_primitive_desc_query_md(pd, of_w, 0));
    add(p, pass == 0 ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST, dnnl_primitive_desc_query_md(pd, of_y, 0));
    if (pass == 0) add(p, DNNL_ARG_BIAS, &bias_desc);
    ok(dnnl_primitive_create(&p->primitive, pd));
    if (pass != 0) dnnl_primitive_desc_destroy(pd);
    dnnl_primitive_desc_destroy(hint);
    return p;
}

static void run_onednn(bench *b, size_t pass)
{
    bare *p = b->bare[pass];
    ok(dnnl_primitive_execute(p->primitive, stream, p->n_args, p->arg));
    ok(dnnl_stream_wait(stream));
}

/* ---- as Caffe does it ---- */

/* col[c / groups][k][k][oh][ow] of one group of an image [c][h][w]; back: the other way, summed. */
static void columns(const bench *b, float *image, bool is_back)
{
    const drovek_conv_shape *s = &b->shape;
    float *col = b->col;
    for (size_t q = 0; q < s->c / s->groups * b->l->k * b->l->k; q++) {
        size_t kx = q % b->l->k, ky = q / b->l->k % b->l->k;
        float *plane = image + q / (b->l->k * b->l->k) * s->h * s->w;
        for (size_t oy = 0; oy < s->oh; oy++) {
            size_t y = oy * b->l->step + ky - b->l->padding;
            for (size_t ox = 0; ox < s->ow; ox++, col++) {
                size_t x = ox * b->l->step + kx - b->l->padding;
                if (y >= s->h || x >= s->w) {
                    if (!is_back) *col = 0.0f;
                } else if (is_back) {
                    plane[y * s->w + x] += *col;
                } else {
                    *col = plane[y * s->w + x];
                }
            }
        }
    }
}

static void run_caffe(bench *b, size_t pass)
{
    const drovek_conv_shape *s = &b->shape;
    const bool is_direct = b->l->k == 1 && b->l->step == 1;
    const dnnl_dim_t p = (dnnl_dim_t)(s->oh * s->ow), og = (dnnl_dim_t)(s->o / s->groups);
    const dnnl_dim_t k = (dnnl_dim_t)(s->c / s->groups * b->l->k * b->l->k);
    const size_t n_in = s->c * s->h * s->w;
    if (pass == 1 && !is_direct) memset(b->dx, 0, b->n_images * n_in * sizeof(float));
    for (size_t i = 0; i < b->n_images * s->groups; i++) {
        size_t g = i % s->groups, group_in = n_in / s->groups;
        float *w = b->w + g * (size_t)(og * k), *y = b->y + i * (size_t)(og * p);
        float *x = b->x + i * group_in, *dx = b->dx + i * group_in, *dw = b->dw + (w - b->w);
        float *dy = b->dy + (y - b->y);
        if (pass != 1 && !is_direct) columns(b, x, false);
        const float *col = is_direct ? x : b->col;
        if (pass == 0) ok(dnnl_sgemm('N', 'N', og, p, k, 1.0f, w, k, col, p, 0.0f, y, p));
        if (pass == 2)
            ok(dnnl_sgemm('N', 'T', og, k, p, 1.0f, dy, p, col, p, i < s->groups ? 0.0f : 1.0f, dw,
                          k));
        if (pass == 1) {
            ok(dnnl_sgemm('T', 'N', k, p, og, 1.0f, w, k, dy, p, 0.0f, is_direct ? dx : b->col, p));
            if (!is_direct) columns(b, dx, true);
        }
    }
}

static void make_all_bare(bench *b)
{
    for (size_t pass = 0; pass < N_PASSES; pass++) b->bare[pass] = make_bare(b, pass);
}

static void free_all_bare(bench *b)
{
    for (size_t pass = 0; pass < N_PASSES; pass++) free_bare(b->bare[pass]);
}

static void start_library(void)
{
    ok(dnnl_engine_create(&engine, dnnl_cpu, 0));
    ok(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags));
}

#else

static void run_onednn(bench *b, size_t pass)
{
    (void)b, (void)pass;
}
static void run_caffe(bench *b, size_t pass)
{
    (void)b, (void)pass;
}
static void make_all_bare(bench *b)
{
    (void)b;
}
static void free_all_bare(bench *b)
{
    (void)b;
}
static void start_library(void)
{
    check(drove__fail(DROVE_E_UNSUPPORTED, "this build has no oneDNN to compare with"));
}

#endif

/* ---- comparing ---- */

typedef struct variant {
    const char *name;
    void (*run)(bench *b, size_t pass);
    double best_ns[N_PASSES], all_ns;
} variant;

static void make_layer(bench *b, size_t batch)
{
    const layer *l = b->l;
    size_t out = (l->h + 2 * l->padding - l->k) / l->step + 1;
    b->shape = (drovek_conv_shape){
        l->c, l->h, l->h,      l->o,
        out,  out,  l->groups, {l->k, l->k, l->step, l->step, l->padding, l->padding, 1, 1}};
    b->n_images = batch > 0 ? batch : l->batch;
    size_t n_w = l->c / l->groups * l->k * l->k * l->o;
    size_t n_in = b->n_images * l->c * l->h * l->h, n_out = b->n_images * l->o * out * out;
    b->x = values(n_in);
    b->dx = values(n_in);
    b->y = values(n_out);
    b->dy = values(n_out);
    b->w = values(n_w);
    b->dw = values(n_w);
    b->b = values(l->o);
    b->col = values(l->c / l->groups * l->k * l->k * out * out);
    for (unsigned bits = 8; bits <= 16; bits += 8) {
        make_array(b, bits, X, b->x, n_in);
        make_array(b, bits, Y, b->y, n_out);
        make_array(b, bits, W, b->w, n_w);
        make_array(b, bits, DX, b->dx, n_in);
        make_array(b, bits, DY, b->dy, n_out);
    }
    for (unsigned f = 0; f < N_FACTORS; f++) make_drove(b, (drovek_factors)f);
    make_all_bare(b);
}

static void free_layer(bench *b)
{
    float *all[] = {b->x, b->dx, b->y, b->dy, b->w, b->dw, b->b, b->col};
    for (size_t i = 0; i < DROVE_COUNT(all); i++) drove__free(all[i]);
    for (size_t i = 0; i < 2 * (size_t)N_ARRAYS; i++) {
        drove__free(b->planes[i / N_ARRAYS][i % N_ARRAYS].high);
        drove__free(b->planes[i / N_ARRAYS][i % N_ARRAYS].low);
    }
    free_all_bare(b);
    for (unsigned f = 0; f < N_FACTORS; f++) drovek_conv_destroy(b->conv[f]);
}

static void measure(bench *b, variant *v, size_t pass)
{
    uint64_t start = drove__thread_ns(), ns = 0;
    size_t n = 0;
    for (; n == 0 || ns < LEAST_NS; n++, ns = drove__thread_ns() - start) v->run(b, pass);
    if ((double)ns / (double)n < v->best_ns[pass]) v->best_ns[pass] = (double)ns / (double)n;
}

static double compare(bench *b, unsigned n_rounds)
{
    variant v[] = {{.name = "drove", .run = run_drove}, {.name = "onednn", .run = run_onednn},
                   {.name = "caffe", .run = run_caffe}, {.name = "bf16", .run = run_bf16},
                   {.name = "D8", .run = run_d8},       {.name = "D16", .run = run_d16}};
    const drovek_conv_shape *s = &b->shape;
    double operations = 2e0 * (double)(b->n_images * s->oh * s->ow * s->o) *
                        (double)(s->c / s->groups * b->l->k * b->l->k);
    for (size_t i = 0; i < DROVE_COUNT(v); i++)
        for (size_t pass = 0; pass < N_PASSES; pass++) v[i].best_ns[pass] = 1e18;
    for (unsigned round = 0; round < n_rounds; round++) {
        for (size_t pass = 0; pass < N_PASSES; pass++) {
            for (size_t i = 0; has_pass(b, pass) && i < DROVE_COUNT(v); i++)
                measure(b, &v[i], pass);
        }
    }
    printf("{\"bench\":\"conv\",\"net\":\"%s\",\"layer\":\"%s\",\"batch\":%zu,\"way\":\"%s\"",
           b->l->net, b->l->name, b->n_images, drovek_conv_way(b->conv[0]));
    printf(",\"formats\":\"%d %d\"", (int)b->choice[0].in, (int)b->choice[0].out);
    printf(",\"D8_way\":\"%s\",\"D16_way\":\"%s\"", drovek_conv_way(b->conv[DROVEK_FACTORS_I8]),
           drovek_conv_way(b->conv[DROVEK_FACTORS_I16]));
    for (size_t i = 0; i < DROVE_COUNT(v); i++) {
        for (size_t pass = 0; pass < N_PASSES; pass++) {
            if (!has_pass(b, pass)) continue;
            v[i].all_ns += v[i].best_ns[pass];
            printf(",\"%s_%s_gflops\":%.1f", v[i].name, pass_names[pass],
                   operations / v[i].best_ns[pass]);
        }
    }
    double fastest = v[1].all_ns < v[2].all_ns ? v[1].all_ns : v[2].all_ns;
    for (size_t i = 3; i < DROVE_COUNT(v); i++)
        printf(",\"gain_%s\":%.3f", v[i].name, v[0].all_ns / v[i].all_ns);
    printf(",\"ratio\":%.3f,\"rounds\":%u,\"isa\":\"%s\",\"library\":\"%s\",\"cpu\":\"%s\"}\n",
           fastest / v[0].all_ns, n_rounds, b->kernels[0].isa, b->kernels[0].gemm_source,
           drove__cpu_model());
    fflush(stdout);
    return fastest / v[0].all_ns;
}

typedef struct score {
    const char *net;
    double least, sum;
    size_t n;
} score;

static void add_score(score *all, const char *net, double ratio)
{
    while (all->net != NULL && strcmp(all->net, net) != 0) all++;
    if (all->net == NULL) *all = (score){.net = net, .least = ratio};
    if (ratio < all->least) all->least = ratio;
    all->sum += ratio;
    all->n++;
}

int main(int argc, char **argv)
{
    static bench b;
    score scores[MAX_NETS] = {0};
    const char *isa = NULL, *net = NULL;
    unsigned n_rounds = 5;
    size_t batch = 0;
    for (int i = 1; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--isa") == 0) isa = value;
        else if (strcmp(argv[i], "--rounds") == 0) n_rounds = (unsigned)strtoul(value, NULL, 10);
        else if (strcmp(argv[i], "--net") == 0) net = value;
        else if (strcmp(argv[i], "--batch") == 0) batch = strtoul(value, NULL, 10);
        else check(drove__fail(DROVE_E_ARG, "unknown option %s", argv[i]));
    }
    drove_topo *topo;
    drove_place place;
    check(drove__topo_create(NULL, &topo));
    drove__topo_place(topo, DROVE_BIND_COMPACT, 1, &place);
    check(drove__topo_bind_self(topo, &place));
    drovek_thread_init();
    drove_rounding rounding;
    check(drovek_select(&b.kernels[0], drove__cpu_features(), isa));
    for (unsigned f = 1; f < N_FACTORS; f++)
        b.kernels[f] = drovek_narrow(&b.kernels[0], (drovek_factors)f);
    check(drove__rounding_parse("xorshift", &rounding));
    check(drove__rounder_init(&b.rounder, &rounding,
                              drovek_blocks(DROVE_F32, DROVE_I16, false, DROVE_FIXED_STRETCH)));
    drove__rounder_seed(&b.rounder, 1, 0);
    start_library();
    for (size_t i = 0; i < DROVE_COUNT(layers); i++) {
        if (net != NULL && strcmp(net, layers[i].net) != 0) continue;
        b.l = &layers[i];
        make_layer(&b, batch);
        add_score(scores, b.l->net, compare(&b, n_rounds));
        free_layer(&b);
    }
    for (const score *s = scores; s->net != NULL; s++) {
        printf("{\"bench\":\"conv\",\"net\":\"%s\",\"layers\":%zu,\"least_ratio\":%.3f,"
               "\"mean_ratio\":%.3f}\n",
               s->net, s->n, s->least, s->sum / (double)s->n);
    }
    drove__rounder_fini(&b.rounder);
    drove__topo_destroy(topo);
    return 0;
}
