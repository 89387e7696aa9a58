/* engine/linear/factor.c - see factor.h. */
#include "engine/linear/factor.h"

#include <math.h>

void drove__factor_make(drove_number d, drove_number m, const double *alpha, size_t n,
                        drove_rounder *rounder, drovek_factor *out)
{
    if (d == DROVE_F32 || m == DROVE_F32) {
        for (size_t i = 0; i < n; i++) out[i] = (drovek_factor){.f = (float)alpha[i]};
        return;
    }
    const drovek_fraction fraction = drovek_fraction_of(d, m);
    double room = (double)fraction.sum - (double)n, sum = 0.0;
    for (size_t i = 0; i < n; i++) sum += fabs(alpha[i]);
    int shift = fraction.shift;
    while (shift > 0 && sum * (double)(1 << shift) > room) shift--;
    double scale = (double)(1 << shift);
    if (sum > room) scale = room / sum;
    for (size_t i = 0; i < n; i++) {
        double a = floor(alpha[i] * scale + drove__rounder_u(rounder));
        if (!isfinite(sum)) a = 0.0;
        out[i] = (drovek_factor){.a = (int32_t)a, .shift = shift};
    }
}
