/* The source of docs/adding-a-source.md: it compiles, is what the page prints, and keeps the rules.
 */
#include "../../../docs/example_source.c"
#include "support/test.h"

#include "source_cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    char *page = load("docs/adding-a-source.md"), *code = load("docs/example_source.c");
    char *begin = strstr(page, "```c\n");
    assert_non_null(begin);
    begin += strlen("```c\n");
    char *finish = strstr(begin, "```\n");
    assert_non_null(finish);
    *finish = '\0';
    assert_string_equal(begin, code);
    free(page);
    free(code);
}

TEST(keeps_the_rules)
{
    for (unsigned n = 2; n <= 8; n *= 2)
        source_check_all(
            &(source_setup){.ops = &drove__source_chunked, .n_workers = n, .most_lost = CHUNK});
}

TEST(workers_take_eight_at_a_time)
{
    source_rig rig;
    drove_task task;
    source_rig_open(&rig, &(source_setup){.ops = &drove__source_chunked, .n_workers = 2}, 100);
    drove_source *s = &rig.source;
    s->ops->open(s, 18, UINT64_MAX);
    for (uint64_t i = 0; i < CHUNK; i++) {
        for (unsigned w = 0; w < 2; w++) {
            assert_true(s->ops->next(s, w, true, &task));
            assert_int_equal(task.number, w * CHUNK + i);
        }
    }
    for (uint64_t i = 16; i < 18; i++) { /* the limit cuts the last chunk */
        assert_true(s->ops->next(s, 1, true, &task));
        assert_int_equal(task.number, i);
    }
    for (unsigned w = 0; w < 2; w++) assert_false(s->ops->next(s, w, true, &task));
    assert_int_equal(atomic_load(&s->next), 18);
    source_rig_close(&rig);
}
