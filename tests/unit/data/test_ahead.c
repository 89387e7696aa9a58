/* Blocks read ahead, around the system's cache: the file's bytes, straight where both are aligned,
 * else through a buffer; a file that ends before, a place that is another one, and a drop. */
#include "support.h"

#include "base/mem.h"
#include "data/disk/ahead.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_NAME "test_ahead.bin"

enum { BLOCK = 96 << 10, BLOCKS = 40, SIZE = BLOCK * BLOCKS + 777, FRONT = 64 << 10 };

static unsigned char byte_at(uint64_t i)
{
    return (unsigned char)(i * 2654435761u >> 13);
}

typedef struct fixture {
    int fd;
    drove_ahead *ahead;
    char *memory; /* [SIZE] aligned */
} fixture;

/* false: no such reads here. */
static bool begin(fixture *f)
{
    char *bytes = malloc(SIZE);
    for (size_t i = 0; i < SIZE; i++) bytes[i] = (char)byte_at(i);
    write_bytes(FILE_NAME, bytes, SIZE);
    free(bytes);
    f->fd = open(FILE_NAME, O_RDONLY);
    assert_true(f->fd >= 0);
    void *memory;
    assert_int_equal(posix_memalign(&memory, 4096, SIZE), 0);
    f->memory = memory;
    f->ahead = drove__ahead_open(f->fd, BLOCK);
    if (f->ahead == NULL) print_message("no direct reads here: skipped\n");
    return f->ahead != NULL;
}

static void end(fixture *f)
{
    drove__ahead_close(f->ahead);
    close(f->fd);
    free(f->memory);
}

static void expect_bytes(const char *bytes, uint64_t offset, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)bytes[i] != byte_at(offset + i)) fail_msg("byte %zu", i);
}

TEST(bytes_are_those_of_the_file)
{
    fixture f;
    bool has_straight = false;
    if (begin(&f)) {
        for (size_t k = 0; k < 4 * BLOCKS; k++) {
            /* places with and without alignment, in the file and in memory; the last byte too */
            const uint64_t offset =
                k % 5 == 4 ? SIZE - BLOCK : (k * 7 % BLOCKS) * BLOCK + k % 3 * 8;
            char *front = k % 4 == 3 ? NULL : f.memory + (k % 4 == 2 ? 64 : 0);
            const drove_ahead_block block = {.number = k,
                                             .offset = offset,
                                             .size_bytes = BLOCK - 100,
                                             .front = front,
                                             .front_bytes = FRONT};
            drove_ahead_bytes got;
            memset(f.memory, 0x5a, FRONT + 64);
            drove__ahead_begin(f.ahead, &block);
            assert_true(drove__ahead_take(f.ahead, &block, &got));
            assert_true(got.first == 0 || got.first == FRONT);
            expect_bytes(got.bytes, offset + got.first, (size_t)(BLOCK - 100 - got.first));
            if (got.first > 0) expect_bytes(front, offset, FRONT);
            has_straight = has_straight || got.first > 0;
        }
        assert_true(has_straight);
    }
    end(&f);
}

TEST(many_are_under_way)
{
    fixture f;
    if (begin(&f)) {
        const unsigned n = drove__ahead_count(f.ahead);
        drove_ahead_block block[BLOCKS];
        drove_ahead_bytes got;
        for (size_t k = 0; k < BLOCKS; k++)
            block[k] = (drove_ahead_block){.number = k,
                                           .offset = k * BLOCK,
                                           .size_bytes = BLOCK,
                                           .front = f.memory + k * BLOCK,
                                           .front_bytes = FRONT};
        for (size_t k = 0; k < n + 1; k++) drove__ahead_begin(f.ahead, &block[k]);
        assert_false(drove__ahead_take(f.ahead, &block[n], &got)); /* there was no room for it */
        for (size_t k = n; k-- > 0;) {
            assert_true(drove__ahead_take(f.ahead, &block[k], &got));
            expect_bytes(got.bytes, block[k].offset + got.first, (size_t)(BLOCK - got.first));
            assert_false(drove__ahead_take(f.ahead, &block[k], &got)); /* once */
        }
        drove__ahead_begin(f.ahead, &block[3]);
        drove__ahead_drop(f.ahead);
        assert_false(drove__ahead_take(f.ahead, &block[3], &got));
        drove__ahead_begin(f.ahead, &block[3]);
        block[3].front = f.memory; /* wanted elsewhere now */
        assert_false(drove__ahead_take(f.ahead, &block[3], &got));
        drove__ahead_begin(f.ahead, &block[5]); /* closing waits for it */
    }
    end(&f);
}

TEST(a_short_file_is_no_block)
{
    fixture f;
    if (begin(&f)) {
        drove_ahead_bytes got;
        const drove_ahead_block last = {.number = 1, .offset = SIZE - 1000, .size_bytes = 1001};
        const drove_ahead_block beyond = {.number = 2, .offset = SIZE + 8192, .size_bytes = 64};
        drove__ahead_begin(f.ahead, &last);
        assert_false(drove__ahead_take(f.ahead, &last, &got));
        drove__ahead_begin(f.ahead, &beyond);
        assert_false(drove__ahead_take(f.ahead, &beyond, &got));
    }
    end(&f);
}

TEST(not_every_block_is_worth_it)
{
    int fd = open("/dev/null", O_RDONLY);
    assert_null(drove__ahead_open(fd, 4096));
    assert_null(drove__ahead_open(fd, 1 << 30));
    assert_null(drove__ahead_open(-1, BLOCK));
    close(fd);
    drove__ahead_close(NULL);
}
