/* table/stats.c - numbers of the scanned columns: range, distinct values, median.  Declared in
 * table/table.h. */
#include "table/table.h"

#include "base/mem.h"
#include "base/sort.h"
#include "table/parallel.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { GROUP = 16 /* slots in a cache line */, CHUNK_ROWS = 2048, SET_SLOTS = 4096 };

typedef struct value_set { /* open addressing; 0 marks a free slot */
    uint32_t key[SET_SLOTS];
    bool has_zero;
} value_set;

typedef struct counting {
    const drove_table *table;
    const drove_scan_column **of_slot; /* [n_slots] */
    drove_slot_stats *stats;
    atomic_bool has_failed;
} counting;

static void add_distinct(value_set *set, drove_slot_stats *stats, uint32_t key)
{
    if (stats->n_distinct > DROVE_DISTINCT_MOST) return;
    if (key == 0) {
        stats->n_distinct += !set->has_zero;
        set->has_zero = true;
        return;
    }
    size_t at = (key * 0x9e3779b1u >> 16) % SET_SLOTS;
    for (; set->key[at] != 0; at = (at + 1) % SET_SLOTS) {
        if (set->key[at] == key) return;
    }
    set->key[at] = key;
    stats->n_distinct++;
}

/* Two different doubles have the same hash with probability 2^-32. */
static uint32_t hash_of_double(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (uint32_t)(bits * 0x9e3779b97f4a7c15u >> 32);
}

static void see_rows(const counting *c, size_t slot, size_t first, size_t n, value_set *set)
{
    const drove_table *t = c->table;
    drove_slot_stats *s = &c->stats[slot];
    const bool is_wide = c->of_slot[slot]->is_wide;
    if (!is_wide && !s->is_consecutive && s->n_distinct > DROVE_DISTINCT_MOST) {
        /* the rest of a slot of floats that has many values and does not count up */
        double sum = 0;
        size_t n_present = 0;
        for (size_t row = first; row < first + n; row++) {
            double value = (double)drove__raw_float(t->raw[row * t->n_slots + slot]);
            bool is_present = !isnan(value);
            sum += is_present ? value : 0;
            n_present += is_present;
        }
        s->sum += sum;
        s->n += n_present;
        return;
    }
    const double *wide = is_wide ? t->wide[slot] : NULL;
    const uint32_t *raw = t->raw + slot;
    const size_t step = t->n_slots;
    for (size_t row = first; row < first + n; row++) {
        if (t->left_out != NULL && t->left_out[row]) continue;
        const uint32_t bits = raw[row * step];
        const double value = wide != NULL ? wide[row] : (double)drove__raw_float(bits);
        if (isnan(value)) {
            s->is_consecutive = false;
            continue;
        }
        if (row > 0 && s->is_consecutive)
            s->is_consecutive = value == drove__table_value(t, slot, row - 1) + 1;

        if (s->n == 0) s->least = s->most = value;
        else if (value < s->least) s->least = value;
        else if (value > s->most) s->most = value;
        s->sum += value;
        s->n++;

        if (wide != NULL) s->is_rounded = s->is_rounded || (double)(float)value != value;
        add_distinct(set, s,
                     value == 0     ? 0
                     : wide != NULL ? hash_of_double(value)
                                    : bits); /* -0 is 0 */
    }
}

static void see_group(void *context, size_t group, unsigned thread)
{
    counting *c = context;
    const drove_table *t = c->table;
    size_t first = group * GROUP, end = first + GROUP < t->n_slots ? first + GROUP : t->n_slots;
    value_set *set = calloc(end - first, sizeof *set);
    (void)thread;
    if (set == NULL) {
        /* relaxed: joining orders it */
        atomic_store_explicit(&c->has_failed, true, memory_order_relaxed);
        return;
    }
    for (size_t slot = first; slot < end; slot++)
        c->stats[slot].is_consecutive = c->of_slot[slot]->scan == DROVE_SCAN_NUMBER;
    for (size_t row = 0; row < t->n_rows; row += CHUNK_ROWS) {
        size_t n = t->n_rows - row < CHUNK_ROWS ? t->n_rows - row : CHUNK_ROWS;
        for (size_t slot = first; slot < end; slot++) {
            drove_scan scan = c->of_slot[slot]->scan;
            if (scan == DROVE_SCAN_TEXT || scan == DROVE_SCAN_WORDS) continue;
            see_rows(c, slot, row, n, &set[slot - first]);
        }
    }
    free(set);
}

drove_status drove__table_stats(const drove_table *t, drove_slot_stats *stats)
{
    counting c = {.table = t, .stats = stats};
    c.of_slot = drove__grow(NULL, t->n_slots, sizeof *c.of_slot);
    if (c.of_slot == NULL) return drove__fail_nomem("columns", t->n_slots * sizeof *c.of_slot);
    for (size_t i = 0; i < t->n_columns; i++) {
        const drove_scan_column *column = &t->column[i];
        if (column->scan != DROVE_SCAN_SKIP && column->scan != DROVE_SCAN_LABEL)
            c.of_slot[column->slot] = column;
    }
    memset(stats, 0, t->n_slots * sizeof *stats);
    drove__table_run(t->n_threads, (t->n_slots + GROUP - 1) / GROUP, see_group, &c);
    free(c.of_slot);
    return atomic_load_explicit(&c.has_failed, memory_order_relaxed)
               ? drove__fail_nomem("columns", sizeof(value_set) * GROUP)
               : DROVE_OK;
}

/* ---- sorting ---- */

/* Sorts key[n] by 11 bits at a time, from the lowest; scratch[n]. */
static void sort_keys(uint32_t *key, uint32_t *scratch, size_t n)
{
    enum { BITS = 11, RADIX = 1 << BITS, PASSES = 3 };
    size_t place[RADIX];
    for (unsigned pass = 0; pass < PASSES; pass++) {
        unsigned shift = pass * BITS;
        size_t at = 0;
        memset(place, 0, sizeof place);
        for (size_t i = 0; i < n; i++) place[key[i] >> shift & (RADIX - 1)]++;
        for (size_t digit = 0; digit < RADIX; digit++) {
            size_t count = place[digit];
            place[digit] = at;
            at += count;
        }
        for (size_t i = 0; i < n; i++) scratch[place[key[i] >> shift & (RADIX - 1)]++] = key[i];
        memcpy(key, scratch, n * sizeof *key);
    }
}

/* key[n] and scratch[n] in one block of malloc. */
static drove_status allocate_keys(const drove_table *t, uint32_t **out)
{
    size_t n = t->n_rows < SIZE_MAX / 2 ? 2 * t->n_rows : SIZE_MAX;
    *out = drove__grow(NULL, n, sizeof **out);
    return *out != NULL ? DROVE_OK : drove__fail_nomem("values of a column", n * sizeof **out);
}

typedef struct sorted { /* a slot's values that are not missing, ascending */
    uint32_t *key;      /* of floats; NULL: */
    double *wide;
    size_t n;
} sorted;

/* The caller calls free_sorted. */
static drove_status sort_slot(const drove_table *t, const drove_scan_column *column, sorted *out)
{
    *out = (sorted){.n = 0};
    if (column->is_wide) {
        out->wide = drove__grow(NULL, t->n_rows, sizeof *out->wide);
        if (out->wide == NULL)
            return drove__fail_nomem("values of a column", t->n_rows * sizeof *out->wide);
        for (size_t row = 0; row < t->n_rows; row++) {
            out->wide[out->n] = t->wide[column->slot][row];
            out->n += !isnan(out->wide[out->n]);
        }
        drove__sort(out->wide, out->n);
        return DROVE_OK;
    }
    DROVE_TRY(allocate_keys(t, &out->key));
    for (size_t row = 0; row < t->n_rows; row++) {
        const uint32_t raw = t->raw[row * t->n_slots + column->slot];
        /* Ascends as the value does: floats with their sign bit turned, and all bits of negative
         * ones. */
        const uint32_t sign = (uint32_t)1 << 31;
        out->key[out->n] = (raw & sign) == 0 ? raw ^ sign : ~raw;
        out->n += !isnan(drove__raw_float(raw));
    }
    sort_keys(out->key, out->key + t->n_rows, out->n);
    return DROVE_OK;
}

static double sorted_at(const sorted *s, size_t i)
{
    if (s->key == NULL) return s->wide[i];
    const uint32_t sign = (uint32_t)1 << 31, key = s->key[i];
    return (double)drove__raw_float((key & sign) != 0 ? key ^ sign : ~key);
}

static void free_sorted(sorted *s)
{
    free(s->key);
    free(s->wide);
}

drove_status drove__table_median(const drove_table *t, const drove_scan_column *column, double *out)
{
    sorted s;
    DROVE_TRY(sort_slot(t, column, &s));
    *out = 0;
    if (s.n > 0) *out = (sorted_at(&s, (s.n - 1) / 2) + sorted_at(&s, s.n / 2)) / 2;
    free_sorted(&s);
    return DROVE_OK;
}

drove_status drove__table_quantiles(const drove_table *t, const drove_scan_column *column,
                                    size_t n_bins, double **edge, size_t *n_out)
{
    sorted s;
    size_t n_edges = 0;
    double *found = drove__grow(NULL, n_bins + 1, sizeof *found);
    if (found == NULL) return drove__fail_nomem("quantiles", (n_bins + 1) * sizeof *found);
    drove_status status = sort_slot(t, column, &s);
    if (status != DROVE_OK) {
        free(found);
        return status;
    }
    for (size_t i = 0; i <= n_bins && s.n > 0; i++) {
        const double x = sorted_at(&s, (s.n - 1) * i / n_bins);
        if (n_edges == 0 || x > found[n_edges - 1]) found[n_edges++] = x;
    }
    free_sorted(&s);
    *edge = found;
    *n_out = n_edges;
    return DROVE_OK;
}

drove_status drove__table_levels(const drove_table *t, const drove_scan_column *column,
                                 bool is_wide, size_t most, double **level, uint64_t **n_rows,
                                 size_t *n_out)
{
    size_t n = 0;
    double *value = drove__grow(NULL, most, sizeof *value);
    uint64_t *count = drove__grow(NULL, most, sizeof *count);
    if (value == NULL || count == NULL) {
        free(value);
        free(count);
        return drove__fail_nomem("levels", most * sizeof *value);
    }
    for (size_t row = 0; row < t->n_rows; row++) {
        const double cell = drove__table_value(t, column->slot, row);
        const double x = is_wide ? cell : (double)(float)cell;
        if (isnan(x)) continue;
        size_t low = 0, high = n;
        while (low < high) {
            const size_t middle = low + (high - low) / 2;
            if (value[middle] < x) low = middle + 1;
            else high = middle;
        }
        if (low < n && value[low] == x) {
            count[low]++;
            continue;
        }
        if (n == most) {
            free(value);
            free(count);
            value = NULL;
            count = NULL;
            n++;
            break;
        }
        memmove(value + low + 1, value + low, (n - low) * sizeof *value);
        memmove(count + low + 1, count + low, (n - low) * sizeof *count);
        value[low] = x + 0.0; /* not -0 */
        count[low] = 1;
        n++;
    }
    *level = value;
    *n_rows = count;
    *n_out = n;
    return DROVE_OK;
}

drove_status drove__table_count_distinct(const drove_table *t, size_t slot, uint64_t *out)
{
    uint32_t *hash;
    size_t n = 0;
    DROVE_TRY(allocate_keys(t, &hash));
    for (size_t row = 0; row < t->n_rows; row++) {
        uint32_t raw = t->raw[row * t->n_slots + slot];
        if (raw != 0) hash[n++] = raw;
    }
    sort_keys(hash, hash + t->n_rows, n);
    *out = n > 0;
    for (size_t i = 1; i < n; i++) *out += hash[i] != hash[i - 1];
    free(hash);
    return DROVE_OK;
}
