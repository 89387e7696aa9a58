/* run/size.c - how large the pieces of a run are, and whether they fit: before they are made. */
#include "run/run.h"

#include "base/available.h"

/* Examples of an evaluation chunk of a chain of layers: fixed, so that sums do not depend on the
 * workers. */
enum { MOST_SCORE_ROWS = 512 };
/* Outputs of an evaluation chunk of a network that is no chain take about this much. */
static const size_t CHUNK_BYTES = (size_t)64 << 20;

size_t drove__score_rows(const drove_model *model, size_t batch)
{
    size_t each = sizeof(float);
    if (model->is_chain) return MOST_SCORE_ROWS;
    for (size_t l = 0; l < model->n_layers; l++) each += model->layer[l].n_out * sizeof(float);
    size_t n = CHUNK_BYTES / each < MOST_SCORE_ROWS ? CHUNK_BYTES / each : MOST_SCORE_ROWS;
    return n <= batch ? batch : n / batch * batch;
}

size_t drove__update_rows(const drove_run *run)
{
    return run->opt.batch < run->train->n_rows ? (size_t)run->opt.batch : run->train->n_rows;
}

static double gib(double bytes)
{
    return bytes / (double)(1u << 30);
}

/* Workers whose memory is that of this host. */
static unsigned workers_here(const drove_run *run)
{
    const drove_plan *p = &run->plan;
    return p->host == DROVE_HOST_RANKS ? p->n_here * run->ranks.n_local : p->n_workers;
}

/* Do workers have parameters of their own, and a centre or room for what arrives? */
static bool has_replicas(const drove_run *run)
{
    return (run->plan.ops->needs & DROVE_SYNC_SPREAD) != 0;
}

/* Of a chain the start and the strategy's vectors: all else may be less than it seems. */
static drove_status check_chain(const drove_run *run, double there)
{
    const drove_model *model = run->model;
    unsigned n_copies = 1 + (has_replicas(run) ? 2 * workers_here(run) : 1);
    double vector = (double)model->n_params * sizeof(float), need = n_copies * vector;
    if (there <= 0 || need <= there) return DROVE_OK;
    return drove__fail(
        DROVE_E_ARG,
        "model %s: expected at most %.1f GiB of memory, which is what is free, found "
        "a need of %.1f GiB: %zu parameters of %.2f GiB in %u copies",
        model->spec, gib(there), gib(need), model->n_weights, gib(vector), n_copies);
}

/* Of vectors like theta: the start, the best and one of the strategy's; each worker's gradient,
 * replica and centre, or gradient alone; and each worker's outputs. */
static drove_status count_bytes(const drove_run *run, double *n_copies, double *outputs,
                                double *all)
{
    const drove_model *model = run->model;
    const size_t rows = drove__update_rows(run);
    const double workers = workers_here(run);
    const drove_pass_options pass = {
        .model = model, .rows = rows, .max_rows = drove__score_rows(model, rows), .trains = true};
    *n_copies = 3 + workers * (has_replicas(run) ? 3 : 1);
    size_t n_bytes;
    DROVE_TRY(drove__pass_bytes(&pass, &n_bytes));
    *outputs = (double)n_bytes;
    *all = (double)model->n_params * sizeof(float) * *n_copies + *outputs * workers;
    return DROVE_OK;
}

drove_status drove__run_need_bytes(const drove_run *run, double *out)
{
    double n_copies, outputs;
    return count_bytes(run, &n_copies, &outputs, out);
}

drove_status drove__run_check_memory(const drove_run *run)
{
    const drove_model *model = run->model;
    const double vector = (double)model->n_params * sizeof(float), workers = workers_here(run);
    const size_t rows = drove__update_rows(run);
    double n_copies, outputs, need;
    if (model->is_chain) return check_chain(run, (double)drove__memory_available());
    DROVE_TRY(count_bytes(run, &n_copies, &outputs, &need));
    double there = (double)drove__memory_available();
    if (there <= 0 || need <= there) return DROVE_OK;
    return drove__fail(
        DROVE_E_ARG,
        "model %s: expected at most %.1f GiB of memory, which is what is free, found "
        "a need of %.1f GiB: %zu parameters of %.2f GiB in %.0f copies, and %.2f GiB "
        "for each of %.0f workers' batches of %zu; a smaller --batch needs less",
        model->spec, gib(there), gib(need), model->n_weights, gib(vector), n_copies, gib(outputs),
        workers, rows);
}
