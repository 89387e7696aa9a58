/* Chunks of collective exchanges in shared memory: what the word of a chunk says at each moment, so
 * that a worker which is killed there can be inherited from; which chunks are inherited; and which
 * vectors are written past the caches. */
#include "cluster/shared_state.h"
#include "crowd.h"
#include "support/test.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

enum {
    DONE = 0xff,
    N_BLOCKS = DROVE_SHARED_CHUNK / DROVE_TREE_BLOCK,
    MOST_CALLS = 64,
    MOST_WORKERS = 3
};
static const size_t STREAM_FROM = (size_t)1 << 22; /* floats: two in and two out are 64 MiB */

/* ---- kernels in the place of others: they note, and add or copy nothing ---- */

typedef struct call {
    bool adds, streams;
    float *to;
    const float *x, *y;
    uint64_t word; /* of the chunk, at this moment */
} call;

static call calls[MOST_CALLS];
static unsigned n_calls;
static _Atomic uint64_t *watched;

static void note(call c)
{
    c.word = watched != NULL ? atomic_load(watched) : 0;
    calls[n_calls++ % MOST_CALLS] = c;
}

static void add_noted(float *to, const float *x, const float *y, size_t n, float a, bool streams)
{
    (void)n;
    assert_true(a == 1.0f);
    note((call){.adds = true, .streams = streams, .to = to, .x = x, .y = y});
}

static void copy_noted(float *to, const float *x, size_t n)
{
    (void)n;
    note((call){.to = to, .x = x});
}

typedef struct table {
    drove_transport *t;
    drove_shared *s;
    drovek_table noting;
    unsigned n_workers;
    float *in[MOST_WORKERS], *out[MOST_WORKERS];
} table;

static void open_table(table *b, unsigned n_workers, size_t n, bool notes)
{
    memset(b, 0, sizeof *b);
    b->n_workers = n_workers;
    b->noting = *crowd_kernels();
    b->noting.add_f32 = add_noted;
    b->noting.copy_f32 = copy_noted;
    assert_int_equal(drove__transport_shared(n_workers, false, n,
                                             notes ? &b->noting : crowd_kernels(), NULL, NULL,
                                             &b->t),
                     DROVE_OK);
    b->s = b->t->impl;
    for (unsigned w = 0; w < n_workers; w++) {
        b->in[w] = drove__alloc(n, sizeof(float));
        b->out[w] = drove__alloc(n, sizeof(float));
    }
    n_calls = 0;
    watched = NULL;
}

static void close_table(table *b)
{
    b->t->ops->destroy(b->t);
    for (unsigned w = 0; w < b->n_workers; w++) {
        drove__free(b->in[w]);
        drove__free(b->out[w]);
    }
}

static void start_all(table *b, drove_exchange_kind kind, size_t n)
{
    for (unsigned w = 0; w < b->n_workers; w++) {
        const drove_exchange x = {.kind = kind, .in = b->in[w], .out = b->out[w], .n = n};
        assert_int_equal(b->t->ops->start(b->t, w, &x), DROVE_OK);
    }
}

static void finish(table *b, unsigned worker)
{
    assert_int_equal(b->t->ops->finish(b->t, worker, 0, NULL), DROVE_OK);
}

static uint64_t word_of(uint64_t number, unsigned worker, unsigned phase)
{
    return number << 24 | (uint64_t)worker << 8 | phase;
}

/* ---- words ---- */

/* A block's sum is made, 1 + 2 block; lies in the stage, one more, while it is copied to all. */
TEST(a_word_says_how_far_its_chunk_is)
{
    table b;
    const unsigned by = 2;
    open_table(&b, 3, DROVE_SHARED_CHUNK, true);
    watched = &b.s->chunk[0][0];
    start_all(&b, DROVE_ALL_REDUCE, DROVE_SHARED_CHUNK);
    finish(&b, by); /* does it for all */
    assert_int_equal(n_calls, N_BLOCKS * (2 + 3));
    for (unsigned i = 0; i < n_calls; i++) {
        const unsigned block = i / 5, phase = 1 + 2 * block + (i % 5 < 2 ? 0 : 1);
        assert_int_equal(calls[i].adds, i % 5 < 2);
        assert_false(calls[i].streams);
        assert_int_equal(calls[i].word, word_of(1, by, phase));
        if (i % 5 >= 2)
            assert_ptr_equal(calls[i].to, b.out[i % 5 - 2] + (size_t)block * DROVE_TREE_BLOCK);
    }
    assert_int_equal(atomic_load(watched), word_of(1, by, DONE));
    close_table(&b);
}

TEST(words_name_who_did_the_chunks)
{
    table b;
    open_table(&b, 3, 2 * DROVE_SHARED_CHUNK, false);
    for (unsigned k = 0; k < 3; k++) {
        const unsigned by = (k + 1) % 3;
        start_all(&b, DROVE_ALL_REDUCE, 2 * DROVE_SHARED_CHUNK);
        finish(&b, by);
        for (unsigned w = 0; w < 3; w++)
            if (w != by) finish(&b, w);
        for (unsigned i = 0; i < 2; i++)
            assert_int_equal(atomic_load(&b.s->chunk[0][i]), word_of(k + 1, by, DONE));
    }
    close_table(&b);
}

/* ---- inheritance ---- */

/* Worker 1 is lost.  It has begun chunk 0, worker 2 has begun chunk 1, nobody chunk 2. */
TEST(a_lost_workers_chunks_alone_are_inherited)
{
    table b;
    const size_t n = 3 * (size_t)DROVE_SHARED_CHUNK;
    open_table(&b, 3, n, false);
    for (unsigned w = 0; w < 3; w++)
        for (size_t i = 0; i < n; i++) b.in[w][i] = (float)(w + 1);
    start_all(&b, DROVE_ALL_REDUCE, n);
    atomic_store(&b.s->chunk[0][0], word_of(1, 1, 1));
    atomic_store(&b.s->chunk[0][1], word_of(1, 2, 1));
    b.t->ops->leave(b.t, 1, true);
    assert_int_equal(atomic_load(&b.s->chunk[0][0]), word_of(1, 1, DONE));
    assert_int_equal(atomic_load(&b.s->chunk[0][1]), word_of(1, 2, 1));
    assert_int_equal(atomic_load(&b.s->chunk[0][2]), 0);
    for (unsigned w = 0; w < 3; w++)
        for (size_t i = 0; i < n; i++)
            assert_true(b.out[w][i] == (i < DROVE_SHARED_CHUNK ? 6.0f : 0.0f));
    close_table(&b);
}

/* ---- past the caches ---- */

static bool is_minus_zero(float x)
{
    return x == 0.0f && signbit(x);
}

TEST(long_vectors_go_past_the_caches)
{
    static const drove_exchange_kind kinds[] = {DROVE_ALL_REDUCE, DROVE_BROADCAST};
    for (unsigned k = 0; k < 4; k++) {
        const bool is_long = k % 2 == 0, spreads = k / 2 == 1;
        const size_t n = is_long ? STREAM_FROM : STREAM_FROM - 1;
        table b;
        open_table(&b, 2, n, true);
        start_all(&b, kinds[k / 2], n);
        finish(&b, 1);
        const unsigned n_blocks = (unsigned)((n + DROVE_TREE_BLOCK - 1) / DROVE_TREE_BLOCK);
        /* straight to both; or to the stage and on to both; a broadcast to both */
        assert_int_equal(n_calls, n_blocks * (is_long || spreads ? 2 : 3));
        for (unsigned i = 0; is_long && i < MOST_CALLS; i++) {
            assert_true(calls[i].adds && calls[i].streams);
            const size_t at = (size_t)(calls[i].to - b.out[i % 2]);
            assert_true(at % DROVE_TREE_BLOCK == 0 && at < n);
            assert_ptr_equal(calls[i].x, b.in[0] + at);
            if (!spreads) assert_ptr_equal(calls[i].y, b.in[1] + at);
            else
                assert_true(is_minus_zero(calls[i].y[0]) &&
                            is_minus_zero(calls[i].y[DROVE_TREE_BLOCK - 1]));
        }
        for (unsigned i = 0; !is_long && i < MOST_CALLS; i++) assert_false(calls[i].streams);
        close_table(&b);
    }
}
