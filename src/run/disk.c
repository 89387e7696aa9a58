/* run/disk.c - see disk.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "run/disk.h"

#include "base/available.h"
#include "base/spec.h"
#include "run/choose.h"
#include "run/ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const double PART_OF_FREE = 0.8; /* of the memory, without --memory */
static const double PART_IN_MEMORY = 0.6; /* data that take more of the memory stay on disk */
static const double RESERVE_BYTES = 32 << 20; /* stacks, messages, libraries loaded later */
static const size_t MOST_TEST_ROWS = 50000;

static double memory_of(const drove_run *run)
{
    uint64_t bytes = 0;
    if (run->opt.memory[0] == '\0') return PART_OF_FREE * (double)drove__memory_available();
    (void)drove__parse_bytes("--memory", run->opt.memory, &bytes); /* validated */
    return (double)bytes;
}

/* Bytes of this process in memory now. */
static double resident_bytes(void)
{
    unsigned long total = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file == NULL) return 0;
    if (fscanf(file, "%lu %lu", &total, &resident) != 2) resident = 0;
    fclose(file);
    return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

/* ---- what needs all data in memory ---- */

static drove_status refuse(const char *option, const char *value, const char *expected)
{
    return drove__fail(DROVE_E_ARG,
                       "--%s %s: expected %s, as the training data are larger than --memory and "
                       "stay on disk",
                       option, value, expected);
}

static drove_status check_options(const drove_run *run)
{
    const drove_options *o = &run->opt;
    const drove_plan *plan = &run->plan;
    if (plan->host == DROVE_HOST_RANKS)
        return refuse("strategy", plan->spec, "the workers of one process, not ranks");
    if (plan->host == DROVE_HOST_PROCS) return refuse("workers", o->workers, "threads");
    if (plan->source->counts_rows)
        return refuse("strategy", plan->spec, "one whose workers take batches themselves");
    if (strcmp(o->shard, "own") == 0) return refuse("shard", o->shard, "whole");
    if (drove__resolve_is_low(o)) return refuse("precision", o->precision, "none");
    if (o->features[0] != '\0') return refuse("features", o->features, "none");
    if (o->partition[0] != '\0') return refuse("partition", o->partition, "none");
    if (drove__resolve_order(o) != DROVE_ORDER_SHUFFLE) return refuse("order", o->order, "shuffle");
    return DROVE_OK;
}

/* ---- opening ---- */

static drove_status is_larger(const drove_blocks *b, double memory, bool *out)
{
    double stored = b->first_stored != NULL ? (double)b->first_stored[b->n_blocks] : 0.0;
    double labels = b->first_label != NULL ? (double)b->first_label[b->n_blocks] : 0.0;
    *out = drove__blocks_bytes(b, (double)b->n_rows, stored, labels) > PART_IN_MEMORY * memory;
    return DROVE_OK;
}

/* NULL: the data fit into memory, or are no file that is read by blocks. */
static drove_status open_blocks(const char *data, double memory, drove_blocks **out)
{
    drove_spec spec;
    bool larger = false;
    *out = NULL;
    DROVE_TRY(drove__spec_parse(data, &spec));
    bool can = drove__blocks_can(&spec);
    drove__spec_fini(&spec);
    if (!can) return DROVE_OK;
    DROVE_TRY(drove__blocks_open(data, out));
    drove_status status = is_larger(*out, memory, &larger);
    if (status == DROVE_OK && larger) return DROVE_OK;
    drove__blocks_close(*out);
    *out = NULL;
    return status;
}

static size_t count_held(const drove_run *run, bool splits)
{
    size_t n = splits ? MOST_TEST_ROWS : 0;
    bool judges = run->is_tuned || strstr(run->opt.until, "validation") != NULL;
    return n + (judges ? DROVE_MOST_VALIDATION_ROWS : 0);
}

/* Of "split" the test data are all that is held out, unless a part of that is to judge by. */
static drove_status divide_held(drove_run *run, bool splits, size_t n_judging)
{
    if (!splits) {
        run->kept = NULL;
        return DROVE_OK;
    }
    if (n_judging == 0 || run->test->n_rows < 2) return DROVE_OK;
    size_t n = run->test->n_rows / 2 < n_judging ? run->test->n_rows / 2 : n_judging;
    return drove__data_hold_out(run->test, n, run->opt.seed, &run->kept);
}

static drove_status open_parts(drove_run *run, const char *data, const char *test)
{
    const bool splits = strcmp(test, "split") == 0;
    drove_data *held = drove__stream_take_held(run->stream);
    run->train = drove__stream_take_sample(run->stream);
    drove_status status =
        drove__data_finish_open(data, test, run->opt.seed, run->train, held, &run->test);
    if (run->test != held) run->kept = held;
    if (status == DROVE_OK && splits)
        status = divide_held(run, splits, count_held(run, false));
    run->n_train_whole = (size_t)drove__stream_rows(run->stream);
    return status;
}

drove_status drove__disk_open(drove_run *run, const char *data, const char *test)
{
    drove_blocks *blocks;
    const double memory = memory_of(run);
    DROVE_TRY(open_blocks(data, memory, &blocks));
    if (blocks == NULL) return DROVE_OK;
    drove_status status = check_options(run);
    if (status != DROVE_OK) {
        drove__blocks_close(blocks);
        return status;
    }
    const drove_stream_options opt = {.blocks = blocks,
                                      .seed = run->opt.seed,
                                      .memory = (uint64_t)memory,
                                      .held_rows = count_held(run, strcmp(test, "split") == 0),
                                      .clock = &drove__clock_real};
    DROVE_TRY(drove__stream_open(&opt, &run->stream));
    return open_parts(run, data, test);
}

size_t drove__disk_held_rows(const drove_run *run)
{
    return run->kept != NULL ? run->kept->n_rows : 0;
}

/* ---- the windows ---- */

drove_status drove__disk_begin(drove_run *run)
{
    drove_stream_facts facts;
    if (run->stream == NULL) return DROVE_OK;
    const double left =
        memory_of(run) - resident_bytes() - drove__run_need_bytes(run) - RESERVE_BYTES;
    const drove_stream_start start = {.like = run->train,
                                      .memory = left,
                                      .target_shift = run->target_shift,
                                      .target_scale = run->target_scale};
    DROVE_TRY(drove__stream_begin(run->stream, &start));
    run->loop->stream = run->stream;
    run->loop->train = drove__stream_data(run->stream);
    drove__stream_facts(run->stream, &facts);
    drove__run_say(run,
                   "data: read from disk while they are trained on: %llu blocks, %llu window%s an "
                   "epoch, %.0f MiB of memory for two windows",
                   (unsigned long long)facts.n_blocks, (unsigned long long)facts.n_windows,
                   facts.n_windows == 1 ? "" : "s", facts.window_bytes / (1 << 20));
    return DROVE_OK;
}

drove_status drove__disk_order(drove_run *run)
{
    if (run->stream == NULL) return DROVE_OK;
    drove__order_read_windows(&run->loop->order, drove__stream_windows(run->stream));
    return DROVE_OK;
}
