/* bench/obstinate.c - `drove bench obstinate`: the obstinate cache of De Sa et al., ISCA 2017,
 * section 6.2 ("the paper"), on its simulated processor.
 *
 *   rates   Figure 6c: throughput of 18 cores by size of the model and obstinacy q
 *   losses  Figure 6f: what 18 workers learn from lines as old as their caches hold them
 *   here    q = 0 against this machine: two cores over one, measured and simulated
 *
 * Arithmetic: dense, a core's is that of the paper's Table 2, T_1 of the signature, at its 2.5 GHz.
 * The figures there have memory in them, which for dense steps hides behind the arithmetic; for
 * sparse steps it does not, so there it is an assumption, PAIR_CYCLES.
 */
#include "bench/linear.h"
#include "bench/simulate_cores.h"

#include <math.h>
#include <string.h>

enum { N_Q = 5, LEAST_LOG = 8, N_SEEDS = 3, N_EPOCHS = 8, MOST_LEARNT = 512, AHEAD = 16 };
enum { HERE_LEAST_LOG = 8, HERE_MOST_LOG = 16 };
static const double OBSTINACY[N_Q] = {0.0, 0.25, 0.5, 0.75, 0.95};
static const double CLOCK_GHZ = 2.5, PAIR_CYCLES = 6.0, DENSITY = 0.03;
static const uint64_t DEFAULT_BYTES = (uint64_t)1 << 20; /* of the largest model */
static const double LEAST_ACCESSES = 2e5;                /* of a simulation, about */

static const struct problem {
    const char *signature;
    unsigned row; /* of Table 2 */
    drove_number data, model;
    bool is_sparse;
} problems[] = {
    {"D8M8", 8, DROVE_I8, DROVE_I8, false},
    {"D32fM32f", 2, DROVE_F32, DROVE_F32, false},
    {"D8i8M8", 8, DROVE_I8, DROVE_I8, true},
};

/* In order: a core that waits for each access, which the paper's figure agrees with. */
static drove_sim_step step_of(const struct problem *p, size_t n_features, double gnps,
                              bool in_order)
{
    return (drove_sim_step){.data = p->data,
                            .model = p->model,
                            .n_features = n_features,
                            .density = p->is_sparse ? DENSITY : 0.0,
                            .ghz = CLOCK_GHZ,
                            .gnps = p->is_sparse ? CLOCK_GHZ / PAIR_CYCLES : gnps,
                            .ahead = AHEAD,
                            .in_order = in_order};
}

/* So that a simulation is long enough, and a core has timed examples. */
static size_t examples_for(const drove_sim_step *step, unsigned n_cores)
{
    const double per_line = 9.0, lines = (double)drove__sim_cores_lines(step);
    const double one =
        step->density > 0.0 ? 3.0 * step->density * (double)step->n_features : per_line * lines;
    return (size_t)fmax(4.0, LEAST_ACCESSES / (one * n_cores));
}

/* ---- Figure 6c ---- */

static drove_status add_rate(const struct problem *p, size_t n, bool in_order, json_t **rows)
{
    const drove_throughput *paper = &drove__throughput_paper;
    const drove_sim_step step = step_of(p, n, paper->row[0][p->row].gnps, in_order);
    drove_caches_options caches = drove__caches_of_the_paper;
    drove_sim_rate rate;
    const double part = drove__throughput_parallel_fraction(&paper->row[0][p->row].parallel, n);
    json_t *row = json_pack("{s:s, s:i, s:b}", "signature", p->signature, "features", (int)n,
                            "in_order", in_order);
    json_t *by_q = json_array();
    caches.n_cores = 1;
    drove_status status =
        drove__sim_cores_rate(&caches, &step, examples_for(&step, caches.n_cores), &rate);
    const double alone = rate.gnps;
    drove__json_set(&row, "one_core_gnps", json_real(alone));
    drove__json_set(&row, "paper_speedup",
                    json_real(drove__throughput_amdahl(1.0, part, paper->n_cores)));
    for (unsigned i = 0; status == DROVE_OK && i < N_Q; i++) {
        caches.n_cores = drove__caches_of_the_paper.n_cores;
        caches.obstinacy = OBSTINACY[i];
        caches.seed = i;
        status = drove__sim_cores_rate(&caches, &step, examples_for(&step, caches.n_cores), &rate);
        if (status == DROVE_OK)
            drove__json_add(&by_q,
                            json_pack("{s:f, s:f, s:f, s:f}", "q", OBSTINACY[i], "gnps", rate.gnps,
                                      "speedup", rate.gnps / alone, "old_reads",
                                      (double)rate.sum.old_reads / (double)rate.sum.accesses));
    }
    drove__json_set(&row, "by_q", by_q);
    drove__json_add(rows, row);
    return status;
}

/* ---- Figure 6f ---- */

static drove_status add_losses(const struct problem *p, const drove_bench_context *context,
                               size_t n, double q, bool owns_first, json_t **rows)
{
    drove_sim_step step = step_of(p, n, drove__throughput_paper.row[0][p->row].gnps, true);
    drove_caches_options caches = drove__caches_of_the_paper;
    double loss[N_EPOCHS + 1], sum[N_EPOCHS + 1] = {0}, old = 0.0, kept = 0.0;
    drove_sim_rate rate;
    json_t *mean = json_array();
    step.owns_first = owns_first;
    caches.obstinacy = q;
    for (unsigned seed = 1; seed <= N_SEEDS; seed++) {
        const drove_sim_lesson lesson = {.kernels = &context->kernels,
                                         .n_examples = 8 * n,
                                         .n_epochs = N_EPOCHS,
                                         .eta = 2.0,
                                         .seed = seed};
        caches.seed = seed;
        DROVE_TRY(drove__sim_cores_learn(&caches, &step, &lesson, loss, &rate));
        for (unsigned e = 0; e <= N_EPOCHS; e++) sum[e] += loss[e] / N_SEEDS;
        old += (double)rate.sum.old_reads / (double)rate.sum.accesses / N_SEEDS;
        kept += (double)rate.sum.kept / N_SEEDS;
    }
    for (unsigned e = 0; e <= N_EPOCHS; e++) drove__json_add(&mean, json_real(sum[e]));
    drove__json_add(rows, json_pack("{s:s, s:i, s:f, s:b, s:o, s:f, s:f}", "signature",
                                    p->signature, "features", (int)n, "q", q, "owns_first",
                                    owns_first, "loss", mean, "old_reads", old, "kept", kept));
    return DROVE_OK;
}

/* ---- this machine ---- */

static drove_status add_here(drove_linear_bench *b, const struct problem *p, size_t n,
                             json_t **rows)
{
    drove_linear_case c = {.signature = drove__throughput_signature[p->row],
                           .n_features = n,
                           .n_bytes = (uint64_t)1 << 22,
                           .n_threads = 1,
                           .seconds = b->context->seconds};

    /* This machine's caches where the topology knows them; cycles are the paper's. */
    drove_caches_options caches = drove__caches_of_the_paper;
    const drove_topo_facts *facts = &b->context->facts;
    const uint64_t bytes[] = {facts->l1d_bytes, facts->l2_bytes, facts->l3_bytes};
    drove_cache_size *const size[] = {&caches.l1, &caches.l2, &caches.l3};
    for (unsigned i = 0; i < DROVE_COUNT(size); i++) {
        const uint64_t lines = bytes[i] / DROVE_CACHES_LINE;
        if (lines >= size[i]->n_ways && lines <= UINT32_MAX)
            size[i]->n_lines = (uint32_t)(lines / size[i]->n_ways * size[i]->n_ways);
    }

    drove_measured one, two;
    drove_sim_rate sim[2];
    DROVE_TRY(drove__linear_bench_run(b, &c, &one));
    c.n_threads = 2;
    DROVE_TRY(drove__linear_bench_run(b, &c, &two));
    const drove_sim_step step = step_of(p, n, one.gnps, false);
    for (unsigned i = 0; i < 2; i++) {
        caches.n_cores = i + 1;
        DROVE_TRY(drove__sim_cores_rate(&caches, &step, examples_for(&step, 2), &sim[i]));
    }
    drove__json_add(rows, json_pack("{s:s, s:i, s:f, s:f, s:f, s:f}", "signature", p->signature,
                                    "features", (int)n, "one_gnps", one.gnps, "two_gnps", two.gnps,
                                    "speedup", two.gnps / one.gnps, "simulated",
                                    sim[1].gnps / sim[0].gnps));
    return DROVE_OK;
}

static drove_status run(const drove_bench_context *context, json_t **result)
{
    const uint64_t n_bytes = context->n_bytes != 0 ? context->n_bytes : DEFAULT_BYTES;
    json_t *rates = json_array(), *losses = json_array(), *here = json_array();
    drove_linear_bench b;
    drove_status status = DROVE_OK;
    drove__linear_bench_init(&b, context);
    for (size_t p = 0; p < DROVE_COUNT(problems); p++) {
        /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): of a row of the table */
        const size_t most = (size_t)n_bytes / drove__number_size(problems[p].model);
        for (size_t n = (size_t)1 << LEAST_LOG; n <= most; n *= 4) {
            if ((status = add_rate(&problems[p], n, true, &rates)) != DROVE_OK) goto fail;
            if ((status = add_rate(&problems[p], n, false, &rates)) != DROVE_OK) goto fail;
        }
    }

    const size_t n_learnt = n_bytes / 8 < MOST_LEARNT ? (size_t)n_bytes / 8 + 1 : MOST_LEARNT;
    for (size_t p = 0; p < DROVE_COUNT(problems); p++)
        for (unsigned i = 0; i < 2 * N_Q && !problems[p].is_sparse; i++) {
            status =
                add_losses(&problems[p], context, n_learnt, OBSTINACY[i % N_Q], i >= N_Q, &losses);
            if (status != DROVE_OK) goto fail;
        }

    for (size_t p = 0; p < DROVE_COUNT(problems) && context->n_threads > 1; p++)
        for (unsigned log = HERE_LEAST_LOG; log <= HERE_MOST_LOG && !problems[p].is_sparse;
             log += 2)
            if ((status = add_here(&b, &problems[p], (size_t)1 << log, &here)) != DROVE_OK)
                goto fail;

fail:
    drove__linear_bench_fini(&b);
    drove__json_set(result, "rates", rates);
    drove__json_set(result, "losses", losses);
    drove__json_set(result, "here", here);
    return status;
}

/* ---- for people ---- */

static void print(const json_t *result, FILE *stream)
{
    size_t i, j;
    const json_t *row, *at;
    fprintf(stream,
            "q: part of the invalidations of model lines that a cache ignores.  eq. 3: the\n"
            "paper's fit to its processor.\n");

    fprintf(stream,
            "\nThroughput of 18 simulated cores over that of one (Figure 6c)\n%-10s%-14s%9s%7s", "",
            "core", "features", "eq. 3");
    for (unsigned q = 0; q < N_Q; q++) fprintf(stream, "%4sq=%-4g", "", OBSTINACY[q]);
    fputc('\n', stream);
    json_array_foreach(json_object_get(result, "rates"), i, row)
    {
        fprintf(stream, "%-10s%-14s%9d%7.2f", drove__bench_text(row, "signature"),
                json_is_true(json_object_get(row, "in_order")) ? "in order" : "out of order",
                (int)drove__bench_number(row, "features"),
                drove__bench_number(row, "paper_speedup"));
        json_array_foreach(json_object_get(row, "by_q"), j, at)
        {
            fprintf(stream, "%10.2f", drove__bench_number(at, "speedup"));
        }
        fputc('\n', stream);
    }

    fprintf(stream,
            "\nTraining loss of 18 simulated workers (Figure 6f), mean of %d seeds\n"
            "%-10s%-18s%6s%10s%10s%10s%11s\n",
            N_SEEDS, "", "AXPY reads", "q", "1 epoch", "2 epochs", "8 epochs", "old reads");
    json_array_foreach(json_object_get(result, "losses"), i, row)
    {
        const json_t *loss = json_object_get(row, "loss");
        fprintf(stream, "%-10s%-18s%6g", drove__bench_text(row, "signature"),
                json_is_true(json_object_get(row, "owns_first")) ? "what it owns" : "its copy",
                drove__bench_number(row, "q"));
        fprintf(stream, "%10.4f%10.4f%10.4f%10.1f%%\n", json_number_value(json_array_get(loss, 1)),
                json_number_value(json_array_get(loss, 2)),
                json_number_value(json_array_get(loss, N_EPOCHS)),
                100.0 * drove__bench_number(row, "old_reads"));
    }

    const json_t *here = json_object_get(result, "here");
    if (json_array_size(here) == 0) return;
    fprintf(stream, "\nTwo cores of this machine over one, q = 0\n%-10s%10s%10s%12s\n", "",
            "features", "measured", "simulated");
    json_array_foreach(here, i, row)
    {
        fprintf(stream, "%-10s%10d%10.2f%12.2f\n", drove__bench_text(row, "signature"),
                (int)drove__bench_number(row, "features"), drove__bench_number(row, "speedup"),
                drove__bench_number(row, "simulated"));
    }
}

const drove_bench_ops drove__bench_obstinate = {
    .name = "obstinate",
    .help = "the obstinate cache of the Buckwild! paper: 18 simulated cores, throughput and loss",
    .source = "De Sa et al., ISCA 2017, section 6.2",
    .run = run,
    .print = print,
};
