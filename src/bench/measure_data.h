/* bench/measure_data.h - random examples to measure the engine for low precision on
 * (bench/measure.h); used by any number of threads at once, once created. */
#ifndef DROVE_BENCH_MEASURE_DATA_H
#define DROVE_BENCH_MEASURE_DATA_H

#include "data/quant.h"

/* Random examples with random classes, for any number of measurements. */
typedef struct drove_measure_data {
    drove_storage *storage; /* owned */
    drove_data     view;    /* of all of it */
} drove_measure_data;

typedef struct drove_measure_shape {
    drove_number number;
    unsigned     index_bits; /* 0: dense; then density is not used */
    size_t       n_features;
    double       density;
    uint64_t     n_bytes; /* of the numbers and indices, about; at least a few rows */
    uint64_t     seed;
} drove_measure_shape;

double drove__measure_bytes(const drove_measure_shape *shape); /* of all examples, really */
/* Errors: DROVE_E_NOMEM. */
drove_status drove__measure_data_create(const drove_measure_shape *shape, drove_measure_data **out);
void         drove__measure_data_destroy(drove_measure_data *data); /* NULL accepted */

double drove__measure_numbers(const drove_measure_data *data); /* stored ones of an example */

#endif
