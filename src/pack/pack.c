/* pack/pack.c - see pack.h. */
#include "pack/pack.h"

#include "base/available.h"
#include "base/clock.h"
#include "base/mem.h"
#include "pack/assemble.h"
#include "pack/division.h"
#include "pack/ensemble.h"
#include "pack/spread.h"
#include "pack/unit.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_EMBEDDINGS = 12,
    LEAST_EPOCHS = 16,
    MOST_EPOCHS = 200,
    MOST_SPARSE_WEIGHTS = 1 << 20,
    MOST_JUDGED = 2000000, /* outputs of a member by which the ensemble is judged */
    FINISHERS = 5
};
static const double MOST_STEPS = 6000.0, LEAST_STEPS = 600.0; /* of a unit */
static const double SPENT = 0.9;           /* of a budget, by units; the rest is the ensemble's */
static const double PART_OF_MEMORY = 0.25; /* that is available: of the examples' embeddings */
static const double PREPARED = 0.5;        /* of it, at most, before there are units */
static const uint64_t TOLD_NS = 100000000; /* between two words about its progress */

/* Rows up to which a batch has so many, and a pack so many divisions. */
static const struct size_row {
    size_t most_rows, batch;
    unsigned n_divisions;
} sizes[] = {{2000, 32, 5}, {4000, 64, 5}, {12000, 128, 3}, {SIZE_MAX, 256, 1}};

typedef struct racer { /* a member that is in the race */
    drove_member member;
    const drove_embedding *embedding; /* NULL: the examples as they are */
    drove_model *model;
    drove_unit unit[DROVE_PACK_MOST_DIVISIONS];
    unsigned n_units;
    double loss; /* mean over its units */
} racer;

typedef struct pack {
    const drove_pack_options *opt;
    drove_pack_record *record;
    drove_divisions divisions;
    drove_embedding embedding[MOST_EMBEDDINGS];
    unsigned n_embeddings, n_racers, most_racers, n_divisions;
    double n_steps; /* of a unit, at most */
    size_t batch;
    racer racer[DROVE_PACK_MOST_MEMBERS];
    uint32_t *trained[DROVE_PACK_MOST_DIVISIONS];
    size_t n_trained[DROVE_PACK_MOST_DIVISIONS];
    drove_judge judge;
    drove_spread spread;
    uint64_t begun_ns, told_ns; /* when its budget began, and when it told last */
    /* Units: begun in this round, and done; relaxed: they share out a budget, and are shown. */
    atomic_uint n_begun, n_done;
    unsigned n_round, n_planned, n_finished; /* in this round; n_finished: in all processes */
    double later;                            /* drove__spread_waves of the rounds to come */
    double room;                             /* bytes that are left for embeddings */
} pack;

static double seconds_since(uint64_t ns)
{
    return (double)(drove__now_ns() - ns) * 1e-9;
}

/* The caller wants its end. */
static bool is_halted(const pack *p)
{
    return drove__spread_is_halted(&p->spread) ||
           (p->opt->is_over != NULL && p->opt->is_over(p->opt->context));
}

static bool is_over(const pack *p)
{
    return is_halted(p) || (p->opt->seconds > 0.0 && seconds_since(p->begun_ns) >= p->opt->seconds);
}

/* On the caller's thread. */
static void tell(pack *p)
{
    const uint64_t now = drove__now_ns();
    if (p->opt->tell == NULL || now - p->told_ns < TOLD_NS) return;
    p->told_ns = now;
    const drove_pack_told told = {.n_done = atomic_load_explicit(&p->n_done, memory_order_relaxed),
                                  .n_units = p->n_planned,
                                  .seconds = (double)(now - p->begun_ns) * 1e-9};
    p->opt->tell(p->opt->context, &told);
}

/* While the caller waits for processes. */
static bool tell_and_look(void *context)
{
    tell(context);
    return is_over(context);
}

/* ---- members ---- */

static bool is_same(const drove_embed_options *a, const drove_embed_options *b)
{
    return a->bins == b->bins && a->waves == b->waves && a->levels == b->levels;
}

/* The least of all ranks: they have to have the same members.  Those of a host share its memory. */
static drove_status find_room(pack *p)
{
    const drove_pack_exchange *x = &p->opt->exchange;
    const double n_here = x->n_local > 1 ? (double)x->n_local : 1.0;
    const double there = PART_OF_MEMORY * (double)drove__memory_available() / n_here;
    p->room = p->opt->most_bytes > 0.0 ? p->opt->most_bytes : there > 0.0 ? there : INFINITY;
    if (x->n <= 1) return DROVE_OK;
    double *all = calloc(x->n, sizeof *all), own = p->room;
    if (all == NULL) return drove__fail_nomem("messages of the ranks", x->n * sizeof *all);
    const drove_status status = x->gather(x->context, &own, sizeof own, all);
    for (unsigned i = 0; i < x->n && status == DROVE_OK; i++) p->room = fmin(p->room, all[i]);
    free(all);
    return status;
}

/* *out NULL: of sparse examples, or where there is no room for another. */
static drove_status find_embedding(pack *p, const drove_embed_options *wanted,
                                   const drove_embedding **out)
{
    *out = NULL;
    const drove_x_kind kind = p->opt->data->storage->x_kind;
    if (kind != DROVE_X_F32 && kind != DROVE_X_U8) return DROVE_OK;
    for (unsigned i = 0; i < p->n_embeddings; i++)
        if (is_same(&p->embedding[i].opt, wanted)) *out = &p->embedding[i];
    if (*out != NULL || p->n_embeddings == MOST_EMBEDDINGS) return DROVE_OK;
    drove_embedding *e = &p->embedding[p->n_embeddings];
    const double most = p->n_embeddings > 0 ? p->room : INFINITY; /* one there has to be */
    DROVE_TRY(drove__embedding_make(p->opt->data, wanted, p->opt->seed, most, e));
    if (e->data == NULL) {
        drove__embedding_fini(e);
        p->record->n_left_out++;
        return DROVE_OK;
    }
    const size_t width = drove__embedding_width(e);
    p->room -= (double)p->opt->data->n_rows * (double)width * sizeof(float);
    p->n_embeddings++;
    *out = e;
    return DROVE_OK;
}

/* Adds a member to the race; false in *is_added: its embedding is none of these examples, as all of
 * their numbers have two values, or there is no room. */
static drove_status add_racer(pack *p, const drove_member *member, bool *is_added)
{
    const drove_pack_options *o = p->opt;
    racer *r = &p->racer[p->n_racers];
    const drove_storage *s = o->data->storage;
    *is_added = false;
    if (p->n_racers == p->most_racers) return DROVE_OK;
    *r = (racer){.member = *member};
    /* The network of sparse examples is a chain (pack/assemble.c). */
    if (s->x_kind == DROVE_X_CSR) {
        if (drove__member_depth(member) > 1 ||
            member->width[0] * s->n_features > MOST_SPARSE_WEIGHTS)
            return DROVE_OK;
        r->member.dropout = 0.0f;
    }
    DROVE_TRY(find_embedding(p, &member->embed, &r->embedding));
    const bool has_more = member->embed.bins > 0 || member->embed.waves > 0;
    const bool is_dense = s->x_kind != DROVE_X_CSR;
    if ((has_more || is_dense) && r->embedding == NULL) return DROVE_OK;
    if (has_more && r->embedding->n_more == 0) return DROVE_OK;
    const size_t n_inputs =
        r->embedding != NULL ? drove__embedding_width(r->embedding) : o->data->storage->n_features;
    DROVE_TRY(drove__member_model(&r->member, n_inputs, o->io, o->loss, &r->model));
    p->n_racers++;
    *is_added = true;
    return DROVE_OK;
}

static drove_status add_all(pack *p)
{
    bool is_added;
    /* Where embeddings take long, those that are done; ranks have to have the same. */
    for (size_t i = 0; i < drove__n_members; i++) {
        const double most = PREPARED * p->opt->seconds;
        const bool ends = is_halted(p) || (most > 0.0 && seconds_since(p->begun_ns) > most);
        if (p->n_racers > 0 && p->spread.exchange.n <= 1 && ends) break;
        DROVE_TRY(add_racer(p, &drove__members[i], &is_added));
    }
    if (drove__judge_init(&p->judge, p->opt->data, p->racer[0].model)) return DROVE_OK;
    return drove__fail(DROVE_E_UNSUPPORTED,
                       "--model auto: expected the loss softmax, sigmoid, logistic or squared");
}

/* ---- units ---- */

typedef struct unit_item {
    racer *racer;
    unsigned division;
} unit_item;

_Static_assert(FINISHERS *DROVE_PACK_MOST_DIVISIONS <= DROVE_SPREAD_MOST_UNITS, "of a round");

typedef struct round_of_units {
    pack *pack;
    unit_item *item;
    drove_spread_unit unit[DROVE_SPREAD_MOST_UNITS];
} round_of_units;

/* Of a unit under way. */
typedef struct looker {
    pack *pack;
    bool tells;     /* it is on the caller's thread */
    bool is_needed; /* time does not end it before it is judged once: there is a model */
} looker;

static bool unit_is_over(void *context)
{
    const looker *l = context;
    if (l->tells) tell(l->pack);
    return l->is_needed ? is_halted(l->pack) : is_over(l->pack);
}

/* Seconds for a unit that begins now: its share of what is left of the budget. */
static double allotment(const pack *p)
{
    const unsigned n_begun = atomic_load_explicit(&p->n_begun, memory_order_relaxed);
    const double left = SPENT * p->opt->seconds - seconds_since(p->begun_ns);
    if (p->opt->seconds == 0.0) return 0.0;
    const unsigned n_left = p->n_round > n_begun ? p->n_round - n_begun : 1;
    return fmax(left, 0.001) / (drove__spread_waves(&p->spread, n_left) + p->later);
}

static uint64_t steps_of(const pack *p, const drove_member *member)
{
    return (uint64_t)ceil(p->n_steps * (member->length > 0.0 ? member->length : 1.0));
}

static void run_unit(void *context, size_t number, unsigned thread)
{
    round_of_units *round = context;
    const unit_item *item = &round->item[number];
    drove_spread_unit *to = &round->unit[number];
    pack *p = round->pack;
    const racer *r = item->racer;
    const unsigned d = item->division;
    const drove_divisions *all = &p->divisions;
    looker look = {.pack = p, .tells = thread == 0, .is_needed = r == p->racer && d == 0};
    const drove_unit_task task = {.member = &r->member,
                                  .model = r->model,
                                  .data = r->embedding != NULL ? r->embedding->data : p->opt->data,
                                  .trained = p->trained[d],
                                  .held = all->row + all->from[d],
                                  .n_trained = p->n_trained[d],
                                  .n_held = drove__division_held(all, d),
                                  .kernels = p->opt->kernels,
                                  .seed = p->opt->seed +
                                          DROVE_PACK_MOST_DIVISIONS * (uint64_t)(r - p->racer) + d,
                                  .n_steps = steps_of(p, &r->member),
                                  .seconds = allotment(p),
                                  .batch = p->batch,
                                  .is_over = unit_is_over,
                                  .context = &look};
    const unsigned n_parts = drove__spread_parts(&p->spread); /* the others do as many */
    atomic_fetch_add_explicit(&p->n_begun, n_parts, memory_order_relaxed);
    const drovek_thread before = drovek_thread_borrow();
    to->status = drove__unit_train(&task, to->unit);
    if (to->status != DROVE_OK) drove__error_copy(to->error);
    drovek_thread_give_back(before);
    atomic_fetch_add_explicit(&p->n_done, n_parts, memory_order_relaxed);
}

/* `before` is how this process came to them. */
static drove_status run_units(pack *p, drove_status before, unit_item *item, unsigned n)
{
    round_of_units *round = drove__alloc(1, sizeof *round);
    if (round == NULL && before == DROVE_OK)
        before = drove__fail_nomem("members of a pack", sizeof *round);
    for (unsigned i = 0; i < n && round != NULL; i++) {
        racer *r = item[i].racer;
        const unsigned d = item[i].division;
        round->unit[i].unit = &r->unit[d];
        round->unit[i].n_theta = r->model->n_params;
        round->unit[i].n_output = drove__division_held(&p->divisions, d) * r->model->n_outputs;
    }
    if (round != NULL) {
        round->pack = p;
        round->item = item;
    }
    p->n_round = n;
    atomic_store_explicit(&p->n_begun, 0, memory_order_relaxed);
    const drove_status status =
        drove__spread_run(&p->spread, before, round != NULL ? round->unit : NULL, n, run_unit,
                          round);
    drove__free(round);
    DROVE_TRY(status);
    p->n_finished += n;
    atomic_store_explicit(&p->n_done, p->n_finished, memory_order_relaxed);
    for (unsigned i = 0; i < n; i++) {
        racer *r = item[i].racer;
        if (!isfinite(r->unit[item[i].division].loss)) continue; /* it leaves, or had no time */
        r->loss = (r->loss * r->n_units + r->unit[item[i].division].loss) / (r->n_units + 1.0);
        r->n_units++;
    }
    return DROVE_OK;
}

/* ---- the race ---- */

/* Members that are trained on a division. */
static unsigned places(const pack *p, unsigned division)
{
    const unsigned half = p->n_racers / 2;
    if (division == 0 || p->n_racers < FINISHERS) return p->n_racers;
    return division == 1 && half > FINISHERS ? half : FINISHERS;
}

static unsigned n_better(const pack *p, const racer *r)
{
    unsigned n = 0;
    for (unsigned i = 0; i < p->n_racers; i++) {
        const racer *other = &p->racer[i];
        if (other->n_units == r->n_units)
            n += other->loss < r->loss || (other->loss == r->loss && other < r);
    }
    return n;
}

/* A round for each division, of the members that are still in the race.  Of a round that was cut
 * short the few members that finished would be all of the pack: only the first such counts. */
static drove_status race(pack *p)
{
    unit_item item[DROVE_PACK_MOST_MEMBERS];
    unsigned n = 0;
    for (unsigned d = 0; d < p->n_divisions; d++) p->n_planned += places(p, d);
    for (unsigned d = 0;; d++) {
        bool ends = d > 0 && is_over(p);
        DROVE_TRY(drove__spread_agree(&p->spread, DROVE_OK, &ends));
        for (unsigned i = 0; i < n && ends && d > 1; i++)
            if (!isfinite(item[i].racer->unit[d - 1].loss)) p->n_divisions = d - 1;
        if (ends || d == p->n_divisions) break;
        bool goes_on[DROVE_PACK_MOST_MEMBERS];
        n = 0;
        for (unsigned i = 0; i < p->n_racers; i++) {
            const racer *r = &p->racer[i];
            goes_on[i] = r->n_units == d && isfinite(r->loss) && n_better(p, r) < places(p, d);
        }
        for (unsigned i = 0; i < p->n_racers; i++)
            if (goes_on[i]) item[n++] = (unit_item){.racer = &p->racer[i], .division = d};
        p->later = 0.0;
        for (unsigned k = d + 1; k < p->n_divisions; k++)
            p->later += drove__spread_waves(&p->spread, places(p, k));
        DROVE_TRY(run_units(p, DROVE_OK, item, n));
    }
    return DROVE_OK;
}

/* Variations of the best members, on all divisions at once. */
static drove_status vary(pack *p, unsigned generation, bool *has_any)
{
    unit_item item[FINISHERS * DROVE_PACK_MOST_DIVISIONS];
    unsigned n = 0, n_before = p->n_racers;
    drove_status status = DROVE_OK;
    *has_any = false;
    for (unsigned i = 0; i < n_before && status == DROVE_OK; i++) {
        const racer *r = &p->racer[i];
        bool is_added;
        drove_member member;
        if (r->n_units < p->n_divisions || !isfinite(r->loss) || n_better(p, r) >= FINISHERS)
            continue;
        drove__member_vary(&r->member, p->opt->seed, generation * DROVE_PACK_MOST_MEMBERS + i,
                           &member);
        status = add_racer(p, &member, &is_added);
        if (!is_added) continue;
        *has_any = true;
        for (unsigned d = 0; d < p->n_divisions; d++)
            item[n++] = (unit_item){.racer = &p->racer[p->n_racers - 1], .division = d};
    }
    p->n_planned += n;
    return run_units(p, status, item, n);
}

/* While there is time for a unit of each, as long as the last ones took. */
static drove_status vary_while_there_is_time(pack *p)
{
    bool has_any = p->opt->seconds > 0.0;
    for (unsigned i = 0; has_any; i++) {
        const double passed = seconds_since(p->begun_ns);
        const double each = passed / p->n_finished;
        const double wanted = each * FINISHERS * p->n_divisions;
        bool ends = is_over(p) || passed + 0.5 * wanted > SPENT * p->opt->seconds;
        DROVE_TRY(drove__spread_agree(&p->spread, DROVE_OK, &ends));
        if (ends) break;
        DROVE_TRY(vary(p, i, &has_any));
    }
    return DROVE_OK;
}

/* ---- the ensemble ---- */

/* Members with units of all divisions that count, and last the constant guess, which takes shares
 * where there is little to learn. */
typedef struct finish {
    unsigned n, n_divisions;
    racer *racer[DROVE_PACK_MOST_MEMBERS + 1]; /* NULL: the guess */
    float *guess;                              /* [n_outputs] */
    size_t n_rows;
    uint32_t *row;                              /* [n_rows] held ones: all, or evenly spread */
    float *output[DROVE_PACK_MOST_MEMBERS + 1]; /* [n_rows][n_outputs] of each */
} finish;

/* The outputs of a racer at f->row, each step-th of divisions.row. */
static void take_outputs(const pack *p, const racer *r, const finish *f, size_t step, float *z)
{
    const size_t n = p->judge.n_outputs, *from = p->divisions.from;
    unsigned d = 0;
    for (size_t i = 0; i < f->n_rows; i++) {
        while (i * step >= from[d + 1]) d++;
        memcpy(z + i * n, r->unit[d].output + (i * step - from[d]) * n, n * sizeof *z);
    }
}

static drove_status find_finishers(pack *p, finish *f)
{
    for (unsigned i = 0; i < p->n_racers; i++)
        if (isfinite(p->racer[i].loss) && p->racer[i].n_units > f->n_divisions)
            f->n_divisions = p->racer[i].n_units;
    if (f->n_divisions > p->n_divisions) f->n_divisions = p->n_divisions;
    if (f->n_divisions == 0 && is_halted(p))
        return drove__fail(DROVE_E_ARG, "interrupted before a member of the pack was trained; no "
                                        "model is saved");
    if (f->n_divisions == 0)
        return drove__fail(DROVE_E_ARG,
                           "--model auto: expected time for one member, found none left "
                           "(--until seconds=)");
    const size_t n_outputs = p->judge.n_outputs, n_held = p->divisions.from[f->n_divisions];
    const size_t step = (n_held * n_outputs + MOST_JUDGED - 1) / MOST_JUDGED;
    f->n_rows = (n_held + step - 1) / step;
    f->row = drove__alloc(f->n_rows, sizeof *f->row);
    if (f->row == NULL) return drove__fail_nomem("rows of a pack", f->n_rows * sizeof *f->row);
    for (size_t i = 0; i < f->n_rows; i++) f->row[i] = p->divisions.row[i * step];
    for (unsigned i = 0; i < p->n_racers; i++) {
        racer *r = &p->racer[i];
        if (r->n_units < f->n_divisions || !isfinite(r->loss)) continue;
        float *z = f->output[f->n] = drove__alloc(f->n_rows * n_outputs, sizeof *z);
        if (z == NULL) return drove__fail_nomem("outputs of members", f->n_rows * n_outputs * 4);
        f->racer[f->n++] = r;
        take_outputs(p, r, f, step, z);
    }
    float *z = f->output[f->n] = drove__alloc(f->n_rows * n_outputs, sizeof *z);
    f->guess = drove__alloc(n_outputs, sizeof *f->guess);
    if (z == NULL || f->guess == NULL)
        return drove__fail_nomem("outputs of members", f->n_rows * n_outputs * 4);
    f->n++;
    drove__judge_constant(&p->judge, f->guess);
    for (size_t i = 0; i < f->n_rows; i++)
        memcpy(z + i * n_outputs, f->guess, n_outputs * sizeof *z);
    return DROVE_OK;
}

static drove_status constant_loss(const pack *p, const finish *f, double *out)
{
    const size_t n = f->n_rows;
    double *loss = drove__alloc(3 * n, sizeof *loss), *weight = loss + n;
    if (loss == NULL) return drove__fail_nomem("losses", 3 * n * sizeof *loss);
    for (size_t i = 0; i < n; i++) {
        loss[i] = drove__judge_row(&p->judge, f->row[i], f->guess);
        weight[i] = drove__judge_weight(&p->judge, f->row[i]);
    }
    *out = drove__judge_mean(&p->judge, loss, weight, n, weight + n);
    drove__free(loss);
    return DROVE_OK;
}

static void fill_record(const pack *p, const finish *f, const drove_ensemble *e)
{
    drove_pack_record *r = p->record;
    r->n = p->n_racers;
    r->n_divisions = f->n_divisions;
    r->n_rows = p->opt->data->n_rows;
    r->n_judged = f->n_rows;
    r->loss = e->loss;
    r->error = e->error;
    r->best_loss = e->best_loss;
    r->sharpness = e->sharpness;
    r->best = p->n_racers;
    r->is_standardised = p->judge.kind == DROVE_JUDGE_VALUES;
    for (unsigned i = 0; i < p->n_racers; i++) {
        const racer *from = &p->racer[i];
        drove_pack_member *m = &r->member[i];
        *m = (drove_pack_member){.loss = from->n_units > 0 ? from->loss : INFINITY,
                                 .n_divisions = from->n_units};
        strcpy(m->name, from->member.name);
        for (unsigned d = 0; d < from->n_units; d++)
            m->epochs += from->unit[d].epochs / from->n_units;
        for (unsigned k = 0; k < f->n; k++)
            if (f->racer[k] == from) m->share = e->share[k];
        if (f->racer[e->best] == from) r->best = i;
        if (m->share > 0.0) r->n_networks += f->n_divisions;
    }
}

static drove_status make_ensemble(pack *p, finish *f, drove_model **model, float **theta)
{
    drove_ensemble e;
    drove_ensemble_input in = {
        .judge = &p->judge, .row = f->row, .n_rows = f->n_rows, .n_members = f->n};
    for (unsigned i = 0; i < f->n; i++) in.output[i] = f->output[i];
    /* In the rest of a budget, and a little more; ranks have to choose the same. */
    const double passed = seconds_since(p->begun_ns), seconds = p->opt->seconds;
    const double left = fmax(seconds - passed, (1.0 - SPENT) * seconds);
    if (seconds > 0.0 && p->opt->exchange.n <= 1)
        in.end_ns = drove__now_ns() + (uint64_t)(left * 1e9);
    DROVE_TRY(drove__ensemble_choose(&in, &e));
    fill_record(p, f, &e);
    DROVE_TRY(constant_loss(p, f, &p->record->constant_loss));
    drove_part_of_pack part[DROVE_PACK_MOST_MEMBERS * DROVE_PACK_MOST_DIVISIONS];
    unsigned n = 0;
    for (size_t k = 0; k < p->judge.n_outputs; k++)
        f->guess[k] *= (float)(e.share[f->n - 1] * e.sharpness);
    bool is_guess = true; /* that alone, in a network of the simplest member with the share 0 */
    for (unsigned i = 0; i + 1 < f->n; i++) is_guess = is_guess && !(e.share[i] > 0.0);
    for (unsigned i = 0; i + 1 < f->n; i++) {
        const racer *r = f->racer[i];
        const bool is_in = e.share[i] > 0.0 || (i == 0 && is_guess);
        for (unsigned d = 0; d < f->n_divisions && is_in; d++)
            part[n++] = (drove_part_of_pack){.member = &r->member,
                                             .embedding = r->embedding,
                                             .model = r->model,
                                             .theta = r->unit[d].theta,
                                             .share = e.share[i] * e.sharpness / f->n_divisions};
    }
    return drove__pack_assemble(part, n, f->guess, p->opt->io, p->opt->loss, model, theta);
}

/* ---- all of it ---- */

/* In fewer parts, where there are too few rows, or groups of rows, for all.  Rows of one group are
 * divided as if they were of none. */
static drove_status divide(pack *p, unsigned *n_parts)
{
    drove_data data = *p->opt->data;
    drove_storage storage = *data.storage;
    drove_status status = DROVE_E_SHAPE;
    for (unsigned n = DROVE_PACK_MOST_DIVISIONS; status == DROVE_E_SHAPE && n > 1; n--) {
        *n_parts = n;
        status = drove__divisions_make(&data, n, p->opt->seed, &p->divisions);
        if (status != DROVE_E_SHAPE || n > 2 || storage.parting.group == NULL) continue;
        storage.parting.group = NULL;
        data.storage = &storage;
        p->record->is_one_group = true;
        n = DROVE_PACK_MOST_DIVISIONS + 1;
    }
    if (status != DROVE_E_SHAPE) return status;
    return drove__fail(DROVE_E_SHAPE,
                       "--model auto: expected at least two training rows, found one");
}

static drove_status prepare(pack *p)
{
    unsigned n_parts;
    const drove_pack_options *o = p->opt;
    const size_t n = o->data->n_rows;
    const struct size_row *size = sizes;
    while (n > size->most_rows) size++;
    p->batch = size->batch;
    DROVE_TRY(divide(p, &n_parts));
    p->n_divisions = size->n_divisions < n_parts ? size->n_divisions : n_parts;
    if (p->divisions.is_in_time && p->n_divisions == n_parts)
        p->n_divisions--; /* nothing comes before the first rows */
    const size_t n_trained = n - n / DROVE_PACK_MOST_DIVISIONS;
    const double per_epoch = ceil((double)n_trained / (double)p->batch);
    p->n_steps = o->epochs > 0.0 ? o->epochs * per_epoch
                                 : fmin(fmax(MOST_STEPS, LEAST_EPOCHS * per_epoch),
                                        fmax(MOST_EPOCHS * per_epoch, LEAST_STEPS));
    for (unsigned d = 0; d < p->n_divisions; d++) {
        p->trained[d] = drove__grow(NULL, n, sizeof *p->trained[d]);
        if (p->trained[d] == NULL) return drove__fail_nomem("divisions of the examples", n * 4);
        p->n_trained[d] = drove__division_trained(&p->divisions, d, p->trained[d]);
    }
    p->most_racers = o->most_members > 0 && o->most_members < DROVE_PACK_MOST_MEMBERS
                         ? o->most_members
                         : DROVE_PACK_MOST_MEMBERS;
    return add_all(p);
}

static void pack_fini(pack *p)
{
    for (unsigned i = 0; i < p->n_racers; i++) {
        for (unsigned d = 0; d < DROVE_PACK_MOST_DIVISIONS; d++)
            drove__unit_fini(&p->racer[i].unit[d]);
        drove__model_destroy(p->racer[i].model);
    }
    for (unsigned i = 0; i < p->n_embeddings; i++) drove__embedding_fini(&p->embedding[i]);
    for (unsigned d = 0; d < DROVE_PACK_MOST_DIVISIONS; d++) free(p->trained[d]);
    drove__divisions_fini(&p->divisions);
    drove__spread_fini(&p->spread);
    drove__free(p);
}

drove_status drove__pack_train(const drove_pack_options *options, drove_model **model,
                               float **theta, drove_pack_record *record)
{
    pack *p = drove__alloc(1, sizeof *p);
    finish f = {0};
    *model = NULL;
    *theta = NULL;
    *record = (drove_pack_record){0};
    if (p == NULL) return drove__fail_nomem("a pack", sizeof *p);
    p->opt = options;
    p->record = record;
    const uint64_t started_ns = p->begun_ns = drove__now_ns();
    p->spread = (drove_spread){.exchange = options->exchange,
                               .n_threads = options->n_threads,
                               .n_procs = options->n_procs,
                               .is_over = tell_and_look,
                               .context = p};
    tell(p);
    drove_status status = drove__spread_init(&p->spread);
    if (status == DROVE_OK) status = find_room(p);
    if (status == DROVE_OK) status = prepare(p);
    status = drove__spread_agree(&p->spread, status, &(bool){false});
    /* What came before members takes no more of a budget. */
    const uint64_t most_ns = (uint64_t)(PREPARED * 1e9 * options->seconds);
    if (options->seconds > 0.0 && drove__now_ns() - p->begun_ns > most_ns)
        p->begun_ns = drove__now_ns() - most_ns;
    if (status == DROVE_OK) status = race(p);
    if (status == DROVE_OK) status = vary_while_there_is_time(p);
    const bool is_together = status == DROVE_OK; /* a failure so far is that of all */
    /* Later it takes no member from the pack. */
    bool was_told = options->is_over != NULL && options->is_over(options->context);
    if (status == DROVE_OK) status = find_finishers(p, &f);
    if (status == DROVE_OK) status = make_ensemble(p, &f, model, theta);
    for (size_t i = 0; i < DROVE_COUNT(f.output); i++) drove__free(f.output[i]);
    drove__free(f.guess);
    drove__free(f.row);
    if (is_together) status = drove__spread_agree(&p->spread, status, &was_told);
    if (status != DROVE_OK) {
        drove__model_destroy(*model);
        drove__free(*theta);
        *model = NULL;
        *theta = NULL;
    }
    record->is_interrupted = was_told;
    record->seconds = seconds_since(started_ns);
    pack_fini(p);
    return status;
}
