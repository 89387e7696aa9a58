/* Several runs in one process: at the same time, and one after another that was interrupted. */
#include "system/run_support.h"
#include "support/test.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static drove_outcome outcome_of(const drove_options *opt, const drove_callbacks *callbacks,
                                int exit_status)
{
    drove_result *result;
    if (drove_train(opt, callbacks, &result) != DROVE_OK) fail_msg("%s", drove_error_text());
    drove_outcome outcome = drove_result_outcome(result);
    assert_int_equal(drove_result_exit(result), exit_status);
    drove_result_destroy(result);
    return outcome;
}

static void interrupt_by(void *context, const drove_progress *p)
{
    (void)p;
    drove_train_interrupt(*(const int *)context);
}

TEST(an_interrupt_ends_the_runs_that_go_on_and_no_later_one)
{
    static const struct {
        int number, exit_status;
    } cases[] = {{SIGTERM, 128 + SIGTERM},
                 {SIGINT, 128 + SIGINT},
                 {0, 128 + SIGINT},
                 {-1, 128 + SIGINT},
                 {1000, 128 + SIGINT}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int number = cases[i].number;
        drove_callbacks callbacks = {.context = &number, .evaluated = interrupt_by};
        drove_options opt = small_run();
        set(&opt, "threads", "2");
        set(&opt, "strategy", "ssp:1");
        assert_int_equal(outcome_of(&opt, &callbacks, cases[i].exit_status), DROVE_INTERRUPTED);
        assert_int_equal(outcome_of(&opt, NULL, 0), DROVE_FINISHED);
    }
}

enum { AT_ONCE = 3 };

typedef struct job {
    drove_options opt;
    drove_status status;
    char error[DROVE_TEXT_SIZE];
} job;

static void *run_job(void *argument)
{
    job *j = argument;
    drove_result *result = NULL;
    j->status = drove_train(&j->opt, NULL, &result);
    if (j->status != DROVE_OK) strncpy(j->error, drove_error_text(), sizeof j->error - 1);
    drove_result_destroy(result);
    return NULL;
}

/* Runs that repeat their bits do so in company too; the others at least end. */
TEST(runs_at_once_do_not_disturb_each_other)
{
    static const char *const strategies[AT_ONCE] = {"sequential", "sync", "leashed:inf"};
    static const char *const alone[AT_ONCE] = {"alone-0", "alone-1", "alone-2"},
                             *const together[AT_ONCE] = {"together-0", "together-1", "together-2"};
    static job jobs[AT_ONCE];
    pthread_t thread[AT_ONCE];
    for (int i = 0; i < AT_ONCE; i++) {
        jobs[i] = (job){.opt = small_run()};
        set(&jobs[i].opt, "threads", i == 0 ? "1" : "3");
        set(&jobs[i].opt, "strategy", strategies[i]);
        set(&jobs[i].opt, "isa", i == 1 ? "ref" : "");
        set(&jobs[i].opt, "out", fresh_folder(alone[i]));
        run_to(&jobs[i].opt, DROVE_FINISHED);
        set(&jobs[i].opt, "out", fresh_folder(together[i]));
    }
    for (int i = 0; i < AT_ONCE; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, run_job, &jobs[i]), 0);
    for (int i = 0; i < AT_ONCE; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < AT_ONCE; i++) {
        if (jobs[i].status != DROVE_OK) fail_msg("%s: %s", strategies[i], jobs[i].error);
        if (i < 2) assert_same_model(alone[i], together[i]);
    }
}
