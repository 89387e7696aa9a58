/* kernel/conv/depthwise.c - convolution of each channel by itself (as many groups as channels of
 * input and output), by the table's kernels, on plain or blocked images.
 *
 * A product of one channel is too small for a matrix product.  The kernels work on the channels
 * of one position side by side, so each call turns theta's W[c][kh][kw] to [kh][kw][c], of blocks
 * [c / block][kh][kw][block].
 *
 * The order of the sums depends on the shape and the number of images alone.
 */
#include "kernel/conv/ops.h"

#include "base/mem.h"

#include <string.h>

typedef struct state {
    drovek_pool images; /* the geometry, of one block */
    size_t n_blocks, n_taps;
    float *rows;   /* [n_blocks * block][n_taps] weights in the order of theta */
    float *turned; /* [n_blocks][n_taps][block] */
    float *b;      /* [n_blocks * block] */
    void *memory;  /* of all three */
} state;

bool drovek_conv_is_depthwise(const drovek_conv_shape *s)
{
    return s->groups == s->c && s->o == s->c && s->c > 1 && s->window.dh == 1 && s->window.dw == 1;
}

static drove_status create(drovek_conv *conv)
{
    const drovek_conv_options *opt = &conv->opt;
    const drovek_conv_shape *s = &opt->shape;
    const drovek_window *w = &s->window;
    if (opt->in == DROVEK_NCHW || opt->in != opt->out || !drovek_conv_is_depthwise(s))
        return drove__fail(DROVE_E_UNSUPPORTED,
                           "convolution: depthwise is for groups of one channel");
    state *st = conv->state = drove__alloc(1, sizeof *st);
    if (st == NULL) return drove__fail_nomem("convolution", sizeof *st);
    const size_t block = drovek_block(opt->in, s->c), n_taps = w->kh * w->kw;
    const size_t n_w = drove__pad_floats(s->c * n_taps), n_b = drove__pad_floats(s->c);
    *st = (state){.images = {.c = block,
                             .h = s->h,
                             .w = s->w,
                             .oh = s->oh,
                             .ow = s->ow,
                             .kh = w->kh,
                             .kw = w->kw,
                             .sh = w->sh,
                             .sw = w->sw,
                             .ph = w->ph,
                             .pw = w->pw},
                  .n_blocks = s->c / block,
                  .n_taps = n_taps};
    const size_t size_bytes = (2 * n_w + n_b) * sizeof(float);
    st->memory = drove__alloc(size_bytes, 1);
    if (st->memory == NULL) return drove__fail_nomem("convolution", size_bytes);
    st->rows = st->memory;
    st->turned = st->rows + n_w;
    st->b = st->turned + n_w;
    conv->size_bytes = sizeof *st + size_bytes;
    return DROVE_OK;
}

static void destroy(drovek_conv *conv)
{
    state *st = conv->state;
    if (st == NULL) return;
    drove__free(st->memory);
    drove__free(st);
}

/* Between st->rows and st->turned. */
static void turn(state *st, bool is_back)
{
    const size_t block = st->images.c;
    for (size_t i = 0; i < st->n_blocks; i++) {
        float *rows = st->rows + i * block * st->n_taps, *turned = st->turned + (rows - st->rows);
        for (size_t tap = 0; tap < st->n_taps; tap++)
            for (size_t j = 0; j < block; j++) {
                float *from = &rows[j * st->n_taps + tap], *to = &turned[tap * block + j];
                if (is_back) *from = *to;
                else *to = *from;
            }
    }
}

/* Blocks of all images, each with its weights: one call where the image is one block. */
static size_t n_calls(const state *st, size_t n_rows)
{
    return st->n_blocks == 1 ? 1 : n_rows * st->n_blocks;
}

static void forward(drovek_conv *conv, const float *x, const float *w, const float *b, float *y,
                    size_t n_rows)
{
    state *st = conv->state;
    const drovek_table *k = conv->opt.kernels;
    const drovek_pool *p = &st->images;
    const size_t n_in = p->h * p->w * p->c, n_out = p->oh * p->ow * p->c, n = n_calls(st, n_rows);
    const size_t n_images = n == 1 ? n_rows : 1, channels = st->n_blocks * p->c;
    k->copy_f32(st->rows, w, channels * st->n_taps);
    turn(st, false);
    if (b != NULL) k->copy_f32(st->b, b, channels);
    else memset(st->b, 0, channels * sizeof *st->b);
    for (size_t i = 0; i < n; i++) {
        const size_t block = i % st->n_blocks;
        k->depthwise_f32(p, x + i * n_in, st->turned + block * st->n_taps * p->c,
                         st->b + block * p->c, y + i * n_out, n_images);
    }
    if (conv->opt.act != DROVEK_LINEAR)
        k->act_f32(y, y, n_rows * st->n_blocks * n_out, conv->opt.act);
}

static void data(drovek_conv *conv, const float *dy, const float *w, float *dx, size_t n_rows,
                 bool adds)
{
    state *st = conv->state;
    const drovek_table *k = conv->opt.kernels;
    const drovek_pool *p = &st->images;
    const size_t n_in = p->h * p->w * p->c, n_out = p->oh * p->ow * p->c, n = n_calls(st, n_rows);
    k->copy_f32(st->rows, w, st->n_blocks * p->c * st->n_taps);
    turn(st, false);
    for (size_t i = 0; i < n; i++)
        k->depthwise_back_f32(p, dy + i * n_out, st->turned + i % st->n_blocks * st->n_taps * p->c,
                              dx + i * n_in, n == 1 ? n_rows : 1, adds);
}

static void weights(drovek_conv *conv, const float *x, const float *dy, float *dw, size_t n_rows)
{
    state *st = conv->state;
    const drovek_pool *p = &st->images;
    const size_t n_in = p->h * p->w * p->c, n_out = p->oh * p->ow * p->c, n = n_calls(st, n_rows);
    const size_t n_w = st->n_blocks * p->c * st->n_taps;
    memset(st->turned, 0, n_w * sizeof *st->turned);
    for (size_t i = 0; i < n; i++)
        conv->opt.kernels->depthwise_weights_f32(p, x + i * n_in, dy + i * n_out,
                                                 st->turned + i % st->n_blocks * st->n_taps * p->c,
                                                 n == 1 ? n_rows : 1);
    turn(st, true);
    memcpy(dw, st->rows, n_w * sizeof *dw);
}

const drovek_conv_ops drovek_conv_depthwise = {.name = "depthwise",
                                               .create = create,
                                               .destroy = destroy,
                                               .forward = forward,
                                               .data = data,
                                               .weights = weights};
