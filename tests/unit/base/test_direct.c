/* Reads around the system's cache: the bytes of the file wherever the system has such reads, and
 * nothing where it has none. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* O_DIRECT, statx */
#endif
#include "support.h"

#include "base/direct.h"

#include <fcntl.h>
#include <linux/aio_abi.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BLOCK = 4096, BLOCKS = 8 };

/* The system's answer, by a read of the test's own. */
static bool has_direct_reads(const char *path)
{
    aio_context_t context = 0;
    void *block = aligned_alloc(BLOCK, BLOCK);
    const int fd = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
    bool has_them = access("/proc/self/fd", X_OK) == 0 && block != NULL && fd >= 0 &&
                    pread(fd, block, BLOCK, BLOCK) == BLOCK &&
                    syscall(SYS_io_setup, 2, &context) == 0;
#ifdef STATX_DIOALIGN /* some file systems read through the cache and say so */
    struct statx about;
    if (has_them && statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &about) == 0 &&
        (about.stx_mask & STATX_DIOALIGN) != 0)
        has_them = about.stx_dio_mem_align > 0 && about.stx_dio_offset_align > 0;
#endif
    if (context != 0) (void)syscall(SYS_io_destroy, context);
    if (fd >= 0) (void)close(fd);
    free(block);
    return has_them;
}

TEST(blocks_are_those_of_the_file)
{
    char *whole = malloc(BLOCKS * BLOCK), *memory = aligned_alloc(BLOCK, 2 * BLOCK);
    assert_true(whole != NULL && memory != NULL);
    for (size_t i = 0; i < BLOCKS * BLOCK; i++) whole[i] = (char)(i / BLOCK * 31 + i % 251);
    write_bytes("direct.bin", whole, BLOCKS * BLOCK);
    const int fd = open("direct.bin", O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    drove_direct *d = drove__direct_open(fd, 2);
    assert_int_equal(d != NULL, has_direct_reads("direct.bin"));
    for (size_t i = 0; d != NULL && i + 1 < BLOCKS; i += 2) {
        if (drove__direct_alignment(d) > BLOCK) break; /* of a large disk */
        assert_int_equal(BLOCK % drove__direct_alignment(d), 0);
        for (unsigned slot = 0; slot < 2; slot++) {
            const struct iovec part = {.iov_base = memory + slot * BLOCK, .iov_len = BLOCK};
            assert_true(drove__direct_begin(d, slot, (i + slot) * BLOCK, &part, 1));
        }
        for (unsigned slot = 0; slot < 2; slot++)
            assert_int_equal(drove__direct_end(d, slot), BLOCK);
        assert_memory_equal(memory, whole + i * BLOCK, 2 * BLOCK);
    }
    drove__direct_close(d);
    (void)close(fd);
    free(whole);
    free(memory);
}
