/* run/trial.c - see trial.h. */
#include "run/trial.h"

#include "run/control.h"
#include "run/prefetch.h"
#include "values/progress.h"
#include "values/ranks.h"
#include "run/setup.h"
#include "problem/targets.h"

#include <string.h>

drove_run *drove__run_alloc(const drove_options *options)
{
    bool is_shared = drove__workers_are_procs(options->workers);
    if (is_shared) drove__memory_share_begin();
    drove_loop *loop = drove__alloc(1, sizeof *loop);
    if (is_shared) drove__memory_share_end();
    drove_run *run = drove__alloc(1, sizeof *run);
    if (loop == NULL || run == NULL) {
        drove__free(loop);
        drove__free(run);
        return NULL;
    }
    loop->clock = &drove__clock_real;
    run->workers.loop = loop;
    return run;
}

static void close_run(drove_run *run, drove_status status)
{
    drove__run_prefetch_end(&run->config, &run->workers, &run->state);
    drove__run_teardown(run, status);
    if (!run->workers.is_abandoned) drove__free(run);
}

drove_status drove__run_open(const drove_config *of, const drove_state *parent,
                             const drove_options *opt, const drove_data *given,
                             drove_engine_shared *shared, drove_run **out)
{
    drove_run *run = drove__run_alloc(opt);
    *out = NULL;
    if (run == NULL) return drove__fail_nomem("a run", sizeof *run);
    run->config.opt = *opt;
    memset(run->config.opt.machine, 0,
           sizeof run->config.opt.machine); /* it is tried out in real time */
    run->config.words = drove__words_of(&run->config.opt);
    run->config.is_in_communicator = of->is_in_communicator || of->comm_library != NULL;
    run->state.parent = parent;
    run->problem.given = given;
    run->workers.loop->shared = shared;
    run->workers.borrows_shared = shared != NULL;
    run->state.interrupts_before = drove__run_interrupts();
    drove_status status = drove__ranks_join(&run->config, &run->workers);
    float *theta = NULL;
    if (status == DROVE_OK) status = drove__setup_problem(run, &theta);
    if (status == DROVE_OK) status = drove__setup_workers(run, &theta);
    drove__free(theta);
    if (status == DROVE_OK) *out = run;
    else close_run(run, status);
    return status;
}

void drove__run_close(drove_run *run)
{
    close_run(run, DROVE_OK);
}

drove_status drove__run_trial(const drove_config *of, const drove_state *parent,
                              const drove_options *opt, const drove_data *given,
                              drove_trial_result *out)
{
    drove_run *run;
    DROVE_TRY(drove__run_open(of, parent, opt, given, NULL, &run));
    drove_status status = drove__run_control(run);
    if (status == DROVE_OK)
        *out = (drove_trial_result){.outcome = run->state.outcome,
                                    .best_loss = run->state.standing.best_loss,
                                    .best_epochs = run->state.standing.back_epochs,
                                    .constant_loss = drove__targets_constant_loss(&run->problem),
                                    .lr = run->config.opt.lr};
    close_run(run, status);
    return status;
}
