/* A run killed with SIGKILL at a random moment leaves a state that is whole: the old one or the
 * new one.
 *
 * DROVE_TEST_KILLS in the environment sets the number of runs (200 in the long tests). */
#include "system/run_support.h"
#include "support/test.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { RUNS = 40 };

static drove_options saving_run(const char *folder)
{
    drove_options opt = small_run();
    set(&opt, "model", "mlp:64,64");
    set(&opt, "save-every", "updates=3");
    set(&opt, "until", "seconds=60");
    set(&opt, "rule", "momentum:0.9");
    set(&opt, "out", folder);
    return opt;
}

static void sleep_us(unsigned us)
{
    struct timespec wait = {.tv_sec = us / 1000000, .tv_nsec = (long)(us % 1000000) * 1000};
    nanosleep(&wait, NULL);
}

static int is_there(const char *folder, const char *file)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    return access(path, F_OK) == 0;
}

/* Kills at a random moment: from the start, or (once_saved) from the first saved state on. */
static void run_and_kill(const char *folder, unsigned wait_us, int once_saved)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        drove_options opt = saving_run(folder);
        drove_result *result;
        drove_train(&opt, NULL, &result);
        _exit(0);
    }
    for (int i = 0; once_saved && i < 6000 && !is_there(folder, "state.safetensors"); i++) {
        sleep_us(10000);
    }
    sleep_us(wait_us);
    kill(child, SIGKILL);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
}

/* Goes on for three updates: everything in the state is read and used. */
static void go_on(const char *folder)
{
    drove_options opt = drove__options_default();
    drove_result *result;
    drove_progress before;
    char until[64];
    if (drove_options_resume(&opt, folder) != DROVE_OK) fail_msg("%s", drove_error_text());
    set(&opt, "until", "updates=0");
    if (drove_train(&opt, NULL, &result) != DROVE_OK) fail_msg("%s", drove_error_text());
    drove_result_final(result, &before);
    drove_result_destroy(result);
    assert_int_equal(before.updates % 3, 0);
    snprintf(until, sizeof until, "updates=%llu", (unsigned long long)before.updates + 3);
    set(&opt, "until", until);
    run_to(&opt, DROVE_FINISHED);
}

TEST(the_state_is_whole_whenever_it_is_killed)
{
    const char *asked = getenv("DROVE_TEST_KILLS");
    int runs = asked != NULL ? atoi(asked) : RUNS, with_state = 0;
    drove_rng rng;
    drove__rng_seed(&rng, 20, DROVE_RNG_TEST, 0);
    for (int i = 0; i < runs; i++) {
        const char *folder = fresh_folder("killed");
        int once_saved = i % 4 != 0;
        run_and_kill(folder, (unsigned)drove__rng_below(&rng, once_saved ? 60000 : 200000),
                     once_saved);
        if (is_there(folder, "model.safetensors")) {
            drove_modelfile model;
            load_model(folder, "model.safetensors", &model);
            drove__modelfile_fini(&model);
        }
        if (!is_there(folder, "state.safetensors")) {
            assert_false(once_saved); /* a state that was there has gone */
            continue;
        }
        go_on(folder);
        assert_int_not_equal(system("ls killed | grep -q tmp"), 0);
        with_state++;
    }
    print_message("%d of %d killed runs had saved a state; all of them went on\n", with_state,
                  runs);
    assert_true(with_state >= runs - (runs + 3) / 4);
}
