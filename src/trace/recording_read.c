/* trace/recording_read.c - reads the file of --record.
 *
 * Opening looks at the heads of all blocks, and reads those that are no steps.  A block of steps is
 * read, and its checksum checked, when its worker comes to it.
 */
#include "trace/recording.h"

#include "base/file.h"
#include "base/mem.h"
#include "trace/recording_file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct block {
    uint64_t offset; /* of the head */
    uint64_t n_steps;
    uint32_t kind, size;
} block;

typedef struct unpacker { /* one worker's */
    size_t next;          /* block to look at */
    drove_recorded before;
    unsigned char *bytes; /* [size] of the block in hand, malloc; NULL: none */
    size_t size, at;
    uint64_t offset, n_left; /* where it stands; steps in it */
} unpacker;

struct drove_recorded_run {
    drove_reader *file;
    char *header;
    size_t header_size;
    unsigned n_workers;
    block *block; /* [n_blocks] */
    size_t n_blocks, room;
    size_t n_state; /* blocks behind the header that hold the state */
    size_t end;     /* the stretch ends at this block, a mark */
    size_t rest;    /* blocks from here on stand behind the last mark */
    uint64_t size;  /* of the file, up to where it is good */
    uint64_t file_size;
    unpacker *worker; /* [n_workers] */
};

/* ---- opening ---- */

static const char expected[] = "expected a record of a run (drove train --record)";

static drove_status fail_damaged(const drove_recorded_run *r, uint64_t offset, const char *what)
{
    return drove__fail(DROVE_E_DATA, "%s: expected %s at byte %llu, found damaged bytes",
                       drove__reader_path(r->file), what, (unsigned long long)offset);
}

/* *n_read < size at the end of the file. */
static drove_status read_at(const drove_recorded_run *r, uint64_t offset, void *into, size_t size,
                            size_t *n_read)
{
    return drove__reader_read_at(r->file, offset, into, size, n_read);
}

static drove_status read_begin(drove_recorded_run *r)
{
    unsigned char head[sizeof drove__recording_magic + 4];
    size_t n;
    DROVE_TRY(read_at(r, 0, head, sizeof head, &n));
    if (n < sizeof head || memcmp(head, drove__recording_magic, sizeof drove__recording_magic) != 0)
        return drove__fail(DROVE_E_DATA, "%s: %s, found another file", drove__reader_path(r->file),
                           expected);
    r->n_workers = drove__u32_unpack(head + sizeof drove__recording_magic);
    if (r->n_workers == 0 || r->n_workers > 1u << 16)
        return drove__fail(DROVE_E_DATA, "%s: %s of 1 to 65536 workers, found %u",
                           drove__reader_path(r->file), expected, r->n_workers);
    r->size = sizeof head;
    r->worker = drove__alloc(r->n_workers, sizeof *r->worker);
    return r->worker != NULL ? DROVE_OK : drove__fail_nomem("a record", r->n_workers);
}

static bool is_possible(const drove_recorded_run *r, const block *b, uint64_t size)
{
    if (size > DROVE_BLOCK_MOST_BYTES) return false;
    if (b->kind == DROVE_BLOCK_HEADER) return r->n_blocks == 0;
    if (r->n_blocks == 0) return false;
    if (b->kind == DROVE_BLOCK_STATE) return b->n_steps == 0 && r->n_blocks == 1 + r->n_state;
    if (b->kind == DROVE_BLOCK_MARK) return size == DROVE_MARK_SIZE;
    return b->kind - DROVE_BLOCK_STEPS < r->n_workers && b->n_steps <= size;
}

/* *is_there false: the file ends within it. */
static drove_status read_head(const drove_recorded_run *r, block *b, bool *is_there)
{
    unsigned char head[DROVE_BLOCK_HEAD_SIZE];
    size_t n;
    DROVE_TRY(read_at(r, r->size, head, sizeof head, &n));
    *is_there = n == sizeof head;
    if (!*is_there) return DROVE_OK;
    uint64_t size = drove__u64_unpack(head + 12);
    *b = (block){.offset = r->size,
                 .kind = drove__u32_unpack(head),
                 .n_steps = drove__u64_unpack(head + 4)};
    if (!is_possible(r, b, size)) return fail_damaged(r, r->size, "a block");
    b->size = (uint32_t)size;
    *is_there = r->file_size - r->size - sizeof head >= size;
    return DROVE_OK;
}

/* Its bytes, checked; the caller frees them. */
static drove_status read_block(const drove_recorded_run *r, const block *b, unsigned char **out)
{
    unsigned char head[DROVE_BLOCK_HEAD_SIZE];
    size_t n, n_head;
    *out = malloc((size_t)b->size + 1);
    if (*out == NULL) return drove__fail_nomem("a record", b->size);
    drove_status status = read_at(r, b->offset, head, sizeof head, &n_head);
    if (status == DROVE_OK) status = read_at(r, b->offset + sizeof head, *out, b->size, &n);
    if (status == DROVE_OK &&
        (n_head < sizeof head || n < b->size ||
         drove__block_sum(head, *out, b->size) != drove__u64_unpack(head + 20)))
        status = fail_damaged(r, b->offset, "a block with its checksum");
    if (status == DROVE_OK) {
        (*out)[b->size] = 0;
        return DROVE_OK;
    }
    free(*out);
    *out = NULL;
    return status;
}

static drove_status read_mark(const drove_recorded_run *r, size_t index, drove_recorded_mark *out)
{
    unsigned char *bytes;
    DROVE_TRY(read_block(r, &r->block[index], &bytes));
    drove__mark_unpack(bytes, out);
    free(bytes);
    return DROVE_OK;
}

/* The one read last: counts never sink, and leave room for sums. */
static drove_status check_mark(const drove_recorded_run *r, drove_recorded_mark *last)
{
    const drove_recorded_mark before = *last;
    const uint64_t most = UINT64_C(1) << 62;
    DROVE_TRY(read_mark(r, r->n_blocks - 1, last));
    if (last->next >= before.next && last->published >= before.published &&
        last->n_steps >= before.n_steps && last->next < most && last->published < most)
        return DROVE_OK;
    return drove__fail(DROVE_E_DATA, "%s: expected a mark behind %llu batches, found %llu",
                       drove__reader_path(r->file), (unsigned long long)before.next,
                       (unsigned long long)last->next);
}

/* All marks are good, so that what asks for them later need not fail. */
static drove_status read_blocks(drove_recorded_run *r)
{
    bool is_there = true;
    drove_recorded_mark last = {0};
    while (r->size < r->file_size) {
        block b;
        drove_status status = read_head(r, &b, &is_there);
        /* It was being written when the run was killed, or the machine stopped. */
        if (!is_there || (status == DROVE_E_DATA && r->rest > 0)) break;
        DROVE_TRY(status);
        if (r->n_blocks == r->room) {
            size_t room = r->room > 0 ? 2 * r->room : 64;
            block *more = realloc(r->block, room * sizeof *more);
            if (more == NULL) return drove__fail_nomem("a record", room * sizeof *more);
            r->block = more;
            r->room = room;
        }
        r->block[r->n_blocks++] = b;
        r->size += DROVE_BLOCK_HEAD_SIZE + b.size;
        if (b.kind == DROVE_BLOCK_MARK) r->rest = r->n_blocks;
        r->n_state += b.kind == DROVE_BLOCK_STATE;
        if (b.kind == DROVE_BLOCK_MARK) DROVE_TRY(check_mark(r, &last));
    }
    if (r->n_blocks == 0)
        return drove__fail(DROVE_E_DATA, "%s: %s, found no header", drove__reader_path(r->file),
                           expected);
    r->header_size = r->block[0].size;
    return read_block(r, &r->block[0], (unsigned char **)&r->header);
}

drove_status drove__recorded_open(const char *path, drove_recorded_run **out)
{
    drove_recorded_run *r = drove__alloc(1, sizeof *r);
    *out = NULL;
    if (r == NULL) return drove__fail_nomem("a record", sizeof *r);
    struct stat info; /* before a pipe could hold up who opens it */
    drove_status status = DROVE_OK;
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
        status = drove__fail(DROVE_E_DATA, "%s: %s, found no regular file", path, expected);
    if (status == DROVE_OK) status = drove__reader_open(path, &r->file);
    if (status == DROVE_OK && !drove__reader_is_regular(r->file))
        status = drove__fail(DROVE_E_DATA, "%s: %s, found no regular file", path, expected);
    if (status == DROVE_OK) {
        r->file_size = drove__reader_plain_bytes(r->file);
        status = read_begin(r);
    }
    if (status == DROVE_OK) status = read_blocks(r);
    if (status == DROVE_OK) *out = r;
    else drove__recorded_close(r);
    return status;
}

void drove__recorded_close(drove_recorded_run *r)
{
    if (r == NULL) return;
    for (unsigned w = 0; r->worker != NULL && w < r->n_workers; w++) free(r->worker[w].bytes);
    drove__free(r->worker);
    drove__reader_close(r->file);
    free(r->block);
    free(r->header);
    drove__free(r);
}

/* ---- the whole ---- */

const char *drove__recorded_path(const drove_recorded_run *r)
{
    return drove__reader_path(r->file);
}

const char *drove__recorded_header(const drove_recorded_run *r, size_t *size)
{
    *size = r->header_size;
    return r->header;
}

bool drove__recorded_has_state(const drove_recorded_run *r)
{
    return r->n_state > 0;
}

drove_status drove__recorded_state(const drove_recorded_run *r, char **bytes, size_t *size)
{
    size_t n = 0;
    drove_status status = DROVE_OK;
    *bytes = NULL;
    *size = 0;
    for (size_t i = 1; i <= r->n_state; i++) n += r->block[i].size;
    char *all = malloc(n + 1);
    if (all == NULL) return drove__fail_nomem("a state", n);
    n = 0;
    for (size_t i = 1; i <= r->n_state && status == DROVE_OK; i++) {
        unsigned char *part;
        status = read_block(r, &r->block[i], &part);
        if (status != DROVE_OK) break;
        memcpy(all + n, part, r->block[i].size);
        n += r->block[i].size;
        free(part);
    }
    if (status != DROVE_OK) {
        free(all);
        return status;
    }
    *bytes = all;
    *size = n;
    return DROVE_OK;
}

unsigned drove__recorded_workers(const drove_recorded_run *r)
{
    return r->n_workers;
}

uint64_t drove__recorded_rest(const drove_recorded_run *r)
{
    return r->file_size - (r->rest < r->n_blocks ? r->block[r->rest].offset : r->size);
}

bool drove__recorded_end(const drove_recorded_run *r, drove_recorded_mark *out)
{
    return r->rest > 0 && read_mark(r, r->rest - 1, out) == DROVE_OK;
}

/* ---- stretches and steps ---- */

static void leave_block(unpacker *u)
{
    free(u->bytes);
    *u = (unpacker){.next = u->next};
}

/* The mark at the end of the next stretch; false: there is none. */
static bool find_mark(const drove_recorded_run *r, size_t *index, drove_recorded_mark *mark)
{
    size_t i = r->end + 1; /* the header, or the last mark */
    while (i < r->rest && r->block[i].kind != DROVE_BLOCK_MARK) i++;
    *index = i;
    return i < r->rest && read_mark(r, i, mark) == DROVE_OK && mark->outcome == 0;
}

bool drove__recorded_goes_on(const drove_recorded_run *r)
{
    size_t unused;
    drove_recorded_mark mark;
    return find_mark(r, &unused, &mark);
}

bool drove__recorded_stretch(drove_recorded_run *r, drove_recorded_mark *mark)
{
    size_t i;
    if (!find_mark(r, &i, mark)) return false;
    for (unsigned w = 0; w < r->n_workers; w++) {
        leave_block(&r->worker[w]);
        r->worker[w].next = r->end + 1;
    }
    r->end = i;
    return true;
}

drove_status drove__recorded_next(drove_recorded_run *r, unsigned worker, drove_recorded *out,
                                  bool *is_there)
{
    unpacker *u = &r->worker[worker];
    *is_there = true;
    while (u->n_left == 0) {
        if (u->at < u->size) return fail_damaged(r, u->offset, "no bytes behind the last step");
        /* The worker's next block of this stretch. */
        leave_block(u);
        while (u->next < r->end && r->block[u->next].kind != DROVE_BLOCK_STEPS + worker) u->next++;
        *is_there = u->next < r->end;
        if (!*is_there) return DROVE_OK;
        const block *b = &r->block[u->next++];
        DROVE_TRY(read_block(r, b, &u->bytes));
        u->size = b->size;
        u->n_left = b->n_steps;
        u->offset = b->offset;
    }
    size_t n = drove__step_unpack(u->bytes + u->at, u->size - u->at, &u->before, out);
    if (n == 0) return fail_damaged(r, u->offset, "steps");
    u->at += n;
    u->n_left--;
    u->before = *out;
    return DROVE_OK;
}
