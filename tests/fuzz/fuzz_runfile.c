/* tests/fuzz/fuzz_runfile.c - run files of any content.
 *
 * Whatever is accepted can be written out option by option and read back to the same options;
 * validation of it may refuse, but not fail otherwise.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create */
#endif
#include "config/options.h"

#include "memory_file.h"

#include <string.h>

static void check_round_trip(const drove_options *options)
{
    size_t n_options;
    const drove_option_info *info = drove_options_table(&n_options);
    for (size_t i = 0; i < n_options; i++) {
        char text[DROVE_TEXT_SIZE + 64], again[DROVE_TEXT_SIZE + 64];
        if (drove_options_get(options, info[i].name, text, sizeof text) != DROVE_OK) abort();
        drove_options other = drove__options_default();
        if (drove_options_set(&other, info[i].name, text) != DROVE_OK) abort();
        if (drove_options_get(&other, info[i].name, again, sizeof again) != DROVE_OK) abort();
        if (strcmp(text, again) != 0) abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    memory_file file;
    drove_options options = drove__options_default();
    memory_file_init(&file, data, size_bytes);
    if (drove_options_load(&options, file.path) == DROVE_OK) {
        check_round_trip(&options);
        (void)drove_options_validate(&options);
    } else if (drove_error_text()[0] == '\0') {
        abort();
    }
    memory_file_fini(&file);
    return 0;
}
