/* trace/recording.c - writes the file of --record.
 *
 * Each worker packs its steps into a buffer of its own, five to eight bytes each: differences to
 * its step before, as variable-length numbers.  A full buffer becomes a block of the file, written
 * under one lock, so that workers wait for each other and for the disk once in thousands of steps.
 */
#include "trace/recording.h"

#include "base/lock.h"
#include "base/mem.h"
#include "trace/recording_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
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
    /* Protects n_bytes, status, error and memory while workers run.  If its holder is killed, what
     * it was writing lies behind n_bytes, and the next block takes its place. */
    pthread_mutex_t lock;
    uint64_t n_bytes;    /* whole blocks */
    drove_status status; /* first failure, with its text */
    char error[DROVE_ERROR_TEXT_SIZE];
    char *memory; /* [room] without a file: the blocks, malloc */
    size_t room;
    uint64_t n_marked; /* n_bytes at the last mark */
    uint64_t n_state;  /* bytes of the state's blocks */
    uint64_t n_added;  /* steps that came from other recordings */
    uint64_t n_taken;  /* steps that went to another one */
    int fd;            /* -1: there is no file */
    bool is_new;       /* there was no file before, and it has no header yet */
    char *path;
    unsigned n_workers;
    packer *worker; /* [n_workers] */
};

/* ---- the file ---- */

/* Caller holds the lock, or the workers are parked. */
static void fail(drove_recording *r, drove_status status)
{
    r->status = status;
    drove__error_copy(r->error);
}

/* At n_bytes + *done, in the file or in memory.  Caller holds the lock, or the workers are
 * parked. */
static void put_at(drove_recording *r, const void *bytes, size_t size, uint64_t *done)
{
    if (r->status != DROVE_OK) return;
    if (r->fd < 0) {
        const size_t end = (size_t)(r->n_bytes + *done) + size;
        if (end > r->room) {
            const size_t room = 2 * end;
            char *more = realloc(r->memory, room);
            if (more == NULL) {
                fail(r, drove__fail_nomem("a record", room));
                return;
            }
            r->memory = more;
            r->room = room;
        }
        memcpy(r->memory + r->n_bytes + *done, bytes, size);
        *done += size;
        return;
    }
    for (size_t i = 0; i < size && r->status == DROVE_OK;) {
        const off_t at = (off_t)(r->n_bytes + *done);
        ssize_t n = pwrite(r->fd, (const char *)bytes + i, size - i, at);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            fail(r, drove__fail_errno(DROVE_E_IO, n < 0 ? errno : EIO, "--record: %s: cannot write",
                                      r->path));
            return;
        }
        i += (size_t)n;
        *done += (uint64_t)n;
    }
}

/* Counts once it is whole. */
static void write_block(drove_recording *r, uint32_t kind, uint64_t n_steps, const void *bytes,
                        size_t size)
{
    unsigned char head[DROVE_BLOCK_HEAD_SIZE];
    uint64_t done = 0;
    if (r->status != DROVE_OK) return;
    drove__block_head_pack(head, kind, n_steps, bytes, size);
    put_at(r, head, sizeof head, &done);
    put_at(r, bytes, size, &done);
    if (r->status == DROVE_OK) r->n_bytes += done;
}

static drove_status status_of(const drove_recording *r)
{
    return r->status == DROVE_OK ? DROVE_OK : drove__fail(r->status, "%s", r->error);
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
    r->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    r->is_new = r->fd >= 0;
    if (r->fd < 0 && errno == EEXIST) r->fd = open(path, O_WRONLY | O_CLOEXEC);
    if (r->fd >= 0) return DROVE_OK;
    return drove__fail_errno(drove__open_status(errno), errno, "--record: cannot write %s", path);
}

drove_status drove__recording_open(const char *path, unsigned n_workers, drove_recording **out)
{
    drove_recording *r = drove__alloc(1, sizeof *r);
    *out = NULL;
    if (r == NULL) return drove__fail_nomem("a record", sizeof *r);
    r->fd = -1;
    drove_status status = drove__lock_init(&r->lock);
    if (status != DROVE_OK) {
        drove__free(r);
        return status;
    }
    r->n_workers = n_workers;
    r->worker = drove__alloc(n_workers, sizeof *r->worker);
    if (r->worker == NULL) status = drove__fail_nomem("a record", n_workers);
    for (unsigned w = 0; status == DROVE_OK && w < n_workers; w++) {
        r->worker[w].bytes = drove__alloc(BUFFER_SIZE, 1);
        if (r->worker[w].bytes == NULL) status = drove__fail_nomem("a record", BUFFER_SIZE);
    }
    if (status == DROVE_OK && path != NULL) status = open_file(r, path);
    if (status == DROVE_OK) *out = r;
    else drove__recording_close(r);
    return status;
}

drove_status drove__recording_begin(drove_recording *r, const char *header)
{
    unsigned char n[4];
    uint64_t done = 0;
    drove__u32_pack(n, r->n_workers);
    if (r->fd >= 0 && ftruncate(r->fd, 0) != 0)
        return drove__fail_errno(DROVE_E_IO, errno, "--record: %s: cannot write", r->path);
    put_at(r, drove__recording_magic, sizeof drove__recording_magic, &done);
    put_at(r, n, sizeof n, &done);
    r->n_bytes = done;
    write_block(r, DROVE_BLOCK_HEADER, 0, header, strlen(header));
    if (r->status == DROVE_OK) r->is_new = false;
    return status_of(r);
}

drove_status drove__recording_state(drove_recording *r, const void *bytes, size_t size)
{
    const uint64_t before = r->n_bytes;
    for (size_t done = 0; done < size;) {
        size_t n =
            size - done < DROVE_BLOCK_MOST_BYTES ? size - done : (size_t)DROVE_BLOCK_MOST_BYTES;
        write_block(r, DROVE_BLOCK_STATE, 0, (const char *)bytes + done, n);
        done += n;
    }
    r->n_state += r->n_bytes - before;
    return status_of(r);
}

void drove__recording_close(drove_recording *r)
{
    if (r == NULL) return;
    for (unsigned w = 0; r->worker != NULL && w < r->n_workers; w++)
        drove__free(r->worker[w].bytes);
    drove__free(r->worker);
    if (r->is_new) (void)unlink(r->path);
    if (r->fd >= 0) close(r->fd);
    free(r->memory);
    free(r->path);
    (void)pthread_mutex_destroy(&r->lock);
    drove__free(r);
}

drove_status drove__recording_create(const char *path, const char *header, unsigned n_workers,
                                     drove_recording **out)
{
    drove_recording *r;
    *out = NULL;
    DROVE_TRY(drove__recording_open(path, n_workers, &r));
    drove_status status = drove__recording_begin(r, header);
    if (status == DROVE_OK) *out = r;
    else drove__recording_close(r);
    return status;
}

uint64_t drove__recording_bytes(const drove_recording *r)
{
    return r->n_bytes - r->n_state;
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

/* Apart from drove__recording_step, which thus saves no registers. */
__attribute__((noinline)) static void make_room(drove_recording *r, unsigned worker)
{
    (void)drove__lock(&r->lock); /* a holder that was killed leaves n_bytes as it was */
    flush(r, worker);
    pthread_mutex_unlock(&r->lock);
}

void drove__recording_step(drove_recording *r, unsigned worker, const drove_recorded *step)
{
    packer *p = &r->worker[worker];
    if (BUFFER_SIZE - p->n < DROVE_STEP_MOST_BYTES) make_room(r, worker);
    p->n += drove__step_pack(p->bytes + p->n, &p->before, step);
    p->before.number = step->number;
    p->before.read = step->read;
    p->before.first = step->first;
    p->n_packed++;
    p->n_steps += !step->is_settling;
}

/* Steps of the workers here, without those that went to another recording. */
static uint64_t flush_all(drove_recording *r)
{
    uint64_t n_steps = 0;
    for (unsigned w = 0; w < r->n_workers; w++) {
        flush(r, w);
        n_steps += r->worker[w].n_steps;
    }
    return n_steps - r->n_taken;
}

drove_status drove__recording_take(drove_recording *r, char **bytes, size_t *size,
                                   uint64_t *n_steps)
{
    *bytes = NULL;
    *size = 0;
    *n_steps = flush_all(r);
    DROVE_TRY(status_of(r));
    *bytes = r->memory;
    *size = (size_t)r->n_bytes;
    r->n_taken += *n_steps;
    r->memory = NULL;
    r->n_bytes = r->room = 0;
    return DROVE_OK;
}

drove_status drove__recording_add(drove_recording *r, const char *bytes, size_t size,
                                  uint64_t n_steps)
{
    uint64_t done = 0;
    put_at(r, bytes, size, &done);
    if (r->status == DROVE_OK) r->n_bytes += done;
    r->n_added += n_steps;
    return status_of(r);
}

/* Gives the disk back what lies behind the last mark. */
static void cut(const drove_recording *r)
{
    if (r->fd < 0 || r->n_marked == 0) return;
    if (ftruncate(r->fd, (off_t)r->n_marked) != 0) return; /* then a reader leaves it out */
}

drove_status drove__recording_mark(drove_recording *r, drove_recorded_mark *mark)
{
    unsigned char bytes[DROVE_MARK_SIZE];
    mark->n_steps = flush_all(r) + r->n_added;
    drove__mark_pack(bytes, mark);
    write_block(r, DROVE_BLOCK_MARK, 0, bytes, sizeof bytes);
    if (r->status == DROVE_OK) r->n_marked = r->n_bytes;
    else cut(r);
    return status_of(r);
}
