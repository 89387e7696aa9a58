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
 * The SEND of a turn is finished only before the next one, since the receiver may be parked.
 */
#include "elastic/central.h"

#include "base/clock.h"

typedef struct round_robin {
    drove_central v; /* first member */
    struct {
        bool has_begun;               /* has had a turn; waits for each later one */
        bool is_given;                /* the SEND of the turn is under way */
    } DROVE_ALIGNED_CACHE_LINE *turn; /* [n_workers] */
} round_robin;

static drove_status init(drove_sync *s, const drove_sync_options *opt, const drove_params *start)
{
    static const char *const keys[] = {"overlap", NULL};
    const drove_elastic_kind kind = {.vectors = DROVE_ELASTIC_C, .period = 1, .alpha_limit = 1.0};
    uint64_t overlap = 1;
    DROVE_TRY(drove__spec_check(opt->spec, 0, keys));
    DROVE_TRY(drove__spec_u64(opt->spec, "overlap", 0, 1, &overlap));
    round_robin *r = drove__alloc(1, sizeof *r);
    if (r == NULL) return drove__sync_no_memory(s);
    s->impl = r;
    r->v.is_early = overlap != 0;
    r->turn = drove__alloc(s->n_workers, sizeof *r->turn);
    if (r->turn == NULL) return drove__sync_no_memory(s);
    return drove__central_init(s, opt, &kind, start, drove__central_elastic, true);
}

static void fini(drove_sync *s)
{
    round_robin *r = s->impl;
    void *turn = r->turn;
    drove__central_fini(s);
    drove__free(turn);
}

/* Worker 0 begins without a message. */
static drove_status await_turn(drove_sync *s, unsigned worker, drove_exchange_info *info)
{
    round_robin *r = s->impl;
    const drove_exchange x = {.kind = DROVE_RECEIVE,
                              .channel = DROVE_CHANNEL_TURN,
                              .peer = (worker + s->n_workers - 1) % s->n_workers};
    bool is_first = worker == 0 && !r->turn[0].has_begun;
    r->turn[worker].has_begun = true;
    if (s->n_workers == 1 || is_first) return DROVE_OK;
    return drove__exchange(r->v.e.transport, worker, &x, info);
}

static drove_status give_turn(drove_sync *s, unsigned worker)
{
    round_robin *r = s->impl;
    drove_transport *t = r->v.e.transport;
    const drove_exchange x = {.kind = DROVE_SEND,
                              .channel = DROVE_CHANNEL_TURN,
                              .peer = (worker + 1) % s->n_workers};
    if (s->n_workers == 1) return DROVE_OK;
    r->turn[worker].is_given = true;
    return t->ops->start(t, worker, &x);
}

/* Finishes the last SEND, which has arrived: otherwise it were not this worker's turn again. */
static drove_status settle_turn(drove_sync *s, unsigned worker, drove_exchange_info *info)
{
    round_robin *r = s->impl;
    drove_transport *t = r->v.e.transport;
    if (!r->turn[worker].is_given) return DROVE_OK;
    r->turn[worker].is_given = false;
    return t->ops->finish(t, worker, DROVE_CHANNEL_TURN, info);
}

static drove_status acquire(drove_sync *s, unsigned worker, drove_view *view)
{
    drove_exchange_info turn = {0};
    DROVE_TRY(settle_turn(s, worker, &turn));
    DROVE_TRY(await_turn(s, worker, &turn));
    DROVE_TRY(drove__central_acquire(s, worker, view));
    view->wait_ns = turn.wait_ns;
    return DROVE_OK;
}

static drove_status publish(drove_sync *s, unsigned worker, const drove_step *step,
                            drove_publish_info *info)
{
    DROVE_TRY(drove__central_publish(s, worker, step, info));
    return give_turn(s, worker);
}

static const char *const variants[] = {"easgd", "easgd?overlap=0", NULL};
static const drove_exchange_pattern patterns[] = {
    {.order = DROVE_EXCHANGE_TURNS, .overlap = DROVE_OVERLAP_ALL, .has_centre = true},
    {.order = DROVE_EXCHANGE_TURNS, .has_centre = true},
};

const drove_sync_ops drove__sync_easgd = {
    DROVE_CENTRAL_SLOTS,
    .name = "easgd",
    .help = "Original EASGD: workers take turns, one computes at a time; ?overlap=0: and exchanges "
            "with the centre afterwards; --rho, --period",
    .source = "You, Buluc, Demmel, SC17, Algorithm 1",
    .promises = DROVE_SYNC_SNAPSHOT | DROVE_SYNC_REPEATABLE,
    .needs = DROVE_SYNC_DENSE | DROVE_SYNC_SPREAD | DROVE_SYNC_OWN_STATE | DROVE_SYNC_MASTER |
             DROVE_SYNC_ELASTIC,
    .variants = variants,
    .not_typed = "its workers compute in turn, between two messages of a step",
    .exchange_pattern = patterns,
    .init = init,
    .fini = fini,
    .acquire = acquire,
    .publish = publish,
};
