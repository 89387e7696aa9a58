/* crowd.h - workers of a transport for tests: a thread each. */
#ifndef DROVE_TESTS_CROWD_H
#define DROVE_TESTS_CROWD_H

#include "cluster/transport.h"

enum { CROWD_MOST = 16 };

typedef void crowd_fn(void *context, unsigned worker);

/* Runs work(context, worker) on n threads at once; returns when all have. */
void crowd_run(unsigned n, crowd_fn *work, void *context);

/* The fastest kernels of this machine. */
const drovek_table *crowd_kernels(void);

#endif
