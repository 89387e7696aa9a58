/* data/quant_rows.c - reads, copies and checks the rows of quantised data sets. */
#include "data/quant.h"

#include "base/mem.h"
#include "base/status.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *drove__quant_name(drove_number number, unsigned index_bits)
{
    static const char *const names[DROVE_NUMBERS][4] = {
        [DROVE_I4] = {"D4"},
        [DROVE_I8] = {"D8", "D8i8", "D8i16", "D8i32"},
        [DROVE_I16] = {"D16", "D16i8", "D16i16", "D16i32"},
        [DROVE_F32] = {"D32f", "D32fi8", "D32fi16", "D32fi32"},
    };
    return names[number][index_bits == 32 ? 3 : index_bits / 8];
}

size_t drove__quant_row_bytes(drove_number number, size_t n_features)
{
    size_t bytes = drove__numbers_bytes(number, n_features);
    return (bytes + DROVE_CACHE_LINE - 1) / DROVE_CACHE_LINE * DROVE_CACHE_LINE;
}

/* ---- reading ---- */

static float number_at(const drove_quant *q, const char *value, uint64_t at)
{
    if (q->number == DROVE_I4) return (float)drove__nibble_at(value, at) * q->scale;
    if (q->number == DROVE_I8) return (float)((const int8_t *)value)[at] * q->scale;
    if (q->number == DROVE_I16) return (float)((const int16_t *)value)[at] * q->scale;
    return ((const float *)value)[at];
}

static uint32_t index_at(const drove_quant *q, uint64_t at)
{
    if (q->index_bits == 8) return ((const uint8_t *)q->index)[at];
    if (q->index_bits == 16) return ((const uint16_t *)q->index)[at];
    return ((const uint32_t *)q->index)[at];
}

drove_quant_walk drove__quant_walk(const drove_quant *q, size_t row)
{
    if (q->index_bits == 0) {
        return (drove_quant_walk){.row = (const char *)q->value + row * q->row_bytes,
                                  .end = q->n_features};
    }
    return (
        drove_quant_walk){.row = q->value, .at = q->row_start[row], .end = q->row_start[row + 1]};
}

bool drove__quant_next(const drove_quant *q, drove_quant_walk *walk)
{
    uint32_t most = drove__index_most(q->index_bits);
    bool is_bridge = true;
    while (is_bridge && walk->at < walk->end) {
        uint32_t step = q->index_bits != 0 ? index_at(q, walk->at) : (uint32_t)walk->at;
        walk->place = most > 0 ? walk->place + step : step;
        walk->value = number_at(q, walk->row, walk->at++);
        is_bridge = most > 0 && step == most && walk->value == 0;
    }
    return !is_bridge;
}

/* The numbers of a dense row as floats. */
static void widen(const drove_quant *q, size_t row, float *x)
{
    const char *value = (const char *)q->value + row * q->row_bytes;
    const int8_t *i8 = (const int8_t *)value;
    const int16_t *i16 = (const int16_t *)value;
    size_t n = q->n_features;
    if (q->number == DROVE_I4) {
        for (size_t i = 0; i < n; i++) x[i] = (float)drove__nibble_at(value, i) * q->scale;
    } else if (q->number == DROVE_I8) {
        for (size_t i = 0; i < n; i++) x[i] = (float)i8[i] * q->scale;
    } else if (q->number == DROVE_I16) {
        for (size_t i = 0; i < n; i++) x[i] = (float)i16[i] * q->scale;
    } else {
        memcpy(x, value, n * sizeof *x);
    }
}

size_t drove__quant_row(const drove_quant *q, size_t row, uint32_t *index, float *x)
{
    size_t n = 0;
    if (q->index_bits == 0) {
        widen(q, row, x);
        return q->n_features;
    }
    drove_quant_walk walk = drove__quant_walk(q, row);
    for (; drove__quant_next(q, &walk); n++) {
        index[n] = walk.place;
        x[n] = walk.value;
    }
    return n;
}

void drove__quant_unpack(const drove_quant *q, size_t row, size_t n_features, float *x)
{
    if (q->index_bits == 0) {
        widen(q, row, x);
        return;
    }
    memset(x, 0, n_features * sizeof *x);
    drove_quant_walk walk = drove__quant_walk(q, row);
    while (drove__quant_next(q, &walk)) x[walk.place] = walk.value;
}

/* ---- copying ---- */

static uint64_t row_pairs(const drove_quant *q, size_t row)
{
    return q->row_start[row + 1] - q->row_start[row];
}

drove_status drove__quant_alloc_pairs(drove_quant *q)
{
    const size_t size_bytes = drove__number_size(q->number), index_bytes = q->index_bits / 8;
    q->n_stored = q->row_start[q->n_rows];
    q->value = drove__alloc((size_t)q->n_stored, size_bytes);
    q->index = drove__alloc((size_t)q->n_stored, index_bytes);
    if (q->value != NULL && q->index != NULL) return DROVE_OK;
    return drove__fail_nomem("quantised data", (size_t)q->n_stored * (size_bytes + index_bytes));
}

static drove_status allocate(drove_quant *to, const drove_quant *q, const uint32_t *row)
{
    if (q->index_bits == 0) {
        to->value = drove__alloc(to->n_rows, q->row_bytes);
        if (to->value != NULL) return DROVE_OK;
        return drove__fail_nomem("quantised data", to->n_rows * q->row_bytes);
    }
    to->row_start = drove__alloc(to->n_rows + 1, sizeof *to->row_start);
    if (to->row_start == NULL)
        return drove__fail_nomem("quantised data", (to->n_rows + 1) * sizeof *to->row_start);
    for (size_t i = 0; i < to->n_rows; i++)
        to->row_start[i + 1] = to->row_start[i] + row_pairs(q, row[i]);
    return drove__quant_alloc_pairs(to);
}

drove_status drove__quant_copy(const drove_quant *q, const uint32_t *row, size_t n_rows,
                               drove_quant **out)
{
    *out = NULL;
    drove_quant *to = calloc(1, sizeof *to);
    if (to == NULL) return drove__fail_nomem("quantised data", sizeof *to);
    *to = (drove_quant){.number = q->number,
                        .index_bits = q->index_bits,
                        .scale = q->scale,
                        .n_rows = n_rows,
                        .n_features = q->n_features,
                        .row_bytes = q->row_bytes,
                        .n_clamped = q->n_clamped,
                        .n_users = 1};
    drove_status status = allocate(to, q, row);
    if (status != DROVE_OK) {
        drove__quant_release(to);
        return status;
    }
    if (q->index_bits == 0) {
        for (size_t i = 0; i < to->n_rows; i++)
            memcpy((char *)to->value + i * q->row_bytes,
                   (const char *)q->value + row[i] * q->row_bytes, q->row_bytes);
    } else {
        size_t size_bytes = drove__number_size(q->number), index_bytes = q->index_bits / 8;
        for (size_t i = 0; i < to->n_rows; i++) {
            size_t n = (size_t)row_pairs(q, row[i]);
            memcpy((char *)to->value + to->row_start[i] * size_bytes,
                   (const char *)q->value + q->row_start[row[i]] * size_bytes, n * size_bytes);
            memcpy((char *)to->index + to->row_start[i] * index_bytes,
                   (const char *)q->index + q->row_start[row[i]] * index_bytes, n * index_bytes);
            drove_quant_walk walk = drove__quant_walk(q, row[i]);
            while (drove__quant_next(q, &walk)) n--;
            to->n_bridges += n;
        }
    }
    *out = to;
    return DROVE_OK;
}

/* ---- checking ---- */

/* Whether any of the n numbers cannot come from quantisation.  Each loop sums in the width of its
 * numbers, so that it vectorises. */
static bool has_bad_number(const drove_quant *q, const void *value, size_t n)
{
    const int8_t *i8 = value;
    const int16_t *i16 = value;
    const uint32_t *f32 = value;
    uint8_t bad8 = 0;
    uint16_t bad16 = 0;
    uint32_t bad32 = 0;
    if (q->number == DROVE_I4) {
        bool is_bad = false;
        for (size_t i = 0; i < n + n % 2; i++) {
            int32_t number = drove__nibble_at(value, i);
            is_bad |= number < -drove__number_most(DROVE_I4) || (i == n && number != 0);
        }
        return is_bad;
    }
    if (q->number == DROVE_I8) {
        for (size_t i = 0; i < n; i++) bad8 |= i8[i] == INT8_MIN;
    } else if (q->number == DROVE_I16) {
        for (size_t i = 0; i < n; i++) bad16 |= i16[i] == INT16_MIN;
    } else {
        for (size_t i = 0; i < n; i++) bad32 |= (f32[i] & 0x7f800000u) == 0x7f800000u;
    }
    return (bad8 | bad16 | bad32) != 0;
}

static drove_status fail_number(const char *where, size_t row)
{
    return drove__fail(DROVE_E_DATA, "%s: row %zu: a number is outside its format", where, row + 1);
}

drove_status drove__quant_check_scale(const drove_quant *q, const char *where)
{
    float most = q->number == DROVE_F32 ? 1.0f : (float)drove__number_most(q->number);
    bool is_good = isfinite(q->scale * most) && q->scale >= FLT_MIN;
    if (is_good && (q->number != DROVE_F32 || q->scale == 1)) return DROVE_OK;
    return drove__fail(DROVE_E_DATA, "%s: expected a scale for %s, found %g", where,
                       drove__quant_name(q->number, q->index_bits), (double)q->scale);
}

drove_status drove__quant_check_rows(const drove_quant *q, const drove_quant_span *span)
{
    if (q->index_bits == 0) {
        const size_t used = drove__numbers_bytes(q->number, q->n_features);
        for (size_t i = 0; i < span->n; i++) {
            const char *value = (const char *)q->value + (span->first + i) * q->row_bytes;
            bool is_bad = has_bad_number(q, value, q->n_features);
            for (size_t at = used; at < q->row_bytes; at++) is_bad |= value[at] != 0;
            if (is_bad) return fail_number(span->where, span->shown + i);
        }
        return DROVE_OK;
    }
    const size_t size_bytes = drove__number_size(q->number);
    for (size_t i = 0; i < span->n; i++) {
        const size_t row = span->first + i;
        const uint64_t begin = q->row_start[row];
        const size_t shown = span->shown + (row - span->first) + 1;
        uint32_t most = drove__index_most(q->index_bits);
        uint64_t first = q->row_start[row], place = 0;
        for (uint64_t at = first; at < q->row_start[row + 1]; at++) {
            uint64_t last = place, step = index_at(q, at);
            place = most > 0 ? place + step : step;
            if (place >= span->n_features) {
                return drove__fail(DROVE_E_DATA, "%s: row %zu: feature %llu is not below %zu",
                                   span->where, shown, (unsigned long long)place, span->n_features);
            }
            if (at > first && place <= last) {
                return drove__fail(DROVE_E_DATA, "%s: row %zu: feature numbers do not ascend",
                                   span->where, shown);
            }
        }
        if (has_bad_number(q, (const char *)q->value + begin * size_bytes,
                           (size_t)(q->row_start[row + 1] - begin)))
            return fail_number(span->where, span->shown + i);
    }
    return DROVE_OK;
}

drove_status drove__quant_check(const drove_quant *q, size_t n_features, const char *where)
{
    const drove_quant_span all = {.n = q->n_rows, .n_features = n_features, .where = where};
    DROVE_TRY(drove__quant_check_scale(q, where));
    if (q->index_bits != 0) {
        bool is_bad = q->row_start[0] != 0 || q->row_start[q->n_rows] != q->n_stored;
        for (size_t row = 0; row < q->n_rows; row++)
            is_bad |= q->row_start[row] > q->row_start[row + 1];
        if (is_bad)
            return drove__fail(DROVE_E_DATA, "%s: the starts of the rows do not ascend", where);
    }
    return drove__quant_check_rows(q, &all);
}

void drove__quant_release(drove_quant *q)
{
    if (q == NULL) return;
    /* Release: this user's reads are done.  Acquire, by the last user: so are all others' reads. */
    if (atomic_fetch_sub_explicit(&q->n_users, 1, memory_order_acq_rel) > 1) return;
    drove__free(q->value);
    drove__free(q->row_start);
    drove__free(q->index);
    free(q);
}
