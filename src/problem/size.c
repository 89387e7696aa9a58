/* problem/size.c - sizes of model, copies and outputs, checked before these are made. */
#include "problem/size.h"

#include "base/available.h"
#include "use/infer.h"

static const double PART_OF_FREE = 0.8; /* of the memory, without --memory */

double drove__run_memory(const drove_config *config)
{
    const uint64_t given = config->machine.memory_bytes;
    return given > 0 ? (double)given : PART_OF_FREE * (double)drove__memory_available();
}

size_t drove__update_rows(const drove_config *config, const drove_problem *problem)
{
    return config->method.batch < problem->train->n_rows ? (size_t)config->method.batch
                                                         : problem->train->n_rows;
}

static double gib(double bytes)
{
    return bytes / (double)(1u << 30);
}

/* Workers whose memory is that of this host. */
static unsigned workers_here(const drove_workers *workers)
{
    const drove_plan *p = &workers->plan;
    return p->host == DROVE_HOST_RANKS ? p->n_here * workers->ranks.n_local : p->n_workers;
}

/* Do workers have parameters of their own, and a centre or room for what arrives? */
static bool has_replicas(const drove_workers *workers)
{
    return (workers->plan.ops->needs & DROVE_SYNC_SPREAD) != 0;
}

/* Vectors like theta: the start, the best and one of the strategy's; each worker's gradient,
 * replica and centre, or gradient alone; and each worker's outputs. */
static drove_status count_bytes(const drove_config *config, const drove_problem *problem,
                                const drove_workers *workers, double *n_copies, double *outputs,
                                double *all)
{
    const drove_model *model = problem->model;
    const size_t rows = drove__update_rows(config, problem);
    const double n_workers = workers_here(workers);
    const drove_pass_options pass = {
        .model = model, .rows = rows, .max_rows = drove__score_rows(model, rows), .trains = true};
    *n_copies = 3 + n_workers * (has_replicas(workers) ? 3 : 1);
    size_t n_bytes;
    DROVE_TRY(drove__pass_bytes(&pass, &n_bytes));
    *outputs = (double)n_bytes;
    *all = (double)model->n_params * sizeof(float) * *n_copies + *outputs * n_workers;
    return DROVE_OK;
}

drove_status drove__run_need_bytes(const drove_config *config, const drove_problem *problem,
                                   const drove_workers *workers, double *out)
{
    double n_copies, outputs;
    return count_bytes(config, problem, workers, &n_copies, &outputs, out);
}

drove_status drove__run_check_memory(const drove_config *config, const drove_problem *problem,
                                     const drove_workers *workers)
{
    const drove_model *model = problem->model;
    const double vector = (double)model->n_params * sizeof(float),
                 n_workers = workers_here(workers);
    const size_t rows = drove__update_rows(config, problem);
    const double there = (double)drove__memory_available();
    if (model->is_chain) {
        /* A chain: the start and the strategy's vectors; all else may be less than it seems. */
        unsigned n_copies = 1 + (has_replicas(workers) ? 2 * workers_here(workers) : 1);
        double need = n_copies * vector;
        if (there <= 0 || need <= there) return DROVE_OK;
        return drove__fail(
            DROVE_E_ARG,
            "model %s: expected at most %.1f GiB of memory, which is what is free, found "
            "a need of %.1f GiB: %zu parameters of %.2f GiB in %u copies",
            model->spec, gib(there), gib(need), model->n_weights, gib(vector), n_copies);
    }
    double n_copies, outputs, need;
    DROVE_TRY(count_bytes(config, problem, workers, &n_copies, &outputs, &need));
    if (there <= 0 || need <= there) return DROVE_OK;
    return drove__fail(
        DROVE_E_ARG,
        "model %s: expected at most %.1f GiB of memory, which is what is free, found "
        "a need of %.1f GiB: %zu parameters of %.2f GiB in %.0f copies, and %.2f GiB "
        "for each of %.0f workers' batches of %zu; a smaller --batch needs less",
        model->spec, gib(there), gib(need), model->n_weights, gib(vector), n_copies, gib(outputs),
        n_workers, rows);
}
