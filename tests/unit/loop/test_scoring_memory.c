/* The memory of an evaluation: a score for each chunk of the examples, and the error where there is
 * no memory for them.
 * ctest: home=release: a sanitizer has a malloc of its own.
 * ctest: apart: its malloc is for all */
#include "loop/evaluation.h"
#include "support/test.h"

#include "base/mem.h"

#include <stdio.h>

#include "support/no_memory.h"

TEST(there_is_a_score_for_each_chunk)
{
    static const struct {
        size_t n_rows, chunk_rows, n_chunks;
    } cases[] = {{1, 1, 1},   {1, 10, 1},    {9, 10, 1},   {10, 10, 1},
                 {11, 10, 2}, {100, 10, 10}, {101, 7, 15}, {5000, 100, 50}};
    if (!no_memory_works()) skip();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[128];
        drove_loop loop = {.sizes.score_rows = cases[i].chunk_rows};
        snprintf(text, sizeof text, "the chunks of an evaluation: not enough memory for %zu bytes",
                 cases[i].n_chunks * sizeof(drove_score));
        no_memory_begin(1);
        const drove_status status = drove__scoring_init(&loop, cases[i].n_rows);
        assert_true(no_memory_end());
        assert_int_equal(status, DROVE_E_NOMEM);
        assert_string_equal(drove_error_text(), text);
        assert_null(loop.scoring.chunk);
        no_memory_begin(2);
        assert_int_equal(drove__scoring_init(&loop, cases[i].n_rows), DROVE_OK);
        assert_false(no_memory_end());
        assert_int_equal(loop.scoring.chunk_rows, cases[i].chunk_rows);
        assert_int_equal(no_memory_live(), 1);
        drove__free(loop.scoring.chunk);
    }
}
