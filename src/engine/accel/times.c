/* engine/accel/times.c - what overlapped what, from the times of events; see state.h.
 *
 * A batch computes from the moment its parameters are there to the end of its last operation.  Its
 * examples may have been copied while the batch before computed, its gradients while it did itself.
 */
#include "engine/accel/state.h"

static uint64_t length(drove_accel_interval i)
{
    return i.end > i.begin ? i.end - i.begin : 0;
}

static uint64_t overlap(drove_accel_interval a, drove_accel_interval b)
{
    return length((drove_accel_interval){.begin = a.begin > b.begin ? a.begin : b.begin,
                                         .end = a.end < b.end ? a.end : b.end});
}

static drove_status between(drove_engine *e, drove_accel_event *begin, drove_accel_event *end,
                            drove_accel_interval *out)
{
    DROVE_ACCEL_TRY(e, e->ops->time(begin, &out->begin));
    return drove__accel_try(e, e->ops->time(end, &out->end));
}

drove_status drove__accel_times(drove_engine *e, drove_engine_times *times)
{
    drove_accel_times *line = &e->times;
    drove_accel_event *end =
        e->now.wanted != NULL ? e->now.events.layer_done[0] : e->now.events.scored;
    e->times.last_compute = line->compute;
    DROVE_TRY(between(e, e->present->begun, e->present->done, &line->examples));
    line->params = (drove_accel_interval){0, 0};
    if (e->now.events.params_done != NULL)
        DROVE_TRY(between(e, e->now.events.params_begun, e->now.events.params_done, &line->params));
    DROVE_TRY(between(e, e->now.events.work_begun, end, &line->compute));
    DROVE_TRY(between(e, e->now.events.scored, e->now.events.scored_read, &line->results));

    /* A layer's copy begins when it is there, and the copy before it is done. */
    uint64_t before = line->results.end;
    line->n_reads = 0;
    for (size_t l = e->model->n_layers; e->now.wanted != NULL && l-- > 0;) {
        if (e->now.events.layer_read[l] == NULL) continue;
        drove_accel_interval *read = &line->read[line->n_reads++];
        DROVE_TRY(between(e, e->now.events.layer_done[l], e->now.events.layer_read[l], read));
        if (read->begin < before) read->begin = before;
        before = read->end;
    }
    if (times == NULL) return DROVE_OK;
    times->compute_ns += length(line->compute);
    times->copy_ns += length(line->examples) + length(line->params) + length(line->results);
    times->hidden_ns += overlap(line->examples, e->times.last_compute) +
                        overlap(line->params, line->compute) +
                        overlap(line->results, line->compute);
    for (size_t i = 0; i < line->n_reads; i++) {
        times->copy_ns += length(line->read[i]);
        times->hidden_ns += overlap(line->read[i], line->compute);
    }

    /* Sums that were given while backward went on. */
    drove_accel_event *begun, *done;
    size_t offset;
    for (size_t i = 0; e->now.is_resident && drove__resident_copy(e, i, &offset, &begun, &done);
         i++) {
        drove_accel_interval copy;
        DROVE_TRY(between(e, begun, done, &copy));
        times->copy_ns += length(copy);
        times->hidden_ns += overlap(copy, e->times.compute);
    }
    return DROVE_OK;
}

/* A device's clock need not be monotone between queues: an end before the begin is none. */
static void tell_copy(const drove_engine *e, size_t offset, bool is_up, drove_accel_interval copy,
                      drove_device_copy_fn *tell, void *context)
{
    const drove_device_copy told = {.offset = offset,
                                    .is_up = is_up,
                                    .begin_ns = copy.begin + e->times.clock_shift,
                                    .end_ns = copy.begin + length(copy) + e->times.clock_shift,
                                    .hidden_ns = overlap(copy, e->times.compute)};
    tell(context, &told);
}

/* The reads are those of e->times: the layers that have parameters, from the last to the first. */
drove_status drove__accel_copies(drove_engine *e, drove_device_copy_fn *tell, void *context)
{
    drove_accel_event *begun, *done;
    size_t n_told = 0, offset, n;
    for (size_t l = e->model->n_layers; l-- > 0 && n_told < e->times.n_reads;) {
        drove__model_layer_part(e->model, l, &offset, &n);
        if (n > 0) tell_copy(e, offset, false, e->times.read[n_told++], tell, context);
    }
    for (size_t i = 0; drove__resident_copy(e, i, &offset, &begun, &done); i++) {
        drove_accel_interval copy;
        DROVE_TRY(between(e, begun, done, &copy));
        tell_copy(e, offset, true, copy, tell, context);
    }
    return DROVE_OK;
}
