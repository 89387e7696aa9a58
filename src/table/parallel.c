/* table/parallel.c - see parallel.h. */
#include "table/parallel.h"

#include "base/available.h"
#include "base/locale.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

typedef struct job {
    drove_table_work *work;
    void *context;
    size_t n_items;
    atomic_size_t next;
} job;

typedef struct helper {
    job *job;
    unsigned thread;
    pthread_t handle;
    bool is_started;
} helper;

unsigned drove__table_threads(void)
{
    unsigned n = drove__processors_available();
    return n > DROVE_TABLE_THREADS_MOST ? DROVE_TABLE_THREADS_MOST : n;
}

static void *run(void *argument)
{
    DROVE_IN_C_LOCALE;
    const helper *me = argument;
    job *j = me->job;
    size_t item;
    /* relaxed: items share no data; create and join order everything else */
    while ((item = atomic_fetch_add_explicit(&j->next, 1, memory_order_relaxed)) < j->n_items)
        j->work(j->context, item, me->thread);
    return NULL;
}

void drove__table_run(unsigned n_threads, size_t n_items, drove_table_work *work, void *context)
{
    job j = {.work = work, .context = context, .n_items = n_items};
    helper helpers[DROVE_TABLE_THREADS_MOST];
    if (n_threads > DROVE_TABLE_THREADS_MOST) n_threads = DROVE_TABLE_THREADS_MOST;
    if (n_threads > n_items) n_threads = (unsigned)n_items;
    for (unsigned i = 1; i < n_threads; i++) {
        helpers[i] = (helper){.job = &j, .thread = i};
        helpers[i].is_started = pthread_create(&helpers[i].handle, NULL, run, &helpers[i]) == 0;
    }
    helper self = {.job = &j};
    run(&self);
    for (unsigned i = 1; i < n_threads; i++) {
        if (helpers[i].is_started) pthread_join(helpers[i].handle, NULL);
    }
}
