/* engine/accel/conv.c - convolution on a device: by the kind's library where it has it, else im2col
 * and matrix products; see layers.h.
 *
 * A library (drove_accel_conv_ops) wants the weights of each output channel side by side, so W is
 * turned before it and its gradient after it, in the scratch memory.
 *
 * im2col: images are taken in chunks, so that the matrix of columns has a bounded size (of one
 * image at least).  A convolution of 1 x 1 without step or margin needs none: the images are it.
 * Groups are the products of a batch.  The gradient of W is a sum over all places of a batch:
 * where W is small, the places of a chunk are cut into n_parts parts, each with a sum of its own,
 * so that a device has work for all its units; the parts are added up in their order.
 */
#include "engine/accel/layers.h"

#include "base/mem.h"

enum {
    COLUMN_FLOATS = 1 << 20, /* of a chunk, about */
    PART_FLOATS = 1 << 16,   /* of all parts of a gradient, about */
    MOST_PARTS = 16
};

typedef struct conv { /* sizes of a convolution, per group where there are groups */
    const drove_layer *y;
    size_t groups, places; /* of an output image */
    size_t k, o;           /* numbers that a window sees; channels of the output */
    bool is_plain;         /* 1 x 1 */
    size_t chunk;          /* images */
    size_t n_parts;
} conv;

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static conv sizes_of(const drove_layer *y, size_t rows)
{
    const drovek_window *w = &y->opt.window;
    conv v = {.y = y, .groups = y->opt.groups > 0 ? y->opt.groups : 1};
    v.places = y->out.h * y->out.w;
    v.k = y->fan_in;
    v.o = y->out.c / v.groups;
    v.is_plain = v.k == y->in.c / v.groups && w->sh <= 1 && w->sw <= 1 && y->out.h == y->in.h &&
                 y->out.w == y->in.w;
    size_t fit = COLUMN_FLOATS / (v.places * v.k * v.groups);
    v.chunk = v.is_plain ? rows : least(rows, fit > 0 ? fit : 1);
    size_t parts = PART_FLOATS / (v.k * v.o);
    v.n_parts = v.groups > 1 || parts == 0 ? 1 : least(parts, MOST_PARTS);
    return v;
}

size_t drove__accel_conv_scratch(const drove_layer *y, size_t rows)
{
    conv v = sizes_of(y, rows);
    size_t columns = v.is_plain ? 0 : v.chunk * v.places * v.k * v.groups;
    size_t n = drove__pad_floats(columns) + (v.n_parts > 1 ? v.n_parts * y->n_w : 0);
    return v.is_plain || n > y->n_w ? n : y->n_w; /* of a library: W turned */
}

/* ---- by a library ---- */

drove_status drove__accel_conv_prepare(drove_engine *e, size_t layer)
{
    const drove_layer *y = &e->model->layer[layer];
    if (y->ops != &drove__layer_convolution || e->ops->conv == NULL) return DROVE_OK;
    if (sizes_of(y, e->max_rows).is_plain) return DROVE_OK; /* a product as it is */
    drove_numbers k = drove__accel_numbers(y);
    return e->ops->conv->create(e->work, &k, e->max_rows, &e->pass.conv[layer]);
}

static bool by_library(const drove_engine *e, size_t layer, drove_accel_conv_part part)
{
    drove_accel_conv *c = e->pass.conv[layer];
    return c != NULL && e->ops->conv->can(c, part, e->present->n_rows);
}

/* to[group][n][m] = from[group][m][n] */
static drove_status turn(drove_engine *e, const conv *v, size_t m, size_t n, drove_accel_view from,
                         drove_accel_view to)
{
    drove_accel_job job = {DROVE_JOB_to_rows, {from, to}, {.h = (unsigned)n, .w = 1}};
    job.k.rows = (unsigned)(v->groups * n);
    job.k.cols = (unsigned)m;
    return drove__accel_job(e, &job);
}

/* *done false: the library has turned it down. */
static drove_status run_library(drove_engine *e, size_t layer, drove_accel_conv_part part,
                                drove_accel_view x, drove_accel_view y, bool adds, bool *done)
{
    drove_accel_view w = drove__accel_view(e->pass.scratch, 0);
    drove_status status =
        e->ops->conv->run(e->pass.conv[layer], part, e->present->n_rows, x, w, y, adds);
    *done = status == DROVE_OK;
    return status == DROVE_E_UNSUPPORTED ? DROVE_OK : drove__accel_try(e, status);
}

/* Forward, or the derivative at the images. */
static drove_status by_weights(drove_engine *e, size_t layer, const conv *v,
                               drove_accel_conv_part part, drove_accel_view x, drove_accel_view y,
                               bool adds, bool *done)
{
    *done = false;
    if (!by_library(e, layer, part)) return DROVE_OK;
    DROVE_TRY(turn(e, v, v->k, v->o, drove__params_w(e, e->params.theta, layer),
                   drove__accel_view(e->pass.scratch, 0)));
    return run_library(e, layer, part, x, y, adds, done);
}

/* ---- by im2col ---- */

/* Rows of a matrix of columns, and how far apart those of two groups are. */
typedef struct matrix {
    drove_accel_view at;
    size_t ld, stride;
} matrix;

static drove_accel_view moved(drove_accel_view v, size_t n)
{
    v.offset += n;
    return v;
}

/* The places of images first .. first + n - 1 as rows of what their windows see. */
static drove_status columns_of(drove_engine *e, size_t layer, const conv *v, size_t first, size_t n,
                               matrix *out)
{
    drove_accel_view x = moved(drove__accel_x(e, layer, 0), first * v->y->n_in);
    if (v->is_plain) {
        *out = (matrix){x, v->y->in.c, v->k};
        return DROVE_OK;
    }
    size_t rows = n * v->places;
    *out = (matrix){drove__accel_view(e->pass.scratch, 0), v->k, rows * v->k};
    drove_accel_job job = {DROVE_JOB_im2col, {x, out->at}, drove__accel_numbers(v->y)};
    job.k.rows = (unsigned)rows;
    job.k.cols = (unsigned)(v->k * v->groups);
    return drove__accel_job(e, &job);
}

drove_status drove__accel_conv_forward(drove_engine *e, size_t layer)
{
    const drove_layer *y = &e->model->layer[layer];
    size_t n_rows = e->present->n_rows;
    conv v = sizes_of(y, n_rows);
    bool done;
    DROVE_TRY(by_weights(e, layer, &v, DROVE_ACCEL_CONV_FORWARD, drove__accel_x(e, layer, 0),
                         drove__accel_y(e, layer), false, &done));
    drove_accel_view w = drove__params_w(e, e->params.theta, layer), out = drove__accel_y(e, layer);
    for (size_t first = 0, n; !done && first < n_rows; first += n) {
        matrix cols;
        n = least(v.chunk, n_rows - first);
        DROVE_TRY(columns_of(e, layer, &v, first, n, &cols));
        DROVE_ACCEL_TRY(e,
                        e->ops->gemm_batch(e->work, false, false, n * v.places, v.o, v.k, 1.0f,
                                           cols.at, cols.ld, cols.stride, w, v.o, v.k * v.o, 0.0f,
                                           moved(out, first * y->n_out), y->out.c, v.o, v.groups));
    }
    return drove__accel_finish_forward(e, layer, n_rows * v.places, y->out.c);
}

/* dW (+)= cols' dy over `places` rows, into n_parts sums; what is left over goes to the first. */
static drove_status sum_weights(drove_engine *e, const conv *v, const matrix *cols,
                                drove_accel_view dy, size_t places, bool adds, drove_accel_view dw)
{
    size_t each = places / v->n_parts, rest = places - each * v->n_parts, n_w = v->k * v->o;
    size_t o = v->y->out.c;
    float beta = adds ? 1.0f : 0.0f;
    if (v->n_parts == 1) {
        return drove__accel_try(e, e->ops->gemm_batch(e->work, true, false, v->k, v->o, places,
                                                      1.0f, cols->at, cols->ld, cols->stride, dy, o,
                                                      v->o, beta, dw, v->o, n_w, v->groups));
    }
    if (each == 0 && !adds) DROVE_ACCEL_TRY(e, e->ops->zero(e->work, dw, v->n_parts * n_w));
    if (each > 0) {
        DROVE_ACCEL_TRY(e, e->ops->gemm_batch(e->work, true, false, v->k, v->o, each, 1.0f,
                                              cols->at, cols->ld, each * cols->ld, dy, o, each * o,
                                              beta, dw, v->o, n_w, v->n_parts));
    }
    if (rest == 0) return DROVE_OK;
    size_t from = each * v->n_parts;
    return drove__accel_try(e, e->ops->gemm(e->work, true, false, v->k, v->o, rest, 1.0f,
                                            moved(cols->at, from * cols->ld), cols->ld,
                                            moved(dy, from * o), o, 1.0f, dw, v->o));
}

drove_status drove__accel_conv_weights(drove_engine *e, size_t layer)
{
    const drove_layer *y = &e->model->layer[layer];
    size_t n_rows = e->present->n_rows;
    conv v = sizes_of(y, n_rows);
    bool done = false;
    DROVE_TRY(drove__accel_begin_backward(e, layer, n_rows * v.places, y->out.c));
    if (by_library(e, layer, DROVE_ACCEL_CONV_WEIGHTS))
        DROVE_TRY(run_library(e, layer, DROVE_ACCEL_CONV_WEIGHTS, drove__accel_x(e, layer, 0),
                              drove__accel_dy(e, layer), false, &done));
    drove_accel_view dy = drove__accel_dy(e, layer), dw = drove__params_w(e, e->params.grad, layer);
    if (done) return turn(e, &v, v.o, v.k, drove__accel_view(e->pass.scratch, 0), dw);
    drove_accel_view sums = dw;
    if (v.n_parts > 1) {
        size_t columns = v.is_plain ? 0 : v.chunk * v.places * v.k;
        sums = drove__accel_view(e->pass.scratch, drove__pad_floats(columns));
    }
    for (size_t first = 0, n; first < n_rows; first += n) {
        matrix cols;
        n = least(v.chunk, n_rows - first);
        DROVE_TRY(columns_of(e, layer, &v, first, n, &cols));
        DROVE_TRY(
            sum_weights(e, &v, &cols, moved(dy, first * y->n_out), n * v.places, first > 0, sums));
    }
    if (v.n_parts == 1) return DROVE_OK;
    drove_accel_job fold = {DROVE_JOB_fold, {sums, dw}, drove__accel_vector(y->n_w)};
    fold.k.o = (unsigned)v.n_parts;
    return drove__accel_job(e, &fold);
}

drove_status drove__accel_conv_data(drove_engine *e, size_t layer, unsigned i)
{
    const drove_layer *y = &e->model->layer[layer];
    size_t n_rows = e->present->n_rows;
    conv v = sizes_of(y, n_rows);
    bool done;
    drove_accel_view dx = drove__accel_dx(e, layer, i), dy = drove__accel_dy(e, layer);
    DROVE_TRY(by_weights(e, layer, &v, DROVE_ACCEL_CONV_DATA, dx, dy, y->adds[i], &done));
    drove_accel_view w = drove__params_w(e, e->params.theta, layer);
    drove_accel_view columns = drove__accel_view(e->pass.scratch, 0);
    for (size_t first = 0, n; !done && first < n_rows; first += n) {
        n = least(v.chunk, n_rows - first);
        size_t rows = n * v.places;
        drove_accel_view part = moved(dx, first * y->n_in);
        matrix to = {columns, v.k, rows * v.k};
        if (v.is_plain) to = (matrix){part, y->in.c, v.k};
        float beta = v.is_plain && y->adds[i] ? 1.0f : 0.0f;
        DROVE_ACCEL_TRY(e, e->ops->gemm_batch(e->work, false, true, rows, v.k, v.o, 1.0f,
                                              moved(dy, first * y->n_out), y->out.c, v.o, w, v.o,
                                              v.k * v.o, beta, to.at, to.ld, to.stride, v.groups));
        if (v.is_plain) continue;
        drove_accel_job job = {DROVE_JOB_col2im, {columns, part}, drove__accel_numbers(y)};
        job.k.rows = (unsigned)(n * y->in.h * y->in.w);
        job.k.cols = (unsigned)y->in.c;
        job.k.o = (unsigned)rows;
        job.k.adds = y->adds[i];
        DROVE_TRY(drove__accel_job(e, &job));
    }
    return DROVE_OK;
}
