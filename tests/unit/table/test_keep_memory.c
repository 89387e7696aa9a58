/* Cells of columns that are kept beside predictions, as the file has them; and while memory runs
 * out: at every allocation the error says so, and no memory stays.
 * ctest: home=release: a sanitizer has a malloc of its own.
 * ctest: apart: its malloc is for all */
#include "support.h"

#include "table/keep.h"

#include <stdio.h>
#include <string.h>

#include "support/no_memory.h"

enum { ROWS = 1000, MOST_CALLS = 100 };

static void write_table(void)
{
    FILE *file = fopen("kept", "w");
    assert_non_null(file);
    fputs("name,x,colour\n", file);
    for (int i = 0; i < ROWS; i++) fprintf(file, "row %d,%d,\"%d \"\"red\"\"\"\n", i, i % 7, i);
    assert_int_equal(fclose(file), 0);
}

/* More cells than the first piece of memory holds. */
TEST(kept_cells_are_those_of_the_file)
{
    if (!no_memory_works()) skip();
    write_table();
    drove_table t;
    const drove_content_options written = {0};
    assert_ok(drove__table_open("kept", &written, DROVE_HEADER_AUTO, NULL, 0, &t));
    assert_int_equal(t.n_rows, ROWS);
    unsigned long n = 1;
    for (bool has_failed = true; has_failed && n < MOST_CALLS; n++) {
        drove_kept kept;
        no_memory_begin(n);
        const drove_status status = drove__table_keep(&t, "colour+name", &kept);
        has_failed = no_memory_end();
        assert_int_equal(status, has_failed ? DROVE_E_NOMEM : DROVE_OK);
        for (int i = 0; i < ROWS && status == DROVE_OK; i++) {
            char name[20], colour[20];
            snprintf(name, sizeof name, "row %d", i);
            snprintf(colour, sizeof colour, "%d \"red\"", i);
            assert_string_equal(kept.bytes + kept.at[2 * i], colour);
            assert_string_equal(kept.bytes + kept.at[2 * i + 1], name);
        }
        drove__kept_fini(&kept);
        if (no_memory_live() != 0)
            fail_msg("allocation %lu: %zu pieces of memory stay", n, no_memory_live());
    }
    assert_in_range(n, 6, MOST_CALLS - 1);
    drove__table_fini(&t);
    assert_int_equal(remove("kept"), 0);
}
