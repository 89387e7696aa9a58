/* Aligned memory: alignment, zeros, overflow, and that large blocks cost no pages until they are
 * used. */
#include "support.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)

/* Bytes of this process that are in memory (column 1) or mapped (column 0). */
static size_t process_bytes(int column)
{
    unsigned long pages[2];
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL) skip();
    assert_int_equal(fscanf(file, "%lu %lu", &pages[0], &pages[1]), 2);
    fclose(file);
    return pages[column] * (size_t)sysconf(_SC_PAGESIZE);
}

TEST(test_blocks_are_aligned_zero_and_writable)
{
    static const size_t sizes[] = {0,           1,      63,          64,           65,
                                   4096,        100000, 4 * MIB - 1, 4 * MIB - 64, 4 * MIB,
                                   4 * MIB + 1, 7 * MIB};
    for (int round = 0; round < 3; round++) { /* again, when the heap holds used memory */
        void *blocks[DROVE_COUNT(sizes)];
        for (size_t i = 0; i < DROVE_COUNT(sizes); i++) {
            unsigned char *block = blocks[i] = drove__alloc(sizes[i], 1);
            assert_non_null(block);
            assert_int_equal((uintptr_t)block % 64, 0);
            for (size_t j = 0; j < sizes[i]; j++) {
                if (block[j] != 0) fail_msg("byte %zu of %zu is %d", j, sizes[i], block[j]);
            }
            memset(block, 0xa5, sizes[i]);
        }
        for (size_t i = 0; i < DROVE_COUNT(sizes); i++) drove__free(blocks[i]);
    }
    drove__free(NULL);
}

TEST(test_count_times_size)
{
    double *numbers = drove__alloc(1000, sizeof *numbers);
    assert_non_null(numbers);
    numbers[999] = 1.0;
    drove__free(numbers);
    assert_null(drove__alloc(SIZE_MAX, 2));
    assert_null(drove__alloc(SIZE_MAX / 4 + 2, 4)); /* 4 when it wraps */
    assert_null(drove__alloc(SIZE_MAX, 1));         /* header and padding would wrap */
    assert_null(drove__alloc(SIZE_MAX - 64, 1));
    assert_null(drove__alloc(SIZE_MAX / 2, 1)); /* no such memory */
}

TEST(test_large_blocks_are_not_touched)
{
    size_t before = process_bytes(1), mapped_before = process_bytes(0);
    char *block = drove__alloc(256, MIB);
    assert_non_null(block);
    assert_true(process_bytes(1) < before + 16 * MIB);
    block[0] = block[256 * MIB - 1] = 1;
    assert_true(process_bytes(1) < before + 16 * MIB);
    assert_true(process_bytes(0) >= mapped_before + 256 * MIB);
    drove__free(block);
    assert_true(process_bytes(0) < mapped_before + 16 * MIB);
}

TEST(test_grow)
{
    int *numbers = drove__grow(NULL, 3, sizeof *numbers);
    assert_non_null(numbers);
    numbers[2] = 42;
    assert_null(drove__grow(numbers, SIZE_MAX / 4 + 2, sizeof *numbers));
    assert_int_equal(numbers[2], 42);
    numbers = drove__grow(numbers, 100000, sizeof *numbers);
    assert_non_null(numbers);
    assert_int_equal(numbers[2], 42);
    numbers = drove__grow(numbers, 0, sizeof *numbers);
    assert_non_null(numbers);
    free(numbers);
}

TEST(test_padding)
{
    static const size_t expected[][2] = {{0, 0}, {1, 16}, {15, 16}, {16, 16}, {17, 32}, {784, 784}};
    for (size_t i = 0; i < DROVE_COUNT(expected); i++) {
        assert_int_equal(drove__pad_floats(expected[i][0]), expected[i][1]);
    }
}
