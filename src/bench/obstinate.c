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
#include "base/number.h"
#include "bench/linear.h"
#include "bench/simulate_cores.h"
#include "data/data.h"
#include "engine/gather.h"

#include <math.h>
#include <string.h>

enum { MOST_Q = 16, LEAST_LOG = 8, N_EPOCHS = 8, MOST_LEARNT = 512, AHEAD = 16 };
enum { HERE_LEAST_LOG = 8, HERE_MOST_LOG = 16 };
static const char DEFAULT_Q[] = "0,0.25,0.5,0.75,0.95";
static const double CLOCK_GHZ = 2.5, PAIR_CYCLES = 6.0, DENSITY = 0.03;

/* As long as the published figures need, and (--quick) some seconds. */
static const struct effort {
    uint64_t n_bytes; /* of the largest model */
    double accesses;  /* of a simulation, about */
    unsigned n_seeds;
    size_t most_learnt; /* features */
    unsigned here_step; /* of the logarithm of a model's size */
} efforts[] = {{(uint64_t)1 << 20, 2e5, 3, MOST_LEARNT, 2}, {(uint64_t)1 << 14, 4e4, 1, 128, 4}};

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

typedef struct plan { /* settings of a simulation */
    const drove_bench_context *context;
    struct effort effort;
    bool has[DROVE_COUNT(problems)];
    double q[MOST_Q];
    unsigned n_q, n_cores;
    /* --data: examples to learn, and their labels; NULL: drawn */
    float *x;
    int8_t *y;
    size_t n_examples, n_features;
    unsigned n_done, n_to_do; /* rows of the result */
} plan;

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
static size_t examples_for(const plan *p, const drove_sim_step *step, unsigned n_cores)
{
    const double per_line = 9.0, lines = (double)drove__sim_cores_lines(step);
    const double one =
        step->density > 0.0 ? 3.0 * step->density * (double)step->n_features : per_line * lines;
    return (size_t)fmax(4.0, p->effort.accesses / (one * n_cores));
}

static void say(plan *p, const char *what, const char *signature, size_t n_features)
{
    char text[64];
    snprintf(text, sizeof text, "%s: %s, %zu features", what, signature, n_features);
    drove__bench_progress(p->context, (double)p->n_done++ / fmax(1.0, p->n_to_do), text);
}

/* ---- Figure 6c ---- */

static drove_status add_rate(plan *all, const struct problem *p, size_t n, bool in_order,
                             json_t **rows)
{
    const drove_throughput *paper = &drove__throughput_paper;
    const drove_sim_step step = step_of(p, n, paper->row[0][p->row].gnps, in_order);
    drove_caches_options caches = drove__caches_of_the_paper;
    drove_sim_rate rate;
    const double part = drove__throughput_parallel_fraction(&paper->row[0][p->row].parallel, n);
    json_t *row = json_pack("{s:s, s:i, s:b}", "signature", p->signature, "features", (int)n,
                            "in_order", in_order);
    json_t *by_q = json_array();
    say(all, "rates", p->signature, n);
    caches.n_cores = 1;
    drove_status status =
        drove__sim_cores_rate(&caches, &step, examples_for(all, &step, caches.n_cores), &rate);
    const double alone = rate.gnps;
    drove__json_set(&row, "one_core_gnps", json_real(alone));
    drove__json_set(&row, "paper_speedup",
                    json_real(drove__throughput_amdahl(1.0, part, all->n_cores)));
    for (unsigned i = 0; status == DROVE_OK && i < all->n_q; i++) {
        caches.n_cores = all->n_cores;
        caches.obstinacy = all->q[i];
        caches.seed = i;
        status =
            drove__sim_cores_rate(&caches, &step, examples_for(all, &step, caches.n_cores), &rate);
        if (status == DROVE_OK)
            drove__json_add(&by_q,
                            json_pack("{s:f, s:f, s:f, s:f}", "q", all->q[i], "gnps", rate.gnps,
                                      "speedup", rate.gnps / alone, "old_reads",
                                      (double)rate.sum.old_reads / (double)rate.sum.accesses));
    }
    drove__json_set(&row, "by_q", by_q);
    drove__json_add(rows, row);
    return status;
}

/* ---- Figure 6f ---- */

static drove_status add_losses(plan *all, const struct problem *p, double q, bool owns_first,
                               json_t **rows)
{
    const size_t n = all->n_features;
    const unsigned n_seeds = all->effort.n_seeds;
    drove_sim_step step = step_of(p, n, drove__throughput_paper.row[0][p->row].gnps, true);
    drove_caches_options caches = drove__caches_of_the_paper;
    double loss[N_EPOCHS + 1], sum[N_EPOCHS + 1] = {0}, old = 0.0, kept = 0.0;
    drove_sim_rate rate;
    json_t *mean = json_array();
    say(all, "losses", p->signature, n);
    step.owns_first = owns_first;
    caches.n_cores = all->n_cores;
    caches.obstinacy = q;
    for (unsigned seed = 1; seed <= n_seeds; seed++) {
        const drove_sim_lesson lesson = {.kernels = &all->context->kernels,
                                         .n_examples = all->n_examples,
                                         .x = all->x,
                                         .y = all->y,
                                         .n_epochs = N_EPOCHS,
                                         .eta = 2.0,
                                         .seed = seed};
        caches.seed = seed;
        DROVE_TRY(drove__sim_cores_learn(&caches, &step, &lesson, loss, &rate));
        for (unsigned e = 0; e <= N_EPOCHS; e++) sum[e] += loss[e] / n_seeds;
        old += (double)rate.sum.old_reads / (double)rate.sum.accesses / n_seeds;
        kept += (double)rate.sum.kept / n_seeds;
    }
    for (unsigned e = 0; e <= N_EPOCHS; e++) drove__json_add(&mean, json_real(sum[e]));
    drove__json_add(rows, json_pack("{s:s, s:i, s:f, s:b, s:o, s:f, s:f}", "signature",
                                    p->signature, "features", (int)n, "q", q, "owns_first",
                                    owns_first, "loss", mean, "old_reads", old, "kept", kept));
    return DROVE_OK;
}

/* ---- this machine ---- */

static drove_status add_here(plan *all, drove_linear_bench *b, const struct problem *p, size_t n,
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

    say(all, "here", p->signature, n);
    drove_measured one, two;
    drove_sim_rate sim[2];
    DROVE_TRY(drove__linear_bench_run(b, &c, &one));
    c.n_threads = 2;
    DROVE_TRY(drove__linear_bench_run(b, &c, &two));
    const drove_sim_step step = step_of(p, n, one.gnps, false);
    for (unsigned i = 0; i < 2; i++) {
        caches.n_cores = i + 1;
        DROVE_TRY(drove__sim_cores_rate(&caches, &step, examples_for(all, &step, 2), &sim[i]));
    }
    drove__json_add(rows, json_pack("{s:s, s:i, s:f, s:f, s:f, s:f}", "signature", p->signature,
                                    "features", (int)n, "one_gnps", one.gnps, "two_gnps", two.gnps,
                                    "speedup", two.gnps / one.gnps, "simulated",
                                    sim[1].gnps / sim[0].gnps));
    return DROVE_OK;
}

/* ---- what is asked for ---- */

static drove_status read_signatures(const char *text, plan *p)
{
    if (text == NULL) {
        memset(p->has, true, sizeof p->has);
        return DROVE_OK;
    }
    for (const char *from = text; *from != '\0';) {
        const size_t length = strcspn(from, ",");
        size_t k = 0;
        while (k < DROVE_COUNT(problems) && !(strlen(problems[k].signature) == length &&
                                              strncmp(problems[k].signature, from, length) == 0))
            k++;
        if (k == DROVE_COUNT(problems))
            return drove__fail(DROVE_E_ARG,
                               "--signature: expected some of D8M8, D32fM32f and D8i8M8, found "
                               "\"%.*s\"",
                               (int)length, from);
        p->has[k] = true;
        from += length + (from[length] == ',');
    }
    return DROVE_OK;
}

static drove_status read_q(const char *text, plan *p)
{
    char number[32];
    for (const char *from = text; *from != '\0';) {
        const size_t length = strcspn(from, ",");
        if (p->n_q == MOST_Q)
            return drove__fail(DROVE_E_ARG, "--q: expected at most %d numbers, found \"%s\"",
                               MOST_Q, text);
        snprintf(number, sizeof number, "%.*s", (int)length, from);
        DROVE_TRY(drove__parse_real("--q", number, 0.0, 1.0, &p->q[p->n_q++]));
        from += length + (from[length] == ',');
    }
    return p->n_q > 0 ? DROVE_OK
                      : drove__fail(DROVE_E_ARG, "--q: expected numbers of 0 to 1, found none");
}

/* Dense examples of two classes, over their largest magnitude: [-1, 1]. */
static drove_status read_data(const char *spec, plan *p)
{
    drove_data *data = NULL;
    drove_gather g = {0};
    drove_input in;
    float most = 0.0f;
    DROVE_TRY(drove_data_open(spec, NULL, 1, &data, NULL));
    const drove_storage *s = data->storage;
    const size_t n = data->n_rows, n_inputs = drove__data_n_inputs(data);
    uint32_t *row = drove__alloc(n, sizeof *row);
    drove_status status = DROVE_OK;
    p->n_examples = n;
    p->n_features = n_inputs;
    p->x = drove__alloc(n * n_inputs, sizeof *p->x);
    p->y = drove__alloc(n, sizeof *p->y);
    if ((s->x_kind != DROVE_X_U8 && s->x_kind != DROVE_X_F32) || s->y_kind != DROVE_Y_CLASS ||
        s->n_classes != 2)
        status =
            drove__fail(DROVE_E_ARG,
                        "--data %s: expected dense examples of two classes, found %s of %zu "
                        "classes",
                        spec, s->x_kind == DROVE_X_CSR ? "sparse ones" : "examples", s->n_classes);
    else if (row == NULL || p->x == NULL || p->y == NULL)
        status = drove__fail_nomem("examples to learn", n * n_inputs * sizeof *p->x);
    if (status == DROVE_OK)
        status = drove__gather_init(&g, &p->context->kernels, data, n, n_inputs, false);
    for (size_t i = 0; status == DROVE_OK && i < n; i++) {
        row[i] = (uint32_t)i;
        p->y[i] = s->y_class[drove__data_row(data, i)] == 1 ? 1 : -1;
    }
    const drove_batch batch = {.data = data, .row = row, .n_rows = n};
    if (status == DROVE_OK) status = drove__gather_load(&g, &batch, false, p->x, &in);
    for (size_t i = 0; status == DROVE_OK && i < n * n_inputs; i++)
        most = fmaxf(most, fabsf(p->x[i]));
    for (size_t i = 0; status == DROVE_OK && most > 0.0f && i < n * n_inputs; i++) p->x[i] /= most;
    drove__gather_fini(&g);
    drove__free(row);
    drove_data_destroy(data);
    return status;
}

static drove_status make_plan(const drove_bench_context *context, plan *p)
{
    const drove_bench_options *o = context->given;
    *p = (plan){.context = context, .effort = efforts[o->quick != 0]};
    if (context->n_bytes != 0) p->effort.n_bytes = context->n_bytes;
    p->n_cores = o->n_cores > 0 ? (unsigned)o->n_cores : drove__caches_of_the_paper.n_cores;
    DROVE_TRY(read_signatures(o->signature, p));
    DROVE_TRY(read_q(o->q != NULL ? o->q : DEFAULT_Q, p));
    if (o->data != NULL) return read_data(o->data, p);
    const size_t most = p->effort.most_learnt, n = p->effort.n_bytes / 8;
    p->n_features = n < most ? n + 1 : most;
    p->n_examples = 8 * p->n_features;
    return DROVE_OK;
}

static size_t most_features(const plan *p, size_t k)
{
    /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): of a row of the table */
    return (size_t)p->effort.n_bytes / drove__number_size(problems[k].model);
}

static void count_rows(plan *p)
{
    for (size_t k = 0; k < DROVE_COUNT(problems); k++) {
        if (!p->has[k]) continue;
        for (size_t n = (size_t)1 << LEAST_LOG; n <= most_features(p, k); n *= 4) p->n_to_do += 2;
        if (problems[k].is_sparse) continue;
        p->n_to_do += 2 * p->n_q;
        if (p->context->n_threads > 1)
            p->n_to_do += (HERE_MOST_LOG - HERE_LEAST_LOG) / p->effort.here_step + 1;
    }
}

static drove_status run(const drove_bench_context *context, json_t **result)
{
    json_t *rates = json_array(), *losses = json_array(), *here = json_array();
    drove_linear_bench b;
    plan all;
    drove__linear_bench_init(&b, context);
    drove_status status = make_plan(context, &all);
    if (status != DROVE_OK) goto fail;
    count_rows(&all);
    for (size_t k = 0; k < DROVE_COUNT(problems); k++)
        for (size_t n = (size_t)1 << LEAST_LOG; all.has[k] && n <= most_features(&all, k); n *= 4) {
            status = add_rate(&all, &problems[k], n, true, &rates);
            if (status == DROVE_OK) status = add_rate(&all, &problems[k], n, false, &rates);
            if (status != DROVE_OK) goto fail;
        }
    for (size_t k = 0; k < DROVE_COUNT(problems); k++)
        for (unsigned i = 0; i < 2 * all.n_q && all.has[k] && !problems[k].is_sparse; i++) {
            status = add_losses(&all, &problems[k], all.q[i % all.n_q], i >= all.n_q, &losses);
            if (status != DROVE_OK) goto fail;
        }
    for (size_t k = 0; k < DROVE_COUNT(problems) && context->n_threads > 1; k++)
        for (unsigned log = HERE_LEAST_LOG;
             log <= HERE_MOST_LOG && all.has[k] && !problems[k].is_sparse;
             log += all.effort.here_step) {
            status = add_here(&all, &b, &problems[k], (size_t)1 << log, &here);
            if (status != DROVE_OK) goto fail;
        }

fail:
    drove__linear_bench_fini(&b);
    drove__free(all.x);
    drove__free(all.y);
    drove__json_set(result, "cores", json_integer(all.n_cores));
    drove__json_set(result, "seeds", json_integer(all.effort.n_seeds));
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

    const int n_cores = (int)drove__bench_number(result, "cores");
    fprintf(stream,
            "\nThroughput of %d simulated cores over that of one (Figure 6c)\n%-10s%-14s%9s%7s",
            n_cores, "", "core", "features", "eq. 3");
    row = json_array_get(json_object_get(result, "rates"), 0);
    json_array_foreach(json_object_get(row, "by_q"), j, at)
    {
        fprintf(stream, "%4sq=%-4g", "", drove__bench_number(at, "q"));
    }
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
            "\nTraining loss of %d simulated workers (Figure 6f), mean of %d seed%s\n"
            "%-10s%-18s%6s%10s%10s%10s%11s\n",
            n_cores, (int)drove__bench_number(result, "seeds"),
            drove__bench_number(result, "seeds") == 1.0 ? "" : "s", "", "AXPY reads", "q",
            "1 epoch", "2 epochs", "8 epochs", "old reads");
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
