/* Windows as large as memory holds, what a cancel leaves, and files that end early. */
#include "support.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#define FILE_NAME "begin.rows"

enum { BLOCKS = 25 };

static drove_stream *open_stream(void)
{
    drove_blocks *blocks;
    drove_stream *s;
    assert_int_equal(drove__blocks_open("rows:" FILE_NAME, &blocks), DROVE_OK);
    assert_int_equal(blocks->n_blocks, BLOCKS);
    const drove_stream_options opt = options_of(blocks);
    if (drove__stream_open(&opt, &s) != DROVE_OK) fail_msg("%s", drove_error_text());
    return s;
}

static drove_status begin(drove_stream *s, double memory)
{
    drove_data *sample = drove__stream_take_sample(s);
    const drove_stream_start start = {.like = sample, .memory = memory};
    const drove_status status = drove__stream_begin(s, &start);
    drove_data_destroy(sample);
    return status;
}

/* No window less than the blocks of one half need. */
TEST(windows_are_as_large_as_memory_holds)
{
    for (unsigned n = 1; n <= BLOCKS; n++) {
        drove_stream *s = open_stream();
        drove_stream_facts facts;
        const double least = drove__stream_least_bytes(s);
        const double memory = least + (n - 1) * 2.0 * BLOCK_ROWS * ROW_BYTES;
        assert_int_equal(begin(s, memory), DROVE_OK);
        drove__stream_facts(s, &facts);
        assert_int_equal(facts.n_windows, (BLOCKS + n - 1) / n);
        assert_true(facts.window_bytes <= memory);
        drove__stream_destroy(s);
    }
    drove_stream *s = open_stream();
    assert_int_equal(begin(s, drove__stream_least_bytes(s) - 1), DROVE_E_ARG);
    drove__stream_destroy(s);
}

TEST(the_first_cancel_is_what_ends_all_waits)
{
    drove_stream *s = open_stream();
    assert_int_equal(begin(s, 1e6), DROVE_OK);
    assert_false(drove__stream_comes(s, 7));
    drove__stream_cancel(s, drove__fail(DROVE_E_DATA, "the first"));
    drove__stream_cancel(s, drove__fail(DROVE_E_IO, "another"));
    assert_true(drove__stream_comes(s, 7)); /* the error */
    assert_int_equal(drove__stream_wait(s, 7), DROVE_E_DATA);
    assert_string_equal(drove_error_text(), "the first");
    drove__stream_destroy(s);
}

TEST(a_file_that_ends_early_gives_no_sample)
{
    drove_blocks *blocks;
    drove_stream *s = NULL;
    assert_int_equal(drove__blocks_open("rows:" FILE_NAME, &blocks), DROVE_OK);
    assert_int_equal(truncate(FILE_NAME, 1000), 0);
    const drove_stream_options opt = options_of(blocks);
    assert_int_not_equal(drove__stream_open(&opt, &s), DROVE_OK);
    assert_null(s);
    assert_non_null(strstr(drove_error_text(), "has changed"));
}

FIXTURE(make_file)
{
    (void)unlink(FILE_NAME);
    write_rows(FILE_NAME, BLOCKS * BLOCK_ROWS);
    return 0;
}

GROUP(make_file, NULL);
