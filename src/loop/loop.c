/* loop/loop.c - stops a run: on request, after a failure, or at a loss that is not finite; and
 * the common part of all hosts of workers. */
#include "loop/loop.h"

#include "loop/host.h"

#include <math.h>

void drove__loop_halt(drove_loop *loop)
{
    if (loop->halt_wished != NULL) atomic_store(loop->halt_wished, 1);
    else loop->source->ops->halt(loop->source);
}

void drove__worker_keep_error(drove_worker *w, drove_status status)
{
    w->status = status;
    drove__error_copy(w->error);
}

void drove__worker_fail(drove_worker *w, drove_status status)
{
    const drove_sync *s = w->loop->sync;
    drove__worker_keep_error(w, status);
    atomic_store(&w->loop->halted, 1);
    drove__loop_halt(w->loop);
    if (w->loop->stream != NULL) drove__stream_cancel(w->loop->stream, status);
    if (s->ops->stop != NULL) s->ops->stop(w->loop->sync);
}

void drove__worker_check_finite(drove_worker *w, double loss)
{
    if (isfinite(loss)) return;
    atomic_store(&w->loop->nonfinite, 1);
    drove__loop_halt(w->loop);
}

/* ---- hosts ---- */

drove_status drove__host_create(const drove_host_ops *ops, const drove_host_options *opt,
                                drove_host **out)
{
    drove_host *h = drove__alloc(1, sizeof *h);
    *out = NULL;
    if (h == NULL) return drove__fail_nomem("a host of workers", sizeof *h);
    *h = (drove_host){.ops = ops, .opt = *opt, .loop = opt->loop};
    drove_status status = ops->init(h);
    if (status != DROVE_OK) {
        drove__host_destroy(h);
        return status;
    }
    *out = h;
    return DROVE_OK;
}

void drove__host_destroy(drove_host *h)
{
    if (h == NULL) return;
    h->ops->fini(h);
    drove__free(h);
}

drove_status drove__host_do(drove_host *h, drove_command command)
{
    h->ops->go(h, command);
    (void)h->ops->wait(h, UINT64_MAX);
    return h->ops->status(h);
}
