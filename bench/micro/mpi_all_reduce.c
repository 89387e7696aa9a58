/* bench/micro/mpi_all_reduce.c - all-reduce between ranks: ours, in the fixed tree, against
 * MPI_Allreduce of the library; and how much of an exchange computing hides.
 *
 *   mpirun -n P bench_mpi_all_reduce [--times N] [MEGABYTES ...]          (15; 0.5 5 50)
 *
 * Both sums take turns in one run, each after a barrier.  The time of a sum is that of the slowest
 * rank.  Printed are medians of N times, the worst of ours, and the median of the ratios of pairs.
 *
 * Overlap: an exchange alone (e), other work of about 1.5 e alone (c), and both, the exchange
 * started before the work and finished after it (b); hidden = (e + c - b) / e, of medians.  The
 * work is once on vectors in the cache ("core": copying messages needs a core too, so this needs a
 * free one) and once sleep ("device": the worker waits for an accelerator).  cpu: processor time of
 * the process in b less that in c, over e: what moving messages costs.  JSON lines.
 */
#include "base/clock.h"
#include "base/cpu.h"
#include "base/mem.h"
#include "cluster/ranks_open.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_TIMES = 1000, N_WORK = 8192 };

static drove_transport *t;
static drovek_table kernels;
static unsigned rank;
static int n_times = 15;
static float work[2][N_WORK];

static void must(drove_status status)
{
    if (status == DROVE_OK) return;
    fprintf(stderr, "rank %u: %s\n", rank, drove_error_text());
    drove__transport_abort(t, 1);
    exit(1);
}

static void meet(void)
{
    must(drove__exchange(t, rank, &(drove_exchange){.kind = DROVE_BARRIER, .channel = 1}, NULL));
}

/* The longest time of all ranks. */
static double longest(double mine)
{
    double all[1024], most = 0;
    must(t->ops->gather(t, &mine, sizeof mine, all));
    for (unsigned i = 0; i < t->n_workers; i++) most = all[i] > most ? all[i] : most;
    return most;
}

static double now_s(void)
{
    return (double)drove__now_ns() * 1e-9;
}

static double cpu_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* n passes over vectors in the cache, or n ns of sleep. */
static void compute(unsigned long n, bool on_device)
{
    if (on_device && n > 0) {
        nanosleep(&(struct timespec){(time_t)(n / 1000000000u), (long)(n % 1000000000u)}, NULL);
    }
    for (unsigned long i = 0; i < n && !on_device; i++) {
        kernels.axpy_f32(work[0], work[1], N_WORK, 1e-9f);
    }
}

static void sum(const float *in, float *out, size_t n, unsigned long n_turns, bool on_device)
{
    drove_exchange x = {.kind = DROVE_ALL_REDUCE, .in = in, .out = out, .n = n};
    must(t->ops->start(t, rank, &x));
    compute(n_turns, on_device);
    must(t->ops->finish(t, rank, 0, NULL));
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *x, int n)
{
    qsort(x, (size_t)n, sizeof *x, by_value);
    return x[n / 2];
}

static void compare(const float *in, float *out, size_t n)
{
    const drove_wire *w = drove__transport_wire(t);
    double ours[MOST_TIMES], theirs[MOST_TIMES], ratio[MOST_TIMES];
    for (int i = 0; i < n_times; i++) {
        meet();
        double begun = now_s();
        sum(in, out, n, 0, false);
        ours[i] = longest(now_s() - begun);
        meet();
        begun = now_s();
        w->ops->all_reduce((drove_wire *)(uintptr_t)w, in, out, n);
        theirs[i] = longest(now_s() - begun);
        ratio[i] = ours[i] / theirs[i];
    }
    const double median_s = median(ours, n_times), worst_s = ours[n_times - 1]; /* sorted now */
    if (rank != 0) return;
    printf("{\"bench\": \"mpi_all_reduce\", \"library\": \"%s\", \"ranks\": %u, \"bytes\": %zu, "
           "\"ours_ms\": %.3f, \"ours_worst_ms\": %.3f, \"library_ms\": %.3f, \"ratio\": %.2f}\n",
           w->library, w->n_ranks, n * sizeof *in, median_s * 1e3, worst_s * 1e3,
           median(theirs, n_times) * 1e3, median(ratio, n_times));
    fflush(stdout);
}

static unsigned long calibrate(double seconds)
{
    unsigned long n = 1000;
    for (;;) {
        double begun = now_s();
        compute(n, false);
        double took = now_s() - begun;
        if (took > 0.02) return (unsigned long)((double)n * seconds / took) + 1;
        n *= 2;
    }
}

static void overlap(const float *in, float *out, size_t n, bool on_device)
{
    double alone[MOST_TIMES], computing[MOST_TIMES], both[MOST_TIMES], cpu[MOST_TIMES];
    const int repeats = n_times / 2;
    for (int i = 0; i < repeats; i++) {
        meet();
        double begun = now_s();
        sum(in, out, n, 0, false);
        alone[i] = longest(now_s() - begun);
    }
    double e = median(alone, repeats);
    unsigned long n_turns = on_device ? (unsigned long)(1.5e9 * e) : calibrate(1.5 * e);
    for (int i = 0; i < repeats; i++) {
        meet();
        double begun = now_s(), cpu_begun = cpu_s();
        compute(n_turns, on_device);
        double cpu_compute = cpu_s() - cpu_begun;
        computing[i] = longest(now_s() - begun);
        meet();
        begun = now_s(), cpu_begun = cpu_s();
        sum(in, out, n, n_turns, on_device);
        cpu[i] = cpu_s() - cpu_begun - cpu_compute;
        both[i] = longest(now_s() - begun);
    }
    double c = median(computing, repeats), b = median(both, repeats);
    if (rank != 0) return;
    printf("{\"bench\": \"mpi_overlap\", \"library\": \"%s\", \"ranks\": %u, \"bytes\": %zu, "
           "\"work\": \"%s\", "
           "\"exchange_ms\": %.3f, \"compute_ms\": %.3f, \"both_ms\": %.3f, \"hidden\": %.3f, "
           "\"cpu\": %.3f}\n",
           drove__transport_wire(t)->library, t->n_workers, n * sizeof *in,
           on_device ? "device" : "core", e * 1e3, c * 1e3, b * 1e3, (e + c - b) / e,
           median(cpu, repeats) / e);
    fflush(stdout);
}

int main(int n_arguments, char **argument)
{
    static const char *const usual[] = {"0.5", "5", "50"};
    if (n_arguments > 2 && strcmp(argument[1], "--times") == 0) {
        n_times = atoi(argument[2]);
        if (n_times < 2 || n_times > MOST_TIMES) {
            fprintf(stderr, "--times: expected 2 to %d, found %s\n", MOST_TIMES, argument[2]);
            return 2;
        }
        n_arguments -= 2;
        argument += 2;
    }
    int n_sizes = n_arguments > 1 ? n_arguments - 1 : 3;
    if (drovek_select(&kernels, drove__cpu_features(), NULL) != DROVE_OK) return 1;
    drove_status status = drove__transport_mpi(&kernels, 60, &t);
    if (status != DROVE_OK) {
        fprintf(stderr, "bench_mpi_all_reduce: %s\n", drove_error_text());
        return 2;
    }
    rank = drove__transport_wire(t)->rank;
    for (int i = 0; i < n_sizes; i++) {
        double megabytes = atof(n_arguments > 1 ? argument[1 + i] : usual[i]);
        size_t n = megabytes > 0 ? (size_t)(megabytes * 1e6 / sizeof(float)) : 1;
        float *in = drove__alloc(n, sizeof *in), *out = drove__alloc(n, sizeof *out);
        if (in == NULL || out == NULL) return 1;
        for (size_t j = 0; j < n; j++) in[j] = (float)(j % 1000) * 1e-3f + (float)rank;
        must(drove__messages_reserve(t, n, 1));
        sum(in, out, n, 0, false);
        compare(in, out, n);
        overlap(in, out, n, false);
        overlap(in, out, n, true);
        drove__free(in);
        drove__free(out);
    }
    t->ops->destroy(t);
    return 0;
}
