/* tests/unit/engine/accel_jobs.c - see accel_jobs.h: the words of the common language in plain C;
 * items have few columns and rows, so that each job is cut. */
#include "unit/engine/accel_jobs.h"

#include <math.h>
#include <string.h>

#define DROVE_COLS 5 /* no divisor of anything */
enum { ROWS_EACH = 3 };

#define DROVE_KERNEL   static __attribute__((unused))
#define DROVE_FUNCTION static inline __attribute__((unused))
#define DROVE_GLOBAL
#define DROVE_RESTRICT         restrict
#define DROVE_AT(axis)         item[axis]
#define DROVE_FLOAT_BITS(x)    bits_of(x)
#define DROVE_BITS_FLOAT(x)    float_of(x)
#define DROVE_LOG(x)           logf(x)
#define DROVE_SQRT(x)          sqrtf(x)
#define DROVE_FMA(x, y, z)     fmaf(x, y, z)
#define DROVE_INT(pointer)     ((const int *)(pointer))
#define DROVE_BYTE(pointer)    ((const unsigned char *)(pointer))
#define DROVE_WORD(pointer)    ((const unsigned *)(pointer))
#define DROVE_WORD_TO(pointer) ((unsigned *)(pointer))
#define DROVE_PLACE(number)    number##u
typedef size_t drove_place;

static _Thread_local size_t item[2];

static inline unsigned bits_of(float x)
{
    unsigned bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float float_of(unsigned bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* clang-format off: in this order */
#define CURVE_REAL float
#include "kernel/curves.h"

#include "engine/accel/kernels/activation.h"
#include "engine/accel/kernels/images.h"
#include "engine/accel/kernels/norm.h"
#include "engine/accel/kernels/pool.h"
#include "engine/accel/kernels/update.h"
/* clang-format on */

void accel_job_run(unsigned which, float *const at[DROVE_JOB_PLACES], const drove_numbers *numbers)
{
    drove_numbers k = *numbers;
    unsigned next;
    if (k.rows_each == 0) k.rows_each = ROWS_EACH;
    for (item[1] = 0; item[1] * k.rows_each < k.rows; item[1]++) {
        for (item[0] = 0; item[0] * DROVE_COLS < k.cols; item[0]++) {
            next = 0;
#define X(name)                                                                                    \
    if (which == next++)                                                                           \
        drove_job_##name(at[0], 0, at[1], 0, at[2], 0, at[3], 0, at[4], 0, at[5], 0, k);
            DROVE_JOBS(X)
#undef X
        }
    }
}
