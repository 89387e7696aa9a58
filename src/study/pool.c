/* study/pool.c - see pool.h. */
#include "study/pool.h"

#include "base/mem.h"

#include <time.h>

typedef struct running {
    size_t job;
    drove_child child;
} running;

typedef struct pool {
    const drove_pool_ops *ops;
    void *context;
    running *running; /* [n_most] */
    size_t n, n_most;
    bool is_over; /* no more to begin */
} pool;

static drove_status begin_more(pool *p)
{
    while (!p->is_over && p->n < p->n_most) {
        running *r = &p->running[p->n];
        bool is_begun = false;
        DROVE_TRY(p->ops->begin(p->context, &r->child, &r->job, &is_begun));
        p->is_over = !is_begun;
        p->n += is_begun;
    }
    return DROVE_OK;
}

drove_status drove__pool_run(const drove_pool_ops *ops, void *context, size_t n_at_once)
{
    static const struct timespec moment = {.tv_nsec = 5000000}, grace = {.tv_nsec = 10000000};
    pool p = {.ops = ops, .context = context, .n_most = n_at_once > 0 ? n_at_once : 1};
    p.running = drove__alloc(p.n_most, sizeof *p.running);
    if (p.running == NULL) return drove__fail_nomem("processes", p.n_most * sizeof *p.running);
    drove_status status = begin_more(&p);
    while (status == DROVE_OK && p.n > 0 && !ops->is_stopped(context)) {
        nanosleep(&moment, NULL);
        if (ops->watch != NULL) ops->watch(context);
        for (size_t k = 0; k < p.n;) {
            if (!drove__child_has_ended(&p.running[k].child)) {
                k++;
                continue;
            }
            const running ended = p.running[k];
            p.running[k] = p.running[--p.n];
            if ((status = ops->ended(context, ended.job, &ended.child)) != DROVE_OK) break;
        }
        if (status == DROVE_OK && !ops->is_stopped(context)) status = begin_more(&p);
    }

    for (size_t i = 0; i < p.n; i++) drove__child_stop(&p.running[i].child);
    for (size_t i = 0; i < p.n; i++)
        while (!drove__child_has_ended(&p.running[i].child)) nanosleep(&grace, NULL);
    drove__free(p.running);
    return status;
}
