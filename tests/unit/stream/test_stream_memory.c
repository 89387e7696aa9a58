/* Data on disk that are opened while memory runs out: at every allocation the error says so, or
 * nothing is lost by it; no memory stays.
 * ctest: home=release: a sanitizer has a malloc of its own.
 * ctest: apart: its malloc is for all */
#include "support.h"

#include <unistd.h>

#include "support/no_memory.h"

#define FILE_NAME "memory.rows"

enum { MOST_CALLS = 3000 };

static drove_status open_and_close(void)
{
    drove_blocks *blocks;
    drove_stream *s;
    DROVE_TRY(drove__blocks_open("rows:" FILE_NAME, &blocks));
    drove_stream_options opt = options_of(blocks);
    opt.held_rows = 100;
    DROVE_TRY(drove__stream_open(&opt, &s));
    drove__stream_destroy(s);
    return DROVE_OK;
}

TEST(streams_that_find_no_memory_leave_nothing)
{
    if (!no_memory_works()) skip();
    (void)unlink(FILE_NAME);
    write_rows(FILE_NAME, 10 * BLOCK_ROWS + 3);
    if (open_and_close() != DROVE_OK) fail_msg("%s", drove_error_text());
    unsigned long n = 1;
    for (bool has_failed = true; has_failed && n < MOST_CALLS; n++) {
        no_memory_begin(n);
        const drove_status status = open_and_close();
        has_failed = no_memory_end();
        if (status != DROVE_OK && (!has_failed || status != DROVE_E_NOMEM))
            fail_msg("allocation %lu: status %d: %s", n, status, drove_error_text());
        if (no_memory_live() != 0)
            fail_msg("allocation %lu: %zu pieces of memory stay", n, no_memory_live());
    }
    assert_in_range(n, 10, MOST_CALLS - 1);
}
