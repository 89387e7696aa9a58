#include "crowd.h"

#include "base/cpu.h"

#include <assert.h>
#include <pthread.h>

typedef struct member {
    pthread_t thread;
    crowd_fn *work;
    void *context;
    unsigned worker;
} member;

static void *run_member(void *argument)
{
    member *m = argument;
    m->work(m->context, m->worker);
    return NULL;
}

void crowd_run(unsigned n, crowd_fn *work, void *context)
{
    member all[CROWD_MOST];
    assert(n <= CROWD_MOST);
    for (unsigned i = 0; i < n; i++) {
        all[i] = (member){.work = work, .context = context, .worker = i};
        int error = pthread_create(&all[i].thread, NULL, run_member, &all[i]);
        assert(error == 0);
        (void)error;
    }
    for (unsigned i = 0; i < n; i++) pthread_join(all[i].thread, NULL);
}

const drovek_table *crowd_kernels(void)
{
    static drovek_table table;
    if (table.isa == NULL) {
        drove_status status = drovek_select(&table, drove__cpu_features(), NULL);
        assert(status == DROVE_OK);
        (void)status;
    }
    return &table;
}
