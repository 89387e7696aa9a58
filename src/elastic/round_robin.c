/* elastic/round_robin.c - Original EASGD: workers take turns; one computes at a time.
 *
 * Source: the paper, Algorithm 1: iteration t belongs to worker j = t mod P; equation (1), and (2)
 * for worker j.  A worker passes the turn to the next by an empty message.
 *
 *   easgd             the RPC to the centre (lines 10 and 12) overlaps the gradient (line 11) where
 *                     alpha is known before the step size
 *   easgd?overlap=0   Original EASGD*: first the gradient, then the RPC
 *
 * The turn orders all work, so bits do not depend on timing.  An update is one step of one worker.
 *
 * Over ranks all workers must stop after the same round, as one that goes on alone would wait for
 * a turn that never comes.  Wishes to halt travel with turns and RPCs, and reach worker 0 within a
 * round.  Worker 0 decides, at the end of its step: the message of the turn tells the others that
 * this round is the last.  Behind a last round no turn is under way: worker 0 begins again without.
 * A wish that comes when a round is the last anyway, by the limit of the stretch, may stay under
 * way in the turn to worker 0, and end the next stretch after one round: nothing is lost by it.
 *
 * The SEND of a turn is finished only before the next one, since the receiver may be parked.
 */
#include "elastic/central.h"

#include "base/clock.h"

typedef struct round_robin {
    drove_central v; /* first member */
    struct {
        bool has_begun;               /* has had a turn; waits for each later one */
        bool is_given;                /* the SEND of the turn is under way */
        bool is_last;                 /* this round: all halt behind it */
        float told[2];                /* over ranks: is_last as received, as sent */
    } DROVE_ALIGNED_CACHE_LINE *turn; /* [n_workers] */
} round_robin;

static const drove_spec_key keys[] = {
    {"overlap", "1", DROVE_AS_BIT(round_robin, v.is_early), .help = "exchange while computing"},
    DROVE_SPEC_END,
};

static drove_status init(drove_sync *s, const drove_sync_options *opt, const drove_params *start)
{
    const drove_elastic_kind kind = {.vectors = DROVE_ELASTIC_C, .period = 1, .alpha_limit = 1.0};
    round_robin *r = drove__alloc(1, sizeof *r);
    if (r == NULL) return drove__sync_no_memory(s);
    s->impl = r;
    DROVE_TRY(drove__spec_take(opt->spec, keys, r));
    r->v.halts_later = true;
    r->turn = drove__alloc(s->n_workers, sizeof *r->turn);
    if (r->turn == NULL) return drove__sync_no_memory(s);
    return drove__central_init(s, opt, &kind, start, drove__central_elastic);
}

static void fini(drove_sync *s)
{
    round_robin *r = s->impl;
    void *turn = r->turn;
    drove__central_fini(s);
    drove__free(turn);
}

/* Numbers that come with a turn: threads and processes halt by their source alone. */
static size_t n_told(const drove_transport *t)
{
    return t->n_processes > 1 ? 1 : 0;
}

/* Worker 0 begins without a message, and so it does behind a last round. */
static drove_status await_turn(drove_sync *s, unsigned worker, drove_exchange_info *info)
{
    round_robin *r = s->impl;
    drove_transport *t = r->v.e.transport;
    float *told = &r->turn[worker].told[0];
    const drove_exchange x = {.kind = DROVE_RECEIVE,
                              .channel = DROVE_CHANNEL_TURN,
                              .peer = (worker + s->n_workers - 1) % s->n_workers,
                              .out = told,
                              .n = n_told(t)};
    bool is_first = worker == 0 && (!r->turn[0].has_begun || r->turn[0].is_last);
    r->turn[worker].has_begun = true;
    r->turn[worker].is_last = false;
    if (s->n_workers == 1 || is_first) return DROVE_OK;
    *told = 0.0f;
    DROVE_TRY(drove__exchange(t, worker, &x, info));
    r->turn[worker].is_last = worker > 0 && *told != 0.0f;
    return DROVE_OK;
}

static drove_status acquire(drove_sync *s, unsigned worker, drove_view *view)
{
    round_robin *r = s->impl;
    drove_transport *t = r->v.e.transport;
    drove_exchange_info turn = {0};
    /* Finishes the last SEND, which has arrived: otherwise it were not this worker's turn again. */
    if (r->turn[worker].is_given) {
        r->turn[worker].is_given = false;
        DROVE_TRY(t->ops->finish(t, worker, DROVE_CHANNEL_TURN, &turn));
    }
    DROVE_TRY(await_turn(s, worker, &turn));
    DROVE_TRY(drove__central_acquire(s, worker, view));
    view->wait_ns = turn.wait_ns;
    return DROVE_OK;
}

static drove_status publish(drove_sync *s, unsigned worker, const drove_step *step,
                            drove_publish_info *info)
{
    DROVE_TRY(drove__central_publish(s, worker, step, info));
    round_robin *r = s->impl;
    drove_transport *t = r->v.e.transport;
    bool *is_last = &r->turn[worker].is_last;
    float *told = &r->turn[worker].told[1];
    const drove_exchange x = {.kind = DROVE_SEND,
                              .channel = DROVE_CHANNEL_TURN,
                              .peer = (worker + 1) % s->n_workers,
                              .in = told,
                              .n = n_told(t)};
    if (worker == 0 && atomic_load(&t->halt_wished) != 0) *is_last = true;
    if (*is_last) atomic_store(&t->halt_seen, 1);
    if (s->n_workers == 1 || (*is_last && worker + 1 == s->n_workers)) return DROVE_OK;
    *told = *is_last ? 1.0f : 0.0f;
    r->turn[worker].is_given = true;
    return t->ops->start(t, worker, &x);
}

static const char *const variants[] = {"easgd", "easgd?overlap=0", NULL};
static const drove_exchange_pattern patterns[] = {
    {.order = DROVE_EXCHANGE_TURNS, .overlap = DROVE_OVERLAP_ALL, .has_centre = true},
    {.order = DROVE_EXCHANGE_TURNS, .has_centre = true},
};

static const drove_sync_places places = {
    .not_typed = "its workers compute in turn, between two messages of a step"};

const drove_sync_ops drove__sync_easgd = {
    DROVE_CENTRAL,
    .name = "easgd",
    .help = "Original EASGD: workers take turns, one computes at a time; --rho, --period",
    .source = "You, Buluc, Demmel, SC17, Algorithm 1",
    .promises = DROVE_SYNC_SNAPSHOT | DROVE_SYNC_REPEATABLE,
    .needs = DROVE_SYNC_DENSE | DROVE_SYNC_SPREAD | DROVE_SYNC_OWN_STATE | DROVE_SYNC_MASTER |
             DROVE_SYNC_ELASTIC,
    .variants = variants,
    .keys = keys,
    .init = init,
    .fini = fini,
    .acquire = acquire,
    .publish = publish,
    .places = &places,
    .replicas = &drove__central_replicas,
    .exchange_pattern = patterns,
};
