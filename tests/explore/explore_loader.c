/* Batches that are loaded ahead (src/loop/loader.c): what is taken was loaded, once, by whoever
 * came first; a slot has one owner at a time. */
#include "explorer.h"

#include "base/clock.h"
#include "engine/gather.h"
#include "loop/loader.h"

#include <stdlib.h>

enum { MOST_BATCHES = 8 };

static struct {
    drove_loader *l;
    drove_data data;
    drovek_table kernels;
    unsigned *n_loaded; /* [batches] plain: by who loads */
} run;

/* In the place of src/engine/gather.c, src/stream and src/loop/order.c: loading copies a number. */
drove_status drove__gather_init(drove_gather *g, const drovek_table *kernels,
                                const drove_data *data, size_t max_rows, size_t n_features,
                                bool with_x)
{
    (void)g, (void)kernels, (void)data, (void)max_rows, (void)n_features, (void)with_x;
    return DROVE_OK;
}

void drove__gather_fini(drove_gather *g)
{
    (void)g;
}

drove_status drove__gather_load(drove_gather *g, const drove_batch *batch, bool is_training,
                                float *into, drove_input *in)
{
    (void)g, (void)is_training, (void)into, (void)in;
    run.n_loaded[batch->number]++;
    explore_check(batch->row[0] == batch->number, "the rows that were asked for");
    return DROVE_OK;
}

void drove__gather_mix(drove_gather *g, const drove_batch *batch, drove_input *in,
                       drove_target *target)
{
    (void)g, (void)batch, (void)in, (void)target;
}

void drove__targets_load(drove_targets *t, const drove_data *data, const uint32_t *order,
                         const uint32_t *row, size_t n_rows, drove_target *out)
{
    (void)t, (void)data, (void)order, (void)row, (void)n_rows, (void)out;
}

void drovek_thread_init(void)
{
}

drove_status drove__stream_wait(drove_stream *s, uint64_t window)
{
    (void)s, (void)window;
    return DROVE_OK;
}

uint64_t drove__order_window(const drove_order *o, uint64_t number)
{
    (void)o;
    return number;
}

static void ask(unsigned worker, uint64_t number)
{
    uint32_t *row = drove__loader_rows(run.l, worker);
    explore_check(row != NULL, "there is room");
    row[0] = (uint32_t)number;
    drove__loader_ask(run.l, worker, number, 1);
}

typedef struct consumer {
    unsigned worker;
    uint64_t first, n;
} consumer;

static void consume(void *argument)
{
    const consumer *c = argument;
    explore_check(drove__loader_join(run.l, c->worker) == DROVE_OK, "joined");
    ask(c->worker, c->first);
    for (uint64_t i = c->first; i < c->first + c->n; i++) {
        drove_batch batch;
        drove_load_times times;
        drove_status status = DROVE_OK;
        if (i + 1 < c->first + c->n) ask(c->worker, i + 1);
        explore_check(drove__loader_take(run.l, c->worker, &batch, &times, &status), "it comes");
        explore_check(batch.number == i && run.n_loaded[i] == 1, "the next batch, loaded once");
        drove__loader_done(run.l, c->worker);
    }
}

static void load(unsigned n_workers, unsigned n_threads, unsigned n_batches)
{
    static consumer each[2];
    const drove_loader_options opt = {.data = &run.data,
                                      .kernels = &run.kernels,
                                      .max_rows = 1,
                                      .n_workers = n_workers,
                                      .n_threads = n_threads,
                                      .clock = &drove__clock_real};
    run.n_loaded = calloc(MOST_BATCHES, sizeof *run.n_loaded);
    run.data.storage = calloc(1, sizeof *run.data.storage);
    explore_check(drove__loader_create(&opt, &run.l) == DROVE_OK, "made");
    for (unsigned w = 1; w < n_workers; w++) {
        each[w] = (consumer){.worker = w, .first = w * n_batches, .n = n_batches};
        explore_spawn(consume, &each[w]);
    }
    each[0] = (consumer){.worker = 0, .n = n_batches};
    consume(&each[0]);
    if (n_workers == 1) drove__loader_destroy(run.l);
}

static void one_and_one(void)
{
    load(1, 1, 3);
}

static void one_and_two(void)
{
    load(1, 2, 2);
}

static const explore_survivor survivors[] = {
    {"drove__loader_ask: no wake-up", "the worker loads the batch itself when it comes for it"},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    const explore_scenario scenarios[] = {
        {.name = "one worker, one loader, three batches", .run = one_and_one},
        {.name = "one worker, two loaders, two batches", .run = one_and_two, .n_preemptions = 2},
        {.name = NULL},
    };
    return explore_main(argc, argv, scenarios, survivors);
}
