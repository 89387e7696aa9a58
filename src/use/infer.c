/* use/infer.c - predictions by several threads, handed over in order.
 *
 * A thread takes the next chunk from a counter, computes it, waits until all chunks before it have
 * been handed over, and hands it over itself.  The chunk that is next in order is always being
 * computed or handed over, so nobody waits for ever.
 *
 * Threads: started here and joined before the call returns.  The caller's thread only waits, so
 * that its settings of a library stay.
 */
#include "use/infer.h"

#include "base/locale.h"
#include "base/mem.h"
#include "base/topo.h"
#include "engine/engine.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

/* Examples of an evaluation chunk of a chain of layers: fixed, so that sums do not depend on the
 * workers. */
enum { MOST_SCORE_ROWS = 512 };
/* Outputs of an evaluation chunk of a network that is no chain take about this much. */
static const size_t CHUNK_BYTES = (size_t)64 << 20;

size_t drove__score_rows(const drove_model *model, size_t batch)
{
    size_t each = sizeof(float);
    if (model->is_chain) return MOST_SCORE_ROWS;
    for (size_t l = 0; l < model->n_layers; l++) each += model->layer[l].n_out * sizeof(float);
    size_t n = CHUNK_BYTES / each < MOST_SCORE_ROWS ? CHUNK_BYTES / each : MOST_SCORE_ROWS;
    return n <= batch ? batch : n / batch * batch;
}

/* The outputs of all threads' passes take about this much at most. */
static const size_t MOST_BYTES = (size_t)1 << 30;

typedef struct inference { /* all threads of one call */
    const drove_infer *what;
    size_t n_chunks;
    _Atomic size_t next; /* relaxed: only divides the chunks; the lock orders what is handed over */
    pthread_mutex_t lock; /* protects n_taken, status, why */
    pthread_cond_t taken; /* n_taken or status has changed */
    size_t n_taken;       /* chunks handed over */
    drove_status status;  /* the first failure */
    char why[DROVE_ERROR_TEXT_SIZE];
} inference;

typedef struct infer_thread { /* scratch of one thread */
    drove_engine *engine;
    uint32_t *row; /* [chunk_rows] */
    float *prob;   /* [chunk_rows][n_outputs] */
    drove_infer_text text;
} infer_thread;

drove_status drove__infer_reserve(drove_infer_text *text, size_t n_bytes)
{
    if (n_bytes <= text->room - text->n_bytes) return DROVE_OK;
    size_t room = 2 * text->room + n_bytes;
    char *bytes = drove__grow(text->bytes, room, 1);
    if (bytes == NULL) return drove__fail_nomem("predictions as text", room);
    text->bytes = bytes;
    text->room = room;
    return DROVE_OK;
}

/* ---- one thread ---- */

static drove_status make_chunk(inference *c, infer_thread *m, size_t number,
                               drove_infer_chunk *chunk)
{
    const drove_infer *what = c->what;
    size_t first = number * what->chunk_rows, n_left = what->data->n_rows - first;
    *chunk = (drove_infer_chunk){.first = first,
                                 .n_rows = n_left < what->chunk_rows ? n_left : what->chunk_rows};
    for (size_t i = 0; i < chunk->n_rows; i++) m->row[i] = (uint32_t)(chunk->first + i);
    const drove_batch batch = {.data = what->data, .row = m->row, .n_rows = chunk->n_rows};
    chunk->prob = m->prob;
    if (what->with_score) {
        drove_work_done done = {0};
        const drove_work work = {.batch = &batch, .theta = what->theta, .prob = m->prob};
        DROVE_TRY(drove__engine_do(&drove__engine_host, m->engine, &work, UINT64_MAX, &done));
        chunk->score = done.score;
    } else {
        DROVE_TRY(drove__engine_host.predict(m->engine, what->theta, &batch, m->prob));
    }
    const size_t n_outputs = what->model->n_outputs;
    if (what->value_scale != NULL) {
        for (size_t i = 0; i < chunk->n_rows * what->model->n_outputs; i++)
            m->prob[i] = (float)drove__infer_unscaled(what, i % n_outputs, (double)m->prob[i]);
    }
    if (what->prepare == NULL) return DROVE_OK;
    m->text.n_bytes = 0;
    chunk->text = m->text;
    drove_status status = what->prepare(what->context, chunk);
    m->text = chunk->text;
    return status;
}

/* In order; false: the call has failed. */
static bool hand_over(inference *c, size_t number, drove_status status,
                      const drove_infer_chunk *chunk)
{
    pthread_mutex_lock(&c->lock);
    while (c->status == DROVE_OK && status == DROVE_OK && c->n_taken != number)
        pthread_cond_wait(&c->taken, &c->lock);
    if (c->status == DROVE_OK) {
        if (status == DROVE_OK) status = c->what->take(c->what->context, chunk);
        if (status == DROVE_OK) {
            c->n_taken++;
        } else { /* nobody has failed before */
            c->status = status;
            drove__error_copy(c->why);
        }
    }
    bool is_well = c->status == DROVE_OK;
    pthread_cond_broadcast(&c->taken);
    pthread_mutex_unlock(&c->lock);
    return is_well;
}

static void *thread_main(void *argument)
{
    DROVE_IN_C_LOCALE;
    inference *c = argument;
    infer_thread m = {0};
    bool is_well = true;
    drovek_thread_init();
    const drove_infer *what = c->what;
    const drove_engine_options opt = {.model = what->model,
                                      .kernels = what->kernels,
                                      .data = what->data,
                                      .max_rows = what->chunk_rows,
                                      .rows = what->usual_rows,
                                      .infers_only = true};
    const size_t n_probs = what->chunk_rows * what->model->n_outputs;
    m.row = drove__alloc(what->chunk_rows, sizeof *m.row);
    m.prob = drove__alloc(n_probs, sizeof *m.prob);
    drove_status status = m.row != NULL && m.prob != NULL
                              ? drove__engine_host.create(&opt, &m.engine)
                              : drove__fail_nomem("predictions", n_probs * sizeof *m.prob);
    if (status != DROVE_OK) is_well = hand_over(c, 0, status, NULL);
    while (is_well) {
        drove_infer_chunk chunk;
        size_t number = atomic_fetch_add_explicit(&c->next, 1, memory_order_relaxed);
        if (number >= c->n_chunks) break;
        status = make_chunk(c, &m, number, &chunk);
        is_well = hand_over(c, number, status, &chunk);
    }
    if (m.engine != NULL) drove__engine_host.destroy(m.engine);
    drove__free(m.row);
    drove__free(m.prob);
    free(m.text.bytes);
    return NULL;
}

/* ---- all of them ---- */

drove_status drove__infer_run(const drove_infer *what)
{
    inference c = {.what = what, .status = DROVE_OK};
    c.n_chunks = (what->data->n_rows + what->chunk_rows - 1) / what->chunk_rows;
    /* As many threads as there is memory for, and chunks. */
    const drove_pass_options pass = {.model = what->model,
                                     .kernels = what->kernels,
                                     .rows = what->usual_rows,
                                     .max_rows = what->chunk_rows};
    size_t n_bytes, n = 1;
    if (drove__pass_bytes(&pass, &n_bytes) == DROVE_OK && n_bytes != SIZE_MAX)
        n = MOST_BYTES / (n_bytes + 1) + 1;
    if (n > what->n_threads) n = what->n_threads;
    if (n > c.n_chunks) n = c.n_chunks;
    if (n == 0) n = 1;
    pthread_t *thread = calloc(n, sizeof *thread);
    if (thread == NULL) return drove__fail_nomem("threads", n * sizeof *thread);
    (void)pthread_mutex_init(&c.lock, NULL); /* neither can fail with these arguments */
    (void)pthread_cond_init(&c.taken, NULL);
    size_t n_started = 0; /* fewer than n where the system has no more */
    int error = 0;
    while (n_started < n && error == 0) {
        error = pthread_create(&thread[n_started], NULL, thread_main, &c);
        if (error == 0) n_started++;
    }
    for (size_t i = 0; i < n_started; i++) pthread_join(thread[i], NULL);
    free(thread);
    (void)pthread_cond_destroy(&c.taken);
    (void)pthread_mutex_destroy(&c.lock);
    if (n_started == 0) return drove__fail_errno(DROVE_E_SYSTEM, error, "cannot start a thread");
    return c.status == DROVE_OK ? DROVE_OK : drove__fail(c.status, "%s", c.why);
}
