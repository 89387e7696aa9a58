/* tests/unit/table/test_murmur.c - MurmurHash3 against published values. */
#include "table/murmur.h"
#include "support/test.h"

#include <stdint.h>
#include <string.h>

static uint32_t hash_of(const char *text, uint32_t seed)
{
    return drove__murmur32(text, strlen(text), seed);
}

TEST(test_published)
{
    assert_int_equal(hash_of("", 0), 0);
    assert_int_equal(hash_of("", 1), 0x514e28b7);
    assert_int_equal(hash_of("", 0xffffffff), 0x81f16f39);
    assert_int_equal(drove__murmur32("\0\0\0\0", 4, 0), 0x2362f9de);
    assert_int_equal(hash_of("hello", 0), 0x248bfa47);
    assert_int_equal(hash_of("hello, world", 0), 0x149bbb7f);
    assert_int_equal(hash_of("The quick brown fox jumps over the lazy dog", 0), 0x2e4ff723);
    assert_int_equal(hash_of("aaaa", 0x9747b28c), 0x5a97808a);
    assert_int_equal(hash_of("aaa", 0x9747b28c), 0x283e0130);
    assert_int_equal(hash_of("aa", 0x9747b28c), 0x5d211726);
    assert_int_equal(hash_of("a", 0x9747b28c), 0x7fa09ea6);
}

/* Every length of the rest, at every alignment. */
TEST(test_alignment)
{
    static const char text[] = "0123456789abcdef";
    char moved[32];
    for (size_t n = 0; n <= 16; n++) {
        for (size_t shift = 0; shift < 8; shift++) {
            memcpy(moved + shift, text, n);
            assert_int_equal(drove__murmur32(moved + shift, n, 7), drove__murmur32(text, n, 7));
        }
    }
}
