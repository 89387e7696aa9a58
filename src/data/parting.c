/* data/parting.c - see parting.h. */
#include "data/parting.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/sort.h"

#include <stdlib.h>
#include <string.h>

/* ---- groups ---- */

typedef struct counted { /* a group of a view */
    uint64_t key;        /* of its value and the seed */
    size_t n_rows;
    uint32_t group;
} counted;

static int compare_keys(const void *a, const void *b)
{
    const counted *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return (x->group > y->group) - (x->group < y->group);
}

static int compare_sizes(const void *a, const void *b)
{
    const counted *x = a, *y = b;
    if (x->n_rows != y->n_rows) return x->n_rows > y->n_rows ? -1 : 1;
    return compare_keys(a, b);
}

/* The groups of which the view has rows, in the order of their keys; the caller frees *out. */
static drove_status count_groups(const drove_data *data, uint64_t seed, counted **out, size_t *n)
{
    const drove_parting *p = &data->storage->parting;
    counted *all = drove__grow(NULL, p->n_groups, sizeof *all);
    if (all == NULL) return drove__fail_nomem("groups", p->n_groups * sizeof *all);
    for (size_t g = 0; g < p->n_groups; g++) {
        uint64_t state = seed ^ (uint64_t)p->hash[g] * DROVE_SPLITMIX_STEP;
        all[g] = (counted){.key = drove__splitmix64(&state), .group = (uint32_t)g};
    }
    for (size_t i = 0; i < data->n_rows; i++) all[drove__data_group(data, i)].n_rows++;
    *n = 0;
    for (size_t g = 0; g < p->n_groups; g++)
        if (all[g].n_rows > 0) all[(*n)++] = all[g];
    qsort(all, *n, sizeof *all, compare_keys);
    *out = all;
    return DROVE_OK;
}

/* of_group[n_groups] -> of_row[n_rows of the view] */
static drove_status fold_groups(const drove_data *data, size_t n_folds, uint64_t seed,
                                uint32_t *fold)
{
    counted *all;
    size_t n;
    DROVE_TRY(count_groups(data, seed, &all, &n));
    drove_status status = DROVE_OK;
    size_t *n_rows = calloc(n_folds, sizeof *n_rows);
    uint32_t *of_group = drove__grow(NULL, data->storage->parting.n_groups, sizeof *of_group);
    if (n_rows == NULL || of_group == NULL) {
        status = drove__fail_nomem("folds", n_folds * sizeof *n_rows);
        goto end;
    }
    if (n < n_folds) {
        status = drove__fail(DROVE_E_SHAPE, "fold: expected at least %zu groups of rows, found %zu",
                             n_folds, n);
        goto end;
    }
    qsort(all, n, sizeof *all, compare_sizes);
    for (size_t k = 0; k < n; k++) {
        size_t least = 0;
        for (size_t f = 1; f < n_folds; f++)
            if (n_rows[f] < n_rows[least]) least = f;
        of_group[all[k].group] = (uint32_t)least;
        n_rows[least] += all[k].n_rows;
    }
    for (size_t i = 0; i < data->n_rows; i++) fold[i] = of_group[drove__data_group(data, i)];
end:
    free(all);
    free(n_rows);
    free(of_group);
    return status;
}

static drove_status hold_groups(const drove_data *data, size_t n_wanted, uint64_t seed,
                                bool *is_held)
{
    counted *all;
    size_t n, n_held = 0, n_taken = 0, smallest = 0;
    DROVE_TRY(count_groups(data, seed, &all, &n));
    bool *is_taken = calloc(data->storage->parting.n_groups, sizeof *is_taken);
    if (is_taken == NULL || n < 2) {
        free(all);
        free(is_taken);
        return n < 2 ? drove__fail(DROVE_E_SHAPE,
                                   "split: expected at least two groups of rows, found %zu", n)
                     : drove__fail_nomem("groups", n);
    }
    /* A group is taken if that brings the number of rows nearer to the one that is wanted. */
    for (size_t k = 0; k < n && n_taken + 1 < n; k++) {
        if (all[k].n_rows < all[smallest].n_rows) smallest = k;
        if (2 * n_held + all[k].n_rows > 2 * n_wanted) continue;
        is_taken[all[k].group] = true;
        n_held += all[k].n_rows;
        n_taken++;
    }
    if (n_taken == 0) is_taken[all[smallest].group] = true;
    for (size_t i = 0; i < data->n_rows; i++) is_held[i] = is_taken[drove__data_group(data, i)];
    free(all);
    free(is_taken);
    return DROVE_OK;
}

/* ---- any rows ---- */

/* Rows in a random order, class after class, are dealt out one to each fold in turn. */
static drove_status fold_drawn(const drove_data *data, size_t n_folds, uint64_t seed,
                               uint32_t *fold)
{
    const drove_storage *s = data->storage;
    const size_t n = data->n_rows;
    const size_t n_kinds = s->y_kind == DROVE_Y_CLASS && s->n_classes > 0 ? s->n_classes : 1;
    uint32_t *order = drove__grow(NULL, n, sizeof *order);
    size_t *next = calloc(n_kinds + 1, sizeof *next); /* number of the next row of a class */
    if (order == NULL || next == NULL) {
        free(order);
        free(next);
        return drove__fail_nomem("folds", n * sizeof *order);
    }
    drove_rng rng;
    drove__rng_seed(&rng, seed, DROVE_RNG_FOLDS, 0);
    for (size_t i = 0; i < n; i++) {
        const size_t k = n_kinds > 1 ? (size_t)s->y_class[drove__data_row(data, i)] : 0;
        order[i] = (uint32_t)i;
        next[k + 1]++;
    }
    for (size_t k = 1; k < n_kinds; k++) next[k] += next[k - 1];
    for (size_t i = n; i > 1; i--) {
        const size_t j = (size_t)drove__rng_below(&rng, i);
        const uint32_t row = order[j];
        order[j] = order[i - 1];
        order[i - 1] = row;
    }
    for (size_t i = 0; i < n; i++) {
        const size_t k = n_kinds > 1 ? (size_t)s->y_class[drove__data_row(data, order[i])] : 0;
        fold[order[i]] = (uint32_t)(next[k]++ % n_folds);
    }
    free(order);
    free(next);
    return DROVE_OK;
}

drove_status drove__data_folds(const drove_data *data, size_t n_folds, uint64_t seed,
                               uint32_t *fold)
{
    const size_t n = data->n_rows;
    if (n < n_folds)
        return drove__fail(DROVE_E_SHAPE, "fold: expected at least %zu rows, found %zu", n_folds,
                           n);
    if (data->storage->parting.group != NULL) return fold_groups(data, n_folds, seed, fold);
    if (!data->storage->parting.is_timed) return fold_drawn(data, n_folds, seed, fold);
    for (size_t i = 0; i < n; i++) fold[i] = (uint32_t)((uint64_t)i * n_folds / n);
    return DROVE_OK;
}

drove_status drove__parting_hold(const drove_data *data, size_t n_wanted, uint64_t seed,
                                 bool *is_held, size_t *n_held)
{
    if (data->storage->parting.group != NULL) {
        DROVE_TRY(hold_groups(data, n_wanted, seed, is_held));
    } else {
        for (size_t i = data->n_rows - n_wanted; i < data->n_rows; i++) is_held[i] = true;
    }
    *n_held = 0;
    for (size_t i = 0; i < data->n_rows; i++) *n_held += is_held[i];
    return DROVE_OK;
}

/* ---- making ---- */

drove_status drove__parting_copy(const drove_data *from, drove_parting *to)
{
    const drove_parting *p = &from->storage->parting;
    to->is_timed = p->is_timed;
    if (p->group == NULL) return DROVE_OK;
    to->group = drove__grow(NULL, from->n_rows, sizeof *to->group);
    to->hash = drove__grow(NULL, p->n_groups, sizeof *to->hash);
    if (to->group == NULL || to->hash == NULL)
        return drove__fail_nomem("groups", from->n_rows * sizeof *to->group);
    to->n_groups = p->n_groups;
    memcpy(to->hash, p->hash, p->n_groups * sizeof *to->hash);
    for (size_t i = 0; i < from->n_rows; i++) to->group[i] = drove__data_group(from, i);
    return DROVE_OK;
}

/* A row without a value has a hash of its own number. */
static uint32_t hash_of_row(size_t row)
{
    uint64_t state = row;
    return (uint32_t)(drove__splitmix64(&state) >> 32);
}

drove_status drove__parting_of(const uint32_t *key, size_t n_rows, drove_parting *out)
{
    size_t n = 0, n_values;
    uint32_t *group = drove__grow(NULL, n_rows, sizeof *group);
    uint32_t *hash = drove__grow(NULL, n_rows, sizeof *hash);
    if (group == NULL || hash == NULL) {
        free(group);
        free(hash);
        return drove__fail_nomem("groups", 2 * n_rows * sizeof *group);
    }
    for (size_t i = 0; i < n_rows; i++)
        if (key[i] != 0) hash[n++] = key[i];
    qsort(hash, n, sizeof *hash, drove__compare_u32);
    n_values = 0;
    for (size_t i = 0; i < n; i++)
        if (i == 0 || hash[i] != hash[i - 1]) hash[n_values++] = hash[i];
    n = n_values;
    for (size_t i = 0; i < n_rows; i++) {
        if (key[i] == 0) {
            group[i] = (uint32_t)n;
            hash[n++] = hash_of_row(i);
        } else {
            const uint32_t *at = bsearch(&key[i], hash, n_values, sizeof *hash, drove__compare_u32);
            group[i] = (uint32_t)(at - hash);
        }
    }
    *out = (drove_parting){.is_timed = out->is_timed, .group = group, .hash = hash, .n_groups = n};
    return DROVE_OK;
}
