/* Slices between processes (src/cluster/slices.c, with collect.c and sum.c): each process adds its
 * own gradients, its exchange's thread the sums of all.  A slice has one owner at a time, each mean
 * is of all workers and of this iteration, nobody waits for ever.  The transport is the scenario's,
 * a mutex and a condition variable: shared memory has explore_shared.  Each slice is a bucket, and
 * its first number alone is looked at. */
#include "explorer.h"

#include "accum/collect.h"
#include "cluster/slices.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

enum { PROCESSES = 2, MOST_PARTS = 2, EACH = DROVE_SLICES_LEAST };

static struct {
    drovek_table kernels;
    drove_collector *c[PROCESSES];
    unsigned n_devices[PROCESSES], n_all, n_parts, n_iterations;
} run;

/* ---- the transport: an exchange of a channel begins when both have started it ---- */

typedef struct channel {
    float *vector[PROCESSES]; /* in place */
    size_t n;
    unsigned n_started[PROCESSES], n_summed;
} channel;

static struct wire {
    pthread_mutex_t lock; /* protects all below */
    pthread_cond_t changed;
    channel channel[DROVE_CHANNELS];
} * wire;

static drove_status start(drove_transport *t, unsigned worker, const drove_exchange *x)
{
    channel *c = &wire->channel[x->channel];
    (void)t;
    pthread_mutex_lock(&wire->lock);
    c->vector[worker] = x->out;
    c->n = x->n;
    c->n_started[worker]++;
    pthread_cond_broadcast(&wire->changed);
    pthread_mutex_unlock(&wire->lock);
    return DROVE_OK;
}

static drove_status finish(drove_transport *t, unsigned worker, unsigned number,
                           drove_exchange_info *info)
{
    channel *c = &wire->channel[number];
    (void)t, (void)info;
    pthread_mutex_lock(&wire->lock);
    while (c->n_started[1 - worker] < c->n_started[worker])
        pthread_cond_wait(&wire->changed, &wire->lock);
    if (c->n_summed < c->n_started[worker]) {
        for (size_t i = 0; i < c->n; i += c->n < EACH ? 1 : EACH)
            c->vector[0][i] = c->vector[1][i] = c->vector[0][i] + c->vector[1][i];
        c->n_summed++;
    }
    pthread_mutex_unlock(&wire->lock);
    return DROVE_OK;
}

static void stop(drove_transport *t)
{
    (void)t;
}

static const drove_transport_ops wire_ops = {
    .name = "wire", .start = start, .finish = finish, .stop = stop};
static drove_transport transport = {.ops = &wire_ops, .n_workers = PROCESSES};

/* ---- kernels ---- */

static void add(float *to, const float *x, const float *y, size_t n, float a, bool streams)
{
    (void)streams;
    for (size_t i = 0; i < n; i += EACH) to[i] = a * (x[i] + y[i]);
}

static void blend(float *to, const float *x, const float *y, size_t n, float a, float b)
{
    for (size_t i = 0; i < n; i += EACH) to[i] = a * x[i] + (y != NULL ? b * y[i] : 0.0f);
}

static void scale(float *y, size_t n, float a)
{
    for (size_t i = 0; i < n; i += EACH) y[i] *= a;
}

/* In the place of src/kernel. */
void drovek_thread_init(void)
{
}

/* ---- devices ---- */

static float gradient_of(unsigned device, unsigned iteration, unsigned part)
{
    return (float)(8 * (iteration + 1) * (device + 1) + part);
}

/* Device `device` of all. */
static void train(unsigned process, unsigned here, unsigned device)
{
    float *g = calloc(run.n_parts * EACH, sizeof *g);
    for (unsigned k = 0; k < run.n_iterations; k++) {
        float *mean, eta;
        drove_collect_times times;
        for (unsigned p = run.n_parts; p-- > 0;) { /* as backward does */
            g[p * EACH] = gradient_of(device, k, p);
            (void)drove__collect_arrive(run.c[process], here, p, g, (float)(device + 1), true);
        }
        explore_check(drove__collect_finish(run.c[process], here, &mean, &eta, &times), "finished");
        for (unsigned p = 0; p < run.n_parts; p++) {
            float wanted = 0.0f;
            for (unsigned d = 0; d < run.n_all; d++) wanted += gradient_of(d, k, p);
            explore_check(fabsf(mean[p * EACH] - wanted / (float)run.n_all) < 1e-4f,
                          "the mean of this iteration");
        }
        explore_check(fabsf(eta - (float)(run.n_all + 1) / 2.0f) < 1e-5f, "the mean step size");
    }
}

static void second_process(void *unused)
{
    (void)unused;
    train(1, 0, run.n_devices[0]);
}

static void second_device(void *unused)
{
    (void)unused;
    train(0, 1, 1);
}

static void processes(unsigned n_first, unsigned n_parts, unsigned n_iterations)
{
    drove_span part[MOST_PARTS];
    for (unsigned p = 0; p < n_parts; p++)
        part[p] = (drove_span){.offset = p * EACH, .length = EACH};
    run.kernels = (drovek_table){.add_f32 = add, .blend_f32 = blend, .scale_f32 = scale};
    run.n_devices[0] = n_first;
    run.n_devices[1] = 1;
    run.n_all = n_first + 1;
    run.n_parts = n_parts;
    run.n_iterations = n_iterations;
    wire = calloc(1, sizeof *wire);
    (void)pthread_mutex_init(&wire->lock, NULL);
    (void)pthread_cond_init(&wire->changed, NULL);
    for (unsigned i = 0; i < PROCESSES; i++) {
        const drove_collector_options opt = {.n_devices = run.n_devices[i],
                                             .part = part,
                                             .n_parts = n_parts,
                                             .n = n_parts * EACH,
                                             .order = DROVE_ACCUM_PAIRS,
                                             .kernels = &run.kernels,
                                             .n_all = run.n_all,
                                             .first = i == 0 ? 0 : n_first,
                                             .transport = &transport,
                                             .as = i};
        explore_check(drove__collector_create(&opt, &run.c[i]) == DROVE_OK, "made");
    }
    explore_spawn(second_process, NULL);
    if (n_first == 2) explore_spawn(second_device, NULL);
    train(0, 0, 0);
    for (unsigned i = 1; i <= n_first; i++) explore_join((int)i);
    for (unsigned i = 0; i < PROCESSES; i++) drove__collector_destroy(run.c[i]);
}

/* Without a collector: who offers waits itself. */
static void train_alone(unsigned process)
{
    static const drove_span part[] = {{0, EACH}, {EACH, EACH}};
    drove_slice_exchange *x;
    float *g = calloc(2 * EACH, sizeof *g);
    const drove_slice_exchange_options opt = {.transport = &transport,
                                              .worker = process,
                                              .n_all = PROCESSES,
                                              .part = part,
                                              .n_parts = 2,
                                              .kernels = &run.kernels};
    explore_check(drove__slices_create(&opt, &x) == DROVE_OK, "made");
    for (unsigned k = 0; k < 2; k++) {
        drove_exchange_info info = {0};
        uint64_t begun_ns, done_ns;
        for (unsigned p = 2; p-- > 0;) {
            g[p * EACH] = gradient_of(process, k, p);
            explore_check(drove__slices_offer(x, p, g, NULL) == DROVE_OK, "offered");
        }
        explore_check(drove__slices_wait(x, &info, &begun_ns, &done_ns) == DROVE_OK, "waited");
        for (unsigned p = 0; p < 2; p++) {
            float wanted = (gradient_of(0, k, p) + gradient_of(1, k, p)) / 2.0f;
            explore_check(fabsf(g[p * EACH] - wanted) < 1e-4f, "the mean of this iteration");
        }
    }
    drove__slices_destroy(x);
}

static void second_alone(void *unused)
{
    (void)unused;
    train_alone(1);
}

static void without_collectors(void)
{
    run.kernels = (drovek_table){.scale_f32 = scale};
    wire = calloc(1, sizeof *wire);
    (void)pthread_mutex_init(&wire->lock, NULL);
    (void)pthread_cond_init(&wire->changed, NULL);
    explore_spawn(second_alone, NULL);
    train_alone(0);
    explore_join(1);
}

static void one_part(void)
{
    processes(1, 1, 2);
}
static void two_parts(void)
{
    processes(1, 2, 2);
}
static void two_devices(void)
{
    processes(2, 2, 2);
}

static const explore_survivor survivors[] = {
    {"collect.c", "explore_collect plants mistakes there"},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    const explore_scenario scenarios[] = {
        {.name = "two processes, a slice, two iterations", .run = one_part, .n_samples = 3000},
        {.name = "two processes, two slices", .run = two_parts, .n_samples = 3000},
        {.name = "three devices in two processes", .run = two_devices, .n_samples = 3000},
        {.name = "two processes whose workers wait", .run = without_collectors, .n_samples = 3000},
        {.name = "two processes, a slice, two iterations, one stop",
         .run = one_part,
         .n_preemptions = 1,
         .is_undisturbed = true,
         .is_long = true},
        {.name = NULL},
    };
    return explore_main(argc, argv, scenarios, survivors);
}
