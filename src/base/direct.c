/* base/direct.c - see direct.h.  The kernel's own calls, as the C library has none for them. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* O_DIRECT, preadv2, statx */
#endif
#include "base/direct.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { USUAL_ALIGNMENT = 4096 };

typedef struct request {
    struct iocb block;
    struct iovec part[DROVE_DIRECT_PARTS];
    int64_t result; /* bytes, or a negative errno */
    bool is_reading;
} request;

struct drove_direct {
    int fd;
    aio_context_t context;
    size_t alignment;
    unsigned n_slots;
    request slot[DROVE_DIRECT_SLOTS_MOST];
};

/* 0: the file system says that it has no direct reads. */
static size_t find_alignment(int fd)
{
#ifdef STATX_DIOALIGN
    struct statx about;
    if (statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &about) == 0 &&
        (about.stx_mask & STATX_DIOALIGN) != 0) {
        const size_t memory = about.stx_dio_mem_align, offset = about.stx_dio_offset_align;
        const size_t larger = memory > offset ? memory : offset;
        return memory > 0 && offset > 0 && (larger & (larger - 1)) == 0 ? larger : 0;
    }
#endif
    return USUAL_ALIGNMENT;
}

drove_direct *drove__direct_open(int fd, unsigned n_slots)
{
    char path[32];
    drove_direct *d = calloc(1, sizeof *d);
    if (d == NULL) return NULL;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd); /* the same file, whatever its name now */
    d->fd = open(path, O_RDONLY | O_CLOEXEC | O_DIRECT);
    d->n_slots = n_slots < DROVE_DIRECT_SLOTS_MOST ? n_slots : DROVE_DIRECT_SLOTS_MOST;
    d->alignment = d->fd >= 0 ? find_alignment(d->fd) : 0;
    if (d->alignment > 0 && syscall(SYS_io_setup, d->n_slots, &d->context) == 0) return d;
    if (d->fd >= 0) close(d->fd);
    free(d);
    return NULL;
}

void drove__direct_close(drove_direct *d)
{
    if (d == NULL) return;
    for (unsigned i = 0; i < d->n_slots; i++)
        if (d->slot[i].is_reading) (void)drove__direct_end(d, i);
    (void)syscall(SYS_io_destroy, d->context);
    close(d->fd);
    free(d);
}

size_t drove__direct_alignment(const drove_direct *d)
{
    return d->alignment;
}

bool drove__direct_begin(drove_direct *d, unsigned slot, uint64_t offset, const struct iovec *part,
                         int n_parts)
{
    struct request *s = &d->slot[slot];
    struct iocb *block = &s->block;
    for (int i = 0; i < n_parts; i++) s->part[i] = part[i];
    *block = (struct iocb){.aio_data = slot,
                           .aio_lio_opcode = IOCB_CMD_PREADV,
                           .aio_fildes = (uint32_t)d->fd,
                           .aio_buf = (uintptr_t)s->part,
                           .aio_nbytes = (uint64_t)n_parts,
                           .aio_offset = (int64_t)offset};
    s->is_reading = syscall(SYS_io_submit, d->context, 1L, &block) == 1;
    return s->is_reading;
}

size_t drove__direct_end(drove_direct *d, unsigned slot)
{
    struct request *s = &d->slot[slot];
    struct io_event event;
    while (s->is_reading) {
        /* only a signal can interrupt it: the memory is the kernel's until the event is there */
        if (syscall(SYS_io_getevents, d->context, 1L, 1L, &event, NULL) != 1) continue;
        d->slot[event.data].result = event.res;
        d->slot[event.data].is_reading = false;
    }
    return s->result > 0 ? (size_t)s->result : 0;
}

bool drove__direct_is_cached(int fd, uint64_t offset)
{
    char byte;
    const struct iovec part = {.iov_base = &byte, .iov_len = 1};
    return preadv2(fd, &part, 1, (off_t)offset, RWF_NOWAIT) == 1;
}
