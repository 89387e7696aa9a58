/* run/traffic.h - what a worker that exchanges parameters has sent, and what it cost: for the
 * summary's `communication`, and `cluster`.
 *
 * Source: You, Buluc, Demmel, SC17, section 6.1.1 (eight parts of the time) and Table 3.
 */
#ifndef DROVE_RUN_TRAFFIC_H
#define DROVE_RUN_TRAFFIC_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

typedef struct drove_run drove_run;

typedef struct drove_traffic { /* one worker's since its process began; others read it, parked */
    uint64_t bytes, messages;  /* sent */
    uint64_t hidden_ns;        /* of exchanges under way while it computed */
    uint64_t centre_ns;        /* spent at the centre for it */
    double   distance;         /* |W - c| at its last exchange, before it moved */
} drove_traffic;

typedef struct drove_beginning { /* of a run */
    uint64_t data_ns;            /* reading or making the data */
    uint64_t start_ns;           /* all else until the workers could train */
} drove_beginning;

/* null where no parameters are exchanged, or there is one process.  Keys: docs/formats.md. */
json_t *drove__communication_json(const drove_run *run);
json_t *drove__cluster_json(const drove_run *run);
/* Mean |W - c| of the workers; NaN where nothing is exchanged. */
double drove__communication_distance(const drove_run *run);
/* A line for people, where parameters are exchanged. */
void drove__communication_print(const drove_run *run, FILE *f);

#endif
