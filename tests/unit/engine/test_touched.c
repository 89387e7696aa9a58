/* tests/unit/engine/test_touched.c - the ordered set of touched features against a plain array. */
#include "engine/touched.h"
#include "support/test.h"

#include "base/mem.h"

#include <string.h>

/* Spans of the members of is_in[bound], the slow way. */
static size_t expected_spans(const bool *is_in, size_t bound, size_t offset, size_t width,
                             drove_span *span)
{
    size_t n = 0;
    for (size_t j = 0; j < bound; j++) {
        if (!is_in[j]) continue;
        if (j > 0 && is_in[j - 1]) {
            span[n - 1].length += width;
        } else {
            span[n++] = (drove_span){.offset = offset + j * width, .length = width};
        }
    }
    return n;
}

TEST(drained_spans_are_the_members_in_order)
{
    const size_t bounds[] = {1, 2, 63, 64, 65, 4095, 4096, 4097, 262145};
    drove_rng rng;
    drove__rng_seed(&rng, 3, DROVE_RNG_TEST, 0);
    for (size_t b = 0; b < DROVE_COUNT(bounds); b++) {
        size_t bound = bounds[b];
        drove_touched set;
        bool *is_in = drove__alloc(bound, sizeof *is_in);
        drove_span *found = drove__alloc(bound, sizeof *found);
        drove_span *expected = drove__alloc(bound, sizeof *expected);
        assert_int_equal(drove__touched_init(&set, bound), DROVE_OK);
        for (size_t round = 0; round < 6; round++) {
            size_t n_members = round == 0 ? 0 : 1 + (size_t)drove__rng_below(&rng, bound);
            memset(is_in, 0, bound * sizeof *is_in);
            for (size_t i = 0; i < n_members; i++) {
                size_t number = i == 0 ? bound - 1 : (size_t)drove__rng_below(&rng, bound);
                is_in[number] = true;
                drove__touched_add(&set, number);
            }
            size_t n = expected_spans(is_in, bound, 48, 3, expected);
            assert_int_equal(drove__touched_drain(&set, 48, 3, found), n);
            for (size_t i = 0; i < n; i++) {
                assert_int_equal(found[i].offset, expected[i].offset);
                assert_int_equal(found[i].length, expected[i].length);
            }
        }
        assert_int_equal(drove__touched_drain(&set, 0, 1, found), 0); /* drained = empty */
        drove__touched_fini(&set);
        drove__free(is_in);
        drove__free(found);
        drove__free(expected);
    }
}

TEST(an_empty_set_may_be_freed)
{
    drove_touched set = {0};
    drove__touched_fini(&set);
    drove__touched_fini(NULL);
}
