/* tests/fuzz/fuzz_run.h - tiny runs whose folders the fuzzer damages: some kinds of run, each made
 * once by drove_train, and going on with one in this process.
 */
#ifndef DROVE_TESTS_FUZZ_RUN_H
#define DROVE_TESTS_FUZZ_RUN_H

#include "base/json.h"
#include "base/safetensors.h"

#include "config/options.h"
#include <drove/train.h>

#include "fuzz_folder.h"
#include "fuzz_text.h"

enum { FUZZ_FILES_MOST = 16, FUZZ_NAME_SIZE = 64, FUZZ_N_RUNS = 5 };

typedef struct fuzz_file_bytes {
    char   name[FUZZ_NAME_SIZE];
    char  *bytes; /* NULL: there is no such file */
    size_t n;
} fuzz_file_bytes;

typedef struct fuzz_run {
    const char     *setting[6][2]; /* besides those of all */
    const char     *until;         /* with which it goes on; NULL: epochs=3 */
    drove_options   options;       /* that go on with it for an epoch */
    char            folder[FUZZ_PATH_SIZE / 2];
    fuzz_file_bytes file[FUZZ_FILES_MOST]; /* as the run left them, in the order of their names */
    unsigned        n_files;
} fuzz_run;

static fuzz_run fuzz_runs[FUZZ_N_RUNS] = {
    {.setting = {{"strategy", "sequential"}, {"rule", "momentum"}, {"model", "logistic"}}},
    {.setting =
         {{"strategy", "easgd-sync3"}, {"threads", "2"}, {"precision", "C8s"}, {"model", "mlp:3"}}},
    {.setting = {{"strategy", "hogwild"}, {"precision", "D8M8"}, {"model", "logistic"}}},
    {.until = "epochs=3,validation=20%",
     .setting = {{"strategy", "sequential"},
                 {"until", "epochs=2,validation=20%"},
                 {"rule", "sgd"},
                 {"schedule", "step:0.5,1"},
                 {"model", "mlp:2"}}},
    {.setting = {{"strategy", "measgd-async"}, {"threads", "2"}, {"model", "logistic"}}}};

static inline void fuzz_set(drove_options *options, const char *name, const char *value)
{
    if (drove_options_set(options, name, value) == DROVE_OK) return;
    fprintf(stderr, "%s\n", drove_error_text());
    abort();
}

static int fuzz_compare_names(const void *a, const void *b)
{
    return strcmp(((const fuzz_file_bytes *)a)->name, ((const fuzz_file_bytes *)b)->name);
}

/* What is in a folder now. */
static inline void fuzz_load_folder(const char *path, fuzz_file_bytes file[FUZZ_FILES_MOST],
                                    unsigned *n_files)
{
    DIR *folder = opendir(path);
    if (folder == NULL) abort();
    *n_files = 0;
    for (struct dirent *e; (e = readdir(folder)) != NULL;) {
        char name[FUZZ_PATH_SIZE];
        if (e->d_name[0] == '.' || *n_files == FUZZ_FILES_MOST) continue;
        snprintf(name, sizeof name, "%s/%s", path, e->d_name);
        fuzz_file_bytes *f = &file[(*n_files)++];
        snprintf(f->name, sizeof f->name, "%.63s", e->d_name);
        f->bytes = fuzz_read(name, &f->n);
    }
    closedir(folder);
    qsort(file, *n_files, sizeof *file, fuzz_compare_names);
}

static inline void fuzz_free_files(fuzz_file_bytes *file, unsigned n_files)
{
    for (unsigned i = 0; i < n_files; i++) free(file[i].bytes);
}

static inline const fuzz_file_bytes *fuzz_find_file(const fuzz_file_bytes *file, unsigned n_files,
                                                    const char *name)
{
    for (unsigned i = 0; i < n_files; i++) {
        if (strcmp(file[i].name, name) == 0) return &file[i];
    }
    return NULL;
}

static inline void fuzz_make_run(fuzz_run *run)
{
    static const char *const all[][2] = {{"data", "synth:logistic?n=24&d=3"},
                                         {"defaults", "classic"},
                                         {"test", "split"},
                                         {"threads", "1"},
                                         {"lr", "0.1"},
                                         {"batch", "4"},
                                         {"loaders", "0"},
                                         {"metrics", "none"},
                                         {"isa", "ref"},
                                         {"bind", "none"},
                                         {"save_every", "eval"},
                                         {"until", "epochs=2"}};
    drove_options            options = drove__options_default();
    drove_result            *result;
    const unsigned           number = (unsigned)(run - fuzz_runs);
    snprintf(run->folder, sizeof run->folder, "%s/run%u", fuzz_folder(), number);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) fuzz_set(&options, all[i][0], all[i][1]);
    for (size_t i = 0; i < 6 && run->setting[i][0] != NULL; i++)
        fuzz_set(&options, run->setting[i][0], run->setting[i][1]);
    fuzz_set(&options, "out", run->folder);
    if (drove_train(&options, NULL, &result) != DROVE_OK) {
        fprintf(stderr, "run %u: %s\n", number, drove_error_text());
        abort();
    }
    drove_result_destroy(result);
    fuzz_load_folder(run->folder, run->file, &run->n_files);
    run->options = drove__options_default();
    if (drove_options_resume(&run->options, run->folder) != DROVE_OK) abort();
    fuzz_set(&run->options, "until", run->until != NULL ? run->until : "epochs=3");
}

/* A run of this kind, made at the first call.  hwloc is given a machine, since it takes most of the
 * time to look at this one. */
static inline fuzz_run *fuzz_run_of(unsigned kind)
{
    fuzz_run *run = &fuzz_runs[kind % FUZZ_N_RUNS];
    setenv("HWLOC_SYNTHETIC", "core:2 pu:1", 1);
    if (run->folder[0] == '\0') fuzz_make_run(run);
    return run;
}

/* The folder as the run left it. */
static inline void fuzz_restore_run(const fuzz_run *run)
{
    fuzz_folder_clear(run->folder, false);
    for (unsigned i = 0; i < run->n_files; i++) {
        char path[FUZZ_PATH_SIZE];
        snprintf(path, sizeof path, "%s/%.63s", run->folder, run->file[i].name);
        fuzz_write(path, run->file[i].bytes, run->file[i].n);
    }
}

/* The state that a run leaves can be read, and its summary is JSON. */
static inline void fuzz_check_end(const fuzz_run *run, const drove_result *result)
{
    char              path[FUZZ_PATH_SIZE];
    drove_safetensors st;
    json_error_t      error;
    json_t           *summary;
    const char       *text = drove_result_json(result);
    if (drove__json_parse(text, strlen(text), JSON_REJECT_DUPLICATES, &error, &summary) != DROVE_OK)
        abort();
    json_decref(summary);
    snprintf(path, sizeof path, "%s/state.safetensors", run->folder);
    if (access(path, F_OK) != 0) return; /* nothing was done, and there was none but the other */
    if (drove__safetensors_load(path, &st) != DROVE_OK && drove_result_exit(result) == 0) abort();
    drove__safetensors_fini(&st);
}

/* Goes on; a failure is checked.  *exit_status: of a run that ended by itself. */
static inline drove_status fuzz_go_on(const fuzz_run *run, const drove_options *options,
                                      int *exit_status)
{
    drove_result      *result;
    const drove_status status = drove_train(options, NULL, &result);
    if (status != DROVE_OK) {
        if (result != NULL) abort();
        fuzz_check_refusal(status);
        return status;
    }
    *exit_status = drove_result_exit(result);
    if (*exit_status != 0 && *exit_status != 3 && *exit_status != 4) abort();
    fuzz_check_end(run, result);
    drove_result_destroy(result);
    return DROVE_OK;
}

#endif
