/* files/other_number.c - another number of workers, said in one line when a run goes on: the rules
 * of docs/use/cluster.md, which the objects of the run have followed by now.
 *
 *   step size   as before, whoever has chosen it, unless --lr is given
 *   alpha       0.9 / P of the P workers that there are; with --rho the step size times that
 *   batch       of each worker as before, so that an update of a synchronous strategy has others;
 *               with --global-batch that of the update as before
 */
#include "files/other_number.h"

#include "config/resolve.h"
#include "elastic/elastic.h"
#include "engine/linear/precision.h"
#include "values/say.h"

#include <stdio.h>
#include <stdlib.h>

/* Is an update one step of each worker? */
static bool is_synchronous(const drove_workers *workers)
{
    return workers->loop->sync->batches_per_update == workers->plan.n_workers;
}

bool drove__run_takes_number(const drove_workers *workers, uint64_t n_saved)
{
    const bool is_spread = (workers->plan.ops->needs & DROVE_SYNC_SPREAD) != 0,
               needs_rounds = workers->loop->source->width > 0 && !is_synchronous(workers);
    if (n_saved == workers->plan.n_workers) return true;
    if (n_saved < 1 || n_saved > DROVE_MOST_THREADS) return false;
    return is_spread || !needs_rounds;
}

void drove__run_say_other_number(const drove_config *config, const drove_workers *workers,
                                 const drove_callbacks *cb, const drove_safetensors *st,
                                 unsigned n_saved)
{
    const drove_sync *sync = workers->loop->sync;
    const unsigned n = workers->plan.n_workers;
    const bool is_spread = (workers->plan.ops->needs & DROVE_SYNC_SPREAD) != 0,
               has_lr = drove__config_origin(config, "lr") == DROVE_FROM_CALLER;
    drove_elastic_facts facts;
    char alpha[80] = "", batch[96] = "", before[48];
    if (n_saved == n) return;

    if (drove__elastic_facts(sync, &facts) && facts.has_pull) {
        const double was = config->exchange.rho > 0.0 ? facts.alpha : facts.alpha * n / n_saved;
        snprintf(before, sizeof before, "%.3g before", was);
        snprintf(alpha, sizeof alpha, "; alpha %.3g (%s)", facts.alpha,
                 config->exchange.rho > 0.0 ? "--rho times the step size" : before);
    }
    /* What the state's run had: examples of an update of all its workers. */
    const char *had_each = drove__safetensors_meta(st, "batch");
    const uint64_t each = config->method.batch,
                   had = had_each != NULL ? strtoull(had_each, NULL, 10) * n_saved : 0;
    const bool counts_all = config->method.global_batch > 0 || (is_synchronous(workers) && n > 1);
    if (counts_all && had == each * n)
        snprintf(batch, sizeof batch, "; an update has %llu examples as before",
                 (unsigned long long)had);
    else if (counts_all)
        snprintf(batch, sizeof batch, "; an update has %llu examples (%llu before)",
                 (unsigned long long)(each * n), (unsigned long long)had);
    else if (!workers->plan.source->counts_rows)
        snprintf(batch, sizeof batch, "; batches of %llu as before", (unsigned long long)each);

    /* What is not in the centre, and what an exchange in few bits keeps for the next one. */
    const drove_exchange_pattern *pattern = workers->plan.ops->exchange_pattern;
    const bool has_centre = is_spread && pattern != NULL && pattern[0].has_centre,
               has_rest = is_spread && drove__precision_has_exchange(config->low.precision);
    const char *begin = "";
    if (is_spread) begin = " each begins at the centre, with the mean of what the rules had kept;";
    else if (workers->loop->worker[0].optim.state[0] != NULL)
        begin = " each begins with the mean of what the rules had kept;";
    drove__run_say(cb, "--resume: %u worker%s before, %u now:%s%s%s step size %.4g as %s%s%s",
                   n_saved, n_saved == 1 ? "" : "s", n, begin,
                   has_centre ? " what replicas had beyond it is dropped;" : "",
                   has_rest ? " what messages of few bits had left over is dropped;" : "",
                   config->method.lr, has_lr ? "given" : "before", alpha, batch);
}
