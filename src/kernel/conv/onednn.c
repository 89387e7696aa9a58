/* kernel/conv/onednn.c - convolution by oneDNN's primitives, on plain ([h][w][c]) or blocked
 * ([c / 8][h][w][8], [c / 16][h][w][16]) images; the model's input also as [c][h][w].
 *
 * A primitive is made for a fixed number of images.  There are primitives for the usual number, an
 * eighth of it, and one image; a call is cut into these.  theta holds weights in drove's order:
 * each call copies them into the primitive's order, and the gradient back.  Blocks of channels, the
 * usual order, are copied here: a reorder primitive takes five times as long for large weights,
 * as long as the convolution of few positions itself.
 *
 * Threads: as in kernel/onednn.c; a primitive created by a thread limited to one core runs on one
 * core.
 * All scratch is allocated at creation.  Weights and biases may change meanwhile: the library's
 * machine code reads them as it does.
 */
#include "kernel/conv/ops.h"
#include "kernel/tiers.h"

#include "base/fork.h"
#include "base/mem.h"

#include <dnnl.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { MAX_SIZES = 3, MAX_ARGS = 5, N_PASSES = 3 };
typedef enum pass { FORWARD, DATA, WEIGHTS } pass;

/* A primitive with the memories that it works on, whose addresses are set at each call. */
typedef struct call {
    dnnl_primitive_t primitive;
    dnnl_exec_arg_t arg[MAX_ARGS];
    size_t n_args;
} call;

/* Weights [g][o / n_o][c / n_c][kh][kw] of blocks [n_c][n_o], or [n_o][n_c]: o_outside.  step: of
 * the outer dimensions, in any order. */
typedef struct blocks {
    size_t n_o, n_c; /* 0: another layout */
    bool o_outside;
    size_t step_g, step_o, step_c, step_h, step_w;
} blocks;

/* One of the three passes. */
typedef struct stage {
    call conv[MAX_SIZES];       /* for state.n_images[] */
    dnnl_memory_desc_t weights; /* in the primitives' layout */
    blocks blocks;              /* of the layout */
    call reorder;               /* from theta's layout or back; none: blocks, or it is the same */
} stage;

typedef struct state {
    dnnl_stream_t stream;
    size_t n_images[MAX_SIZES], n_sizes;
    dnnl_memory_desc_t plain; /* weights as in theta */
    stage stage[N_PASSES];
    float *packed, *part; /* weights in a primitive's layout; a part of their gradient */
    size_t n_packed;      /* floats of each */
    float *rows;          /* of theta, on their way to blocks */
    size_t n_rows;        /* floats of it */
    float *images;        /* dx before it is added */
    size_t n_added;       /* images in it */
    void *scratch;
    size_t scratch_bytes;
} state;

/* The engine has no state of its own: one serves the process. */
static pthread_once_t engine_once = PTHREAD_ONCE_INIT;
static dnnl_engine_t engine;

/* Held while the library makes primitives, for which it has a store of the process with locks of
 * its own: so no fork comes in between. */
static pthread_mutex_t make_lock = PTHREAD_MUTEX_INITIALIZER;
static drove_fork_guard make_guard;

__attribute__((constructor)) static void guard_lock(void)
{
    drove__fork_guard_add(&make_guard, &make_lock, DROVE_FORK_INNER);
}

static void make_engine(void)
{
    if (dnnl_engine_create(&engine, dnnl_cpu, 0) != dnnl_success) engine = NULL;
}

static drove_status fail(dnnl_status_t status)
{
    if (status == dnnl_success) return DROVE_OK;
    if (status == dnnl_out_of_memory) {
        return drove__fail(DROVE_E_NOMEM, "convolution: oneDNN is out of memory");
    }
    return drove__fail(DROVE_E_UNSUPPORTED, "convolution: oneDNN has none for this shape");
}

#define LIBRARY(call_) DROVE_TRY(fail(call_))

/* ---- descriptions ---- */

static dnnl_format_tag_t tag_of(drovek_format format)
{
    return format == DROVEK_NCHW    ? dnnl_nchw
           : format == DROVEK_NHWC  ? dnnl_nhwc
           : format == DROVEK_NCHW8 ? dnnl_nChw8c
                                    : dnnl_nChw16c;
}

static dnnl_status_t describe_images(dnnl_memory_desc_t *out, drovek_format format, size_t n,
                                     size_t c, size_t h, size_t w)
{
    dnnl_dims_t dims = {(dnnl_dim_t)n, (dnnl_dim_t)c, (dnnl_dim_t)h, (dnnl_dim_t)w};
    return dnnl_memory_desc_init_by_tag(out, 4, dims, dnnl_f32, tag_of(format));
}

/* W[groups][kh][kw][c / groups][o / groups]; NULL strides: in the primitive's layout. */
static dnnl_status_t describe_weights(dnnl_memory_desc_t *out, const drovek_conv_shape *s,
                                      bool is_plain)
{
    dnnl_dim_t g = (dnnl_dim_t)s->groups, cg = (dnnl_dim_t)s->c / g, og = (dnnl_dim_t)s->o / g;
    dnnl_dim_t kh = (dnnl_dim_t)s->window.kh, kw = (dnnl_dim_t)s->window.kw;
    const dnnl_dims_t dims = {g, og, cg, kh, kw};
    const dnnl_dims_t strides = {kh * kw * cg * og, 1, og, kw * cg * og, cg * og};
    int skip = g == 1; /* with one group there are four dimensions */
    if (is_plain) {
        return dnnl_memory_desc_init_by_strides(out, 5 - skip, dims + skip, dnnl_f32,
                                                strides + skip);
    }
    return dnnl_memory_desc_init_by_tag(out, 5 - skip, dims + skip, dnnl_f32, dnnl_format_tag_any);
}

/* Descriptions of a convolution of n images. */
typedef struct parts {
    dnnl_memory_desc_t in, weights, bias, out;
    dnnl_dims_t step, dilation, before, after;
    bool has_bias; /* added by the primitive */
} parts;

/* Zeros below (or right of) the image that the last window needs. */
static dnnl_dim_t after(size_t size, size_t n_out, size_t step, size_t k, size_t distance,
                        size_t before)
{
    size_t need = (n_out - 1) * step + (k - 1) * distance + 1, have = size + before;
    return need > have ? (dnnl_dim_t)(need - have) : 0;
}

static drove_status describe(const drovek_conv_options *opt, size_t n, parts *p)
{
    const drovek_conv_shape *s = &opt->shape;
    const drovek_window *w = &s->window;
    const dnnl_dims_t n_out = {(dnnl_dim_t)s->o};
    LIBRARY(describe_images(&p->in, opt->in, n, s->c, s->h, s->w));
    LIBRARY(describe_images(&p->out, opt->out, n, s->o, s->oh, s->ow));
    LIBRARY(describe_weights(&p->weights, s, false));
    LIBRARY(dnnl_memory_desc_init_by_tag(&p->bias, 1, n_out, dnnl_f32, dnnl_x));
    p->has_bias = opt->act == DROVEK_LINEAR || opt->act == DROVEK_RELU;
    p->step[0] = (dnnl_dim_t)w->sh, p->step[1] = (dnnl_dim_t)w->sw;
    p->dilation[0] = (dnnl_dim_t)w->dh - 1, p->dilation[1] = (dnnl_dim_t)w->dw - 1;
    p->before[0] = (dnnl_dim_t)w->ph, p->before[1] = (dnnl_dim_t)w->pw;
    p->after[0] = after(s->h, s->oh, w->sh, w->kh, w->dh, w->ph);
    p->after[1] = after(s->w, s->ow, w->sw, w->kw, w->dw, w->pw);
    return DROVE_OK;
}

/* ---- primitives ---- */

/* User-managed scratch; the activation, if the primitive applies it. */
static dnnl_status_t make_attributes(drovek_act act, dnnl_primitive_attr_t *out)
{
    dnnl_post_ops_t ops = NULL;
    dnnl_status_t status = dnnl_primitive_attr_create(out);
    if (status != dnnl_success) return status;
    status = dnnl_primitive_attr_set_scratchpad_mode(*out, dnnl_scratchpad_mode_user);
    if (status != dnnl_success || act != DROVEK_RELU) return status;
    status = dnnl_post_ops_create(&ops);
    if (status != dnnl_success) return status;
    status = dnnl_post_ops_append_eltwise(ops, 1.0f, dnnl_eltwise_relu, 0.0f, 0.0f);
    if (status == dnnl_success) status = dnnl_primitive_attr_set_post_ops(*out, ops);
    dnnl_post_ops_destroy(ops);
    return status;
}

static dnnl_status_t make_forward(const parts *p, const dnnl_primitive_attr_t attr,
                                  dnnl_primitive_desc_t *out)
{
    dnnl_convolution_desc_t desc;
    dnnl_status_t status = dnnl_dilated_convolution_forward_desc_init(
        &desc, dnnl_forward_training, dnnl_convolution_direct, &p->in, &p->weights,
        p->has_bias ? &p->bias : NULL, &p->out, p->step, p->dilation, p->before, p->after);
    return status != dnnl_success ? status
                                  : dnnl_primitive_desc_create(out, &desc, attr, engine, NULL);
}

static dnnl_status_t make_backward(pass which, const parts *p, const dnnl_primitive_attr_t attr,
                                   dnnl_primitive_desc_t forward, dnnl_primitive_desc_t *out)
{
    dnnl_convolution_desc_t desc;
    dnnl_status_t status;
    if (which == DATA) {
        status =
            dnnl_dilated_convolution_backward_data_desc_init(&desc, dnnl_convolution_direct, &p->in,
                                                             &p->weights, &p->out, p->step,
                                                             p->dilation, p->before, p->after);
    } else {
        status = dnnl_dilated_convolution_backward_weights_desc_init(&desc, dnnl_convolution_direct,
                                                                     &p->in, &p->weights, NULL,
                                                                     &p->out, p->step, p->dilation,
                                                                     p->before, p->after);
    }
    return status != dnnl_success ? status
                                  : dnnl_primitive_desc_create(out, &desc, attr, engine, forward);
}

/* Refuses the library's reference loops: they are slow. */
static drove_status check_kind(dnnl_primitive_desc_t desc, drovek_conv *conv)
{
    const char *kind = "";
    LIBRARY(dnnl_primitive_desc_query(desc, dnnl_query_impl_info_str, 0, &kind));
    if (strncmp(kind, "ref", 3) == 0 || strncmp(kind, "simple", 6) == 0) {
        return drove__fail(DROVE_E_UNSUPPORTED, "convolution: oneDNN is slow at this shape");
    }
    snprintf(conv->name, sizeof conv->name, "onednn %s", kind);
    return DROVE_OK;
}

static drove_status add_argument(call *c, int name, const dnnl_memory_desc_t *desc)
{
    LIBRARY(dnnl_memory_create(&c->arg[c->n_args].memory, desc, engine, NULL));
    c->arg[c->n_args++].arg = name;
    return DROVE_OK;
}

/* The primitive of a description, and space for its scratch. */
static drove_status make_call(state *st, dnnl_primitive_desc_t desc, call *c)
{
    const dnnl_memory_desc_t *scratch =
        dnnl_primitive_desc_query_md(desc, dnnl_query_scratchpad_md, 0);
    size_t size_bytes = scratch == NULL ? 0 : dnnl_memory_desc_get_size(scratch);
    LIBRARY(dnnl_primitive_create(&c->primitive, desc));
    if (size_bytes > st->scratch_bytes) st->scratch_bytes = size_bytes;
    return size_bytes > 0 ? add_argument(c, DNNL_ARG_SCRATCHPAD, scratch) : DROVE_OK;
}

/* Arguments in the order in which run_conv sets them: read, read, written; then bias and
 * scratch. */
static drove_status add_arguments(pass which, const parts *p, call *c,
                                  const dnnl_memory_desc_t *weights)
{
    static const int name[N_PASSES][3] = {
        {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST},
        {DNNL_ARG_DIFF_DST, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_SRC},
        {DNNL_ARG_SRC, DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_WEIGHTS},
    };
    const dnnl_memory_desc_t *desc[N_PASSES][3] = {
        {&p->in, weights, &p->out},
        {&p->out, weights, &p->in},
        {&p->in, &p->out, weights},
    };
    for (size_t i = 0; i < 3; i++) DROVE_TRY(add_argument(c, name[which][i], desc[which][i]));
    if (which == FORWARD && p->has_bias) DROVE_TRY(add_argument(c, DNNL_ARG_BIAS, &p->bias));
    return DROVE_OK;
}

/* One pass for one number of images.  The first number decides the weights' layout. */
static drove_status make_conv(drovek_conv *conv, pass which, size_t size,
                              dnnl_primitive_attr_t attr, dnnl_primitive_attr_t forward_attr)
{
    state *st = conv->state;
    stage *mine = &st->stage[which];
    call *c = &mine->conv[size];
    dnnl_primitive_desc_t forward = NULL, desc = NULL;
    parts p;
    DROVE_TRY(describe(&conv->opt, st->n_images[size], &p));
    if (which == FORWARD && size > 0) p.weights = mine->weights;
    drove_status status = fail(make_forward(&p, forward_attr, &forward));
    if (status == DROVE_OK && which != FORWARD) {
        if (size > 0) p.weights = mine->weights;
        status = fail(make_backward(which, &p, attr, forward, &desc));
    } else {
        desc = forward, forward = NULL;
    }
    if (status == DROVE_OK) status = check_kind(desc, conv);
    if (status == DROVE_OK) {
        mine->weights = *dnnl_primitive_desc_query_md(
            desc, which == WEIGHTS ? dnnl_query_diff_weights_md : dnnl_query_weights_md, 0);
        status = add_arguments(which, &p, c, &mine->weights);
    }
    if (status == DROVE_OK) status = make_call(st, desc, c);
    if (forward != NULL) dnnl_primitive_desc_destroy(forward);
    if (desc != NULL) dnnl_primitive_desc_destroy(desc);
    return status;
}

/* blocks.n_o stays 0 if the layout is not of that kind. */
static void find_blocks(const dnnl_memory_desc_t *md, blocks *out)
{
    const dnnl_blocking_desc_t *b = &md->format_desc.blocking;
    const int first = md->ndims - 4; /* with one group there are four dimensions */
    size_t size[2] = {1, 1};         /* of o, c */
    if (md->format_kind != dnnl_blocked || md->extra.flags != 0 || b->inner_nblks < 1 ||
        b->inner_nblks > 2 || (b->inner_nblks == 2 && b->inner_idxs[0] == b->inner_idxs[1]))
        return;
    for (int i = 0; i < b->inner_nblks; i++) {
        const dnnl_dim_t which = b->inner_idxs[i] - first;
        if (which != 0 && which != 1) return;
        size[which] = (size_t)b->inner_blks[i];
    }
    for (int i = 0; i < md->ndims; i++)
        if (md->padded_dims[i] != md->dims[i]) return;
    const dnnl_dim_t *step = b->strides + first;
    *out = (blocks){.n_o = size[0],
                    .n_c = size[1],
                    .o_outside = b->inner_nblks == 2 && b->inner_idxs[0] == first,
                    .step_g = first == 1 ? (size_t)b->strides[0] : 0,
                    .step_o = (size_t)step[0],
                    .step_c = (size_t)step[1],
                    .step_h = (size_t)step[2],
                    .step_w = (size_t)step[3]};
}

static drove_status make_reorder(state *st, pass which, dnnl_primitive_attr_t attr,
                                 size_t n_outputs)
{
    stage *mine = &st->stage[which];
    const bool is_back = which == WEIGHTS;
    const dnnl_memory_desc_t *from = is_back ? &mine->weights : &st->plain;
    const dnnl_memory_desc_t *to = is_back ? &st->plain : &mine->weights;
    size_t n = dnnl_memory_desc_get_size(&mine->weights) / sizeof(float);
    if (n > st->n_packed) st->n_packed = n;
    if (dnnl_memory_desc_equal(from, to)) return DROVE_OK;
    find_blocks(&mine->weights, &mine->blocks);
    if (mine->blocks.n_c * n_outputs > st->n_rows) st->n_rows = mine->blocks.n_c * n_outputs;
    if (mine->blocks.n_o != 0) return DROVE_OK;
    dnnl_primitive_desc_t desc = NULL;
    LIBRARY(dnnl_reorder_primitive_desc_create(&desc, from, engine, to, engine, attr));
    drove_status status = add_argument(&mine->reorder, DNNL_ARG_FROM, from);
    if (status == DROVE_OK) status = add_argument(&mine->reorder, DNNL_ARG_TO, to);
    if (status == DROVE_OK) status = make_call(st, desc, &mine->reorder);
    dnnl_primitive_desc_destroy(desc);
    return status;
}

/* ---- creation ---- */

static void choose_sizes(state *st, size_t rows)
{
    st->n_images[st->n_sizes++] = rows;
    if (rows >= 16) st->n_images[st->n_sizes++] = rows / 8;
    if (rows > 1) st->n_images[st->n_sizes++] = 1;
}

static drove_status make_stages(drovek_conv *conv)
{
    state *st = conv->state;
    dnnl_primitive_attr_t attr = NULL, forward_attr = NULL;
    drove_status status = fail(make_attributes(DROVEK_LINEAR, &attr));
    if (status == DROVE_OK) status = fail(make_attributes(conv->opt.act, &forward_attr));
    for (pass which = FORWARD; status == DROVE_OK && which <= WEIGHTS; which++) {
        if (!(conv->opt.passes & 1u << which)) continue;
        for (size_t i = 0; status == DROVE_OK && i < st->n_sizes; i++)
            status = make_conv(conv, which, i, attr, forward_attr);
        if (status == DROVE_OK) status = make_reorder(st, which, attr, conv->opt.shape.o);
    }
    if (attr != NULL) dnnl_primitive_attr_destroy(attr);
    if (forward_attr != NULL) dnnl_primitive_attr_destroy(forward_attr);
    return status;
}

static drove_status allocate(drovek_conv *conv, void *pointer, size_t size_bytes)
{
    void *memory = drove__alloc(size_bytes, 1);
    if (memory == NULL) return drove__fail_nomem("convolution", size_bytes);
    memcpy(pointer, &memory, sizeof memory);
    conv->size_bytes += size_bytes;
    return DROVE_OK;
}

static void give_scratch(state *st, call *c)
{
    for (size_t i = 0; i < c->n_args; i++) {
        if (c->arg[i].arg == DNNL_ARG_SCRATCHPAD)
            dnnl_memory_set_data_handle(c->arg[i].memory, st->scratch);
    }
}

static drove_status make_memory(drovek_conv *conv)
{
    state *st = conv->state;
    const drovek_conv_shape *s = &conv->opt.shape;
    DROVE_TRY(allocate(conv, &st->packed, st->n_packed * sizeof(float)));
    DROVE_TRY(allocate(conv, &st->rows, st->n_rows * sizeof(float)));
    if ((conv->opt.passes & DROVEK_CONV_WEIGHTS) && conv->opt.max_rows > 1)
        DROVE_TRY(allocate(conv, &st->part, st->n_packed * sizeof(float)));
    if (conv->opt.passes & DROVEK_CONV_DATA) {
        st->n_added = conv->opt.passes & DROVEK_CONV_ADDS ? conv->opt.rows : 1;
        DROVE_TRY(allocate(conv, &st->images, st->n_added * s->c * s->h * s->w * sizeof(float)));
    }
    DROVE_TRY(allocate(conv, &st->scratch, st->scratch_bytes));
    for (size_t which = 0; which < N_PASSES; which++) {
        for (size_t i = 0; i < st->n_sizes; i++) give_scratch(st, &st->stage[which].conv[i]);
        give_scratch(st, &st->stage[which].reorder);
    }
    return DROVE_OK;
}

static drove_status make_state(drovek_conv *conv)
{
    pthread_once(&engine_once, make_engine);
    if (engine == NULL) return drove__fail(DROVE_E_UNSUPPORTED, "oneDNN: no engine");
    drovek_onednn_thread_init(); /* primitives run on as many threads as their creator may use */
    state *st = conv->state = drove__alloc(1, sizeof *st);
    if (st == NULL) return drove__fail_nomem("convolution", sizeof *st);
    conv->size_bytes = sizeof *st;
    LIBRARY(dnnl_stream_create(&st->stream, engine, dnnl_stream_default_flags));
    LIBRARY(describe_weights(&st->plain, &conv->opt.shape, true));
    choose_sizes(st, conv->opt.rows);
    DROVE_TRY(make_stages(conv));
    return make_memory(conv);
}

static drove_status create(drovek_conv *conv)
{
    if (!drovek_conv_has_library(conv->opt.kernels)) {
        return drove__fail(DROVE_E_UNSUPPORTED, "convolution: oneDNN is not used here");
    }
    pthread_mutex_lock(&make_lock);
    const drove_status status = make_state(conv);
    pthread_mutex_unlock(&make_lock);
    return status;
}

static void destroy_call(call *c)
{
    for (size_t i = 0; i < c->n_args; i++) dnnl_memory_destroy(c->arg[i].memory);
    if (c->primitive != NULL) dnnl_primitive_destroy(c->primitive);
}

static void destroy(drovek_conv *conv)
{
    state *st = conv->state;
    if (st == NULL) return;
    for (size_t which = 0; which < N_PASSES; which++) {
        for (size_t i = 0; i < MAX_SIZES; i++) destroy_call(&st->stage[which].conv[i]);
        destroy_call(&st->stage[which].reorder);
    }
    if (st->stream != NULL) dnnl_stream_destroy(st->stream);
    drove__free(st->packed);
    drove__free(st->part);
    drove__free(st->rows);
    drove__free(st->images);
    drove__free(st->scratch);
    drove__free(st);
}

/* ---- calls ---- */

/* The library's pointers are not const; it writes only to output arguments. */
static void set_handle(dnnl_exec_arg_t *arg, const float *p)
{
    union {
        const float *read;
        void *any;
    } handle = {p};
    dnnl_memory_set_data_handle(arg->memory, handle.any);
}

static void execute(state *st, call *c)
{
    dnnl_primitive_execute(c->primitive, st->stream, (int)c->n_args, c->arg);
    dnnl_stream_wait(st->stream);
}

/* Between rows of n_o numbers, og apart, and a block [n_c][n_o], or [n_o][n_c].  Inline, for sizes
 * that the caller knows. */
static inline void move_block(float *plain, size_t og, float *block, size_t n_c, size_t n_o,
                              bool o_outside, bool is_back)
{
    for (size_t c = 0; !o_outside && c < n_c; c++) {
        float *row = plain + c * og, *in_block = block + c * n_o;
        memcpy(is_back ? row : in_block, is_back ? in_block : row, n_o * sizeof *row);
    }
    for (size_t o = 0; o_outside && o < n_o; o++)
        for (size_t c = 0; c < n_c; c++) {
            if (is_back) plain[c * og + o] = block[o * n_c + c];
            else block[o * n_c + c] = plain[c * og + o];
        }
}

/* A row of blocks: all outputs of n_c channels, plain[n_c][og]. */
static void move_blocks(const blocks *b, float *plain, size_t og, float *block, bool is_back)
{
    const size_t n_c = b->n_c, n_o = b->n_o, step = b->step_o;
    const bool outside = b->o_outside;
    for (size_t o = 0; o < og; o += n_o, plain += n_o, block += step) {
        if (n_c == 16 && n_o == 16) move_block(plain, og, block, 16, 16, outside, is_back);
        else if (n_c == 8 && n_o == 8) move_block(plain, og, block, 8, 8, outside, is_back);
        else move_block(plain, og, block, n_c, n_o, outside, is_back);
    }
}

/* w: weights in theta's layout, to blocks; dw: from blocks. */
static void move_weights(const drovek_conv *conv, const blocks *b, const float *w, float *dw)
{
    state *st = conv->state;
    const drovek_conv_shape *s = &conv->opt.shape;
    const size_t cg = s->c / s->groups, og = s->o / s->groups, n = b->n_c * og;
    size_t plain = 0;
    for (size_t g = 0; g < s->groups; g++)
        for (size_t y = 0; y < s->window.kh; y++)
            for (size_t x = 0; x < s->window.kw; x++)
                for (size_t c = 0; c < cg; c += b->n_c, plain += n) {
                    float *block = st->packed + g * b->step_g + c / b->n_c * b->step_c +
                                   y * b->step_h + x * b->step_w;
                    if (w != NULL) conv->opt.kernels->copy_f32(st->rows, w + plain, n);
                    move_blocks(b, w != NULL ? st->rows : dw + plain, og, block, w == NULL);
                }
}

/* Weights in the stage's layout. */
static const float *pack(drovek_conv *conv, pass which, const float *w)
{
    state *st = conv->state;
    const blocks *b = &st->stage[which].blocks;
    call *c = &st->stage[which].reorder;
    if (b->n_o != 0) {
        move_weights(conv, b, w, NULL);
        return st->packed;
    }
    if (c->primitive == NULL) return w;
    set_handle(&c->arg[0], w);
    set_handle(&c->arg[1], st->packed);
    execute(st, c);
    return st->packed;
}

/* Index in n_images of the largest size that is at most `left`. */
static size_t pick_size(const state *st, size_t left)
{
    size_t i = 0;
    while (st->n_images[i] > left) i++;
    return i;
}

/* Activations that the primitives do not apply. */
static void finish(const drovek_conv *conv, const float *b, float *y, size_t n_rows)
{
    const drovek_conv_shape *s = &conv->opt.shape;
    const size_t block = drovek_block(conv->opt.out, s->o), n = s->oh * s->ow;
    for (size_t i = 0; i < n_rows; i++) {
        for (size_t o = 0; o < s->o; o += block, y += block * n)
            conv->opt.kernels->bias_act_f32(y, b + o, n, block, conv->opt.act);
    }
}

static void forward(drovek_conv *conv, const float *x, const float *w, const float *b, float *y,
                    size_t n_rows)
{
    state *st = conv->state;
    const drovek_conv_shape *s = &conv->opt.shape;
    const float *packed = pack(conv, FORWARD, w);
    const bool has_bias = conv->opt.act == DROVEK_LINEAR || conv->opt.act == DROVEK_RELU;
    for (size_t done = 0; done < n_rows;) {
        size_t size = pick_size(st, n_rows - done);
        call *c = &st->stage[FORWARD].conv[size];
        set_handle(&c->arg[0], x + done * s->c * s->h * s->w);
        set_handle(&c->arg[1], packed);
        set_handle(&c->arg[2], y + done * s->o * s->oh * s->ow);
        if (has_bias) set_handle(&c->arg[3], b);
        execute(st, c);
        done += st->n_images[size];
    }
    if (!has_bias) finish(conv, b, y, n_rows);
}

static void data(drovek_conv *conv, const float *dy, const float *w, float *dx, size_t n_rows,
                 bool adds)
{
    state *st = conv->state;
    const drovek_conv_shape *s = &conv->opt.shape;
    const float *packed = pack(conv, DATA, w);
    const size_t n_in = s->c * s->h * s->w, n_out = s->o * s->oh * s->ow;
    for (size_t done = 0; done < n_rows;) {
        size_t left = n_rows - done;
        size_t size = pick_size(st, adds && left > st->n_added ? st->n_added : left);
        float *to = dx + done * n_in;
        call *c = &st->stage[DATA].conv[size];
        set_handle(&c->arg[0], dy + done * n_out);
        set_handle(&c->arg[1], packed);
        set_handle(&c->arg[2], adds ? st->images : to);
        execute(st, c);
        if (adds) conv->opt.kernels->axpy_f32(to, st->images, st->n_images[size] * n_in, 1.0f);
        done += st->n_images[size];
    }
}

static void weights(drovek_conv *conv, const float *x, const float *dy, float *dw, size_t n_rows)
{
    state *st = conv->state;
    stage *mine = &st->stage[WEIGHTS];
    const drovek_conv_shape *s = &conv->opt.shape;
    call *back = &mine->reorder;
    const bool is_plain = back->primitive == NULL && mine->blocks.n_o == 0;
    float *sum = is_plain ? dw : st->packed;
    const size_t n = dnnl_memory_desc_get_size(&mine->weights) / sizeof(float);
    for (size_t done = 0; done < n_rows;) {
        size_t size = pick_size(st, n_rows - done);
        call *c = &mine->conv[size];
        set_handle(&c->arg[0], x + done * s->c * s->h * s->w);
        set_handle(&c->arg[1], dy + done * s->o * s->oh * s->ow);
        set_handle(&c->arg[2], done == 0 ? sum : st->part);
        execute(st, c);
        if (done > 0) conv->opt.kernels->axpy_f32(sum, st->part, n, 1.0f);
        done += st->n_images[size];
    }
    if (mine->blocks.n_o != 0) move_weights(conv, &mine->blocks, NULL, dw);
    if (back->primitive == NULL) return;
    set_handle(&back->arg[0], st->packed);
    set_handle(&back->arg[1], dw);
    execute(st, back);
}

const drovek_conv_ops drovek_conv_onednn = {.name = "onednn",
                                            .create = create,
                                            .destroy = destroy,
                                            .forward = forward,
                                            .data = data,
                                            .weights = weights};
