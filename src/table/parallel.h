/* table/parallel.h - runs a function over numbered items on several threads. */
#ifndef DROVE_TABLE_PARALLEL_H
#define DROVE_TABLE_PARALLEL_H

#include <stddef.h>

enum { DROVE_TABLE_THREADS_MOST = 16 };

/* Processors that this process may use, at most DROVE_TABLE_THREADS_MOST. */
unsigned drove__table_threads(void);

/* Calls work(context, item, thread) once for each item below n_items, thread < n_threads; the
 * caller's thread is thread 0.  A thread that cannot be started is done without. */
typedef void drove_table_work(void *context, size_t item, unsigned thread);
void drove__table_run(unsigned n_threads, size_t n_items, drove_table_work *work, void *context);

#endif
