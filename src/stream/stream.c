/* stream/stream.c - the two windows and the thread that reads.  See stream.h. */
#include "stream/stream.h"

#include "base/locale.h"
#include "base/mem.h"
#include "data/scale.h"
#include "data/weights.h"
#include "stream/sample.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    N_WINDOWS = 2,
    LEAST_BLOCKS = 4,   /* whole ones, to hold some out and have two windows */
    SAMPLE_BLOCKS = 64, /* enough places that sorted rows do not bias the sample */
    SAMPLE_PART = 10,   /* of the file's blocks at most one in so many */
    SAMPLE_ROWS = 1 << 16,
    MEMORY_PART = 16 /* of the memory at most one in so many bytes */
};
#define NO_WINDOW UINT64_MAX

/* One half of the memory.  Under the lock but for `there`. */
typedef struct half {
    _Atomic uint64_t there; /* the window that may be read; NO_WINDOW: none */
    uint64_t window;        /* that it has or gets; NO_WINDOW: it is free */
    uint64_t n_left;        /* batches of it that are not trained yet */
} DROVE_ALIGNED_CACHE_LINE half;

typedef struct position {
    uint64_t batch; /* 0: nothing is to be read yet */
    uint64_t next;  /* window to read next */
    uint64_t skip;  /* batches of it that were trained before */
} position;

struct drove_stream {
    drove_blocks *blocks;
    const drove_clock *clock;
    drove_windows windows;
    drove_data *sample, *held, *data;
    uint64_t stored[N_WINDOWS], label[N_WINDOWS]; /* where the pairs and labels of a half begin */
    const double *target_shift, *target_scale;
    half half[N_WINDOWS];
    pthread_mutex_t lock;  /* protects all below, and the halves */
    pthread_cond_t wanted; /* a half is free, or something else is to be read, or is_over */
    pthread_cond_t ready;  /* a window is there, or reading has failed */
    bool locks_are_made, is_started, is_over;
    pthread_t thread;
    position position;
    /* The seeks so far.  Also read without the lock, relaxed: no other data depends on it; it
     * only ends a reading early. */
    _Atomic uint64_t n_seeks;
    /* Threads that wait for a window.  Also read without the lock, relaxed: it only chooses how
     * blocks are read. */
    _Atomic unsigned n_waiting;
    drove_status status; /* of reading, with its text */
    char error[DROVE_ERROR_TEXT_SIZE];
    drove_stream_facts facts; /* what has been read, and waited for, so far */
};

/* ---- reading ---- */

/* A value of an example as it is trained. */
static void scale_targets(const drove_stream *s, size_t first, size_t n)
{
    const size_t n_values = drove__storage_n_values(s->data->storage);
    float *y = s->data->storage->y_value;
    if (s->target_scale == NULL) return;
    for (size_t i = first * n_values; i < (first + n) * n_values; i++) {
        size_t k = i % n_values;
        const double scale = s->target_scale[k] > 0.0 ? s->target_scale[k] : 1.0; /* a constant */
        y[i] = (float)(((double)y[i] - s->target_shift[k]) / scale);
    }
}

static bool is_unwanted(drove_stream *s, uint64_t seek)
{
    return atomic_load_explicit(&s->n_seeks, memory_order_relaxed) != seek;
}

typedef struct reading { /* of a window */
    uint64_t window, n_blocks;
    drove_permutation order;
    uint64_t n_expected;
    drove_place_in expected; /* behind the blocks that are expected */
} reading;

/* So many of the window's blocks. */
static void expect(drove_stream *s, reading *r, uint64_t n)
{
    const drove_blocks *b = s->blocks;
    for (; r->n_expected < n && r->n_expected < r->n_blocks; r->n_expected++) {
        size_t block =
            (size_t)drove__windows_block(&s->windows, &r->order, r->window, r->n_expected);
        bool is_late = atomic_load_explicit(&s->n_waiting, memory_order_relaxed) > 0;
        drove__blocks_expect(b, block, s->data->storage, &r->expected, is_late);
        r->expected.row += drove__blocks_rows(b, block);
        r->expected.stored += drove__blocks_stored(b, block);
        r->expected.label += drove__blocks_labels(b, block);
    }
}

/* Without the lock: nobody reads a half whose window is not there. */
static drove_status read_window(drove_stream *s, uint64_t window, uint64_t seek, double *bytes)
{
    const drove_windows *w = &s->windows;
    const unsigned side = window % N_WINDOWS;
    drove_place_in to = {.row = (size_t)(side * w->window_rows),
                         .stored = s->stored[side],
                         .label = s->label[side]};
    const size_t first = to.row;
    reading r = {.window = window, .n_blocks = drove__windows_blocks(w, window), .expected = to};
    drove__windows_permute(w, window, &r.order);
    drove_status status = DROVE_OK;
    for (uint64_t i = 0; i < r.n_blocks && status == DROVE_OK && !is_unwanted(s, seek); i++) {
        expect(s, &r, i + s->blocks->n_ahead);
        size_t block = (size_t)drove__windows_block(w, &r.order, window, i);
        status = drove__blocks_read(s->blocks, block, s->data->storage, &to);
    }
    drove__blocks_forget(s->blocks);
    DROVE_TRY(status);
    scale_targets(s, first, to.row - first);
    *bytes = drove__blocks_bytes(s->blocks, (double)(to.row - first),
                                 (double)(to.stored - s->stored[side]),
                                 (double)(to.label - s->label[side]));
    return DROVE_OK;
}

static uint64_t count_batches(const drove_stream *s, uint64_t window)
{
    return (drove__windows_rows(&s->windows, window) + s->position.batch - 1) / s->position.batch;
}

/* Called and left with the lock held. */
static void read_next(drove_stream *s)
{
    const uint64_t window = s->position.next++, seek = atomic_load(&s->n_seeks);
    half *h = &s->half[window % N_WINDOWS];
    h->window = window;
    h->n_left = count_batches(s, window) - s->position.skip;
    s->position.skip = 0;
    pthread_mutex_unlock(&s->lock);
    uint64_t begin = drove__clock_now(s->clock);
    double bytes = 0;
    drove_status status = read_window(s, window, seek, &bytes);
    uint64_t spent = drove__clock_now(s->clock) - begin;
    pthread_mutex_lock(&s->lock);
    s->facts.read_ns += spent;
    if (is_unwanted(s, seek)) return;
    if (status != DROVE_OK) {
        s->status = status;
        drove__error_copy(s->error);
    } else {
        s->facts.read_bytes += bytes;
        s->facts.n_windows_read++;
        /* Release: the rows are read before a worker that sees this reads them. */
        atomic_store_explicit(&h->there, window, memory_order_release);
    }
    pthread_cond_broadcast(&s->ready);
}

static bool has_work(const drove_stream *s)
{
    return s->position.batch > 0 && s->status == DROVE_OK &&
           s->half[s->position.next % N_WINDOWS].window == NO_WINDOW;
}

static void *reader_main(void *argument)
{
    DROVE_IN_C_LOCALE;
    drove_stream *s = argument;
    pthread_mutex_lock(&s->lock);
    while (!s->is_over) {
        if (has_work(s)) read_next(s);
        else (void)s->clock->cond_wait(s->clock->context, &s->wanted, &s->lock, UINT64_MAX);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* ---- for workers ---- */

bool drove__stream_has(drove_stream *s, uint64_t window)
{
    /* Acquire: pairs with the release of the reader. */
    return atomic_load_explicit(&s->half[window % N_WINDOWS].there, memory_order_acquire) == window;
}

bool drove__stream_comes(drove_stream *s, uint64_t window)
{
    if (drove__stream_has(s, window)) return true;
    pthread_mutex_lock(&s->lock);
    const half *its = &s->half[window % N_WINDOWS], *other = &s->half[(window + 1) % N_WINDOWS];
    const bool is_next = its->window == NO_WINDOW &&
                         (s->position.next == window ||
                          (s->position.next + 1 == window && other->window == NO_WINDOW));
    const bool comes = s->status != DROVE_OK || its->window == window || is_next;
    pthread_mutex_unlock(&s->lock);
    return comes;
}

drove_status drove__stream_wait(drove_stream *s, uint64_t window)
{
    if (drove__stream_has(s, window)) return DROVE_OK;
    drove_status status = DROVE_OK;
    char error[DROVE_ERROR_TEXT_SIZE];
    const uint64_t begin = drove__clock_now(s->clock);
    pthread_mutex_lock(&s->lock);
    atomic_fetch_add_explicit(&s->n_waiting, 1, memory_order_relaxed);
    while (!drove__stream_has(s, window) && s->status == DROVE_OK)
        (void)s->clock->cond_wait(s->clock->context, &s->ready, &s->lock, UINT64_MAX);
    atomic_fetch_sub_explicit(&s->n_waiting, 1, memory_order_relaxed);
    s->facts.wait_ns += drove__clock_now(s->clock) - begin;
    if (!drove__stream_has(s, window)) {
        status = s->status;
        memcpy(error, s->error, sizeof error);
    }
    pthread_mutex_unlock(&s->lock);
    return status == DROVE_OK ? DROVE_OK : drove__fail(status, "%s", error);
}

static void release(drove_stream *s, half *h)
{
    h->window = NO_WINDOW;
    atomic_store_explicit(&h->there, NO_WINDOW, memory_order_relaxed); /* the lock orders it */
    pthread_cond_signal(&s->wanted);
}

void drove__stream_done(drove_stream *s, uint64_t window, uint64_t n_batches)
{
    half *h = &s->half[window % N_WINDOWS];
    if (n_batches == 0) return;
    /* The lock also orders this worker's reads of the rows before the reader's writes. */
    pthread_mutex_lock(&s->lock);
    h->n_left -= n_batches;
    if (h->n_left == 0) release(s, h);
    pthread_mutex_unlock(&s->lock);
}

void drove__stream_cancel(drove_stream *s, drove_status status)
{
    pthread_mutex_lock(&s->lock);
    if (s->status == DROVE_OK) {
        s->status = status;
        drove__error_copy(s->error);
    }
    pthread_cond_broadcast(&s->ready);
    pthread_mutex_unlock(&s->lock);
}

/* ---- for the controlling thread ---- */

void drove__stream_seek(drove_stream *s, uint64_t batch, uint64_t number)
{
    uint64_t first, window = drove__windows_find(&s->windows, batch, number, &first);
    const uint64_t n_done = first / batch;
    const half *h = &s->half[window % N_WINDOWS];
    pthread_mutex_lock(&s->lock);
    bool is_same = s->position.batch == batch;
    bool is_held = is_same && h->window == window && h->n_left == count_batches(s, window) - n_done;
    bool is_next = is_same && s->position.next == window && s->position.skip == n_done;
    if (!is_held && !is_next) {
        atomic_fetch_add(&s->n_seeks, 1);
        s->position.batch = batch;
        s->position.next = window;
        s->position.skip = n_done;
        for (unsigned i = 0; i < N_WINDOWS; i++) release(s, &s->half[i]);
    }
    pthread_mutex_unlock(&s->lock);
}

uint64_t drove__stream_rows(const drove_stream *s)
{
    return s->windows.n_rows;
}

const drove_data *drove__stream_data(const drove_stream *s)
{
    return s->data;
}

const drove_windows *drove__stream_windows(const drove_stream *s)
{
    return &s->windows;
}

void drove__stream_facts(drove_stream *s, drove_stream_facts *out)
{
    pthread_mutex_lock(&s->lock);
    *out = s->facts;
    pthread_mutex_unlock(&s->lock);
}

/* ---- opening ---- */

static drove_data *take(drove_data **from)
{
    drove_data *data = *from;
    *from = NULL;
    return data;
}

drove_data *drove__stream_take_sample(drove_stream *s)
{
    return take(&s->sample);
}

drove_data *drove__stream_take_held(drove_stream *s)
{
    return take(&s->held);
}

static double file_bytes(const drove_blocks *b)
{
    return drove__blocks_bytes(b, (double)b->n_rows,
                               b->first_stored != NULL ? (double)b->first_stored[b->n_blocks] : 0.0,
                               b->first_label != NULL ? (double)b->first_label[b->n_blocks] : 0.0);
}

/* Blocks to have so many rows of, of n there are. */
static uint64_t choose_blocks(const drove_stream *s, uint64_t memory, uint64_t rows, uint64_t n)
{
    const drove_blocks *b = s->blocks;
    uint64_t wanted = (rows + b->block_rows - 1) / b->block_rows;
    double each = file_bytes(b) / (double)b->n_blocks, most = (double)memory / MEMORY_PART / each;
    if (wanted < SAMPLE_BLOCKS) wanted = SAMPLE_BLOCKS;
    if (wanted > n / SAMPLE_PART) wanted = n / SAMPLE_PART;
    if ((double)wanted > most) wanted = (uint64_t)most;
    return wanted > 0 ? wanted : 1;
}

static drove_status read_some(drove_stream *s, uint64_t (*number)(const drove_windows *, uint64_t),
                              uint64_t n, size_t most_rows, drove_data **out)
{
    uint64_t *blocks = drove__grow(NULL, (size_t)n, sizeof *blocks);
    if (blocks == NULL) return drove__fail_nomem("blocks", (size_t)n * sizeof *blocks);
    for (uint64_t i = 0; i < n; i++) blocks[i] = number(&s->windows, i);
    drove_status status = drove__sample_read(s->blocks, blocks, (size_t)n, most_rows, out);
    free(blocks);
    return status;
}

static void make_windows(drove_stream *s, uint64_t seed, uint64_t n_held, uint64_t per_window)
{
    const drove_windows_options opt = {.n_rows = s->blocks->n_rows,
                                       .block_rows = s->blocks->block_rows,
                                       .n_held = n_held,
                                       .per_window = per_window,
                                       .row_multiple = s->blocks->row_multiple,
                                       .seed = seed};
    drove__windows_init(&s->windows, &opt);
}

drove_status drove__stream_open(const drove_stream_options *opt, drove_stream **out)
{
    *out = NULL;
    drove_stream *s = drove__alloc(1, sizeof *s);
    if (s == NULL) {
        drove__blocks_close(opt->blocks);
        return drove__fail_nomem("data read from disk", sizeof *s);
    }
    s->blocks = opt->blocks;
    s->clock = opt->clock;
    pthread_mutex_init(&s->lock, NULL);
    drove__clock_cond_init(&s->wanted);
    drove__clock_cond_init(&s->ready);
    for (unsigned i = 0; i < N_WINDOWS; i++) {
        s->half[i].window = NO_WINDOW;
        atomic_store(&s->half[i].there, NO_WINDOW);
    }
    drove_status status = DROVE_OK;
    const uint64_t n = s->blocks->n_rows / s->blocks->block_rows;
    uint64_t n_held = 0;
    if (n < LEAST_BLOCKS) {
        status = drove__fail(DROVE_E_SHAPE,
                             "%s: expected at least %d whole blocks of %zu rows to read from disk, "
                             "found %llu (of rows:FILE a smaller ?block=BYTES gives more)",
                             s->blocks->path, LEAST_BLOCKS, s->blocks->block_rows,
                             (unsigned long long)n);
        goto end;
    }
    if (opt->held_rows > 0) n_held = choose_blocks(s, opt->memory, opt->held_rows, n);
    make_windows(s, opt->seed, n_held, 1);
    if (n_held > 0 &&
        (status = read_some(s, drove__windows_held, n_held, opt->held_rows, &s->held)) != DROVE_OK)
        goto end;
    const uint64_t n_sample = choose_blocks(s, opt->memory, SAMPLE_ROWS, s->windows.n_whole);
    status = read_some(s, drove__windows_trained, n_sample, SAMPLE_ROWS, &s->sample);
end:
    if (status != DROVE_OK) {
        drove__stream_destroy(s);
        return status;
    }
    *out = s;
    return DROVE_OK;
}

void drove__stream_destroy(drove_stream *s)
{
    if (s == NULL) return;
    pthread_mutex_lock(&s->lock);
    s->is_over = true;
    atomic_fetch_add(&s->n_seeks, 1);
    pthread_cond_broadcast(&s->wanted);
    pthread_mutex_unlock(&s->lock);
    if (s->is_started) pthread_join(s->thread, NULL);
    pthread_cond_destroy(&s->wanted);
    pthread_cond_destroy(&s->ready);
    pthread_mutex_destroy(&s->lock);
    drove_data_destroy(s->sample);
    drove_data_destroy(s->held);
    drove_data_destroy(s->data);
    drove__blocks_close(s->blocks);
    drove__free(s);
}

/* ---- the windows' memory ---- */

static int compare_counts(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

/* most[k]: the most pairs (or labels) that k blocks can have together; NULL before: none.  The
 * caller frees *most. */
static drove_status sum_largest(const uint64_t *before, size_t n, uint64_t **most)
{
    uint64_t *sum = *most = calloc(n + 1, sizeof *sum), last = 0;
    if (sum == NULL) return drove__fail_nomem("blocks", n * sizeof *sum);
    if (before == NULL) return DROVE_OK;
    for (size_t i = 0; i < n; i++) sum[i] = before[i + 1] - before[i];
    qsort(sum, n, sizeof *sum, compare_counts);
    for (size_t i = 0; i <= n; i++) {
        uint64_t here = i < n ? sum[i] : 0;
        sum[i] = last;
        last += here;
    }
    return DROVE_OK;
}

/* Bytes of both windows of so many whole blocks, and the short one. */
static double bytes_of(const drove_stream *s, uint64_t per_window, const uint64_t *stored,
                       const uint64_t *label)
{
    const drove_blocks *b = s->blocks;
    uint64_t n = per_window + 1 < b->n_blocks ? per_window + 1 : b->n_blocks;
    double rows = (double)(per_window * b->block_rows + s->windows.short_rows + b->row_multiple);
    return N_WINDOWS * drove__blocks_bytes(b, rows, (double)stored[n], (double)label[n]);
}

double drove__stream_least_bytes(const drove_stream *s)
{
    uint64_t *stored = NULL, *label = NULL;
    double bytes = 0;
    const drove_blocks *b = s->blocks;
    if (sum_largest(b->first_stored, b->n_blocks, &stored) == DROVE_OK &&
        sum_largest(b->first_label, b->n_blocks, &label) == DROVE_OK)
        bytes = bytes_of(s, 1, stored, label);
    free(stored);
    free(label);
    return bytes;
}

drove_status drove__stream_begin(drove_stream *s, const drove_stream_start *start)
{
    s->target_shift = start->target_shift;
    s->target_scale = start->target_scale;

    const drove_blocks *b = s->blocks;
    uint64_t *stored = NULL, *label = NULL;
    s->data = calloc(1, sizeof *s->data);
    if (s->data == NULL) return drove__fail_nomem("data set", sizeof *s->data);
    drove_status status = sum_largest(b->first_stored, b->n_blocks, &stored);
    if (status != DROVE_OK) goto end;
    if ((status = sum_largest(b->first_label, b->n_blocks, &label)) != DROVE_OK) goto end;
    double memory = start->memory;
    uint64_t least = 1, most = s->windows.n_whole;
    /* the rows of both windows have numbers of 32 bits */
    const uint64_t numbers =
        UINT32_MAX / N_WINDOWS - s->windows.short_rows - s->blocks->row_multiple;
    if (most > numbers / s->blocks->block_rows) most = numbers / s->blocks->block_rows;
    if (most < 1 || bytes_of(s, 1, stored, label) > memory) {
        status = drove__fail(DROVE_E_ARG, "%s: expected room for two blocks, found %.0f bytes",
                             s->blocks->path, memory);
        goto end;
    }
    while (least < most) { /* least fits */
        uint64_t middle = least + (most - least + 1) / 2;
        if (bytes_of(s, middle, stored, label) <= memory) least = middle;
        else most = middle - 1;
    }
    make_windows(s, s->windows.seed, s->windows.n_held, least);
    const drove_windows *w = &s->windows;
    uint64_t n = w->per_window + 1 < s->blocks->n_blocks ? w->per_window + 1 : s->blocks->n_blocks;
    s->stored[1] = stored[n];
    s->label[1] = label[n];
    s->facts.n_blocks = s->blocks->n_blocks;
    s->facts.n_windows = w->n_windows;
    s->facts.file_bytes = (double)s->blocks->size_bytes;
    s->facts.window_bytes = bytes_of(s, w->per_window, stored, label);
    status = drove__blocks_storage(s->blocks, (size_t)(N_WINDOWS * w->window_rows),
                                   N_WINDOWS * stored[n], N_WINDOWS * label[n], &s->data->storage);
end:
    free(stored);
    free(label);
    DROVE_TRY(status);
    s->data->n_rows = s->data->storage->n_rows;
    s->data->augment = start->like->augment;
    DROVE_TRY(drove__scale_copy(start->like, s->data));
    DROVE_TRY(drove__weights_copy(start->like, s->data));

    int error = pthread_create(&s->thread, NULL, reader_main, s);
    if (error != 0)
        return drove__fail_errno(DROVE_E_SYSTEM, error, "cannot start the thread that reads %s",
                                 s->blocks->path);
    s->is_started = true;
    return DROVE_OK;
}
