/* data/quant_random.c - quantised data sets of random numbers, generated in place.  They serve to
 * measure training, so they must be fast to generate and must not repeat.
 *
 * Numbers: xorshift64* (Vigna), eight bytes at a time.  Indices: the features are cut into n_stored
 * parts, and the j-th part gives a row's j-th index, so indices are distinct and ascend without
 * sorting.  The bits of a row depend only on the seed and the row, so pairs can be counted before
 * memory for them is allocated.
 */
#include "base/mem.h"
#include "base/rng.h"
#include "base/status.h"
#include "data/quant.h"

#include <stdlib.h>
#include <string.h>

/* ---- random bits ---- */

typedef struct stream {
    uint64_t state; /* never 0 */
} stream;

static stream start(uint64_t seed, uint64_t number)
{
    drove_rng rng;
    drove__rng_seed(&rng, seed, DROVE_RNG_TEST, number);
    return (stream){.state = drove__rng_u64(&rng) | 1};
}

static inline uint64_t draw(stream *s)
{
    s->state ^= s->state >> 12;
    s->state ^= s->state << 25;
    s->state ^= s->state >> 27;
    return s->state * UINT64_C(0x2545F4914F6CDD1D);
}

/* ---- numbers ---- */

/* The lowest integer of 4 bits, which quantised data never hold, becomes 0: the one above it would
 * move the mean. */
static void to_i4(uint8_t *x, size_t n)
{
    const size_t n_bytes = drove__numbers_bytes(DROVE_I4, n);
    for (size_t i = 0; i < n_bytes; i++) {
        uint8_t lower = x[i] & 0x0f, upper = x[i] & 0xf0;
        x[i] = (uint8_t)((lower == 0x08 ? 0 : lower) | (upper == 0x80 ? 0 : upper));
    }
    if (n % 2 == 1) drove__nibble_set(x, n, 0);
}

/* Random 32-bit integers, in place, become floats in [-1, 1). */
static void to_f32(void *memory, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int32_t bits;
        memcpy(&bits, (char *)memory + i * sizeof bits, sizeof bits);
        float x = (float)(bits >> 8) * 0x1p-23f;
        memcpy((char *)memory + i * sizeof x, &x, sizeof x);
    }
}

/* n numbers of a format into x; the last word may be partial.  Quantised data never hold the lowest
 * integer: it becomes the one above. */
static void fill_numbers(drove_number number, stream *s, void *x, size_t n)
{
    size_t n_bytes = drove__numbers_bytes(number, n), at = 0;
    for (; at + sizeof(uint64_t) <= n_bytes; at += sizeof(uint64_t)) {
        uint64_t word = draw(s);
        memcpy((char *)x + at, &word, sizeof word);
    }
    uint64_t last = draw(s);
    memcpy((char *)x + at, &last, n_bytes - at);
    int8_t *i8 = x;
    int16_t *i16 = x;
    switch (number) {
    case DROVE_I4: to_i4(x, n); break;
    case DROVE_I8:
        for (size_t i = 0; i < n; i++) i8[i] = (int8_t)(i8[i] < -INT8_MAX ? -INT8_MAX : i8[i]);
        break;
    case DROVE_I16:
        for (size_t i = 0; i < n; i++)
            i16[i] = (int16_t)(i16[i] < -INT16_MAX ? -INT16_MAX : i16[i]);
        break;
    default: to_f32(x, n); break;
    }
}

/* ---- dense ---- */

static drove_status fill_dense(drove_quant *q, uint64_t seed)
{
    stream s = start(seed, 0);
    q->row_bytes = drove__quant_row_bytes(q->number, q->n_features);
    q->value = drove__alloc(q->n_rows, q->row_bytes);
    if (q->value == NULL) return drove__fail_nomem("random data", q->n_rows * q->row_bytes);
    for (size_t i = 0; i < q->n_rows; i++)
        fill_numbers(q->number, &s, (char *)q->value + i * q->row_bytes, q->n_features);
    return DROVE_OK;
}

/* ---- sparse ---- */

/* The k-th index of a row of n_stored. */
static inline uint32_t place_of(const drove_quant *q, size_t n_stored, size_t k, stream *s)
{
    uint64_t first = (uint64_t)k * q->n_features / n_stored;
    uint64_t after = (uint64_t)(k + 1) * q->n_features / n_stored;
    uint64_t high = draw(s) >> 32;
    return (uint32_t)(first + ((after - first) * high >> 32));
}

static uint64_t count_bridges(const drove_quant *q, size_t n_stored, uint64_t seed, size_t row)
{
    stream s = start(seed, row + 1);
    uint32_t most = drove__index_most(q->index_bits), before = 0;
    uint64_t n_bridges = 0;
    for (size_t k = 0; k < n_stored; k++) {
        uint32_t place = place_of(q, n_stored, k, &s), gap = place - before;
        if (gap > most) n_bridges += (gap - 1) / most;
        before = place;
    }
    return n_bridges;
}

/* Indices of one row; bridges have value 0. */
static void fill_row(drove_quant *q, size_t n_stored, uint64_t seed, size_t row)
{
    stream s = start(seed, row + 1);
    size_t size_bytes = drove__number_size(q->number);
    uint32_t most = drove__index_most(q->index_bits), before = 0;
    uint64_t to = q->row_start[row];
    for (size_t k = 0; k < n_stored; k++, to++) {
        uint32_t place = place_of(q, n_stored, k, &s), index = place;
        if (most > 0) {
            index -= before;
            for (; index > most; index -= most, to++) {
                drove__quant_put_index(q, to, most);
                memset((char *)q->value + to * size_bytes, 0, size_bytes);
            }
        }
        drove__quant_put_index(q, to, index);
        before = place;
    }
}

static drove_status fill_sparse(drove_quant *q, size_t n_stored, uint64_t seed)
{
    /* parts of n / n_stored features: neighbours are at most twice that apart */
    bool fits = drove__index_most(q->index_bits) == 0 ||
                q->n_features / n_stored * 2 + 2 <= drove__index_most(q->index_bits);
    q->row_start = drove__alloc(q->n_rows + 1, sizeof *q->row_start);
    if (q->row_start == NULL) return drove__fail_nomem("random data", (q->n_rows + 1) * 8);
    for (size_t i = 0; i < q->n_rows; i++) {
        uint64_t n_bridges = fits ? 0 : count_bridges(q, n_stored, seed, i);
        q->n_bridges += n_bridges;
        q->row_start[i + 1] = q->row_start[i] + n_stored + n_bridges;
    }
    DROVE_TRY(drove__quant_alloc_pairs(q));
    stream s = start(seed, 0);
    fill_numbers(q->number, &s, q->value, (size_t)q->n_stored);
    for (size_t i = 0; i < q->n_rows; i++) fill_row(q, n_stored, seed, i);
    return DROVE_OK;
}

drove_status drove__quant_random(const drove_quant_shape *shape, drove_quant **out)
{
    *out = NULL;
    drove_quant *q = calloc(1, sizeof *q);
    if (q == NULL) return drove__fail_nomem("random data", sizeof *q);
    int32_t most = drove__number_most(shape->number);
    q->number = shape->number;
    q->index_bits = shape->index_bits;
    q->n_rows = shape->n_rows;
    q->n_features = shape->n_features;
    atomic_init(&q->n_users, 1);
    q->scale = most > 0 ? 1.0f / (float)most : 1.0f;
    drove_status status = shape->index_bits == 0 ? fill_dense(q, shape->seed)
                                                 : fill_sparse(q, shape->n_stored, shape->seed);
    if (status != DROVE_OK) {
        drove__quant_release(q);
        return status;
    }
    *out = q;
    return DROVE_OK;
}
