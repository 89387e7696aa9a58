/* bench/micro/record.c - what writing down one step of a recorded run costs (trace/recording.h).
 *
 *     bench_record [FILE]      FILE [record.rec] is written, some 40 MB, and removed
 *
 * Each of 1, 2 and 4 threads writes down a million steps like those of Leashed-SGD, into the file;
 * ns of processor time a step, the median of nine passes, and bytes.  Compare with the time of a
 * step: a gradient of one example takes some microseconds, of a batch some tens.
 */
#include "base/mem.h"
#include "base/rng.h"
#include "trace/recording.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { STEPS = 1000000, PASSES = 9, MOST_THREADS = 4 };

typedef struct job {
    drove_recording *r;
    unsigned worker, n_workers;
    double ns; /* a step */
} job;

static double processor_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void *work(void *argument)
{
    job *j = argument;
    drove_rng rng;
    drove__rng_seed(&rng, 1, 0, j->worker);
    drove_recorded s = {.lr_factor = 1.0, .n_steps = 1, .is_updated = true};
    double begin_ns = processor_ns();
    for (uint64_t i = 0; i < STEPS; i++) {
        s.number += 1 + (i & (j->n_workers - 1));
        s.read = s.view_order = i * j->n_workers;
        s.staleness = i % (2 * j->n_workers);
        s.order = s.read + s.staleness;
        drove__recording_step(j->r, j->worker, &s);
    }
    j->ns = (processor_ns() - begin_ns) / STEPS;
    return NULL;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Mean ns of the threads. */
static double pass(const char *path, unsigned n, double *bytes)
{
    drove_recording *r;
    drove_recorded_mark mark = {0};
    pthread_t thread[MOST_THREADS];
    job all[MOST_THREADS];
    double sum = 0.0;
    if (drove__recording_create(path, "{}", n, &r) != DROVE_OK) {
        fprintf(stderr, "bench_record: %s\n", drove_error_text());
        exit(1);
    }
    for (unsigned w = 0; w < n; w++) {
        all[w] = (job){.r = r, .worker = w, .n_workers = n};
        if (pthread_create(&thread[w], NULL, work, &all[w]) != 0) exit(1);
    }
    for (unsigned w = 0; w < n; w++) {
        pthread_join(thread[w], NULL);
        sum += all[w].ns;
    }
    if (drove__recording_mark(r, &mark) != DROVE_OK) exit(1);
    *bytes = (double)drove__recording_bytes(r) / (double)mark.n_steps;
    drove__recording_close(r);
    return sum / n;
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "record.rec";
    for (unsigned n = 1; n <= MOST_THREADS; n *= 2) {
        double ns[PASSES], bytes;
        for (int i = 0; i < PASSES; i++) ns[i] = pass(path, n, &bytes);
        qsort(ns, PASSES, sizeof *ns, by_size);
        printf("%u thread%s: %.1f ns a step (%.1f to %.1f), %.2f bytes\n", n, n == 1 ? "" : "s",
               ns[PASSES / 2], ns[0], ns[PASSES - 1], bytes);
    }
    unlink(path);
    return 0;
}
