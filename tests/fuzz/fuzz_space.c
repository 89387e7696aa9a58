/* tests/fuzz/fuzz_space.c - spaces of settings for `drove tune`: every setting that is drawn from
 * one that is accepted is a value that its option takes.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create */
#endif
#include "study/space.h"
#include "config/options.h"

#include "fuzz_text.h"
#include "memory_file.h"

static void check_point(const drove_space *space, uint64_t number)
{
    drove_point point, again;
    char text[256];
    drove__space_draw(space, 1, number, &point);
    drove__space_draw(space, 1, number, &again);
    if (!drove__point_equal(&point, &again)) abort();
    for (unsigned i = 0; i < point.n_settings; i++) {
        drove_options options = drove__options_default();
        const drove_setting *s = &point.setting[i];
        if (drove_options_set(&options, s->name, s->value) != DROVE_OK) abort();
    }
    drove__point_text(&point, text, sizeof text);
    if (text[0] == '\0') abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    static const char *const fixed[] = {"batch"};
    memory_file file;
    drove_space space;
    memory_file_init(&file, data, size_bytes);
    if (fuzz_is_ok(drove__space_load(file.path, fixed, 1, &space))) {
        if (space.n_dimensions == 0 || space.n_dimensions > DROVE_MOST_DIMENSIONS) abort();
        for (uint64_t i = 0; i < 8; i++) check_point(&space, i);
    }
    memory_file_fini(&file);
    return 0;
}
