/* engine/linear/throughput.c - equations 2 and 3 and Table 2 of De Sa et al., ISCA 2017, and the
 * model of a measured machine.
 *
 * The paper's T_1 depends on the signature alone and its p on the model size alone.  A signature
 * has a row if its D and M, and for sparse data its i, mean what the row's mean, and G and C say
 * nothing: the measurements were made with full-precision gradients and through the caches.
 */
#include "engine/linear/throughput.h"

#include "base/given.h"
#include "base/locale.h"
#include "base/spec.h"
#include "base/status.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const double assumed_density = 0.03; /* of Table 2's sparse data */

static const uint64_t most_features = 9000000000000000, most_threads = 4096;

const char *const drove__throughput_signature[DROVE_THROUGHPUT_ROWS] = {
    "D32f[i32]M8", "D32f[i32]M16", "D32f[i32]M32f", "D8[i8]M32f", "D16[i16]M32f",
    "D16[i16]M16", "D8[i8]M16",    "D16[i16]M8",    "D8[i8]M8",
};

/* clang-format off */
#define PAPER_P {.slope = 0.15, .zero_features = 256, .most = 0.98, .least = 0.0}
const drove_throughput drove__throughput_paper = {
    .source = "Xeon E7-8890 v3, Table 2 and equation 3",
    .machine = "Xeon E7-8890 v3",
    .n_cores = 18,
    .row = {{{.gnps = 0.203, .parallel = PAPER_P},
             {.gnps = 0.208, .parallel = PAPER_P},
             {.gnps = 0.936, .parallel = PAPER_P},
             {.gnps = 0.999, .parallel = PAPER_P},
             {.gnps = 1.183, .parallel = PAPER_P},
             {.gnps = 1.739, .parallel = PAPER_P},
             {.gnps = 2.238, .parallel = PAPER_P},
             {.gnps = 2.526, .parallel = PAPER_P},
             {.gnps = 3.339, .parallel = PAPER_P}},
            {{.gnps = 0.103, .parallel = PAPER_P},
             {.gnps = 0.080, .parallel = PAPER_P},
             {.gnps = 0.101, .parallel = PAPER_P},
             {.gnps = 0.089, .parallel = PAPER_P},
             {.gnps = 0.089, .parallel = PAPER_P},
             {.gnps = 0.106, .parallel = PAPER_P},
             {.gnps = 0.105, .parallel = PAPER_P},
             {.gnps = 0.172, .parallel = PAPER_P},
             {.gnps = 0.166, .parallel = PAPER_P}}},
};
/* clang-format on */

/* ---- the model ---- */

double drove__throughput_amdahl(double t1_gnps, double p, uint64_t t)
{
    return t1_gnps / ((1.0 - p) + p / (double)t);
}

double drove__throughput_parallel_fraction(const drove_throughput_parallel *p, uint64_t n)
{
    double fraction = p->slope * log((double)n / p->zero_features);
    return fmax(p->least, fmin(p->most, fraction));
}

double drove__throughput_spill(double cache_bytes, double n, double bytes)
{
    if (cache_bytes <= 0.0) return 0.0;
    return fmax(0.0, 1.0 - cache_bytes / (n * bytes));
}

double drove__throughput_base_gnps(const drove_throughput *constants, bool is_sparse, unsigned row,
                                   double n_features, double numbers)
{
    const drove_throughput_row *r = &constants->row[is_sparse][row];
    if (r->step_ns == 0.0 && r->spill_ns == 0.0) return r->gnps;
    drove_dmgc signature;
    double bytes = 0.0; /* of a number of the model */
    if (drove_dmgc_parse(drove__throughput_signature[row], &signature) == DROVE_OK)
        bytes = drove_dmgc_meaning(&signature, DROVE_DMGC_MODEL).bits / 8.0;
    double spill = drove__throughput_spill(r->cache_bytes, n_features, bytes);
    return 1.0 / (1.0 / r->gnps + r->step_ns / numbers + r->spill_ns * spill);
}

/* ---- the setting ---- */

drove_dmgc_setting drove_dmgc_setting_default(void)
{
    return (drove_dmgc_setting){.n_features = 65536, .n_threads = 1};
}

drove_status drove_dmgc_setting_set(drove_dmgc_setting *setting, const char *name,
                                    const char *value)
{
    DROVE_GIVEN(setting);
    DROVE_GIVEN(name);
    DROVE_GIVEN(value);
    DROVE_IN_C_LOCALE;
    static const char *const names[] = {"features", "threads", "sparse"};
    if (strcmp(name, names[0]) == 0) {
        return drove__parse_u64("--features", value, 1, most_features, &setting->n_features);
    }
    if (strcmp(name, names[1]) == 0) {
        return drove__parse_u64("--threads", value, 1, most_threads, &setting->n_threads);
    }
    if (strcmp(name, names[2]) == 0) { /* "3%" or "0.03" */
        char number[64];
        const size_t n = strlen(value);
        if (n == 0 || value[n - 1] != '%' || n > sizeof number)
            return drove__parse_real("--sparse", value, DBL_MIN, 1.0, &setting->density);
        memcpy(number, value, n - 1);
        number[n - 1] = '\0';
        DROVE_TRY(drove__parse_real("--sparse, in %", number, DBL_MIN, 100.0, &setting->density));
        setting->density /= 100.0;
        return DROVE_OK;
    }
    return drove__fail(DROVE_E_ARG, "setting: expected features, threads or sparse, found \"%s\"",
                       name);
}

/* ---- the prediction ---- */

static bool has_row(const drove_dmgc *signature, bool is_sparse, const char *row)
{
    drove_dmgc measured;
    if (drove_dmgc_parse(row, &measured) != DROVE_OK) return false;
    for (unsigned c = 0; c < DROVE_DMGC_CLASSES; c++) {
        if (c == DROVE_DMGC_INDEX && !is_sparse) continue;
        if (!drove__dmgc_same_meaning(signature, &measured, (drove_dmgc_class)c)) return false;
    }
    return true;
}

drove_status drove__throughput_row_of(const drove_dmgc *signature, bool is_sparse, unsigned *out)
{
    for (unsigned i = 0; i < DROVE_THROUGHPUT_ROWS; i++) {
        if (!has_row(signature, is_sparse, drove__throughput_signature[i])) continue;
        *out = i;
        return DROVE_OK;
    }

    /* "TEXT: Table 2 has no base throughput ..., it has ..." */
    char text[DROVE_DMGC_TEXT_SIZE], list[256];
    size_t used = 0;
    DROVE_TRY(drove_dmgc_print(signature, text));
    for (unsigned i = 0; i < DROVE_THROUGHPUT_ROWS; i++) {
        const char *joint = i == 0 ? "" : i + 1 == DROVE_THROUGHPUT_ROWS ? " and " : ", ";
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", joint,
                                 drove__throughput_signature[i]);
    }
    return drove__fail(DROVE_E_UNSUPPORTED,
                       "signature \"%s\": the paper's Table 2 has no base throughput for it; "
                       "it has %s",
                       text, list);
}

drove_status drove__throughput_is_sparse(const drove_dmgc *signature,
                                         const drove_dmgc_setting *setting, bool *out)
{
    DROVE_TRY(drove__dmgc_check(signature));
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
    drove_dmgc_term index = signature->term[DROVE_DMGC_INDEX];
    if (setting->density > 0.0 && !index.is_present) {
        char text[DROVE_DMGC_TEXT_SIZE];
        DROVE_TRY(drove_dmgc_print(signature, text));
        return drove__fail(
            DROVE_E_ARG,
            "signature \"%s\": expected an index term for sparse data, as in D8i8M8, "
            "found none",
            text);
    }
    *out = index.is_present && (!signature->is_possibly_sparse || setting->density > 0.0);
    return DROVE_OK;
}

drove_status drove_dmgc_predict(const drove_dmgc *signature, const drove_dmgc_setting *setting,
                                drove_dmgc_prediction *out)
{
    DROVE_GIVEN(signature);
    DROVE_GIVEN(setting);
    DROVE_GIVEN(out);
    DROVE_IN_C_LOCALE;
    const drove_throughput *constants =
        setting->constants != NULL ? setting->constants : &drove__throughput_paper;
    bool is_sparse;
    unsigned row;
    DROVE_TRY(drove__throughput_is_sparse(signature, setting, &is_sparse));
    DROVE_TRY(drove__throughput_row_of(signature, is_sparse, &row));
    if (constants->row[is_sparse][row].gnps <= 0.0) {
        return drove__fail(DROVE_E_UNSUPPORTED, "signature \"%s\": not among the constants of %s",
                           drove__throughput_signature[row], constants->source);
    }

    double n = (double)setting->n_features;
    double density = setting->density > 0.0 ? setting->density : assumed_density;
    double numbers = is_sparse ? fmax(1.0, n * density) : n;
    double t1 = drove__throughput_base_gnps(constants, is_sparse, row, n, numbers);
    const drove_throughput_parallel *parallel = &constants->row[is_sparse][row].parallel;
    double p = drove__throughput_parallel_fraction(parallel, setting->n_features);
    unsigned bits = drove_dmgc_meaning(signature, DROVE_DMGC_DATASET).bits;
    unsigned index_bits = is_sparse ? signature->term[DROVE_DMGC_INDEX].bits : 0;
    *out = (drove_dmgc_prediction){
        .gnps = drove__throughput_amdahl(t1, p, setting->n_threads),
        .base_gnps = t1,
        .parallel_fraction = p,
        .most_fraction = parallel->most,
        .bytes_per_number = (bits + index_bits) / 8.0,
        .is_sparse = is_sparse,
        .is_bandwidth_bound = p >= parallel->most,
        .source = constants->source,
    };
    return DROVE_OK;
}
