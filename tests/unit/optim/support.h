/* What the tests of optim/ need: an optimiser made in one line, random vectors, every ISA tier. */
#ifndef DROVE_TEST_OPTIM_SUPPORT_H
#define DROVE_TEST_OPTIM_SUPPORT_H

#include <stdint.h>

#include "base/mem.h"
#include "base/rng.h"
#include "optim/optim.h"
#include "support/status.h"

/* The options of a plain run with plain C kernels: sgd, constant, lr 0.05, state shared, one
 * worker. */
drove_optim_options plain_options(size_t n_params);
/* The same for each tier that this processor runs, slowest first; false after the last. */
bool next_tier(unsigned i, drovek_table *out);

drove_optim *make_optim(const drove_optim_options *opt);

/* [n] from the normal distribution, cache-line aligned; drove__free. */
float *random_vector(drove_rng *rng, size_t n);
float *copy_vector(const float *from, size_t n);
/* Fails at the first element whose bits differ. */
void assert_same_bits(const float *a, const float *b, size_t n, const char *what);

#endif
