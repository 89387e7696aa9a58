/* bench/memory.c - `drove bench memory`: how fast bytes can be read, and a triad computed, by
 * one and more threads, from memory and from each level of the caches.  No kernel that streams its
 * data can be faster: the figures are the limit beside all others.
 *
 *   read   x[0] ^ x[1] ^ ...        counts the bytes of x
 *   triad  a[i] = b[i] - s c[i]     counts a, b and c once each, as STREAM does (the line of a that
 *                                   a cache reads before it is written comes on top of that)
 *
 * Each thread is pinned (one per core first, on as few NUMA nodes as possible) and has a block of
 * its own, whose pages it touches first and of which a level uses the beginning, round and round.
 * A measurement is cut into stretches of 2 ms.  In each, all threads go on until its time is over;
 * its rate is the bytes of all threads over the time from the first one's start to the last one's
 * end.  The best of them is what the machine can do, the median what it did.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "bench/bench.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/sort.h"
#include "base/status.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_STRETCHES = 5, N_LEVELS = 4, N_KERNELS = 2 };
enum { CHUNK_BYTES = 1 << 18 }; /* between two readings of the clock */

/* Short enough to lie between two interruptions of a busy machine. */
static const uint64_t STRETCH_NS = 2000000;

static const uint64_t LEAST_MEMORY_BYTES = (uint64_t)1 << 30;
static const char *const kernel_name[N_KERNELS] = {"read", "triad"};
static const char *const level_name[N_LEVELS] = {"l1", "l2", "l3", "memory"};

typedef struct pool pool;

typedef struct member {
    pool *of;
    pthread_t thread;
    unsigned index;
    float *block;                     /* [of->block_bytes / 4] */
    size_t at;                        /* where in the block the next stretch begins */
    uint64_t bytes, start_ns, end_ns; /* of the last stretch */
    uint64_t sink;                    /* what was read, so that it has to be */
    drove_status status;
    char error[DROVE_ERROR_TEXT_SIZE];
} DROVE_ALIGNED_CACHE_LINE member;

struct pool { /* threads that measure together */
    const drove_bench_context *context;
    unsigned n_members;
    member *member;         /* [n_members] */
    drove_place *place;     /* [n_members] */
    size_t block_bytes;     /* of each member */
    int n_kernels;          /* that are measured */
    pthread_mutex_t gate;   /* held until all members have been started */
    bool is_cancelled;      /* under gate */
    pthread_barrier_t meet; /* the members and the caller */
    /* written by the caller before a meeting, read by the members after it */
    bool is_over;
    int kernel;
    size_t level_bytes; /* of each member */
    size_t n_stretches;
    double *rate; /* [n_stretches] in GB/s */
};

/* ---- one thread ---- */

/* Goes on through the first n_bytes of the block for about CHUNK_BYTES; returns how many bytes that
 * were.  One array of read; a, b and c of triad, one after the other. */
static size_t work(member *m, const drovek_table *k, size_t n_bytes)
{
    size_t n_arrays = m->of->kernel == 0 ? 1 : 3, done = 0;
    size_t array_bytes = n_bytes / n_arrays / DROVE_CACHE_LINE * DROVE_CACHE_LINE;
    size_t most = CHUNK_BYTES / n_arrays / DROVE_CACHE_LINE * DROVE_CACHE_LINE;
    while (done < most * n_arrays) {
        size_t n = array_bytes - m->at < most ? array_bytes - m->at : most;
        float *a = m->block + m->at / sizeof(float), *b = a + array_bytes / sizeof(float);
        const void *words = a;
        if (m->of->kernel == 0) m->sink ^= k->xor_u64(words, n / sizeof(uint64_t));
        else k->sgd_f32(a, b, b + array_bytes / sizeof(float), n / sizeof(float), 0.5f);
        done += n * n_arrays;
        m->at += n;
        if (m->at == array_bytes) m->at = 0;
    }
    return done;
}

static void *member_main(void *argument)
{
    member *m = argument;
    pool *c = m->of;
    pthread_mutex_lock(&c->gate);
    bool is_cancelled = c->is_cancelled;
    pthread_mutex_unlock(&c->gate);
    if (is_cancelled) return NULL;
    m->status = drove__topo_bind_self(c->context->topo, &c->place[m->index]);
    if (m->status == DROVE_OK) m->block = drove__alloc(c->block_bytes, 1);
    if (m->status == DROVE_OK && m->block == NULL)
        m->status = drove__fail_nomem("memory to measure", c->block_bytes);
    if (m->status != DROVE_OK) drove__error_copy(m->error);
    for (size_t i = 0; m->block != NULL && i < c->block_bytes / sizeof(float); i++)
        m->block[i] = (float)(i % 97);
    for (;;) {
        pthread_barrier_wait(&c->meet); /* ready; then: what to do is known */
        pthread_barrier_wait(&c->meet);
        if (c->is_over) break;

        m->bytes = 0;
        m->start_ns = m->end_ns = drove__now_ns();
        while (m->end_ns - m->start_ns < STRETCH_NS) {
            m->bytes += work(m, &c->context->kernels, c->level_bytes);
            m->end_ns = drove__now_ns();
        }
    }
    drove__free(m->block);
    return NULL;
}

/* ---- all threads ---- */

static drove_status start(pool *c)
{
    unsigned n = 0;
    int error = 0;
    pthread_mutex_lock(&c->gate);
    for (; n < c->n_members && error == 0; n++) {
        c->member[n].of = c;
        c->member[n].index = n;
        error = pthread_create(&c->member[n].thread, NULL, member_main, &c->member[n]);
    }
    c->is_cancelled = error != 0;
    pthread_mutex_unlock(&c->gate);
    if (error == 0) {
        pthread_barrier_wait(&c->meet);
        return DROVE_OK;
    }
    while (--n > 0) pthread_join(c->member[n - 1].thread, NULL);
    return drove__fail_errno(DROVE_E_SYSTEM, error, "cannot start %u threads", c->n_members);
}

/* Bytes of each member at a level; 0: this machine has no such level, or not for so many threads.
 * Half of a cache that is a core's own, so that nothing else pushes them out.  Four times the
 * second level for the third, up to half of it: a virtual machine may have a part of it only. */
static size_t bytes_of_level(const pool *c, int level)
{
    const drove_topo_facts *f = &c->context->facts;
    size_t n = c->block_bytes;
    if (level == 0) n = f->l1d_bytes / 2;
    if (level == 1) n = f->l2_bytes / 2;
    if (level == 2) {
        /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): a pool has members */
        size_t share = f->l3_bytes / 2 / c->n_members; /* as if all threads shared one */
        n = share < 4 * f->l2_bytes ? share : 4 * f->l2_bytes;
        if (n < 2 * f->l2_bytes) n = 0;
    }
    n = n / DROVE_CACHE_LINE * DROVE_CACHE_LINE;
    return n <= c->block_bytes ? n : 0;
}

static void measure_levels(pool *c, json_t **rows)
{
    for (int kernel = 0; kernel < c->n_kernels; kernel++) {
        for (int level = 0; level < N_LEVELS; level++) {
            size_t bytes = bytes_of_level(c, level);
            if (bytes == 0) continue;

            /* c->rate, in ascending order; the members have met and wait for the second meeting */
            c->kernel = kernel;
            c->level_bytes = bytes;
            for (unsigned i = 0; i < c->n_members; i++) c->member[i].at = 0;
            for (size_t r = 0; r < c->n_stretches; r++) {
                pthread_barrier_wait(&c->meet);
                pthread_barrier_wait(&c->meet); /* they are done */

                /* the rate of this stretch, in GB/s, which is bytes per ns */
                const member *m = c->member;
                uint64_t first = m[0].start_ns, last = m[0].end_ns, n_bytes = 0;
                for (unsigned i = 0; i < c->n_members; i++) {
                    if (m[i].start_ns < first) first = m[i].start_ns;
                    if (m[i].end_ns > last) last = m[i].end_ns;
                    n_bytes += m[i].bytes;
                }
                c->rate[r] = (double)n_bytes / (double)(last - first);
            }
            drove__sort(c->rate, c->n_stretches);
            drove__json_add(rows,
                            json_pack("{s:s, s:s, s:i, s:I, s:f, s:f}", "kernel",
                                      kernel_name[kernel], "level", level_name[level], "threads",
                                      (int)c->n_members, "bytes_per_thread", (json_int_t)bytes,
                                      "gb_per_s", c->rate[c->n_stretches - 1], "gb_per_s_median",
                                      c->rate[c->n_stretches / 2]));
        }
    }
}

static drove_status measure_pool(pool *c, json_t **result, json_t **rows)
{
    drove_status status = DROVE_OK;
    DROVE_TRY(start(c));
    for (unsigned i = 0; i < c->n_members && status == DROVE_OK; i++) {
        if (c->member[i].status != DROVE_OK)
            status = drove__fail(c->member[i].status, "%s", c->member[i].error);
    }
    if (status == DROVE_OK) {
        /* bytes of the process that lie in huge pages; -1: the system does not tell */
        char text[256];
        long long kib = -1;
        FILE *file = fopen("/proc/self/smaps_rollup", "r");
        while (file != NULL && fgets(text, sizeof text, file) != NULL) {
            if (sscanf(text, "AnonHugePages: %lld", &kib) == 1) break;
        }
        if (file != NULL) fclose(file);
        drove__json_set(result, "huge_page_bytes",
                        kib >= 0 ? json_integer(kib * 1024) : json_null());
        measure_levels(c, rows);
    }
    c->is_over = true;
    pthread_barrier_wait(&c->meet);
    for (unsigned i = 0; i < c->n_members; i++) pthread_join(c->member[i].thread, NULL);
    return status;
}

static drove_status run_threads(const drove_bench_context *context, unsigned n_threads,
                                int n_kernels, uint64_t n_bytes, json_t **result, json_t **rows)
{
    pool c = {.context = context, .n_members = n_threads, .n_kernels = n_kernels};
    c.n_stretches = (size_t)(context->seconds * 1e9 / (double)STRETCH_NS);
    if (c.n_stretches < LEAST_STRETCHES) c.n_stretches = LEAST_STRETCHES;
    c.rate = drove__alloc(c.n_stretches, sizeof *c.rate);
    c.block_bytes = n_bytes / n_threads / DROVE_CACHE_LINE * DROVE_CACHE_LINE;
    c.member = drove__alloc(n_threads, sizeof *c.member);
    c.place = drove__alloc(n_threads, sizeof *c.place);
    drove_status status = DROVE_OK;
    if (c.rate == NULL || c.member == NULL || c.place == NULL) {
        status = drove__fail_nomem("threads", n_threads * sizeof *c.member);
    } else {
        drove__topo_place(context->topo, DROVE_BIND_COMPACT, n_threads, c.place);
        pthread_mutex_init(&c.gate, NULL);
        pthread_barrier_init(&c.meet, NULL, n_threads + 1);
        status = measure_pool(&c, result, rows);
        pthread_barrier_destroy(&c.meet);
        pthread_mutex_destroy(&c.gate);
    }
    drove__free(c.member);
    drove__free(c.place);
    drove__free(c.rate);
    return status;
}

/* Those asked for, or four times the caches, so that nothing is left of the last pass. */
static uint64_t bytes_of_data(const drove_bench_context *context)
{
    const drove_topo_facts *f = &context->facts;
    if (context->n_bytes != 0) return context->n_bytes;
    uint64_t n_bytes = 4 * (uint64_t)f->l3_bytes * f->n_packages;
    if (n_bytes < LEAST_MEMORY_BYTES) n_bytes = LEAST_MEMORY_BYTES;
    return n_bytes > f->memory_bytes / 2 ? f->memory_bytes / 2 : n_bytes;
}

drove_status drove__bench_read(const drove_bench_context *context, json_t **result, json_t **rows)
{
    return run_threads(context, 1, 1, bytes_of_data(context), result, rows);
}

static drove_status run(const drove_bench_context *context, json_t **result)
{
    const uint64_t n_bytes = bytes_of_data(context);
    const uint64_t least = (uint64_t)context->n_threads * 4096;
    if (n_bytes < least) {
        return drove__fail(DROVE_E_ARG,
                           "--bytes: expected at least %llu for %u threads, found %llu",
                           (unsigned long long)least, context->n_threads,
                           (unsigned long long)n_bytes);
    }
    drove__json_set(result, "bytes", json_integer((json_int_t)n_bytes));
    drove__json_set(result, "seconds", json_real(context->seconds));
    json_t *rows = json_array();
    drove_status status = DROVE_OK;
    for (unsigned n = 1; n < context->n_threads && status == DROVE_OK; n *= 2)
        status = run_threads(context, n, N_KERNELS, n_bytes, result, &rows);
    if (status == DROVE_OK)
        status = run_threads(context, context->n_threads, N_KERNELS, n_bytes, result, &rows);
    drove__json_set(result, "rows", rows);
    return status;
}

/* ---- for people ---- */

/* Rows stand kernel by kernel for each number of threads, level by level: one line for each. */
static void print(const json_t *result, FILE *stream)
{
    const json_t *rows = json_object_get(result, "rows"), *huge;
    size_t n = json_array_size(rows);
    huge = json_object_get(result, "huge_page_bytes");
    fprintf(stream, "%.4g GiB of data", drove__bench_number(result, "bytes") / 0x1p30);
    if (json_is_integer(huge))
        fprintf(stream, ", %.4g GiB in huge pages", json_number_value(huge) / 0x1p30);
    fprintf(stream, "; GB/s, the best stretch of each\n\nkernel  threads");
    for (int level = 0; level < N_LEVELS; level++) fprintf(stream, "%10s", level_name[level]);
    for (size_t i = 0; i < n;) {
        const json_t *first = json_array_get(rows, i);
        json_int_t threads = json_integer_value(json_object_get(first, "threads"));
        fprintf(stream, "\n%-7s %7lld", drove__bench_text(first, "kernel"), (long long)threads);
        for (int level = 0; level < N_LEVELS; level++) {
            const json_t *row = json_array_get(rows, i);
            bool is_there =
                row != NULL && strcmp(drove__bench_text(row, "level"), level_name[level]) == 0 &&
                strcmp(drove__bench_text(row, "kernel"), drove__bench_text(first, "kernel")) == 0;
            if (!is_there) {
                fprintf(stream, "%10s", "-");
                continue;
            }
            fprintf(stream, "%10.1f", drove__bench_number(row, "gb_per_s"));
            i++;
        }
    }
    fputc('\n', stream);
}

const drove_bench_ops drove__bench_memory = {
    .name = "memory",
    .help = "GB/s of reading and of a triad, from memory and each cache, by 1 and more threads",
    .source = "McCalpin's STREAM for the triad; the limit beside all other figures",
    .run = run,
    .print = print,
};
