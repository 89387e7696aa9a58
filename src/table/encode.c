/* table/encode.c - rows of a scanned table -> features, block by block, by several threads.
 *
 * A table of numbers alone, none missing, is its raw words: nothing is copied then.
 */
#include "table/table.h"

#include "base/mem.h"
#include "base/sort.h"
#include "table/parallel.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define NO_ROW SIZE_MAX

typedef struct value_slot { /* of a table from hashes to places in column->value; hash 0: free */
    uint32_t hash, place;
} value_slot;

typedef struct encoding_column {
    const drove_column *column;
    const drove_scan_column *from;
    value_slot *slot; /* [n_slots], a power of two; of a category */
    size_t n_slots;
} encoding_column;

typedef struct sparse_block { /* rows of a block, sparse */
    uint32_t *index;
    float *value;
    size_t n, capacity;
} sparse_block;

typedef struct encoding {
    drove_known_table *known;
    encoding_column *column; /* [n_columns] those with features, in their order */
    size_t n_columns;
    size_t *place; /* [n_rows] where a row goes, or NO_ROW; NULL: to its own number */
    drove_encoded *out;
    sparse_block *sparse;   /* [n_blocks]; NULL: dense */
    atomic_bool has_failed; /* not enough memory */
} encoding;

typedef struct sink { /* one row */
    float *x;         /* dense, zeroed; NULL: sparse */
    sparse_block *sparse;
    encoding *e;
} sink;

/* Features of a row come in ascending order. */
static void put(sink *s, size_t feature, float value)
{
    sparse_block *b = s->sparse;
    if (s->x != NULL) {
        s->x[feature] = value;
        return;
    }
    if (b->n == b->capacity) {
        size_t wanted = 2 * b->capacity + 1024;
        uint32_t *index = drove__grow(b->index, wanted, sizeof *index);
        if (index != NULL) b->index = index;
        float *grown = drove__grow(b->value, wanted, sizeof *grown);
        if (grown != NULL) b->value = grown;
        if (index == NULL || grown == NULL) {
            /* relaxed: joining orders it */
            atomic_store_explicit(&s->e->has_failed, true, memory_order_relaxed);
            return;
        }
        b->capacity = wanted;
    }
    b->index[b->n] = (uint32_t)feature;
    b->value[b->n++] = value;
}

/* ---- columns ---- */

static void put_cycle(sink *s, size_t feature, unsigned at, unsigned period)
{
    double angle = 2 * 3.14159265358979323846 * at / period;
    put(s, feature, (float)sin(angle));
    put(s, feature + 1, (float)cos(angle));
}

/* The number, and the part of each bin that lies below it. */
static void put_number(sink *s, const drove_column *c, double value)
{
    put(s, c->first_feature, (float)(value - c->centre));
    for (size_t i = 0; i < c->n_bins && value > c->edge[i]; i++) {
        float part = 1;
        if (value < c->edge[i + 1])
            part = (float)((value - c->edge[i]) / (c->edge[i + 1] - c->edge[i]));
        put(s, c->first_feature + 1 + i, part);
    }
}

static void put_date(sink *s, const drove_column *c, double seconds)
{
    size_t f = c->first_feature;
    drove_date date = drove__date_of((int64_t)seconds);
    const double year_centre = drove__year_centre(c);
    put(s, f, (float)(seconds / 86400 - c->centre));
    put(s, f + 1, (float)(date.year - year_centre));
    put_cycle(s, f + 2, date.month - 1, 12);
    put_cycle(s, f + 4, date.day - 1, 31);
    put_cycle(s, f + 6, date.weekday, 7);
    if (c->has_time) put_cycle(s, f + 8, date.hour, 24);
}

/* Place of a category's value, or n_values. */
static size_t find_value(const encoding_column *ec, uint32_t hash)
{
    size_t mask = ec->n_slots - 1;
    for (size_t at = hash & mask; ec->slot[at].hash != 0; at = (at + 1) & mask) {
        if (ec->slot[at].hash == hash) return ec->slot[at].place;
    }
    return ec->column->n_values;
}

/* word[n] become places, each once. */
static void put_words(sink *s, const drove_column *c, uint32_t *word, size_t n)
{
    for (size_t i = 0; i < n; i++) word[i] &= c->n_hash - 1;
    if (n > 1) qsort(word, n, sizeof *word, drove__compare_u32);
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || word[i] != word[i - 1]) put(s, c->first_feature + word[i], 1);
    }
}

/* Puts a cell; returns whether it is missing. */
static bool put_cell(sink *s, const encoding_column *ec, uint32_t raw, double value,
                     uint32_t **word)
{
    const drove_column *c = ec->column;
    bool is_missing;
    switch (c->type) {
    case DROVE_COLUMN_NUMBER:
        is_missing = isnan(value);
        put_number(s, c, is_missing ? c->fill : value);
        return is_missing;
    case DROVE_COLUMN_BOOLEAN:
        is_missing = isnan(value);
        if ((is_missing ? c->fill : value) != 0) put(s, c->first_feature, 1);
        return is_missing;
    case DROVE_COLUMN_DATE:
        is_missing = isnan(value);
        put_date(s, c, is_missing ? c->fill : value);
        return is_missing;
    case DROVE_COLUMN_CATEGORY: {
        size_t place = find_value(ec, raw);
        if (raw != 0 && place < c->n_values) put(s, c->first_feature + place, 1);
        return raw == 0 || place == c->n_values;
    }
    case DROVE_COLUMN_HASHED:
        if (raw != 0) put(s, c->first_feature + (raw & (c->n_hash - 1)), 1);
        return raw == 0;
    case DROVE_COLUMN_TEXT:
        if (raw == 0) return false; /* a block without words has no memory for them */
        put_words(s, c, *word, raw);
        *word += raw;
        return false;
    default: return false;
    }
}

/* ---- rows ---- */

static void encode_block(void *context, size_t item, unsigned thread)
{
    encoding *e = context;
    const drove_table *t = &e->known->table;
    const drove_table_block *block = &t->block[item];
    size_t n_features = e->known->schema->n_features;
    uint32_t *word = block->word;
    (void)thread;
    for (uint64_t row = block->first_row; row < block->first_row + block->n_rows; row++) {
        const uint32_t *raw = t->raw + row * t->n_slots;
        size_t place = e->place != NULL ? e->place[row] : row;
        if (place == NO_ROW) { /* its words are passed over */
            for (size_t i = 0; i < e->n_columns; i++) {
                const uint32_t n_words = raw[e->column[i].from->slot];
                if (e->column[i].column->type == DROVE_COLUMN_TEXT && n_words > 0) word += n_words;
            }
            continue;
        }
        sink s = {.e = e};
        if (e->sparse != NULL) s.sparse = &e->sparse[item];
        else s.x = e->out->x + place * n_features;
        size_t before = s.sparse != NULL ? s.sparse->n : 0;
        for (size_t i = 0; i < e->n_columns; i++) {
            const encoding_column *ec = &e->column[i];
            const drove_column *c = ec->column;
            const double *wide = t->wide[ec->from->slot];
            const uint32_t cell = raw[ec->from->slot];
            const double value = wide != NULL ? wide[row] : (double)drove__raw_float(cell);
            bool is_missing = put_cell(&s, ec, cell, value, &word);
            if (is_missing && c->has_missing) put(&s, c->first_feature + c->n_features - 1, 1);
        }
        if (s.sparse != NULL) e->out->row_start[place + 1] = s.sparse->n - before;
    }
}

/* ---- preparing ---- */

static drove_status index_values(encoding_column *ec)
{
    const drove_column *c = ec->column;
    ec->n_slots = 16;
    while (ec->n_slots < 4 * c->n_values) ec->n_slots *= 2;
    ec->slot = calloc(ec->n_slots, sizeof *ec->slot);
    if (ec->slot == NULL) return drove__fail_nomem("categories", ec->n_slots * sizeof *ec->slot);
    for (size_t i = 0; i < c->n_values; i++) {
        size_t at = c->hash[i] & (ec->n_slots - 1);
        while (ec->slot[at].hash != 0 && ec->slot[at].hash != c->hash[i])
            at = (at + 1) & (ec->n_slots - 1);
        if (ec->slot[at].hash == 0) ec->slot[at] = (value_slot){c->hash[i], (uint32_t)i};
    }
    return DROVE_OK;
}

/* True if the raw words are the features already. */
static bool is_raw(const encoding *e)
{
    const drove_table *t = &e->known->table;
    const drove_schema *schema = e->known->schema;
    if (e->place != NULL || schema->is_sparse || e->n_columns != t->n_slots) return false;
    for (size_t i = 0; i < e->n_columns; i++) {
        const encoding_column *ec = &e->column[i];
        const drove_column *c = ec->column;
        bool is_plain = c->type == DROVE_COLUMN_NUMBER || c->type == DROVE_COLUMN_BOOLEAN;
        size_t from = (size_t)(ec->from - t->column);
        if (!is_plain || ec->from->is_wide || c->n_bins > 0 || c->has_missing || c->centre != 0 ||
            t->count[from].n_missing > 0 || ec->from->slot != i)
            return false;
    }
    return true;
}

static drove_status encode(encoding *e, const bool *keep, size_t n_kept)
{
    drove_known_table *known = e->known;
    drove_table *t = &known->table;
    const drove_schema *schema = known->schema;

    /* the columns with features, and a place for each row that is kept */
    e->column = calloc(schema->n_columns, sizeof *e->column);
    if (e->column == NULL) return drove__fail_nomem("columns", schema->n_columns);
    for (size_t i = 0; i < schema->n_columns; i++) {
        if (!drove__column_is_used(&schema->column[i])) continue;
        encoding_column *ec = &e->column[e->n_columns++];
        ec->column = &schema->column[i];
        ec->from = &known->table.column[known->source[i]];
        if (ec->column->type == DROVE_COLUMN_CATEGORY) DROVE_TRY(index_values(ec));
    }

    if (keep != NULL) {
        const size_t n_rows = t->n_rows;
        size_t at = 0;
        e->place = drove__grow(NULL, n_rows, sizeof *e->place);
        if (e->place == NULL) return drove__fail_nomem("rows", n_rows * sizeof *e->place);
        for (size_t row = 0; row < n_rows; row++) e->place[row] = keep[row] ? at++ : NO_ROW;
    }

    if (is_raw(e)) {
        e->out->x = (float *)t->raw;
        t->raw = NULL;
        return DROVE_OK;
    }

    /* dense rows go straight to their places */
    drove_encoded *out = e->out;
    if (!schema->is_sparse) {
        size_t n_numbers;
        if (__builtin_mul_overflow(n_kept, schema->n_features, &n_numbers))
            n_numbers = SIZE_MAX / 8;
        out->x = drove__alloc(n_numbers, sizeof *out->x);
        if (out->x == NULL) return drove__fail_nomem("features", 4 * n_numbers);
        drove__table_run(t->n_threads, t->n_blocks, encode_block, e);
        return DROVE_OK;
    }

    /* sparse ones are made block by block */
    out->row_start = calloc(n_kept + 1, sizeof *out->row_start);
    e->sparse = calloc(t->n_blocks, sizeof *e->sparse);
    if (out->row_start == NULL || e->sparse == NULL)
        return drove__fail_nomem("sparse rows", n_kept * sizeof *out->row_start);
    drove__table_run(t->n_threads, t->n_blocks, encode_block, e);
    if (atomic_load_explicit(&e->has_failed, memory_order_relaxed))
        return drove__fail_nomem("sparse rows", sizeof(float));

    /* row_start from the counts, and the blocks' rows one after the other */
    size_t n = 0;
    for (size_t i = 0; i < n_kept; i++) out->row_start[i + 1] += out->row_start[i];
    for (size_t b = 0; b < t->n_blocks; b++) n += e->sparse[b].n;
    out->index = drove__grow(NULL, n, sizeof *out->index);
    out->value = drove__grow(NULL, n, sizeof *out->value);
    if (out->index == NULL || out->value == NULL)
        return drove__fail_nomem("sparse rows", n * sizeof *out->value);
    n = 0;
    for (size_t b = 0; b < t->n_blocks; b++) {
        const sparse_block *from = &e->sparse[b];
        if (from->n == 0) continue;
        memcpy(out->index + n, from->index, from->n * sizeof *out->index);
        memcpy(out->value + n, from->value, from->n * sizeof *out->value);
        n += from->n;
    }
    return DROVE_OK;
}

drove_status drove__table_encode(drove_known_table *known, const bool *keep, size_t n_kept,
                                 drove_encoded *out)
{
    encoding e = {.known = known, .out = out};
    *out = (drove_encoded){0};
    drove_status status = encode(&e, keep, n_kept);
    for (size_t i = 0; e.column != NULL && i < e.n_columns; i++) free(e.column[i].slot);
    for (size_t b = 0; e.sparse != NULL && b < known->table.n_blocks; b++) {
        free(e.sparse[b].index);
        free(e.sparse[b].value);
    }
    free(e.column);
    free(e.sparse);
    free(e.place);
    if (status == DROVE_OK) return DROVE_OK;
    drove__free(out->x);
    free(out->row_start);
    free(out->index);
    free(out->value);
    *out = (drove_encoded){0};
    return status;
}
