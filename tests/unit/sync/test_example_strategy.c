/* The strategy of docs/adding-a-strategy.md: it compiles, is what the page prints, and keeps its
 * promises. */
#include "../../../docs/example_strategy.c"

#include "support/promises.h"

#include <stdlib.h>

/* ---- the page ---- */

/* Whole file under the source folder; free(). */
static char *load(const char *name)
{
    char path[1024];
    (void)snprintf(path, sizeof path, "%s/%s", DROVE_SOURCE_DIR, name);
    FILE *file = fopen(path, "rb");
    if (file == NULL) fail_msg("cannot open %s", path);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    size_t size = (size_t)ftell(file);
    rewind(file);
    char *text = calloc(size + 1, 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, size, file), size);
    (void)fclose(file);
    return text;
}

TEST(is_what_the_page_prints)
{
    char *page = load("docs/adding-a-strategy.md"), *code = load("docs/example_strategy.c");
    char *begin = strstr(page, "```c\n");
    assert_non_null(begin);
    begin += strlen("```c\n");
    char *end = strstr(begin, "```\n");
    assert_non_null(end);
    *end = '\0';
    assert_string_equal(begin, code);
    free(page);
    free(code);
}

/* ---- its promises ---- */

TEST(keeps_its_promises)
{
    promise_sequential(&drove__sync_spin, "spin");
    promise_repeatable(&drove__sync_spin, "spin");
    promise_restored(&drove__sync_spin, "spin");
    promise_no_loss(&drove__sync_spin, "spin");
    promise_snapshot(&drove__sync_spin, "spin");
    promise_lock_free(&drove__sync_spin, "spin");
}

TEST(refuses_what_it_has_not)
{
    rig r;
    rig_options o = {.variant = "spin:3", .ops = &drove__sync_spin};
    assert_int_equal(rig_try(&r, o), DROVE_E_ARG);
    rig_fini(&r);
    o.variant = "spin";
    o.backoff = "linear";
    assert_int_equal(rig_try(&r, o), DROVE_E_ARG);
    rig_fini(&r);
}
