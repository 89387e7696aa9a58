/* bench/micro/all_reduce.c - all-reduce in shared memory against the memory's bandwidth in the same
 * run.  JSON lines.
 *
 *   copy         P threads copy 50 MB each: 2 vectors of bytes each
 *   triad        P threads add two vectors of 50 MB past the caches, a part each: 3 vectors
 *   apart        all-reduce of 50 MB by P workers, out beside in: P vectors read, P written
 *   in_place     the same with out = in
 *
 * The fastest of REPEATS, all kinds taking turns.  `of_memory`: rate of the bytes that must move
 * over the better of copy and triad; the goal is 0.8 with two workers.  Rows of codecs: time of an
 * all-reduce in fewer bits, and bytes that one worker sends.
 */
#include "base/clock.h"
#include "base/cpu.h"
#include "base/mem.h"
#include "cluster/codec.h"
#include "cluster/transport.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 12500000, REPEATS = 12, MOST = 4, N_BITS = 3 };

typedef enum kind { COPY, TRIAD, APART, IN_PLACE, CODED, N_KINDS = CODED + N_BITS } kind;
static const unsigned bits_of[N_BITS] = {16, 8, 1};

static drovek_table kernels;
static float *in[MOST], *out[MOST];
static drove_codec *codec[N_BITS][MOST];

static void must(drove_status status)
{
    if (status == DROVE_OK) return;
    fprintf(stderr, "%s\n", drove_error_text());
    exit(1);
}

/* ---- threads that begin together ---- */

typedef struct team {
    unsigned n;
    kind what;
    pthread_barrier_t gate;
    drove_transport *t;
    uint64_t begin_ns[MOST], end_ns[MOST];
} team;

typedef struct member {
    team *of;
    unsigned index;
} member;

static void all_reduce(team *t, unsigned w)
{
    const drove_exchange x = {.kind = DROVE_ALL_REDUCE,
                              .in = in[w],
                              .out = t->what == IN_PLACE ? in[w] : out[w],
                              .n = N,
                              .codec = t->what >= CODED ? codec[t->what - CODED][w] : NULL};
    must(drove__exchange(t->t, w, &x, NULL));
}

static void *work(void *argument)
{
    member *l = argument;
    team *t = l->of;
    size_t first = (size_t)N / t->n * l->index, n = (size_t)N / t->n;
    drovek_thread_init();
    pthread_barrier_wait(&t->gate);
    t->begin_ns[l->index] = drove__now_ns();
    if (t->what == COPY) kernels.copy_f32(out[l->index], in[l->index], N);
    else if (t->what == TRIAD)
        kernels.add_f32(out[0] + first, in[0] + first, in[1] + first, n, 1.0f, true);
    else all_reduce(t, l->index);
    t->end_ns[l->index] = drove__now_ns();
    return NULL;
}

static double seconds(team *t, kind what)
{
    pthread_t thread[MOST];
    member l[MOST];
    uint64_t begin_ns = UINT64_MAX, end_ns = 0;
    t->what = what;
    pthread_barrier_init(&t->gate, NULL, t->n);
    for (unsigned i = 0; i < t->n; i++) {
        l[i] = (member){t, i};
        pthread_create(&thread[i], NULL, work, &l[i]);
    }
    for (unsigned i = 0; i < t->n; i++) pthread_join(thread[i], NULL);
    pthread_barrier_destroy(&t->gate);
    for (unsigned i = 0; i < t->n; i++) {
        if (t->begin_ns[i] < begin_ns) begin_ns = t->begin_ns[i];
        if (t->end_ns[i] > end_ns) end_ns = t->end_ns[i];
    }
    return (double)(end_ns - begin_ns) * 1e-9;
}

static void open_codecs(unsigned n_workers)
{
    for (unsigned b = 0; b < N_BITS; b++) {
        for (unsigned w = 0; w < n_workers; w++) {
            const drove_codec_options opt = {.bits = bits_of[b],
                                             .n = N,
                                             .n_workers = n_workers,
                                             .worker = w,
                                             .seed = 1,
                                             .kernels = &kernels};
            must(drove__codec_create(&opt, &codec[b][w]));
        }
    }
}

static void close_codecs(unsigned n_workers)
{
    for (unsigned b = 0; b < N_BITS; b++)
        for (unsigned w = 0; w < n_workers; w++) drove__codec_destroy(codec[b][w]);
}

static void print(unsigned n, const double *best)
{
    const double vector = (double)N * sizeof(float) * 1e-9;
    double copy = 2.0 * n * vector / best[COPY], triad = 3.0 * vector / best[TRIAD];
    double apart = 2.0 * n * vector / best[APART], in_place = 2.0 * n * vector / best[IN_PLACE];
    double memory = copy > triad ? copy : triad;
    printf("{\"workers\": %u, \"isa\": \"%s\", \"copy_gb_per_s\": %.2f, \"triad_gb_per_s\": %.2f, "
           "\"apart_gb_per_s\": %.2f, \"in_place_gb_per_s\": %.2f, \"apart_ms\": %.2f, "
           "\"in_place_ms\": %.2f, \"apart_of_memory\": %.3f, \"in_place_of_memory\": %.3f}\n",
           n, kernels.isa, copy, triad, apart, in_place, best[APART] * 1e3, best[IN_PLACE] * 1e3,
           apart / memory, in_place / memory);
    for (unsigned b = 0; b < N_BITS; b++)
        printf("{\"workers\": %u, \"precision\": \"C%us\", \"ms\": %.2f, \"bytes\": %zu}\n", n,
               bits_of[b], best[CODED + b] * 1e3, drovek_code_bytes(bits_of[b], N));
}

static void measure(unsigned n)
{
    team t = {.n = n};
    double best[N_KINDS];
    must(drove__transport_shared(n, false, N, &kernels, NULL, NULL, &t.t));
    open_codecs(n);
    for (unsigned k = 0; k < N_KINDS; k++) best[k] = 1e9;
    for (unsigned i = 0; i < REPEATS; i++) {
        for (unsigned k = 0; k < N_KINDS; k++) {
            if (k >= CODED && i % 4 != 0) continue; /* mostly arithmetic */
            double s = seconds(&t, (kind)k);
            if (s < best[k]) best[k] = s;
        }
        for (unsigned w = 0; w < n; w++) kernels.scale_f32(in[w], N, 0.5f); /* sums stay finite */
    }
    print(n, best);
    close_codecs(n);
    t.t->ops->destroy(t.t);
}

int main(int argc, char **argv)
{
    unsigned most = argc > 1 ? (unsigned)atoi(argv[1]) : MOST;
    must(drovek_select(&kernels, drove__cpu_features(), NULL));
    for (unsigned w = 0; w < MOST; w++) {
        in[w] = drove__alloc(N, sizeof(float));
        out[w] = drove__alloc(N, sizeof(float));
        if (in[w] == NULL || out[w] == NULL) must(drove__fail_nomem("vectors", N));
        for (size_t i = 0; i < N; i++) in[w][i] = (float)(i % 1000 + w) * 1e-3f;
        memset(out[w], 0, N * sizeof(float));
    }
    for (unsigned n = 2; n <= most && n <= MOST; n += 2) measure(n);
    for (unsigned w = 0; w < MOST; w++) {
        drove__free(in[w]);
        drove__free(out[w]);
    }
    return 0;
}
