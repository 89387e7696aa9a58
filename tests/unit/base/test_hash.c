/* tests/unit/base/test_hash.c - the hash sees every change, and stays as it is: names of files hold
 * it. */
#include "base/hash.h"
#include "support/test.h"

#include <string.h>

TEST(test_every_change_is_seen)
{
    unsigned char bytes[131];
    for (size_t n = 1; n <= sizeof bytes; n++) {
        memset(bytes, 7, sizeof bytes);
        uint64_t hash = drove__hash(5, bytes, n);
        assert_int_equal(hash, drove__hash(5, bytes, n));
        assert_int_not_equal(hash, drove__hash(6, bytes, n));
        assert_int_not_equal(hash, drove__hash(5, bytes, n - 1));
        for (size_t bit = 0; bit < 8 * n; bit++) {
            bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
            assert_int_not_equal(hash, drove__hash(5, bytes, n));
            for (size_t other = bit + 32 * 8; other < 8 * n; other += 32 * 8) {
                /* the same bit again, in the next word of the same lane */
                bytes[other / 8] ^= (unsigned char)(1u << other % 8);
                assert_int_not_equal(hash, drove__hash(5, bytes, n));
                bytes[other / 8] ^= (unsigned char)(1u << other % 8);
            }
            bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        }
    }
}

/* Zeros at the end, and bytes that move, count too. */
TEST(test_length_and_place)
{
    unsigned char bytes[70] = {0};
    uint64_t seen[70];
    for (size_t n = 0; n < sizeof bytes; n++) {
        seen[n] = drove__hash(0, bytes, n);
        for (size_t i = 0; i < n; i++) assert_int_not_equal(seen[n], seen[i]);
    }
    for (size_t at = 0; at < sizeof bytes; at++) {
        bytes[at] = 1;
        seen[at] = drove__hash(0, bytes, sizeof bytes);
        bytes[at] = 0;
        for (size_t i = 0; i < at; i++) assert_int_not_equal(seen[at], seen[i]);
    }
}

TEST(test_pinned)
{
    static const char text[] = "the quick brown fox jumps over the lazy dog";
    assert_int_equal(drove__hash(0, text, 0), 0x7f82591aeef76ce4u);
    assert_int_equal(drove__hash(0, text, sizeof text - 1), 0x3ff5d2b20cba0a49u);
}
