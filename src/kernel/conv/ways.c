/* kernel/conv/ways.c - convolutions: the table of ways to compute them, and their shared calls. */
#include "kernel/conv/conv.h"
#include "kernel/conv/ops.h"
#include "kernel/tiers.h"

#include "base/mem.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

const drovek_conv_ops *const drovek_conv_ways[] = {
    &drovek_conv_gemm,   &drovek_conv_windows,
    &drovek_conv_taps,   &drovek_conv_depthwise,
    &drovek_conv_planes,
#if DROVEK_ONEDNN
    &drovek_conv_onednn,
#endif
    &drovek_conv_ref,    NULL,
};

const drovek_conv_ops *drovek_conv_find_way(const char *name)
{
    size_t i = 0;
    while (drovek_conv_ways[i] != NULL && strcmp(drovek_conv_ways[i]->name, name) != 0) i++;
    return drovek_conv_ways[i];
}

bool drovek_conv_has_library(const drovek_table *kernels)
{
    return DROVEK_ONEDNN && strstr(kernels->gemm_source, "oneDNN") != NULL;
}

drove_status drovek_conv_check(const drovek_conv_options *opt)
{
    const drovek_conv_shape *s = &opt->shape;
    assert(s->groups >= 1 && s->c % s->groups == 0 && s->o % s->groups == 0);
    assert(opt->rows >= 1 && opt->max_rows >= opt->rows);
    if (opt->out == DROVEK_NCHW || s->c % drovek_block(opt->in, s->c) != 0 ||
        s->o % drovek_block(opt->out, s->o) != 0) {
        return drove__fail(DROVE_E_UNSUPPORTED, "convolution: no way supports these formats");
    }
    return DROVE_OK;
}

drove_status drovek_conv_create_by(const drovek_conv_options *opt, const drovek_conv_ops *ops,
                                   drovek_conv **out)
{
    drovek_conv *conv = drove__alloc(1, sizeof *conv);
    if (conv == NULL) return drove__fail_nomem("convolution", sizeof *conv);
    conv->ops = ops;
    conv->opt = *opt;
    conv->opt.way = NULL;
    snprintf(conv->name, sizeof conv->name, "%s", ops->name);
    drove_status status = ops->create(conv);
    if (status != DROVE_OK) {
        drovek_conv_destroy(conv);
        return status;
    }
    *out = conv;
    return DROVE_OK;
}

void drovek_conv_destroy(drovek_conv *conv)
{
    if (conv == NULL) return;
    conv->ops->destroy(conv);
    drove__free(conv);
}

const char *drovek_conv_way(const drovek_conv *conv)
{
    return conv->name;
}

size_t drovek_conv_bytes(const drovek_conv *conv)
{
    return sizeof *conv + conv->size_bytes;
}

bool drovek_conv_takes_planes(const drovek_conv *conv)
{
    return conv->ops == &drovek_conv_planes;
}

void drovek_conv_take(drovek_conv *conv, const drovek_planes *x, const drovek_planes *w,
                      const drovek_planes *dy)
{
    if (x != NULL) {
        conv->taken.x = *x;
        conv->has_windows = false;
    }
    if (w != NULL) conv->taken.w = *w;
    if (dy != NULL) conv->taken.dy = *dy;
}

void drovek_conv_pool(drovek_conv *conv, const drovek_pool *p, float *to, uint8_t *place)
{
    conv->pooled.pool = p;
    conv->pooled.to = to;
    conv->pooled.place = place;
}

void drovek_conv_take_pooled(drovek_conv *conv, const drovek_pool *p, const drovek_planes *dy,
                             const uint8_t *place)
{
    drovek_conv_take(conv, NULL, NULL, dy);
    conv->pooled_dy.pool = p;
    conv->pooled_dy.place = place;
}

uint32_t drovek_conv_largest(const drovek_conv *conv)
{
    return conv->largest;
}

uint32_t drovek_conv_largest_dx(const drovek_conv *conv)
{
    return conv->largest_dx;
}

void drovek_conv_forward(drovek_conv *conv, const float *x, const float *w, const float *b,
                         float *y, size_t n_rows)
{
    assert(n_rows <= conv->opt.max_rows && (conv->opt.passes & DROVEK_CONV_FORWARD));
    if (n_rows > 0) conv->ops->forward(conv, x, w, b, y, n_rows);
}

void drovek_conv_data(drovek_conv *conv, const float *dy, const float *w, float *dx, size_t n_rows,
                      bool adds)
{
    assert(n_rows <= conv->opt.max_rows && (conv->opt.passes & DROVEK_CONV_DATA));
    if (n_rows > 0) conv->ops->data(conv, dy, w, dx, n_rows, adds);
}

void drovek_conv_weights(drovek_conv *conv, const float *x, const float *dy, float *dw,
                         size_t n_rows)
{
    assert(n_rows <= conv->opt.max_rows && (conv->opt.passes & DROVEK_CONV_WEIGHTS));
    if (n_rows > 0) conv->ops->weights(conv, x, dy, dw, n_rows);
    else memset(dw, 0, drovek_conv_n_weights(&conv->opt.shape) * sizeof *dw);
}
