/* pack/ensemble.c - see ensemble.h. */
#include "pack/ensemble.h"

#include "base/clock.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

enum {
    PICKS = 20,
    MOST_ROWS = 6000,      /* by which members are picked: evenly spread */
    MOST_NUMBERS = 300000, /* outputs of these rows, where there are many classes */
    SHARPNESS_STEPS = 24
};
static const double LEAST_SHARPNESS = 0.4, MOST_SHARPNESS = 2.5;

typedef struct part {   /* some of the rows */
    size_t first, step; /* row first, first + step, ... */
} part;

typedef struct chooser {
    const drove_ensemble_input *in;
    double *loss, *weight, *scratch; /* [n_rows] */
    float *sum, *z;                  /* [n_rows][n_outputs]; [n_outputs] */
    unsigned n_choices;              /* to come, which share the time */
} chooser;

static size_t rows_of(const drove_ensemble_input *in, part p)
{
    return in->n_rows > p.first ? (in->n_rows - p.first - 1) / p.step + 1 : 0;
}

/* The mean loss of a part at (sum + member's outputs) factor; member NULL: of the sum alone. */
static double mean_loss(chooser *c, part p, const float *member, double factor)
{
    const drove_ensemble_input *in = c->in;
    const size_t n = rows_of(in, p), n_outputs = in->judge->n_outputs;
    for (size_t i = 0; i < n; i++) {
        const size_t at = p.first + i * p.step;
        for (size_t k = 0; k < n_outputs; k++) {
            double z = (double)c->sum[at * n_outputs + k];
            if (member != NULL) z += (double)member[at * n_outputs + k];
            c->z[k] = (float)(z * factor);
        }
        c->loss[i] = drove__judge_row(in->judge, in->row[at], c->z);
        c->weight[i] = drove__judge_weight(in->judge, in->row[at]);
    }
    return drove__judge_mean(in->judge, c->loss, c->weight, n, c->scratch);
}

static void clear_sum(chooser *c)
{
    memset(c->sum, 0, c->in->n_rows * c->in->judge->n_outputs * sizeof *c->sum);
}

static void add_to_sum(chooser *c, const float *member, float share)
{
    const size_t n = c->in->n_rows * c->in->judge->n_outputs;
    for (size_t i = 0; i < n; i++) c->sum[i] += share * member[i];
}

/* The member whose addition is best on a part; *loss then. */
static unsigned pick(chooser *c, part p, unsigned n_picked, double *loss)
{
    unsigned best = 0;
    *loss = INFINITY;
    for (unsigned m = 0; m < c->in->n_members; m++) {
        const double l = mean_loss(c, p, c->in->output[m], 1.0 / (n_picked + 1.0));
        if (!(l < *loss)) continue;
        *loss = l;
        best = m;
    }
    return best;
}

/* Shares chosen on a part; returns the best member by itself there. */
static unsigned choose(chooser *c, part p, double share[DROVE_ENSEMBLE_MOST])
{
    unsigned taken[PICKS], first = 0, n_best = 1;
    double best = INFINITY;
    const uint64_t now = drove__now_ns(), last = c->in->end_ns;
    const uint64_t end = last > now ? now + (last - now) / c->n_choices : last;
    c->n_choices--;
    clear_sum(c);
    for (unsigned i = 0; i < PICKS && (i == 0 || end == 0 || drove__now_ns() < end); i++) {
        double loss;
        taken[i] = pick(c, p, i, &loss);
        if (i == 0) first = taken[0];
        add_to_sum(c, c->in->output[taken[i]], 1.0f);
        if (!(loss < best)) continue;
        best = loss;
        n_best = i + 1;
    }
    for (unsigned m = 0; m < DROVE_ENSEMBLE_MOST; m++) share[m] = 0.0;
    for (unsigned i = 0; i < n_best; i++) share[taken[i]] += 1.0 / n_best;
    return first;
}

static void sum_shares(chooser *c, const double share[DROVE_ENSEMBLE_MOST])
{
    clear_sum(c);
    for (unsigned m = 0; m < c->in->n_members; m++)
        if (share[m] > 0.0) add_to_sum(c, c->in->output[m], (float)share[m]);
}

/* The factor of the outputs that makes the loss least: a section that is smaller each time, as the
 * loss is convex in it. */
static double find_sharpness(chooser *c, part p)
{
    const double golden = 0.6180339887498949;
    if (c->in->judge->kind == DROVE_JUDGE_VALUES) return 1.0;
    double low = LEAST_SHARPNESS, high = MOST_SHARPNESS;
    double a = high - golden * (high - low), b = low + golden * (high - low);
    double of_a = mean_loss(c, p, NULL, a), of_b = mean_loss(c, p, NULL, b);
    for (unsigned i = 0; i < SHARPNESS_STEPS; i++) {
        if (of_a < of_b) {
            high = b, b = a, of_b = of_a;
            a = high - golden * (high - low), of_a = mean_loss(c, p, NULL, a);
        } else {
            low = a, a = b, of_a = of_b;
            b = low + golden * (high - low), of_b = mean_loss(c, p, NULL, b);
        }
    }
    return 0.5 * (low + high);
}

/* The sums of two halves' losses, for their mean and error. */
typedef struct moments {
    double weight, loss, square;
} moments;

static void add_moments(const chooser *c, size_t n, double mean, moments *to)
{
    for (size_t i = 0; i < n; i++) {
        const double d = c->loss[i] - mean;
        to->square += c->weight[i] * c->weight[i] * d * d;
        to->weight += c->weight[i];
    }
    to->loss += mean;
}

/* Both are scored on the half that did not choose them. */
static void cross(chooser *c, size_t step, drove_ensemble *out)
{
    moments of_ensemble = {0}, of_best = {0};
    double share[DROVE_ENSEMBLE_MOST], one[DROVE_ENSEMBLE_MOST];
    for (unsigned half = 0; half < 2; half++) {
        const part chosen_by = {half, 2 * step}, scored_by = {1 - half, 2};
        const size_t n = rows_of(c->in, scored_by);
        const unsigned best = choose(c, chosen_by, share);
        sum_shares(c, share);
        const double sharpness = find_sharpness(c, chosen_by);
        add_moments(c, n, mean_loss(c, scored_by, NULL, sharpness), &of_ensemble);
        memset(one, 0, sizeof one);
        one[best] = 1.0;
        sum_shares(c, one);
        const double own = find_sharpness(c, chosen_by);
        add_moments(c, n, mean_loss(c, scored_by, NULL, own), &of_best);
    }
    out->loss = of_ensemble.loss / 2.0;
    out->error = sqrt(of_ensemble.square) / of_ensemble.weight;
    out->best_loss = of_best.loss / 2.0;
    if (out->best_loss < out->loss) out->error = sqrt(of_best.square) / of_best.weight;
}

drove_status drove__ensemble_choose(const drove_ensemble_input *in, drove_ensemble *out)
{
    const size_t n = in->n_rows, n_outputs = in->judge->n_outputs;
    chooser c = {.in = in,
                 .n_choices = 3,
                 .loss = drove__alloc(3 * n, sizeof *c.loss),
                 .sum = drove__alloc((n + 1) * n_outputs, sizeof *c.sum)};
    drove_status status = DROVE_OK;
    *out = (drove_ensemble){.sharpness = 1.0};
    if (c.loss == NULL || c.sum == NULL) {
        status = drove__fail_nomem("an ensemble", n * n_outputs * sizeof *c.sum);
        goto end;
    }
    c.weight = c.loss + n;
    c.scratch = c.weight + n;
    c.z = c.sum + n * n_outputs;
    /* Rows that are an even number apart are of one half. */
    const size_t most = MOST_NUMBERS / n_outputs < MOST_ROWS ? MOST_NUMBERS / n_outputs : MOST_ROWS;
    const size_t step = most > 0 ? (n + most - 1) / most : n;
    cross(&c, step, out);
    out->best = choose(&c, (part){0, step}, out->share);
    if (out->best_loss < out->loss) {
        memset(out->share, 0, sizeof out->share);
        out->share[out->best] = 1.0;
        out->loss = out->best_loss;
    }
    sum_shares(&c, out->share);
    out->sharpness = find_sharpness(&c, (part){0, step});
end:
    drove__free(c.loss);
    drove__free(c.sum);
    return status;
}
