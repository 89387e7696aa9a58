/* bench/linear.c - `drove bench linear`: the paper's Table 2 again, on this machine, and signatures
 * of 4 bits, which the paper bounds from above alone (Figure 5c).
 */
#include "bench/linear.h"

#include "base/status.h"
#include "config/registry.h"

#include <string.h>

enum { FEATURES = 65536 };
static const uint64_t DEFAULT_BYTES = (uint64_t)1 << 30;
static const double DENSITY = 0.03;

/* ---- for all benchmarks of such steps ---- */

void drove__linear_bench_init(drove_linear_bench *b, const drove_bench_context *context)
{
    *b = (drove_linear_bench){.context = context, .density = DENSITY};
}

void drove__linear_bench_fini(drove_linear_bench *b)
{
    drove__measure_data_destroy(b->data);
}

static const char shared_model[] = "hogwild";

static const char *strategy_of(const drove_linear_case *c)
{
    return c->strategy != NULL ? c->strategy : shared_model;
}

drove_status drove__linear_bench_run(drove_linear_bench *b, const drove_linear_case *c,
                                     drove_measured *out)
{
    drove_spec spec;
    drove_precision precision;
    drove_measure_job job = {.topo = b->context->topo,
                             .bind = DROVE_BIND_COMPACT,
                             .kernels = &b->context->kernels,
                             .spec = &spec,
                             .n_threads = c->n_threads,
                             .rounding = "shared",
                             .batch = 1,
                             .hints = true,
                             .seconds = c->seconds};
    DROVE_TRY(drove__spec_parse(strategy_of(c), &spec));
    drove_status status = drove__plan_strategy(&drove__plan_registry, spec.name, &job.sync);
    if (status != DROVE_OK) goto fail;
    status = drove__precision_resolve(c->signature, c->is_sparse, &precision);
    if (status != DROVE_OK) goto fail;
    job.precision = precision.text;

    /* Examples for this case, those in hand if they will do. */
    drove_measure_shape shape = {.number = precision.data,
                                 .index_bits = precision.index_bits,
                                 .n_features = c->n_features,
                                 .density = b->density,
                                 .n_bytes = c->n_bytes,
                                 .seed = 1};
    if (b->data == NULL || shape.number != b->shape.number ||
        shape.index_bits != b->shape.index_bits || shape.n_features != b->shape.n_features ||
        shape.n_bytes != b->shape.n_bytes) {
        drove__measure_data_destroy(b->data);
        b->data = NULL;
        b->shape = shape;
        if ((status = drove__measure_data_create(&shape, &b->data)) != DROVE_OK) goto fail;
    }
    status = drove__measure(b->data, &job, out);

fail:
    drove__spec_fini(&spec);
    return status;
}

/* ---- Table 2, and 4 bits ---- */

enum { NO_ROW = -1 };

typedef struct line {
    const char *signature;
    int row; /* of Table 2; NO_ROW: of 4 bits */
    bool is_sparse;
} line;

/* Rows of Table 2 with the same D after each other, so that they share their examples. */
static const unsigned measured_order[DROVE_THROUGHPUT_ROWS] = {0, 1, 2, 4, 5, 7, 3, 6, 8};
static const char *const of_4_bits[] = {"D8M4", "D4M8", "D4M4"};
enum { N_OF_4_BITS = DROVE_COUNT(of_4_bits), N_LINES = 2 * DROVE_THROUGHPUT_ROWS + N_OF_4_BITS };

/* Line i of those to measure: dense, dense of 4 bits, sparse.  is_printed: as in Table 2. */
static line line_at(int i, bool is_printed)
{
    const int n_rows = DROVE_THROUGHPUT_ROWS;
    if (i >= n_rows && i < n_rows + N_OF_4_BITS)
        return (line){of_4_bits[i - n_rows], NO_ROW, false};
    const bool is_sparse = i >= n_rows;
    const int at = is_sparse ? i - n_rows - N_OF_4_BITS : i;
    const int row = is_printed ? at : (int)measured_order[at];
    return (line){drove__throughput_signature[row], row, is_sparse};
}

/* The choice of --strategy auto for sparse data of this shape (auto/strategy_counts.c). */
static const char replicas[] = "replicas?merge=sum&period=64";

static drove_status run_row(drove_linear_bench *b, const line *l, const drove_linear_case *c,
                            json_t **rows)
{
    drove_measured m;
    DROVE_TRY(drove__linear_bench_run(b, c, &m));
    const bool has_paper = l->row != NO_ROW && c->n_threads == 1; /* whose figures are of one */
    double paper = has_paper ? drove__throughput_paper.row[c->is_sparse][l->row].gnps : 1.0;
    json_t *row =
        json_pack("{s:s, s:s, s:i, s:i, s:s, s:f, s:f, s:f, s:f}", "signature", c->signature,
                  "problem", c->is_sparse ? "sparse" : "dense", "features", (int)c->n_features,
                  "threads", (int)c->n_threads, "strategy", strategy_of(c), "gnps", m.gnps,
                  "gnps_median", m.gnps_median, "gb_per_s", m.gnps * m.bytes_per_number,
                  "read_gb_per_s", m.read_gb_per_s);
    drove__json_set(&row, "paper_gnps", has_paper ? json_real(paper) : json_null());
    drove__json_set(&row, "of_paper", has_paper ? json_real(m.gnps / paper) : json_null());
    drove__json_set(&row, "windows", json_integer(m.n_windows));
    drove__json_set(&row, "undisturbed", json_integer(m.n_undisturbed));
    drove__json_add(rows, row);
    return DROVE_OK;
}

static drove_status run(const drove_bench_context *context, json_t **result)
{
    drove_linear_bench b;
    uint64_t n_bytes = context->n_bytes != 0 ? context->n_bytes : DEFAULT_BYTES;
    json_t *rows = json_array();
    drove__json_set(result, "bytes", json_integer((json_int_t)n_bytes));
    drove__json_set(result, "seconds", json_real(context->seconds));
    drove__json_set(result, "density", json_real(DENSITY));
    drove__json_set(result, "rounding", json_string("shared"));
    drove__linear_bench_init(&b, context);
    drove_status status = DROVE_OK;
    for (int i = 0; i < N_LINES && status == DROVE_OK; i++) {
        const line l = line_at(i, false);
        drove_linear_case c = {.signature = l.signature,
                               .is_sparse = l.is_sparse,
                               .n_features = FEATURES,
                               .n_bytes = n_bytes,
                               .n_threads = 1,
                               .seconds = context->seconds};

        /* one thread, all on one model, and all on replicas that meet */
        status = run_row(&b, &l, &c, &rows);
        if (context->n_threads == 1) continue;
        c.n_threads = context->n_threads;
        if (status == DROVE_OK) status = run_row(&b, &l, &c, &rows);
        c.strategy = replicas;
        if (status == DROVE_OK) status = run_row(&b, &l, &c, &rows);
    }
    drove__json_set(result, "rows", rows);
    drove__linear_bench_fini(&b);
    return status;
}

/* ---- for people ---- */

static const json_t *find_row(const json_t *rows, const char *signature, const char *problem,
                              bool is_one, const char *strategy)
{
    size_t i;
    const json_t *r;
    json_array_foreach(rows, i, r)
    {
        if (strcmp(drove__bench_text(r, "signature"), signature) == 0 &&
            strcmp(drove__bench_text(r, "problem"), problem) == 0 &&
            (json_integer_value(json_object_get(r, "threads")) == 1) == is_one &&
            strcmp(drove__bench_text(r, "strategy"), strategy) == 0)
            return r;
    }
    return NULL;
}

/* The figure of a row with so many places, or a dash. */
static void print_figure(const json_t *row, const char *key, int places, FILE *stream)
{
    if (json_is_number(json_object_get(row, key)))
        fprintf(stream, "%9.*f", places, drove__bench_number(row, key));
    else fprintf(stream, "%9s", "-");
}

/* A row of all threads beside that of one. */
static void print_ratio(const json_t *all, const json_t *one, FILE *stream)
{
    if (all != NULL)
        fprintf(stream, "%9.2f",
                drove__bench_number(all, "gnps") / drove__bench_number(one, "gnps"));
    else fprintf(stream, "%9s", "-");
}

static void print(const json_t *result, FILE *stream)
{
    const json_t *rows = json_object_get(result, "rows");
    fprintf(stream,
            "GNPS: 10^9 dataset numbers (sparse, 3 %%: stored ones) a second; %d features,\n"
            "%.4g GiB.  T1, Tt: with one thread, with all on one model.  Tr: on replicas\n"
            "that meet, %s.  read: bytes/s of T1 over\n"
            "those of reading alone.\n",
            FEATURES, drove__bench_number(result, "bytes") / 0x1p30, replicas);
    for (int i = 0; i < N_LINES; i++) {
        const line l = line_at(i, true);
        if (i == 0 || i == N_LINES - DROVE_THROUGHPUT_ROWS)
            fprintf(stream, "\n%-15s%9s%9s%9s%9s%9s%9s%9s\n", l.is_sparse ? "sparse" : "dense",
                    "paper T1", "T1", "ratio", "Tt", "Tt / T1", "Tr / T1", "read");

        const char *problem = l.is_sparse ? "sparse" : "dense";
        const json_t *one = find_row(rows, l.signature, problem, true, shared_model);
        const json_t *all = find_row(rows, l.signature, problem, false, shared_model);
        fprintf(stream, "%-15s", l.signature);
        print_figure(one, "paper_gnps", 3, stream);
        print_figure(one, "gnps", 3, stream);
        print_figure(one, "of_paper", 2, stream);
        print_figure(all, "gnps", 3, stream);
        print_ratio(all, one, stream);
        print_ratio(find_row(rows, l.signature, problem, false, replicas), one, stream);
        fprintf(stream, "%9.2f\n",
                drove__bench_number(one, "gb_per_s") / drove__bench_number(one, "read_gb_per_s"));
    }
}

const drove_bench_ops drove__bench_linear = {
    .name = "linear",
    .help = "Table 2 of the Buckwild! paper on this machine, and 4 bits: steps, dense and sparse",
    .source = "De Sa et al., ISCA 2017",
    .run = run,
    .print = print,
};
