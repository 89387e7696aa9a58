/* engine/features.c - the table of feature maps, their specs, and the choice of gamma.
 *
 * Drawing and applying a map: features_apply.c.
 */
#include "engine/features.h"

#include "base/mem.h"
#include "data/quant.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* gamma's square root must fit a float, as must its products with scaled inputs. */
#define GAMMA_LEAST 1e-60
#define GAMMA_MOST  1e60

/* ---- random Fourier features of the Gaussian kernel ---- */

static void draw_normal(double gamma, drove_rng *rng, float *weight, size_t n_out)
{
    double deviation = sqrt(2.0 * gamma);
    for (size_t i = 0; i < n_out; i++) weight[i] = (float)(deviation * drove__rng_normal(rng));
}

static void finish_cosine(const drovek_table *kernels, float *y, const float *phase, size_t rows,
                          size_t cols, size_t n_out)
{
    kernels->cos_f32(y, phase, rows, cols, (float)sqrt(2.0 / (double)n_out));
}

static const drove_spec_key rff_keys[] = {
    {"D", NULL, DROVE_AS_COUNT(drove_features_keys, n_out, 1, DROVE_MOST_FEATURES),
     .is_argument = true, .help = "number of features"},
    {"gamma", NULL, DROVE_AS_REAL(drove_features_keys, gamma, GAMMA_LEAST, GAMMA_MOST),
     .help = "of the kernel; without it by the data"},
    {"seed", NULL, DROVE_AS_COUNT(drove_features_keys, seed, 0, (uint64_t)9e15),
     .help = "of the map; without it that of the run"},
    DROVE_SPEC_END,
};

static const drove_feature_ops rff = {
    .name = "rff",
    .help = "D random Fourier features of the kernel exp(-gamma |x-y|^2)",
    .source = "Rahimi, Recht, NIPS 2007",
    .keys = rff_keys,
    .draw = draw_normal,
    .finish = finish_cosine,
};

const drove_feature_ops *const drove__feature_maps[] = {&rff, NULL};

/* ---- specs ---- */

drove_status drove__features_parse(const char *text, drove_features_options *out)
{
    drove_spec spec;
    drove_features_options opt = {0};
    drove_features_keys set = {.seed = UINT64_MAX};
    const char *names[DROVE_COUNT(drove__feature_maps)];
    size_t n = 0;
    *out = opt;
    if (*text == '\0') return DROVE_OK;
    DROVE_TRY(drove__spec_parse(text, &spec));
    drove_status status;
    for (; opt.ops == NULL && drove__feature_maps[n] != NULL; n++) {
        names[n] = drove__feature_maps[n]->name;
        if (strcmp(names[n], spec.name) == 0) opt.ops = drove__feature_maps[n];
    }
    if (opt.ops == NULL) {
        status = drove__fail_unknown("feature map", spec.name, names, n);
        goto fail;
    }
    if ((status = drove__spec_accept(&spec, opt.ops->keys)) != DROVE_OK) goto fail;
    if (spec.n_args == 0) {
        status = drove__fail(DROVE_E_ARG, "%s: expected the number of features, as in %s:4096",
                             spec.name, spec.name);
        goto fail;
    }
    if ((status = drove__spec_take(&spec, opt.ops->keys, &set)) != DROVE_OK) goto fail;
    opt.n_out = (size_t)set.n_out;
    opt.gamma = set.gamma;
    opt.has_seed = set.seed != UINT64_MAX;
    if (opt.has_seed) opt.seed = set.seed;
    *out = opt;
fail:
    drove__spec_fini(&spec);
    return status;
}

void drove__features_print(const drove_features_options *opt, char into[DROVE_FEATURES_TEXT_SIZE])
{
    char gamma[40] = "", seed[32] = "";
    into[0] = '\0';
    if (opt->ops == NULL) return;
    for (int digits = 6; opt->gamma > 0 && digits <= 17; digits++) {
        snprintf(gamma, sizeof gamma, "?gamma=%.*g", digits, opt->gamma);
        if (strtod(gamma + strlen("?gamma="), NULL) == opt->gamma) break;
    }
    if (opt->has_seed) {
        snprintf(seed, sizeof seed, "%cseed=%llu", gamma[0] != '\0' ? '&' : '?',
                 (unsigned long long)opt->seed);
    }
    snprintf(into, DROVE_FEATURES_TEXT_SIZE, "%s:%zu%s%s", opt->ops->name, opt->n_out, gamma, seed);
}

bool drove__features_agree(const drove_features_options *asked,
                           const drove_features_options *settled)
{
    if (asked->ops != settled->ops || asked->n_out != settled->n_out) return false;
    if (asked->gamma > 0 && asked->gamma != settled->gamma) return false;
    return !asked->has_seed || asked->seed == settled->seed;
}

/* ---- gamma ---- */

void drove__features_load(const drovek_table *kernels, const drove_data *data, size_t i, float *x)
{
    const drove_storage *s = data->storage;
    size_t n = s->n_features, row = drove__data_row(data, i), at = row * n;
    if (s->x_kind == DROVE_X_QUANT) drove__quant_unpack(s->quant, row, n, x);
    else if (s->x_kind == DROVE_X_U8)
        kernels->widen_u8_f32(x, s->x_u8 + at, data->shift, data->factor, n);
    else kernels->affine_f32(x, s->x_f32 + at, data->shift, data->factor, n);
}

/* Adds to sum[f] and returns the squares' sum of x - first, where x are the rows of dense data and
 * first the first of them: what all have in common costs no digits. */
static double add_dense(const drovek_table *k, const drove_data *data, float *x, float *first,
                        double *sum)
{
    size_t n = data->storage->n_features;
    double squares = 0;
    drove__features_load(k, data, 0, first);
    for (size_t i = 1; i < data->n_rows; i++) {
        drove__features_load(k, data, i, x);
        for (size_t f = 0; f < n; f++) {
            double far = (double)x[f] - (double)first[f];
            sum[f] += far;
            squares += far * far;
        }
    }
    return squares;
}

static double add_sparse(const drove_data *data, double *sum)
{
    const drove_storage *s = data->storage;
    double squares = 0;
    for (size_t i = 0; i < data->n_rows; i++) {
        size_t row = drove__data_row(data, i);
        for (uint64_t at = s->row_start[row]; at < s->row_start[row + 1]; at++) {
            uint32_t f = s->index[at];
            double x = s->value != NULL ? (double)s->value[at] : 1.0;
            if (data->factor != NULL) x *= (double)data->factor[f];
            sum[f] += x;
            squares += x * x;
        }
    }
    return squares;
}

/* Sum over the features of their variances, in *out. */
static drove_status total_variance(const drovek_table *k, const drove_data *data, double *out)
{
    size_t n = data->storage->n_features;
    bool is_sparse = data->storage->x_kind == DROVE_X_CSR;
    double *sum = calloc(n, sizeof *sum);
    float *x = drove__alloc(is_sparse ? 1 : 2 * n, sizeof *x);
    drove_status status = sum != NULL && x != NULL
                              ? DROVE_OK
                              : drove__fail_nomem("the choice of gamma", n * sizeof *sum);
    if (status == DROVE_OK) {
        double n_rows = (double)data->n_rows, of_mean = 0;
        double squares = is_sparse ? add_sparse(data, sum) : add_dense(k, data, x, x + n, sum);
        for (size_t f = 0; f < n; f++) of_mean += (sum[f] / n_rows) * (sum[f] / n_rows);
        *out = squares / n_rows - of_mean;
    }
    free(sum);
    drove__free(x);
    return status;
}

drove_status drove__features_settle(drove_features_options *opt, const drovek_table *kernels,
                                    const drove_data *data, uint64_t seed)
{
    double variance = 0;
    if (opt->ops == NULL) return DROVE_OK;
    if (!opt->has_seed) opt->seed = seed;
    opt->has_seed = true;
    if (opt->gamma > 0) return DROVE_OK;
    DROVE_TRY(total_variance(kernels, data, &variance));
    if (!(variance >= 1.0 / GAMMA_MOST) || !(variance <= 1.0 / GAMMA_LEAST)) {
        return drove__fail(DROVE_E_DATA,
                           "%s: expected ?gamma=NUMBER or inputs that vary, found examples whose "
                           "features have variances of %g in all",
                           opt->ops->name, variance);
    }
    opt->gamma = 1.0 / variance;
    return DROVE_OK;
}
