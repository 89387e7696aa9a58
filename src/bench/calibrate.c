/* bench/calibrate.c - `drove bench calibrate`: the constants of the throughput model, fitted
 * to what this machine reaches, and kept in a file that `drove dmgc` then uses.
 *
 * Every row of Table 2, dense and sparse, over model sizes 2^8 to 2^22, with one thread and with
 * all; a figure takes the CALIBRATE_PART-th part of the seconds asked for.  Data beyond the caches.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "bench/linear.h"

#include "base/cpu.h"
#include "base/mem.h"
#include "base/status.h"
#include "engine/linear/fit.h"

#include <drove/version.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LEAST_BITS = 8, MOST_BITS = 22, BITS_STEP = 2, CALIBRATE_PART = 5 };
enum { SIZES = (MOST_BITS - LEAST_BITS) / BITS_STEP + 1 };
enum { MOST_HALVINGS = 4 }; /* of the cache that a core has alone */
static const uint64_t DEFAULT_BYTES = (uint64_t)1 << 28;

typedef struct figure { /* one row, one size */
    double numbers, one_gnps, many_gnps;
    size_t n_features;
} figure;

typedef struct calibration {
    drove_linear_bench bench;
    figure figure[2][DROVE_THROUGHPUT_ROWS][SIZES];
    drove_throughput constants;
} calibration;

/* ---- measuring ---- */

static drove_status measure_figure(calibration *k, bool is_sparse, unsigned row, unsigned size)
{
    const drove_bench_context *context = k->bench.context;
    figure *f = &k->figure[is_sparse][row][size];
    drove_measured m;
    drove_linear_case c = {.signature = drove__throughput_signature[row],
                           .is_sparse = is_sparse,
                           .n_features = (size_t)1 << (LEAST_BITS + size * BITS_STEP),
                           .n_bytes = context->n_bytes != 0 ? context->n_bytes : DEFAULT_BYTES,
                           .n_threads = 1,
                           .seconds = context->seconds / CALIBRATE_PART};
    DROVE_TRY(drove__linear_bench_run(&k->bench, &c, &m));
    f->n_features = c.n_features;
    f->numbers = m.numbers_per_example;
    f->one_gnps = f->many_gnps = m.gnps;
    if (context->n_threads == 1) return DROVE_OK;
    c.n_threads = context->n_threads;
    DROVE_TRY(drove__linear_bench_run(&k->bench, &c, &m));
    f->many_gnps = m.gnps;
    return DROVE_OK;
}

/* ---- fitting ---- */

/* The examples run through the cache that holds the model: how much they leave is fitted, as a
 * halving of its size. */
static void fit_one_thread(const calibration *k, const figure *figures, double bytes,
                           drove_throughput_row *out)
{
    double size = (double)k->bench.context->facts.l2_bytes, least = INFINITY;
    /* NOLINTNEXTLINE(cert-flp30-c): halves are exact, and `halved` ends it */
    for (int halved = 0; halved <= MOST_HALVINGS; halved++, size /= 2.0) {
        drove_throughput_row row = *out;
        /* T_1 and the rest of one thread, with so much of the last own cache for the model */
        drove_base_point point[SIZES];
        for (unsigned i = 0; i < SIZES; i++) {
            const figure *f = &figures[i];
            double spill = drove__throughput_spill(size, (double)f->n_features, bytes);
            point[i] =
                (drove_base_point){.numbers = f->numbers, .spill = spill, .gnps = f->one_gnps};
        }
        row.cache_bytes = size;
        double error = drove__fit_base(point, SIZES, &row);
        if (error >= least) continue;
        least = error;
        *out = row;
    }
}

static drove_status fit(calibration *k)
{
    drove_throughput *c = &k->constants;
    time_t now = time(NULL);
    struct tm day;
    localtime_r(&now, &day);
    strftime(c->date, sizeof c->date, "%Y-%m-%d", &day);
    snprintf(c->machine, sizeof c->machine, "%s", drove__cpu_model());
    snprintf(c->version, sizeof c->version, "%s", DROVE_VERSION);
    c->n_cores = k->bench.context->facts.n_pus;

    for (int s = 0; s < 2; s++) {
        for (unsigned row = 0; row < DROVE_THROUGHPUT_ROWS; row++) {
            const figure *figures = k->figure[s][row];
            drove_throughput_row *out = &k->constants.row[s][row];
            drove_precision precision;
            DROVE_TRY(drove__precision_resolve(drove__throughput_signature[row], s, &precision));
            double bytes = drove__number_bits(precision.model) / 8.0;
            fit_one_thread(k, figures, bytes, out);

            /* the parallel fraction, by size */
            const unsigned n_threads = k->bench.context->n_threads;
            drove_parallel_point point[SIZES];
            out->parallel = drove__throughput_paper.row[0][0].parallel;
            for (unsigned i = 0; i < SIZES; i++)
                point[i] = (drove_parallel_point){.n_features = (double)figures[i].n_features,
                                                  .n_threads = n_threads,
                                                  .one_gnps = figures[i].one_gnps,
                                                  .many_gnps = figures[i].many_gnps};
            if (n_threads > 1) drove__fit_parallel(point, SIZES, &out->parallel);
        }
    }
    return DROVE_OK;
}

/* ---- the result ---- */

static void add_row(const calibration *k, json_t **rows, int s, unsigned row, const figure *f)
{
    unsigned many = k->bench.context->n_threads;
    for (unsigned threads = 1;; threads = many) {
        double gnps = threads == 1 ? f->one_gnps : f->many_gnps;
        const drove_throughput *c = &k->constants;
        double t1 = drove__throughput_base_gnps(c, s, row, (double)f->n_features, f->numbers);
        double p = drove__throughput_parallel_fraction(&c->row[s][row].parallel, f->n_features);
        drove__json_add(rows, json_pack("{s:s, s:s, s:i, s:i, s:f, s:f}", "signature",
                                        drove__throughput_signature[row], "problem",
                                        s ? "sparse" : "dense", "features", (int)f->n_features,
                                        "threads", (int)threads, "gnps", gnps, "predicted_gnps",
                                        drove__throughput_amdahl(t1, p, threads)));
        if (threads == many) return;
    }
}

static drove_status run(const drove_bench_context *context, json_t **result)
{
    char *path = NULL;
    drovek_table best;
    DROVE_TRY(drovek_select(&best, drove__cpu_features(), NULL));
    if (context->out == NULL && strcmp(context->kernels.isa, best.isa) != 0)
        return drove__fail(DROVE_E_ARG,
                           "calibrate: --isa %s: expected --out FILE for the constants of a tier "
                           "below this processor's best, %s",
                           context->kernels.isa, best.isa);
    calibration *k = calloc(1, sizeof *k);
    if (k == NULL) return drove__fail_nomem("a calibration", sizeof *k);
    const char *into = context->out;
    drove_status status = DROVE_OK;
    drove__linear_bench_init(&k->bench, context);
    if (into == NULL) {
        if ((status = drove__throughput_path(&path)) != DROVE_OK) goto fail;
        into = path;
    }

    /* rows of Table 2 with the same D after each other, so that they share their examples */
    static const unsigned order[3][3] = {{0, 1, 2}, {4, 5, 7}, {3, 6, 8}};
    for (int s = 0; s < 2; s++)
        for (int d = 0; d < 3; d++)
            for (unsigned size = 0; size < SIZES; size++)
                for (int i = 0; i < 3; i++)
                    if ((status = measure_figure(k, s, order[d][i], size)) != DROVE_OK) goto fail;

    if ((status = fit(k)) != DROVE_OK) goto fail;
    if ((status = drove__throughput_save(&k->constants, into)) != DROVE_OK) goto fail;

    /* the constants, and each measurement beside what they predict */
    json_t *rows = json_array(), *constants = json_array();
    for (int s = 0; s < 2; s++) {
        for (unsigned row = 0; row < DROVE_THROUGHPUT_ROWS; row++) {
            const drove_throughput_row *fitted = &k->constants.row[s][row];
            drove__json_add(&constants,
                            json_pack("{s:s, s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "signature",
                                      drove__throughput_signature[row], "problem",
                                      s ? "sparse" : "dense", "gnps", fitted->gnps, "step_ns",
                                      fitted->step_ns, "spill_ns", fitted->spill_ns, "cache_bytes",
                                      fitted->cache_bytes, "slope", fitted->parallel.slope,
                                      "zero_features", fitted->parallel.zero_features, "most",
                                      fitted->parallel.most));
            for (unsigned i = 0; i < SIZES; i++) add_row(k, &rows, s, row, &k->figure[s][row][i]);
        }
    }
    drove__json_set(result, "file", json_string(into));
    drove__json_set(result, "threads", json_integer(k->bench.context->n_threads));
    drove__json_set(result, "constants", constants);
    drove__json_set(result, "rows", rows);

fail:
    drove__linear_bench_fini(&k->bench);
    free(path);
    free(k);
    return status;
}

/* ---- for people ---- */

static void print(const json_t *result, FILE *stream)
{
    size_t i, n_near = 0, n = json_array_size(json_object_get(result, "rows"));
    const json_t *row;
    fprintf(stream, "p = min(most, slope ln(n / n0)), n = number of features; KiB: cache\n");
    fprintf(stream, "%-14s%-7s%8s%9s%9s%9s%7s%7s%10s\n", "signature", "", "T1 GNPS", "step ns",
            "spill ns", "KiB", "most", "slope", "n0");
    json_array_foreach(json_object_get(result, "constants"), i, row)
    {
        fprintf(stream, "%-14s%-7s%8.4g%9.4g%9.4g%9.4g%7.3g%7.3g%10.4g\n",
                drove__bench_text(row, "signature"), drove__bench_text(row, "problem"),
                drove__bench_number(row, "gnps"), drove__bench_number(row, "step_ns"),
                drove__bench_number(row, "spill_ns"),
                drove__bench_number(row, "cache_bytes") / 1024.0, drove__bench_number(row, "most"),
                drove__bench_number(row, "slope"), drove__bench_number(row, "zero_features"));
    }
    json_array_foreach(json_object_get(result, "rows"), i, row)
    {
        double gnps = drove__bench_number(row, "gnps");
        n_near += fabs(drove__bench_number(row, "predicted_gnps") - gnps) <= 0.5 * gnps;
    }
    fprintf(stream, "%zu of %zu figures are predicted within 50 %%\nconstants: %s\n", n_near, n,
            drove__bench_text(result, "file"));
}

const drove_bench_ops drove__bench_calibrate = {
    .name = "calibrate",
    .help = "measures and stores the throughput model's constants of this machine, for drove dmgc",
    .source = "De Sa et al., ISCA 2017, section 4",
    .run = run,
    .print = print,
};
