/* table/encode.c - rows of a scanned table -> features, block by block, by several threads.
 *
 * A table of numbers alone, none missing, is its raw words: nothing is copied then.
 */
#include "table/table.h"

#include "base/mem.h"
#include "base/sort.h"
#include "table/parallel.h"

#include <math.h>
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
    /* Columns from here on that are numbers without bins and levels, one after the other in the raw
     * words
     * and in the features. */
    size_t n_bare;
} encoding_column;

typedef struct sparse_block { /* rows of a block, sparse: from `first` on in index and value */
    size_t first, n;
} sparse_block;

enum { MONTHS = 12, DAYS = 31, WEEKDAYS = 7, HOURS = 24 };

/* Of each part of a date the point of a circle, sine and cosine; filled once, as dates are many. */
typedef struct cycles {
    float month[MONTHS][2], day[DAYS][2], weekday[WEEKDAYS][2], hour[HOURS][2];
} cycles;

typedef struct encoding {
    drove_known_table *known;
    encoding_column *column; /* [n_columns] those with features, in their order */
    double *centre;          /* [n_columns] theirs */
    size_t n_columns;
    size_t *place; /* [n_rows] where a row goes, or NO_ROW; NULL: to its own number */
    drove_encoded *out;
    sparse_block *sparse; /* [n_blocks]; NULL: dense */
    cycles cycle;
} encoding;

typedef struct sink { /* one row */
    float *x;         /* dense, zeroed; NULL: sparse */
    uint32_t *index;  /* the next features of the row */
    float *value;
} sink;

/* Features of a row come in ascending order. */
static inline void put(sink *s, size_t feature, float value)
{
    if (s->x != NULL) {
        s->x[feature] = value;
        return;
    }
    *s->index++ = (uint32_t)feature;
    *s->value++ = value;
}

/* ---- columns ---- */

static void fill_cycle(float (*at)[2], unsigned period)
{
    for (unsigned i = 0; i < period; i++) {
        const double angle = 2 * 3.14159265358979323846 * i / period;
        at[i][0] = (float)sin(angle);
        at[i][1] = (float)cos(angle);
    }
}

static void put_point(sink *s, size_t feature, const float at[2])
{
    put(s, feature, at[0]);
    put(s, feature + 1, at[1]);
}

/* 1 at the level that the number is, if it is one. */
static void put_level(sink *s, const drove_column *c, double value)
{
    size_t low = 0, high = c->levels.n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (c->levels.value[middle] < value) low = middle + 1;
        else high = middle;
    }
    if (low < c->levels.n && c->levels.value[low] == value)
        put(s, c->first_feature + 1 + c->bins.n + low, 1);
}

/* The number, and the part of each bin that lies below it. */
static void put_number(sink *s, const drove_column *c, double value)
{
    put(s, c->first_feature, (float)(value - c->centre));
    for (size_t i = 0; i < c->bins.n && value > c->bins.edge[i]; i++) {
        float part = 1;
        if (value < c->bins.edge[i + 1])
            part = (float)((value - c->bins.edge[i]) / (c->bins.edge[i + 1] - c->bins.edge[i]));
        put(s, c->first_feature + 1 + i, part);
    }
}

static void put_date(sink *s, const cycles *cycle, const drove_column *c, double seconds)
{
    size_t f = c->first_feature;
    drove_date date = drove__date_of((int64_t)seconds);
    const double year_centre = drove__year_centre(c);
    put(s, f, (float)(seconds / 86400 - c->centre));
    put(s, f + 1, (float)(date.year - year_centre));
    put_point(s, f + 2, cycle->month[date.month - 1]);
    put_point(s, f + 4, cycle->day[date.day - 1]);
    put_point(s, f + 6, cycle->weekday[date.weekday]);
    if (c->has_time) put_point(s, f + 8, cycle->hour[date.hour]);
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
static bool put_cell(sink *s, const cycles *cycle, const encoding_column *ec, uint32_t raw,
                     double value, uint32_t **word)
{
    const drove_column *c = ec->column;
    bool is_missing;
    switch (c->type) {
    case DROVE_COLUMN_NUMBER:
        is_missing = isnan(value);
        put_number(s, c, is_missing ? c->fill : value);
        if (c->levels.n > 0 && !is_missing)
            put_level(s, c, c->is_wide ? value : (double)(float)value);
        return is_missing;
    case DROVE_COLUMN_BOOLEAN:
        is_missing = isnan(value);
        if ((is_missing ? c->fill : value) != 0) put(s, c->first_feature, 1);
        return is_missing;
    case DROVE_COLUMN_DATE:
        is_missing = isnan(value);
        put_date(s, cycle, c, is_missing ? c->fill : value);
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

/* By its bits, which vectorises. */
static bool is_nan(uint32_t raw)
{
    return (raw & 0x7fffffffu) > 0x7f800000u;
}

/* Puts up to n numbers, those before the first that is missing; returns how many. */
static size_t put_bare(sink *s, size_t feature, const uint32_t *raw, const double *centre, size_t n)
{
    float *value = s->x != NULL ? s->x + feature : s->value;
    bool has_nan = false;
    for (size_t i = 0; i < n; i++) has_nan |= is_nan(raw[i]);
    if (has_nan) {
        n = 0;
        while (!is_nan(raw[n])) n++;
    }
    for (size_t i = 0; i < n; i++) value[i] = (float)((double)drove__raw_float(raw[i]) - centre[i]);
    if (s->x != NULL) return n;
    for (size_t i = 0; i < n; i++) s->index[i] = (uint32_t)(feature + i);
    s->index += n;
    s->value += n;
    return n;
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
        sparse_block *sparse = e->sparse != NULL ? &e->sparse[item] : NULL;
        const size_t at = sparse != NULL ? sparse->first + sparse->n : 0;
        sink s = {0};
        if (sparse == NULL) s.x = e->out->x + place * n_features;
        else s.index = e->out->index + at, s.value = e->out->value + at;
        for (size_t i = 0; i < e->n_columns; i++) {
            const encoding_column *ec = &e->column[i];
            const drove_column *c = ec->column;
            const size_t n_put =
                put_bare(&s, c->first_feature, raw + ec->from->slot, e->centre + i, ec->n_bare);
            if (n_put > 0) {
                i += n_put - 1;
                continue;
            }
            const uint32_t cell = raw[ec->from->slot];
            const double *wide = t->wide[ec->from->slot];
            const double value = wide != NULL ? wide[row] : (double)drove__raw_float(cell);
            bool is_missing = put_cell(&s, &e->cycle, ec, cell, value, &word);
            if (is_missing && c->has_missing) put(&s, c->first_feature + c->n_features - 1, 1);
        }
        if (sparse == NULL) continue;
        e->out->row_start[place + 1] = (size_t)(s.index - e->out->index) - at;
        sparse->n += e->out->row_start[place + 1];
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

/* Features of a row that a column puts at most; words come on top. */
static size_t features_most(const drove_column *c)
{
    switch (c->type) {
    case DROVE_COLUMN_NUMBER: return 1 + c->bins.n + (c->levels.n > 0) + c->has_missing;
    case DROVE_COLUMN_BOOLEAN: return 1 + (size_t)c->has_missing;
    case DROVE_COLUMN_DATE: return c->n_features;
    case DROVE_COLUMN_CATEGORY:
    case DROVE_COLUMN_HASHED: return 1; /* a value, or that it is missing */
    default: return c->has_missing;
    }
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
        if (!is_plain || ec->from->is_wide || c->bins.n > 0 || c->levels.n > 0 || c->has_missing ||
            c->centre != 0 || t->count[from].n_missing > 0 || ec->from->slot != i)
            return false;
    }
    return true;
}

static drove_status encode(encoding *e, const bool *keep, size_t n_kept)
{
    drove_known_table *known = e->known;
    drove_table *t = &known->table;
    const drove_schema *schema = known->schema;

    fill_cycle(e->cycle.month, MONTHS);
    fill_cycle(e->cycle.day, DAYS);
    fill_cycle(e->cycle.weekday, WEEKDAYS);
    fill_cycle(e->cycle.hour, HOURS);

    /* the columns with features, and a place for each row that is kept */
    e->column = calloc(schema->n_columns, sizeof *e->column);
    e->centre = drove__grow(NULL, schema->n_columns, sizeof *e->centre);
    if (e->column == NULL || e->centre == NULL)
        return drove__fail_nomem("columns", schema->n_columns);
    for (size_t i = 0; i < schema->n_columns; i++) {
        if (!drove__column_is_used(&schema->column[i])) continue;
        encoding_column *ec = &e->column[e->n_columns++];
        ec->column = &schema->column[i];
        ec->from = &known->table.column[known->source[i]];
        if (ec->column->type == DROVE_COLUMN_CATEGORY) DROVE_TRY(index_values(ec));
    }

    for (size_t i = e->n_columns; i-- > 0;) {
        encoding_column *ec = &e->column[i];
        const drove_column *c = ec->column;
        e->centre[i] = c->centre;
        if (c->type != DROVE_COLUMN_NUMBER || t->wide[ec->from->slot] != NULL || c->bins.n > 0 ||
            c->levels.n > 0)
            continue;
        ec->n_bare = 1;
        if (i + 1 < e->n_columns && ec[1].from->slot == ec->from->slot + 1 &&
            ec[1].column->first_feature == c->first_feature + 1)
            ec->n_bare += ec[1].n_bare;
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

    /* Of sparse ones a block's go to where they are if no block before has fewer features than its
     * columns may have.  Memory that is reserved beyond them is never touched. */
    size_t n = 0, n_per_row = 0;
    for (size_t i = 0; i < e->n_columns; i++) n_per_row += features_most(e->column[i].column);
    out->row_start = calloc(n_kept + 1, sizeof *out->row_start);
    e->sparse = calloc(t->n_blocks, sizeof *e->sparse);
    if (out->row_start == NULL || e->sparse == NULL)
        return drove__fail_nomem("sparse rows", n_kept * sizeof *out->row_start);
    for (size_t b = 0; b < t->n_blocks; b++) {
        e->sparse[b].first = n;
        n += t->block[b].n_rows * n_per_row + t->block[b].n_words;
    }
    out->index = drove__grow(NULL, n, sizeof *out->index);
    out->value = drove__grow(NULL, n, sizeof *out->value);
    if (out->index == NULL || out->value == NULL)
        return drove__fail_nomem("sparse rows", n * sizeof *out->value);
    drove__table_run(t->n_threads, t->n_blocks, encode_block, e);

    /* row_start from the counts, and the blocks' rows one after the other */
    n = 0;
    for (size_t i = 0; i < n_kept; i++) out->row_start[i + 1] += out->row_start[i];
    for (size_t b = 0; b < t->n_blocks; b++) {
        const sparse_block *from = &e->sparse[b];
        if (from->first != n) {
            memmove(out->index + n, out->index + from->first, from->n * sizeof *out->index);
            memmove(out->value + n, out->value + from->first, from->n * sizeof *out->value);
        }
        n += from->n;
    }
    uint32_t *index = drove__grow(out->index, n, sizeof *index);
    if (index != NULL) out->index = index;
    float *value = drove__grow(out->value, n, sizeof *value);
    if (value != NULL) out->value = value;
    return DROVE_OK;
}

drove_status drove__table_encode(drove_known_table *known, const bool *keep, size_t n_kept,
                                 drove_encoded *out)
{
    encoding e = {.known = known, .out = out};
    *out = (drove_encoded){0};
    drove_status status = encode(&e, keep, n_kept);
    for (size_t i = 0; e.column != NULL && i < e.n_columns; i++) free(e.column[i].slot);
    free(e.column);
    free(e.centre);
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
