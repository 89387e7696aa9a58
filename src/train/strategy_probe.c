/* train/strategy_probe.c - see strategy_probe.h.  The numbers are those of
 * docs/results/strategy-auto.md. */
#include "train/strategy_probe.h"

#include "base/sort.h"
#include "run/control.h"
#include "values/interrupt.h"
#include "values/progress.h"
#include "run/setup.h"
#include "auto/strategy_counts.h"
#include "run/trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- candidates ---- */

enum { ONE_THREAD, TWO, HALF, ALL }; /* of the threads allowed */
enum {                               /* where it is tried */
       IN_CONTEST = 1,               /* of a run that is long enough for losses to be compared */
       BY_SPEED = 2,                 /* of a short one */
};
/* By what a meeting of replicas costs. */
enum {
    CHEAP = 1 << DROVE_MEETING_CHEAP,
    SELDOM = 1 << DROVE_MEETING_SELDOM,
    DEAR = 1 << DROVE_MEETING_DEAR
};

typedef struct candidate {
    const char *strategy;
    int threads;
    unsigned least; /* threads allowed, fewer: not tried */
    unsigned where, meeting;
} candidate;

/* Ascending by threads; of as many, those that lose fewest steps first.  Where replicas meet
 * seldom, steps are so short that the lines which threads of hogwild take from each other cost as
 * much: it would be tried in vain. */
static const candidate candidates[] = {
    {"sequential", ONE_THREAD, 1, IN_CONTEST | BY_SPEED, CHEAP | SELDOM | DEAR},
    {"hogwild", TWO, 2, BY_SPEED, DEAR},
    {"replicas?merge=sum", TWO, 2, BY_SPEED, CHEAP},
    {"replicas?merge=sum&period=64", TWO, 2, BY_SPEED, SELDOM},
    {"hogwild", HALF, 4, IN_CONTEST, CHEAP | DEAR},
    {"hogwild", ALL, 2, IN_CONTEST, CHEAP | DEAR},
    {"replicas?merge=sum", ALL, 2, IN_CONTEST, CHEAP},
    {"replicas?merge=sum&period=64", ALL, 2, IN_CONTEST, SELDOM},
    {"sync", ALL, 4, IN_CONTEST, CHEAP | SELDOM | DEAR},
};

static const double PROBE_PART = 0.1, MOST_PROBE_S = 10.0; /* of a run; of any run */
/* So many times its budget a probe may take to have DROVE_LEAST_PIECES, without which there is no
 * choice: runs turn out to be shorter than counts say, and a busy machine makes pieces longer. */
static const double OVERDRAFT = 3.0;
static const double LEAST_RUN_S = 1.0; /* of training, by counts */

/* The first piece, of the budget of each rival; not less than the system takes to give all threads
 * a core. */
static const double FIRST_PIECE_PART = 1.0 / 24.0, LEAST_PIECE_S = 0.004, MOST_PIECE_S = 0.25;
enum { MOST_SAMPLE = 4096, LEAST_SAMPLE = 256 };
static const double COLD_S = 5e-9;   /* of a parameter: until its vectors are mapped and near */
static const double SAMPLE_S = 0.01; /* a loss of the sample, by counts */
/* By speed alone: pieces of a short run, and the least budget: DROVE_LEAST_PIECES of those of two,
 * and setting up.  In shorter runs the probe takes longer than what a second thread spares. */
static const double SHORT_PIECE_S = 0.002, BY_SPEED_S = 0.014;

/* Rates within a tenth of each other are alike. */
static const double TIE = 0.9;
const double drove__strategy_probe_margin = 1.1;
/* By speed alone, as fast is enough: nobody waits for the other thread, so it costs nothing while
 * its core is taken by others, and they may be gone after the few milliseconds of a probe. */
const double drove__strategy_speed_margin = 1.0;
/* After so many pieces: a candidate with a smaller rate than `least` is out, and one with `clear`
 * ends the probe.  After the last nothing is open: near a tie there is little to gain. */
static const struct {
    double least, clear;
} after[DROVE_MOST_PIECES + 1] = {
    {0.0, INFINITY}, {0.0, INFINITY}, {0.4, INFINITY}, {0.6, 1.25}, {0.9, 1.2}, {1.1, 1.1},
};
/* Examples for the same loss that differ by no more are alike: a sample's loss is noisy. */
static const double NOISE = 1.05;

double drove__strategy_probe_budget(double run_s)
{
    return fmin(PROBE_PART * run_s, MOST_PROBE_S);
}

/* ---- rates ---- */

/* The lower one of an even number; sorts them. */
static double median(double *value, unsigned n)
{
    drove__sort(value, n);
    return value[(n - 1) / 2];
}

static double best_loss(const drove_rival *r, double loss_first)
{
    double best = loss_first;
    for (unsigned i = 0; i < r->n_pieces; i++) best = fmin(best, r->piece[i].loss);
    return best;
}

/* Examples until the loss was at `level` for the first time, between two pieces, where it falls
 * about with the logarithm of the examples; NaN: before the first piece's end or not yet. */
static double examples_to(const drove_rival *r, double level)
{
    if (r->n_pieces == 0 || r->piece[0].loss < level) return NAN;
    for (unsigned i = 0; i < r->n_pieces; i++) {
        const drove_probe_piece *at = &r->piece[i], *before = i > 0 ? at - 1 : at;
        if (at->loss > level) continue;
        double n0 = (double)before->n_examples, n1 = (double)at->n_examples;
        if (at->loss == before->loss) return n1;
        return n0 * pow(n1 / n0, (before->loss - level) / (before->loss - at->loss));
    }
    return NAN;
}

/* Examples from the first loss to `level`, were the whole way as steep as to the first piece below
 * it: too many for the first piece of a usual curve, which falls fastest at its start. */
static double examples_from_start(const drove_rival *r, double loss_first, double level)
{
    for (unsigned i = 0; i < r->n_pieces; i++)
        if (r->piece[i].loss <= level)
            return (double)r->piece[i].n_examples * (loss_first - level) /
                   (loss_first - r->piece[i].loss);
    return INFINITY;
}

/* The part of `other`'s examples that `one` needs for the same loss: the median over the losses of
 * the pieces of both that the other one has passed between two pieces.  The way to a first piece is
 * not known well enough, and counts only if the curves share nothing else. */
static double progress_ratio(const drove_rival *one, const drove_rival *other, double loss_first)
{
    double ratio[2 * DROVE_MOST_PIECES];
    unsigned n = 0;
    for (unsigned side = 0; side < 2; side++) {
        const drove_rival *from = side == 0 ? one : other;
        for (unsigned i = 0; i < from->n_pieces; i++) {
            double level = from->piece[i].loss;
            double part = examples_to(one, level) / examples_to(other, level);
            if (isfinite(part)) ratio[n++] = part;
        }
    }
    if (n > 0) return median(ratio, n);
    double best = best_loss(one, loss_first);
    if (other->piece[0].loss <= best) return 1.0;
    double level = fmax(best, best_loss(other, loss_first));
    return examples_from_start(one, loss_first, level) /
           examples_from_start(other, loss_first, level);
}

/* Examples of a second in piece i alone. */
static double speed(const drove_rival *r, unsigned i)
{
    const drove_probe_piece none = {0}, *at = &r->piece[i], *before = i > 0 ? at - 1 : &none;
    return (double)(at->n_examples - before->n_examples) / (at->train_s - before->train_s);
}

/* The smaller of two measures: the lower median of the ratios of pieces that were trained one after
 * the other, and the ratio of the fastest pieces, which other work on the machine disturbs least.
 * The first piece meets cold caches: it counts only if there is no other. */
static double speed_ratio(const drove_rival *one, const drove_rival *other)
{
    double ratio[DROVE_MOST_PIECES], fastest_one = 0.0, fastest_other = 0.0;
    unsigned n_pieces = one->n_pieces < other->n_pieces ? one->n_pieces : other->n_pieces, n = 0;
    for (unsigned i = n_pieces > 1 ? 1 : 0; i < n_pieces; i++) {
        fastest_one = fmax(fastest_one, speed(one, i));
        fastest_other = fmax(fastest_other, speed(other, i));
        ratio[n++] = speed(other, i) / speed(one, i);
    }
    return fmin(median(ratio, n), fastest_other / fastest_one);
}

double drove__strategy_probe_speed(const drove_rival *one, const drove_rival *other)
{
    double fastest_one = 0.0, fastest_other = 0.0;
    unsigned n = one->n_pieces < other->n_pieces ? one->n_pieces : other->n_pieces;
    if (n == 0) return NAN;
    for (unsigned i = n > 1 ? 1 : 0; i < n; i++) {
        fastest_one = fmax(fastest_one, speed(one, i));
        fastest_other = fmax(fastest_other, speed(other, i));
    }
    if (fastest_one == 0.0) return NAN;
    return isfinite(other->piece[other->n_pieces - 1].loss) ? fastest_other / fastest_one : 0.0;
}

double drove__strategy_probe_rate(const drove_rival *one, const drove_rival *other,
                                  double loss_first)
{
    if (one->n_pieces == 0 || other->n_pieces == 0) return NAN;
    double loss_one = best_loss(one, loss_first), loss_other = best_loss(other, loss_first);
    if (!(loss_one < loss_first)) return NAN;
    if (!(loss_other < loss_first) || !isfinite(other->piece[other->n_pieces - 1].loss)) return 0.0;
    double progress = NOISE * progress_ratio(one, other, loss_first);
    return fmin(progress, 1.0) * speed_ratio(one, other);
}

/* ---- the choice ---- */

unsigned drove__strategy_probe_choose(const drove_strategy_probe *p)
{
    double best = 0.0;
    for (unsigned i = 1; i < p->n; i++)
        if (drove__strategy_probe_is_measured(&p->rival[i])) best = fmax(best, p->rival[i].rate);

    if (best < p->margin) return 0;
    for (unsigned i = 1; i < p->n; i++)
        if (drove__strategy_probe_is_measured(&p->rival[i]) && p->rival[i].rate >= TIE * best)
            return i;
    return 0;
}

bool drove__strategy_probe_is_out(const drove_strategy_probe *p, unsigned i)
{
    const drove_rival *r = &p->rival[i];
    return r->rate < after[r->n_pieces].least; /* not of NaN */
}

bool drove__strategy_probe_is_clear(const drove_strategy_probe *p)
{
    for (unsigned i = 1; i < p->n; i++)
        if (p->rival[i].rate >= after[p->rival[i].n_pieces].clear) return true;
    return false;
}

/* ---- runs of the probe ---- */

typedef struct contest {
    const drove_config *config;
    const drove_problem *problem;
    const drove_clock *clock;
    const drove_interrupt *interrupt;
    drove_strategy_probe *out;
    drove_run *entrant[DROVE_MOST_RIVALS]; /* a run of each rival; NULL: it does not take part */
    unsigned where;                        /* IN_CONTEST, BY_SPEED */
    size_t n_sample;
    double example_s;         /* of an example on one core, by counts */
    double budget_s, round_s; /* of the probe; the last round */
    uint64_t begun_ns;
} contest;

static double elapsed(const contest *c)
{
    return (double)(drove__clock_now(c->clock) - c->begun_ns) * 1e-9;
}

static unsigned threads_of(const candidate *c, unsigned n_allowed)
{
    switch (c->threads) {
    case ONE_THREAD: return 1;
    case TWO: return 2;
    case HALF: return n_allowed / 2;
    default: return n_allowed;
    }
}

/* The first piece lasts so much longer, and its speed does not count: until memory is mapped. */
static double cold_s(const contest *c)
{
    return COLD_S * (double)c->problem->model->n_params;
}

static double first_piece(const contest *c)
{
    if (c->where == BY_SPEED) /* half of the budget, for setting up takes some of it */
        return fmin(fmax(SHORT_PIECE_S, c->budget_s / (4 * DROVE_LEAST_PIECES)), LEAST_PIECE_S);
    double piece_s = FIRST_PIECE_PART * c->budget_s / c->out->n;
    return fmin(fmax(piece_s, LEAST_PIECE_S), MOST_PIECE_S);
}

/* Seconds of the fewest rounds that make a choice, of one entrant. */
static double least_rounds(const contest *c)
{
    double sample_s = (double)c->n_sample * c->example_s;
    if (c->where == BY_SPEED) return 0.5 * BY_SPEED_S + cold_s(c);
    return cold_s(c) + first_piece(c) * (1 << (DROVE_LEAST_PIECES - 1)) +
           sample_s * (DROVE_LEAST_PIECES + 1);
}

/* As many as the budget allows, by speed alone both; one that cannot be made stays NULL.  false:
 * fewer than two. */
static bool open_entrants(contest *c, drove_engine_shared *shared)
{
    double setup_s = 0.0, round_s = least_rounds(c);
    unsigned n_open = 0;
    for (unsigned i = 0; i < c->out->n; i++) {
        double before_s = elapsed(c), n_then = n_open + (i == 0 ? 2.0 : 1.0);
        if (c->where != BY_SPEED && before_s + setup_s + n_then * round_s > c->budget_s) break;
        /* The run's problem and method, which auto has settled; no end, no files, no second look at
         * test data. */
        static const struct {
            const char *name, *value;
        } usual[] = {
            {"defaults", "classic"},                           /* nothing is chosen again */
            {"test", "none"},        {"class_weight", "none"}, /* the data have it */
            {"features", "none"},    {"machine", "none"},      /* it is tried out in real time */
            {"eval_every", "1"},     {"save_every", "never"},  {"metrics", "none"},
            {"out", "none"},         {"timeline", "none"},     {"log", "none"}};
        _Static_assert(DROVE_COUNT(usual) + 5 <= DROVE_MOST_SETTINGS, "room for all settings");
        drove_choice choice = {0};
        for (size_t k = 0; k < DROVE_COUNT(usual); k++)
            drove__choice_add(&choice, usual[k].name, DROVE_FROM_CALLER, "%s", usual[k].value);
        drove__choice_add(&choice, "strategy", DROVE_FROM_CALLER, "%s", c->out->rival[i].strategy);
        drove__choice_add(&choice, "threads", DROVE_FROM_CALLER, "%u", c->out->rival[i].n_threads);
        drove__choice_add(&choice, "until", DROVE_FROM_CALLER, "seconds=%g", 10.0 * MOST_PROBE_S);
        drove__choice_add(&choice, "prefetch", DROVE_FROM_CALLER,
                          c->config->machine.hints ? "on" : "hardware");
        if (drove__config_is_own(c->config, "rule_state"))
            drove__choice_add(&choice, "rule_state", DROVE_FROM_CALLER, "auto");
        (void)drove__run_open(c->config, &choice, c->interrupt, c->problem->train,
                              c->problem->tuned, shared, &c->entrant[i]);
        n_open += c->entrant[i] != NULL;
        if (c->entrant[0] == NULL) break;
        setup_s = (elapsed(c) - before_s) * (i == 0 ? c->out->n_allowed : 1.0); /* by workers */
    }
    return c->entrant[0] != NULL && n_open > 1;
}

static void drop(contest *c, unsigned i)
{
    drove__run_close(c->entrant[i], DROVE_OK);
    c->entrant[i] = NULL;
}

/* A piece of each, then their rates; true: the probe goes on. */
static bool do_round(contest *c, double train_s)
{
    drove_strategy_probe *out = c->out;
    unsigned n_left = 0;
    double before_s = elapsed(c);
    for (unsigned i = 0; i < out->n; i++) {
        drove_rival *r = &out->rival[i];
        drove_probe_piece *piece = &r->piece[r->n_pieces];
        drove_run *run = c->entrant[i];
        if (run == NULL) continue;
        if (drove__run_piece(&run->config.length, &run->workers, &run->state, train_s) !=
                DROVE_OK ||
            drove__run_sample_loss(&run->problem, &run->workers, &run->state, c->n_sample,
                                   &piece->loss) != DROVE_OK) {
            drop(c, i);
            continue;
        }
        piece->train_s = (double)run->state.standing.train_ns * 1e-9;
        piece->n_examples = drove__run_examples(&run->workers);
        r->n_pieces++;
    }
    if (c->entrant[0] == NULL || drove__run_signal(c->interrupt) != 0) return false;
    for (unsigned i = 1; i < out->n; i++) {
        if (c->entrant[i] == NULL) continue;
        const drove_rival *one = &out->rival[0], *other = &out->rival[i];
        out->rival[i].rate = c->where == BY_SPEED
                                 ? drove__strategy_probe_speed(one, other)
                                 : drove__strategy_probe_rate(one, other, out->loss_first);
    }
    for (unsigned i = 1; i < out->n; i++) {
        bool is_out = c->where == IN_CONTEST && drove__strategy_probe_is_out(out, i);
        if (c->entrant[i] != NULL && is_out) drop(c, i);
        n_left += c->entrant[i] != NULL;
    }
    c->round_s = elapsed(c) - before_s;
    return n_left > 0 && !drove__strategy_probe_is_clear(out);
}

static void do_rounds(contest *c)
{
    double train_s = first_piece(c);
    bool goes_on = true;
    for (unsigned k = 0; k < DROVE_MOST_PIECES && goes_on; k++) {
        goes_on = do_round(c, k == 0 ? train_s + cold_s(c) : train_s);
        if (c->where == BY_SPEED) continue;
        /* The whole run's budget, at the best speed that one thread has shown. */
        const drove_rival *one = &c->out->rival[0];
        double best = 0.0;
        for (unsigned i = 0; i < one->n_pieces; i++) best = fmax(best, speed(one, i));
        if (best > 0.0)
            c->budget_s = drove__strategy_probe_budget(
                drove__strategy_expected_s(c->config, c->problem, 1.0 / best));
        const double growth = k > 0 ? 2.0 : 1.0; /* so the whole of it doubles */
        const double most_s = k + 1 < DROVE_LEAST_PIECES ? OVERDRAFT * c->budget_s : c->budget_s;
        if (elapsed(c) + growth * c->round_s > most_s) return;
        train_s *= growth;
    }
}

/* ---- the run ---- */

/* True if the strategy may be chosen: nothing on the command line fixes it. */
static bool is_open(const drove_config *config, const drove_workers *workers)
{
    return config->method.strategy == NULL && !config->asks_classic &&
           workers->plan.host == DROVE_HOST_THREADS && workers->plan.n_asked > 1 &&
           workers->ranks.n == 1 && config->machine.workers == NULL &&
           config->machine.partition == 0 && config->files.resume == NULL &&
           !config->exchange.owns_shard;
}

/* The rival that was chosen, for the run. */
static void choose(const drove_strategy_probe *out, unsigned n_asked, drove_choice *choice)
{
    const drove_rival *chosen = &out->rival[out->chosen];
    const drove_origin by = out->reason == DROVE_STRATEGY_PROBED ? DROVE_BY_PROBE : DROVE_BY_KIND;
    choice->probe = out;
    drove__choice_add(choice, "strategy", by, "%s", chosen->strategy);
    if (chosen->n_threads > 1 && chosen->n_threads < n_asked)
        drove__choice_add(choice, "threads", by, "%u", chosen->n_threads);
}

static bool prepare(contest *c, unsigned where)
{
    c->where = where;
    c->out->margin = where == BY_SPEED && drove__config_is_own(c->config, "lr")
                         ? drove__strategy_speed_margin
                         : drove__strategy_probe_margin;
    c->n_sample = LEAST_SAMPLE;
    if (where != BY_SPEED)
        c->n_sample = (size_t)fmin(fmax(SAMPLE_S / c->example_s, LEAST_SAMPLE), MOST_SAMPLE);
    if (c->n_sample > c->problem->train->n_rows) c->n_sample = c->problem->train->n_rows;
    drove_strategy_probe *out = c->out;
    const unsigned meeting = 1u << drove__strategy_meeting(c->config, c->problem, c->example_s);
    out->n = 0;
    for (size_t i = 0; i < DROVE_COUNT(candidates); i++) {
        const candidate *one = &candidates[i];
        if (out->n_allowed < one->least) continue;
        if ((one->where & c->where) == 0 || (one->meeting & meeting) == 0) continue;
        out->rival[out->n++] = (drove_rival){.strategy = one->strategy,
                                             .n_threads = threads_of(one, out->n_allowed),
                                             .rate = NAN};
    }
    return 2.0 * least_rounds(c) <= c->budget_s;
}

/* The contest that the run is long enough for; false: it is for none.  Where the progress of two
 * threads is known, as it is at step sizes that trials choose, losses are compared only to choose
 * between more. */
static bool prepare_any(contest *c, double run_s)
{
    const bool is_known = drove__strategy_knows_progress(c->config, c->problem, c->example_s);
    c->budget_s = drove__strategy_probe_budget(run_s);
    const bool is_sure =
        is_known && drove__config_is_own(c->config, "lr") && c->out->n_allowed == 2;
    if (!is_sure && run_s >= LEAST_RUN_S && prepare(c, IN_CONTEST)) return true;
    return prepare(c, BY_SPEED) && is_known;
}

drove_status drove__strategy_probe_run(const drove_config *config, const drove_problem *problem,
                                       drove_workers *workers, const drove_interrupt *interrupt,
                                       drove_strategy_probe *out, drove_choice *choice)
{
    contest c = {.config = config,
                 .problem = problem,
                 .clock = workers->loop->clock,
                 .interrupt = interrupt,
                 .out = out};
    const unsigned n_asked = workers->plan.n_asked;
    *out = (drove_strategy_probe){0};
    if (!is_open(config, workers)) return DROVE_OK;
    DROVE_TRY(drove__strategy_example_s(config, problem, workers, &c.example_s));
    out->n_allowed = n_asked;
    out->reason = DROVE_STRATEGY_SHORT;
    if (!prepare_any(&c, drove__strategy_expected_s(config, problem, c.example_s))) {
        choose(out, n_asked, choice);
        return DROVE_OK;
    }
    out->reason = DROVE_STRATEGY_SKIPPED;
    /* not the probe's time: it is kept */
    DROVE_TRY(drove__run_prepare_precision(config, problem, workers));
    c.begun_ns = drove__clock_now(c.clock);
    if (open_entrants(&c, workers->loop->shared)) {
        drove_run *first = c.entrant[0];
        if (drove__run_sample_loss(&first->problem, &first->workers, &first->state, c.n_sample,
                                   &out->loss_first) == DROVE_OK) {
            do_rounds(&c);
            out->chosen = drove__strategy_probe_choose(out);
            out->reason =
                out->rival[0].n_pieces > 0 ? DROVE_STRATEGY_PROBED : DROVE_STRATEGY_SKIPPED;
        }
    }
    for (unsigned i = 0; i < c.out->n; i++)
        if (c.entrant[i] != NULL) drove__run_close(c.entrant[i], DROVE_OK);
    out->seconds = elapsed(&c);
    if (out->reason == DROVE_STRATEGY_PROBED) out->rival[0].rate = 1.0;
    choose(out, n_asked, choice);
    return DROVE_OK;
}
