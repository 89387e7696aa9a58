/* bench/micro/onednn_net.c - a training step of a network by oneDNN alone: forward and backward, in
 * the formats that its primitives ask for ("any"), or all in nhwc; one thread.
 *
 * It is what drove's steps of convolutional networks are measured against, so doubts go to the
 * library: weights lie in the layout that each primitive likes best and are never reordered, there
 * is no loss, no dropout and no update, batch normalisation and ReLU are one primitive, and ReLU is
 * part of a convolution before it.  Images are reordered where two primitives disagree.
 *
 * usage: bench_onednn_net [--net lenet|alexnet|alexnet-cifar|resnet18] [--batch N] [--side N]
 *                         [--format any|nhwc]
 *                         [--rounds N] [--calls yes]
 * Output: one JSON object; step_s is the median of the rounds, conv_s the share of convolutions in
 * it.  --calls: first the seconds of each primitive.
 */
#include "base/clock.h"
#include "base/cpu.h"
#include "base/mem.h"
#include "base/topo.h"
#include "kernel/tiers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if DROVEK_ONEDNN
#include <dnnl.h>

enum { MAX_OPS = 128, MAX_CALLS = 1024, MAX_ARGS = 8, MAX_ROUNDS = 100 };

typedef struct tensor {
    dnnl_memory_desc_t md;
    float *data; /* NULL: no such tensor */
} tensor;

typedef struct blob {
    tensor x, dx;
} blob;

typedef struct call {
    char name[32];
    dnnl_primitive_t primitive;
    dnnl_exec_arg_t arg[MAX_ARGS];
    int n_args;
    double best_s;
} call;

typedef enum op_kind { CONV, DENSE, NORM, POOL, LRN, ADD } op_kind;

typedef struct op {
    op_kind kind;
    int in, other, out; /* blobs; other: of ADD */
    size_t o, k, step, padding, groups;
    bool relu, bias, is_max, rounds_up;
    dnnl_primitive_desc_t forward;
    tensor x, w, b, workspace, mean, variance; /* x: as the primitive reads it */
} op;

typedef struct net {
    op op[MAX_OPS];
    int n_ops, n_blobs;
    blob blob[MAX_OPS + 1];
    call call[MAX_CALLS];
    int n_calls;
    struct {
        float *data;
        size_t size;
        bool is_free;
    } spare[MAX_OPS]; /* memory of derivatives, which later ones use again */
    int n_spare;
    size_t batch;
} net;

static dnnl_engine_t engine;
static dnnl_stream_t stream;
static dnnl_format_tag_t images = dnnl_format_tag_any; /* what convolutions ask for */

static void check(drove_status status)
{
    if (status == DROVE_OK) return;
    fprintf(stderr, "bench_onednn_net: %s\n", drove_error_text());
    exit(2);
}

#define OK(call_)                                                                                  \
    do {                                                                                           \
        dnnl_status_t status_ = (call_);                                                           \
        if (status_ != dnnl_success)                                                               \
            check(drove__fail(DROVE_E_UNSUPPORTED, "line %d: oneDNN: %d", __LINE__, status_));     \
    } while (0)

/* ---- memory ---- */

static float *values(size_t n)
{
    float *x = drove__alloc(n + 16, sizeof *x);
    if (x == NULL) check(drove__fail_nomem("benchmark", n * sizeof *x));
    for (size_t i = 0; i < n; i++) x[i] = 0.01f * (float)((int)(i * 7919 % 13) - 6) + 0.001f;
    return x;
}

static tensor make(const dnnl_memory_desc_t *md)
{
    return (tensor){*md, values(dnnl_memory_desc_get_size(md) / sizeof(float) + 1)};
}

/* A derivative: lives until give_back. */
static tensor borrow(net *n, const dnnl_memory_desc_t *md)
{
    size_t size = dnnl_memory_desc_get_size(md);
    int best = -1;
    for (int i = 0; i < n->n_spare; i++) {
        if (!n->spare[i].is_free || n->spare[i].size < size) continue;
        if (best < 0 || n->spare[i].size < n->spare[best].size) best = i;
    }
    if (best < 0) {
        best = n->n_spare++;
        n->spare[best].data = values(size / sizeof(float) + 1);
        n->spare[best].size = size;
    }
    n->spare[best].is_free = false;
    return (tensor){*md, n->spare[best].data};
}

static void give_back(net *n, const tensor *t)
{
    for (int i = 0; i < n->n_spare; i++)
        if (n->spare[i].data == t->data) n->spare[i].is_free = true;
}

static dnnl_memory_desc_t describe(int rank, const dnnl_dim_t *dims, dnnl_format_tag_t tag)
{
    dnnl_memory_desc_t md;
    dnnl_dims_t all = {0};
    memcpy(all, dims, (size_t)rank * sizeof *dims);
    OK(dnnl_memory_desc_init_by_tag(&md, rank, all, dnnl_f32, tag));
    return md;
}

static const dnnl_memory_desc_t *ask(dnnl_primitive_desc_t pd, dnnl_query_t what)
{
    return dnnl_primitive_desc_query_md(pd, what, 0);
}

/* ---- calls ---- */

static call *add_call(net *n, const char *name, dnnl_primitive_desc_t pd)
{
    const char *kind = "";
    call *c = &n->call[n->n_calls++];
    if (n->n_calls == MAX_CALLS) check(drove__fail(DROVE_E_ARG, "too many calls"));
    OK(dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &kind));
    snprintf(c->name, sizeof c->name, "%s %s", name, kind);
    OK(dnnl_primitive_create(&c->primitive, pd));
    c->best_s = 1e9;
    return c;
}

static void take(call *c, int name, const tensor *t)
{
    OK(dnnl_memory_create(&c->arg[c->n_args].memory, &t->md, engine, t->data));
    c->arg[c->n_args++].arg = name;
}

/* t, or a copy of it in another layout. */
static tensor reordered(net *n, const tensor *t, const dnnl_memory_desc_t *want)
{
    dnnl_primitive_desc_t pd;
    if (dnnl_memory_desc_equal(&t->md, want)) return *t;
    tensor copy = make(want);
    OK(dnnl_reorder_primitive_desc_create(&pd, &t->md, engine, want, engine, NULL));
    call *c = add_call(n, "reorder", pd);
    take(c, DNNL_ARG_FROM, t);
    take(c, DNNL_ARG_TO, &copy);
    return copy;
}

static void relu_back(net *n, const tensor *y, tensor *dy)
{
    dnnl_eltwise_desc_t forward, desc;
    dnnl_primitive_desc_t hint, pd;
    tensor d = reordered(n, dy, &y->md);
    OK(dnnl_eltwise_forward_desc_init(&forward, dnnl_forward_training,
                                      dnnl_eltwise_relu_use_dst_for_bwd, &y->md, 0.0f, 0.0f));
    OK(dnnl_primitive_desc_create(&hint, &forward, NULL, engine, NULL));
    OK(dnnl_eltwise_backward_desc_init(&desc, dnnl_eltwise_relu_use_dst_for_bwd, &y->md, &y->md,
                                       0.0f, 0.0f));
    OK(dnnl_primitive_desc_create(&pd, &desc, NULL, engine, hint));
    call *c = add_call(n, "relu_back", pd);
    take(c, DNNL_ARG_DST, y);
    take(c, DNNL_ARG_DIFF_DST, &d);
    take(c, DNNL_ARG_DIFF_SRC, &d);
    *dy = d;
}

static dnnl_primitive_attr_t with_relu(bool relu)
{
    dnnl_primitive_attr_t attr = NULL;
    dnnl_post_ops_t ops;
    if (!relu) return NULL;
    OK(dnnl_primitive_attr_create(&attr));
    OK(dnnl_post_ops_create(&ops));
    OK(dnnl_post_ops_append_eltwise(ops, 1.0f, dnnl_eltwise_relu, 0.0f, 0.0f));
    OK(dnnl_primitive_attr_set_post_ops(attr, ops));
    return attr;
}

static void binary(net *n, const char *name, const tensor *a, const tensor *b, const tensor *to,
                   bool relu)
{
    dnnl_binary_desc_t desc;
    dnnl_primitive_desc_t pd;
    OK(dnnl_binary_desc_init(&desc, dnnl_binary_add, &a->md, &b->md, &to->md));
    OK(dnnl_primitive_desc_create(&pd, &desc, with_relu(relu), engine, NULL));
    call *c = add_call(n, name, pd);
    take(c, DNNL_ARG_SRC_0, a);
    take(c, DNNL_ARG_SRC_1, b);
    take(c, DNNL_ARG_DST, to);
}

/* A derivative of blob b has been computed. */
static void add_derivative(net *n, int b, tensor d)
{
    tensor *dx = &n->blob[b].dx;
    if (dx->data == NULL) {
        *dx = d;
        return;
    }
    d = reordered(n, &d, &dx->md);
    binary(n, "sum_back", dx, &d, dx, false);
    give_back(n, &d);
}

/* ---- forward ---- */

static size_t places(const op *o, dnnl_dim_t side)
{
    return ((size_t)side + 2 * o->padding - o->k + (o->rounds_up ? o->step - 1 : 0)) / o->step + 1;
}

typedef struct window {
    dnnl_dims_t step, size, before, after;
} window;

static window window_of(const op *o, const dnnl_memory_desc_t *in, const dnnl_memory_desc_t *out)
{
    window w;
    for (int i = 0; i < 2; i++) {
        w.step[i] = (dnnl_dim_t)o->step;
        w.size[i] = (dnnl_dim_t)o->k;
        w.before[i] = (dnnl_dim_t)o->padding;
        w.after[i] = (out->dims[2 + i] - 1) * w.step[i] + w.size[i] - in->dims[2 + i] - w.before[i];
        if (w.after[i] < 0) w.after[i] = 0;
    }
    return w;
}

/* Descriptions of a convolution's tensors, in formats of its own choice. */
typedef struct parts {
    dnnl_memory_desc_t x, w, b, y;
} parts;

static parts parts_of(const net *n, const op *o)
{
    const dnnl_memory_desc_t *in = &n->blob[o->in].x.md, *out = &n->blob[o->out].x.md;
    const dnnl_dim_t g = (dnnl_dim_t)o->groups;
    const dnnl_dims_t b = {out->dims[1]};
    parts p;
    p.b = describe(1, b, dnnl_x);
    if (o->kind == DENSE) {
        dnnl_dims_t w = {out->dims[1], in->dims[1], in->ndims > 2 ? in->dims[2] : 1,
                         in->ndims > 2 ? in->dims[3] : 1};
        p.x = describe(in->ndims, in->dims, dnnl_format_tag_any);
        p.w = describe(in->ndims, w, dnnl_format_tag_any);
        p.y = describe(2, out->dims, dnnl_format_tag_any);
        return p;
    }
    const dnnl_dims_t w = {g, out->dims[1] / g, in->dims[1] / g, (dnnl_dim_t)o->k,
                           (dnnl_dim_t)o->k};
    p.x = o->in == 0 && images != dnnl_nhwc ? describe(4, in->dims, dnnl_format_tag_any)
                                            : describe(4, in->dims, images);
    p.w = g > 1 ? describe(5, w, dnnl_format_tag_any) : describe(4, w + 1, dnnl_format_tag_any);
    p.y = describe(4, out->dims, images);
    return p;
}

static void forward_product(net *n, op *o)
{
    const parts p = parts_of(n, o);
    tensor *y = &n->blob[o->out].x;
    if (o->kind == CONV) {
        dnnl_convolution_desc_t desc;
        const window w = window_of(o, &p.x, &p.y);
        OK(dnnl_convolution_forward_desc_init(&desc, dnnl_forward_training, dnnl_convolution_direct,
                                              &p.x, &p.w, o->bias ? &p.b : NULL, &p.y, w.step,
                                              w.before, w.after));
        OK(dnnl_primitive_desc_create(&o->forward, &desc, with_relu(o->relu), engine, NULL));
    } else {
        dnnl_inner_product_desc_t desc;
        OK(dnnl_inner_product_forward_desc_init(&desc, dnnl_forward_training, &p.x, &p.w, &p.b,
                                                &p.y));
        OK(dnnl_primitive_desc_create(&o->forward, &desc, with_relu(o->relu), engine, NULL));
    }
    o->x = reordered(n, &n->blob[o->in].x, ask(o->forward, dnnl_query_src_md));
    o->w = make(ask(o->forward, dnnl_query_weights_md));
    o->b = make(&p.b);
    *y = make(ask(o->forward, dnnl_query_dst_md));
    call *c = add_call(n, o->kind == CONV ? "conv" : "dense", o->forward);
    take(c, DNNL_ARG_SRC, &o->x);
    take(c, DNNL_ARG_WEIGHTS, &o->w);
    if (o->bias) take(c, DNNL_ARG_BIAS, &o->b);
    take(c, DNNL_ARG_DST, y);
}

static unsigned norm_flags(const op *o)
{
    return (unsigned)dnnl_use_scaleshift | (o->relu ? (unsigned)dnnl_fuse_norm_relu : 0);
}

static void forward_norm(net *n, op *o)
{
    dnnl_batch_normalization_desc_t desc;
    o->x = n->blob[o->in].x;
    OK(dnnl_batch_normalization_forward_desc_init(&desc, dnnl_forward_training, &o->x.md, 1e-5f,
                                                  norm_flags(o)));
    OK(dnnl_primitive_desc_create(&o->forward, &desc, NULL, engine, NULL));
    const dnnl_dims_t c2 = {2, o->x.md.dims[1]};
    const dnnl_memory_desc_t scale = describe(2, c2, dnnl_nc);
    const dnnl_memory_desc_t column = describe(1, c2 + 1, dnnl_x);
    o->w = make(&scale);
    o->mean = make(&column);
    o->variance = make(&column);
    if (o->relu) o->workspace = make(ask(o->forward, dnnl_query_workspace_md));
    tensor *y = &n->blob[o->out].x;
    *y = make(&o->x.md);
    call *c = add_call(n, "norm", o->forward);
    take(c, DNNL_ARG_SRC, &o->x);
    take(c, DNNL_ARG_SCALE_SHIFT, &o->w);
    take(c, DNNL_ARG_MEAN, &o->mean);
    take(c, DNNL_ARG_VARIANCE, &o->variance);
    if (o->relu) take(c, DNNL_ARG_WORKSPACE, &o->workspace);
    take(c, DNNL_ARG_DST, y);
}

static dnnl_alg_kind_t pooling(const op *o)
{
    return o->is_max ? dnnl_pooling_max : dnnl_pooling_avg_exclude_padding;
}

static void forward_pool(net *n, op *o)
{
    dnnl_pooling_desc_t desc;
    tensor *y = &n->blob[o->out].x;
    o->x = n->blob[o->in].x;
    const window w = window_of(o, &o->x.md, &y->md);
    const dnnl_memory_desc_t out = describe(4, y->md.dims, dnnl_format_tag_any);
    OK(dnnl_pooling_forward_desc_init(&desc, dnnl_forward_training, pooling(o), &o->x.md, &out,
                                      w.step, w.size, w.before, w.after));
    OK(dnnl_primitive_desc_create(&o->forward, &desc, NULL, engine, NULL));
    *y = make(ask(o->forward, dnnl_query_dst_md));
    if (o->is_max) o->workspace = make(ask(o->forward, dnnl_query_workspace_md));
    call *c = add_call(n, "pool", o->forward);
    take(c, DNNL_ARG_SRC, &o->x);
    take(c, DNNL_ARG_DST, y);
    if (o->is_max) take(c, DNNL_ARG_WORKSPACE, &o->workspace);
}

static void forward_lrn(net *n, op *o)
{
    dnnl_lrn_desc_t desc;
    o->x = n->blob[o->in].x;
    OK(dnnl_lrn_forward_desc_init(&desc, dnnl_forward_training, dnnl_lrn_across_channels, &o->x.md,
                                  5, 1e-4f, 0.75f, 1.0f));
    OK(dnnl_primitive_desc_create(&o->forward, &desc, NULL, engine, NULL));
    const dnnl_memory_desc_t *space = ask(o->forward, dnnl_query_workspace_md);
    if (space != NULL && space->ndims > 0) o->workspace = make(space);
    tensor *y = &n->blob[o->out].x;
    *y = make(&o->x.md);
    call *c = add_call(n, "lrn", o->forward);
    take(c, DNNL_ARG_SRC, &o->x);
    take(c, DNNL_ARG_DST, y);
    if (o->workspace.data != NULL) take(c, DNNL_ARG_WORKSPACE, &o->workspace);
}

static void forward(net *n, op *o)
{
    tensor *a = &n->blob[o->in].x;
    switch (o->kind) {
    case CONV:
    case DENSE: forward_product(n, o); break;
    case NORM: forward_norm(n, o); break;
    case POOL: forward_pool(n, o); break;
    case LRN: forward_lrn(n, o); break;
    case ADD: {
        tensor b = reordered(n, &n->blob[o->other].x, &a->md);
        n->blob[o->out].x = make(&a->md);
        binary(n, "add", a, &b, &n->blob[o->out].x, o->relu);
        break;
    }
    }
}

/* ---- backward ---- */

static void backward_product(net *n, op *o, tensor dy)
{
    const bool is_conv = o->kind == CONV;
    const parts p = parts_of(n, o);
    const window w = is_conv ? window_of(o, &p.x, &p.y) : (window){0};
    dnnl_convolution_desc_t conv;
    dnnl_inner_product_desc_t dense;
    const_dnnl_op_desc_t desc = is_conv ? (const_dnnl_op_desc_t)&conv : &dense;
    dnnl_primitive_desc_t pd;
    if (o->relu) relu_back(n, &n->blob[o->out].x, &dy);
    if (o->in != 0) {
        if (is_conv)
            OK(dnnl_convolution_backward_data_desc_init(&conv, dnnl_convolution_direct, &p.x, &p.w,
                                                        &p.y, w.step, w.before, w.after));
        else OK(dnnl_inner_product_backward_data_desc_init(&dense, &p.x, &p.w, &p.y));
        OK(dnnl_primitive_desc_create(&pd, desc, NULL, engine, o->forward));
        tensor d = reordered(n, &dy, ask(pd, dnnl_query_diff_dst_md));
        tensor weights = make(ask(pd, dnnl_query_weights_md));
        tensor dx = borrow(n, ask(pd, dnnl_query_diff_src_md));
        call *c = add_call(n, is_conv ? "conv_data" : "dense_data", pd);
        take(c, DNNL_ARG_DIFF_DST, &d);
        take(c, DNNL_ARG_WEIGHTS, &weights);
        take(c, DNNL_ARG_DIFF_SRC, &dx);
        add_derivative(n, o->in, dx);
    }
    if (is_conv)
        OK(dnnl_convolution_backward_weights_desc_init(&conv, dnnl_convolution_direct, &p.x, &p.w,
                                                       o->bias ? &p.b : NULL, &p.y, w.step,
                                                       w.before, w.after));
    else OK(dnnl_inner_product_backward_weights_desc_init(&dense, &p.x, &p.w, &p.b, &p.y));
    OK(dnnl_primitive_desc_create(&pd, desc, NULL, engine, o->forward));
    tensor d = reordered(n, &dy, ask(pd, dnnl_query_diff_dst_md));
    tensor x = reordered(n, &o->x, ask(pd, dnnl_query_src_md));
    tensor dw = make(ask(pd, dnnl_query_diff_weights_md)), db = make(&p.b);
    call *c = add_call(n, is_conv ? "conv_weights" : "dense_weights", pd);
    take(c, DNNL_ARG_SRC, &x);
    take(c, DNNL_ARG_DIFF_DST, &d);
    take(c, DNNL_ARG_DIFF_WEIGHTS, &dw);
    if (o->bias) take(c, DNNL_ARG_DIFF_BIAS, &db);
    give_back(n, &dy);
}

static void backward_norm(net *n, op *o, tensor dy)
{
    dnnl_batch_normalization_desc_t desc;
    dnnl_primitive_desc_t pd;
    tensor d = reordered(n, &dy, &o->x.md), dx = borrow(n, &o->x.md), dw = make(&o->w.md);
    OK(dnnl_batch_normalization_backward_desc_init(&desc, dnnl_backward, &o->x.md, &o->x.md, 1e-5f,
                                                   norm_flags(o)));
    OK(dnnl_primitive_desc_create(&pd, &desc, NULL, engine, o->forward));
    call *c = add_call(n, "norm_back", pd);
    take(c, DNNL_ARG_SRC, &o->x);
    take(c, DNNL_ARG_MEAN, &o->mean);
    take(c, DNNL_ARG_VARIANCE, &o->variance);
    take(c, DNNL_ARG_SCALE_SHIFT, &o->w);
    take(c, DNNL_ARG_DIFF_DST, &d);
    if (o->relu) take(c, DNNL_ARG_WORKSPACE, &o->workspace);
    take(c, DNNL_ARG_DIFF_SRC, &dx);
    take(c, DNNL_ARG_DIFF_SCALE_SHIFT, &dw);
    give_back(n, &dy);
    add_derivative(n, o->in, dx);
}

static void backward_pool(net *n, op *o, tensor dy)
{
    const tensor *y = &n->blob[o->out].x;
    const window w = window_of(o, &o->x.md, &y->md);
    dnnl_pooling_desc_t desc;
    dnnl_primitive_desc_t pd;
    tensor d = reordered(n, &dy, &y->md), dx = borrow(n, &o->x.md);
    OK(dnnl_pooling_backward_desc_init(&desc, pooling(o), &o->x.md, &y->md, w.step, w.size,
                                       w.before, w.after));
    OK(dnnl_primitive_desc_create(&pd, &desc, NULL, engine, o->forward));
    call *c = add_call(n, "pool_back", pd);
    take(c, DNNL_ARG_DIFF_DST, &d);
    if (o->is_max) take(c, DNNL_ARG_WORKSPACE, &o->workspace);
    take(c, DNNL_ARG_DIFF_SRC, &dx);
    give_back(n, &dy);
    add_derivative(n, o->in, dx);
}

static void backward_lrn(net *n, op *o, tensor dy)
{
    dnnl_lrn_desc_t desc;
    dnnl_primitive_desc_t pd;
    tensor d = reordered(n, &dy, &o->x.md), dx = borrow(n, &o->x.md);
    OK(dnnl_lrn_backward_desc_init(&desc, dnnl_lrn_across_channels, &o->x.md, &o->x.md, 5, 1e-4f,
                                   0.75f, 1.0f));
    OK(dnnl_primitive_desc_create(&pd, &desc, NULL, engine, o->forward));
    call *c = add_call(n, "lrn_back", pd);
    take(c, DNNL_ARG_SRC, &o->x);
    take(c, DNNL_ARG_DIFF_DST, &d);
    if (o->workspace.data != NULL) take(c, DNNL_ARG_WORKSPACE, &o->workspace);
    take(c, DNNL_ARG_DIFF_SRC, &dx);
    give_back(n, &dy);
    add_derivative(n, o->in, dx);
}

static void backward(net *n, op *o)
{
    tensor dy = n->blob[o->out].dx;
    if (dy.data == NULL) dy = n->blob[o->out].dx = borrow(n, &n->blob[o->out].x.md);
    switch (o->kind) {
    case CONV:
    case DENSE: backward_product(n, o, dy); break;
    case NORM: backward_norm(n, o, dy); break;
    case POOL: backward_pool(n, o, dy); break;
    case LRN: backward_lrn(n, o, dy); break;
    case ADD: /* both get the same memory: the first reader of it is the branch that ends here */
        if (o->relu) relu_back(n, &n->blob[o->out].x, &dy);
        add_derivative(n, o->in, dy);
        add_derivative(n, o->other, dy);
        break;
    }
}

/* ---- networks ---- */

static int add_op(net *n, op o, int rank)
{
    const dnnl_memory_desc_t *in = &n->blob[o.in].x.md;
    dnnl_dims_t dims = {in->dims[0], o.o > 0 ? (dnnl_dim_t)o.o : in->dims[1], 1, 1};
    if (rank == 4) {
        dims[2] = o.k > 0 ? (dnnl_dim_t)places(&o, in->dims[2]) : in->dims[2];
        dims[3] = o.k > 0 ? (dnnl_dim_t)places(&o, in->dims[3]) : in->dims[3];
    }
    o.out = n->n_blobs++;
    n->blob[o.out].x.md = describe(rank, dims, rank == 4 ? dnnl_nchw : dnnl_nc);
    n->op[n->n_ops++] = o;
    return o.out;
}

static int conv(net *n, int in, size_t o, size_t k, size_t step, size_t padding, size_t groups,
                bool relu, bool bias)
{
    return add_op(n,
                  (op){.kind = CONV,
                       .in = in,
                       .o = o,
                       .k = k,
                       .step = step,
                       .padding = padding,
                       .groups = groups,
                       .relu = relu,
                       .bias = bias},
                  4);
}

static int pool(net *n, int in, size_t k, size_t step, size_t padding, bool is_max)
{
    return add_op(
        n, (op){.kind = POOL, .in = in, .k = k, .step = step, .padding = padding, .is_max = is_max},
        4);
}

/* As Caffe does: the last window may reach over the edge. */
static int caffe_pool(net *n, int in, size_t k)
{
    return add_op(
        n, (op){.kind = POOL, .in = in, .k = k, .step = 2, .is_max = true, .rounds_up = true}, 4);
}

static int lrn(net *n, int in)
{
    return add_op(n, (op){.kind = LRN, .in = in}, 4);
}

static int dense(net *n, int in, size_t o, bool relu)
{
    return add_op(n, (op){.kind = DENSE, .in = in, .o = o, .relu = relu, .bias = true}, 2);
}

static int norm(net *n, int in, bool relu)
{
    return add_op(n, (op){.kind = NORM, .in = in, .relu = relu}, 4);
}

static void lenet(net *n)
{
    int x = caffe_pool(n, conv(n, 0, 20, 5, 1, 0, 1, false, true), 2);
    x = caffe_pool(n, conv(n, x, 50, 5, 1, 0, 1, false, true), 2);
    dense(n, dense(n, x, 500, true), 10, false);
}

static void alexnet_from(net *n, int x, size_t n_classes)
{
    x = caffe_pool(n, lrn(n, x), 3);
    x = caffe_pool(n, lrn(n, conv(n, x, 256, 5, 1, 2, 2, true, true)), 3);
    x = conv(n, x, 384, 3, 1, 1, 1, true, true);
    x = conv(n, x, 384, 3, 1, 1, 2, true, true);
    x = caffe_pool(n, conv(n, x, 256, 3, 1, 1, 2, true, true), 3);
    dense(n, dense(n, dense(n, x, 4096, true), 4096, true), n_classes, false);
}

static void alexnet(net *n)
{
    alexnet_from(n, conv(n, 0, 96, 11, 4, 0, 1, true, true), 1000);
}

static void alexnet_cifar(net *n)
{
    alexnet_from(n, conv(n, 0, 96, 5, 1, 2, 1, true, true), 10);
}

static int basic_block(net *n, int x, size_t o, size_t step)
{
    int way = norm(n, conv(n, x, o, 3, step, 1, 1, false, false), true);
    way = norm(n, conv(n, way, o, 3, 1, 1, 1, false, false), false);
    if (step > 1) x = norm(n, conv(n, x, o, 1, step, 0, 1, false, false), false);
    return add_op(n, (op){.kind = ADD, .in = way, .other = x, .relu = true}, 4);
}

static void resnet18(net *n)
{
    int x = norm(n, conv(n, 0, 64, 7, 2, 3, 1, false, false), true);
    x = pool(n, x, 3, 2, 1, true);
    for (size_t stage = 0; stage < 4; stage++) {
        x = basic_block(n, x, (size_t)64 << stage, stage > 0 ? 2 : 1);
        x = basic_block(n, x, (size_t)64 << stage, 1);
    }
    x = pool(n, x, (size_t)n->blob[x].x.md.dims[2], 1, 0, false);
    dense(n, x, 10, false);
}

static const struct {
    const char *name;
    void (*build)(net *n);
    dnnl_dim_t batch, c, side;
} nets[] = {{"lenet", lenet, 64, 1, 28},
            {"alexnet", alexnet, 32, 3, 227},
            {"alexnet-cifar", alexnet_cifar, 32, 3, 32},
            {"resnet18", resnet18, 32, 3, 64}};

/* ---- measuring ---- */

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
    static net n;
    static double step_s[MAX_ROUNDS], conv_s[MAX_ROUNDS];
    const char *name = "lenet", *format = "any";
    size_t which = 0, rounds = 5;
    dnnl_dim_t batch = 0, side = 0;
    bool shows_calls = false;
    for (int i = 1; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--net") == 0) name = value;
        else if (strcmp(argv[i], "--batch") == 0) batch = strtol(value, NULL, 10);
        else if (strcmp(argv[i], "--side") == 0) side = strtol(value, NULL, 10);
        else if (strcmp(argv[i], "--rounds") == 0) rounds = strtoul(value, NULL, 10);
        else if (strcmp(argv[i], "--format") == 0) format = value;
        else if (strcmp(argv[i], "--calls") == 0) shows_calls = true;
        else check(drove__fail(DROVE_E_ARG, "unknown option %s", argv[i]));
    }
    while (which < DROVE_COUNT(nets) && strcmp(nets[which].name, name) != 0) which++;
    if (which == DROVE_COUNT(nets) || rounds < 1 || rounds > MAX_ROUNDS)
        check(drove__fail(DROVE_E_ARG, "unknown network %s, or rounds above %d", name, MAX_ROUNDS));
    if (strcmp(format, "nhwc") == 0) images = dnnl_nhwc;
    drove_topo *topo;
    drove_place place;
    check(drove__topo_create(NULL, &topo));
    drove__topo_place(topo, DROVE_BIND_COMPACT, 1, &place);
    check(drove__topo_bind_self(topo, &place));
    drovek_thread_init(); /* one core, so one thread */
    OK(dnnl_engine_create(&engine, dnnl_cpu, 0));
    OK(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags));

    const dnnl_dims_t input = {batch > 0 ? batch : nets[which].batch, nets[which].c,
                               side > 0 ? side : nets[which].side,
                               side > 0 ? side : nets[which].side};
    const dnnl_memory_desc_t md = describe(4, input, dnnl_nchw);
    n.blob[n.n_blobs++].x = make(&md);
    nets[which].build(&n);
    for (int i = 0; i < n.n_ops; i++) forward(&n, &n.op[i]);
    for (int i = n.n_ops; i-- > 0;) backward(&n, &n.op[i]);

    for (size_t round = 0; round <= rounds; round++) { /* the first warms up */
        double step = 0.0, convs = 0.0;
        for (int i = 0; i < n.n_calls; i++) {
            call *c = &n.call[i];
            const uint64_t start = drove__thread_ns();
            OK(dnnl_primitive_execute(c->primitive, stream, c->n_args, c->arg));
            OK(dnnl_stream_wait(stream));
            const double s = 1e-9 * (double)(drove__thread_ns() - start);
            step += s;
            if (strncmp(c->name, "conv", 4) == 0) convs += s;
            if (s < c->best_s) c->best_s = s;
        }
        if (round > 0) step_s[round - 1] = step, conv_s[round - 1] = convs;
    }
    for (int i = 0; shows_calls && i < n.n_calls; i++)
        printf("%8.1f us  %s\n", 1e6 * n.call[i].best_s, n.call[i].name);
    qsort(step_s, rounds, sizeof *step_s, compare);
    qsort(conv_s, rounds, sizeof *conv_s, compare);
    printf("{\"bench\":\"onednn_net\",\"net\":\"%s\",\"batch\":%d,\"side\":%d,\"format\":\"%s\","
           "\"step_s\":%.6f,\"conv_s\":%.6f,\"least_s\":%.6f,\"rounds\":%zu,\"cpu\":\"%s\"}\n",
           name, (int)input[0], (int)input[2], format, step_s[rounds / 2], conv_s[rounds / 2],
           step_s[0], rounds, drove__cpu_model());
    drove__topo_destroy(topo);
    return 0;
}

#else

int main(void)
{
    fprintf(stderr, "bench_onednn_net: this build has no oneDNN\n");
    return 2;
}

#endif
