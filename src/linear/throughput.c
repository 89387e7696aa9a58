/* linear/throughput.c - equations 2 and 3 and Table 2 of De Sa et al., ISCA 2017.
 *
 * T_1 depends on the signature alone and p on the model size alone.  A signature has a row if its D
 * and M, and for sparse data its i, mean what the row's mean, and G and C say nothing: the
 * measurements were made with full-precision gradients and through the caches.
 */
#include "linear/throughput.h"

#include "base/spec.h"
#include "base/status.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const double most_parallel = 0.98;  /* the bandwidth bound of equation 3 */
static const double slope = 0.15;          /* of its communication bound, per natural logarithm */
static const double serial_features = 256; /* model size at which that bound is 0 */

static const uint64_t most_features = 9000000000000000, most_threads = 4096;

const drove_throughput_row drove__throughput_table[DROVE_THROUGHPUT_ROWS] = {
    {"D32f[i32]M8", 0.203, 0.103}, {"D32f[i32]M16", 0.208, 0.080}, {"D32f[i32]M32f", 0.936, 0.101},
    {"D8[i8]M32f", 0.999, 0.089},  {"D16[i16]M32f", 1.183, 0.089}, {"D16[i16]M16", 1.739, 0.106},
    {"D8[i8]M16", 2.238, 0.105},   {"D16[i16]M8", 2.526, 0.172},   {"D8[i8]M8", 3.339, 0.166},
};

double drove__throughput_amdahl(double t1_gnps, double p, uint64_t t)
{
    return t1_gnps / ((1.0 - p) + p / (double)t);
}

double drove__throughput_parallel_fraction(uint64_t n)
{
    double p = slope * log((double)n / serial_features);
    return p < 0.0 ? 0.0 : p < most_parallel ? p : most_parallel;
}

/* ---- the setting ---- */

drove_dmgc_setting drove_dmgc_setting_default(void)
{
    return (drove_dmgc_setting){.n_features = 65536, .n_threads = 1};
}

/* "3%" or "0.03" */
static drove_status parse_density(const char *text, double *out)
{
    char number[64];
    size_t n = strlen(text);
    double density = 0.0;
    if (n == 0 || text[n - 1] != '%' || n > sizeof number) {
        DROVE_TRY(drove__parse_real("--sparse", text, DBL_MIN, 1.0, &density));
    } else {
        memcpy(number, text, n - 1);
        number[n - 1] = '\0';
        DROVE_TRY(drove__parse_real("--sparse, in %", number, DBL_MIN, 100.0, &density));
        density /= 100.0;
    }
    *out = density;
    return DROVE_OK;
}

drove_status drove_dmgc_setting_set(drove_dmgc_setting *setting, const char *name,
                                    const char *value)
{
    static const char *const names[] = {"features", "threads", "sparse"};
    if (strcmp(name, names[0]) == 0) {
        return drove__parse_u64("--features", value, 1, most_features, &setting->n_features);
    }
    if (strcmp(name, names[1]) == 0) {
        return drove__parse_u64("--threads", value, 1, most_threads, &setting->n_threads);
    }
    if (strcmp(name, names[2]) == 0) return parse_density(value, &setting->density);
    return drove__fail(DROVE_E_ARG, "setting: expected features, threads or sparse, found \"%s\"",
                       name);
}

static drove_status check_setting(const drove_dmgc_setting *setting)
{
    if (setting->n_features < 1 || setting->n_features > most_features) {
        return drove__fail(DROVE_E_ARG, "n_features: expected 1 to %llu, found %llu",
                           (unsigned long long)most_features,
                           (unsigned long long)setting->n_features);
    }
    if (setting->n_threads < 1 || setting->n_threads > most_threads) {
        return drove__fail(DROVE_E_ARG, "n_threads: expected 1 to %llu, found %llu",
                           (unsigned long long)most_threads,
                           (unsigned long long)setting->n_threads);
    }
    if (!(setting->density >= 0.0 && setting->density <= 1.0)) {
        return drove__fail(DROVE_E_ARG, "density: expected 0 to 1, found %g", setting->density);
    }
    return DROVE_OK;
}

/* ---- the prediction ---- */

static bool has_row(const drove_dmgc *signature, bool is_sparse, const drove_throughput_row *row)
{
    drove_dmgc measured;
    if (drove_dmgc_parse(row->signature, &measured) != DROVE_OK) return false;
    for (unsigned c = 0; c < DROVE_DMGC_CLASSES; c++) {
        if (c == DROVE_DMGC_INDEX && !is_sparse) continue;
        if (!drove__dmgc_same_meaning(signature, &measured, (drove_dmgc_class)c)) return false;
    }
    return true;
}

/* "TEXT: Table 2 has no base throughput ..., it has ..." */
static drove_status refuse_unmeasured(const drove_dmgc *signature)
{
    char text[DROVE_DMGC_TEXT_SIZE], list[256];
    size_t used = 0;
    DROVE_TRY(drove_dmgc_print(signature, text));
    for (unsigned i = 0; i < DROVE_THROUGHPUT_ROWS; i++) {
        const char *joint = i == 0 ? "" : i + 1 == DROVE_THROUGHPUT_ROWS ? " and " : ", ";
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", joint,
                                 drove__throughput_table[i].signature);
    }
    return drove__fail(DROVE_E_UNSUPPORTED,
                       "signature \"%s\": the paper's Table 2 has no base throughput for it; "
                       "it has %s",
                       text, list);
}

static drove_status refuse_dense(const drove_dmgc *signature)
{
    char text[DROVE_DMGC_TEXT_SIZE];
    DROVE_TRY(drove_dmgc_print(signature, text));
    return drove__fail(DROVE_E_ARG,
                       "signature \"%s\": expected an index term for sparse data, as in D8i8M8, "
                       "found none",
                       text);
}

drove_status drove_dmgc_predict(const drove_dmgc *signature, const drove_dmgc_setting *setting,
                                drove_dmgc_prediction *out)
{
    DROVE_TRY(drove__dmgc_check(signature));
    DROVE_TRY(check_setting(setting));
    drove_dmgc_term index = signature->term[DROVE_DMGC_INDEX];
    if (setting->density > 0.0 && !index.is_present) return refuse_dense(signature);
    bool is_sparse = index.is_present && (!signature->is_possibly_sparse || setting->density > 0.0);
    const drove_throughput_row *row = NULL;
    for (unsigned i = 0; i < DROVE_THROUGHPUT_ROWS && row == NULL; i++) {
        if (has_row(signature, is_sparse, &drove__throughput_table[i])) {
            row = &drove__throughput_table[i];
        }
    }
    if (row == NULL) return refuse_unmeasured(signature);

    double t1 = is_sparse ? row->sparse_gnps : row->dense_gnps;
    double p = drove__throughput_parallel_fraction(setting->n_features);
    unsigned bits = drove_dmgc_meaning(signature, DROVE_DMGC_DATASET).bits;
    *out = (drove_dmgc_prediction){
        .gnps = drove__throughput_amdahl(t1, p, setting->n_threads),
        .base_gnps = t1,
        .parallel_fraction = p,
        .bytes_per_number = (bits + (is_sparse ? index.bits : 0u)) / 8.0,
        .is_sparse = is_sparse,
        .is_bandwidth_bound = p >= most_parallel,
        .source = "Xeon E7-8890 v3, Table 2 and equation 3",
    };
    return DROVE_OK;
}
