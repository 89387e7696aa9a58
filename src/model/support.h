/* model/support.h - helpers shared by the files of this folder: names, activations, sizes. */
#ifndef DROVE_MODEL_SUPPORT_H
#define DROVE_MODEL_SUPPORT_H

#include "model/model.h"

enum { DROVE_MODEL_MAX_NAMES = 32 }; /* rows of any table here */

/* y[i] = act(y[i]) for n contiguous floats, with the table's own activation. */
void drove__act_apply(const drovek_table *k, float *y, size_t n, drovek_act act);

/* Index of the largest of z[n], the first of equals; n >= 1. */
size_t drove__largest(const float *z, size_t n);

/* -sum of share log(share), in nats: the mean cross-entropy of guessing the shares. */
double drove__entropy(const double *share, size_t n);

#endif
