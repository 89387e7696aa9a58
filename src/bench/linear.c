/* bench/linear.c - `drove bench linear`: the paper's Table 2 again, on this machine. */
#include "bench/linear.h"

#include "base/status.h"
#include "run/registry.h"

#include <string.h>

enum { FEATURES = 65536 };
static const uint64_t DEFAULT_BYTES = (uint64_t)1 << 30;
static const double DENSITY = 0.03;

/* ---- for all benchmarks of such steps ---- */

drove_status drove__linear_bench_init(drove_linear_bench *b, const drove_bench_context *context)
{
    *b = (drove_linear_bench){.context = context, .density = DENSITY};
    DROVE_TRY(drove__plan_strategy(&drove__plan_registry, "hogwild", &b->sync));
    return drove__spec_parse("hogwild", &b->spec);
}

void drove__linear_bench_fini(drove_linear_bench *b)
{
    drove__measure_data_destroy(b->data);
    drove__spec_fini(&b->spec);
}

static bool same_shape(const drove_measure_shape *a, const drove_measure_shape *b)
{
    return a->number == b->number && a->index_bits == b->index_bits &&
           a->n_features == b->n_features && a->n_bytes == b->n_bytes;
}

/* Examples for this case, those in hand if they will do. */
static drove_status take_data(drove_linear_bench *b, const drove_precision *precision,
                              const drove_linear_case *c)
{
    drove_measure_shape shape = {.number = precision->data,
                                 .index_bits = precision->index_bits,
                                 .n_features = c->n_features,
                                 .density = b->density,
                                 .n_bytes = c->n_bytes,
                                 .seed = 1};
    if (b->data != NULL && same_shape(&shape, &b->shape)) return DROVE_OK;
    drove__measure_data_destroy(b->data);
    b->data = NULL;
    b->shape = shape;
    return drove__measure_data_create(&shape, &b->data);
}

drove_status drove__linear_bench_run(drove_linear_bench *b, const drove_linear_case *c,
                                     drove_measured *out)
{
    drove_precision precision;
    DROVE_TRY(
        drove__precision_resolve(drove__throughput_signature[c->row], c->is_sparse, &precision));
    DROVE_TRY(take_data(b, &precision, c));
    drove_measure_job job = {.topo = b->context->topo,
                             .bind = DROVE_BIND_COMPACT,
                             .kernels = &b->context->kernels,
                             .sync = b->sync,
                             .spec = &b->spec,
                             .n_threads = c->n_threads,
                             .precision = precision.text,
                             .rounding = "shared",
                             .batch = 1,
                             .hints = true,
                             .seconds = c->seconds};
    return drove__measure(b->data, &job, out);
}

/* ---- Table 2 ---- */

static json_t *row_json(const drove_linear_case *c, const drove_measured *m)
{
    double paper = drove__throughput_paper.row[c->is_sparse][c->row].gnps;
    json_t *row =
        json_pack("{s:s, s:s, s:i, s:i, s:f, s:f, s:f, s:f}", "signature",
                  drove__throughput_signature[c->row], "problem", c->is_sparse ? "sparse" : "dense",
                  "features", (int)c->n_features, "threads", (int)c->n_threads, "gnps", m->gnps,
                  "gnps_median", m->gnps_median, "gb_per_s", m->gnps * m->bytes_per_number,
                  "read_gb_per_s", m->read_gb_per_s);
    /* The paper's figures are those of one thread. */
    drove__json_set(&row, "paper_gnps", c->n_threads == 1 ? json_real(paper) : json_null());
    drove__json_set(&row, "of_paper", c->n_threads == 1 ? json_real(m->gnps / paper) : json_null());
    drove__json_set(&row, "windows", json_integer(m->n_windows));
    drove__json_set(&row, "undisturbed", json_integer(m->n_undisturbed));
    return row;
}

static drove_status run_rows(drove_linear_bench *b, uint64_t n_bytes, json_t **rows)
{
    /* rows of Table 2 with the same D after each other, so that they share their examples */
    static const unsigned order[DROVE_THROUGHPUT_ROWS] = {0, 1, 2, 4, 5, 7, 3, 6, 8};
    const drove_bench_context *context = b->context;
    for (int i = 0; i < 2 * DROVE_THROUGHPUT_ROWS; i++) {
        drove_linear_case c = {.row = order[i % DROVE_THROUGHPUT_ROWS],
                               .is_sparse = i >= DROVE_THROUGHPUT_ROWS,
                               .n_features = FEATURES,
                               .n_bytes = n_bytes,
                               .seconds = context->seconds};
        for (c.n_threads = 1; c.n_threads <= context->n_threads;
             c.n_threads += context->n_threads > 1 ? context->n_threads - 1 : 1) {
            drove_measured m;
            DROVE_TRY(drove__linear_bench_run(b, &c, &m));
            drove__json_add(rows, row_json(&c, &m));
        }
    }
    return DROVE_OK;
}

static drove_status run_linear(const drove_bench_context *context, json_t **result)
{
    drove_linear_bench b;
    uint64_t n_bytes = context->n_bytes != 0 ? context->n_bytes : DEFAULT_BYTES;
    json_t *rows = json_array();
    drove__json_set(result, "bytes", json_integer((json_int_t)n_bytes));
    drove__json_set(result, "seconds", json_real(context->seconds));
    drove__json_set(result, "density", json_real(DENSITY));
    drove__json_set(result, "rounding", json_string("shared"));
    drove_status status = drove__linear_bench_init(&b, context);
    if (status == DROVE_OK) status = run_rows(&b, n_bytes, &rows);
    drove__json_set(result, "rows", rows);
    drove__linear_bench_fini(&b);
    return status;
}

/* ---- for people ---- */

static double number_of(const json_t *row, const char *key)
{
    return json_number_value(json_object_get(row, key));
}

static const json_t *find_row(const json_t *rows, unsigned row, const char *problem, bool is_one)
{
    size_t i;
    const json_t *r;
    json_array_foreach(rows, i, r)
    {
        if (strcmp(json_string_value(json_object_get(r, "signature")),
                   drove__throughput_signature[row]) == 0 &&
            strcmp(json_string_value(json_object_get(r, "problem")), problem) == 0 &&
            (json_integer_value(json_object_get(r, "threads")) == 1) == is_one)
            return r;
    }
    return NULL;
}

static void print_linear(const json_t *result, FILE *stream)
{
    static const char *const problem[] = {"dense", "sparse"};
    const json_t *rows = json_object_get(result, "rows");
    fprintf(stream,
            "GNPS: 10^9 dataset numbers (sparse, 3 %%: stored ones) a second; %d features,\n"
            "%.4g GiB.  T1, Tt: with one thread, with all.  read: bytes/s of T1 over\n"
            "those of reading alone.\n",
            FEATURES, number_of(result, "bytes") / 0x1p30);
    for (int s = 0; s < 2; s++) {
        fprintf(stream, "\n%-15s%9s%9s%9s%9s%9s%9s\n", problem[s], "paper T1", "T1", "ratio", "Tt",
                "Tt / T1", "read");
        for (unsigned row = 0; row < DROVE_THROUGHPUT_ROWS; row++) {
            const json_t *one = find_row(rows, row, problem[s], true);
            const json_t *all = find_row(rows, row, problem[s], false);
            double gnps = number_of(one, "gnps");
            fprintf(stream, "%-15s%9.3f%9.3f%9.2f", drove__throughput_signature[row],
                    number_of(one, "paper_gnps"), gnps, number_of(one, "of_paper"));
            if (all != NULL) {
                fprintf(stream, "%9.3f%9.2f", number_of(all, "gnps"),
                        number_of(all, "gnps") / gnps);
            } else {
                fprintf(stream, "%9s%9s", "-", "-");
            }
            fprintf(stream, "%9.2f\n",
                    number_of(one, "gb_per_s") / number_of(one, "read_gb_per_s"));
        }
    }
}

const drove_bench_ops drove__bench_linear = {
    .name = "linear",
    .help = "Table 2 of the Buckwild! paper on this machine: low-precision steps, dense and sparse",
    .source = "De Sa et al., ISCA 2017",
    .run = run_linear,
    .print = print_linear,
};
