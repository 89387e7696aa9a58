/* The source of docs/inside/adding.md: it compiles, is what the page prints, and keeps the rules.
 */
#include "../../../docs/inside/example_source.c"
#include "support/files.h"
#include "support/test.h"

#include "source_cases.h"

#include <string.h>

TEST(is_what_the_page_prints)
{
    assert_page_prints("docs/inside/adding.md", "docs/inside/example_source.c");
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
