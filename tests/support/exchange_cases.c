#include "exchange_cases.h"

#include "base/mem.h"
#include "base/rng.h"
#include "cluster/tree.h"

#include <assert.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct cases {
    drove_transport *t;
    unsigned worker, n_workers;
    const exchange_cases *options;
    drove_rng rng; /* equal at all workers: kinds, roots, sizes */
    drove_rng own; /* rests */
    unsigned n_wrong;
    uint64_t seed;                      /* of the exchange in hand */
    float *in, *out, *expected, *other; /* [n_most] */
    float *of[64];                      /* [n_workers][n_most] */
    float *spare;
} cases;

void exchange_cases_fill(float *in, size_t n, uint64_t seed, unsigned worker, bool whole)
{
    drove_rng rng;
    drove__rng_seed(&rng, seed, DROVE_RNG_TEST, worker);
    for (size_t i = 0; i < n; i++) {
        uint64_t u = drove__rng_u64(&rng);
        float x = (float)(int32_t)(u >> 32) * 0x1p-20f;
        in[i] = whole ? (float)(int)(u % 2001) - 1000.0f : x * (float)(1u << (u & 15));
    }
}

static void complain(cases *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void complain(cases *c, const char *format, ...)
{
    va_list arguments;
    char text[DROVE_ERROR_TEXT_SIZE];
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (c->n_wrong++ < 5) fprintf(stderr, "worker %u of %u: %s\n", c->worker, c->n_workers, text);
}

static void rest(cases *c)
{
    if (c->options->most_rest_us == 0) return;
    uint64_t us = drove__rng_below(&c->own, c->options->most_rest_us);
    nanosleep(&(struct timespec){0, (long)us * 1000}, NULL);
}

static void check_same(cases *c, const char *what, const float *found, const float *expected,
                       size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (memcmp(&found[i], &expected[i], sizeof *found) == 0) continue;
        complain(c, "%s of %zu: expected [%zu] = %.9g, found %.9g", what, n, i, (double)expected[i],
                 (double)found[i]);
        return;
    }
}

static bool exchange(cases *c, const drove_exchange *x, drove_exchange_info *info)
{
    drove_status status = c->t->ops->start(c->t, c->worker, x);
    rest(c);
    if (status == DROVE_OK) status = c->t->ops->finish(c->t, c->worker, x->channel, info);
    if (status != DROVE_OK) complain(c, "kind %d: %s", (int)x->kind, drove_error_text());
    return status == DROVE_OK;
}

static void expect_sum(cases *c, size_t n, bool whole)
{
    for (unsigned i = 0; i < c->n_workers; i++) {
        exchange_cases_fill(c->of[i], n, c->seed, i, whole);
    }
    drove__tree_add(c->t->kernels, (const float *const *)c->of, c->n_workers, n, c->expected, 1.0f,
                    false, c->spare);
    for (size_t i = 0; whole && i < n; i++) { /* and against plain additions */
        float sum = 0;
        for (unsigned w = 0; w < c->n_workers; w++) sum += c->of[w][i];
        if (sum != c->expected[i]) complain(c, "the tree is wrong");
    }
}

static void all_reduce(cases *c, size_t n, bool whole, bool in_place)
{
    float *out = in_place ? c->in : c->out;
    exchange_cases_fill(c->in, n, c->seed, c->worker, whole);
    if (!exchange(c, &(drove_exchange){.kind = DROVE_ALL_REDUCE, .in = c->in, .out = out, .n = n},
                  NULL)) {
        return;
    }
    expect_sum(c, n, whole);
    check_same(c, "all-reduce", out, c->expected, n);
    if (in_place) return;
    exchange_cases_fill(c->expected, n, c->seed, c->worker, whole);
    check_same(c, "in of an all-reduce", c->in, c->expected, n);
}

static void reduce(cases *c, size_t n, unsigned root)
{
    exchange_cases_fill(c->in, n, c->seed, c->worker, false);
    for (size_t i = 0; i < n; i++) c->out[i] = -1.0f;
    bool is_root = c->worker == root;
    drove_exchange x = {.kind = DROVE_REDUCE,
                        .channel = 1,
                        .peer = root,
                        .in = c->in,
                        .n = n,
                        .out = is_root ? c->out : NULL};
    if (!exchange(c, &x, NULL)) return;
    expect_sum(c, n, false);
    if (is_root) check_same(c, "reduce", c->out, c->expected, n);
}

static void broadcast(cases *c, size_t n, unsigned root)
{
    exchange_cases_fill(c->in, n, c->seed, root, false);
    bool is_root = c->worker == root;
    drove_exchange x = {.kind = DROVE_BROADCAST,
                        .channel = 2,
                        .peer = root,
                        .n = n,
                        .out = c->out,
                        .in = is_root ? c->in : NULL};
    memset(c->out, 0, n * sizeof(float));
    if (is_root && n % 2 == 0) { /* in place */
        memcpy(c->out, c->in, n * sizeof(float));
        x.in = c->out;
    }
    if (exchange(c, &x, NULL)) check_same(c, "broadcast", c->out, c->in, n);
}

/* Every worker sends to the next and receives from the one before. */
static void ring(cases *c, size_t n)
{
    unsigned next = (c->worker + 1) % c->n_workers;
    unsigned before = (c->worker + c->n_workers - 1) % c->n_workers;
    if (c->n_workers == 1) return;
    exchange_cases_fill(c->in, n, c->seed, c->worker, false);
    drove_exchange give = {.kind = DROVE_SEND, .channel = 3, .peer = next, .in = c->in, .n = n};
    drove_exchange take = {
        .kind = DROVE_RECEIVE, .channel = 4, .peer = before, .out = c->out, .n = n};
    take.channel = 3; /* messages of one channel: worker 0 receives after it has sent */
    give.channel = 3;
    bool gives_first = c->worker == 0;
    if (!exchange(c, gives_first ? &give : &take, NULL)) return;
    if (!exchange(c, gives_first ? &take : &give, NULL)) return;
    exchange_cases_fill(c->expected, n, c->seed, before, false);
    check_same(c, "message", c->out, c->expected, n);
}

/* Two sums in two channels, finished in reverse order. */
static void two_at_once(cases *c, size_t n)
{
    exchange_cases_fill(c->in, n, c->seed, c->worker, false);
    drove_exchange x = {.kind = DROVE_ALL_REDUCE, .channel = 5, .in = c->in, .out = c->out, .n = n};
    drove_exchange y = {
        .kind = DROVE_ALL_REDUCE, .channel = 6, .in = c->in, .out = c->other, .n = n / 2};
    drove_status status = c->t->ops->start(c->t, c->worker, &x);
    if (status == DROVE_OK) status = c->t->ops->start(c->t, c->worker, &y);
    rest(c);
    if (status == DROVE_OK) status = c->t->ops->finish(c->t, c->worker, 6, NULL);
    if (status == DROVE_OK) status = c->t->ops->finish(c->t, c->worker, 5, NULL);
    if (status != DROVE_OK) {
        complain(c, "two at once: %s", drove_error_text());
        return;
    }
    expect_sum(c, n, false);
    check_same(c, "first of two", c->out, c->expected, n);
    expect_sum(c, n / 2, false);
    check_same(c, "second of two", c->other, c->expected, n / 2);
}

static void gather(cases *c, size_t n)
{
    float *all = malloc(c->n_workers * n * sizeof *all + 1);
    if (c->t->n_processes == 1 || all == NULL) { /* one process: nothing to gather */
        free(all);
        return;
    }
    exchange_cases_fill(c->in, n, c->seed, c->worker, false);
    if (c->t->ops->gather(c->t, c->in, n * sizeof *all, all) != DROVE_OK) {
        complain(c, "gather: %s", drove_error_text());
    }
    for (unsigned i = 0; i < c->n_workers; i++) {
        exchange_cases_fill(c->expected, n, c->seed, i, false);
        check_same(c, "gather", all + i * n, c->expected, n);
    }
    free(all);
}

/* A barrier that let a worker pass early would let counts differ. */
static void barrier(cases *c)
{
    drove_exchange_info info = {0};
    if (exchange(c, &(drove_exchange){.kind = DROVE_BARRIER, .channel = 7}, &info) &&
        info.n_present != c->n_workers) {
        complain(c, "barrier of %u", info.n_present);
    }
}

static size_t size_of(cases *c, unsigned i)
{
    static const size_t sizes[] = {0, 1, 15, 17, 1000, 2047, 2048, 2049, 5000, 33333};
    size_t n = i < DROVE_COUNT(sizes) ? sizes[i] : drove__rng_below(&c->rng, c->options->n_most);
    return n < c->options->n_most ? n : c->options->n_most;
}

static void go_through(cases *c)
{
    for (unsigned i = 0; i < 12 && c->n_wrong == 0; i++) {
        size_t n = size_of(c, i);
        unsigned root = (unsigned)drove__rng_below(&c->rng, c->n_workers);
        c->seed = drove__rng_u64(&c->rng);
        all_reduce(c, n, i % 3 == 0, i % 2 == 0);
        reduce(c, n, root);
        broadcast(c, n, (root + 1) % c->n_workers);
        ring(c, n);
        two_at_once(c, n);
        barrier(c);
        gather(c, n % 3000);
    }
}

unsigned exchange_cases_run(drove_transport *t, unsigned worker, const exchange_cases *options)
{
    cases c = {.t = t, .worker = worker, .n_workers = t->n_workers, .options = options};
    drove__rng_seed(&c.rng, options->seed, DROVE_RNG_TEST, 1000);
    drove__rng_seed(&c.own, options->seed, DROVE_RNG_TEST, 2000 + worker);
    size_t n = options->n_most + 16;
    assert(t->n_workers <= DROVE_COUNT(c.of));
    float *all = drove__alloc((4 + t->n_workers) * drove__pad_floats(n), sizeof *all);
    c.spare = drove__alloc((size_t)DROVE_TREE_LEVELS * DROVE_TREE_BLOCK, sizeof *c.spare);
    assert(all != NULL && c.spare != NULL);
    n = drove__pad_floats(n);
    c.in = all;
    c.out = all + n;
    c.expected = all + 2 * n;
    c.other = all + 3 * n;
    for (unsigned i = 0; i < t->n_workers; i++) c.of[i] = all + (4 + i) * n;
    for (unsigned i = 0; i < options->n_times && c.n_wrong == 0; i++) go_through(&c);
    drove__free(all);
    drove__free(c.spare);
    return c.n_wrong;
}
