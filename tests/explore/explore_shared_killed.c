/* Exchanges in shared memory when a process is killed, anywhere (src/cluster/shared.c and its
 * parts, as threads): the controlling one takes leave of it; the others have whole sums, of all or
 * of all but it, as they are told; a message is whole or fails; the centre is free again; nobody
 * waits for ever. */
#include "explorer.h"

#include "cluster/shared_state.h"

#include <stdlib.h>
#include <string.h>

/* Calls that can be left out, one at a time. */
#define drove__shared_inherit(s, lost)                                                             \
    (explore_leaves_out() ? (void)0 : drove__shared_inherit(s, lost))
#define drove__shared_release_centre(s, lost)                                                      \
    (explore_leaves_out() ? (void)0 : drove__shared_release_centre(s, lost))
#include "cluster/shared.c"

enum { FLOATS = 2, MOST = 3 };

static struct {
    drovek_table kernels;
    drove_transport *t;
    unsigned n_exchanges, killed;
    bool is_dead;  /* plain: the parent's */
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

static void blend(float *to, const float *x, const float *y, size_t n, float a, float b)
{
    for (size_t i = 0; i < n; i++) to[i] = a * x[i] + (y != NULL ? b * y[i] : 0.0f);
}

static float given(unsigned worker, unsigned number)
{
    return (float)(10 * number + worker);
}

static void reduce(unsigned worker, unsigned number)
{
    float *in = malloc(2 * FLOATS * sizeof *in), *out = in + FLOATS, expected = 0.0f;
    drove_exchange_info info = {0};
    const drove_exchange x = {.kind = DROVE_ALL_REDUCE, .in = in, .out = out, .n = FLOATS};
    for (unsigned i = 0; i < FLOATS; i++) in[i] = given(worker, number);
    explore_check(run.t->ops->start(run.t, worker, &x) == DROVE_OK, "started");
    explore_check(run.t->ops->finish(run.t, worker, 0, &info) == DROVE_OK, "finished");
    bool is_whole = info.n_present == run.t->n_workers;
    explore_check(is_whole || info.n_present + 1 == run.t->n_workers, "one at most is missing");
    for (unsigned w = 0; w < run.t->n_workers; w++)
        if (is_whole || w != run.killed) expected += given(w, number);
    for (unsigned i = 0; i < FLOATS; i++) explore_check(out[i] == expected, "the sum of those");
    for (unsigned i = 0; i < FLOATS; i++) in[i] = out[i] = -1.0f; /* nobody reads it any more */
}

static void pass_on(unsigned worker, unsigned number)
{
    float *v = malloc(FLOATS * sizeof *v);
    for (unsigned i = 0; i < FLOATS; i++) v[i] = worker == 0 ? (float)number : -1.0f;
    const drove_exchange x = {.kind = worker == 0 ? DROVE_SEND : DROVE_RECEIVE,
                              .peer = 1 - worker,
                              .in = v,
                              .out = v,
                              .n = FLOATS};
    explore_check(run.t->ops->start(run.t, worker, &x) == DROVE_OK, "started");
    bool is_passed = run.t->ops->finish(run.t, worker, 0, NULL) == DROVE_OK;
    float expected = worker == 0 || is_passed ? (float)number : -1.0f;
    for (unsigned i = 0; i < FLOATS; i++) explore_check(v[i] == expected, "the message, or none");
}

static void serve(void *context, unsigned worker, float *message, size_t n, float *number)
{
    (void)context, (void)worker, (void)number;
    for (size_t i = 0; i < n; i++) message[i] = run.centre[i] += message[i];
}

static void call(unsigned worker, unsigned number)
{
    float *v = malloc(FLOATS * sizeof *v);
    (void)number;
    for (unsigned i = 0; i < FLOATS; i++) v[i] = 1.0f;
    const drove_exchange x = {.kind = DROVE_RPC, .in = v, .out = v, .n = FLOATS};
    explore_check(run.t->ops->start(run.t, worker, &x) == DROVE_OK, "served");
    explore_check(run.t->ops->finish(run.t, worker, 0, NULL) == DROVE_OK, "finished");
}

static void work(void *argument)
{
    for (unsigned i = 0; i < run.n_exchanges; i++)
        run.exchange((unsigned)(uintptr_t)argument, i + 1);
}

/* `killed` may be killed; the controlling thread sees its end, as by waitpid. */
static void exchanges(unsigned n_workers, unsigned n_exchanges, unsigned killed,
                      void (*exchange)(unsigned worker, unsigned number))
{
    memset(&run, 0, sizeof run);
    run.kernels = (drovek_table){.copy_f32 = copy, .add_f32 = add, .blend_f32 = blend};
    explore_check(drove__transport_shared(n_workers, true, FLOATS, &run.kernels, NULL, NULL,
                                          &run.t) == DROVE_OK,
                  "made");
    run.n_exchanges = n_exchanges;
    run.killed = killed;
    run.exchange = exchange;
    run.centre = calloc(FLOATS, sizeof *run.centre);
    const drove_centre centre = {.vector = run.centre, .serve = serve, .is_exclusive = true};
    run.t->ops->host(run.t, &centre, FLOATS);
    for (unsigned w = 0; w < n_workers; w++) explore_spawn(work, (void *)(uintptr_t)w);
    explore_may_die((int)killed + 1);
    explore_join((int)killed + 1);
    run.is_dead = explore_is_dead((int)killed + 1);
    if (run.is_dead) run.t->ops->leave(run.t, killed, true);
    explore_join_all();
    unsigned n_calls = exchange == call ? n_workers * n_exchanges : 0;
    for (unsigned i = 0; i < FLOATS && exchange == call; i++) {
        bool is_whole = run.centre[i] == (float)n_calls;
        bool lacks_one = run.is_dead && run.centre[i] == (float)(n_calls - n_exchanges);
        explore_check(is_whole || lacks_one, "each call once, but for the killed one's");
    }
}

static void sum_of_two(void)
{
    exchanges(2, 1, 0, reduce);
}
static void second_sum(void)
{
    exchanges(2, 2, 0, reduce);
}
static void sum_of_three(void)
{
    exchanges(3, 1, 1, reduce);
}
static void sender(void)
{
    exchanges(2, 1, 0, pass_on);
}
static void receiver(void)
{
    exchanges(2, 1, 1, pass_on);
}
static void caller(void)
{
    exchanges(2, 1, 0, call);
}
static void caller_of_three(void)
{
    exchanges(3, 1, 0, call);
}

static const explore_survivor survivors[] = {
    {"*: not seq_cst", "the default order, stronger than this needs"},
    {"*: no acquire", "the default order, stronger than this needs"},
    {"*: no release", "the default order, stronger than this needs"},
    {"*: no wake-up", "who sleeps looks again after 20 ms; explore_shared has no time"},
    {"drove__shared_wake: not atomic", "of two that wake at once: the word changes all the same"},
    {"leave: not atomic", "the controlling process alone takes leave"},
    {"drove__shared_release_centre: not atomic", "who might change it is dead"},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    const explore_scenario scenarios[] = {
        {.name = "a sum of two, one killed",
         .run = sum_of_two,
         .n_kills = 1,
         .needs_time = true,
         .n_samples = 1000},
        {.name = "two sums of two, one killed",
         .run = second_sum,
         .n_kills = 1,
         .needs_time = true,
         .n_samples = 1000},
        {.name = "a sum of three, one killed",
         .run = sum_of_three,
         .n_kills = 1,
         .needs_time = true,
         .n_samples = 1000},
        {.name = "the sender of a message killed",
         .run = sender,
         .n_kills = 1,
         .needs_time = true,
         .n_samples = 1000},
        {.name = "the receiver of a message killed",
         .run = receiver,
         .n_kills = 1,
         .needs_time = true,
         .n_samples = 1000},
        {.name = "the caller of an RPC killed",
         .run = caller,
         .n_kills = 1,
         .needs_time = true,
         .n_samples = 1000},
        {.name = "three RPCs, one killed",
         .run = caller_of_three,
         .n_kills = 1,
         .needs_time = true,
         .n_samples = 1000},
        {.name = "a sum of two, one killed, one stop",
         .run = sum_of_two,
         .n_kills = 1,
         .needs_time = true,
         .n_preemptions = 1,
         .is_undisturbed = true,
         .is_long = true},
        {.name = "the sender of a message killed, one stop",
         .run = sender,
         .n_kills = 1,
         .needs_time = true,
         .n_preemptions = 1,
         .is_undisturbed = true,
         .is_long = true},
        {.name = "the receiver of a message killed, one stop",
         .run = receiver,
         .n_kills = 1,
         .needs_time = true,
         .n_preemptions = 1,
         .is_undisturbed = true,
         .is_long = true},
        {.name = "the caller of an RPC killed, one stop",
         .run = caller,
         .n_kills = 1,
         .needs_time = true,
         .n_preemptions = 1,
         .is_undisturbed = true,
         .is_long = true},
        {.name = NULL},
    };
    return explore_main(argc, argv, scenarios, survivors);
}
