/* tests/fuzz/memory_file.h - a fuzz input as a file that has a path, without touching a disk. */
#ifndef DROVE_TESTS_FUZZ_MEMORY_FILE_H
#define DROVE_TESTS_FUZZ_MEMORY_FILE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct memory_file {
    int  fd;
    char path[64];
} memory_file;

static inline void memory_file_init(memory_file *file, const uint8_t *data, size_t size_bytes)
{
    file->fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (file->fd < 0) abort();
    for (size_t done = 0; done < size_bytes;) {
        ssize_t n = write(file->fd, data + done, size_bytes - done);
        if (n <= 0) abort();
        done += (size_t)n;
    }
    snprintf(file->path, sizeof file->path, "/proc/self/fd/%d", file->fd);
}

static inline void memory_file_fini(memory_file *file)
{
    close(file->fd);
}

#endif
