/* Exchanges in shared memory (src/cluster/shared.c, shared_chunks.c, shared_rpc.c, shared_wait.c):
 * sums and messages are whole, an RPC has the centre to itself, who sleeps is woken. */
#include "explorer.h"

#include "cluster/transport.h"

#include <stdlib.h>

enum { N = 2, MOST_WORKERS = 3 };

drove_status drove__transport_shared(unsigned n_workers, bool is_procs, size_t n_most,
                                     const drovek_table *kernels, const drove_topo *topo,
                                     const drove_place *place, drove_transport **out);

static struct {
    drovek_table kernels;
    drove_transport *t;
    unsigned n_exchanges;
    float *centre; /* plain: the holder's */
    void (*exchange)(unsigned worker, unsigned number);
} run;

static void copy(float *to, const float *from, size_t n)
{
    for (size_t i = 0; i < n; i++) to[i] = from[i];
}

static void add(float *to, const float *x, const float *y, size_t n, float a, bool streams)
{
    (void)streams;
    for (size_t i = 0; i < n; i++) to[i] = a * (x[i] + y[i]);
}

static void finish(unsigned worker, const drove_exchange *x)
{
    drove_exchange_info info = {0};
    explore_check(run.t->ops->start(run.t, worker, x) == DROVE_OK, "started");
    explore_check(run.t->ops->finish(run.t, worker, x->channel, &info) == DROVE_OK, "finished");
}

static void reduce(unsigned worker, unsigned number)
{
    float *in = malloc(2 * N * sizeof *in), *out = in + N, expected = 0.0f;
    for (unsigned i = 0; i < N; i++) in[i] = (float)(10 * number + worker);
    const drove_exchange x = {.kind = DROVE_ALL_REDUCE, .in = in, .out = out, .n = N};
    finish(worker, &x);
    for (unsigned w = 0; w < run.t->n_workers; w++) expected += (float)(10 * number + w);
    for (unsigned i = 0; i < N; i++) explore_check(out[i] == expected, "the sum of all");
    for (unsigned i = 0; i < N; i++) in[i] = out[i] = -1.0f; /* nobody reads it any more */
}

static void pass_on(unsigned worker, unsigned number)
{
    float *v = malloc(N * sizeof *v);
    for (unsigned i = 0; i < N; i++) v[i] = worker == 0 ? (float)number : -1.0f;
    const drove_exchange x = {.kind = worker == 0 ? DROVE_SEND : DROVE_RECEIVE,
                              .peer = 1 - worker,
                              .in = v,
                              .out = v,
                              .n = N};
    finish(worker, &x);
    for (unsigned i = 0; i < N; i++) explore_check(v[i] == (float)number, "the message");
    for (unsigned i = 0; i < N; i++) v[i] = -2.0f;
}

static void serve(void *context, unsigned worker, float *message, size_t n, float *number)
{
    (void)context, (void)worker, (void)number;
    for (size_t i = 0; i < n; i++) message[i] = run.centre[i] += message[i];
}

static void call(unsigned worker, unsigned number)
{
    float *v = malloc(N * sizeof *v);
    (void)worker, (void)number;
    for (unsigned i = 0; i < N; i++) v[i] = 1.0f;
    const drove_exchange x = {.kind = DROVE_RPC, .in = v, .out = v, .n = N};
    finish(worker, &x);
}

static void work(void *argument)
{
    for (unsigned i = 0; i < run.n_exchanges; i++)
        run.exchange((unsigned)(uintptr_t)argument, i + 1);
}

static void stopped(unsigned worker, unsigned number);

static void stop(void *unused)
{
    (void)unused;
    run.t->ops->stop(run.t);
}

static void exchanges(unsigned n_workers, unsigned n_exchanges,
                      void (*exchange)(unsigned worker, unsigned number))
{
    run.kernels = (drovek_table){.copy_f32 = copy, .add_f32 = add};
    explore_check(drove__transport_shared(n_workers, false, N, &run.kernels, NULL, NULL, &run.t) ==
                      DROVE_OK,
                  "made");
    run.n_exchanges = n_exchanges;
    run.exchange = exchange;
    run.centre = calloc(N, sizeof *run.centre);
    const drove_centre centre = {.vector = run.centre, .serve = serve, .is_exclusive = true};
    run.t->ops->host(run.t, &centre, N);
    for (unsigned w = 0; w < n_workers; w++) explore_spawn(work, (void *)(uintptr_t)w);
    if (exchange == stopped) explore_spawn(stop, NULL);
    explore_join_all();
    for (unsigned i = 0; i < N && exchange == call; i++)
        explore_check(run.centre[i] == (float)(n_workers * n_exchanges), "each call once");
}

static void two_sum(void)
{
    exchanges(2, 1, reduce);
}

static void two_sum_often(void)
{
    exchanges(2, 2, reduce);
}

static void two_messages(void)
{
    exchanges(2, 1, pass_on);
}

static void two_calls(void)
{
    exchanges(2, 1, call);
}

/* A third thread stops the transport meanwhile: all end, with or without the sum. */
static void stopped(unsigned worker, unsigned number)
{
    float *in = calloc(2 * N, sizeof *in);
    const drove_exchange x = {.kind = DROVE_ALL_REDUCE, .in = in, .out = in + N, .n = N};
    (void)number;
    if (run.t->ops->start(run.t, worker, &x) != DROVE_OK) return;
    (void)run.t->ops->finish(run.t, worker, 0, NULL);
}

static void two_stopped(void)
{
    exchanges(2, 1, stopped);
}

static void three_sum(void)
{
    exchanges(3, 1, reduce);
}

static const explore_survivor survivors[] = {
    {"*: not seq_cst", "the default order, stronger than this needs"},
    {"*: no acquire", "the default order, stronger than this needs"},
    {"*: no release", "the default order, stronger than this needs"},
    {"drove__shared_wake: not atomic", "of two that wake at once: the word changes all the same"},
    {"drove__shared_fail: not atomic", "of two failures at once either is kept"},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    const explore_scenario scenarios[] = {
        {.name = "two workers, a sum", .run = two_sum, .n_preemptions = 1},
        {.name = "two workers, a message", .run = two_messages, .n_preemptions = 1},
        {.name = "two workers, an RPC each", .run = two_calls, .n_preemptions = 1},
        {.name = "two workers, two sums", .run = two_sum_often, .n_samples = 1000},
        {.name = "two workers, stopped", .run = two_stopped, .n_samples = 1000},
        {.name = "three workers, a sum", .run = three_sum, .n_samples = 1000},
        {.name = "two workers, two sums, one stop",
         .run = two_sum_often,
         .n_preemptions = 1,
         .is_long = true},
        {.name = "two workers, stopped, one stop",
         .run = two_stopped,
         .n_preemptions = 1,
         .is_long = true},
        {.name = NULL},
    };
    return explore_main(argc, argv, scenarios, survivors);
}
