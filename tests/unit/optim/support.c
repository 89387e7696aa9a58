#include "support.h"

#include "base/cpu.h"

#include <string.h>

bool next_tier(unsigned i, drovek_table *out)
{
    const char *const *tiers = drovek_tiers();
    for (unsigned k = 0; k <= i; k++) {
        if (tiers[k] == NULL) return false;
    }
    return drovek_select(out, drove__cpu_features(), tiers[i]) == DROVE_OK;
}

drove_optim_options plain_options(size_t n_params)
{
    static drovek_table plain;
    if (plain.isa == NULL) assert_true(next_tier(0, &plain));
    return (drove_optim_options){
        .rule = "sgd",
        .schedule = "constant",
        .lr = 0.05,
        .state = DROVE_STATE_SHARED,
        .n_params = n_params,
        .n_workers = 1,
        .kernels = &plain,
    };
}

drove_optim *make_optim(const drove_optim_options *opt)
{
    drove_optim *optim = NULL;
    assert_ok(drove__optim_create(opt, &optim));
    assert_non_null(optim);
    return optim;
}

float *random_vector(drove_rng *rng, size_t n)
{
    float *v = drove__alloc(n, sizeof *v);
    assert_non_null(v);
    for (size_t i = 0; i < n; i++) v[i] = (float)drove__rng_normal(rng);
    return v;
}

float *copy_vector(const float *from, size_t n)
{
    float *v = drove__alloc(n, sizeof *v);
    assert_non_null(v);
    memcpy(v, from, n * sizeof *v);
    return v;
}

void assert_same_bits(const float *a, const float *b, size_t n, const char *what)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t x, y;
        memcpy(&x, a + i, sizeof x);
        memcpy(&y, b + i, sizeof y);
        if (x != y) fail_msg("%s: element %zu of %zu is %.9g and %.9g", what, i, n, a[i], b[i]);
    }
}
