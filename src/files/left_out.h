/* files/left_out.h - examples that a run which goes on leaves out. */
#ifndef DROVE_FILES_LEFT_OUT_H
#define DROVE_FILES_LEFT_OUT_H

#include "values/values.h"

typedef struct drove_left_out { /* of the saved run */
    unsigned n_workers;
    uint64_t rows; /* of a batch */
    uint64_t next; /* batch */
} drove_left_out;

/* The source goes on: says how many examples the saved run's workers had not used, and these will
 * not use, or use again. */
void drove__run_say_left_out(const drove_problem *problem, const drove_workers *workers,
                             const drove_callbacks *cb, const drove_safetensors *st,
                             const drove_left_out *then);

#endif
