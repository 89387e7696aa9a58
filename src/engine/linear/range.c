/* engine/linear/range.c - how large parameters become, found out by a short training run in floats.
 *
 * As many quantised examples as an epoch has are walked in order (PILOT_NUMBERS of their numbers at
 * most; those of a sample several times) by one worker with a float model, from where the run
 * starts; the range is RANGE_MARGIN times the largest magnitude of any weight at the end, or the
 * largest at the start if that is more.  Later epochs move weights further, but ever more slowly;
 * what still does not fit is saturated and counted.
 */
#include "base/mem.h"
#include "engine/linear/problem.h"

#include <math.h>
#include <string.h>
#include <stdlib.h>

static const double RANGE_MARGIN = 2.0;
static const size_t PILOT_NUMBERS = (size_t)1 << 27, CALL_ROWS = 64;

static double largest(const drove_engine_shared *p, const uint32_t *words)
{
    double most = 0.0;
    for (size_t i = 0; i < p->layout.n_numbers; i++) {
        float w; /* the pilot's words are floats */
        memcpy(&w, words + i, sizeof w);
        if (isfinite(w)) most = fmax(most, fabs((double)w));
    }
    return most;
}

/* pilot: with a model of floats.  Each call of steps makes whole updates: row[call_rows]. */
static drove_status try_out(const drove_engine_shared *pilot, uint32_t *words, double eta)
{
    size_t call_rows =
        pilot->each > CALL_ROWS ? pilot->each : CALL_ROWS / pilot->each * pilot->each;
    drove_engine *e = NULL;
    drove_engine_options opt = {.model = pilot->model,
                                .kernels = pilot->kernels,
                                .data = pilot->data,
                                .max_rows = call_rows,
                                .shared = pilot};
    uint32_t *row = drove__alloc(call_rows, sizeof *row);
    if (row == NULL) return drove__fail_nomem("rows of a batch", call_rows * sizeof *row);
    const drove_params live = {.words = words};
    const size_t per_row =
        pilot->quant->index_bits == 0 ? pilot->n_features : (size_t)pilot->stored_per_row + 1;
    size_t n = PILOT_NUMBERS / (per_row * pilot->n_outputs) + 1;
    if (n > pilot->n_rows) n = pilot->n_rows;
    drove_status status = drove__engine_linear.create(&opt, &e);
    drove_steps made = {.is_finite = true};
    for (size_t first = 0; status == DROVE_OK && made.is_finite && first < n; first += call_rows) {
        drove_batch batch = {.data = pilot->data, .row = row};
        for (size_t i = first; i < n && i < first + call_rows; i++)
            row[batch.n_rows++] = (uint32_t)(i % pilot->data->n_rows);
        status = drove__engine_linear.steps(e, &live, &batch, (float)eta, &made);
    }
    drove__engine_linear.destroy(e);
    drove__free(row);
    return status;
}

drove_status drove__linear_find_range(drove_engine_shared *p, const float *theta, double eta,
                                      double *out)
{
    drove_engine_shared pilot = *p; /* the same examples, borrowed */
    drove__linear_set_model(&pilot, DROVE_F32, 0.0);
    uint32_t *words = drove__alloc(pilot.n_words, sizeof *words);
    if (words == NULL) return drove__fail_nomem("a trial of the model's range", pilot.n_words * 4);
    drove__linear_pack(&pilot, NULL, theta, words);
    double start = largest(&pilot, words);
    drove_status status = try_out(&pilot, words, eta);
    if (status == DROVE_OK) {
        double range = fmax(RANGE_MARGIN * largest(&pilot, words), start);
        *out = range > 0.0 && isfinite(range) ? range : 1.0;
    }
    drove__free(words);
    return status;
}
