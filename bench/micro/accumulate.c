/* bench/micro/accumulate.c - how fast gradients of several devices are summed on the host, against
 * what the memory gives in the same run.  JSON lines.
 *
 *   triad        a[i] = x[i] + y[i] past the caches: 3 vectors, the bytes of a sum of two
 *   sum          the strategy's collector: D gradients of N floats in 8 parts, brought by D threads
 *                at once, all additions behind the last: D + 1 vectors of bytes
 * T threads each; the fastest of REPEATS, the two kinds taking turns.  `of_triad` is the goal's
 * ratio: at least 0.8.
 */
#include "accum/collect.h"
#include "base/clock.h"
#include "base/cpu.h"
#include "base/mem.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 1 << 25, N_PARTS = 8, REPEATS = 9, MOST = 4 };

static drovek_table kernels;
static float *gradient[MOST], *target;

static void must(drove_status status)
{
    if (status == DROVE_OK) return;
    fprintf(stderr, "%s\n", drove_error_text());
    exit(1);
}

/* ---- threads that begin together ---- */

typedef struct team {
    unsigned n;
    pthread_barrier_t gate;
    drove_collector *collector; /* NULL: triad */
    uint64_t begin_ns[MOST], end_ns[MOST];
} team;

typedef struct lane {
    team *of;
    unsigned index;
} lane;

static void triad(const team *t, unsigned index)
{
    size_t first = (size_t)N / t->n * index, n = (size_t)N / t->n;
    kernels.add_f32(target + first, gradient[0] + first, gradient[1] + first, n, 1.0f, true);
}

static void collect(team *t, unsigned index)
{
    drove_collect_times times;
    float *mean, eta;
    for (unsigned p = N_PARTS; p-- > 0;)
        (void)drove__collect_arrive(t->collector, index, p, gradient[index], 1.0f, p > 0);
    (void)drove__collect_finish(t->collector, index, &mean, &eta, &times);
}

static void *work(void *argument)
{
    lane *l = argument;
    team *t = l->of;
    drovek_thread_init();
    pthread_barrier_wait(&t->gate);
    t->begin_ns[l->index] = drove__now_ns();
    if (t->collector != NULL) collect(t, l->index);
    else triad(t, l->index);
    t->end_ns[l->index] = drove__now_ns();
    return NULL;
}

static double seconds(unsigned n_threads, drove_collector *collector)
{
    static team t;
    pthread_t thread[MOST];
    lane l[MOST];
    uint64_t begin_ns = UINT64_MAX, end_ns = 0;
    t.n = n_threads;
    t.collector = collector;
    pthread_barrier_init(&t.gate, NULL, n_threads);
    for (unsigned i = 0; i < n_threads; i++) {
        l[i] = (lane){&t, i};
        pthread_create(&thread[i], NULL, work, &l[i]);
    }
    for (unsigned i = 0; i < n_threads; i++) pthread_join(thread[i], NULL);
    pthread_barrier_destroy(&t.gate);
    for (unsigned i = 0; i < n_threads; i++) {
        if (t.begin_ns[i] < begin_ns) begin_ns = t.begin_ns[i];
        if (t.end_ns[i] > end_ns) end_ns = t.end_ns[i];
    }
    return (double)(end_ns - begin_ns) * 1e-9;
}

static void measure(unsigned n_devices)
{
    drove_span part[N_PARTS];
    drove_collector *c;
    double triad_s = 1e9, sum_s = 1e9;
    for (unsigned p = 0; p < N_PARTS; p++)
        part[p] = (drove_span){(size_t)N / N_PARTS * p, (size_t)N / N_PARTS};
    const drove_collector_options opt = {.n_devices = n_devices,
                                         .part = part,
                                         .n_parts = N_PARTS,
                                         .n = N,
                                         .order = DROVE_ACCUM_ONCE,
                                         .kernels = &kernels};
    must(drove__collector_create(&opt, &c));
    for (unsigned i = 0; i < REPEATS; i++) {
        double s = seconds(n_devices, NULL);
        if (s < triad_s) triad_s = s;
        s = seconds(n_devices, c);
        if (s < sum_s) sum_s = s;
    }
    drove__collector_destroy(c);
    double vector = (double)N * sizeof(float) * 1e-9;
    double triad_rate = 3.0 * vector / triad_s, rate = (n_devices + 1.0) * vector / sum_s;
    printf("{\"devices\": %u, \"threads\": %u, \"isa\": \"%s\", \"triad_gb_per_s\": %.2f, "
           "\"sum_gb_per_s\": %.2f, \"of_triad\": %.3f}\n",
           n_devices, n_devices, kernels.isa, triad_rate, rate, rate / triad_rate);
}

int main(void)
{
    must(drovek_select(&kernels, drove__cpu_features(), NULL));
    target = drove__alloc(N, sizeof *target);
    for (unsigned d = 0; d < MOST; d++) {
        gradient[d] = drove__alloc(N, sizeof(float));
        if (gradient[d] == NULL || target == NULL) must(drove__fail_nomem("vectors", N));
        for (size_t i = 0; i < N; i++) gradient[d][i] = (float)(i % 1000 + d);
    }
    for (unsigned n = 2; n <= MOST; n += 2) measure(n);
    for (unsigned d = 0; d < MOST; d++) drove__free(gradient[d]);
    drove__free(target);
    return 0;
}
