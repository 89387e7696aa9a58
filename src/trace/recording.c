/* trace/recording.c - writes the file of --record.
 *
 * Each worker packs its steps into a buffer of its own, five to eight bytes each: differences to
 * its step before, as variable-length numbers.  A full buffer becomes a block of the file, written
 * under one lock, so that workers wait for each other and for the disk once in thousands of steps.
 */
#include "trace/recording.h"

#include "base/checksum.h"
#include "base/mem.h"
#include "trace/recording_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER_SIZE = 1 << 16 };

typedef struct packer {    /* one worker's */
    drove_recorded before; /* number, read, first */
    uint64_t n_packed;     /* in the buffer */
    uint64_t n_steps;      /* in the file: without settlings */
    size_t n;
    unsigned char *bytes; /* [BUFFER_SIZE] */
} DROVE_ALIGNED_CACHE_LINE packer;

struct drove_recording {
    pthread_mutex_t lock; /* protects the three fields below while workers run */
    uint64_t n_bytes;
    drove_status status; /* first failure, with its text */
    char error[DROVE_ERROR_TEXT_SIZE];
    int fd;
    char *path;
    unsigned n_workers;
    packer *worker; /* [n_workers] */
};

/* ---- the file ---- */

/* Caller holds the lock, or the workers are parked. */
static void write_all(drove_recording *r, const void *bytes, size_t size)
{
    size_t done = 0;
    while (done < size && r->status == DROVE_OK) {
        ssize_t n = write(r->fd, (const char *)bytes + done, size - done);
        if (n < 0 && errno == EINTR) continue;
        if (n > 0) {
            done += (size_t)n;
            continue;
        }
        r->status = drove__fail_errno(DROVE_E_IO, n < 0 ? errno : EIO, "--record: %s: cannot write",
                                      r->path);
        drove__error_copy(r->error);
    }
    r->n_bytes += done;
}

static void write_block(drove_recording *r, uint32_t kind, uint64_t n_steps, const void *bytes,
                        size_t size)
{
    unsigned char head[DROVE_BLOCK_HEAD_SIZE];
    drove__block_head_pack(head, kind, n_steps, bytes, size);
    write_all(r, head, sizeof head);
    write_all(r, bytes, size);
}

drove_status drove__recording_check(const char *path)
{
    char magic[sizeof drove__recording_magic];
    struct stat info;
    if (stat(path, &info) != 0) return DROVE_OK;
    if (!S_ISREG(info.st_mode))
        return drove__fail(DROVE_E_EXISTS, "--record: expected a regular file, found another: %s",
                           path);
    if (info.st_size == 0) return DROVE_OK;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return drove__fail_errno(drove__open_status(errno), errno, "--record: cannot open %s",
                                 path);
    ssize_t n = read(fd, magic, sizeof magic);
    close(fd);
    if (n == (ssize_t)sizeof magic && memcmp(magic, drove__recording_magic, sizeof magic) == 0)
        return DROVE_OK;
    return drove__fail(DROVE_E_EXISTS,
                       "--record: expected a new file, or an old record, found another file: %s",
                       path);
}

static drove_status open_file(drove_recording *r, const char *path)
{
    DROVE_TRY(drove__recording_check(path));
    r->path = strdup(path);
    if (r->path == NULL) return drove__fail_nomem("file name", strlen(path));
    r->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (r->fd >= 0) return DROVE_OK;
    return drove__fail_errno(drove__open_status(errno), errno, "--record: cannot write %s", path);
}

static drove_status make_workers(drove_recording *r, unsigned n_workers)
{
    r->n_workers = n_workers;
    r->worker = drove__alloc(n_workers, sizeof *r->worker);
    for (unsigned w = 0; r->worker != NULL && w < n_workers; w++) {
        r->worker[w].bytes = drove__alloc(BUFFER_SIZE, 1);
        if (r->worker[w].bytes == NULL) return drove__fail_nomem("a record", BUFFER_SIZE);
    }
    return r->worker != NULL ? DROVE_OK : drove__fail_nomem("a record", n_workers);
}

static drove_status open_all(drove_recording *r, const char *path, const char *header,
                             unsigned n_workers)
{
    unsigned char n[4];
    DROVE_TRY(make_workers(r, n_workers));
    DROVE_TRY(open_file(r, path));
    drove__u32_pack(n, n_workers);
    write_all(r, drove__recording_magic, sizeof drove__recording_magic);
    write_all(r, n, sizeof n);
    write_block(r, DROVE_BLOCK_HEADER, 0, header, strlen(header));
    return r->status;
}

drove_status drove__recording_create(const char *path, const char *header, unsigned n_workers,
                                     drove_recording **out)
{
    drove_recording *r = drove__alloc(1, sizeof *r);
    *out = NULL;
    if (r == NULL) return drove__fail_nomem("a record", sizeof *r);
    r->fd = -1;
    if (pthread_mutex_init(&r->lock, NULL) != 0) {
        drove__free(r);
        return drove__fail(DROVE_E_SYSTEM, "cannot make a mutex");
    }
    drove_status status = open_all(r, path, header, n_workers);
    if (status == DROVE_OK) *out = r;
    else drove__recording_close(r);
    return status;
}

void drove__recording_close(drove_recording *r)
{
    if (r == NULL) return;
    for (unsigned w = 0; r->worker != NULL && w < r->n_workers; w++)
        drove__free(r->worker[w].bytes);
    drove__free(r->worker);
    if (r->fd >= 0) close(r->fd);
    free(r->path);
    (void)pthread_mutex_destroy(&r->lock);
    drove__free(r);
}

uint64_t drove__recording_bytes(const drove_recording *r)
{
    return r->n_bytes;
}

/* ---- steps ---- */

/* Caller holds the lock, or the workers are parked.  The next block is read without this one. */
static void flush(drove_recording *r, unsigned worker)
{
    packer *p = &r->worker[worker];
    if (p->n == 0) return;
    write_block(r, DROVE_BLOCK_STEPS + worker, p->n_packed, p->bytes, p->n);
    p->n = 0;
    p->n_packed = 0;
    p->before = (drove_recorded){0};
}

void drove__recording_step(drove_recording *r, unsigned worker, const drove_recorded *step)
{
    packer *p = &r->worker[worker];
    if (BUFFER_SIZE - p->n < DROVE_STEP_MOST_BYTES) {
        pthread_mutex_lock(&r->lock);
        flush(r, worker);
        pthread_mutex_unlock(&r->lock);
    }
    p->n += drove__step_pack(p->bytes + p->n, &p->before, step);
    p->before.number = step->number;
    p->before.read = step->read;
    p->before.first = step->first;
    p->n_packed++;
    p->n_steps += !step->is_settling;
}

drove_status drove__recording_mark(drove_recording *r, drove_recorded_mark *mark)
{
    unsigned char bytes[DROVE_MARK_SIZE];
    mark->n_steps = 0;
    for (unsigned w = 0; w < r->n_workers; w++) {
        flush(r, w);
        mark->n_steps += r->worker[w].n_steps;
    }
    drove__mark_pack(bytes, mark);
    write_block(r, DROVE_BLOCK_MARK, 0, bytes, sizeof bytes);
    return r->status == DROVE_OK ? DROVE_OK : drove__fail(r->status, "%s", r->error);
}
