/* run/control.c - the control loop of a run: stretches of training between evaluations, saves
 * and the end.
 *
 * Runs on the caller's thread.  The training clock goes only while the workers do.
 */
#include "run/control.h"

#include "base/denormals.h"
#include "loop/evaluation.h"
#include "loop/host.h"
#include "files/output.h"
#include "files/state.h"
#include "values/interrupt.h"
#include "values/progress.h"
#include "values/ranks.h"
#include "files/recording.h"
#include "values/say.h"
#include "run/stopping.h"

#include <math.h>
#include <signal.h>
#include <string.h>

static const uint64_t TICK_NS = 100000000;      /* display, signals */
static const uint64_t BESIDE_TICK_NS = 1000000; /* is an evaluation beside the workers due? */

/* Sums and times from options may be beyond what fits: then they are never reached. */
static uint64_t add_capped(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t ns_of(double seconds)
{
    return seconds < 1e10 ? (uint64_t)(seconds * 1e9) : UINT64_MAX;
}

static double seconds(uint64_t ns)
{
    return (double)ns * 1e-9;
}

static void show_progress(const drove_config_length *length, const drove_workers *workers,
                          drove_state *state, uint64_t train_ns, const drove_callbacks *cb)
{
    state->display.shown_ns = drove__clock_now(workers->loop->clock);
    if (cb->progress == NULL) return;
    drove_progress p;
    drove__run_progress(&length->until, workers, state, train_ns, &p);
    cb->progress(cb->context, &p);
}

/* ---- evaluation ---- */

static uint64_t batches_for(const drove_workers *workers, double epochs)
{
    double n = ceil(epochs * (double)workers->loop->order.per_epoch - 1e-9);
    return n < 9e18 ? (uint64_t)n : (uint64_t)9e18;
}

/* Batches between two planned evaluations; not always a whole number. */
static double batches_between(const drove_config_length *length, const drove_workers *workers)
{
    return fmax(length->eval_every * (double)workers->loop->order.per_epoch, 1.0);
}

/* Batch number at which the next evaluation stands: a whole number of rounds. */
static uint64_t next_evaluation(const drove_config_length *length, const drove_workers *workers,
                                const drove_state *state)
{
    double n =
        ceil((double)state->standing.evaluation_slot * batches_between(length, workers) - 1e-9);
    uint64_t at = n < 9e18 ? (uint64_t)n : (uint64_t)9e18;
    unsigned width = workers->loop->source->width;
    return width == 0 ? at : (at + width - 1) / width * width;
}

/* Batches behind the run, or examples, as the source counts: as workers stand when they are parked;
 * in the middle of their steps (in_flight) all before the last begun or, of examples, done. */
static uint64_t position(const drove_workers *workers, bool in_flight)
{
    uint64_t n = atomic_load(&workers->loop->source->next);
    if (!in_flight) return n;
    if (workers->plan.source->counts_rows) n = drove__run_examples(workers);
    return n > 0 ? n - 1 : 0;
}

/* True if the loss is the best so far, whose parameters are kept then.  The place of a signal must
 * not decide which they are. */
static bool is_best(const drove_problem *problem, drove_state *state)
{
    drove_standing *st = &state->standing;
    /* Test examples choose nothing: they say how good what was chosen is. */
    const double loss = problem->validation != NULL ? st->validation_loss : st->loss;
    st->since_best++;
    if (loss < st->patience_loss) {
        st->patience_loss = loss;
        st->since_best = 0;
    }
    if (!(loss < st->best_loss) || state->outcome == DROVE_INTERRUPTED) return false;
    st->best_loss = loss;
    return true;
}

/* Loss at theta[n_params] on data, by all workers of all ranks; n_rows 0: all rows. */
static drove_status score_data(const drove_problem *problem, const drove_workers *workers,
                               const float *theta, const drove_data *data, size_t n_rows,
                               drove_score *out)
{
    drove_loop *loop = workers->loop;
    bool is_own = loop->order.holds_shard && data == problem->train; /* each rank has its own */
    DROVE_TRY(drove__scoring_run(loop, data, theta, n_rows, is_own ? 0 : workers->ranks.rank,
                                 is_own ? 1 : workers->ranks.n));
    if (!is_own) DROVE_TRY(drove__ranks_scored(workers));
    *out = drove__scoring_sum(loop);
    return is_own ? drove__ranks_add(workers, out) : DROVE_OK;
}

/* Mean loss and accuracy; data NULL: they stay as they are. */
static drove_status score_part(const drove_problem *problem, const drove_workers *workers,
                               const float *theta, const drove_data *data, size_t n_rows,
                               double *loss, double *accuracy)
{
    drove_score score;
    if (data == NULL) return DROVE_OK;
    DROVE_TRY(score_data(problem, workers, theta, data, n_rows, &score));
    *loss = drove__score_mean_loss(&score) * problem->loss_scale;
    *accuracy = drove__score_accuracy(data, &score);
    return DROVE_OK;
}

/* All losses at the present parameters.  n_rows: of the training data; 0: all. */
static drove_status score_all(const drove_problem *problem, const drove_workers *workers,
                              drove_state *state, size_t n_rows)
{
    drove_standing *st = &state->standing;
    const float *theta;
    DROVE_TRY(drove__run_theta(problem, workers, state, &theta));
    DROVE_TRY(
        score_part(problem, workers, theta, problem->train, n_rows, &st->loss, &st->accuracy));
    DROVE_TRY(score_part(problem, workers, theta, problem->validation, 0, &st->validation_loss,
                         &st->validation_accuracy));
    return score_part(problem, workers, theta, problem->test, 0, &st->test_loss,
                      &st->test_accuracy);
}

/* Where an evaluation stands.  Of a copy that is evaluated while the workers go on: when it was
 * made; examples of steps under way then count if they were counted. */
typedef struct moment {
    uint64_t position, examples, updates, train_ns;
} moment;

static moment moment_now(const drove_workers *workers, const drove_state *state)
{
    const drove_loop *loop = workers->loop;
    const drove_beside *b = &loop->scoring.beside;
    return (moment){.position = position(workers, drove__loop_in_flight(loop)),
                    .examples = drove__run_examples(workers),
                    .updates = b->is_on ? b->updates : atomic_load(&loop->sync->published),
                    .train_ns = state->standing.train_ns};
}

/* Scores the present parameters, keeps them if they are the best, tells of it.  *wants_cut: of a
 * planned evaluation (stopping.h); NULL: it is that of the end. */
static drove_status evaluate_run(drove_run *run, bool *wants_cut)
{
    const drove_config *config = &run->config;
    const drove_config_length *length = &config->length;
    const drove_problem *problem = &run->problem;
    const drove_workers *workers = &run->workers;
    drove_state *state = &run->state;
    const drove_output *output = &run->output;
    drove_standing *st = &state->standing;
    drove_loop *loop = workers->loop;
    bool are_finite;
    const moment at = moment_now(workers, state);
    const double epochs = (double)at.examples / (double)loop->order.n_rows;
    DROVE_TRY(score_all(problem, workers, state, drove__ranks_part(config, workers)));
    if (st->n_evaluations == 0) st->loss_initial = st->loss;
    st->n_evaluations++;
    /* The first planned evaluation that is still to come. */
    /* Near it at once, from below: a state file may hold any counter. */
    double slot =
        ((double)at.position - loop->source->width) / batches_between(length, workers) - 2.0;
    st->evaluation_slot = slot > 0.0 ? (uint64_t)slot : 0;
    while (next_evaluation(length, workers, state) <= at.position) st->evaluation_slot++;
    DROVE_TRY(drove__run_check_theta(problem, workers, state, &are_finite));
    bool is_finite = isfinite(st->loss) && are_finite;
    if (!is_finite) atomic_store(&loop->ending.nonfinite, 1);
    for (int i = 0; i < DROVE_N_MARKS; i++) {
        if (st->mark[i].met || !(st->loss <= drove__mark_percent[i] / 100.0 * st->loss_initial))
            continue;
        st->mark[i] = (drove_mark){
            .train_s = seconds(at.train_ns), .epochs = epochs, .updates = at.updates, .met = true};
    }
    /* The best parameters; if nobody will ask for them, their pages stay untouched. */
    const bool is_asked = output->log != NULL || problem->validation != NULL;
    if (is_finite && is_best(problem, state) && is_asked) {
        const float *theta;
        DROVE_TRY(drove__run_theta(problem, workers, state, &theta));
        memcpy(state->best, theta, problem->model->n_params * sizeof *state->best);
        if (output->log != NULL) DROVE_TRY(drove__output_best(config, problem, state->best));
    }
    drove_progress p;
    drove__run_progress(&length->until, workers, state, st->train_ns, &p);
    p.evaluated = 1;
    p.examples = at.examples;
    p.epochs = epochs;
    p.updates = at.updates;
    p.train_s = seconds(at.train_ns);
    if (output->cb.evaluated != NULL) output->cb.evaluated(output->cb.context, &p);
    DROVE_TRY(drove__output_evaluation(workers, state, output, &p));
    if (wants_cut == NULL || !is_finite) return DROVE_OK;
    return drove__stopping_evaluated(problem, workers, state, wants_cut);
}

/* ---- when to stop ---- */

static bool target_met(const drove_until *until, const drove_standing *st)
{
    const double goal = until->loss_is_relative ? until->loss * st->loss_initial : until->loss;
    const double accuracy = isnan(st->test_accuracy) ? st->accuracy : st->test_accuracy;
    /* comparisons with NaN are false, and these raise nothing */
    return islessequal(st->loss, goal) || isgreaterequal(accuracy, until->accuracy);
}

/* Below limit: what lost workers left to others, or a rank that is behind has not begun. */
static bool has_undone(const drove_workers *workers, uint64_t limit)
{
    const drove_source *from = workers->loop->source;
    return from->ops->has_undone != NULL && from->ops->has_undone(from, limit);
}

static bool budget_used(const drove_config_length *length, const drove_workers *workers,
                        const drove_state *state)
{
    if (!drove__replay_goes_on(workers) || state->is_trained) return true;
    const uint64_t limit = batches_for(workers, length->until.epochs);
    bool all_given = atomic_load(&workers->loop->source->next) >= limit;
    if (workers->repeating != NULL) all_given = false; /* the record says where it ends */
    return (all_given && !has_undone(workers, limit)) ||
           atomic_load(&workers->loop->sync->published) >= length->until.updates ||
           seconds(state->standing.train_ns) >= drove__run_most_seconds(&length->until, workers) ||
           (length->until.patience > 0 && state->standing.since_best >= length->until.patience);
}

static bool run_is_over(const drove_config_length *length, const drove_workers *workers,
                        drove_state *state)
{
    state->signal_number =
        workers->ranks.n > 1 ? workers->ranks.signal_number : drove__run_signal(&state->interrupt);
    if (atomic_load(&workers->loop->ending.nonfinite)) {
        state->outcome = DROVE_CRASHED;
    } else if (target_met(&length->until, &state->standing)) {
        state->outcome = DROVE_REACHED;
    } else if (state->signal_number != 0) {
        state->outcome = DROVE_INTERRUPTED;
    } else if (budget_used(length, workers, state)) {
        state->outcome = drove__until_has_target(&length->until) ? DROVE_MISSED : DROVE_FINISHED;
        drove__replay_outcome(workers, state);
    } else {
        return false;
    }
    return true;
}

/* ---- stretches of training ---- */

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Batches that bring the updates to `updates`; with steps dropped on the way another stretch
 * follows. */
static uint64_t batches_for_updates(const drove_workers *workers, uint64_t updates)
{
    if (workers->plan.source->counts_rows) return UINT64_MAX; /* most_updates says it */
    uint64_t next = atomic_load(&workers->loop->source->next),
             published = atomic_load(&workers->loop->sync->published);
    if (updates == UINT64_MAX) return UINT64_MAX;
    if (updates <= published) return next;
    if (workers->ranks.n > 1 && has_undone(workers, next)) {
        /* From the rank that is furthest behind. */
        const drove_source *from = workers->loop->source;
        for (unsigned i = 0; i < workers->plan.n_workers; i++)
            next = least(next, drove__source_begun(from, i));
    }
    uint64_t missing = updates - published, each = workers->loop->sync->batches_per_update;
    return missing > UINT64_MAX / each ? UINT64_MAX : add_capped(next, missing * each);
}

static uint64_t next_save_batch(const drove_config_length *length, const drove_workers *workers,
                                const drove_state *state)
{
    return add_capped(state->save.done_batches, batches_for(workers, length->save_every.amount));
}

static uint64_t next_save_update(const drove_config_length *length, const drove_state *state)
{
    return add_capped(state->save.done_updates, length->save_every.updates);
}

static uint64_t next_save_ns(const drove_config_length *length, const drove_state *state)
{
    return add_capped(state->save.done_ns, ns_of(length->save_every.amount));
}

typedef struct stretch {            /* of training: from open until the workers are parked */
    uint64_t start_ns, deadline_ns; /* of the workers' clock */
    uint64_t train_ns;              /* training time before it */
    uint64_t parked_ns;             /* when the workers were seen to be parked; 0: they train */
    bool is_halted;
} stretch;

/* The workers set off, up to batch `limit`, most_s of training or the next save by clock. */
static drove_status begin_stretch(const drove_config_length *length, drove_workers *workers,
                                  drove_state *state, uint64_t limit, double most_s, stretch *out)
{
    const drove_standing *st = &state->standing;
    drove_source *from = workers->loop->source;
    drove_host *host = workers->loop->host;
    uint64_t last_ns = ns_of(most_s);
    if (length->save_every.unit == DROVE_SAVE_SECONDS)
        last_ns = least(last_ns, next_save_ns(length, state));
    if (workers->ranks.rank != 0) last_ns = UINT64_MAX;   /* the clock is that of rank 0 */
    if (workers->repeating != NULL) last_ns = UINT64_MAX; /* the record says where it ends */
    DROVE_TRY(drove__ranks_ready(workers, state));
    drove__replay_stretch(workers, &limit);
    state->display.rate_examples = drove__run_examples(workers);
    state->display.rate_ns = st->train_ns;
    *out = (stretch){.start_ns = drove__clock_now(workers->loop->clock),
                     .deadline_ns = UINT64_MAX,
                     .train_ns = st->train_ns};
    if (last_ns != UINT64_MAX)
        out->deadline_ns =
            add_capped(out->start_ns, last_ns > st->train_ns ? last_ns - st->train_ns : 0);
    from->train_ns = st->train_ns;
    from->open_ns = out->start_ns;
    uint64_t most_updates = length->until.updates; /* at which the stretch has to end */
    if (length->save_every.unit == DROVE_SAVE_UPDATES)
        most_updates = least(most_updates, next_save_update(length, state));
    from->ops->open(from, limit, most_updates);
    if (workers->loop->data.stream != NULL)
        drove__stream_seek(workers->loop->data.stream, workers->loop->order.batch,
                           atomic_load(&from->next));
    state->theta_is_current = false;
    if (state->parkings.since_ns != 0) {
        state->parkings.n++;
        state->parkings.ns += out->start_ns - state->parkings.since_ns;
    }
    host->ops->go(host, DROVE_DO_TRAIN);
    return DROVE_OK;
}

static void halt_stretch(const drove_workers *workers, stretch *s)
{
    drove__loop_halt(workers->loop);
    if (workers->loop->on != NULL) drove__virtual_watch(workers->loop->on, NULL, NULL);
    s->is_halted = true;
}

/* Waits for tick_ns, or less.  False: the workers are parked.  True: it is time to look at the
 * run. */
static bool wait_stretch(const drove_config_length *length, const drove_workers *workers,
                         drove_state *state, stretch *s, uint64_t tick_ns,
                         const drove_callbacks *cb)
{
    const drove_clock *clock = workers->loop->clock;
    drove_host *host = workers->loop->host;
    uint64_t now = drove__clock_now(clock);
    const bool is_parked =
        host->ops->wait(host, s->is_halted ? now + tick_ns : least(now + tick_ns, s->deadline_ns));
    now = drove__clock_now(clock);
    if (is_parked && s->parked_ns == 0) s->parked_ns = now;
    if (is_parked) return false;
    if (!s->is_halted && (drove__run_signal(&state->interrupt) != 0 || now >= s->deadline_ns))
        halt_stretch(workers, s);
    (void)drove__source_check(workers->loop->source); /* says who is lost */
    state->standing.train_ns = s->train_ns + now - s->start_ns;
    if (tick_ns >= TICK_NS || now - state->display.shown_ns >= TICK_NS)
        show_progress(length, workers, state, state->standing.train_ns, cb);
    return true;
}

/* The workers are parked. */
static drove_status end_stretch(const drove_config_length *length, drove_workers *workers,
                                drove_state *state, const stretch *s, const drove_callbacks *cb)
{
    drove_standing *st = &state->standing;
    drove_source *from = workers->loop->source;
    const uint64_t end = s->parked_ns;
    st->train_ns = s->train_ns + end - s->start_ns;
    state->parkings.since_ns = end;
    state->theta_is_current = false;
    if (end - state->display.shown_ns >= TICK_NS)
        show_progress(length, workers, state, st->train_ns, cb); /* stretches are short */
    if (from->ops->settle != NULL) from->ops->settle(from);
    /* Saturations at the meeting of the replicas count for the first worker. */
    drove_sync *sync = workers->loop->sync;
    (void)sync->ops->peek(sync); /* the replicas meet for the last time */
    workers->loop->worker[0].trace.clamped += sync->n_clamped;
    sync->n_clamped = 0;
    workers->ranks.signal_number = drove__run_signal(&state->interrupt);
    DROVE_TRY(workers->loop->host->ops->status(workers->loop->host));
    return drove__ranks_parked(workers, state);
}

static bool save_is_due(const drove_config_length *length, const drove_workers *workers,
                        const drove_state *state, bool evaluated)
{
    switch (length->save_every.unit) {
    case DROVE_SAVE_NEVER: return false;
    case DROVE_SAVE_EVAL: return evaluated;
    case DROVE_SAVE_EPOCHS:
        return atomic_load(&workers->loop->source->next) >= next_save_batch(length, workers, state);
    case DROVE_SAVE_UPDATES:
        return atomic_load(&workers->loop->sync->published) >= next_save_update(length, state);
    case DROVE_SAVE_SECONDS: return state->standing.train_ns >= next_save_ns(length, state);
    }
    return false;
}

/* On a virtual clock, or of a copy (--eval-beside), a planned evaluation ends no stretch: it
 * is made as soon as a batch behind its place is begun, with the workers in the middle of their
 * steps; on a virtual clock in no time.  Parked, they would all set out again together, and be at
 * each other's heels. */
static bool evaluates_in_flight(const drove_workers *workers)
{
    return workers->loop->on != NULL || workers->loop->scoring.beside.copy != NULL;
}

static uint64_t next_stop(const drove_config_length *length, const drove_workers *workers,
                          const drove_state *state)
{
    uint64_t stop = batches_for(workers, length->until.epochs);
    if (!evaluates_in_flight(workers)) stop = least(stop, next_evaluation(length, workers, state));
    stop = least(stop, batches_for_updates(workers, length->until.updates));
    if (length->save_every.unit == DROVE_SAVE_EPOCHS)
        stop = least(stop, next_save_batch(length, workers, state));
    if (length->save_every.unit == DROVE_SAVE_UPDATES) {
        stop = least(stop, batches_for_updates(workers, next_save_update(length, state)));
    }
    return stop;
}

drove_status drove__run_sample_loss(const drove_problem *problem, const drove_workers *workers,
                                    drove_state *state, size_t n_rows, double *loss)
{
    drove_score score;
    const float *theta;
    DROVE_TRY(drove__run_theta(problem, workers, state, &theta));
    DROVE_TRY(score_data(problem, workers, theta, problem->train, n_rows, &score));
    *loss = drove__score_mean_loss(&score);
    if (!isfinite(*loss) || atomic_load(&workers->loop->ending.nonfinite)) *loss = INFINITY;
    return DROVE_OK;
}

drove_status drove__run_piece(const drove_config_length *length, drove_workers *workers,
                              drove_state *state, double train_s)
{
    const double end_s = seconds(state->standing.train_ns) + train_s;
    const drove_callbacks silent = {0};
    stretch s;
    DROVE_TRY(begin_stretch(length, workers, state, UINT64_MAX / 2, end_s, &s));
    while (wait_stretch(length, workers, state, &s, TICK_NS, &silent)) continue;
    DROVE_TRY(end_stretch(length, workers, state, &s, &silent));
    DROVE_TRY(drove__source_check(workers->loop->source));
    return drove__sync_parked(workers->loop->sync);
}

/* The present parameters, which meet the target, are the result of the run, whatever the workers'
 * last steps do; with validation examples those of the best validation loss are. */
static drove_status keep_result(const drove_problem *problem, const drove_workers *workers,
                                drove_state *state)
{
    const float *theta;
    DROVE_TRY(drove__run_theta(problem, workers, state, &theta));
    if (!drove__output_has_best(problem, state))
        memcpy(state->best, theta, problem->model->n_params * sizeof *state->best);
    state->gives_best = true;
    return DROVE_OK;
}

typedef struct due { /* what decides whether an evaluation is */
    const drove_config_length *length;
    const drove_workers *workers;
    const drove_state *state;
} due;

static bool evaluation_is_due(const void *context)
{
    const due *d = context;
    return position(d->workers, true) >= next_evaluation(d->length, d->workers, d->state);
}

/* ---- beside the workers ---- */

typedef struct watching { /* the stretch during which a copy is evaluated */
    const drove_config_length *length;
    const drove_workers *workers;
    drove_state *state;
    const drove_callbacks *cb;
    stretch *s;
} watching;

/* Between two chunks: the deadline, signals, the display, and whether the workers have parked. */
static void watch_stretch(void *context)
{
    const watching *w = context;
    if (w->s->parked_ns == 0) (void)wait_stretch(w->length, w->workers, w->state, w->s, 0, w->cb);
}

/* From here on the copy is what is looked at.  Without one, on a virtual clock, nothing is done. */
static void begin_copy(watching *w)
{
    drove_loop *loop = w->workers->loop;
    drove_beside *b = &loop->scoring.beside;
    w->state->theta_is_current = false;
    if (b->copy == NULL) return;
    b->updates = drove__sync_places(loop->sync->ops)->snapshot(loop->sync, b->copy);
    w->state->standing.train_ns = w->s->train_ns + drove__clock_now(loop->clock) - w->s->start_ns;
    b->look = watch_stretch;
    b->context = w;
    b->is_on = true;
    w->state->parkings.n_beside++;
}

static void end_copy(const drove_workers *workers, drove_state *state)
{
    workers->loop->scoring.beside.is_on = false;
    state->theta_is_current = false;
}

/* The best parameters by the validation loss are the run's result.  n_rows: as of score_all. */
static drove_status give_best(const drove_problem *problem, const drove_workers *workers,
                              drove_state *state, size_t n_rows, const drove_callbacks *cb)
{
    state->gives_best = true;
    DROVE_TRY(score_all(problem, workers, state, n_rows));
    drove__run_say(cb, "result: the parameters with the best validation loss, %.4g",
                   state->standing.validation_loss);
    return DROVE_OK;
}

static void restore_denormals(uint64_t *before)
{
    drove__denormals_restore(*before);
}

drove_status drove__run_control(drove_run *run)
{
    const drove_config *config = &run->config;
    const drove_config_length *length = &config->length;
    const drove_problem *problem = &run->problem;
    drove_workers *workers = &run->workers;
    drove_state *state = &run->state;
    const drove_callbacks *cb = &run->output.cb;
    drove_loop *loop = workers->loop;
    const char *out = config->files.out, *record = config->files.record;
    bool evaluated = true; /* the standing is that of the present parameters */
    bool wants_cut;
    stretch s;
    const due next = {.length = length, .workers = workers, .state = state};
    watching over = {.length = length, .workers = workers, .state = state, .cb = cb, .s = &s};
    const uint64_t tick_ns = loop->scoring.beside.copy != NULL ? BESIDE_TICK_NS : TICK_NS;
    drove_status status, lost;
    char text[DROVE_ERROR_TEXT_SIZE];
    /* Means of replicas and centres are computed in this thread: with the workers' arithmetic. */
    __attribute__((cleanup(restore_denormals), unused)) uint64_t before = drove__denormals_flush();

    if (state->standing.n_evaluations == 0) {
        if ((status = evaluate_run(run, &wants_cut)) != DROVE_OK) goto fail;
    } else if (run_is_over(length, workers, state)) {
        drove__run_say_nothing_to_do(config, workers, state, cb);
    } else {
        drove__run_say_no_steps(config, workers, cb);
    }

    while (!run_is_over(length, workers, state)) {
        wants_cut = false;
        status = begin_stretch(length, workers, state, next_stop(length, workers, state),
                               drove__run_most_seconds(&length->until, workers), &s);
        if (status != DROVE_OK) return drove__run_record_failed(workers, state, status, cb);
        if (loop->on != NULL) drove__virtual_watch(loop->on, evaluation_is_due, &next);
        while (wait_stretch(length, workers, state, &s, tick_ns, cb)) {
            if (s.is_halted || !evaluates_in_flight(workers) || !evaluation_is_due(&next)) continue;
            begin_copy(&over);
            status = evaluate_run(run, &wants_cut);
            const bool is_over = status == DROVE_OK && run_is_over(length, workers, state);
            if (is_over && state->outcome == DROVE_REACHED)
                status = keep_result(problem, workers, state);
            end_copy(workers, state);
            if (status != DROVE_OK) drove__error_copy(text);
            const bool ends = status != DROVE_OK || wants_cut || is_over;
            if (ends && s.parked_ns == 0) halt_stretch(workers, &s);
        }
        const drove_status parked = end_stretch(length, workers, state, &s, cb);
        if (status != DROVE_OK) return drove__fail(status, "%s", text);
        if (parked != DROVE_OK) return drove__run_record_failed(workers, state, parked, cb);
        if ((status = drove__source_check(loop->source)) != DROVE_OK) goto fail;
        DROVE_TRY(drove__sync_parked(loop->sync));
        DROVE_TRY(
            drove__run_record_parked(problem->given == NULL ? record : NULL, workers, state, cb));
        if (state->gives_best) break; /* the target was met in flight */
        /* The planned evaluation that is due, or that of a crash. */
        if (atomic_load(&loop->ending.nonfinite))
            DROVE_TRY(drove__stopping_recover(workers, state, cb));
        evaluated = atomic_load(&loop->ending.nonfinite) ||
                    atomic_load(&loop->source->next) >= next_evaluation(length, workers, state);
        if (evaluated) {
            if ((status = evaluate_run(run, &wants_cut)) != DROVE_OK) goto fail;
            if (atomic_load(&loop->ending.nonfinite)) {
                DROVE_TRY(drove__stopping_recover(workers, state, cb));
                evaluated = atomic_load(&loop->ending.nonfinite) != 0;
            }
        }
        if (wants_cut) {
            DROVE_TRY(drove__stopping_cut(workers, state, cb));
            evaluated = false;
        }
        if (save_is_due(length, workers, state, evaluated)) DROVE_TRY(drove__state_save(run));
    }

    /* The run ended between two evaluations: measure the end, which may be what meets the target.
     * The plan of evaluations and the patience stay as they were, so that a run continued from
     * here evaluates where an unbroken one does. */
    if (!evaluated && !state->gives_best) {
        const drove_standing planned = state->standing;
        if ((status = evaluate_run(run, NULL)) != DROVE_OK) goto fail;
        (void)run_is_over(length, workers, state);
        state->standing.evaluation_slot = planned.evaluation_slot;
        state->standing.since_best = planned.since_best;
        state->standing.patience_loss = planned.patience_loss;
    }
    if (state->outcome == DROVE_CRASHED) return DROVE_OK;
    if (drove__output_has_best(problem, state))
        DROVE_TRY(give_best(problem, workers, state, drove__ranks_part(config, workers), cb));
    return drove__state_save(run);

fail:
    /* With no worker left, and the last may be lost in an evaluation too, nothing can be evaluated:
     * what there is is saved, and the run has failed. */
    if ((lost = drove__source_check(loop->source)) == DROVE_OK) return status;
    drove__error_copy(text);
    DROVE_TRY(drove__state_save(run));
    if (out == NULL) return drove__fail(lost, "%s; nothing is saved without --out", text);
    return drove__fail(lost, "%s; the state is saved: drove train --resume %s", text, out);
}
