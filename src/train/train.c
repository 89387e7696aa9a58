/* train/train.c - from options to objects to a result: drove_train. */
#include "run/trial.h"

#include "base/alive.h"
#include "base/given.h"
#include "base/locale.h"
#include "base/memfile.h"
#include "base/print.h"
#include "cluster/ranks_open.h"
#include "data/open/overwrite.h"
#include "report/report.h"
#include "auto/choose.h"
#include "config/registry.h"
#include "run/control.h"
#include "files/facts.h"
#include "files/folder.h"
#include "files/output.h"
#include "run/prefetch.h"
#include "values/interrupt.h"
#include "values/say.h"
#include "values/progress.h"
#include "values/ranks.h"
#include "files/recording.h"
#include "train/pack.h"
#include "run/setup.h"
#include "train/strategy_probe.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct drove_result {
    drove_outcome outcome;
    int signal_number;
    drove_progress final;
    char *json, *text;
    drove_memfile *model; /* NULL: not kept */
    char model_name[DROVE_MODEL_NAME_SIZE];
};

/* ---- result ---- */

/* From the facts; also writes the summary and the time line. */
static drove_status make_result(const drove_config *config, const drove_output *output,
                                const drove_facts *facts, drove_result **out)
{
    drove_result *result = calloc(1, sizeof *result);
    if (result == NULL) return drove__fail_nomem("the result", sizeof *result);
    result->outcome = facts->outcome;
    result->signal_number = facts->signal_number;
    result->final = facts->now.progress;
    *out = result;
    DROVE_TRY(drove__report_json(facts, &result->json));
    size_t size;
    FILE *stream = open_memstream(&result->text, &size);
    if (stream == NULL) return drove__fail_nomem("the summary", 1);
    drove_status status = drove__report_print(facts, stream);
    const bool is_cut = ferror(stream) != 0;
    if (fclose(stream) != 0 || is_cut) return drove__fail_nomem("the summary", size);
    DROVE_TRY(status);
    DROVE_TRY(drove__output_summary(config, output, result->json));
    return drove__output_timeline(config, facts);
}

static drove_status check_file(const drove_config *config, const char *flag, const char *path)
{
    const drove_config_problem *p = &config->problem;
    if (path == NULL) return DROVE_OK;
    DROVE_TRY(drove__overwrite_check(flag, path, drove__config_model(config)));
    DROVE_TRY(drove__overwrite_check(flag, path,
                                     config->files.replay != NULL ? config->files.replay : ""));
    DROVE_TRY(drove__overwrite_check_data(flag, path, p->data));
    if (p->test != DROVE_TEST_SPEC) return DROVE_OK;
    return drove__overwrite_check_data(flag, path, p->test_spec);
}

/* The files outside --out that a run writes. */
static drove_status check_files(const drove_config *config)
{
    const drove_config_files *f = &config->files;
    if (f->replay_steps != NULL && f->replay == NULL)
        return drove__fail(DROVE_E_ARG, "--replay-steps: expected --replay with it, found none");
    DROVE_TRY(check_file(config, "--timeline", f->timeline));
    DROVE_TRY(check_file(config, "--log", f->log));
    /* No two of them are one file. */
    const struct {
        const char *flag, *path;
    } file[] = {{"--timeline", f->timeline},
                {"--log", f->log},
                {"--record", f->record},
                {"--replay-steps", f->replay_steps}};
    for (size_t i = 0; i < DROVE_COUNT(file); i++) {
        if (file[i].path == NULL) continue;
        if (i > 0 && f->out != NULL && drove__folder_writes(f->out, file[i].path))
            return drove__fail(DROVE_E_ARG,
                               "%s: expected a name that the run does not use itself, found %s",
                               file[i].flag, file[i].path);
        for (size_t k = 0; k < i; k++)
            if (file[k].path != NULL && strcmp(file[i].path, file[k].path) == 0)
                return drove__fail(DROVE_E_ARG,
                                   "%s: expected another file than that of %s, found %s",
                                   file[i].flag, file[k].flag, file[i].path);
    }
    DROVE_TRY(check_file(config, "--record", f->record));
    if (f->record != NULL) DROVE_TRY(drove__recording_check(f->record));
    return check_file(config, "--replay-steps", f->replay_steps);
}

/* ---- the handle of a run ---- */

drove_status drove_run_create(const drove_options *options, drove_run **out)
{
    DROVE_ALIVE(options, "options");
    DROVE_GIVEN(options);
    DROVE_GIVEN(out);
    DROVE_IN_C_LOCALE; /* options are read */
    drove_run *run = drove__alloc(1, sizeof *run);
    *out = NULL;
    if (run == NULL) return drove__fail_nomem("a run", sizeof *run);
    drove_status status = drove__config_init(options, &run->config);
    if (status == DROVE_OK)
        status = drove__run_make_loop(&run->workers, run->config.machine.has_procs);
    if (status == DROVE_OK) *out = run;
    else drove_run_destroy(run);
    return status;
}

void drove_run_set_callbacks(drove_run *run, const drove_callbacks *callbacks)
{
    DROVE_ALIVE(run, "a run");
    if (run == NULL) return;
    run->output.cb = callbacks != NULL ? *callbacks : (drove_callbacks){0};
}

void drove_run_keep_model(drove_run *run)
{
    DROVE_ALIVE(run, "a run");
    if (run == NULL) return;
    run->output.keeps_model = true;
}

void drove_run_cancel(drove_run *run)
{
    DROVE_ALIVE(run, "a run");
    if (run == NULL) return;
    drove__run_interrupt(&run->state.interrupt);
}

drove_status drove_run_set_communicator(drove_run *run, int communicator, const char *library)
{
    DROVE_ALIVE(run, "a run");
    DROVE_GIVEN(run);
    if (run->state.is_over)
        return drove__fail(DROVE_E_ARG, "communicator: expected a run that has not been trained, "
                                        "found one that has");
    DROVE_TRY(drove__mpi_find_library(library, &run->workers.ranks.library));
    run->workers.ranks.communicator = communicator;
    return DROVE_OK;
}

/* Up to the first evaluation. */
static drove_status begin_run(drove_run *run)
{
    drove_config *config = &run->config;
    drove_problem *problem = &run->problem;
    drove_workers *workers = &run->workers;
    drove_state *state = &run->state;
    const drove_callbacks *cb = &run->output.cb;
    drove_choice choice = {0};
    DROVE_TRY(drove__ranks_join(workers, config->machine.isa, config->exchange.timeout, cb));
    if (workers->ranks.rank != 0) run->output.cb.message = NULL; /* rank 0 speaks for all */

    /* What is known before the data are read. */
    if (workers->ranks.n == 1) {
        DROVE_TRY(drove__folder_begin_again(config, &run->output, &choice));
        DROVE_TRY(drove__config_choose(config, &choice));
        DROVE_TRY(check_files(config));
        DROVE_TRY(drove__folder_check(config));
    }
    DROVE_TRY(drove__replay_open(config, workers, &choice));
    DROVE_TRY(drove__config_choose(config, &choice));
    DROVE_TRY(drove__ranks_agree(workers, drove__config_validate(config, workers->ranks.n)));
    DROVE_TRY(
        drove__ranks_agree(workers, drove__pack_choose(config, workers->ranks.n > 1, cb, &choice)));
    DROVE_TRY(drove__config_choose(config, &choice));
    drove__ranks_saving(workers, config->files.out, config->files.resume != NULL);

    /* Data and model.  --out is that of rank 0: the others have to know whether anything is saved,
     * and where. */
    char out[DROVE_TEXT_SIZE];
    DROVE_TRY(drove__ranks_agree(workers, drove__setup_problem(run)));
    DROVE_TRY(drove__ranks_compare(config, problem, workers, problem->first));
    drove__config_text(config, "out", out);
    DROVE_TRY(drove__ranks_first_text(workers, out));
    if (workers->ranks.rank > 0)
        drove__choice_add(&choice, "out", drove__config_origin(config, "out"), "%s", out);

    /* Step size, and --strategy auto, which may mean fewer workers than were placed for data. */
    drove_trials trials;
    drove_strategy_probe probe;
    drove_pack_record pack;
    bool is_planned_again = true;
    if (config->problem.compares_model) {
        const drove_status made =
            drove__pack_make(config, problem, workers, &state->interrupt, cb, &pack, &choice);
        DROVE_TRY(drove__ranks_agree(workers, made));
        DROVE_TRY(drove__ranks_signal(workers, &state->interrupt));
        DROVE_TRY(drove__ranks_compare(config, problem, workers, problem->first));
        state->is_trained = true;
        state->standing.train_ns = (uint64_t)(pack.seconds * 1e9);
    } else {
        DROVE_TRY(drove__choose_lr(config, problem, workers, &trials, &choice));
        DROVE_TRY(drove__config_choose(config, &choice));
        DROVE_TRY(drove__strategy_probe_run(config, problem, workers, &state->interrupt, &probe,
                                            &choice));
        is_planned_again = probe.reason != DROVE_STRATEGY_GIVEN;
    }
    if (is_planned_again) {
        DROVE_TRY(drove__config_choose(config, &choice));
        drove_plan plan;
        const drove_plan_wanted wanted = drove__config_plan(config);
        DROVE_TRY(drove__plan_make(&wanted, &workers->machine, &drove__plan_registry, &plan));
        drove__plan_fini(&workers->plan);
        workers->plan = plan;
        if (drove__config_is_own(config, "rule_state"))
            drove__choose_rule_state(config, plan.ops->needs, &choice);
        DROVE_TRY(drove__config_choose(config, &choice));
        DROVE_TRY(drove__setup_places(workers));
    }

    drove__ranks_saving(workers, config->files.out, config->files.resume != NULL);
    DROVE_TRY(drove__setup_workers(run));
    DROVE_TRY(drove__replay_begin(problem, workers, state, cb));
    if (workers->loop->trace.recording == NULL) return DROVE_OK;
    drove_status status = DROVE_OK;
    if (workers->ranks.rank == 0)
        status = drove__run_record_begin(config, problem, workers, state->standing.recovers,
                                         state->resumed_name);
    return drove__ranks_agree(workers, status);
}

drove_status drove_run_train(drove_run *run, drove_result **out)
{
    DROVE_ALIVE(run, "a run");
    DROVE_GIVEN(run);
    DROVE_GIVEN(out);
    DROVE_IN_C_LOCALE;
    *out = NULL;
    if (run->state.is_over)
        return drove__fail(DROVE_E_ARG, "a run: expected one that has not been trained, found one "
                                        "that has");
    run->state.is_over = true;
    run->state.interrupt.before = drove__run_interrupts();
    bool has_trained = false;
    drove_status status = begin_run(run);
    if (status == DROVE_OK) {
        status = drove__run_control(run);
        if (status == DROVE_OK)
            status = drove__run_record_end(run->config.files.record, &run->workers, &run->state,
                                           &run->output.cb);
        has_trained = true;
    }
    if (status != DROVE_OK && (has_trained || run->workers.ranks.has_lost_some))
        status = drove__ranks_lost(run->config.files.out, &run->workers, &run->state, status);
    drove__run_prefetch_end(&run->config, &run->workers, run->state.outcome, &run->output.cb);
    drove_final_facts facts = {0};
    if (status == DROVE_OK) status = drove__facts_final(run, &facts);
    if (status == DROVE_OK) status = make_result(&run->config, &run->output, &facts.facts, out);
    drove__facts_final_fini(&facts);
    /* Over ranks, rank 0 alone has the parameters. */
    if (status == DROVE_OK && run->output.keeps_model && run->state.outcome != DROVE_CRASHED &&
        run->workers.ranks.rank == 0) {
        /* The model that model.safetensors would have, in memory. */
        drove_result *result = *out;
        status = drove__memfile_create(NULL, 0, false, &result->model);
        if (status == DROVE_OK) {
            drove__model_name(result->model, result->model_name);
            status =
                drove__output_model(&run->problem, &run->workers, &run->state, result->model_name);
        }
    }
    if (status == DROVE_OK) status = drove__run_record_status(&run->state);
    if (status != DROVE_OK && *out != NULL) { /* all else is done and written */
        drove_result_destroy(*out);
        *out = NULL;
    }
    drove__run_teardown(run, status);
    return status;
}

void drove_run_destroy(drove_run *run)
{
    if (run == NULL) return;
    DROVE_END(run, "a run");
    if (run->workers.is_abandoned) return;
    if (!run->state.is_over) drove__free(run->workers.loop);
    drove__config_fini(&run->config);
    drove__alive_free(run, drove__free);
}

drove_status drove_train(const drove_options *options, const drove_callbacks *callbacks,
                         drove_result **out)
{
    DROVE_ALIVE(options, "options");
    DROVE_GIVEN(options);
    DROVE_GIVEN(out);
    drove_run *run;
    *out = NULL;
    DROVE_TRY(drove_run_create(options, &run));
    drove_run_set_callbacks(run, callbacks);
    drove_status status = drove_run_train(run, out);
    drove_run_destroy(run);
    return status;
}

void drove_result_destroy(drove_result *result)
{
    if (result == NULL) return;
    DROVE_END(result, "a result");
    drove__memfile_release(result->model);
    free(result->json);
    free(result->text);
    drove__alive_free(result, free);
}

const char *drove_result_model(const drove_result *result)
{
    DROVE_ALIVE(result, "a result");
    if (result == NULL) return NULL;
    return result->model != NULL ? result->model_name : NULL;
}

drove_outcome drove_result_outcome(const drove_result *result)
{
    DROVE_ALIVE(result, "a result");
    if (result == NULL) return DROVE_CRASHED;
    return result->outcome;
}

int drove_result_exit(const drove_result *result)
{
    DROVE_ALIVE(result, "a result");
    if (result == NULL) return 1;
    switch (result->outcome) {
    case DROVE_REACHED:
    case DROVE_FINISHED: return 0;
    case DROVE_CRASHED: return 3;
    case DROVE_MISSED: return 4;
    case DROVE_INTERRUPTED: return 128 + result->signal_number;
    }
    return 1;
}

void drove_result_final(const drove_result *result, drove_progress *out)
{
    DROVE_ALIVE(result, "a result");
    if (result == NULL || out == NULL) return;
    *out = result->final;
}

const char *drove_result_json(const drove_result *result)
{
    DROVE_ALIVE(result, "a result");
    if (result == NULL) return NULL;
    return result->json;
}

drove_status drove_result_print(const drove_result *result, FILE *stream)
{
    DROVE_ALIVE(result, "a result");
    DROVE_GIVEN(result);
    DROVE_GIVEN(stream);
    DROVE_IN_C_LOCALE;
    if (fputs(result->text, stream) < 0) return drove__fail(DROVE_E_IO, "cannot write the summary");
    return DROVE_OK;
}
