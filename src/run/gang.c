/* run/gang.c - the workers' threads: started once, parked between two commands.  Processes are
 * procs.c's.
 *
 * One mutex and two condition variables: `go` wakes the workers when the generation changes,
 * `parked` wakes the caller when the last one is done.  The mutex orders everything that the
 * caller reads or writes while they are parked.
 */
#include "run/procs.h"

#include "base/clock.h"

#include <errno.h>
#include <string.h>

static void finish(drove_run *run)
{
    pthread_mutex_lock(&run->gang.lock);
    if (--run->gang.n_busy == 0) pthread_cond_signal(&run->gang.parked);
    pthread_mutex_unlock(&run->gang.lock);
}

static drove_command next_command(drove_gang *gang, uint64_t *seen)
{
    pthread_mutex_lock(&gang->lock);
    while (gang->generation == *seen) pthread_cond_wait(&gang->go, &gang->lock);
    *seen = gang->generation;
    drove_command command = gang->command;
    pthread_mutex_unlock(&gang->lock);
    return command;
}

/* Threads that answer a command. */
static unsigned n_members(const drove_run *run)
{
    unsigned n_here = run->ranks.n > 1 ? 1 : run->n_workers;
    return n_here + (run->crew.n_groups > 0 ? 1 : 0) - run->gang.n_silent;
}

/* false: the thread is to end. */
static bool train(drove_worker *w)
{
    if (w->group == NULL) drove__worker_train(w);
    else if (drove__group_leads(w)) return drove__group_work(w);
    else drove__group_lane(w);
    return true;
}

static bool score(drove_worker *w)
{
    if (w->group != NULL) return train(w);
    drove__worker_score(w);
    return true;
}

static void *coordinator_main(void *argument)
{
    drove_run *run = argument;
    uint64_t seen = 0;
    finish(run);
    for (;;) {
        switch (next_command(&run->gang, &seen)) {
        case DROVE_DO_TRAIN: drove__crew_coordinate(run, DROVE_JOB_TRAIN); break;
        case DROVE_DO_SCORE: drove__crew_coordinate(run, DROVE_JOB_SCORE); break;
        case DROVE_DO_STATISTICS:
        case DROVE_DO_PROBE: break;
        case DROVE_DO_QUIT: return NULL;
        }
        finish(run);
    }
}

bool drove__worker_obey(drove_worker *w, drove_command command)
{
    switch (command) {
    case DROVE_DO_TRAIN: return train(w);
    case DROVE_DO_SCORE: return score(w);
    case DROVE_DO_STATISTICS: drove__worker_statistics(w); return true;
    case DROVE_DO_PROBE: return drove__group_probe(w);
    case DROVE_DO_QUIT: break;
    }
    return false;
}

static void *worker_main(void *argument)
{
    drove_worker *w = argument;
    uint64_t seen = 0;
    drove_status status = drove__worker_setup(w);
    if (status != DROVE_OK) drove__worker_keep_error(w, status);
    finish(w->run);
    while (drove__worker_obey(w, next_command(&w->run->gang, &seen))) finish(w->run);
    return NULL;
}

static drove_status init_gang(drove_gang *gang, unsigned n_members)
{
    pthread_condattr_t monotonic;
    if (pthread_mutex_init(&gang->lock, NULL) != 0)
        return drove__fail(DROVE_E_SYSTEM, "cannot make a mutex");
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&gang->go, NULL);
    pthread_cond_init(&gang->parked, &monotonic);
    pthread_condattr_destroy(&monotonic);
    gang->n_busy = n_members;
    gang->ready = true;
    return DROVE_OK;
}

static drove_status start_coordinator(drove_run *run)
{
    int error = pthread_create(&run->crew.thread, NULL, coordinator_main, run);
    if (error != 0)
        return drove__fail(DROVE_E_SYSTEM, "cannot start the coordinator: %s", strerror(error));
    run->crew.thread_started = true;
    return DROVE_OK;
}

static drove_status start_threads(drove_run *run)
{
    DROVE_TRY(init_gang(&run->gang, n_members(run)));
    if (run->crew.n_groups > 0) DROVE_TRY(start_coordinator(run));
    for (unsigned i = 0; i < run->n_workers; i++) {
        if (!drove__run_is_here(run, i)) continue;
        int error = pthread_create(&run->worker[i].thread, NULL, worker_main, &run->worker[i]);
        if (error != 0) {
            pthread_mutex_lock(&run->gang.lock); /* the rest will never report */
            run->gang.n_busy -= run->ranks.n > 1 ? 1 : run->n_workers - i;
            pthread_mutex_unlock(&run->gang.lock);
            drove__gang_wait(run, UINT64_MAX);
            return drove__fail(DROVE_E_SYSTEM, "cannot start thread %u of %u: %s", i + 1,
                               run->n_workers, strerror(error));
        }
        run->worker[i].thread_started = true;
    }
    drove__gang_wait(run, UINT64_MAX);
    return DROVE_OK;
}

drove_status drove__gang_start(drove_run *run)
{
    DROVE_TRY(run->procs != NULL ? drove__procs_start(run) : start_threads(run));
    return drove__gang_status(run);
}

void drove__gang_go(drove_run *run, drove_command command)
{
    if (run->procs != NULL) {
        drove__procs_go(run, command);
        return;
    }
    pthread_mutex_lock(&run->gang.lock);
    run->gang.command = command;
    run->gang.n_busy = n_members(run);
    run->gang.generation++;
    pthread_cond_broadcast(&run->gang.go);
    pthread_mutex_unlock(&run->gang.lock);
}

bool drove__gang_wait(drove_run *run, uint64_t until_ns)
{
    struct timespec at = {.tv_sec = (time_t)(until_ns / 1000000000u),
                          .tv_nsec = (long)(until_ns % 1000000000u)};
    if (run->procs != NULL) return drove__procs_wait(run, until_ns);
    pthread_mutex_lock(&run->gang.lock);
    while (run->gang.n_busy > 0) {
        if (until_ns == UINT64_MAX) {
            pthread_cond_wait(&run->gang.parked, &run->gang.lock);
        } else if (pthread_cond_timedwait(&run->gang.parked, &run->gang.lock, &at) == ETIMEDOUT) {
            break;
        }
    }
    bool is_parked = run->gang.n_busy == 0;
    pthread_mutex_unlock(&run->gang.lock);
    return is_parked;
}

drove_status drove__gang_status(drove_run *run)
{
    if (run->procs != NULL) DROVE_TRY(drove__procs_status(run));
    for (unsigned i = 0; i < run->n_workers; i++) {
        if (run->worker[i].status != DROVE_OK)
            return drove__fail(run->worker[i].status, "%s", run->worker[i].error);
    }
    return DROVE_OK;
}

/* A silent thread that has not come back by then is left to itself, and the run with it. */
static void join(drove_run *run, drove_worker *w)
{
    const struct timespec moment = {.tv_nsec = 10000000};
    if (w->group != NULL && atomic_load(&w->group->fate) == DROVE_FATE_SILENT) {
        for (int i = 0; i < 100 && !atomic_load(&w->group->has_ended); i++)
            nanosleep(&moment, NULL);
        if (!atomic_load(&w->group->has_ended)) {
            run->is_abandoned = true;
            pthread_detach(w->thread);
            return;
        }
    }
    pthread_join(w->thread, NULL);
}

void drove__gang_silence(drove_run *run)
{
    pthread_mutex_lock(&run->gang.lock);
    run->gang.n_silent++;
    if (--run->gang.n_busy == 0) pthread_cond_signal(&run->gang.parked);
    pthread_mutex_unlock(&run->gang.lock);
}

void drove__gang_stop(drove_run *run)
{
    if (run->procs != NULL) drove__procs_stop(run);
    if (!run->gang.ready) return;
    drove__gang_go(run, DROVE_DO_QUIT);
    for (unsigned i = 0; i < run->n_workers; i++) {
        if (run->worker[i].thread_started) join(run, &run->worker[i]);
    }
    if (run->crew.thread_started) pthread_join(run->crew.thread, NULL);
    if (run->is_abandoned) return;
    pthread_cond_destroy(&run->gang.go);
    pthread_cond_destroy(&run->gang.parked);
    pthread_mutex_destroy(&run->gang.lock);
    run->gang.ready = false;
}

/* Split over the groups by the coordinator, in proportion to their speed, and summed there. */
static drove_status score_by_crew(drove_run *run, drove_score *out)
{
    drove__crew_clear(run);
    drove__gang_go(run, DROVE_DO_SCORE);
    drove__gang_wait(run, UINT64_MAX);
    drove__crew_tell(run);
    DROVE_TRY(drove__gang_status(run));
    DROVE_TRY(drove__crew_status(run));
    *out = drove__coord_score(run->crew.coord);
    return DROVE_OK;
}

static size_t rows_to_score(const drove_data *data, size_t n_rows)
{
    return n_rows == 0 || n_rows > data->n_rows ? data->n_rows : n_rows;
}

drove_status drove__gang_prepare(drove_run *run)
{
    drove_scoring *sc = &run->scoring;
    size_t most = rows_to_score(run->train, run->opt.eval_examples);
    if (run->test != NULL && run->test->n_rows > most) most = run->test->n_rows;
    sc->chunk_rows = drove__run_score_rows(run);
    size_t n_chunks = (most + sc->chunk_rows - 1) / sc->chunk_rows;
    sc->chunk = drove__alloc(n_chunks, sizeof *sc->chunk);
    return sc->chunk != NULL
               ? DROVE_OK
               : drove__fail_nomem("the parts of an evaluation", n_chunks * sizeof *sc->chunk);
}

drove_status drove__gang_score(drove_run *run, const drove_data *data, size_t n_rows,
                               drove_score *out)
{
    drove_scoring *sc = &run->scoring;
    sc->data = data;
    sc->theta = drove__run_theta(run);
    sc->n_rows = rows_to_score(data, n_rows);
    if (run->crew.n_groups > 0) return score_by_crew(run, out);
    sc->is_own = run->batcher.holds_shard && data == run->train;
    sc->n_chunks = (sc->n_rows + sc->chunk_rows - 1) / sc->chunk_rows;
    unsigned n_left;
    do { /* again if a process was lost: its chunk may not have been done */
        n_left = drove__procs_n_left(run);
        atomic_store(&sc->next, 0);
        drove__gang_go(run, DROVE_DO_SCORE);
        drove__gang_wait(run, UINT64_MAX);
        DROVE_TRY(drove__gang_status(run));
    } while (drove__procs_n_left(run) != n_left);
    if (!sc->is_own) DROVE_TRY(drove__ranks_scored(run));
    *out = (drove_score){0};
    for (size_t i = 0; i < sc->n_chunks; i++) drove__score_add(out, &sc->chunk[i]);
    return sc->is_own ? drove__ranks_add(run, out) : DROVE_OK;
}
