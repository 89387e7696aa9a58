/* data/disk/rows_read.c - opens a file of rows and reads its blocks; the format is in
 * data/disk/rows_file.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pread, posix_fadvise */
#endif
#include "data/disk/rows_file.h"

#include "base/direct.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/sort.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    END_BYTES = 3 * 8 + DROVE_ROWS_MAGIC_SIZE,
    DESCRIPTION_MOST = 1 << 30,
    PART_BYTES = 16 << 10,
    BLOCKS_AHEAD = 8
};

/* ---- the file ---- */

void drove__blocks_close(drove_blocks *b)
{
    if (b == NULL) return;
    if (b->file != NULL) {
        drove__ahead_close(b->file->ahead);
        drove__checksum_end(b->file->sum);
        drove__checksum_end(b->file->value_sum);
        drove__free(b->file->padded);
        free(b->file->block);
        free(b->file->map);
        free(b->file->source);
        free(b->file);
    }
    if (b->fd >= 0) close(b->fd);
    drove__storage_release(b->shape);
    free(b->first_stored);
    free(b->first_label);
    free(b->bytes);
    free(b->path);
    free(b);
}

/* A plain regular file is read where it lies; of any other, all bytes are loaded. */
static drove_status open_content(drove_blocks *b)
{
    drove_reader *r;
    DROVE_TRY(drove__reader_open(b->path, &r));
    const bool is_plain = drove__reader_is_regular(r);
    drove_status status = DROVE_OK;
    size_t capacity = 0, n = is_plain ? 0 : 1;
    while (status == DROVE_OK && n > 0) {
        status = drove__reserve(&b->bytes, &capacity, (size_t)b->size_bytes + 1, 1);
        if (status == DROVE_OK)
            status = drove__reader_read_some(r, b->bytes + b->size_bytes,
                                             capacity - (size_t)b->size_bytes, &n);
        if (status == DROVE_OK) b->size_bytes += n;
    }
    drove__reader_close(r);
    if (!is_plain || status != DROVE_OK) return status;

    struct stat about;
    b->fd = open(b->path, O_RDONLY | O_CLOEXEC);
    if (b->fd < 0)
        return drove__fail_errno(drove__open_status(errno), errno, "%s: cannot be opened", b->path);
    if (fstat(b->fd, &about) != 0) return drove__fail_errno(DROVE_E_IO, errno, "%s", b->path);
    b->size_bytes = (uint64_t)about.st_size;
    b->changed = about.st_mtim;
    return DROVE_OK;
}

/* DROVE_E_DATA: the file is not the one that was opened. */
static drove_status check_identity(const drove_blocks *b)
{
    struct stat now;
    if (b->fd < 0) return DROVE_OK;
    if (fstat(b->fd, &now) != 0) return drove__fail_errno(DROVE_E_IO, errno, "%s", b->path);
    if ((uint64_t)now.st_size != b->size_bytes)
        return drove__fail(DROVE_E_DATA,
                           "%s: the file has changed while it is in use: expected %llu bytes, "
                           "found %lld",
                           b->path, (unsigned long long)b->size_bytes, (long long)now.st_size);
    if (now.st_mtim.tv_sec == b->changed.tv_sec && now.st_mtim.tv_nsec == b->changed.tv_nsec)
        return DROVE_OK;
    return drove__fail(DROVE_E_DATA,
                       "%s: the file has changed while it is in use: it was written after it had "
                       "been opened",
                       b->path);
}

/* Exactly size_bytes, which lay in the file when it was opened. */
static drove_status read_at(const drove_blocks *b, uint64_t offset, void *into, size_t size_bytes)
{
    char *to = into;
    if (b->fd < 0) {
        memcpy(into, b->bytes + offset, size_bytes);
        return DROVE_OK;
    }
    for (size_t done = 0; done < size_bytes;) {
        ssize_t n = pread(b->fd, to + done, size_bytes - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return drove__fail_errno(DROVE_E_IO, errno, "%s: cannot be read", b->path);
        if (n == 0) DROVE_TRY(check_identity(b)); /* what it is now may say why */
        if (n == 0)
            return drove__fail(DROVE_E_DATA, "%s: expected %zu bytes at byte %llu, found %zu",
                               b->path, size_bytes, (unsigned long long)offset, done);
        done += (size_t)n;
    }
    return DROVE_OK;
}

static drove_status read_description(drove_blocks *b)
{
    char head[DROVE_ROWS_MAGIC_SIZE], end[END_BYTES];
    uint64_t facts[3]; /* offset, bytes and checksum of the description */
    const uint64_t size = b->size_bytes;
    if (size < DROVE_ROWS_MAGIC_SIZE + END_BYTES)
        return drove__fail(DROVE_E_DATA, "expected a file of rows, found one of %llu bytes",
                           (unsigned long long)size);
    DROVE_TRY(read_at(b, 0, head, sizeof head));
    if (memcmp(head, DROVE_ROWS_MAGIC, sizeof head) != 0)
        return drove__fail(DROVE_E_DATA,
                           "expected a file of rows, " DROVE_ROWS_WORD
                           " (drove data convert makes one), found another%s",
                           memcmp(head, "drove-rows-", 11) == 0 ? " version" : "");
    DROVE_TRY(read_at(b, size - END_BYTES, end, sizeof end));
    if (memcmp(end + sizeof facts, head, sizeof head) != 0)
        return drove__fail(DROVE_E_DATA,
                           "expected a whole file of rows, found one without its end");
    memcpy(facts, end, sizeof facts);
    if (facts[0] > size - END_BYTES || facts[1] != size - END_BYTES - facts[0] ||
        facts[1] > DESCRIPTION_MOST)
        return drove__fail(DROVE_E_DATA, "expected a description before byte %llu, found none",
                           (unsigned long long)(size - END_BYTES));
    b->file->end = facts[0];
    const size_t n = (size_t)facts[1];
    char *text = malloc(n + 1);
    if (text == NULL) return drove__fail_nomem("a description of rows", n);
    drove_status status = read_at(b, facts[0], text, n);
    const uint64_t found = status == DROVE_OK ? drove__checksum(text, n) : facts[2];
    if (found != facts[2])
        status = drove__fail(DROVE_E_DATA,
                             "damaged: its description: expected checksum %016llx, found %016llx",
                             (unsigned long long)facts[2], (unsigned long long)found);
    if (status == DROVE_OK) status = drove__rows_read_description(b, text, n);
    free(text);
    return status;
}

static void lay_out(const drove_blocks *b, size_t block, drove_rows_layout *lay)
{
    (void)drove__rows_lay_out(b->shape, drove__blocks_rows(b, block),
                              drove__blocks_stored(b, block), drove__blocks_labels(b, block),
                              lay); /* it could when the file was opened */
}

/* Errors name the file. */
drove_status drove__rows_open(const drove_spec *spec, drove_blocks **out)
{
    *out = NULL;
    drove_status status;
    drove_blocks *b = calloc(1, sizeof *b);
    if (b == NULL) return drove__fail_nomem(spec->arg[0], sizeof *b);
    b->fd = -1;
    b->path = strdup(spec->arg[0]);
    b->file = calloc(1, sizeof *b->file);
    if (b->path == NULL || b->file == NULL) {
        status = drove__fail_nomem(spec->arg[0], sizeof *b->file);
        goto fail;
    }
    if ((status = drove__storage_create(&b->shape)) != DROVE_OK) goto fail;
    if ((status = open_content(b)) != DROVE_OK) goto fail;
    if ((status = drove__checksum_begin(&b->file->sum)) != DROVE_OK) goto fail;
    if ((status = drove__checksum_begin(&b->file->value_sum)) != DROVE_OK) goto fail;
    status = read_description(b);
    b->shape->n_rows = b->n_rows;
    if (status == DROVE_OK) status = drove__storage_check_description(b->shape, "its description");
    if (status != DROVE_OK) {
        drove__fail_in(status, "%s", b->path);
        goto fail;
    }
    drove_rows_file *f = b->file;
    b->n_ahead = BLOCKS_AHEAD;
    b->row_multiple = 1;
    if (b->fd >= 0) f->ahead = drove__ahead_open(b->fd, f->end / b->n_blocks);
    if (f->ahead != NULL) {
        b->n_ahead = drove__ahead_count(f->ahead);

        /* Rows from which on dense examples in memory are aligned as reads need it; of blocks whose
         * examples do not end aligned, none are. */
        drove_rows_layout lay;
        lay_out(b, 0, &lay);
        const size_t alignment = drove__ahead_alignment(f->ahead),
                     bytes = (size_t)lay.bytes[DROVE_ROWS_X];
        if (bytes != 0 && bytes % alignment == 0) {
            const size_t each = bytes / drove__blocks_rows(b, 0);
            while (b->row_multiple * each % alignment != 0) b->row_multiple *= 2;
        }
    }
    *out = b;
    return DROVE_OK;
fail:
    drove__blocks_close(b);
    return status;
}

drove_status drove__blocks_prefer_floats(drove_blocks *b)
{
    drove_storage *s = b->shape;
    const drove_quant *q = s->quant;
    /* Places instead of differences, and no scaling to remember. */
    if (q == NULL || q->number != DROVE_F32 || (q->index_bits != 0 && q->index_bits != 32) ||
        s->scaling != DROVE_SCALE_NONE || s->factor != NULL)
        return DROVE_OK;
    if (q->index_bits != 0) {
        s->value = malloc(sizeof *s->value); /* a shape that has it has values */
        if (s->value == NULL) return drove__fail_nomem(b->path, sizeof *s->value);
        s->x_kind = DROVE_X_CSR;
        return DROVE_OK;
    }
    if (q->row_bytes != s->n_features * sizeof(float)) {
        const size_t most_rows = drove__blocks_rows(b, 0); /* block_rows may exceed all rows */
        b->file->padded = drove__alloc(most_rows, q->row_bytes);
        if (b->file->padded == NULL) return drove__fail_nomem(b->path, most_rows * q->row_bytes);
        b->row_multiple = 1;
    }
    s->x_kind = DROVE_X_F32;
    return DROVE_OK;
}

const char *drove__rows_source(const drove_blocks *b)
{
    return b->file->source;
}

/* ---- rows ---- */

typedef struct reading { /* rows of one block into a storage */
    const drove_blocks *b;
    size_t block, n;
    drove_storage *s;
    const drove_place_in *to;
    drove_rows_layout lay;
    drove_ahead_bytes ahead; /* bytes NULL: nothing was read ahead */
    bool has_other;          /* a float of the examples is not finite */
    /* Said once the checksum is known to be right: */
    bool has_bad_starts, has_bad_class;
} reading;

static drove_status read_section(reading *r, drove_rows_section section, void *into)
{
    const size_t n = (size_t)r->lay.bytes[section];
    const drove_rows_file *f = r->b->file;
    const drove_quant *q = r->b->shape->quant;
    const uint64_t at = r->lay.at[section];
    if (n == 0) return DROVE_OK;
    if (r->ahead.bytes == NULL) DROVE_TRY(read_at(r->b, f->block[r->block].offset + at, into, n));
    else if (at >= r->ahead.first) memcpy(into, r->ahead.bytes + (at - r->ahead.first), n);

    drove_checksum *sum = section == DROVE_ROWS_VALUE ? f->value_sum : f->sum;
    const bool is_float = q == NULL && (section == DROVE_ROWS_VALUE ||
                                        (section == DROVE_ROWS_X && r->s->x_kind == DROVE_X_F32));
    if (!is_float) {
        drove__checksum_add(sum, into, n);
        return DROVE_OK;
    }
    /* A part after the other, so that the look for one that is not finite finds them in the
     * processor's cache. */
    for (size_t done = 0; done < n; done += PART_BYTES) {
        const char *part = (const char *)into + done;
        const size_t size_bytes = n - done < PART_BYTES ? n - done : PART_BYTES;
        drove__checksum_add(sum, part, size_bytes);
        if (!drove__floats_are_finite((const float *)(const void *)part,
                                      size_bytes / sizeof(float)))
            r->has_other = true;
    }
    return DROVE_OK;
}

/* A section of n + 1 starts, counted from 0 to n_all, at most `longest` apart, becomes those of the
 * storage, from base on. */
static drove_status read_starts(reading *r, drove_rows_section section, uint64_t *start,
                                uint64_t n_all, uint64_t longest, uint64_t base)
{
    const size_t n = r->n;
    DROVE_TRY(read_section(r, section, start));
    bool is_good = start[0] == 0 && start[n] == n_all;
    for (size_t i = 0; i < n; i++)
        is_good = is_good && start[i] <= start[i + 1] && start[i + 1] - start[i] <= longest;
    for (size_t i = 0; i <= n; i++) start[i] = is_good ? start[i] + base : base;
    r->has_bad_starts = r->has_bad_starts || !is_good;
    return DROVE_OK;
}

static drove_status read_pairs(reading *r)
{
    drove_storage *s = r->s;
    const drove_place_in *to = r->to;
    const uint64_t n = drove__blocks_stored(r->b, r->block), longest = r->b->shape->longest_row;
    if (s->x_kind == DROVE_X_QUANT) {
        const drove_quant *q = s->quant;
        DROVE_TRY(read_starts(r, DROVE_ROWS_START, q->row_start + to->row, n, longest, to->stored));
        DROVE_TRY(
            read_section(r, DROVE_ROWS_INDEX, (char *)q->index + to->stored * (q->index_bits / 8)));
        return read_section(r, DROVE_ROWS_VALUE,
                            (char *)q->value + to->stored * drove__number_size(q->number));
    }
    uint32_t *index = s->index + to->stored;
    const uint32_t shift = r->b->file->index_shift;
    DROVE_TRY(read_starts(r, DROVE_ROWS_START, s->row_start + to->row, n, longest, to->stored));
    DROVE_TRY(read_section(r, DROVE_ROWS_INDEX, index));
    for (uint64_t k = 0; k < n && shift > 0; k++)
        index[k] -= shift; /* 0 becomes too large, which the check finds */
    return s->value == NULL ? DROVE_OK : read_section(r, DROVE_ROWS_VALUE, s->value + to->stored);
}

/* The class or label of a number in the file; of one that is not in the map, the number. */
static uint32_t map_class(reading *r, uint32_t number)
{
    const drove_rows_file *f = r->b->file;
    if (number < f->n_map) return f->map[number];
    r->has_bad_class = true;
    return number;
}

static drove_status read_targets(reading *r)
{
    drove_storage *s = r->s;
    const drove_rows_file *f = r->b->file;
    const size_t row = r->to->row;
    if (s->y_kind == DROVE_Y_VALUE)
        return read_section(r, DROVE_ROWS_TARGET, s->y_value + row * drove__storage_n_values(s));
    if (s->y_kind == DROVE_Y_CLASS) {
        int32_t *y = s->y_class + row;
        DROVE_TRY(read_section(r, DROVE_ROWS_TARGET, y));
        for (size_t i = 0; f->map != NULL && i < r->n; i++)
            y[i] = (int32_t)map_class(r, (uint32_t)y[i]);
        return DROVE_OK;
    }
    uint64_t *start = s->label_start + row;
    DROVE_TRY(read_starts(r, DROVE_ROWS_TARGET, start, drove__blocks_labels(r->b, r->block),
                          UINT64_MAX, r->to->label));
    DROVE_TRY(read_section(r, DROVE_ROWS_LABEL, s->label + r->to->label));
    if (f->map == NULL) return DROVE_OK;
    for (uint64_t k = start[0]; k < start[r->n]; k++) s->label[k] = map_class(r, s->label[k]);
    for (size_t i = 0; i < r->n; i++)
        qsort(s->label + start[i], (size_t)(start[i + 1] - start[i]), sizeof *s->label,
              drove__compare_u32);
    return DROVE_OK;
}

static drove_status check_sum(const reading *r, uint64_t expected, const drove_checksum *sum)
{
    const uint64_t found = drove__checksum_value(sum);
    if (found == expected) return DROVE_OK;
    DROVE_TRY(check_identity(r->b)); /* it may have changed while it was read */
    return drove__fail(
        DROVE_E_DATA,
        "%s: damaged: block %zu at byte %llu: expected checksum %016llx, found %016llx", r->b->path,
        r->block, (unsigned long long)r->b->file->block[r->block].offset,
        (unsigned long long)expected, (unsigned long long)found);
}

/* Where a block lies, and where its dense examples are wanted. */
static drove_ahead_block place(const drove_blocks *b, size_t block, const drove_rows_layout *lay,
                               const drove_storage *into, const drove_place_in *to)
{
    const drove_rows_file *f = b->file;
    const uint64_t offset = f->block[block].offset;
    drove_ahead_block at = {.number = block, .offset = offset, .size_bytes = lay->size_bytes};
    if (at.size_bytes > f->end - offset) at.size_bytes = f->end - offset; /* the last's padding */
    at.front_bytes = lay->bytes[DROVE_ROWS_X];
    /* Rows that the storage does not keep as the file has them are not wanted there. */
    const size_t row = to->row, n = into->n_features;
    if (into->x_kind == DROVE_X_U8) at.front = into->x_u8 + row * n;
    if (into->x_kind == DROVE_X_QUANT && into->quant->index_bits == 0)
        at.front = (char *)into->quant->value + row * into->quant->row_bytes;
    if (into->x_kind == DROVE_X_F32 && f->padded == NULL) at.front = into->x_f32 + row * n;
    return at;
}

drove_status drove__blocks_read(const drove_blocks *b, size_t block, drove_storage *into,
                                drove_place_in *to)
{
    const drove_rows_file *f = b->file;
    reading r = {.b = b, .block = block, .n = drove__blocks_rows(b, block), .s = into, .to = to};
    drove__checksum_reset(f->sum);
    drove__checksum_reset(f->value_sum);
    lay_out(b, block, &r.lay);
    const drove_ahead_block at = place(b, block, &r.lay, into, to);
    if (f->ahead != NULL) (void)drove__ahead_take(f->ahead, &at, &r.ahead);
    DROVE_TRY(check_identity(b));
    if (drove__rows_are_sparse(b->shape)) DROVE_TRY(read_pairs(&r));
    else DROVE_TRY(read_section(&r, DROVE_ROWS_X, f->padded != NULL ? f->padded : at.front));
    DROVE_TRY(read_targets(&r));
    if (into->weight != NULL)
        DROVE_TRY(read_section(&r, DROVE_ROWS_WEIGHT, into->weight + to->row));
    DROVE_TRY(check_sum(&r, f->block[block].sum, f->sum));
    /* Values that are all 1 are not read. */
    if (b->shape->quant != NULL || into->value != NULL)
        DROVE_TRY(check_sum(&r, f->block[block].value_sum, f->value_sum));
    if (r.has_bad_starts)
        return drove__fail(DROVE_E_DATA,
                           "%s: block %zu: the starts of its rows do not ascend, or one is longer "
                           "than its description says",
                           b->path, block);
    if (r.has_bad_class)
        return drove__fail(DROVE_E_DATA, "%s: block %zu: expected classes below %zu", b->path,
                           block, f->n_map);
    if (f->padded != NULL) {
        /* Quantised floats whose rows are padded in the file, and not in memory. */
        drove_quant q = *r.b->shape->quant;
        float *x = r.s->x_f32 + r.to->row * r.s->n_features;
        const drove_quant_span span = {.n = r.n,
                                       .shown = r.block * r.b->block_rows,
                                       .n_features = q.n_features,
                                       .where = r.b->path};
        q.value = r.b->file->padded;
        DROVE_TRY(drove__quant_check_rows(&q, &span));
        for (size_t i = 0; i < r.n; i++)
            memcpy(x + i * q.n_features, (char *)q.value + i * q.row_bytes,
                   q.n_features * sizeof *x);
    }
    const bool is_finite = b->shape->quant == NULL && !r.has_other;
    return drove__blocks_check_rows(b, into, block * b->block_rows, r.n, is_finite, to);
}

/* Reads around the system's cache cost no copy.  But the cache is faster than a device: what it has
 * is not read ahead when somebody waits. */
void drove__blocks_expect(const drove_blocks *b, size_t block, drove_storage *into,
                          const drove_place_in *to, bool is_late)
{
    const drove_rows_file *f = b->file;
    drove_rows_layout lay;
    if (b->fd < 0) return;
    lay_out(b, block, &lay);
    const drove_ahead_block at = place(b, block, &lay, into, to);
    if (f->ahead == NULL)
        (void)posix_fadvise(b->fd, (off_t)at.offset, (off_t)at.size_bytes, POSIX_FADV_WILLNEED);
    else if (!is_late || !drove__direct_is_cached(b->fd, at.offset + at.size_bytes / 2))
        drove__ahead_begin(f->ahead, &at);
}

void drove__blocks_forget(const drove_blocks *b)
{
    if (b->file->ahead != NULL) drove__ahead_drop(b->file->ahead);
}
