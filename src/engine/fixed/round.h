/* engine/fixed/round.h - arrays of floats rounded to numbers of few bits with a unit of their own.
 *
 * Source: De Sa et al., ISCA 2017, section 5.2: floor(x + r), r random in [0, 1) or 1/2.
 */
#ifndef DROVE_ENGINE_FIXED_ROUND_H
#define DROVE_ENGINE_FIXED_ROUND_H

#include "engine/fixed/format.h"
#include "engine/linear/rounding.h"
#include "kernel/kernel.h"

/* Random bits are drawn as for an AXPY of so many numbers: those of the rounding `shared` serve a
 * stretch, and not a whole layer, whose rows would all be pushed alike. */
enum { DROVE_FIXED_STRETCH = DROVEK_PLANES_DRAW };

/* 2^e, the least with drove__fixed_most(bits) * 2^e >= magnitude > 0, but of at least 2^-125. */
float drove__fixed_unit(unsigned bits, float magnitude);

/* Units of the channels of an array [n / n_places / block][n_places][block], whose block b holds
 * channels b * block on, modulo n: channel c's numbers are counted in units of 1 / by[c] times the
 * array's unit; inverse[c] = 1 / by[c].  All powers of two; borrowed. */
typedef struct drove_fixed_channels {
    const float *by, *inverse; /* [n] */
    size_t       n, n_places, block;
} drove_fixed_channels;

/* x[n] = its integers times the unit of its largest magnitude; with channels, that of the largest
 * product with by.  bits 0: nothing.  An array that holds a number that is not finite stays as it
 * is, as does one of zeros.  channels NULL: one unit. */
void drove__fixed_round(const drovek_table *k, drove_rounder *rounder, unsigned bits,
                        const drove_fixed_channels *channels, float *x, size_t n);

/* The same integers, of at most 8 bits without a low plane, to planes[n] with their unit; by the
 * kernels k->planes, which must be there.  to (NULL: not wanted; or x) = their values.  largest:
 * that of x, as by largest_f32; with channels not looked at.  Units by channel are those of
 * columns: of the formats NHWC and of vectors alone.  rounder NULL: as keep_planes. */
void drove__fixed_round_planes(const drovek_table *k, drove_rounder *rounder, unsigned bits,
                               const drove_fixed_channels *channels, const float *x, float *to,
                               size_t n, uint32_t largest, drovek_planes *planes);

/* The same of x[n] whose numbers are integers times such units already, without random bits. */
void drove__fixed_keep_planes(const drovek_table *k, unsigned bits,
                              const drove_fixed_channels *channels, const float *x, size_t n,
                              uint32_t largest, drovek_planes *planes);

#endif
