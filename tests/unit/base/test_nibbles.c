/* Numbers of 4 bits in their bytes: every byte, position and number. */
#include "base/fixed.h"
#include "support/test.h"

#include <string.h>

static int32_t lower(unsigned pair)
{
    return (int32_t)(pair % 16) - (pair % 16 > 7 ? 16 : 0);
}

TEST(test_every_byte_is_two_numbers)
{
    for (unsigned pair = 0; pair < 256; pair++) {
        assert_int_equal(drove__nibble_of((uint8_t)pair, 0), lower(pair));
        assert_int_equal(drove__nibble_of((uint8_t)pair, 1), lower(pair / 16));
        assert_int_equal(drove__nibble_of((uint8_t)pair, 6), lower(pair));
    }
}

TEST(test_putting_one_keeps_the_other)
{
    for (unsigned pair = 0; pair < 256; pair++) {
        for (int32_t number = -8; number < 8; number++) {
            uint8_t even = drove__nibble_put((uint8_t)pair, 0, number);
            uint8_t odd = drove__nibble_put((uint8_t)pair, 1, number);
            assert_int_equal(lower(even), number);
            assert_int_equal(even / 16, pair / 16);
            assert_int_equal(lower(odd / 16u), number);
            assert_int_equal(odd % 16, pair % 16);
        }
    }
}

TEST(test_arrays)
{
    uint8_t numbers[3] = {0xff, 0xff, 0xff};
    for (size_t i = 0; i < 5; i++) drove__nibble_set(numbers, i, (int32_t)i - 2);
    const uint8_t wanted[3] = {0xfe, 0x10, 0xf2};
    assert_memory_equal(numbers, wanted, sizeof wanted);
    for (size_t i = 0; i < 5; i++) assert_int_equal(drove__nibble_at(numbers, i), (int32_t)i - 2);
}

TEST(test_sizes)
{
    const size_t of_4[] = {0, 1, 1, 2, 2, 3};
    for (size_t n = 0; n < 6; n++) {
        assert_int_equal(drove__numbers_bytes(DROVE_I4, n), of_4[n]);
        assert_int_equal(drove__numbers_bytes(DROVE_I8, n), n);
        assert_int_equal(drove__numbers_bytes(DROVE_I16, n), 2 * n);
        assert_int_equal(drove__numbers_bytes(DROVE_F32, n), 4 * n);
    }
    assert_int_equal(drove__number_most(DROVE_I4), 7);
    assert_int_equal(drove__number_most(DROVE_I8), 127);
    assert_int_equal(drove__number_most(DROVE_I16), 32767);
    assert_int_equal(drove__number_most(DROVE_F32), 0);
}
