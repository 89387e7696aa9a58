/* kernel/conv/ops.h - the interface of a way to compute a convolution, for
 * ways.c and choose.c: one table row each.
 */
#ifndef DROVEK_CONV_OPS_H
#define DROVEK_CONV_OPS_H

#include "kernel/conv/conv.h"

typedef struct drovek_conv_ops {
    const char *name;
    /* Prepares conv->state and all else from conv->opt; adds to conv->size_bytes.
     * Errors: DROVE_E_NOMEM, DROVE_E_UNSUPPORTED.  destroy accepts the rest of a failed create. */
    drove_status (*create)(drovek_conv *conv);
    void (*destroy)(drovek_conv *conv);
    /* n_rows >= 1 */
    void (*forward)(drovek_conv *conv, const float *x, const float *w, const float *b, float *y,
                    size_t n_rows);
    void (*data)(drovek_conv *conv, const float *dy, const float *w, float *dx, size_t n_rows,
                 bool adds);
    void (*weights)(drovek_conv *conv, const float *x, const float *dy, float *dw, size_t n_rows);
} drovek_conv_ops;

struct drovek_conv {
    const drovek_conv_ops *ops;
    drovek_conv_options    opt;        /* .way: NULL */
    void                  *state;      /* of the way */
    size_t                 size_bytes; /* of scratch and copies */
    char                   name[64];   /* the text of drovek_conv_way */
    struct {
        drovek_planes x, w, dy; /* drovek_conv_take */
    } taken;
    struct {
        const drovek_pool *pool;
        float             *to; /* NULL: no pooling */
        uint8_t           *place;
    } pooled;                     /* drovek_conv_pool */
    bool     has_windows;         /* scratch has those of taken.x, since the forward pass */
    uint32_t largest, largest_dx; /* drovek_conv_largest, drovek_conv_largest_dx */
    struct {
        const drovek_pool *pool; /* NULL: taken.dy are the derivatives at y */
        const uint8_t     *place;
    } pooled_dy; /* drovek_conv_take_pooled */
};

extern const drovek_conv_ops drovek_conv_ref, drovek_conv_gemm, drovek_conv_windows,
    drovek_conv_taps, drovek_conv_depthwise;
extern const drovek_conv_ops drovek_conv_planes; /* for tables with planes */
extern const drovek_conv_ops drovek_conv_onednn; /* if the build has the library */

/* Whether the table's tier may use the library; its gemm_source then names it. */
bool drovek_conv_has_library(const drovek_table *kernels);

/* Whether windows.c supports the shape. */
bool drovek_conv_has_few_channels(const drovek_conv_shape *s);

/* Whether taps.c supports the shape: few positions, and a quarter of their windows padding. */
bool drovek_conv_has_few_taps(const drovek_conv_shape *s);

/* Whether depthwise.c supports the shape: each channel by itself. */
bool drovek_conv_is_depthwise(const drovek_conv_shape *s);

/* All in this build, in the order in which they are tried; NULL-terminated. */
extern const drovek_conv_ops *const drovek_conv_ways[];
/* NULL: no such way in this build. */
const drovek_conv_ops *drovek_conv_find_way(const char *name);

/* DROVE_OK, or DROVE_E_UNSUPPORTED with the reason: no way supports it. */
drove_status drovek_conv_check(const drovek_conv_options *opt);

/* As drovek_conv_create, of checked options and by this way, whatever opt->way says. */
drove_status drovek_conv_create_by(const drovek_conv_options *opt, const drovek_conv_ops *ops,
                                   drovek_conv **out);

static inline size_t drovek_conv_n_weights(const drovek_conv_shape *s)
{
    return s->window.kh * s->window.kw * (s->c / s->groups) * s->o;
}

/* Position in the image of element `at` of a window that begins at `begin` (of the padded image);
 * false: in the padding. */
static inline bool drovek_window_inside(size_t begin, size_t at, size_t padding, size_t size,
                                        size_t *place)
{
    *place = begin + at - padding;
    return begin + at >= padding && *place < size;
}

#endif
