/* kernel/ref/linear_sparse.c - dot and AXPY of a sparse example, in plain C: the definition.
 *
 * Source: De Sa et al., ISCA 2017, Figure 1 and equation 4; linear.h has the exact definition.  w
 * is shared with other threads: each element is accessed by one relaxed load and one relaxed store
 * of its own width (base/racy.h).  Sums with a float are in double, so that the definition is
 * closer to the mathematics than the float sums of any tier.
 */
#include "base/racy.h"
#include "kernel/ref/bits.h"
#include "kernel/tiers.h"

#include <math.h>

#define LOAD_8    drove__racy_load_i8
#define LOAD_16   drove__racy_load_i16
#define LOAD_32f  drove__racy_load
#define STORE_8   drove__racy_store_i8
#define STORE_16  drove__racy_store_i16
#define STORE_32f drove__racy_store

/* SUM_<data>_<model>: exact for integers */
#define SUM_8_8     int64_t
#define SUM_8_16    int64_t
#define SUM_16_8    int64_t
#define SUM_16_16   int64_t
#define SUM_8_32f   double
#define SUM_16_32f  double
#define SUM_32f_8   double
#define SUM_32f_16  double
#define SUM_32f_32f double

/* ---- one element of an AXPY ---- */

typedef struct update {
    const drovek_factor *factor;
    bit_reader random;
    size_t n_clamped;
} update;

static void begin_8(update *u, const drovek_factor *factor, drovek_bits *bits)
{
    u->factor = factor;
    u->n_clamped = 0;
    bit_reader_init(&u->random, bits);
}

static void begin_16(update *u, const drovek_factor *factor, drovek_bits *bits)
{
    begin_8(u, factor, bits);
}

/* a float model needs no random bits: bits may be NULL */
static void begin_32f(update *u, const drovek_factor *factor, drovek_bits *bits)
{
    (void)bits;
    u->factor = factor;
    u->n_clamped = 0;
}

/* floor((a x + r) / 2^shift), r: the top `shift` bits of a random byte or word.  Every compiler
 * that builds this shifts negative numbers arithmetically. */
static int32_t delta_by_byte(update *u, int32_t x)
{
    int32_t r = (int32_t)(next_byte(&u->random) >> (8 - u->factor->shift));
    return (u->factor->a * x + r) >> u->factor->shift;
}

static int32_t delta_by_word(update *u, int32_t x)
{
    int32_t r = (int32_t)(next_word(&u->random) >> (16 - u->factor->shift));
    return (u->factor->a * x + r) >> u->factor->shift;
}

/* floor(fmaf(f, x, (r + 0.5) / 2^16)), r a random word.  Beyond +-2^17 every w clamps, so the exact
 * value does not matter there; NaN counts as the lower end. */
static int32_t delta_of_float(update *u, float x)
{
    const float far = 0x1p17f;
    float exact = fmaf(u->factor->f, x, ((float)next_word(&u->random) + 0.5f) * 0x1p-16f);
    if (!(exact > -far)) exact = -far;
    if (exact > far) exact = far;
    return (int32_t)floorf(exact);
}

static int32_t clamp(update *u, int32_t wanted, int32_t lowest, int32_t highest)
{
    int32_t result = wanted < lowest ? lowest : wanted > highest ? highest : wanted;
    u->n_clamped += result != wanted;
    return result;
}

static int8_t moved_8(update *u, int8_t w, int32_t delta)
{
    return (int8_t)clamp(u, w + delta, INT8_MIN, INT8_MAX);
}

static int16_t moved_16(update *u, int16_t w, int32_t delta)
{
    return (int16_t)clamp(u, w + delta, INT16_MIN, INT16_MAX);
}

static float moved_32f(update *u, float w, float x)
{
    return fmaf(u->factor->f, x, w);
}

/* MOVED_<data>_<model>(u, w, x): w after the update */
#define MOVED_8_8(u, w, x)     moved_8(u, w, delta_by_byte(u, x))
#define MOVED_16_8(u, w, x)    moved_8(u, w, delta_by_word(u, x))
#define MOVED_32f_8(u, w, x)   moved_8(u, w, delta_of_float(u, x))
#define MOVED_8_16(u, w, x)    moved_16(u, w, delta_by_word(u, x))
#define MOVED_16_16(u, w, x)   moved_16(u, w, delta_by_word(u, x))
#define MOVED_32f_16(u, w, x)  moved_16(u, w, delta_of_float(u, x))
#define MOVED_8_32f(u, w, x)   moved_32f(u, w, x)
#define MOVED_16_32f(u, w, x)  moved_32f(u, w, x)
#define MOVED_32f_32f(u, w, x) moved_32f(u, w, x)

#define EACH_BODY "kernel/ref/linear_sparse_body.h"
#include "kernel/linear_each_sparse.h"

const drovek_table drovek_linear_sparse_ref = {.linear = SPARSE_TABLE};
