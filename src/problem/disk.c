/* problem/disk.c - see disk.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "problem/disk.h"

#include "base/available.h"
#include "base/cache_folder.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/spec.h"
#include "data/fingerprint.h"
#include "data/open/formats.h"
#include "data/open/pieces.h"
#include "data/common.h"
#include "data/disk/rows_file.h"
#include "data/scale.h"
#include "problem/specs.h"
#include "values/say.h"
#include "problem/size.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const double PART_IN_MEMORY = 0.6;     /* data that take more of the memory stay on disk */
static const double RESERVE_BYTES = 32 << 20; /* stacks, messages, libraries loaded later */
static const double PIECES_IN_MEMORY = 24.0;
static const double LEAST_PIECE = 64 << 10, MOST_PIECE = 64 << 20;
static const double BLOCKS_IN_MEMORY = 512.0, MOST_BLOCKS = 50000.0;
static const double LEAST_BLOCK = 4 << 10, MOST_BLOCK = 8 << 20;
enum { READER = 1 };
static const size_t MOST_TEST_ROWS = 50000;

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
                       "--%s %s: expected %s, as the training data stay on disk (--memory, "
                       "?window)",
                       option, value, expected);
}

static drove_status check_options(const drove_config *config, const drove_workers *workers,
                                  bool is_quantised)
{
    char text[DROVE_TEXT_SIZE];
    const drove_plan *plan = &workers->plan;
    if (plan->host == DROVE_HOST_RANKS)
        return refuse("strategy", plan->spec, "the workers of one process, not ranks");
    if (plan->host == DROVE_HOST_PROCS)
        return refuse("workers", config->machine.workers, "threads");
    if (plan->source->counts_rows)
        return refuse("strategy", plan->spec, "one whose workers take batches themselves");
    if (config->exchange.owns_shard) return refuse("shard", "own", "whole");
    if (config->problem.features[0] != '\0')
        return refuse("features", config->problem.features, "none");
    if (config->machine.partition != 0)
        return refuse("partition", drove__config_text(config, "partition", text), "none");
    if (config->low.is_low && !is_quantised)
        return refuse("precision", config->low.precision,
                      "data quantised before (drove data convert)");
    if (config->method.order == DROVE_CHOICE_RANDOM)
        return refuse("order", "random", "shuffle or blocks");
    return DROVE_OK;
}

/* Held-out rows of data on disk are blocks, drawn by the seed. */
static drove_status check_split(const char *data)
{
    drove_spec spec;
    drove_common_options common;
    DROVE_TRY(drove__spec_parse(data, &spec));
    const drove_status status = drove__common_read(&spec, &common);
    const bool is_drawn = status != DROVE_OK || common.split.by == DROVE_SPLIT_DRAWN;
    drove__spec_fini(&spec);
    if (status != DROVE_OK || is_drawn) return status;
    return drove__fail(DROVE_E_ARG,
                       "--data %.200s: expected no split=last or split=group, as the training data "
                       "stay on disk (--memory, ?window) and blocks of them are held out",
                       data);
}

/* ---- text, through a file of rows in the cache ---- */

typedef struct cache {
    char path[PATH_MAX];
    char source[DROVE_SPEC_SIZE + 512]; /* what it is made from: spec, file, size, time ... */
    size_t block_bytes;
    const drove_storage *like; /* as which rows of a table are read; NULL: as they say */
} cache;

/* A power of two, so that nearly the same memory finds the same cache. */
static size_t round_down(double bytes, double least, double most)
{
    return (size_t)exp2(floor(log2(fmin(fmax(bytes, least), most))));
}

static size_t piece_bytes(double memory)
{
    return round_down(memory / PIECES_IN_MEMORY, LEAST_PIECE, MOST_PIECE);
}

/* Not too many: each takes up to 110 bytes of memory to describe, while the file is opened. */
static size_t block_bytes(double memory, double text_bytes)
{
    double block = fmax(memory / BLOCKS_IN_MEMORY, text_bytes / MOST_BLOCKS);
    return round_down(block, LEAST_BLOCK, MOST_BLOCK);
}

/* True if the file is the one that this cache would be. */
static bool is_cached(const cache *c)
{
    drove_blocks *b;
    char spec[PATH_MAX + 8];
    drove__spec_of_path("rows", c->path, spec, sizeof spec);
    if (access(c->path, R_OK) != 0 || drove__blocks_open(spec, &b) != DROVE_OK) return false;
    bool is_same = strcmp(drove__rows_source(b), c->source) == 0;
    drove__blocks_close(b);
    return is_same;
}

/* n_bytes: about so many. */
static drove_status write_cache(const char *data, const cache *c, double memory, double n_bytes,
                                const drove_callbacks *cb)
{
    uint64_t n_removed;
    const uint64_t begun_ns = drove__now_ns();
    const drove_pieces_options opt = {.piece_bytes = piece_bytes(memory),
                                      .block_bytes = c->block_bytes,
                                      .source = c->source,
                                      .like = c->like};
    (void)unlink(c->path);
    /* PATH.tmp.PROCESS.N of processes that were ended while they wrote. */
    char folder[PATH_MAX], prefix[NAME_MAX + 1];
    const char *name = strrchr(c->path, '/') + 1;
    snprintf(folder, sizeof folder, "%.*s", (int)(name - c->path), c->path);
    snprintf(prefix, sizeof prefix, "%s.tmp.", name);
    DIR *all = opendir(folder);
    for (struct dirent *e; all != NULL && (e = readdir(all)) != NULL;) {
        if (strncmp(e->d_name, prefix, strlen(prefix)) != 0) continue;
        long process = strtol(e->d_name + strlen(prefix), NULL, 10);
        if (process > 0 && kill((pid_t)process, 0) != 0 && errno == ESRCH)
            (void)unlinkat(dirfd(all), e->d_name, 0);
    }
    if (all != NULL) closedir(all);
    DROVE_TRY(drove__cache_room((uint64_t)fmin(n_bytes, 9e18), &n_removed));
    drove__run_say(cb,
                   "data: larger than the memory: about %.3g GB written to %s first, which later "
                   "runs use (drove cache lists and clears them)",
                   n_bytes * 1e-9, c->path);
    if (n_removed > 0)
        drove__run_say(cb, "data: %.3g GB of older files removed from the cache for it",
                       (double)n_removed * 1e-9);
    DROVE_TRY(drove__pieces_write(data, c->path, &opt));
    (void)malloc_trim(0); /* so that what was needed for it counts no more */
    drove__run_say(cb, "data: written in %.1f s", (double)(drove__now_ns() - begun_ns) * 1e-9);
    return DROVE_OK;
}

/* The scaling is that of the data's own format. */
static drove_status spec_of_cache(const char *data, const cache *c, char *into, size_t size)
{
    drove_spec spec;
    const drove_format_ops *format;
    DROVE_TRY(drove__spec_parse(data, &spec));
    drove_status status = drove__format_find(&spec, &format);
    if (status == DROVE_OK) {
        drove_common_options common;
        status = drove__common_read(&spec, &common);
        drove__spec_of_path("rows", c->path, into, size);
        size_t n = strlen(into);
        if (status == DROVE_OK) {
            if (common.scale == DROVE_N_SCALINGS) common.scale = format->default_scaling;
            snprintf(into + n, size - n, "?scale=%s", drove__scaling_name(common.scale));
        }
    }
    drove__spec_fini(&spec);
    return status;
}

/* The data's spec in full where they are text whose rows are larger than the memory, else NULL; the
 * caller frees it.  *bytes: of the rows, about. */
static drove_status find_text(const char *data, double memory, char **out, double *bytes)
{
    *out = NULL;
    DROVE_TRY(drove__data_expand(data, out));
    if (drove__pieces_can(*out, PART_IN_MEMORY * memory, bytes) && *bytes > PART_IN_MEMORY * memory)
        return DROVE_OK;
    free(*out);
    *out = NULL;
    return DROVE_OK;
}

/* A cache of another file, or of a file that has changed, has another name; so has one whose rows
 * are made for a model, from its columns and classes. */
static drove_status find_cache(const drove_config *config, const char *text, double memory,
                               cache *c)
{
    char folder[PATH_MAX - 64], asked[DROVE_TEXT_SIZE];
    struct stat file = {0}; /* of generated data: no file */
    drove_spec spec;
    uint64_t names;
    DROVE_TRY(drove__spec_parse(text, &spec));
    if (spec.n_args > 0) (void)stat(spec.arg[0], &file);
    drove__spec_fini(&spec);
    if (!drove__cache_folder(folder, sizeof folder))
        return drove__fail(DROVE_E_FILE,
                           "--memory %s: expected a folder for a file of rows, "
                           "$XDG_CACHE_HOME/drove or ~/.cache/drove, found none that can be "
                           "written (drove data convert DATA rows:FILE writes them elsewhere)",
                           drove__config_text(config, "memory", asked));
    c->block_bytes = block_bytes(memory, (double)file.st_size);
    /* READER: another number where a change of the readers changes what a text means */
    int n =
        snprintf(c->source, sizeof c->source, "%d %s %llu:%llu %lld %lld.%09ld %lld.%09ld %zu %zu",
                 READER, text, (unsigned long long)file.st_dev, (unsigned long long)file.st_ino,
                 (long long)file.st_size, (long long)file.st_mtim.tv_sec, file.st_mtim.tv_nsec,
                 (long long)file.st_ctim.tv_sec, file.st_ctim.tv_nsec, piece_bytes(memory),
                 c->block_bytes);
    if (c->like != NULL && n > 0 && (size_t)n < sizeof c->source) {
        DROVE_TRY(drove__data_fingerprint_names(c->like, &names));
        snprintf(c->source + n, sizeof c->source - (size_t)n, " like %016llx",
                 (unsigned long long)names);
    }
    snprintf(c->path, sizeof c->path, "%s/%016llx.rows", folder,
             (unsigned long long)drove__hash(0, c->source, strlen(c->source)));
    return DROVE_OK;
}

/* Text whose rows are larger than the memory becomes rows in the cache, and the spec theirs. */
static drove_status use_cache(const drove_config *config, const drove_workers *workers,
                              const drove_storage *like, char *data, size_t size, double memory,
                              const drove_callbacks *cb)
{
    char *text;
    cache *c = calloc(1, sizeof *c);
    if (c == NULL) return drove__fail_nomem("a name", sizeof *c);
    c->like = like;
    double bytes;
    drove_status status = find_text(data, memory, &text, &bytes);
    if (text == NULL) goto fail; /* they are not, or not known to be */
    if ((status = find_cache(config, text, memory, c)) != DROVE_OK) goto fail;
    if ((status = check_options(config, workers, false)) != DROVE_OK) goto fail;
    if ((status = check_split(text)) != DROVE_OK) goto fail;
    if (!is_cached(c) && (status = write_cache(text, c, memory, bytes, cb)) != DROVE_OK) goto fail;
    status = spec_of_cache(text, c, data, size);
fail:
    free(text);
    free(c);
    return status;
}

/* Quantised rows are not scaled again, also where they are kept as floats. */
static void leave_unscaled(char *data)
{
    static const char automatic[] = "scale=auto", none[] = "scale=none";
    char *keys = strchr(data, '?'), *at = keys != NULL ? strstr(keys, automatic) : NULL;
    if (at != NULL) memcpy(at, none, strlen(none));
}

/* ---- opening ---- */

/* NULL: the data fit into memory, or are no file that is read by blocks.  *window: ?window=, the
 * bytes of both windows, which asks for that whatever the memory; else 0. */
static drove_status open_blocks(const drove_config *config, char *data, double memory,
                                drove_blocks **out, uint64_t *window)
{
    drove_spec spec = {0};
    char *text;
    *out = NULL;
    *window = 0;
    DROVE_TRY(drove__data_expand(data, &text));
    drove_status status = drove__spec_parse(text, &spec);
    bool can = false;
    if (status == DROVE_OK) status = drove__blocks_can(&spec, &can);
    drove_blocks_options asked = {.window = 0};
    if (can) status = drove__spec_take(&spec, drove__blocks_keys, &asked);
    *window = asked.window;
    drove__spec_fini(&spec);
    if (can && status == DROVE_OK) status = drove__blocks_open(text, out);
    free(text);
    if (*out == NULL) return status;
    if (!config->low.is_low) status = drove__blocks_prefer_floats(*out);
    const drove_blocks *b = *out;
    const double stored = b->first_stored != NULL ? (double)b->first_stored[b->n_blocks] : 0.0;
    const double labels = b->first_label != NULL ? (double)b->first_label[b->n_blocks] : 0.0;
    const double bytes_in_memory = drove__blocks_bytes(b, (double)b->n_rows, stored, labels);
    if (status == DROVE_OK && (*window > 0 || bytes_in_memory > PART_IN_MEMORY * memory)) {
        if (b->shape->quant != NULL) leave_unscaled(data);
        return DROVE_OK;
    }
    drove__blocks_close(*out);
    *out = NULL;
    return status;
}

static size_t count_held(const drove_config *config, bool splits)
{
    size_t n = splits ? MOST_TEST_ROWS : 0;
    bool judges = config->is_tuned || config->length.until.validation > 0.0;
    return n + (judges ? DROVE_MOST_VALIDATION_ROWS : 0);
}

drove_status drove__disk_open(const drove_config *config, drove_problem *problem,
                              const drove_workers *workers, const drove_storage *like, char *data,
                              size_t size, const char *test, const drove_callbacks *cb)
{
    drove_blocks *blocks;
    const double memory = drove__run_memory(config);
    DROVE_TRY(use_cache(config, workers, like, data, size, memory, cb));
    DROVE_TRY(open_blocks(config, data, memory, &blocks, &problem->window_bytes));
    if (blocks == NULL) return DROVE_OK;
    drove_status status = check_split(data);
    if (status == DROVE_OK)
        status = check_options(config, workers, blocks->shape->x_kind == DROVE_X_QUANT);
    if (status != DROVE_OK) {
        drove__blocks_close(blocks);
        return status;
    }
    const drove_stream_options opt = {.blocks = blocks,
                                      .seed = config->seed,
                                      .memory = (uint64_t)memory,
                                      .held_rows = count_held(config, strcmp(test, "split") == 0),
                                      .clock = &drove__clock_real};
    DROVE_TRY(drove__stream_open(&opt, &problem->stream));
    const bool splits = strcmp(test, "split") == 0;
    drove_data *held = drove__stream_take_held(problem->stream);
    problem->train = drove__stream_take_sample(problem->stream);
    status =
        drove__data_finish_open(data, test, config->seed, problem->train, held, &problem->test);
    if (problem->test != held) problem->kept = held;
    /* The test data of "split" are all that is held out, unless a part of that is to judge by. */
    const size_t n_judging = splits ? count_held(config, false) : 0;
    if (status == DROVE_OK && n_judging > 0 && problem->test->n_rows >= 2) {
        const size_t half = problem->test->n_rows / 2;
        status = drove__data_hold_out(problem->test, half < n_judging ? half : n_judging,
                                      config->seed, &problem->kept);
    }
    problem->n_train_whole = (size_t)drove__stream_rows(problem->stream);
    return status;
}

/* Some blocks of a file that is read by blocks; *out NULL: the data fit into memory. */
static drove_status sample_blocks(const drove_config *config, char *data, drove_data **out)
{
    drove_blocks *blocks;
    uint64_t window;
    *out = NULL;
    DROVE_TRY(open_blocks(config, data, drove__run_memory(config), &blocks, &window));
    if (blocks == NULL) return DROVE_OK;
    const drove_stream_options stream = {.blocks = blocks,
                                         .seed = config->seed,
                                         .memory = (uint64_t)drove__run_memory(config),
                                         .clock = &drove__clock_real};
    drove_stream *s;
    DROVE_TRY(drove__stream_open(&stream, &s));
    *out = drove__stream_take_sample(s);
    drove__stream_destroy(s);
    return DROVE_OK;
}

drove_status drove__disk_read_some(const drove_config *config, drove_data **out)
{
    char data[DROVE_SPEC_SIZE], test[DROVE_SPEC_WITH_LABEL_SIZE], *text;
    double bytes;
    drove_data *none;
    *out = NULL;
    DROVE_TRY(drove__problem_specs(config, data, test));
    DROVE_TRY(find_text(data, drove__run_memory(config), &text, &bytes));
    drove_status status = text != NULL ? check_split(text) : DROVE_OK;
    if (status != DROVE_OK) {
        free(text);
        return status;
    }
    status = text != NULL ? drove__pieces_sample(text, piece_bytes(drove__run_memory(config)), out)
                          : sample_blocks(config, data, out);
    if (status == DROVE_OK && *out != NULL)
        status = drove__data_finish_open(text != NULL ? text : data, "", config->seed, *out, NULL,
                                         &none);
    free(text);
    if (status == DROVE_OK) return DROVE_OK;
    drove_data_destroy(*out);
    *out = NULL;
    return status;
}

size_t drove__disk_held_rows(const drove_problem *problem)
{
    return problem->kept != NULL ? problem->kept->n_rows : 0;
}

/* ---- the windows ---- */

drove_status drove__disk_begin(const drove_config *config, const drove_problem *problem,
                               const drove_workers *workers, const drove_callbacks *cb)
{
    drove_stream_facts facts;
    if (problem->stream == NULL) return DROVE_OK;
    double need;
    DROVE_TRY(drove__run_need_bytes(config, problem, workers, &need));
    double left = drove__run_memory(config) - resident_bytes() - need - RESERVE_BYTES;
    if (problem->window_bytes > 0) left = (double)problem->window_bytes;
    const double mib = 1 << 20, least = drove__stream_least_bytes(problem->stream);
    if (left < least) {
        if (problem->window_bytes > 0)
            return drove__fail(DROVE_E_ARG,
                               "?window=%llu: expected at least %.0f bytes, two blocks",
                               (unsigned long long)problem->window_bytes, ceil(least));
        char asked[DROVE_TEXT_SIZE];
        const double other = drove__run_memory(config) - left;
        return drove__fail(DROVE_E_ARG,
                           "--memory %s: expected at least %.0f MiB: %.0f MiB for the program, the "
                           "model and samples, %.3g MiB for two blocks of the data; found %.0f MiB",
                           drove__config_text(config, "memory", asked), ceil((other + least) / mib),
                           other / mib, least / mib, drove__run_memory(config) / mib);
    }
    const drove_stream_start start = {.like = problem->train,
                                      .memory = left,
                                      .target_shift = problem->target_shift,
                                      .target_scale = problem->target_scale};
    DROVE_TRY(drove__stream_begin(problem->stream, &start));
    workers->loop->data.stream = problem->stream;
    workers->loop->data.train = drove__stream_data(problem->stream);
    drove__stream_facts(problem->stream, &facts);
    drove__run_say(cb,
                   "data: read from disk while they are trained on: %llu blocks, %llu window%s an "
                   "epoch, %.3g MiB of memory for two windows",
                   (unsigned long long)facts.n_blocks, (unsigned long long)facts.n_windows,
                   facts.n_windows == 1 ? "" : "s", facts.window_bytes / (1 << 20));
    /* Fewer examples than --until validation asks for may be held out. */
    const drove_until *u = &config->length.until;
    const size_t n = problem->validation != NULL ? problem->validation->n_rows : 0;
    double wanted = u->validation_is_part ? round(u->validation * (double)problem->n_train_whole)
                                          : u->validation;
    if (n > 0 && wanted > (double)n)
        drove__run_say(cb,
                       "data: --until validation has %zu examples, not %.0f: no more of data on "
                       "disk are held out for it (at most %d)",
                       n, wanted, DROVE_MOST_VALIDATION_ROWS);
    return DROVE_OK;
}

drove_status drove__disk_order(const drove_problem *problem, const drove_workers *workers)
{
    if (problem->stream == NULL) return DROVE_OK;
    const drove_windows *w = drove__stream_windows(problem->stream);
    drove__order_read_windows(&workers->loop->order, w);
    /* Workers that wait for each other must not be three windows apart. */
    const uint64_t batch = workers->loop->order.batch,
                   least = 2 * (uint64_t)workers->plan.n_workers;
    const uint64_t n = drove__windows_rows(w, 0) / batch;
    if (n < least)
        return drove__fail(DROVE_E_ARG,
                           "--memory: expected windows of at least %llu batches of %llu examples, "
                           "two for each worker, found room for %llu (more memory, a larger "
                           "?window=, or a smaller --batch)",
                           (unsigned long long)least, (unsigned long long)batch,
                           (unsigned long long)n);
    return DROVE_OK;
}
