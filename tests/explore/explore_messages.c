/* Messages between ranks (src/cluster/messages.c, progress.c, rounds.c, flow.c, rpc.c): ranks are
 * threads over mailboxes, each with its progress thread.  Sums and messages are whole, an RPC has
 * the centre to itself, a rank that stops ends all waits, with its text. */
#include "explorer.h"

#include "cluster/mailbox.h"
#include "cluster/messages.h"

#include <stdlib.h>
#include <string.h>

enum { N = 2, RANKS = 2 };

static struct {
    drovek_table kernels;
    drove_wire *wire[RANKS];
    drove_transport *t[RANKS];
    unsigned n_exchanges, callers; /* bit r: rank r makes an RPC */
    float *centre;                 /* plain: the holder's */
    void (*exchange)(unsigned rank, unsigned number);
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

static void finish(unsigned rank, const drove_exchange *x, bool tests)
{
    drove_transport *t = run.t[rank];
    explore_check(t->ops->start(t, rank, x) == DROVE_OK, "started");
    for (unsigned i = 0; tests && i < 3 && !t->ops->test(t, rank, x->channel); i++) continue;
    explore_check(t->ops->finish(t, rank, x->channel, NULL) == DROVE_OK, "finished");
}

static void reduce(unsigned rank, unsigned number)
{
    float *in = malloc(2 * N * sizeof *in), *out = in + N;
    for (unsigned i = 0; i < N; i++) in[i] = (float)(10 * number + rank);
    const drove_exchange x = {.kind = DROVE_ALL_REDUCE, .in = in, .out = out, .n = N};
    finish(rank, &x, number % 2 == 0);
    for (unsigned i = 0; i < N; i++)
        explore_check(out[i] == (float)(20 * number + 1), "the sum of all");
    for (unsigned i = 0; i < N; i++) in[i] = out[i] = -1.0f; /* nobody reads it any more */
}

static void pass_on(unsigned rank, unsigned number)
{
    float *v = malloc(N * sizeof *v);
    for (unsigned i = 0; i < N; i++) v[i] = rank == 0 ? (float)number : -1.0f;
    const drove_exchange x = {.kind = rank == 0 ? DROVE_SEND : DROVE_RECEIVE,
                              .peer = 1 - rank,
                              .in = v,
                              .out = v,
                              .n = N};
    finish(rank, &x, false);
    for (unsigned i = 0; i < N; i++) explore_check(v[i] == (float)number, "the message");
    for (unsigned i = 0; i < N; i++) v[i] = -2.0f;
}

static void serve(void *context, unsigned worker, float *message, size_t n, float *number)
{
    (void)context, (void)worker, (void)number;
    for (size_t i = 0; i < n; i++) message[i] = run.centre[i] += message[i];
}

/* Rank 0 stays until both have been served: its transport serves. */
static void call(unsigned rank, unsigned number)
{
    float *v = malloc(N * sizeof *v);
    (void)number;
    for (unsigned i = 0; i < N; i++) v[i] = 1.0f;
    const drove_exchange x = {.kind = DROVE_RPC, .in = v, .out = v, .n = N};
    if ((run.callers >> rank & 1) != 0) {
        finish(rank, &x, false);
        for (unsigned i = 0; i < N; i++) explore_check(v[i] == 1.0f || v[i] == 2.0f, "served once");
    }
    const drove_exchange end = {.kind = DROVE_BARRIER};
    finish(rank, &end, false);
}

/* Rank 1 stops while rank 0 waits for it. */
static void stopped(unsigned rank, unsigned number)
{
    float *in = calloc(2 * N, sizeof *in);
    drove_transport *t = run.t[rank];
    const drove_exchange x = {.kind = DROVE_ALL_REDUCE, .in = in, .out = in + N, .n = N};
    (void)number;
    if (rank == 1) {
        t->ops->stop(t);
        return;
    }
    if (t->ops->start(t, rank, &x) == DROVE_OK)
        explore_check(t->ops->finish(t, rank, 0, NULL) != DROVE_OK, "no sum without the other");
    explore_check(strstr(drove_error_text(), "rank 1 on host host1 has stopped") != NULL,
                  "the reason is told");
}

static void be_rank(void *argument)
{
    for (unsigned i = 0; i < run.n_exchanges; i++)
        run.exchange((unsigned)(uintptr_t)argument, i + 1);
}

static void ranks(unsigned n_exchanges, void (*exchange)(unsigned rank, unsigned number))
{
    const drove_mailbox_options box = {.n_ranks = RANKS, .seed = 1, .n_eager = 1 << 14};
    const drove_messages_options opt = {.timeout_s = 60.0, .has_progress_thread = true};
    const drove_centre centre = {.vector = run.centre, .serve = serve, .is_exclusive = true};
    run.kernels = (drovek_table){.copy_f32 = copy, .add_f32 = add};
    run.n_exchanges = n_exchanges;
    run.exchange = exchange;
    run.centre = calloc(N, sizeof *run.centre);
    explore_check(drove__mailbox_create(&box, run.wire) == DROVE_OK, "wires");
    for (unsigned i = 0; i < RANKS; i++)
        explore_check(drove__transport_messages(run.wire[i], &run.kernels, &opt, &run.t[i]) ==
                          DROVE_OK,
                      "transports");
    if (exchange == call)
        explore_check(run.t[0]->ops->host(run.t[0], &centre, N) == DROVE_OK, "hosted");
    int other = RANKS + 1 + (exchange == call); /* behind the progress and the centre's threads */
    explore_spawn(be_rank, (void *)1);
    be_rank((void *)0);
    explore_join(other);
    for (unsigned i = 0; i < N && exchange == call; i++)
        explore_check(run.centre[i] == (run.callers == 3 ? 2.0f : 1.0f), "each call once");
    for (unsigned i = 0; i < RANKS; i++) run.t[i]->ops->destroy(run.t[i]);
}

static void two_sums(void)
{
    ranks(2, reduce);
}
static void a_message(void)
{
    ranks(1, pass_on);
}
static void two_calls(void)
{
    run.callers = 3;
    ranks(1, call);
}
static void own_call(void)
{
    run.callers = 1;
    ranks(1, call);
}
static void others_call(void)
{
    run.callers = 2;
    ranks(1, call);
}
static void one_stops(void)
{
    ranks(1, stopped);
}

static const explore_survivor survivors[] = {
    {"mailbox.c", "of the tests: one mutex"},
    {"*: not seq_cst", "the default order, stronger than this needs"},
    {"drove__messages_lock: not atomic", "a hint"},
    {"drove__messages_stopped: no acquire", "the text is copied by src/base, which is not watched"},
    {"stop_all: no release", "the text is copied by src/base, which is not watched"},
    {"drove__request_advance: no release", "finish takes the lock behind it"},
    {"finish_local: no release", "finish takes the lock behind it"},
    {"test: no acquire", "finish takes the lock behind it"},
    {"begin: no acquire", "halt_wished passes nothing on"},
    {"reply: no acquire", "halt_wished passes nothing on"},
    {"finish_local: no acquire", "halt_wished passes nothing on"},
    {"destroy: no acquire", "the other threads have ended"},
    {"forget_control: no acquire", "the other threads have ended"},
    {"drop_requests: no acquire", "the other threads have ended"},
    {"start: no wake-up", "the progress thread looks again in time"},
    {"drove__progress_end: no wake-up", "the progress thread looks again in time"},
    {"drove__messages_wait: no wake-up", "the progress thread looks again in time"},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    const explore_scenario scenarios[] = {
        {.name = "two ranks, two sums", .run = two_sums, .n_samples = 50, .needs_time = true},
        {.name = "two ranks, a message", .run = a_message, .n_samples = 50, .needs_time = true},
        {.name = "two ranks, an RPC each", .run = two_calls, .n_samples = 50, .needs_time = true},
        {.name = "an RPC of rank 0", .run = own_call, .n_samples = 50, .needs_time = true},
        {.name = "an RPC of rank 1", .run = others_call, .n_samples = 50, .needs_time = true},
        {.name = "a rank stops", .run = one_stops, .n_samples = 50, .needs_time = true},
        {.name = "two ranks, two sums, more",
         .run = two_sums,
         .n_samples = 3000,
         .needs_time = true,
         .is_long = true},
        {.name = "two ranks, an RPC each, more",
         .run = two_calls,
         .n_samples = 3000,
         .needs_time = true,
         .is_long = true},
        {.name = NULL},
    };
    return explore_main(argc, argv, scenarios, survivors);
}
