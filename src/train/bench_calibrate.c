/* train/bench_calibrate.c - `drove bench calibrate`: the constants of the throughput model, fitted
 * to what this machine reaches, and kept in a file that `drove dmgc` then uses.
 *
 * Every row of Table 2, dense and sparse, over model sizes 2^8 to 2^22, with one thread and with
 * all; a figure takes the CALIBRATE_PART-th part of the seconds asked for.  Data beyond the caches.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "train/bench_linear.h"

#include "base/cpu.h"
#include "base/mem.h"
#include "base/status.h"
#include "linear/fit.h"

#include <drove/version.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LEAST_BITS = 8, MOST_BITS = 22, BITS_STEP = 2, CALIBRATE_PART = 5 };
enum { SIZES = (MOST_BITS - LEAST_BITS) / BITS_STEP + 1 };
enum { POINTS = DROVE_THROUGHPUT_ROWS * SIZES };
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
    drove_linear_case c = {.row = row,
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

static drove_status measure_all(calibration *k)
{
    /* rows of Table 2 with the same D after each other, so that they share their examples */
    static const unsigned order[3][3] = {{0, 1, 2}, {4, 5, 7}, {3, 6, 8}};
    for (int s = 0; s < 2; s++) {
        for (int d = 0; d < 3; d++) {
            for (unsigned size = 0; size < SIZES; size++) {
                for (int i = 0; i < 3; i++) DROVE_TRY(measure_figure(k, s, order[d][i], size));
            }
        }
    }
    return DROVE_OK;
}

/* ---- fitting ---- */

static double fit_base(calibration *k, int s, unsigned row)
{
    drove_base_point point[SIZES];
    drove_precision precision;
    if (drove__precision_resolve(drove__throughput_signature[row], s, &precision) != DROVE_OK)
        return 0.0;
    double bytes = (double)drove__number_size(precision.model);
    for (unsigned i = 0; i < SIZES; i++) {
        const figure *f = &k->figure[s][row][i];
        point[i] = (drove_base_point){
            .numbers = f->numbers,
            .spill = drove__throughput_spill(&k->constants, (double)f->n_features, bytes),
            .gnps = f->one_gnps};
    }
    return drove__fit_base(point, SIZES, &k->constants.base[s][row]);
}

/* All rows, with so much of the last own cache left to the model; returns the error. */
static double fit_bases(calibration *k, double cache_bytes)
{
    double error = 0.0;
    k->constants.cache_bytes = cache_bytes;
    for (int s = 0; s < 2; s++) {
        for (unsigned row = 0; row < DROVE_THROUGHPUT_ROWS; row++) error += fit_base(k, s, row);
    }
    return error;
}

/* The examples run through the cache that holds the model: how much they leave is fitted, as a
 * halving of its size. */
static void fit_cache(calibration *k)
{
    double size = (double)k->bench.context->facts.l2_bytes, best = size, least = INFINITY;
    for (int halved = 0; halved <= 4; halved++, size /= 2.0) {
        double error = fit_bases(k, size);
        if (error >= least) continue;
        least = error;
        best = size;
    }
    (void)fit_bases(k, best);
}

static void fit_parallel(calibration *k, int s)
{
    drove_parallel_point point[POINTS];
    size_t n = 0;
    unsigned n_threads = k->bench.context->n_threads;
    k->constants.parallel[s] = drove__throughput_paper.parallel[s];
    if (n_threads == 1) return;
    for (unsigned row = 0; row < DROVE_THROUGHPUT_ROWS; row++) {
        for (unsigned i = 0; i < SIZES; i++) {
            const figure *f = &k->figure[s][row][i];
            point[n++] = (drove_parallel_point){.n_features = (double)f->n_features,
                                                .n_threads = n_threads,
                                                .one_gnps = f->one_gnps,
                                                .many_gnps = f->many_gnps};
        }
    }
    drove__fit_parallel(point, n, &k->constants.parallel[s]);
}

static void describe(calibration *k)
{
    drove_throughput *c = &k->constants;
    time_t now = time(NULL);
    struct tm day;
    localtime_r(&now, &day);
    strftime(c->date, sizeof c->date, "%Y-%m-%d", &day);
    snprintf(c->machine, sizeof c->machine, "%s", drove__cpu_model());
    snprintf(c->version, sizeof c->version, "%s", DROVE_VERSION);
    c->n_cores = k->bench.context->facts.n_pus;
}

static void fit(calibration *k)
{
    describe(k);
    fit_cache(k);
    for (int s = 0; s < 2; s++) fit_parallel(k, s);
}

/* ---- the result ---- */

static double predict(const calibration *k, int s, unsigned row, const figure *f, unsigned threads)
{
    const drove_throughput *c = &k->constants;
    double t1 = drove__throughput_base_gnps(c, s, row, (double)f->n_features, f->numbers);
    double p = drove__throughput_parallel_fraction(&c->parallel[s], f->n_features);
    return drove__throughput_amdahl(t1, p, threads);
}

static void add_row(const calibration *k, json_t *rows, int s, unsigned row, const figure *f)
{
    unsigned many = k->bench.context->n_threads;
    for (unsigned threads = 1;; threads = many) {
        double gnps = threads == 1 ? f->one_gnps : f->many_gnps;
        json_array_append_new(
            rows, json_pack("{s:s, s:s, s:i, s:i, s:f, s:f}", "signature",
                            drove__throughput_signature[row], "problem", s ? "sparse" : "dense",
                            "features", (int)f->n_features, "threads", (int)threads, "gnps", gnps,
                            "predicted_gnps", predict(k, s, row, f, threads)));
        if (threads == many) return;
    }
}

static json_t *parallel_json(const drove_throughput_parallel *p)
{
    return json_pack("{s:f, s:f, s:f}", "slope", p->slope, "zero_features", p->zero_features,
                     "most", p->most);
}

static void add_result(const calibration *k, const char *path, json_t *result)
{
    json_t *rows = json_array(), *base = json_array();
    for (int s = 0; s < 2; s++) {
        for (unsigned row = 0; row < DROVE_THROUGHPUT_ROWS; row++) {
            const drove_throughput_base *b = &k->constants.base[s][row];
            json_array_append_new(base, json_pack("{s:s, s:s, s:f, s:f, s:f}", "signature",
                                                  drove__throughput_signature[row], "problem",
                                                  s ? "sparse" : "dense", "gnps", b->gnps,
                                                  "step_ns", b->step_ns, "spill_ns", b->spill_ns));
            for (unsigned i = 0; i < SIZES; i++) add_row(k, rows, s, row, &k->figure[s][row][i]);
        }
    }
    json_object_set_new(result, "file", json_string(path));
    json_object_set_new(result, "threads", json_integer(k->bench.context->n_threads));
    json_object_set_new(result, "cache_bytes", json_real(k->constants.cache_bytes));
    json_object_set_new(result, "parallel",
                        json_pack("{s:o, s:o}", "dense", parallel_json(&k->constants.parallel[0]),
                                  "sparse", parallel_json(&k->constants.parallel[1])));
    json_object_set_new(result, "base", base);
    json_object_set_new(result, "rows", rows);
}

static drove_status calibrate(calibration *k, const char *path, json_t *result)
{
    DROVE_TRY(measure_all(k));
    fit(k);
    DROVE_TRY(drove__throughput_save(&k->constants, path));
    add_result(k, path, result);
    return DROVE_OK;
}

static drove_status run_calibrate(const drove_bench_context *context, json_t *result)
{
    char *path = NULL;
    calibration *k = calloc(1, sizeof *k);
    if (k == NULL) return drove__fail_nomem("a calibration", sizeof *k);
    drove_status status = drove__linear_bench_init(&k->bench, context);
    if (status == DROVE_OK && context->out == NULL) status = drove__throughput_path(&path);
    if (status == DROVE_OK)
        status = calibrate(k, context->out != NULL ? context->out : path, result);
    drove__linear_bench_fini(&k->bench);
    free(path);
    free(k);
    return status;
}

/* ---- for people ---- */

static double number_of(const json_t *row, const char *key)
{
    return json_number_value(json_object_get(row, key));
}

static void print_parallel(const json_t *result, const char *problem, FILE *stream)
{
    const json_t *p = json_object_get(json_object_get(result, "parallel"), problem);
    fprintf(stream, "%-8s p = min(%.3g, %.3g ln(n / %.4g))\n", problem, number_of(p, "most"),
            number_of(p, "slope"), number_of(p, "zero_features"));
}

static void print_calibrate(const json_t *result, FILE *stream)
{
    size_t i, n_near = 0, n = json_array_size(json_object_get(result, "rows"));
    const json_t *row;
    fprintf(stream, "%-15s%-8s%10s%12s%12s\n", "signature", "", "T1 GNPS", "step ns", "spill ns");
    json_array_foreach(json_object_get(result, "base"), i, row)
    {
        fprintf(stream, "%-15s%-8s%10.4g%12.4g%12.4g\n",
                json_string_value(json_object_get(row, "signature")),
                json_string_value(json_object_get(row, "problem")), number_of(row, "gnps"),
                number_of(row, "step_ns"), number_of(row, "spill_ns"));
    }
    print_parallel(result, "dense", stream);
    print_parallel(result, "sparse", stream);
    json_array_foreach(json_object_get(result, "rows"), i, row)
    {
        double gnps = number_of(row, "gnps");
        n_near += fabs(number_of(row, "predicted_gnps") - gnps) <= 0.5 * gnps;
    }
    fprintf(stream, "%zu of %zu figures are predicted within 50 %%\nconstants: %s\n", n_near, n,
            json_string_value(json_object_get(result, "file")));
}

const drove_bench_ops drove__bench_calibrate = {
    .name = "calibrate",
    .help = "measures and stores the throughput model's constants of this machine, for drove dmgc",
    .source = "De Sa et al., ISCA 2017, section 4",
    .run = run_calibrate,
    .print = print_calibrate,
};
