/* Windows that are read while others are trained on (src/stream/stream.c): a worker reads whole
 * rows of its window, no row is written while it is read, nobody waits for ever. */
#include "explorer.h"

#include "base/clock.h"
#include "data/disk/blocks.h"
#include "data/scale.h"
#include "data/weights.h"
#include "stream/sample.h"
#include "stream/stream.h"

#include <stdlib.h>

enum { BLOCKS = 4, BLOCK_ROWS = 1 };

static struct {
    drove_stream *s;
    uint64_t *row; /* [rows of both halves] plain: how often it was written */
    unsigned n_windows, n_workers;
} run;

/* In the place of src/stream/sample.c and src/data: the windows have no memory but `row`. */
drove_status drove__sample_read(const drove_blocks *b, const uint64_t *number, size_t n,
                                size_t most_rows, drove_data **out)
{
    (void)b, (void)number, (void)n, (void)most_rows;
    *out = NULL;
    return DROVE_OK;
}

drove_status drove__blocks_read(const drove_blocks *b, size_t block, drove_storage *into,
                                drove_place_in *to)
{
    (void)b, (void)block, (void)into;
    run.row[to->row]++;
    to->row += BLOCK_ROWS;
    return DROVE_OK;
}

void drove__blocks_expect(const drove_blocks *b, size_t block, drove_storage *into,
                          const drove_place_in *to, bool is_late)
{
    (void)b, (void)block, (void)into, (void)to, (void)is_late;
}

void drove__blocks_forget(const drove_blocks *b)
{
    (void)b;
}

drove_status drove__blocks_storage(const drove_blocks *b, size_t n_rows, uint64_t n_stored,
                                   uint64_t n_labels, drove_storage **out)
{
    (void)b, (void)n_stored, (void)n_labels;
    *out = calloc(1, sizeof **out);
    (*out)->n_rows = n_rows;
    run.row = calloc(n_rows, sizeof *run.row);
    return DROVE_OK;
}

double drove__blocks_bytes(const drove_blocks *b, double n_rows, double n_stored, double n_labels)
{
    (void)b, (void)n_stored, (void)n_labels;
    return n_rows;
}

void drove__blocks_close(drove_blocks *b)
{
    (void)b;
}

drove_status drove__scale_copy(const drove_data *from, drove_data *to)
{
    (void)from, (void)to;
    return DROVE_OK;
}

drove_status drove__weights_copy(const drove_data *from, drove_data *to)
{
    (void)from, (void)to;
    return DROVE_OK;
}

void drove_data_destroy(drove_data *data)
{
    (void)data;
}

/* Window w has one batch for each worker. */
static void train(void *argument)
{
    (void)argument;
    for (uint64_t w = 0; w < run.n_windows; w++) {
        explore_check(drove__stream_wait(run.s, w) == DROVE_OK, "the window comes");
        uint64_t first = drove__windows_row(drove__stream_windows(run.s), w, 0);
        explore_check(run.row[first] == w / 2 + 1, "the rows of this window");
        drove__stream_done(run.s, w, 1);
    }
}

static void stream(unsigned n_workers, unsigned n_windows)
{
    static drove_blocks blocks;
    static drove_data like;
    blocks = (drove_blocks){.n_rows = BLOCKS * BLOCK_ROWS * n_workers,
                            .n_blocks = BLOCKS,
                            .block_rows = BLOCK_ROWS * n_workers,
                            .row_multiple = 0};
    const drove_stream_options opt = {
        .blocks = &blocks, .seed = 1, .memory = 1000, .clock = &drove__clock_real};
    const drove_stream_start start = {.like = &like, .memory = 2 * BLOCK_ROWS * n_workers};
    run.n_windows = n_windows;
    run.n_workers = n_workers;
    explore_check(drove__stream_open(&opt, &run.s) == DROVE_OK, "opened");
    explore_check(drove__stream_begin(run.s, &start) == DROVE_OK, "begun");
    drove__stream_seek(run.s, 1, 0);
    for (unsigned i = 1; i < n_workers; i++) explore_spawn(train, NULL);
    train(NULL);
    if (n_workers == 1) drove__stream_destroy(run.s);
}

static void one_worker(void)
{
    stream(1, 4);
}

static const explore_survivor survivors[] = {
    {"*: not seq_cst", "the default order, stronger than this needs"},
    {"drove__stream_open: no release", "the default order, stronger than this needs"},
    {"drove__stream_seek: no acquire", "the default order, stronger than this needs"},
    {"drove__stream_seek: no release", "the default order, stronger than this needs"},
    {"read_next: no acquire", "the default order, stronger than this needs"},
    {"drove__stream_destroy: no acquire", "the default order, stronger than this needs"},
    {"drove__stream_destroy: no release", "the default order, stronger than this needs"},
    {"*: not atomic", "its caller holds the lock"},
    {"release: no wake-up", "a seek signals for both halves"},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    const explore_scenario scenarios[] = {
        {.name = "one worker, four windows", .run = one_worker, .n_preemptions = 2},
        {.name = NULL},
    };
    return explore_main(argc, argv, scenarios, survivors);
}
