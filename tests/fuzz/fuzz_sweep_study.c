/* tests/fuzz/fuzz_sweep_study.c - studies for `drove sweep`: of one that is accepted, every setting
 * is values that their options take, every run has one of its settings and seeds, and reading it
 * again gives the same document.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create */
#endif
#include "study/expand.h"
#include "config/options.h"
#include "study/journal.h"

#include "fuzz_text.h"
#include "memory_file.h"

enum { LOOKED_AT = 16 };

static void check_setting(const json_t *setting)
{
    const char *name;
    json_t *value;
    char text[64];
    json_object_foreach((json_t *)setting, name, value)
    {
        drove_options options = drove__options_default();
        if (drove_options_set(&options, name, json_string_value(value)) != DROVE_OK) abort();
    }
    drove__sweep_text(setting, text, sizeof text);
    if (text[0] == '\0') abort();
}

static void check(const drove_sweep_study *study)
{
    drove_sweep_runs runs;
    if (!fuzz_is_ok(drove__sweep_expand(study, &runs))) return;
    const size_t n = drove__sweep_count(&runs);
    if (n == 0 || n > DROVE_SWEEP_MOST_RUNS) abort();
    for (size_t i = 0; i < n && i < LOOKED_AT; i++) {
        size_t setting;
        uint64_t seed;
        drove__sweep_run_at(&runs, n - 1 - i, &setting, &seed);
        if (setting >= runs.n_settings) abort();
        check_setting(json_array_get(runs.settings, setting));
    }
    drove__sweep_runs_fini(&runs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    memory_file file;
    drove_sweep_study study, again;
    char text[256];
    memory_file_init(&file, data, size_bytes);
    if (fuzz_is_ok(drove__sweep_study_load(file.path, &study))) {
        if (drove__sweep_study_load(file.path, &again) != DROVE_OK) abort();
        if (!json_equal(study.document, again.document)) abort();
        json_object_del(again.document, "repeat");
        drove__study_difference(study.document, again.document, text, sizeof text);
        if (strncmp(text, "repeat: expected ", 17) != 0) abort();
        check(&study);
        drove__sweep_study_fini(&again);
        drove__sweep_study_fini(&study);
    }
    memory_file_fini(&file);
    return 0;
}
