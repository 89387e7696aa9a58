/* cluster/shared_chunks.c - collective exchanges in shared memory.
 *
 * When all workers have come, the vectors are cut into chunks.  Each worker in finish claims
 * chunks, adds them over all workers by the fixed tree and writes the sums to all; who does it
 * changes no bit.  Every float of every `in` is read once and every float of every `out` written
 * once, the least an all-reduce can do.  A worker that still computes delays no other.
 * A chunk is done block by block.  The sum of a block goes through a stage, which stays in the L1
 * cache: out may be in, so a worker that is killed may have overwritten some terms.
 *
 * The word of a chunk: number of the exchange << 24 | worker << 8 | phase.
 */
#include "cluster/shared_state.h"

#include "base/clock.h"
#include "base/cost.h"
#include "cluster/codec.h"

#include <assert.h>

/* Phases of a chunk: the sum of a block is being made; is in the stage; all blocks are done. */
enum { CLAIMED = 1, PER_BLOCK = 2, SUMMED = 1, DONE = 0xff };
enum { N_BLOCKS = DROVE_SHARED_CHUNK / DROVE_TREE_BLOCK };
_Static_assert(CLAIMED + PER_BLOCK * N_BLOCKS < DONE, "a phase is one byte");

/* Bytes of all vectors of an exchange above which caches keep no result. */
static const size_t STREAM_FROM_BYTES = (size_t)64 << 20;

static uint64_t word_of(uint64_t number, unsigned worker, unsigned phase)
{
    return number << 24 | (uint64_t)worker << 8 | phase;
}

/* ---- coming ---- */

/* The first worker that has neither come to exchange `number` of the channel nor left. */
static uint32_t missing(const drove_shared *s, unsigned channel, uint64_t number)
{
    for (unsigned i = 0; i < s->t.n_workers; i++) {
        const drove_shared_worker *w = &s->worker[i];
        /* In this order: a worker that has left posts no more. */
        bool has_left = atomic_load(&w->has_left);
        if (atomic_load(&w->channel[channel].n_posted) < number && !has_left) return i;
    }
    return DROVE_NOBODY;
}

static uint32_t waits_for_all(const drove_shared *s, unsigned worker, unsigned channel)
{
    /* Relaxed: its own. */
    return missing(s, channel,
                   atomic_load_explicit(&s->worker[worker].channel[channel].n_posted,
                                        memory_order_relaxed));
}

bool drove__shared_have_come(const drove_shared *s, unsigned worker, unsigned channel)
{
    return waits_for_all(s, worker, channel) == DROVE_NOBODY;
}

void drove__shared_post(drove_shared *s, unsigned worker, const drove_exchange *x)
{
    drove_shared_channel *l = &s->worker[worker].channel[x->channel];
    uint64_t number = atomic_load_explicit(&l->n_posted, memory_order_relaxed) + 1; /* its own */
    l->posted[number % 2] =
        (drove_shared_posting){.x = *x, .wishes_halt = atomic_load(&s->t.halt_wished) != 0};
    /* Sequentially consistent: of two workers that come last, one sees all. */
    atomic_store(&l->n_posted, number);
    if (missing(s, x->channel, number) == DROVE_NOBODY) drove__shared_wake_all(s);
}

/* ---- a chunk ---- */

typedef struct collective { /* an exchange and its workers */
    drove_shared *s;
    unsigned channel;
    uint64_t number;
    drove_exchange x; /* as the first worker posted it */
    unsigned n_present;
    const float *from; /* BROADCAST: the root's */
    bool wishes_halt;
    bool streams; /* write past the caches */
} collective;

static const drove_exchange *posting_of(const collective *g, unsigned worker)
{
    return &g->s->worker[worker].channel[g->channel].posted[g->number % 2].x;
}

static bool is_present(const collective *g, unsigned worker)
{
    return atomic_load(&g->s->worker[worker].channel[g->channel].n_posted) >= g->number;
}

static bool gets_it(const collective *g, unsigned worker, const drove_exchange *x)
{
    if (g->x.kind == DROVE_BROADCAST) return x->out != NULL && x->out != g->from;
    return g->x.kind == DROVE_ALL_REDUCE || worker == g->x.peer;
}

/* Sets terms and targets of a block in the scratch of `by`. */
static unsigned aim(const collective *g, size_t offset, drove_shared_worker *by, unsigned *n_terms)
{
    unsigned n_to = 0;
    *n_terms = 0;
    for (unsigned i = 0; i < g->s->t.n_workers; i++) {
        if (!is_present(g, i)) continue;
        const drove_exchange *x = posting_of(g, i);
        if (x->codec != NULL)
            by->code[*n_terms] =
                (const char *)drove__codec_code(x->codec) + drove__codec_bytes(x->codec, offset);
        if (g->x.kind != DROVE_BROADCAST) by->source[(*n_terms)++] = x->in + offset;
        if (gets_it(g, i, x)) by->to[n_to++] = x->out + offset;
    }
    return n_to;
}

/* The sum as all would decode it: encoded slice by slice with the residual of the slice's worker.
 * The slice of a worker that has left has no residual and is not rounded. */
static void add_codes(const collective *g, size_t at, size_t length, unsigned n_terms,
                      drove_shared_worker *by)
{
    size_t end = at + length;
    float *sum = by->stage;
    drove__codec_add(g->x.codec, by->code, n_terms, length, sum, by->spare);
    while (at < end) {
        size_t slice_end;
        unsigned owner = drove__codec_owner(g->x.codec, at, &slice_end);
        size_t n = (slice_end < end ? slice_end : end) - at;
        if (is_present(g, owner)) {
            drove_codec *own = posting_of(g, owner)->codec;
            const void *code = drove__codec_encode_sum(own, at, n, sum);
            drove__codec_decode(own, sum, code, n);
        }
        at += n;
        sum += n;
    }
}

static void add_block(const collective *g, size_t at, size_t length, unsigned n_terms,
                      drove_shared_worker *by)
{
    if (g->x.codec != NULL) add_codes(g, at, length, n_terms, by);
    else
        drove__tree_add(g->s->t.kernels, by->source, n_terms, length, by->stage, 1.0f, false,
                        by->spare);
}

static void copy_out(const collective *g, drove_shared_worker *by, const float *from, unsigned n_to,
                     size_t length)
{
    const drovek_table *k = g->s->t.kernels;
    for (unsigned i = 0; i < n_to; i++) {
        /* x + -0 is x: the kernel for sums can write past the caches. */
        if (g->streams) k->add_f32(by->to[i], from, g->s->minus_zero, length, 1.0f, true);
        else k->copy_f32(by->to[i], from, length);
    }
}

/* Two terms that are not overwritten: added once for each of the two, past the caches.  A worker
 * that inherits the chunk may repeat it. */
static bool adds_straight(const collective *g, unsigned n_terms)
{
    return g->streams && n_terms == 2 && g->x.codec == NULL;
}

static void add_straight(const collective *g, const drove_shared_worker *by, unsigned n_to,
                         size_t length)
{
    for (unsigned i = 0; i < n_to; i++)
        g->s->t.kernels->add_f32(by->to[i], by->source[0], by->source[1], length, 1.0f, true);
}

/* Does the chunk of worker `by`, from `phase` on. */
static void do_chunk(const collective *g, size_t chunk, unsigned by, unsigned phase)
{
    drove_shared_worker *w = &g->s->worker[by];
    _Atomic uint64_t *word = &g->s->chunk[g->channel][chunk];
    const bool adds = g->x.kind != DROVE_BROADCAST;
    size_t begin = chunk * DROVE_SHARED_CHUNK, rest = g->x.n - begin;
    size_t end = begin + (rest < DROVE_SHARED_CHUNK ? rest : DROVE_SHARED_CHUNK), n_moved = 0;
    for (unsigned block = (phase - CLAIMED) / PER_BLOCK;; block++) {
        size_t at = begin + (size_t)block * DROVE_TREE_BLOCK;
        if (at >= end) break;
        size_t length = end - at < DROVE_TREE_BLOCK ? end - at : DROVE_TREE_BLOCK;
        unsigned n_terms, n_to = aim(g, at, w, &n_terms), here = CLAIMED + PER_BLOCK * block;
        n_moved += (n_terms + n_to) * length;
        if (adds_straight(g, n_terms)) {
            add_straight(g, w, n_to, length);
            continue;
        }
        if (adds && phase <= here) {
            add_block(g, at, length, n_terms, w);
            /* Release, twice: read by the worker that inherits the chunk. */
            atomic_store_explicit(word, word_of(g->number, by, here + SUMMED),
                                  memory_order_release);
        }
        copy_out(g, w, adds ? w->stage : g->from + at, n_to, length);
        atomic_store_explicit(word, word_of(g->number, by, here + PER_BLOCK), memory_order_release);
    }
    drove__spend_copy(n_moved, 0.0);
    /* Pairs with the load in waits_for_chunks: publishes every `out`.  Sequentially consistent: of
     * two workers that finish last, one sees that all is done and wakes. */
    atomic_store(word, word_of(g->number, by, DONE));
}

static bool claim(const collective *g, size_t chunk, unsigned worker)
{
    _Atomic uint64_t *word = &g->s->chunk[g->channel][chunk];
    /* Relaxed: decides about the word only; n_posted ordered the terms. */
    uint64_t old = atomic_load_explicit(word, memory_order_relaxed);
    return old >> 24 != g->number &&
           atomic_compare_exchange_strong(word, &old, word_of(g->number, worker, CLAIMED));
}

static size_t n_chunks_of(size_t n)
{
    return n / DROVE_SHARED_CHUNK + (n % DROVE_SHARED_CHUNK > 0);
}

/* Each worker begins at its own part, whose memory is near, and goes on with chunks that others
 * have not claimed. */
static void do_chunks(const collective *g, unsigned worker)
{
    size_t n = n_chunks_of(g->x.n), first = n * worker / g->s->t.n_workers;
    for (size_t i = 0; i < n; i++) {
        size_t chunk = first + i < n ? first + i : first + i - n;
        if (claim(g, chunk, worker)) do_chunk(g, chunk, worker, CLAIMED);
    }
}

/* The worker of the first chunk that is not done.  All are claimed. */
static uint32_t waits_for_chunks(const drove_shared *s, unsigned worker, unsigned channel)
{
    const drove_shared_channel *l = &s->worker[worker].channel[channel];
    size_t n = n_chunks_of(l->mine.n);
    for (size_t i = 0; i < n; i++) {
        uint64_t word = atomic_load(&s->chunk[channel][i]);
        if ((word & 0xff) != DONE) return (uint32_t)(word >> 8 & 0xffff);
    }
    return DROVE_NOBODY;
}

/* ---- finishing ---- */

static drove_status fail_unequal(const collective *g, unsigned worker, const drove_exchange *x)
{
    return drove__fail(DROVE_E_SYSTEM,
                       "%s of %zu floats in channel %u: worker %u started a %s of %zu floats",
                       drove__shared_kind_name(g->x.kind), g->x.n, g->channel, worker,
                       drove__shared_kind_name(x->kind), x->n);
}

static bool needs_root(const drove_exchange *x)
{
    return x->kind == DROVE_REDUCE || x->kind == DROVE_BROADCAST;
}

static drove_status join_collective(drove_shared *s, unsigned channel, uint64_t number,
                                    collective *g)
{
    *g = (collective){.s = s, .channel = channel, .number = number};
    bool has_root = false, is_in_place = false;
    for (unsigned i = 0; i < s->t.n_workers; i++) {
        if (!is_present(g, i)) continue;
        const drove_exchange *x = posting_of(g, i);
        if (g->n_present++ == 0) g->x = *x;
        if (x->kind != g->x.kind || x->n != g->x.n || (needs_root(x) && x->peer != g->x.peer) ||
            (x->codec == NULL) != (g->x.codec == NULL))
            return fail_unequal(g, i, x);
        is_in_place = is_in_place || x->in == x->out;
        if (i == x->peer) {
            has_root = true;
            g->from = x->in;
        }
        g->wishes_halt =
            g->wishes_halt || s->worker[i].channel[channel].posted[number % 2].wishes_halt;
    }
    g->streams = !is_in_place && 2 * g->n_present * g->x.n * sizeof(float) >= STREAM_FROM_BYTES;
    if (!needs_root(&g->x) || has_root) return DROVE_OK;
    return drove__fail(DROVE_E_SYSTEM, "%s in channel %u: its root, worker %u, has left",
                       drove__shared_kind_name(g->x.kind), channel, g->x.peer);
}

drove_status drove__shared_collect(drove_shared *s, unsigned worker, unsigned channel,
                                   drove_exchange_info *info)
{
    drove_shared_channel *l = &s->worker[worker].channel[channel];
    DROVE_TRY(drove__shared_await(s, worker, channel, waits_for_all, &info->wait_ns));
    collective g;
    DROVE_TRY(join_collective(s, channel, atomic_load(&l->n_posted), &g));
    if (g.n_present < s->t.n_workers) DROVE_TRY(drove__shared_check(s, worker, &l->mine));
    if (g.wishes_halt) atomic_store(&s->t.halt_seen, 1);
    info->n_present = g.n_present;
    if (g.x.kind == DROVE_BARRIER || g.x.n == 0) return DROVE_OK;
    uint64_t begin_ns = drove__now_ns();
    do_chunks(&g, worker);
    info->work_ns += drove__now_ns() - begin_ns;
    if (waits_for_chunks(s, worker, channel) == DROVE_NOBODY) {
        drove__shared_wake_all(s);
        return DROVE_OK;
    }
    return drove__shared_await(s, worker, channel, waits_for_chunks, &info->wait_ns);
}

void drove__shared_inherit(drove_shared *s, unsigned lost)
{
    for (unsigned channel = 0; channel < DROVE_CHANNELS; channel++) {
        uint64_t number = atomic_load(&s->worker[lost].channel[channel].n_posted);
        for (size_t i = 0; i < s->n_chunks; i++) {
            uint64_t word = atomic_load(&s->chunk[channel][i]);
            unsigned phase = (unsigned)(word & 0xff);
            if (word >> 24 != number || (word >> 8 & 0xffff) != lost || phase == DONE) continue;
            if (phase == 0) continue;
            collective g;
            if (join_collective(s, channel, number, &g) == DROVE_OK) do_chunk(&g, i, lost, phase);
        }
    }
}
