/* data/quant.c - makes quantised data sets from a view.
 *
 * A view is read two or three times (largest magnitude, number of pairs, filling), a few numbers at
 * a time on the stack, so no float copy of it ever exists.  The quotient in double is rounded to
 * nearest, ties to even: the result is the integer nearest to value / scale.
 */
#include "data/quant.h"

#include "base/mem.h"
#include "base/status.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 1024 }; /* numbers of a row processed together; even */

#define ROUNDER 0x1.8p52 /* adding and subtracting it rounds a small double to an integer */

/* ---- the view ---- */

typedef struct source {
    const drove_data *data;
    const drove_storage *s;
    const uint32_t *order; /* NULL: the view's */
} source;

static bool is_sparse(const source *from)
{
    return drove__storage_is_sparse(from->s);
}

/* The storage's row for row i. */
static size_t source_row(const source *from, size_t i)
{
    if (from->order == NULL) return drove__data_row(from->data, i);
    assert(from->order[i] < from->data->n_rows);
    return drove__data_row(from->data, from->order[i]);
}

/* Start and count of the numbers of a row of the storage. */
static size_t row_begin(const source *from, size_t row, size_t *n)
{
    const drove_storage *s = from->s;
    *n = is_sparse(from) ? (size_t)(s->row_start[row + 1] - s->row_start[row]) : s->n_features;
    return is_sparse(from) ? (size_t)s->row_start[row] : row * s->n_features;
}

/* The n <= CHUNK numbers of the storage from `at` on, scaled; dense data: the first one is feature
 * `feature`.  Returns into, or the storage itself. */
static const float *load(const source *from, size_t at, size_t feature, size_t n, float *into)
{
    const drove_storage *s = from->s;
    const float *shift = from->data->shift, *factor = from->data->factor;
    if (s->x_kind == DROVE_X_U8) {
        for (size_t i = 0; i < n; i++) into[i] = (float)s->x_u8[at + i];
    } else if (factor == NULL && s->x_kind == DROVE_X_F32) {
        return s->x_f32 + at;
    } else if (s->x_kind == DROVE_X_F32) {
        memcpy(into, s->x_f32 + at, n * sizeof *into);
    } else if (factor == NULL && s->value != NULL) {
        return s->value + at;
    } else {
        for (size_t i = 0; i < n; i++) into[i] = s->value != NULL ? s->value[at + i] : 1.0f;
    }
    if (factor == NULL) return into;
    if (is_sparse(from)) {
        for (size_t i = 0; i < n; i++) into[i] *= factor[s->index[at + i]];
    } else {
        for (size_t i = 0; i < n; i++)
            into[i] = (into[i] - shift[feature + i]) * factor[feature + i];
    }
    return into;
}

/* ---- the scale ---- */

/* The bits of |x| order as |x| does, infinity and NaN last; integers, because that vectorises. */
static int32_t largest_bits(const float *x, size_t n, int32_t largest)
{
    for (size_t i = 0; i < n; i++) {
        int32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        bits &= INT32_MAX;
        largest = bits > largest ? bits : largest;
    }
    return largest;
}

static drove_status choose_scale(const source *from, const drove_quant_options *opt, drove_quant *q)
{
    bool is_float = opt->number == DROVE_F32;
    float most = (float)drove__number_most(opt->number);
    if (is_float && opt->scale != 0 && opt->scale != 1)
        return drove__fail(DROVE_E_ARG, "scale of floats: expected 1, found %g",
                           (double)opt->scale);
    q->scale = is_float ? 1.0f : opt->scale;
    if (is_float && from->data->factor == NULL) return DROVE_OK; /* finite: checked by reader */
    /* Largest magnitude over the view; infinite or NaN if scaling overflows. */
    float chunk[CHUNK], largest;
    int32_t bits = 0;
    for (size_t i = 0; i < from->data->n_rows; i++) {
        size_t n, at = row_begin(from, source_row(from, i), &n);
        for (size_t done = 0; done < n; done += CHUNK) {
            size_t part = n - done < CHUNK ? n - done : CHUNK;
            bits = largest_bits(load(from, at + done, done, part, chunk), part, bits);
        }
    }
    memcpy(&largest, &bits, sizeof largest);
    if (!isfinite(largest)) {
        return drove__fail(DROVE_E_DATA,
                           "quantisation: the scaled data have a value that is no finite float; "
                           "expected magnitudes of at most %g",
                           (double)FLT_MAX);
    }
    if (is_float) return DROVE_OK;
    if (opt->scale == 0) q->scale = largest > 0 ? largest / most : 1.0f;
    if (isfinite(q->scale * most) && q->scale >= FLT_MIN) return DROVE_OK;
    return drove__fail(DROVE_E_DATA,
                       "quantisation: the scale %s: expected %g to %g, found %g (largest magnitude "
                       "of the data: %g)",
                       q->scale >= FLT_MIN ? "overflows" : "vanishes", (double)FLT_MIN,
                       (double)(FLT_MAX / most), (double)q->scale, (double)largest);
}

/* ---- rounding ---- */

/* into[i] = x[i] / scale, to nearest, clamped to +-most; returns how many were clamped. */
static size_t round_chunk(const float *x, size_t n, float scale, int32_t most, int32_t *into)
{
    const double divisor = (double)scale, end = (double)most, beyond = end + 1;
    int32_t n_clamped = 0;
    for (size_t i = 0; i < n; i++) {
        double number = (double)x[i] / divisor;
        number = number > beyond ? beyond : number < -beyond ? -beyond : number;
        number = (number + ROUNDER) - ROUNDER;
        int32_t integer = (int32_t)number;
        n_clamped += (integer > most) | (integer < -most);
        into[i] = integer > most ? most : integer < -most ? -most : integer;
    }
    return (size_t)n_clamped;
}

/* The numbers of x[n], n <= CHUNK, in q's format. */
static void quantise(drove_quant *q, const float *x, size_t n, void *into)
{
    int32_t integer[CHUNK];
    int8_t *i8 = into;
    int16_t *i16 = into;
    if (q->number == DROVE_F32) {
        memcpy(into, x, n * sizeof *x);
        return;
    }
    q->n_clamped += round_chunk(x, n, q->scale, drove__number_most(q->number), integer);
    if (q->number == DROVE_I4) {
        for (size_t i = 0; i < n; i++) drove__nibble_set(into, i, integer[i]);
    } else if (q->number == DROVE_I8) {
        for (size_t i = 0; i < n; i++) i8[i] = (int8_t)integer[i];
    } else {
        for (size_t i = 0; i < n; i++) i16[i] = (int16_t)integer[i];
    }
}

/* ---- dense ---- */

static drove_status fill_dense(const source *from, drove_quant *q)
{
    float chunk[CHUNK];
    q->row_bytes = drove__quant_row_bytes(q->number, q->n_features);
    q->value = drove__alloc(q->n_rows, q->row_bytes);
    if (q->value == NULL) return drove__fail_nomem("quantised data", q->n_rows * q->row_bytes);
    for (size_t i = 0; i < q->n_rows; i++) {
        size_t n, at = row_begin(from, source_row(from, i), &n);
        char *into = (char *)q->value + i * q->row_bytes;
        for (size_t done = 0; done < n; done += CHUNK) {
            size_t part = n - done < CHUNK ? n - done : CHUNK;
            quantise(q, load(from, at + done, done, part, chunk), part,
                     into + drove__numbers_bytes(q->number, done));
        }
    }
    return DROVE_OK;
}

/* ---- sparse ---- */

/* Bridges of one row. */
static uint64_t count_bridges(const uint32_t *index, size_t n, uint32_t most)
{
    uint64_t n_bridges = 0;
    uint32_t place = 0;
    for (size_t k = 0; k < n; k++) {
        uint32_t gap = index[k] - place;
        if (gap > most) n_bridges += (gap - 1) / most;
        place = index[k];
    }
    return n_bridges;
}

/* Writes pairs of index[n] and the numbers of value[n], from pair `to` on; *place is the index of
 * the previous pair.  Returns the pair after the last.  The zeros of bridges are already there. */
static uint64_t fill_pairs(drove_quant *q, uint64_t to, const uint32_t *index, const char *value,
                           size_t n, uint32_t *place)
{
    size_t size_bytes = drove__number_size(q->number);
    uint32_t most = drove__index_most(q->index_bits);
    for (size_t k = 0; k < n; k++, to++) {
        uint32_t gap = index[k] - *place;
        for (; most > 0 && gap > most; gap -= most) drove__quant_put_index(q, to++, most);
        drove__quant_put_index(q, to, most > 0 ? gap : index[k]);
        memcpy((char *)q->value + to * size_bytes, value + k * size_bytes, size_bytes);
        *place = index[k];
    }
    return to;
}

static drove_status fill_sparse(const source *from, drove_quant *q)
{
    float chunk[CHUNK], value[CHUNK]; /* value: of any format */
    uint32_t most = drove__index_most(q->index_bits);
    q->row_start = drove__alloc(q->n_rows + 1, sizeof *q->row_start);
    if (q->row_start == NULL)
        return drove__fail_nomem("quantised data", (q->n_rows + 1) * sizeof *q->row_start);
    for (size_t i = 0; i < q->n_rows; i++) {
        size_t n, at = row_begin(from, source_row(from, i), &n);
        uint64_t n_bridges = most > 0 ? count_bridges(from->s->index + at, n, most) : 0;
        q->n_bridges += n_bridges;
        q->row_start[i + 1] = q->row_start[i] + n + n_bridges;
    }
    DROVE_TRY(drove__quant_alloc_pairs(q));
    for (size_t i = 0; i < q->n_rows; i++) {
        size_t n, at = row_begin(from, source_row(from, i), &n);
        uint64_t to = q->row_start[i];
        uint32_t place = 0;
        for (size_t done = 0; done < n; done += CHUNK) {
            size_t part = n - done < CHUNK ? n - done : CHUNK;
            quantise(q, load(from, at + done, 0, part, chunk), part, value);
            to = fill_pairs(q, to, from->s->index + at + done, (const char *)value, part, &place);
        }
        assert(to == q->row_start[i + 1]);
    }
    return DROVE_OK;
}

/* ---- making and releasing ---- */

static drove_status check_options(const source *from, const drove_quant_options *opt)
{
    if ((unsigned)opt->number >= DROVE_NUMBERS)
        return drove__fail(DROVE_E_ARG, "quantisation: unknown number format %d", (int)opt->number);
    if (!is_sparse(from) && opt->index_bits != 0) {
        return drove__fail(DROVE_E_ARG,
                           "quantisation: expected no index number for dense data, found i%u",
                           opt->index_bits);
    }
    if (is_sparse(from) && drove__index_most(opt->index_bits) == 0 && opt->index_bits != 32) {
        return drove__fail(DROVE_E_ARG,
                           "quantisation: expected index numbers of 8, 16 or 32 bits for sparse "
                           "data, found %u",
                           opt->index_bits);
    }
    if (is_sparse(from) && opt->number == DROVE_I4)
        return drove__fail(DROVE_E_ARG, "quantisation: expected numbers of 8, 16 or 32 bits for "
                                        "sparse data, found 4");
    if (opt->scale >= 0 && isfinite(opt->scale)) return DROVE_OK;
    return drove__fail(DROVE_E_DATA,
                       "quantisation: expected a scale that is finite and not below 0, found %g",
                       (double)opt->scale);
}

static drove_status take_quantised(const source *from, const drove_quant_options *opt,
                                   drove_quant **out)
{
    drove_quant *q = from->s->quant;
    size_t n = from->data->n_rows;
    /* Refuses options that ask for another format than the view has. */
    if (q->number != opt->number || q->index_bits != opt->index_bits) {
        return drove__fail(DROVE_E_DATA, "the data are quantised already: expected %s, found %s",
                           drove__quant_name(opt->number, opt->index_bits),
                           drove__quant_name(q->number, q->index_bits));
    }
    if (opt->scale != 0 && opt->scale != q->scale)
        return drove__fail(DROVE_E_DATA,
                           "the data are quantised already: expected scale %g, found %g",
                           (double)opt->scale, (double)q->scale);
    if (from->order == NULL && from->data->row == NULL) {
        /* Relaxed: the storage holds a reference, so the count cannot reach 0 meanwhile. */
        atomic_fetch_add_explicit(&q->n_users, 1, memory_order_relaxed);
        *out = q;
        return DROVE_OK;
    }
    uint32_t *row = drove__grow(NULL, n, sizeof *row);
    if (row == NULL) return drove__fail_nomem("quantised data", n * sizeof *row);
    for (size_t i = 0; i < n; i++) row[i] = (uint32_t)source_row(from, i);
    drove_status status = drove__quant_copy(q, row, n, out);
    free(row);
    return status;
}

drove_status drove__quant_create(const drove_data *data, const drove_quant_options *opt,
                                 drove_quant **out)
{
    const source from = {.data = data, .s = data->storage, .order = opt->order};
    *out = NULL;
    DROVE_TRY(check_options(&from, opt));
    if (from.s->x_kind == DROVE_X_QUANT) return take_quantised(&from, opt, out);
    drove_quant *q = calloc(1, sizeof *q);
    if (q == NULL) return drove__fail_nomem("quantised data", sizeof *q);
    q->number = opt->number;
    q->index_bits = opt->index_bits;
    q->n_rows = data->n_rows;
    q->n_features = data->storage->n_features;
    atomic_init(&q->n_users, 1);
    drove_status status = choose_scale(&from, opt, q);
    if (status == DROVE_OK)
        status = is_sparse(&from) ? fill_sparse(&from, q) : fill_dense(&from, q);
    if (status != DROVE_OK) {
        drove__quant_release(q);
        return status;
    }
    *out = q;
    return DROVE_OK;
}
