/* loop/loop.c - stops a run: on request, after a failure, or at a loss that is not finite. */
#include "loop/loop.h"

#include <math.h>

void drove__loop_halt(drove_loop *loop)
{
    if (loop->ending.halt_wished != NULL) atomic_store(loop->ending.halt_wished, 1);
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
    atomic_store(&w->loop->ending.halted, 1);
    drove__loop_halt(w->loop);
    if (w->loop->data.stream != NULL) drove__stream_cancel(w->loop->data.stream, status);
    if (s->ops->stop != NULL) s->ops->stop(w->loop->sync);
}

void drove__worker_check_finite(drove_worker *w, double loss)
{
    if (isfinite(loss)) return;
    atomic_store(&w->loop->ending.nonfinite, 1);
    drove__loop_halt(w->loop);
}
