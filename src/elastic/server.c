/* elastic/server.c - the parameter server: workers send gradients; the centre makes the steps and
 * sends parameters back.
 *
 * Source: the paper, sections 3.1 and 3.2, equations (3) and (4) for the rule momentum; after Dean
 * et al., NIPS 2012.  An RPC brings the gradient g^i that worker i computed at W^i:
 *     [c | state] = rule([c | state], g^i, eta)        W^i = c
 *
 *   psgd-async      Async SGD: one RPC at a time, in the order of arrival
 *   pmsgd-async     Async MSGD: the same by the rule momentum; the centre has the velocity
 *   psgd-hogwild    Hogwild SGD with a master: several RPCs at once, without a lock (races R1, R2,
 *                   R4 of docs/inside/memory-model.md)
 *
 * A rule that looks ahead needs the velocity at the worker: [c | state] is sent back then.
 *
 * Where one RPC is served at a time they also carry the questions of a source whose workers are
 * ranks (strategy/source.h: requested).
 */
#include "elastic/central.h"

#include "base/clock.h"

#include <string.h>

typedef struct server {
    drove_central v; /* first member; of[i].w: W^i, of[i].sum: the message */
    bool is_long;    /* messages are [n_vector] */
    /* [n_workers][QUESTION_FLOATS]; a transport may still write to one after a failure. */
    float *question;
} server;

enum { QUESTION_FLOATS = sizeof(drove_question) / sizeof(float) };
_Static_assert((size_t)QUESTION_FLOATS <= (size_t)DROVE_CENTRAL_LEAST, "an RPC carries a question");
/* In the place of a part's number in an RPC. */
static const float ASKS = -1.0f;

/* ---- at the centre ---- */

static void answer(const drove_sync *s, unsigned worker, float *message, size_t n)
{
    drove_question q;
    if (n != QUESTION_FLOATS || worker >= s->n_workers || s->answer == NULL) return;
    memcpy(&q, message, sizeof q);
    s->answer(s->answer_context, worker, &q);
    memcpy(message, &q, sizeof q);
}

static void serve(void *context, unsigned worker, float *message, size_t n, float *number)
{
    drove_central *v = context;
    const drove_optim *optim = v->sync->optim;
    float eta = number[0];
    uint64_t before;
    if (number[3] == ASKS) {
        answer(v->sync, worker, message, n);
        return;
    }
    const drove_span *part = drove__central_receive(v, worker, n, number, &before);
    if (part == NULL) return;
    uint64_t staleness = before - v->known[worker];
    size_t length = part->length < optim->n ? part->length : optim->n;
    /* Apply reads only [offset, offset + length) of the value. */
    drove_step step = {.value = message - part->offset, .eta = eta};
    drove__optim_apply(optim, &step, staleness, before + 1, part->offset, length, v->centre,
                       v->centre);
    optim->kernels->copy_f32(message, v->centre + part->offset, part->length);
    if (part == &v->e.part[v->e.n_parts - 1]) v->known[worker] = before + 1;
}

/* ---- setting up ---- */

static drove_status init(drove_sync *s, const drove_sync_options *opt, const drove_params *start)
{
    const drove_optim *optim = s->optim;
    bool is_long = optim->rule.ops->lookahead && optim->state == DROVE_STATE_SHARED;
    const drove_elastic_kind kind = {.vectors = DROVE_ELASTIC_SUM};
    if (is_long && opt->by_layer)
        return drove__fail(DROVE_E_ARG,
                           "%s: expected --messages packed, since this rule's velocity travels "
                           "with the parameters, found layers",
                           s->ops->name);
    server *p = drove__alloc(1, sizeof *p);
    if (p == NULL) return drove__sync_no_memory(s);
    s->impl = p;
    p->is_long = is_long;
    p->question = drove__alloc(s->n_workers, QUESTION_FLOATS * sizeof *p->question);
    if (p->question == NULL) return drove__sync_no_memory(s);
    DROVE_TRY(drove__central_init(s, opt, &kind, start, serve));
    if (is_long) p->v.e.part[0].length = s->n_vector;
    return DROVE_OK;
}

static void fini(drove_sync *s)
{
    drove__free(((server *)s->impl)->question);
    drove__central_fini(s);
}

/* ---- a step ---- */

/* The gradient is computed in the message itself, which others can reach. */
static float *gradient(drove_sync *s, unsigned worker)
{
    return ((server *)s->impl)->v.e.of[worker].sum;
}

static drove_status publish(drove_sync *s, unsigned worker, const drove_step *step,
                            drove_publish_info *info)
{
    server *p = s->impl;
    drove_elastic_worker *me = &p->v.e.of[worker];
    uint64_t begin_ns = drove__now_ns();
    if (step->value != me->sum) memcpy(me->sum, step->value, s->optim->n * sizeof *me->sum);
    const drove_exchange x = {.kind = DROVE_RPC,
                              .channel = DROVE_CHANNEL_DOWN,
                              .in = me->sum,
                              .out = me->w,
                              .number = {step->eta, 1.0f}};
    DROVE_TRY(drove__transfer_begin(&p->v.e, worker, &me->down, &x, 1, false));
    DROVE_TRY(drove__transfer_end(&p->v.e, worker, &me->down));
    uint64_t staleness = me->before - me->known;
    me->known = me->before + 1;
    me->steps++;
    drove__central_count(s);
    drove__elastic_report(me, begin_ns, info);
    info->staleness = staleness;
    info->order = me->before;
    return DROVE_OK;
}

/* Bits that are no numbers travel as floats, which no transport changes. */
static drove_status ask(drove_sync *s, unsigned worker, drove_question *question)
{
    server *p = s->impl;
    float *message = p->question + (size_t)worker * QUESTION_FLOATS;
    memcpy(message, question, sizeof *question);
    const drove_exchange x = {.kind = DROVE_RPC,
                              .channel = DROVE_CHANNEL_SMALL,
                              .in = message,
                              .out = message,
                              .n = QUESTION_FLOATS,
                              .number = {[3] = ASKS}};
    DROVE_TRY(drove__exchange(p->v.e.transport, worker, &x, NULL));
    memcpy(question, message, sizeof *question);
    return DROVE_OK;
}

/* ---- tables ---- */

static const char *const async_variants[] = {"psgd-async", NULL};
static const char *const momentum_variants[] = {"pmsgd-async", NULL};
static const char *const hogwild_variants[] = {"psgd-hogwild", NULL};
static const drove_exchange_pattern exclusive[] = {{.order = DROVE_EXCHANGE_ARRIVAL,
                                                    .is_exclusive = true,
                                                    .has_centre = true,
                                                    .steps_at_centre = true}};
static const drove_exchange_pattern at_once[] = {
    {.order = DROVE_EXCHANGE_ARRIVAL, .has_centre = true, .steps_at_centre = true}};

enum { NEEDS = DROVE_SYNC_DENSE | DROVE_SYNC_SPREAD | DROVE_SYNC_MASTER };

static const drove_sync_replica_ops asking = {.vector = drove__central_replica,
                                              .parked = drove__central_parked,
                                              .ask = ask};

#define SERVER                                                                                     \
    DROVE_CENTRAL, .init = init, .fini = fini, .acquire = drove__central_acquire,                  \
                   .publish = publish, .gradient = gradient, .leave = drove__central_leave

const drove_sync_ops drove__sync_psgd_async = {
    SERVER,
    .name = "psgd-async",
    .help = "Async SGD: a parameter server applies gradients first come, first served",
    .source = "Dean et al., NIPS 2012; You, Buluc, Demmel, SC17, section 3.1",
    .promises =
        DROVE_SYNC_SNAPSHOT | DROVE_SYNC_NO_LOSS | DROVE_SYNC_SEQUENTIAL | DROVE_SYNC_ORDERED,
    .needs = NEEDS,
    .variants = async_variants,
    .replicas = &asking,
    .exchange_pattern = exclusive,
};

const drove_sync_ops drove__sync_pmsgd_async = {
    SERVER,
    .name = "pmsgd-async",
    .help = "Async MSGD: the same with the rule momentum, whose velocity the server has",
    .source = "You, Buluc, Demmel, SC17, section 5.1, equations (3) and (4)",
    .promises =
        DROVE_SYNC_SNAPSHOT | DROVE_SYNC_NO_LOSS | DROVE_SYNC_SEQUENTIAL | DROVE_SYNC_ORDERED,
    .needs = NEEDS | DROVE_SYNC_MOMENTUM,
    .variants = momentum_variants,
    .replicas = &asking,
    .exchange_pattern = exclusive,
};

const drove_sync_ops drove__sync_psgd_hogwild = {
    SERVER,
    .name = "psgd-hogwild",
    .help = "Hogwild SGD with a master: the server takes several gradients at once, without a lock",
    .source = "You, Buluc, Demmel, SC17, section 3.2",
    .promises = DROVE_SYNC_LOCK_FREE | DROVE_SYNC_SEQUENTIAL,
    .needs = NEEDS | DROVE_SYNC_RACY,
    .variants = hogwild_variants,
    .replicas = &drove__central_replicas,
    .exchange_pattern = at_once,
};
