/* engine/do.c - a batch computed at once, and sums of results; see engine.h. */
#include "engine/engine.h"

drove_status drove__engine_do(const drove_engine_ops *ops, drove_engine *e, const drove_work *work,
                              uint64_t timeout_ns, drove_work_done *done)
{
    DROVE_TRY(ops->begin(e, work));
    return ops->finish(e, timeout_ns, done);
}

void drove__work_done_add(drove_work_done *to, const drove_work_done *from)
{
    drove__score_add(&to->score, &from->score);
    to->times.forward_ns += from->times.forward_ns;
    to->times.backward_ns += from->times.backward_ns;
    to->times.compute_ns += from->times.compute_ns;
    to->times.copy_ns += from->times.copy_ns;
    to->times.hidden_ns += from->times.hidden_ns;
    to->times.wait_ns += from->times.wait_ns;
}
