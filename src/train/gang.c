/* train/gang.c - the workers' threads: started once, parked between two commands.
 *
 * One mutex and two condition variables: `go` wakes the workers when the generation changes,
 * `parked` wakes the caller when the last one is done.  The mutex orders everything that the
 * caller reads or writes while they are parked.
 */
#include "train/run.h"

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

static void *worker_main(void *argument)
{
    drove_worker *w = argument;
    uint64_t seen = 0;
    w->status = drove__worker_setup(w);
    if (w->status != DROVE_OK) drove__error_copy(w->error);
    finish(w->run);
    for (;;) {
        switch (next_command(&w->run->gang, &seen)) {
        case DROVE_DO_TRAIN: drove__worker_train(w); break;
        case DROVE_DO_SCORE: drove__worker_score(w); break;
        case DROVE_DO_QUIT: return NULL;
        }
        finish(w->run);
    }
}

static drove_status init_gang(drove_gang *gang, unsigned n_workers)
{
    pthread_condattr_t monotonic;
    if (pthread_mutex_init(&gang->lock, NULL) != 0)
        return drove__fail(DROVE_E_SYSTEM, "cannot make a mutex");
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&gang->go, NULL);
    pthread_cond_init(&gang->parked, &monotonic);
    pthread_condattr_destroy(&monotonic);
    gang->n_busy = n_workers;
    gang->ready = true;
    return DROVE_OK;
}

drove_status drove__gang_start(drove_run *run)
{
    DROVE_TRY(init_gang(&run->gang, run->n_workers));
    for (unsigned i = 0; i < run->n_workers; i++) {
        int error = pthread_create(&run->worker[i].thread, NULL, worker_main, &run->worker[i]);
        if (error != 0) {
            pthread_mutex_lock(&run->gang.lock); /* the rest will never report */
            run->gang.n_busy -= run->n_workers - i;
            pthread_mutex_unlock(&run->gang.lock);
            drove__gang_wait(run, UINT64_MAX);
            return drove__fail(DROVE_E_SYSTEM, "cannot start thread %u of %u: %s", i + 1,
                               run->n_workers, strerror(error));
        }
        run->worker[i].thread_started = true;
    }
    drove__gang_wait(run, UINT64_MAX);
    return drove__gang_status(run);
}

void drove__gang_go(drove_run *run, drove_command command)
{
    pthread_mutex_lock(&run->gang.lock);
    run->gang.command = command;
    run->gang.n_busy = run->n_workers;
    run->gang.generation++;
    pthread_cond_broadcast(&run->gang.go);
    pthread_mutex_unlock(&run->gang.lock);
}

bool drove__gang_wait(drove_run *run, uint64_t until_ns)
{
    struct timespec at = {.tv_sec = (time_t)(until_ns / 1000000000u),
                          .tv_nsec = (long)(until_ns % 1000000000u)};
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
    for (unsigned i = 0; i < run->n_workers; i++) {
        if (run->worker[i].status != DROVE_OK)
            return drove__fail(run->worker[i].status, "%s", run->worker[i].error);
    }
    return DROVE_OK;
}

void drove__gang_stop(drove_run *run)
{
    if (!run->gang.ready) return;
    drove__gang_go(run, DROVE_DO_QUIT);
    for (unsigned i = 0; i < run->n_workers; i++) {
        if (run->worker[i].thread_started) pthread_join(run->worker[i].thread, NULL);
    }
    pthread_cond_destroy(&run->gang.go);
    pthread_cond_destroy(&run->gang.parked);
    pthread_mutex_destroy(&run->gang.lock);
    run->gang.ready = false;
}

drove_status drove__gang_score(drove_run *run, const drove_data *data, size_t n_rows,
                               drove_score *out)
{
    drove_scoring *sc = &run->scoring;
    sc->data = data;
    sc->theta = drove__run_theta(run);
    sc->n_rows = n_rows == 0 || n_rows > data->n_rows ? data->n_rows : n_rows;
    sc->n_chunks = (sc->n_rows + DROVE_SCORE_ROWS - 1) / DROVE_SCORE_ROWS;
    if (sc->n_chunks > sc->capacity) {
        drove_score *chunk = drove__grow(sc->chunk, sc->n_chunks, sizeof *chunk);
        if (chunk == NULL)
            return drove__fail_nomem("the parts of an evaluation", sc->n_chunks * sizeof *chunk);
        sc->chunk = chunk;
        sc->capacity = sc->n_chunks;
    }
    atomic_store(&sc->next, 0);
    drove__gang_go(run, DROVE_DO_SCORE);
    drove__gang_wait(run, UINT64_MAX);
    DROVE_TRY(drove__gang_status(run));
    *out = (drove_score){0};
    for (size_t i = 0; i < sc->n_chunks; i++) drove__score_add(out, &sc->chunk[i]);
    return DROVE_OK;
}
