/* tests/unit/engine/fixed_problem.h - a small network in fixed point, its data and its engine, for
 * tests of steps. */
#ifndef DROVE_TESTS_UNIT_ENGINE_FIXED_PROBLEM_H
#define DROVE_TESTS_UNIT_ENGINE_FIXED_PROBLEM_H

#include "engine/fixed/engine.h"
#include "engine/fixed/shared.h"

enum { FIXED_ROWS = 40, FIXED_FEATURES = 12, FIXED_CLASSES = 3, FIXED_BATCH = 7 };

typedef struct fixed_problem {
    drove_storage        storage;
    drove_data           data;
    drove_model         *model;
    drovek_table         kernels;
    float               *theta, *after; /* [n_params] */
    drove_engine_shared *shared;
    drove_engine        *engine;
    uint32_t            *words;
} fixed_problem;

/* count zeros of size bytes; drove__free. */
void *fixed_zeroed(size_t count, size_t size);
void  fixed_make_data(fixed_problem *p);
/* p->shared, of p's model, data and theta; updates of FIXED_BATCH examples. */
drove_status fixed_prepare(fixed_problem *p, const char *precision, const char *rounding,
                           double range, double decay, bool by_rule);
/* All of p: a network of relu, whose products are those of integers where the processor has them,
 * its theta in words, and an engine with this rule. */
void fixed_setup_rule(fixed_problem *p, const char *model, const char *precision,
                      const char *rounding, double decay, const drove_engine_rule *rule);
/* The same of tanh, with 20 and 9 hidden units, by plain SGD. */
void fixed_setup(fixed_problem *p, const char *precision, const char *rounding, double range,
                 double decay);
void fixed_teardown(fixed_problem *p);
/* n of the rows, always the same. */
drove_batch fixed_batch(const fixed_problem *p, size_t n, uint64_t number);

#endif
