/* data/synth_logistic.c - generates data from the logistic model: De Sa et al. (Buckwild!),
 * footnote 9.
 *
 * The true model w and the examples x are uniform in [-1, 1]^d; an example is of class +1 with
 * probability 1 / (1 + exp(-w x)).  ?density=p keeps each element of an example with probability p;
 * the others are zeros and are not stored.  Row i depends only on (seed, d, density, i);
 * ?first=i begins with it.
 */
#include "data/synth.h"

#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <stdlib.h>

#define MODEL_STREAM UINT64_MAX /* rows use streams 0 .. n-1 */

typedef struct logistic_model {
    drove_logistic_options of;
    float *w;                                        /* [of.d] */
    size_t n_stored, index_capacity, value_capacity; /* sparse */
} logistic_model;

const drove_spec_key drove__logistic_keys[] = {
    {"n", "10000", DROVE_AS_COUNT(drove_logistic_options, n, 1, UINT32_MAX), .help = "examples"},
    {"d", "100", DROVE_AS_COUNT(drove_logistic_options, d, 1, (uint64_t)1 << 31),
     .help = "features"},
    {"density", "1", DROVE_AS_REAL(drove_logistic_options, density, 1e-9, 1.0),
     .help = "share of the features that an example has; below 1 sparse"},
    {"seed", "1", DROVE_AS_COUNT(drove_logistic_options, seed, 0, UINT64_MAX),
     .help = "of all random numbers"},
    {"first", "0", DROVE_AS_COUNT(drove_logistic_options, first, 0, (uint64_t)1 << 40),
     .help = "number of the first example"},
    DROVE_SPEC_END,
};

static float uniform(drove_rng *rng)
{
    return 2.0f * (float)drove__rng_uniform(rng) - 1.0f;
}

static int32_t draw_class(drove_rng *rng, double product)
{
    return drove__rng_uniform(rng) < 1.0 / (1.0 + exp(-product));
}

/* Distances between stored elements are geometric, so the cost depends only on the stored ones. */
static drove_status draw_sparse_row(logistic_model *m, drove_rng *rng, drove_storage *s,
                                    int32_t *class)
{
    double product = 0, log_absent = log1p(-m->of.density);
    /* NOLINTNEXTLINE(cert-flp30-c): whole numbers, and a jump may be infinite */
    for (double f = 0;; f++) {
        f += floor(log1p(-drove__rng_uniform(rng)) / log_absent);
        if (f >= (double)m->of.d) break;
        size_t n = m->n_stored + 1;
        DROVE_TRY(drove__reserve(&s->index, &m->index_capacity, n, sizeof *s->index));
        DROVE_TRY(drove__reserve(&s->value, &m->value_capacity, n, sizeof *s->value));
        float x = uniform(rng);
        if (x == 0.0f) continue;
        s->index[m->n_stored] = (uint32_t)f;
        s->value[m->n_stored] = x;
        product += (double)x * (double)m->w[(size_t)f];
        m->n_stored = n;
    }
    *class = draw_class(rng, product);
    return DROVE_OK;
}

static drove_status draw_rows(logistic_model *m, drove_storage *s)
{
    drove_rng rng;
    drove__rng_seed(&rng, m->of.seed, DROVE_RNG_SYNTH, MODEL_STREAM);
    for (uint64_t f = 0; f < m->of.d; f++) m->w[f] = uniform(&rng);
    if (s->x_kind == DROVE_X_CSR) s->row_start[0] = 0;
    for (size_t i = 0; i < s->n_rows; i++) {
        drove__rng_seed(&rng, m->of.seed, DROVE_RNG_SYNTH, m->of.first + i);
        if (s->x_kind == DROVE_X_F32) {
            float *x = s->x_f32 + i * s->n_features;
            double product = 0;
            for (uint64_t f = 0; f < m->of.d; f++) {
                x[f] = uniform(&rng);
                product += (double)x[f] * (double)m->w[f];
            }
            s->y_class[i] = draw_class(&rng, product);
        } else {
            DROVE_TRY(draw_sparse_row(m, &rng, s, &s->y_class[i]));
            s->row_start[i + 1] = m->n_stored;
        }
    }
    return DROVE_OK;
}

static drove_status read_logistic(const drove_spec *spec, int part, const drove_shard *shard,
                                  drove_storage **out)
{
    logistic_model m = {.w = NULL};
    drove_storage *s;
    (void)part;
    (void)shard;
    DROVE_TRY(drove__spec_take(spec, drove__logistic_keys, &m.of));
    double expected = (double)m.of.n * (double)m.of.d * m.of.density;
    drove_synth_size size = {.n_rows = m.of.n,
                             .n_features = m.of.d,
                             .x_kind = m.of.density < 1 ? DROVE_X_CSR : DROVE_X_F32,
                             .n_stored = expected < 1e18 ? (uint64_t)expected : (uint64_t)1e18};
    DROVE_TRY(drove__synth_create(spec, &size, 2, &s));
    m.w = drove__grow(NULL, (size_t)m.of.d, sizeof *m.w);
    static const char *const class_names[] = {"-1", "+1"};
    s->class_name = drove__texts_copy(class_names, DROVE_COUNT(class_names));
    drove_status status = DROVE_OK;
    if (m.w == NULL || s->class_name == NULL) {
        status = drove__fail_nomem("true model", (size_t)m.of.d * sizeof *m.w);
        goto end;
    }
    status = draw_rows(&m, s);
end:
    free(m.w);
    if (status != DROVE_OK) drove__storage_release(s);
    else *out = s;
    return status;
}

const drove_format_ops drove__format_synth_logistic = {
    .name = "synth:logistic",
    .help = "drawn from the logistic model",
    .source = "De Sa et al., ISCA 2017, footnote 9",
    .arguments = "logistic",
    .least_args = 1,
    .most_args = 1,
    .keys = drove__logistic_keys,
    .read = read_logistic,
    .takes_first = true,
    .default_scaling = DROVE_SCALE_NONE,
};
