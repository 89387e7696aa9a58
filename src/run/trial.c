/* run/trial.c - see trial.h. */
#include "run/trial.h"

#include "auto/choose.h"
#include "run/control.h"
#include "run/prefetch.h"
#include "values/interrupt.h"
#include "values/ranks.h"
#include "run/setup.h"
#include "problem/targets.h"

drove_status drove__run_make_loop(drove_workers *workers, bool is_shared)
{
    if (is_shared) drove__memory_share_begin();
    drove_loop *loop = drove__alloc(1, sizeof *loop);
    if (is_shared) drove__memory_share_end();
    if (loop == NULL) return drove__fail_nomem("a run", sizeof *loop);
    loop->clock = &drove__clock_real;
    workers->loop = loop;
    return DROVE_OK;
}

void drove__run_close(drove_run *run, drove_status status)
{
    drove__run_prefetch_end(&run->config, &run->workers, run->state.outcome, &run->output.cb);
    drove__run_teardown(run, status);
    if (run->workers.is_abandoned) return;
    drove__config_fini(&run->config);
    drove__free(run);
}

drove_status drove__run_open(const drove_config *of, const drove_choice *settings,
                             const drove_interrupt *parent, const drove_data *given,
                             const drove_tuned *tuned, drove_engine_shared *shared, drove_run **out)
{
    drove_run *run = drove__alloc(1, sizeof *run);
    drove_choice choice = {0};
    drove_trials trials;
    *out = NULL;
    if (run == NULL) return drove__fail_nomem("a run", sizeof *run);
    drove_status status = drove__config_derive(of, settings, &run->config);
    if (status == DROVE_OK)
        status = drove__run_make_loop(&run->workers, run->config.machine.has_procs);
    if (status != DROVE_OK) {
        drove__config_fini(&run->config);
        drove__free(run);
        return status;
    }
    run->state.interrupt.parent = parent;
    run->problem.given = given;
    run->problem.given_tuned = tuned;
    run->workers.loop->shared = shared;
    run->workers.borrows_shared = shared != NULL;
    run->workers.ranks.n = run->workers.ranks.n_local = 1; /* whatever the launcher has started */
    run->state.interrupt.before = drove__run_interrupts();
    status = drove__config_validate(&run->config, 1);
    if (status != DROVE_OK) goto fail;
    if ((status = drove__setup_problem(run)) != DROVE_OK) goto fail;
    status = drove__choose_lr(&run->config, &run->problem, &run->workers, &trials, &choice);
    if (status != DROVE_OK) goto fail;
    if ((status = drove__config_choose(&run->config, &choice)) != DROVE_OK) goto fail;
    if ((status = drove__setup_workers(run)) != DROVE_OK) goto fail;
    *out = run;
    return DROVE_OK;
fail:
    drove__run_close(run, status);
    return status;
}

drove_status drove__run_trial(const drove_config *of, const drove_choice *settings,
                              const drove_interrupt *parent, const drove_data *given,
                              drove_trial_result *out)
{
    drove_run *run;
    DROVE_TRY(drove__run_open(of, settings, parent, given, NULL, NULL, &run));
    drove_status status = drove__run_control(run);
    if (status == DROVE_OK)
        *out = (drove_trial_result){.outcome = run->state.outcome,
                                    .best_loss = run->state.standing.best_loss,
                                    .best_epochs = run->state.standing.back_epochs,
                                    .constant_loss = drove__targets_constant_loss(&run->problem),
                                    .lr = run->config.method.lr};
    drove__run_close(run, status);
    return status;
}
