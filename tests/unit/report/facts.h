/* facts.h - facts of a run written by hand, and what a report of them says. */
#ifndef DROVE_TESTS_FACTS_H
#define DROVE_TESTS_FACTS_H

#include "report/report.h"

#include <jansson.h>

enum { N_WORKERS = 2 };

typedef struct fixture {
    drove_trace_worker trace[N_WORKERS];
    drove_traffic      traffic[N_WORKERS];
    drove_worker_facts worker[N_WORKERS];
    drove_group_facts  group;
    drove_timeline     busy;
    drove_layer_facts  layer;
    drove_facts        facts;
} fixture;

/* Two workers, 100 steps each of 10 ms, half of it forward.  *state: a fixture. */
int facts_setup(void **state);
int facts_teardown(void **state);
/* Phase p takes a mean of 2^p times 2 us of a step: of worker 0 half of it, of worker 1 the rest
 * and as much again. */
void facts_set_phases(fixture *x);

char   *text_of(const drove_facts *f); /* for people; freed by the caller */
json_t *json_of(const drove_facts *f);
void    expect_line(const drove_facts *f, const char *line);
/* The same keys, no others, and values that differ by rounding alone. */
void expect_same(const char *where, const json_t *found, const json_t *wanted);
/* object[key] is what the text says. */
void expect_key(const json_t *object, const char *key, const char *wanted);

#endif
