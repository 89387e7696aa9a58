/* bench/micro/strategies.c - what publishing one step costs in each strategy, alone and with two
 * workers.
 *
 * usage: bench_strategies [NAME...]: rows of the registry, by default all; always hogwild.
 *
 * Every worker takes views and publishes a dense gradient of the thesis's MLP (134,912 floats with
 * the gaps of its layout) by plain SGD.  Its "gradient" is a copy of the view: it reads all
 * parameters and writes a whole gradient, as a backward pass does, where the strategy wants it, but
 * in the shortest time: the hardest contention there is.
 * Per variant the means of acquire and publish over all steps of one round: the fastest of REPEATS
 * for one worker, the median for two, whose best round is one in which they hardly met.  The
 * variants take turns within a round, so that what else the machine does hits all alike.  `ratio`
 * is the publication's time over that of `hogwild` in the same place: the update in place.
 * JSON lines.
 */
#include "base/clock.h"
#include "base/cpu.h"
#include "base/topo.h"
#include "config/registry.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_PARAMS = 134912, STEPS = 300, WARM_UP = 30, REPEATS = 25, MOST_WORKERS = 2 };

enum { MOST_RESULTS = 128 };

typedef struct round_result { /* times in nanoseconds a step */
    double acquire, publish, retries, dropped;
} round_result;

typedef struct result {
    const drove_sync_ops *ops;
    const char *variant;
    round_result round[REPEATS];
} result;

typedef struct bench {
    drovek_table kernels;
    drove_optim *optim;
    drove_topo *topo;
    drove_place place[MOST_WORKERS];
    float *gradient[MOST_WORKERS];
} bench;

typedef struct worker {
    const bench *b;
    drove_sync *s;
    unsigned index;
    pthread_barrier_t *start;
    pthread_t thread;
    uint64_t acquire_ns, publish_ns, retries, dropped;
} worker;

static void die(void)
{
    fprintf(stderr, "%s\n", drove_error_text());
    exit(1);
}

static void *work(void *argument)
{
    worker *w = argument;
    drove_sync *s = w->s;
    float *mine = w->b->gradient[w->index];
    (void)drove__topo_bind_self(w->b->topo, &w->b->place[w->index]);
    pthread_barrier_wait(w->start);
    for (unsigned i = 0; i < WARM_UP + STEPS; i++) {
        drove_view view;
        drove_publish_info info;
        uint64_t t0 = drove__now_ns();
        if (s->ops->acquire(s, w->index, &view) != DROVE_OK) die();
        uint64_t t1 = drove__now_ns();
        float *lent = s->ops->gradient != NULL ? s->ops->gradient(s, w->index) : NULL;
        drove_step step = {.value = lent != NULL ? lent : mine, .eta = 1e-3f};
        w->b->kernels.copy_f32(lent != NULL ? lent : mine, view.vector, N_PARAMS);
        drove__sync_release(s, w->index);
        uint64_t t2 = drove__now_ns();
        if (s->ops->publish(s, w->index, &step, &info) != DROVE_OK) die();
        uint64_t t3 = drove__now_ns();
        if (i < WARM_UP) continue;
        w->acquire_ns += t1 - t0;
        w->publish_ns += t3 - t2;
        w->retries += info.attempts - 1;
        w->dropped += info.dropped;
    }
    return NULL;
}

static void run_round(const bench *b, unsigned n_workers, float *theta0, result *of, unsigned round)
{
    drove_spec spec;
    drove_sync *s = NULL;
    worker workers[MOST_WORKERS];
    pthread_barrier_t start;
    round_result now = {0};
    if (drove__spec_parse(of->variant, &spec) != DROVE_OK) die();
    drove_sync_options opt = {
        .spec = &spec,
        .n_workers = n_workers,
        .optim = b->optim,
        .topo = b->topo,
        .place = b->place,
    };
    if (drove__sync_create(of->ops, &opt, &(drove_params){.theta = theta0}, &s) != DROVE_OK) die();
    pthread_barrier_init(&start, NULL, n_workers);
    for (unsigned i = 0; i < n_workers; i++) {
        workers[i] = (worker){.b = b, .s = s, .index = i, .start = &start};
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0) exit(1);
    }
    double n_steps = (double)STEPS * n_workers;
    for (unsigned i = 0; i < n_workers; i++) {
        pthread_join(workers[i].thread, NULL);
        now.acquire += (double)workers[i].acquire_ns / n_steps;
        now.publish += (double)workers[i].publish_ns / n_steps;
        now.retries += (double)workers[i].retries / n_steps;
        now.dropped += (double)workers[i].dropped / n_steps;
    }
    pthread_barrier_destroy(&start);
    drove__sync_destroy(s);
    drove__spec_fini(&spec);
    of->round[round] = now;
}

/* One whose steps go straight into the parameters has no publication of its own. */
static bool publishes(const bench *b, const drove_sync_ops *ops, const char *variant, float *theta0)
{
    drove_spec spec;
    drove_sync *s = NULL;
    if (drove__spec_parse(variant, &spec) != DROVE_OK) die();
    drove_sync_options opt = {.spec = &spec, .n_workers = 1, .optim = b->optim};
    if (drove__sync_create(ops, &opt, &(drove_params){.theta = theta0}, &s) != DROVE_OK) die();
    bool has_publish = (s->needs & DROVE_SYNC_LIVE) == 0;
    drove__sync_destroy(s);
    drove__spec_fini(&spec);
    return has_publish;
}

static bool is_wanted(const drove_sync_ops *ops, char **wanted)
{
    if (*wanted == NULL || strcmp(ops->name, "hogwild") == 0) return true;
    while (*wanted != NULL && strcmp(*wanted, ops->name) != 0) wanted++;
    return *wanted != NULL;
}

/* Every variant of the rows wanted[], which ends with NULL, as far as there is room. */
static size_t list_variants(const bench *b, unsigned n_workers, float *theta0, char **wanted,
                            result *out)
{
    size_t n = 0;
    for (const drove_sync_ops *const *row = drove__strategies; *row != NULL; row++) {
        if (((*row)->needs & DROVE_SYNC_ONE) != 0 && n_workers != 1) continue;
        if (!is_wanted(*row, wanted)) continue;
        for (const char *const *v = (*row)->variants; *v != NULL && n < MOST_RESULTS; v++)
            if (publishes(b, *row, *v, theta0)) out[n++] = (result){.ops = *row, .variant = *v};
    }
    return n;
}

/* The time of the update in place, to compare with. */
static double time_of(const result *results, size_t n, const char *variant, unsigned round)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(results[i].variant, variant) == 0) return results[i].round[round].publish;
    return 0.0;
}

static int by_publish(const void *a, const void *b)
{
    double x = ((const round_result *)a)->publish, y = ((const round_result *)b)->publish;
    return (x > y) - (x < y);
}

static void print(const bench *b, unsigned n_workers, const result *of, double hogwild)
{
    const round_result *r = &of->round[n_workers == 1 ? 0 : REPEATS / 2];
    printf("{\"bench\": \"strategies\", \"isa\": \"%s\", \"n\": %d, \"workers\": %u, "
           "\"strategy\": \"%s\", \"acquire_us\": %.2f, \"publish_us\": %.2f, \"ratio\": %.3f, "
           "\"retries\": %.4f, \"dropped\": %.4f}\n",
           b->kernels.isa, N_PARAMS, n_workers, of->variant, r->acquire / 1e3, r->publish / 1e3,
           r->publish / hogwild, r->retries, r->dropped);
}

int main(int argc, char **argv)
{
    (void)argc;
    bench b = {0};
    drove_optim_options opt = {
        .rule = "sgd",
        .schedule = "constant",
        .lr = 1.0,
        .n_params = N_PARAMS,
        .n_workers = MOST_WORKERS,
        .kernels = &b.kernels,
    };
    if (drovek_select(&b.kernels, drove__cpu_features(), NULL) != DROVE_OK) die();
    if (drove__topo_create(NULL, &b.topo) != DROVE_OK) die();
    if (drove__optim_create(&opt, &b.optim) != DROVE_OK) die();
    drove__topo_place(b.topo, DROVE_BIND_COMPACT, MOST_WORKERS, b.place);
    float *theta0 = drove__alloc(N_PARAMS, sizeof *theta0);
    for (unsigned i = 0; i < MOST_WORKERS; i++)
        b.gradient[i] = drove__alloc(N_PARAMS, sizeof(float));
    if (theta0 == NULL || b.gradient[0] == NULL || b.gradient[1] == NULL) return 1;

    for (unsigned n_workers = 1; n_workers <= MOST_WORKERS; n_workers++) {
        static result results[MOST_RESULTS];
        size_t n = list_variants(&b, n_workers, theta0, argv + 1, results);
        for (unsigned round = 0; round < REPEATS; round++)
            for (size_t i = 0; i < n; i++) run_round(&b, n_workers, theta0, &results[i], round);
        for (size_t i = 0; i < n; i++)
            qsort(results[i].round, REPEATS, sizeof results[i].round[0], by_publish);
        double hogwild = time_of(results, n, "hogwild", n_workers == 1 ? 0 : REPEATS / 2);
        for (size_t i = 0; i < n; i++) print(&b, n_workers, &results[i], hogwild);
    }
    for (unsigned i = 0; i < MOST_WORKERS; i++) drove__free(b.gradient[i]);
    drove__free(theta0);
    drove__optim_destroy(b.optim);
    drove__topo_destroy(b.topo);
    return 0;
}
