/* tests/fuzz/fuzz_run_json.c - run.json as --resume finds it: options that are accepted are written
 * out and read back alike, and name the folder; a record of a model search is whole or left out.
 */
#include "config/chosen.h"
#include "config/options.h"
#include "train/search.h"

#include "fuzz_folder.h"
#include "fuzz_text.h"

#include <math.h>

static void check_options(const drove_options *options)
{
    size_t n;
    const drove_option_info *info = drove_options_table(&n);
    for (size_t i = 0; i < n; i++) {
        char text[DROVE_TEXT_SIZE + 64], again[DROVE_TEXT_SIZE + 64];
        drove_options other = drove__options_default();
        if (drove_options_get(options, info[i].name, text, sizeof text) != DROVE_OK) abort();
        if (drove_options_set(&other, info[i].name, text) != DROVE_OK) abort();
        if (drove_options_get(&other, info[i].name, again, sizeof again) != DROVE_OK) abort();
        if (strcmp(text, again) != 0) abort();
    }
    if (strcmp(options->resume, fuzz_folder()) != 0 || strcmp(options->out, fuzz_folder()) != 0)
        abort();
    if (strcmp(options->data_changed, "no") != 0) abort();
    (void)drove_options_validate(options);
}

static void check_search(void)
{
    drove_config config;
    drove_search search;
    drove_choice choice = {0};
    const drove_callbacks nobody = {0};
    if (!fuzz_is_ok(drove__config_init(NULL, &config))) return;
    drove__choice_add(&choice, "resume", DROVE_FROM_CALLER, "%s", fuzz_folder());
    if (drove__config_choose(&config, &choice) != DROVE_OK) abort();
    const bool is_ok = fuzz_is_ok(drove__search_load(&config, &nobody, &search, &choice));
    drove__config_fini(&config);
    if (!is_ok || choice.search == NULL) return;
    const drove_search *s = &search;
    if (s->n == 0 || s->n > DROVE_MOST_CANDIDATES || s->chosen >= s->n || s->n_held > s->n_rows)
        abort();
    for (unsigned i = 0; i < s->n; i++) {
        if (memchr(s->candidate[i].name, '\0', sizeof s->candidate[i].name) == NULL) abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    char path[FUZZ_PATH_SIZE];
    drove_options options = drove__options_default(), before = options;
    snprintf(path, sizeof path, "%s/run.json", fuzz_folder());
    fuzz_write(path, data, size_bytes);
    if (fuzz_is_ok(drove_options_resume(&options, fuzz_folder()))) check_options(&options);
    else if (memcmp(&options, &before, sizeof options) != 0) abort();
    check_search();
    return 0;
}
