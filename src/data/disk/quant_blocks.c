/* data/disk/quant_blocks.c - reads quant:FILE by blocks; the format is in data/disk/quant_file.h.
 *
 * A block's part of each tensor is read from where the header says that the tensor lies, its
 * checksum is checked, and then every row, each time it is read.
 *
 * Opening reads row_start and label_start once, through a buffer: they say where blocks begin.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* posix_fadvise */
#endif
#include "data/disk/blocks.h"
#include "data/disk/quant_file.h"

#include "base/file.h"
#include "base/mem.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { STARTS = 1 << 14 }; /* read at once when the file is opened */

typedef struct quant_tensors { /* impl: where they lie in the file */
    uint64_t value, index, row_start, target, label_start, label;
    drove_quant q; /* the rows of the file, without arrays */
    char *padded;  /* [block_rows][row_bytes] for floats that are kept without padding; else NULL */
    uint64_t *block_sum; /* [n_blocks] */
    drove_checksum *sum; /* of the block that is read */
} quant_tensors;

static void close_file(drove_blocks *b)
{
    quant_tensors *t = b->impl;
    drove__free(t->padded);
    drove__checksum_end(t->sum);
    free(t->block_sum);
    free(t);
}

/* ---- rows ---- */

typedef struct reading { /* rows of one block into a storage */
    const drove_blocks *b;
    quant_tensors *t;
    size_t block, first, n; /* first: its number in the file */
    drove_storage *s;
    const drove_place_in *to;
    bool is_elsewhere; /* rows begin elsewhere than when the file was opened */
} reading;

/* n things of size_bytes each, those before them left out, of the tensor at an offset. */
static drove_status read_part(const reading *r, uint64_t tensor, uint64_t before, uint64_t n,
                              size_t size_bytes, void *into)
{
    if (n == 0) return DROVE_OK;
    DROVE_TRY(
        drove__blocks_read_at(r->b, tensor + before * size_bytes, into, (size_t)n * size_bytes));
    drove__checksum_add(r->t->sum, into, (size_t)n * size_bytes);
    return DROVE_OK;
}

/* start[n + 1] of a block, from base on; before[]: what was found when the file was opened. */
static drove_status read_starts(reading *r, uint64_t tensor, const uint64_t *before, uint64_t base,
                                uint64_t *start)
{
    const uint64_t begin = before[r->block], end = before[r->block + 1];
    DROVE_TRY(read_part(r, tensor, r->first, r->n + 1, sizeof *start, start));
    bool is_good = start[0] == begin && start[r->n] == end;
    for (size_t i = 0; i < r->n; i++) is_good = is_good && start[i] <= start[i + 1];
    for (size_t i = 0; i <= r->n; i++) start[i] = is_good ? start[i] - begin + base : base;
    r->is_elsewhere = r->is_elsewhere || !is_good;
    return DROVE_OK;
}

static drove_status read_pairs(reading *r, uint64_t *row_start, void *value, void *index)
{
    const drove_quant *q = &r->t->q;
    const uint64_t before = r->b->first_stored[r->block];
    const uint64_t n = drove__blocks_stored(r->b, r->block), to = r->to->stored;
    const size_t size_bytes = drove__number_size(q->number), index_bytes = q->index_bits / 8;
    DROVE_TRY(read_starts(r, r->t->row_start, r->b->first_stored, to, row_start + r->to->row));
    DROVE_TRY(read_part(r, r->t->value, before, n, size_bytes, (char *)value + to * size_bytes));
    return read_part(r, r->t->index, before, n, index_bytes, (char *)index + to * index_bytes);
}

/* Floats whose rows are padded in the file, and not in memory. */
static drove_status take_padded(const reading *r, float *x)
{
    drove_quant q = r->t->q;
    const drove_quant_span span = {
        .n = r->n, .shown = r->first, .n_features = q.n_features, .where = r->b->path};
    q.value = r->t->padded;
    DROVE_TRY(drove__quant_check_rows(&q, &span));
    for (size_t i = 0; i < r->n; i++)
        memcpy(x + i * q.n_features, r->t->padded + i * q.row_bytes, q.n_features * sizeof *x);
    return DROVE_OK;
}

static drove_status read_examples(reading *r)
{
    drove_storage *s = r->s;
    const size_t row = r->to->row;
    if (s->x_kind == DROVE_X_CSR) return read_pairs(r, s->row_start, s->value, s->index);
    if (s->x_kind == DROVE_X_QUANT && s->quant->index_bits != 0)
        return read_pairs(r, s->quant->row_start, s->quant->value, s->quant->index);
    const size_t row_bytes = r->t->q.row_bytes;
    if (r->t->padded != NULL)
        return read_part(r, r->t->value, r->first, r->n, row_bytes, r->t->padded);
    char *x = s->x_kind == DROVE_X_QUANT ? s->quant->value : (char *)s->x_f32;
    return read_part(r, r->t->value, r->first, r->n, row_bytes, x + row * row_bytes);
}

static drove_status read_lists(reading *r)
{
    drove_storage *s = r->s;
    const uint64_t *before = r->b->first_label;
    DROVE_TRY(read_starts(r, r->t->label_start, before, r->to->label, s->label_start + r->to->row));
    return read_part(r, r->t->label, before[r->block], drove__blocks_labels(r->b, r->block),
                     sizeof *s->label, s->label + r->to->label);
}

static drove_status read_targets(reading *r)
{
    drove_storage *s = r->s;
    if (s->y_kind == DROVE_Y_LABELS) return read_lists(r);
    void *into = s->y_kind == DROVE_Y_CLASS ? (void *)(s->y_class + r->to->row)
                                            : (void *)(s->y_value + r->to->row);
    return read_part(r, r->t->target, r->first, r->n, sizeof(int32_t), into);
}

static drove_status check_sum(const reading *r)
{
    const quant_tensors *t = r->t;
    const uint64_t found = drove__checksum_value(t->sum);
    if (found == t->block_sum[r->block]) return DROVE_OK;
    return drove__fail(DROVE_E_DATA,
                       "%s: damaged: block %zu (rows %zu to %zu): expected checksum %016llx, found "
                       "%016llx",
                       r->b->path, r->block, r->first + 1, r->first + r->n,
                       (unsigned long long)t->block_sum[r->block], (unsigned long long)found);
}

static drove_status read_rows(reading *r, drove_place_in *to)
{
    drove__checksum_reset(r->t->sum);
    DROVE_TRY(read_examples(r));
    DROVE_TRY(read_targets(r));
    DROVE_TRY(check_sum(r));
    if (r->is_elsewhere)
        return drove__fail(
            DROVE_E_DATA, "%s: rows %zu to %zu: they begin elsewhere than when the file was opened",
            r->b->path, r->first + 1, r->first + r->n);
    if (r->t->padded != NULL)
        DROVE_TRY(take_padded(r, r->s->x_f32 + r->to->row * r->s->n_features));
    return drove__blocks_check_rows(r->b, r->s, r->first, r->n, false, to);
}

static drove_status read_block(const drove_blocks *b, size_t block, drove_storage *into,
                               drove_place_in *to)
{
    reading r = {.b = b,
                 .t = b->impl,
                 .block = block,
                 .first = block * b->block_rows,
                 .n = drove__blocks_rows(b, block),
                 .s = into,
                 .to = to};
    drove_status status = read_rows(&r, to);
    DROVE_TRY(drove__blocks_check_identity(b)); /* which also explains what was wrong */
    return status;
}

static void expect_part(const drove_blocks *b, uint64_t tensor, uint64_t before, uint64_t n,
                        size_t size_bytes)
{
    (void)posix_fadvise(b->fd, (off_t)(tensor + before * size_bytes), (off_t)(n * size_bytes),
                        POSIX_FADV_WILLNEED);
}

/* The numbers, which are most of it. */
static void expect_block(const drove_blocks *b, size_t block, drove_storage *into,
                         const drove_place_in *to, bool is_late)
{
    const quant_tensors *t = b->impl;
    (void)into, (void)to, (void)is_late;
    const uint64_t n = drove__blocks_stored(b, block);
    if (t->q.index_bits == 0) {
        expect_part(b, t->value, block * b->block_rows, drove__blocks_rows(b, block),
                    t->q.row_bytes);
        return;
    }
    expect_part(b, t->value, b->first_stored[block], n, drove__number_size(t->q.number));
    expect_part(b, t->index, b->first_stored[block], n, t->q.index_bits / 8);
}

/* ---- floats as they are ---- */

/* Places instead of differences, and no scaling to remember. */
static bool holds_floats(const drove_blocks *b)
{
    const drove_quant *q = b->shape->quant;
    return q->number == DROVE_F32 && (q->index_bits == 0 || q->index_bits == 32) &&
           b->shape->scaling == DROVE_SCALE_NONE && b->shape->factor == NULL;
}

static drove_status prefer_floats(drove_blocks *b)
{
    quant_tensors *t = b->impl;
    drove_storage *s = b->shape;
    if (!holds_floats(b)) return DROVE_OK;
    if (t->q.index_bits != 0) {
        s->value = malloc(sizeof *s->value); /* a shape that has it has values */
        if (s->value == NULL) return drove__fail_nomem(b->path, sizeof *s->value);
        s->x_kind = DROVE_X_CSR;
        return DROVE_OK;
    }
    if (t->q.row_bytes != s->n_features * sizeof(float)) {
        t->padded = drove__alloc(b->block_rows, t->q.row_bytes);
        if (t->padded == NULL) return drove__fail_nomem(b->path, b->block_rows * t->q.row_bytes);
    }
    s->x_kind = DROVE_X_F32;
    return DROVE_OK;
}

/* ---- opening ---- */

static uint64_t offset_of(const drove_safetensors *file, const char *name)
{
    const drove_tensor *t = drove__safetensors_find(file, name);
    return t != NULL ? file->offset[t - file->tensor] : 0;
}

static void find_tensors(const drove_safetensors *file, quant_tensors *t)
{
    t->value = offset_of(file, "value");
    t->index = offset_of(file, "index");
    t->row_start = offset_of(file, "row_start");
    t->target = offset_of(file, "target");
    t->label_start = offset_of(file, "label_start");
    t->label = offset_of(file, "label");
}

typedef struct starts { /* n_rows + 1 of them in the file */
    uint64_t *before;   /* [n_blocks + 1] the first of each block */
    uint64_t last, longest;
    bool ascends;
} starts;

static void see_starts(const drove_blocks *b, size_t row, const uint64_t *start, size_t n,
                       starts *s)
{
    for (size_t i = 0; i < n; i++) {
        s->ascends = s->ascends && start[i] >= s->last && (row + i > 0 || start[i] == 0);
        if (start[i] - s->last > s->longest) s->longest = start[i] - s->last;
        if ((row + i) % b->block_rows == 0) s->before[(row + i) / b->block_rows] = start[i];
        s->last = start[i];
    }
    s->before[b->n_blocks] = s->last;
}

/* The caller frees s->before. */
static drove_status scan_starts(const drove_blocks *b, uint64_t tensor, starts *s)
{
    uint64_t *start = drove__grow(NULL, STARTS, sizeof *start);
    drove_status status = DROVE_OK;
    *s = (starts){.before = calloc(b->n_blocks + 1, sizeof *s->before), .ascends = true};
    if (start == NULL || s->before == NULL) status = drove__fail_nomem("blocks", b->n_blocks * 8);
    for (size_t row = 0, n; status == DROVE_OK && row <= b->n_rows; row += n) {
        n = b->n_rows + 1 - row < STARTS ? b->n_rows + 1 - row : STARTS;
        status = drove__blocks_read_at(b, tensor + row * sizeof *start, start, n * sizeof *start);
        if (status == DROVE_OK) see_starts(b, row, start, n, s);
    }
    free(start);
    return status;
}

static drove_status find_rows(drove_blocks *b)
{
    const quant_tensors *t = b->impl;
    starts s;
    if (t->q.index_bits == 0) return DROVE_OK;
    drove_status status = scan_starts(b, t->row_start, &s);
    b->first_stored = s.before;
    DROVE_TRY(status);
    b->shape->longest_row = (size_t)s.longest;
    if (s.ascends && s.last == t->q.n_stored) return DROVE_OK;
    return drove__fail(DROVE_E_DATA, "the starts of the rows do not ascend");
}

static drove_status find_labels(drove_blocks *b, const drove_safetensors *file)
{
    const quant_tensors *t = b->impl;
    starts s;
    if (b->shape->y_kind != DROVE_Y_LABELS) return DROVE_OK;
    drove_status status = scan_starts(b, t->label_start, &s);
    b->first_label = s.before;
    DROVE_TRY(status);
    if (!s.ascends) return drove__fail(DROVE_E_DATA, "the rows' first labels do not ascend");
    return drove__safetensors_want(file, "label", DROVE_T_U32, (size_t)s.last, NULL);
}

static drove_status copy_sums(const drove_blocks *b, const drove_safetensors *file)
{
    quant_tensors *t = b->impl;
    const size_t size_bytes = b->n_blocks * sizeof *t->block_sum;
    t->block_sum = malloc(size_bytes);
    if (t->block_sum == NULL) return drove__fail_nomem("checksums", size_bytes);
    memcpy(t->block_sum, drove__safetensors_find(file, DROVE_QUANT_BLOCKS)->bytes, size_bytes);
    return drove__checksum_begin(&t->sum);
}

static drove_status find_blocks(drove_blocks *b, const drove_quant_file *f)
{
    quant_tensors *t = b->impl;
    find_tensors(&f->file, t);
    t->q = *b->shape->quant;
    b->n_rows = b->shape->n_rows;
    b->block_rows = f->block_rows;
    b->n_blocks = (b->n_rows + b->block_rows - 1) / b->block_rows;
    DROVE_TRY(copy_sums(b, &f->file));
    DROVE_TRY(find_rows(b));
    return find_labels(b, &f->file);
}

/* What is wrong is said of the file. */
static drove_status of_file(const drove_blocks *b, drove_status status)
{
    if (status != DROVE_OK) drove__fail_in(status, "%s", b->path);
    return status;
}

static drove_status read_file(drove_blocks *b, drove_quant_file *f, const drove_spec *spec)
{
    DROVE_TRY(of_file(b, drove__quant_file_describe(f, spec)));
    DROVE_TRY(drove__storage_check_description(f->s, b->path));
    DROVE_TRY(drove__quant_check_scale(f->q, b->path));
    return of_file(b, find_blocks(b, f));
}

static drove_status open_file(drove_blocks *b, const drove_spec *spec)
{
    drove_quant_file f = {.path = b->path};
    drove_status status = drove__quant_file_open(&f, false);
    drove__storage_release(b->shape);
    b->shape = f.s;
    if (status == DROVE_OK) status = read_file(b, &f, spec);
    drove__safetensors_fini(&f.file);
    return status;
}

static const drove_blocks_ops ops = {.name = "quant",
                                     .read = read_block,
                                     .expect = expect_block,
                                     .prefer_floats = prefer_floats,
                                     .close = close_file};

drove_status drove__quant_open(const drove_spec *spec, drove_blocks **out)
{
    drove_blocks *b;
    *out = NULL;
    DROVE_TRY(drove__quant_refuse_keys(spec, false));
    DROVE_TRY(drove__blocks_create(spec->arg[0], &ops, &b));
    b->impl = calloc(1, sizeof(quant_tensors));
    drove_status status =
        b->impl != NULL ? open_file(b, spec) : drove__fail_nomem(b->path, sizeof(quant_tensors));
    if (status != DROVE_OK) {
        drove__blocks_close(b);
        return status;
    }
    *out = b;
    return DROVE_OK;
}

drove_status drove__quant_can_open(const drove_spec *spec, bool *can)
{
    drove_reader *r;
    struct stat about;
    *can = false;
    if (drove__spec_get(spec, "from", NULL) != NULL || spec->n_args != 1) return DROVE_OK;
    /* What looking into would use up: a pipe, or standard input. */
    if (strcmp(spec->arg[0], "-") == 0) return DROVE_OK;
    if (stat(spec->arg[0], &about) == 0 && !S_ISREG(about.st_mode)) return DROVE_OK;
    DROVE_TRY(drove__reader_open(spec->arg[0], &r));
    *can = drove__reader_plain_bytes(r) != UINT64_MAX;
    drove__reader_close(r);
    return DROVE_OK;
}
