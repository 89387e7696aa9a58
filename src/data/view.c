/* data/view.c - views of a storage: copies one, holds examples of one out to judge a run by, and
 * releases it. */
#include "data/data.h"

#include "base/alive.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/sort.h"
#include "data/parting.h"
#include "data/scale.h"
#include "data/weights.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void drove_data_destroy(drove_data *data)
{
    if (data == NULL) return;
    DROVE_END(data, "data");
    drove__storage_release(data->storage);
    drove__free(data->shift);
    drove__free(data->factor);
    free(data->row);
    free(data->class_weight);
    free(data->spec);
    drove__alive_free(data, free);
}

/* The rows of a view in a random order of which n_drawn are drawn; both parts ascend. */
static void draw(const drove_data *data, size_t n_drawn, uint64_t seed, uint32_t *all)
{
    const size_t n = data->n_rows;
    drove_rng rng;
    drove__rng_seed(&rng, seed, DROVE_RNG_HOLD_OUT, 0);
    for (size_t i = 0; i < n; i++) all[i] = (uint32_t)drove__data_row(data, i);
    for (size_t i = 0; i < n_drawn; i++) { /* the first steps of a shuffle */
        size_t j = i + (size_t)drove__rng_below(&rng, n - i);
        uint32_t drawn = all[j];
        all[j] = all[i];
        all[i] = drawn;
    }
    qsort(all, n_drawn, sizeof *all, drove__compare_u32);
    qsort(all + n_drawn, n - n_drawn, sizeof *all, drove__compare_u32);
}

/* A second view of the storage, without rows. */
static drove_status view_again(const drove_data *data, drove_data **out)
{
    drove_data *view = calloc(1, sizeof *view);
    if (view == NULL) return drove__fail_nomem("data set", sizeof *view);
    view->storage = data->storage;
    /* Relaxed: `data` holds a reference already, so the count cannot reach 0 meanwhile. */
    atomic_fetch_add_explicit(&view->storage->n_views, 1, memory_order_relaxed);
    view->augment = data->augment;
    drove_status status = drove__scale_copy(data, view);
    if (status == DROVE_OK) status = drove__weights_copy(data, view);
    if (status == DROVE_OK) *out = view;
    else drove_data_destroy(view);
    return status;
}

drove_status drove__data_view(const drove_data *data, drove_data **out)
{
    drove_data *view;
    *out = NULL;
    DROVE_TRY(view_again(data, &view));
    view->n_rows = data->n_rows;
    if (data->row != NULL) {
        view->row = drove__grow(NULL, data->n_rows, sizeof *view->row);
        if (view->row == NULL) {
            drove_data_destroy(view);
            return drove__fail_nomem("rows", data->n_rows * sizeof *view->row);
        }
        memcpy(view->row, data->row, data->n_rows * sizeof *view->row);
    }
    *out = view;
    return DROVE_OK;
}

/* As drove__data_draw, of which hold_out differs in how the rows are found. */
static drove_status take_out(drove_data *data, size_t n_held, uint64_t seed, bool as_parted,
                             drove_data **out)
{
    const size_t n = data->n_rows;
    drove_data *held;
    bool *is_held = NULL;
    assert(n_held >= 1 && n_held < n);
    *out = NULL;
    if (as_parted) {
        is_held = calloc(n, sizeof *is_held);
        if (is_held == NULL) return drove__fail_nomem("validation examples", n);
        const drove_status status = drove__parting_hold(data, n_held, seed, is_held, &n_held);
        if (status != DROVE_OK) {
            free(is_held);
            return status;
        }
    }
    const size_t n_left = n - n_held;
    drove_status status = view_again(data, &held);
    if (status != DROVE_OK) {
        free(is_held);
        return status;
    }
    uint32_t *all = drove__grow(NULL, n, sizeof *all);
    uint32_t *left = drove__grow(NULL, n_left, sizeof *left);
    held->row = drove__grow(NULL, n_held, sizeof *held->row);
    if (all == NULL || left == NULL || held->row == NULL) {
        free(all);
        free(left);
        free(is_held);
        drove_data_destroy(held);
        return drove__fail_nomem("validation examples", 2 * n * sizeof *all);
    }
    if (is_held == NULL) {
        draw(data, n_held, seed, all);
    } else {
        size_t at = 0, behind = n_held;
        for (size_t i = 0; i < n; i++)
            all[is_held[i] ? at++ : behind++] = (uint32_t)drove__data_row(data, i);
    }
    free(is_held);
    memcpy(held->row, all, n_held * sizeof *all);
    memcpy(left, all + n_held, n_left * sizeof *all);
    free(all);
    free(data->row);
    free(data->spec); /* the rows are no more those that its origin gives */
    data->row = left;
    data->spec = NULL;
    data->n_rows = n_left;
    held->n_rows = n_held;
    *out = held;
    return DROVE_OK;
}

drove_status drove__data_draw(drove_data *data, size_t n_held, uint64_t seed, drove_data **out)
{
    return take_out(data, n_held, seed, false, out);
}

drove_status drove__data_hold_out(drove_data *data, size_t n_held, uint64_t seed, drove_data **out)
{
    return take_out(data, n_held, seed, drove__data_is_parted(data), out);
}
