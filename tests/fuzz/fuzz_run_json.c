/* tests/fuzz/fuzz_run_json.c - run.json as --resume finds it: options that are accepted are written
 * out and read back alike, and name the folder.
 */
#include "config/options.h"

#include "fuzz_folder.h"
#include "fuzz_text.h"

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    char path[FUZZ_PATH_SIZE];
    drove_options options = drove__options_default(), before = options;
    snprintf(path, sizeof path, "%s/run.json", fuzz_folder());
    fuzz_write(path, data, size_bytes);
    if (fuzz_is_ok(drove_options_resume(&options, fuzz_folder()))) check_options(&options);
    else if (memcmp(&options, &before, sizeof options) != 0) abort();
    return 0;
}
