/* engine/linear/steps.c - the steps of low-precision linear models: one dot and one AXPY per
 * example and output, straight on the shared numbers.
 *
 * Source: De Sa et al., ISCA 2017, Figure 1 (the step), sections 5.1, 5.2 and 5.4.  In a call of
 * many steps the AXPY of an example and the dot of the next one are a single pass over the model,
 * which is still Algorithm 1: every element is updated before the next dot reads it.
 *
 * In units: output z = dot * data_scale * model_scale + intercept; the AXPY's factor, in model
 * units per data unit, is -eta / batch * dloss/dz * data_scale / model_scale.
 *
 * A G term, section 3: outputs (the paper's xi_dot_w, with the intercept) and the derivatives by
 * them (its scale_a, without eta) are rounded to fixed point of that many bits, and saturate.  What
 * is summed over the examples of a batch is not.
 *
 * Weight decay: the decay of K steps, 1 - (1 - eta lambda)^K, is put into one pass over the model,
 * with K the fewest steps for which that is at least DECAY_LEAST; a shrinking by less would be lost
 * in the rounding's noise and cost a pass for each step.  settle makes up for the rest.
 *
 * Threads: an engine belongs to one thread; the shared words are racy (docs/inside/memory-model.md,
 * R8), the rest is read only.
 */
#include "engine/linear/engine.h"

#include "base/racy.h"

#include <math.h>
#include <string.h>

static const double DECAY_LEAST = 1.0 / 256.0;

typedef struct call { /* one call of steps */
    drove_engine *e;
    uint32_t *words;
    const drove_batch *batch;
    double eta;
    drove_steps out;
} call;

/* ---- the shared vector ---- */

static void *weights(const call *c, size_t output)
{
    const drove_engine_shared *p = c->e->p;
    return (char *)c->words + drove__numbers_bytes(p->precision.model, output * p->stride);
}

static float *intercept(const call *c, size_t output)
{
    return (float *)(c->words + c->e->p->layout.tail) + output;
}

static double output_of(const call *c, size_t output, double dot)
{
    const drove_engine_shared *p = c->e->p;
    return dot * (double)p->quant->scale * (double)p->model_scale +
           (double)drove__racy_load(intercept(c, output));
}

/* ---- rows ---- */

static const void *dense_row(const drove_engine_shared *p, size_t row)
{
    return (const char *)p->quant->value + row * p->quant->row_bytes;
}

static drovek_pairs sparse_row(const drove_engine_shared *p, size_t row)
{
    const drove_quant *q = p->quant;
    uint64_t first = q->row_start[row];
    return (drovek_pairs){
        .index = (const char *)q->index + first * (q->index_bits / 8),
        .value = (const char *)q->value + first * drove__number_size(q->number),
        .n_stored = (size_t)(q->row_start[row + 1] - first),
    };
}

static unsigned index_slot(const drove_quant *q)
{
    return q->index_bits == 8 ? 0 : q->index_bits == 16 ? 1 : 2;
}

/* z[n_outputs] of one example. */
static void outputs(call *c, size_t row, double *z)
{
    const drove_engine_shared *p = c->e->p;
    const drovek_linear *k = &p->kernels->linear;
    drove_number d = p->precision.data, m = p->precision.model;
    if (p->quant->index_bits == 0) {
        const void *x = dense_row(p, row);
        for (size_t o = 0; o < p->n_outputs; o++)
            z[o] = output_of(c, o, k->dot[d][m](x, weights(c, o), p->n_features));
        return;
    }
    drovek_pairs pairs = sparse_row(p, row);
    for (size_t o = 0; o < p->n_outputs; o++)
        z[o] = output_of(c, o, k->spdot[d][index_slot(p->quant)][m](&pairs, weights(c, o)));
}

/* ---- derivatives of the loss ---- */

static double short_derivative(drove_short_loss loss, double z, double y)
{
    switch (loss) {
    case DROVE_LOGISTIC: return -y / (1.0 + exp(y * z));
    case DROVE_HINGE: return y * z >= 1.0 ? 0.0 : -y;
    case DROVE_SQUARED: return z - y;
    case DROVE_LONG_LOSS: break;
    }
    return 0.0;
}

static void long_derivatives(drove_engine *e, const uint32_t *row, size_t n_rows, const double *z,
                             double *dz)
{
    drove_target target;
    drove_score unused = {0};
    size_t n = n_rows * e->p->n_outputs;
    drove__targets_load(&e->targets, e->p->data, e->p->order, row, n_rows, &target);
    for (size_t i = 0; i < n; i++) e->pass.out[0][i] = (float)z[i];
    drove__model_loss(e->p->model, e->p->kernels, &target, n_rows, 1.0f, &e->pass, &unused);
    for (size_t i = 0; i < n; i++) dz[i] = (double)e->pass.delta[0][i];
}

static void exact_derivatives(drove_engine *e, const uint32_t *row, size_t n_rows, const double *z,
                              double *dz)
{
    const drove_engine_shared *p = e->p;
    if (p->short_loss == DROVE_LONG_LOSS) {
        long_derivatives(e, row, n_rows, z, dz);
        return;
    }
    for (size_t i = 0; i < n_rows; i++)
        dz[i] = short_derivative(p->short_loss, z[i],
                                 (double)(p->y != NULL ? p->y[row[i]]
                                                       : drove__linear_target(p, row[i])));
    if (p->weight == NULL && !(p->y == NULL && drove__data_is_weighted(p->data))) return;
    for (size_t i = 0; i < n_rows; i++)
        dz[i] *= (double)(p->weight != NULL ? p->weight[row[i]] : drove__linear_weight(p, row[i]));
}

/* To whole multiples of range / (2^(bits - 1) - 1), by equation 4: the largest is the range. */
static void round_numbers(drove_engine *e, double *value, size_t n, double range)
{
    const double most = (double)((1u << (e->p->precision.gradient_bits - 1)) - 1);
    const double unit = range / most;
    for (size_t i = 0; i < n; i++) {
        const double whole = floor(value[i] / unit + drove__rounder_u(&e->rounder));
        value[i] = fmin(fmax(whole, -most), most) * unit;
    }
}

/* dz[n_rows][n_outputs] of the examples row[n_rows] with these outputs, which a G term rounds. */
static void derivatives(call *c, const uint32_t *row, size_t n_rows, double *z, double *dz)
{
    drove_engine *e = c->e;
    const drove_engine_shared *p = e->p;
    const size_t n = n_rows * p->n_outputs;
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(z[i])) c->out.is_finite = false;
    }
    if (p->precision.gradient_bits != 0) round_numbers(e, z, n, p->precision.output_range);
    exact_derivatives(e, row, n_rows, z, dz);
    if (p->precision.gradient_bits != 0) round_numbers(e, dz, n, p->precision.derivative_range);
}

/* ---- writing ---- */

/* Change of a parameter's number per unit of the data, for a derivative of 1. */
static double unit_step(const call *c, size_t n_rows)
{
    const drove_engine_shared *p = c->e->p;
    return -c->eta / (double)n_rows * (double)p->quant->scale / (double)p->model_scale;
}

static void move_intercept(const call *c, size_t output, double gradient)
{
    float *b = intercept(c, output);
    drove__racy_store(b, (float)((double)drove__racy_load(b) - c->eta * gradient));
}

/* For an AXPY of n_rows examples over n numbers. */
static drovek_bits *bits_for(drove_engine *e, size_t n_rows, size_t n)
{
    const drove_precision *f = &e->p->precision;
    return drove__rounder_next(&e->rounder, f->data, f->model, n_rows > 1, n);
}

/* Adds alpha[i] x[i] of n rows to the weights of an output, in one write. */
static void write_dense(call *c, size_t output, size_t n)
{
    drove_engine *e = c->e;
    const drove_engine_shared *p = e->p;
    drove_number d = p->precision.data, m = p->precision.model;
    if (n == 0) return;
    drove__factor_make(d, m, e->alpha, n, &e->rounder, e->factor);
    c->out.n_clamped += p->kernels->linear.axpy[d][m](weights(c, output), e->x, e->factor, n,
                                                      p->n_features, bits_for(e, n, p->n_features));
}

static void write_sparse(call *c, size_t output, size_t row, double alpha)
{
    drove_engine *e = c->e;
    const drove_engine_shared *p = e->p;
    drove_number d = p->precision.data, m = p->precision.model;
    drovek_pairs pairs = sparse_row(p, row);
    drove__factor_make(d, m, &alpha, 1, &e->rounder, e->factor);
    drovek_spaxpy_fn *axpy = p->kernels->linear.spaxpy[d][index_slot(p->quant)][m];
    c->out.n_clamped += axpy(weights(c, output), &pairs, e->factor, bits_for(e, 1, pairs.n_stored));
}

/* ---- weight decay ---- */

static void decay(call *c, double kappa)
{
    drove_engine *e = c->e;
    const drove_engine_shared *p = e->p;
    drove_number m = p->precision.model;
    for (size_t o = 0; o < p->n_outputs; o++) {
        drovek_bits *bits = drove__rounder_next(&e->rounder, DROVE_F32, m, false, p->n_features);
        p->kernels->linear.decay[m](weights(c, o), p->n_features, (float)kappa, bits);
        float *b = intercept(c, o);
        drove__racy_store(b, (float)((double)drove__racy_load(b) * (1.0 - kappa)));
    }
}

/* One step's part; true: a pass is due.  problem.c has seen to it that eta lambda < 1. */
static bool decay_is_due(call *c)
{
    const drove_engine_shared *p = c->e->p;
    if (p->weight_decay == 0.0) return false;
    c->e->pending += log1p(-c->eta * p->weight_decay);
    return -expm1(c->e->pending) >= DECAY_LEAST;
}

static void decay_now(call *c)
{
    decay(c, -expm1(c->e->pending));
    c->e->pending = 0.0;
}

/* ---- steps ---- */

/* The weights' part of one dense step with derivatives dz, and the outputs z_next of example `next`
 * (NULL: there is none). */
static void dense_step(call *c, const void *x, const double *dz, const void *next,
                       const void *ahead, double *z_next)
{
    drove_engine *e = c->e;
    const drove_engine_shared *p = e->p;
    const drovek_linear *k = &p->kernels->linear;
    drove_number d = p->precision.data, m = p->precision.model;
    double unit = unit_step(c, 1);
    for (size_t o = 0; o < p->n_outputs; o++) {
        void *w = weights(c, o);
        double dot = 0.0;
        e->alpha[0] = unit * dz[o];
        e->x[0] = x;
        if (dz[o] != 0.0) move_intercept(c, o, dz[o]);
        if (next == NULL) {
            write_dense(c, o, dz[o] != 0.0);
            continue;
        }
        if (dz[o] != 0.0) {
            size_t clamped = 0;
            drove__factor_make(d, m, e->alpha, 1, &e->rounder, e->factor);
            dot = k->axpy_dot[d][m](w, x, e->factor, next, ahead, p->n_features,
                                    bits_for(e, 1, p->n_features), &clamped);
            c->out.n_clamped += clamped;
        } else {
            dot = k->dot[d][m](next, w, p->n_features);
        }
        z_next[o] = output_of(c, o, dot);
    }
}

/* The example after row[i + 1] as a hint of axpy_dot, or NULL: hints read on behind row[i + 1], and
 * would be wasted where the example after it lies elsewhere. */
static const void *hint(const call *c, size_t i)
{
    const drove_engine_shared *p = c->e->p;
    const uint32_t *row = c->batch->row;
    size_t n = c->batch->n_rows, bytes = p->quant->row_bytes;
    if (!p->hints || i + 1 >= n) return NULL;
    const void *behind = (const char *)dense_row(p, row[i + 1]) + bytes;
    const void *ahead = i + 2 < n ? dense_row(p, row[i + 2]) : behind;
    return ahead == behind || bytes >= DROVEK_HINT_BYTES ? ahead : NULL;
}

/* One example an update; each AXPY is fused with the dot of the next example. */
static void dense_singles(call *c)
{
    const drove_engine_shared *p = c->e->p;
    const uint32_t *row = c->batch->row;
    size_t n = c->batch->n_rows;
    double *z = c->e->z, *dz = c->e->dz;
    outputs(c, row[0], z);
    for (size_t i = 0; i < n; i++) {
        derivatives(c, row + i, 1, z, dz);
        bool due = decay_is_due(c);
        const void *next = i + 1 < n && !due ? dense_row(p, row[i + 1]) : NULL;
        dense_step(c, dense_row(p, row[i]), dz, next, hint(c, i), z);
        if (!due) continue;
        decay_now(c);
        if (i + 1 < n) outputs(c, row[i + 1], z);
    }
    c->out.n_steps += n;
}

static void prefetch_sparse(const drove_engine_shared *p, const uint32_t *row, size_t i, size_t n)
{
    if (i >= n || !p->hints) return;
    drovek_pairs pairs = sparse_row(p, row[i]);
    size_t bytes = pairs.n_stored < 1024 ? pairs.n_stored : 1024;
    for (size_t at = 0; at < bytes * (p->quant->index_bits / 8); at += DROVE_CACHE_LINE)
        __builtin_prefetch((const char *)pairs.index + at);
    for (size_t at = 0; at < bytes * drove__number_size(p->quant->number); at += DROVE_CACHE_LINE)
        __builtin_prefetch((const char *)pairs.value + at);
}

static void sparse_singles(call *c)
{
    const drove_engine_shared *p = c->e->p;
    const uint32_t *row = c->batch->row;
    size_t n = c->batch->n_rows;
    double *z = c->e->z, *dz = c->e->dz, unit = unit_step(c, 1);
    for (size_t i = 0; i < n; i++) {
        prefetch_sparse(p, row, i + 2, n);
        outputs(c, row[i], z);
        derivatives(c, row + i, 1, z, dz);
        for (size_t o = 0; o < p->n_outputs; o++) {
            if (dz[o] == 0.0) continue;
            write_sparse(c, o, row[i], unit * dz[o]);
            move_intercept(c, o, dz[o]);
        }
        if (decay_is_due(c)) decay_now(c);
    }
    c->out.n_steps += n;
}

/* The weights' part of an update, output o: the products are summed in the kernel (section 5.4),
 * of more than DROVE_FACTOR_ROWS examples in several writes. */
static void write_dense_batch(call *c, const uint32_t *row, size_t n_rows, size_t o)
{
    drove_engine *e = c->e;
    const drove_engine_shared *p = e->p;
    double unit = unit_step(c, n_rows);
    size_t n = 0;
    for (size_t i = 0; i < n_rows; i++) {
        double dz = e->dz[i * p->n_outputs + o];
        if (dz == 0.0) continue;
        e->alpha[n] = unit * dz;
        e->x[n++] = dense_row(p, row[i]);
        if (n < DROVE_FACTOR_ROWS) continue;
        write_dense(c, o, n);
        n = 0;
    }
    write_dense(c, o, n);
}

/* Adds dz x of one example to the sum; returns how many places the sum then has. */
static size_t add_sparse(drove_engine *e, size_t row, float dz, size_t n_places)
{
    size_t n = drove__quant_row(e->p->quant, row, e->index, e->number);
    for (size_t k = 0; k < n; k++) {
        uint32_t j = e->index[k];
        e->sum[j] += dz * e->number[k];
        e->place[n_places] = j;
        n_places += !e->is_seen[j];
        e->is_seen[j] = 1;
    }
    return n_places;
}

/* The same for sparse examples: their sum, then one write of each element that they touch. */
static void write_sparse_batch(call *c, const uint32_t *row, size_t n_rows, size_t o)
{
    drove_engine *e = c->e;
    const drove_engine_shared *p = e->p;
    drove_number m = p->precision.model;
    size_t n = 0;
    for (size_t i = 0; i < n_rows; i++) {
        double dz = e->dz[i * p->n_outputs + o];
        if (dz != 0.0) n = add_sparse(e, row[i], (float)dz, n);
    }
    for (size_t k = 0; k < n; k++) {
        e->value[k] = e->sum[e->place[k]];
        e->sum[e->place[k]] = 0.0f;
        e->is_seen[e->place[k]] = 0;
    }
    drovek_pairs pairs = {.index = e->place, .value = e->value, .n_stored = n};
    drovek_factor factor = {.f = (float)(-c->eta / (double)n_rows / (double)p->model_scale)};
    drovek_bits *bits = drove__rounder_next(&e->rounder, DROVE_F32, m, false, n);
    c->out.n_clamped +=
        p->kernels->linear.spaxpy[DROVE_F32][2][m](weights(c, o), &pairs, &factor, bits);
}

static void write_batch(call *c, const uint32_t *row, size_t n_rows, size_t o)
{
    const drove_engine_shared *p = c->e->p;
    double gradient = 0.0;
    for (size_t i = 0; i < n_rows; i++) gradient += c->e->dz[i * p->n_outputs + o];
    if (p->quant->index_bits != 0) write_sparse_batch(c, row, n_rows, o);
    else write_dense_batch(c, row, n_rows, o);
    move_intercept(c, o, gradient / (double)n_rows);
}

/* `each` examples an update: all outputs first, then the one step from all of them. */
static void batches(call *c)
{
    drove_engine *e = c->e;
    const drove_engine_shared *p = e->p;
    for (size_t first = 0; first < c->batch->n_rows; first += p->each) {
        const uint32_t *row = c->batch->row + first;
        size_t left = c->batch->n_rows - first, n = left < p->each ? left : p->each;
        for (size_t i = 0; i < n; i++) outputs(c, row[i], e->z + i * p->n_outputs);
        derivatives(c, row, n, e->z, e->dz);
        for (size_t o = 0; o < p->n_outputs; o++) write_batch(c, row, n, o);
        if (decay_is_due(c)) decay_now(c);
        c->out.n_steps++;
    }
}

drove_status drove__linear_steps(drove_engine *e, const drove_params *live,
                                 const drove_batch *batch, float eta, drove_steps *out)
{
    call c = {
        .e = e, .words = live->words, .batch = batch, .eta = (double)eta, .out.is_finite = true};
    if (batch->n_rows == 0) return drove__fail(DROVE_E_ARG, "batch: expected at least 1 example");
    if (e->p->precision.model != DROVE_F32 || e->p->precision.gradient_bits != 0)
        drove__rounder_seed(&e->rounder, e->p->seed, batch->number);
    if (e->p->each > 1) batches(&c);
    else if (e->p->quant->index_bits == 0) dense_singles(&c);
    else sparse_singles(&c);
    *out = c.out;
    return DROVE_OK;
}

void drove__linear_settle(drove_engine *e, uint32_t *words)
{
    call c = {.e = e, .words = words};
    if (e->pending != 0.0) decay_now(&c);
}
