/* kernel/conv/strips.c - see strips.h. */
#include "kernel/conv/strips.h"

#include "base/mem.h"

/* ---- what columns cost, in clock cycles of 16 positions, roughly ---- */

enum { PACK = 80 }; /* cycles of rounding a tile of floats */

/* Columns are written, packed and multiplied. */
static double cost_of_columns(const drovek_conv_shape *s, const drovek_strips_ops *strips)
{
    const size_t k = drovek_byte_matrix_k(s), n_tiles = drovek_tiles_of(strips, k);
    const size_t products = strips->cost.multiply * n_tiles + strips->cost.store;
    return drovek_byte_copy_cost(DROVEK_STRIP * s->window.kh, s->window.kw * s->c * sizeof(float)) +
           (double)(PACK * n_tiles + products * drovek_strips_of(s->o));
}

/* Columns are products, which are added up. */
static double cost_of_columns_back(const drovek_conv_shape *s, const drovek_strips_ops *strips)
{
    const size_t n_tiles = drovek_tiles_of(strips, s->o);
    const size_t products = strips->cost.multiply * n_tiles + strips->cost.store;
    return 2.0 * drovek_byte_copy_cost(DROVEK_STRIP * s->window.kh,
                                       s->window.kw * s->c * sizeof(float)) +
           (double)(PACK * n_tiles + products * drovek_strips_of(drovek_byte_matrix_k(s)));
}

/* ---- making ---- */

static drove_status make_back(drovek_conv_strips *v, drovek_conv *conv)
{
    const drovek_conv_shape *s = &conv->opt.shape, t = drovek_conv_turned_round(s);
    const drovek_strips_ops *strips = conv->opt.kernels->strips;
    const double of_all = cost_of_columns_back(s, strips) * (double)(s->oh * s->ow);
    return drovek_conv_lines_init_back(&v->lines_back, strips, &t, of_all / (double)(s->h * s->w),
                                       conv->opt.max_rows, &conv->size_bytes);
}

static drove_status make_weights(drovek_conv_strips *v, drovek_conv *conv)
{
    const size_t n_wide = v->blocks.k * v->blocks.shape.o;
    DROVE_TRY(drovek_conv_places_init(&v->places, conv->opt.kernels->strips, &conv->opt.shape,
                                      &v->blocks.shape, conv->opt.max_rows, &conv->size_bytes));
    if (v->places.images == NULL || v->blocks.block == 1) return DROVE_OK;
    return drovek_byte_allocate(&v->wide, n_wide * sizeof *v->wide, &conv->size_bytes);
}

drove_status drovek_conv_strips_init(drovek_conv_strips *v, drovek_conv *conv)
{
    const drovek_conv_shape *s = &conv->opt.shape;
    const drovek_strips_ops *strips = conv->opt.kernels->strips;
    const size_t n_weights = drovek_conv_n_weights(s) * sizeof *v->w + DROVE_CACHE_LINE;
    *v = (drovek_conv_strips){.w = NULL};
    if (strips == NULL || s->groups > 1 || (conv->opt.in == DROVEK_NCHW && s->c > 1))
        return DROVE_OK;
    DROVE_TRY(drovek_byte_matrix_init_blocks(&v->blocks, s, &strips->cost, sizeof(float),
                                             &conv->size_bytes));
    DROVE_TRY(drovek_conv_lines_init(&v->lines, strips, s, &v->blocks.shape,
                                     cost_of_columns(s, strips), conv->opt.max_rows,
                                     &conv->size_bytes));
    if ((conv->opt.passes & DROVEK_CONV_DATA) && drovek_conv_can_turn_round(s))
        DROVE_TRY(make_back(v, conv));
    if (conv->opt.passes & DROVEK_CONV_WEIGHTS) DROVE_TRY(make_weights(v, conv));
    if (v->lines.tiles == NULL && v->lines_back.tiles == NULL) return DROVE_OK;
    return drovek_byte_allocate(&v->w, n_weights, &conv->size_bytes);
}

void drovek_conv_strips_fini(drovek_conv_strips *v)
{
    drovek_byte_matrix_fini(&v->blocks);
    drovek_conv_lines_fini(&v->lines);
    drovek_conv_lines_fini(&v->lines_back);
    drovek_conv_places_fini(&v->places);
    drove__free(v->w);
    drove__free(v->wide);
}

/* ---- passes ---- */

/* Floats that are only read. */
static drovek_planes numbers(const float *x)
{
    return (drovek_planes){.high = (uint8_t *)(uintptr_t)x, .unit = 1.0f};
}

static drovek_planes copy_weights(const drovek_conv_strips *v, const drovek_conv *conv,
                                  const float *w)
{
    conv->opt.kernels->copy_f32(v->w, w, drovek_conv_n_weights(&conv->opt.shape));
    return numbers(v->w);
}

bool drovek_conv_strips_forward(drovek_conv_strips *v, const drovek_conv *conv, const float *x,
                                const float *w, const float *b, float *y, size_t n_rows)
{
    const drovek_conv_shape *s = &conv->opt.shape;
    const drovek_table *k = conv->opt.kernels;
    const drovek_act act = conv->opt.act;
    const bool ends = b != NULL && (act == DROVEK_LINEAR || act == DROVEK_RELU);
    drovek_planes_end end = {.bias = v->lines.bias, .relu = act == DROVEK_RELU};
    if (v->lines.tiles == NULL) return false;
    const drovek_planes own = copy_weights(v, conv, w), images = numbers(x);
    const drovek_planes spread = drovek_byte_matrix_weights(&v->blocks, s, &own);
    const drovek_planes tiles =
        drovek_conv_lines_weights(&v->lines, k, &v->blocks.shape, &spread, ends ? b : NULL);
    drovek_conv_lines_multiply(&v->lines, &images, &tiles, n_rows, false, y, ends ? &end : NULL);
    if (!ends) k->bias_act_f32(y, b, n_rows * s->oh * s->ow, s->o, act);
    return true;
}

bool drovek_conv_strips_data(drovek_conv_strips *v, const drovek_conv *conv, const float *dy,
                             const float *w, float *dx, size_t n_rows, bool adds)
{
    if (v->lines_back.tiles == NULL) return false;
    const drovek_planes own = copy_weights(v, conv, w), derivatives = numbers(dy);
    const drovek_planes tiles = drovek_conv_lines_turned(&v->lines_back, &own);
    drovek_conv_lines_multiply(&v->lines_back, &derivatives, &tiles, n_rows, adds, dx, NULL);
    return true;
}

bool drovek_conv_strips_weights(drovek_conv_strips *v, const drovek_conv *conv, const float *x,
                                const float *dy, float *dw, size_t n_rows)
{
    const drovek_planes images = numbers(x), derivatives = numbers(dy);
    const drovek_conv_pooled not_pooled = {.pool = NULL};
    if (v->places.images == NULL) return false;
    drovek_conv_places_sum(&v->places, &images, &derivatives, &not_pooled, n_rows,
                           v->wide != NULL ? v->wide : dw);
    if (v->wide != NULL)
        drovek_byte_matrix_fold(&v->blocks, conv->opt.kernels, &conv->opt.shape, v->wide, 1, dw);
    return true;
}
