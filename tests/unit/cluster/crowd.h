/* Workers of a transport for tests: a thread each, or a forked process each. */
#ifndef DROVE_TESTS_CROWD_H
#define DROVE_TESTS_CROWD_H

#include "cluster/transport.h"

enum { CROWD_MOST = 16 };

typedef void crowd_fn(void *context, unsigned worker);

/* work(context, worker) of n workers at once, until all are back. */
void crowd_run(unsigned n, crowd_fn *work, void *context);

/* The kernels that this machine runs best. */
const drovek_table *crowd_kernels(void);

#endif
