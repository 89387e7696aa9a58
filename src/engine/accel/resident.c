/* engine/accel/resident.c - parameters that stay on the device and are updated there, by gradients
 * that are summed over devices elsewhere; see state.h and engine.h (RESIDENT).
 *
 * A step: begin puts the pass on the queues at the device's own parameters; each layer's gradient
 * comes down while backward goes on; a sum that is given goes up on `up` into the same place of the
 * gradient, which nobody reads any more then; finish puts decay, clipping and the rule on `work`
 * behind the last of these copies.
 *
 * The formulas are those of src/optim/optim.c and src/kernel/ref/update.c.  Every operation has an
 * order that depends on sizes alone, so that devices of one kind that are given equal gradients
 * keep equal parameters.
 */
#include "base/mem.h"
#include "engine/accel/operations.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_STATE = 2,
    NORM_ROWS = 64 /* of 256 numbers: a block whose squares are summed by one item */
};

typedef struct drove_accel_copy { /* one give */
    size_t offset;
    drove_accel_event *begun, *done;
} drove_accel_copy;

struct drove_accel_resident {
    drove_device_rule rule;
    unsigned job; /* of the rule */
    bool looks_ahead;
    drove_accel_buffer *theta; /* [n_params] */
    drove_accel_buffer *ahead; /* where the gradient is taken, if the rule looks ahead */
    drove_accel_buffer *guest; /* parameters of others (evaluation); NULL until there are some */
    drove_accel_buffer *state[MOST_STATE];
    drove_accel_buffer *sums; /* squares of blocks, then the factor of clipping */
    size_t n_sums;
    drove_accel_copy *copy; /* [n_room] of the present batch */
    size_t n_copies, n_room;
};

static const struct {
    const char *name;
    unsigned job, n_state;
    bool looks_ahead;
} rules[] = {
    {"sgd", DROVE_JOB_sgd, 0, false},          {"momentum", DROVE_JOB_momentum, 1, false},
    {"nesterov", DROVE_JOB_momentum, 1, true}, {"adagrad", DROVE_JOB_adagrad, 1, false},
    {"rmsprop", DROVE_JOB_rmsprop, 1, false},  {"adam", DROVE_JOB_adam, 2, false},
};

/* ---- memory ---- */

static void drop_copies(drove_engine *e, drove_accel_resident *r)
{
    for (size_t i = 0; i < r->n_copies; i++) {
        e->ops->event_destroy(r->copy[i].begun);
        e->ops->event_destroy(r->copy[i].done);
    }
    r->n_copies = 0;
}

void drove__resident_release(drove_engine *e)
{
    drove_accel_resident *r = e->resident;
    if (r == NULL) return;
    drop_copies(e, r);
    e->params.theta = r->theta; /* which params.c has made */
    e->ops->free(e->accel, r->ahead);
    e->ops->free(e->accel, r->guest);
    e->ops->free(e->accel, r->sums);
    for (size_t i = 0; i < MOST_STATE; i++) e->ops->free(e->accel, r->state[i]);
}

void drove__resident_fini(drove_engine *e)
{
    if (e->resident != NULL) free(e->resident->copy);
    free(e->resident);
    e->resident = NULL;
}

drove_status drove__resident_lend(drove_engine *e)
{
    drove_accel_resident *r = e->resident;
    if (r == NULL) return DROVE_OK;
    if (r->guest == NULL) DROVE_TRY(e->ops->alloc(e->accel, e->model->n_params, &r->guest));
    e->params.theta = r->guest;
    return DROVE_OK;
}

/* ---- there and back ---- */

static drove_status wait_for_queue(drove_engine *e, drove_accel_queue *q)
{
    drove_accel_event *done = NULL;
    DROVE_ACCEL_TRY(e, e->ops->record(q, &done));
    drove_status status = drove__accel_try(e, e->ops->flush(q));
    if (status == DROVE_OK) status = drove__accel_try(e, e->ops->wait(done, UINT64_MAX));
    e->ops->event_destroy(done);
    return status;
}

static drove_status look_ahead(drove_engine *e)
{
    drove_accel_resident *r = e->resident;
    if (!r->looks_ahead) return DROVE_OK;
    drove_accel_job job = {DROVE_JOB_look_ahead,
                           {drove__accel_view(r->theta, 0), drove__accel_view(r->state[0], 0),
                            drove__accel_view(r->ahead, 0)},
                           drove__accel_vector(e->model->n_params)};
    job.k.p[0] = r->rule.mu;
    return drove__accel_job(e, &job);
}

/* Vector i of what set_params and get_params deal with. */
static drove_accel_view vector_of(const drove_accel_resident *r, unsigned i)
{
    return drove__accel_view(i == 0 ? r->theta : r->state[i - 1], 0);
}

drove_status drove__resident_set(drove_engine *e, const drove_device_rule *rule,
                                 const float *vector)
{
    size_t n = e->model->n_params;
    if (e->is_sparse)
        return drove__fail(DROVE_E_UNSUPPORTED, "sparse data: parameters do not stay on "
                                                "an accelerator");
    if (e->resident == NULL) {
        e->resident = calloc(1, sizeof *e->resident);
        if (e->resident == NULL) return drove__fail_nomem("engine", sizeof *e->resident);
        e->resident->theta = e->params.theta;
        if (e->ops->bf16 != NULL) /* jobs will write it */
            DROVE_TRY(e->ops->bf16->keep(e->accel, e->params.theta, false));
    }
    drove_accel_resident *r = e->resident;
    size_t row = 0;
    while (row < DROVE_COUNT(rules) &&
           (strcmp(rules[row].name, rule->name) != 0 || rules[row].n_state != rule->n_state))
        row++;
    if (row == DROVE_COUNT(rules))
        return drove__fail(DROVE_E_UNSUPPORTED,
                           "accelerators do not have the rule %s with %u vectors", rule->name,
                           rule->n_state);
    r->rule = *rule;
    r->rule.name = rules[row].name;
    r->job = rules[row].job;
    r->looks_ahead = rules[row].looks_ahead;
    const size_t each = (size_t)NORM_ROWS * DROVE_JOB_COLS;
    r->n_sums = (n + each - 1) / each;
    for (unsigned i = 0; i < r->rule.n_state; i++)
        if (r->state[i] == NULL) DROVE_TRY(e->ops->alloc(e->accel, n, &r->state[i]));
    if (r->looks_ahead && r->ahead == NULL) DROVE_TRY(e->ops->alloc(e->accel, n, &r->ahead));
    if (r->sums == NULL) DROVE_TRY(e->ops->alloc(e->accel, r->n_sums + 1, &r->sums));
    DROVE_TRY(wait_for_queue(e, e->work)); /* what reads them now */
    for (unsigned i = 0; i <= rule->n_state; i++) {
        memcpy(e->params.theta_host, vector + i * n, n * sizeof *vector);
        DROVE_ACCEL_TRY(e,
                        e->ops->write(e->up, vector_of(e->resident, i), e->params.theta_host, n));
        DROVE_TRY(wait_for_queue(e, e->up));
    }
    return look_ahead(e);
}

drove_status drove__resident_get(drove_engine *e, float *vector)
{
    drove_accel_resident *r = e->resident;
    size_t n = e->model->n_params;
    if (r == NULL) return drove__fail(DROVE_E_ARG, "no parameters were set that could be got");
    DROVE_TRY(wait_for_queue(e, e->work));
    for (unsigned i = 0; i <= r->rule.n_state; i++) {
        DROVE_ACCEL_TRY(e, e->ops->read(e->down, e->params.theta_host, vector_of(r, i), n));
        DROVE_TRY(wait_for_queue(e, e->down));
        memcpy(vector + i * n, e->params.theta_host, n * sizeof *vector);
    }
    return DROVE_OK;
}

/* ---- a batch ---- */

void drove__resident_begin(drove_engine *e)
{
    drove_accel_resident *r = e->resident;
    e->params.theta = r->looks_ahead && e->now.wanted != NULL ? r->ahead : r->theta;
    drop_copies(e, r);
}

drove_status drove__resident_give(drove_engine *e, size_t offset, size_t length, const float *sum)
{
    drove_accel_resident *r = e->resident;
    if (offset > e->model->n_params || length > e->model->n_params - offset)
        return drove__fail(DROVE_E_ARG, "a part of a gradient from %zu on, %zu long: it has %zu",
                           offset, length, e->model->n_params);
    if (r->n_copies == r->n_room) {
        size_t n = r->n_room > 0 ? 2 * r->n_room : 64;
        drove_accel_copy *grown = realloc(r->copy, n * sizeof *grown);
        if (grown == NULL) return drove__fail_nomem("copies of a batch", n * sizeof *grown);
        r->copy = grown;
        r->n_room = n;
    }
    drove_accel_copy *c = &r->copy[r->n_copies++];
    c->begun = c->done = NULL;
    c->offset = offset;
    DROVE_ACCEL_TRY(e, e->ops->record(e->up, &c->begun));
    DROVE_ACCEL_TRY(e,
                    e->ops->write(e->up, drove__accel_view(e->params.grad, offset), sum, length));
    DROVE_ACCEL_TRY(e, e->ops->record(e->up, &c->done));
    return drove__accel_try(e, e->ops->flush(e->up));
}

drove_accel_event *drove__resident_last_copy(const drove_engine *e)
{
    const drove_accel_resident *r = e->resident;
    return r->n_copies > 0 ? r->copy[r->n_copies - 1].done : NULL;
}

bool drove__resident_copy(const drove_engine *e, size_t i, size_t *offset,
                          drove_accel_event **begun, drove_accel_event **done)
{
    if (e->resident == NULL || i >= e->resident->n_copies) return false;
    *offset = e->resident->copy[i].offset;
    *begun = e->resident->copy[i].begun;
    *done = e->resident->copy[i].done;
    return true;
}

/* ---- the update ---- */

/* 1 - beta^t: the weight that t steps have in a running mean which started at 0. */
static float correction(float beta, uint64_t t)
{
    return (float)(1.0 - pow((double)beta, (double)t));
}

drove_status drove__resident_update(drove_engine *e, const drove_device_update *how)
{
    drove_accel_resident *r = e->resident;
    const drove_numbers vector = drove__accel_vector(e->model->n_params);
    const drove_accel_view grad = drove__accel_view(e->params.grad, 0);
    const drove_accel_view theta = drove__accel_view(r->theta, 0);
    const drove_accel_view sums = drove__accel_view(r->sums, 0);
    const drove_accel_view factor = drove__accel_view(r->sums, r->n_sums);

    /* The mean of the gradient, and decay. */
    if (how->scale != 1.0f || r->rule.weight_decay != 0.0f) {
        drove_accel_job decay = {DROVE_JOB_decay, {grad, theta}, vector};
        decay.k.scale = how->scale;
        decay.k.alpha = r->rule.weight_decay;
        DROVE_TRY(drove__accel_job(e, &decay));
    }

    /* The factor of clipping, behind the sums of squares. */
    if (r->rule.clip != 0.0f) {
        drove_accel_job norm = {DROVE_JOB_norm, {grad, sums}, vector};
        norm.k.each = norm.k.cols;
        norm.k.cols = 1;
        norm.k.rows_each = NORM_ROWS;
        DROVE_TRY(drove__accel_job(e, &norm));
        drove_accel_job clip = {DROVE_JOB_clip,
                                {sums, factor},
                                {.rows = 1, .cols = 1, .o = (unsigned)r->n_sums}};
        clip.k.p[0] = r->rule.clip;
        DROVE_TRY(drove__accel_job(e, &clip));
    }

    /* The rule itself. */
    drove_accel_job job = {r->job,
                           {theta, grad, drove__accel_view(r->state[0], 0),
                            drove__accel_view(r->state[1], 0), factor},
                           vector};
    job.k.adds = r->rule.clip > 0.0f;
    job.k.scale = how->eta;
    job.k.p[0] = r->job == DROVE_JOB_momentum ? r->rule.mu : r->rule.beta1;
    job.k.p[1] = r->rule.beta2;
    job.k.p[2] = r->rule.epsilon;
    if (r->job == DROVE_JOB_adam) {
        job.k.p[3] = how->eta / correction(r->rule.beta1, how->t);
        job.k.p[4] = 1.0f / correction(r->rule.beta2, how->t);
    }
    DROVE_TRY(drove__accel_job(e, &job));
    DROVE_TRY(look_ahead(e));
    return drove__accel_try(e, e->ops->flush(e->work));
}
