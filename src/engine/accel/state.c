/* engine/accel/state.c - see state.h.
 *
 * A device that fails is lost: the failure's text is kept, and answers every later call.  One that
 * is silent beyond a time-out is lost, too.
 */
#include "engine/accel/state.h"

#include "base/mem.h"

drove_status drove__accel_try(drove_engine *e, drove_status status)
{
    if (status == DROVE_OK || e->failure.is_lost || e->now.is_recording) return status;
    e->failure.is_lost = true;
    drove__error_copy(e->failure.why);
    return status;
}

drove_status drove__accel_check_alive(const drove_engine *e)
{
    return e->failure.is_lost ? drove__fail(DROVE_E_SYSTEM, "%s", e->failure.why) : DROVE_OK;
}

drove_status drove__accel_job(drove_engine *e, const drove_accel_job *job)
{
    return drove__accel_try(e, e->ops->job(e->work, job));
}

void drove__accel_events_drop(drove_engine *e, drove_accel_events *of)
{
    drove_accel_event **event[] = {&of->params_begun, &of->params_done, &of->work_begun,
                                   &of->scored, &of->scored_read};
    for (size_t i = 0; i < DROVE_COUNT(event); i++) {
        e->ops->event_destroy(*event[i]);
        *event[i] = NULL;
    }
    for (size_t l = 0; of->layer_read != NULL && l < e->model->n_layers; l++) {
        e->ops->event_destroy(of->layer_done[l]);
        e->ops->event_destroy(of->layer_read[l]);
        of->layer_done[l] = of->layer_read[l] = NULL;
    }
}
