/* The strategy of docs/inside/adding.md: it compiles, is what the page prints, and keeps its
 * promises. */
#include "../../../docs/inside/example_strategy.c"

#include "support/files.h"
#include "support/promises.h"

/* ---- the page ---- */

TEST(is_what_the_page_prints)
{
    assert_page_prints("docs/inside/adding.md", "docs/inside/example_strategy.c");
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
