/* Workers that are processes: they train what threads train, and one that is killed, stops or ends
 * takes nobody with it.  ctest: timeout=900
 * ctest: slow: runs that lose processes, and wait for them */
#include "system/run_support.h"
#include "support/test.h"

#include "config/registry.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS = 3, MOST_CHILDREN = 16 };

/* What happens to the workers of a run while they train, and what the run says. */
typedef struct scene {
    int signal, n_victims, is_done; /* to the last n_victims of them; 0: nothing happens */
    int is_first;                   /* to the first ones instead */
    int stops;                      /* the worker before them, for ever */
    int interrupts;                 /* the run instead */
    int ends_later;                 /* interrupt the run once the others have gone on for a while */
    uint64_t n_updates;             /* when the run had first said that it goes on; 0: not yet */
    const char *saved;              /* a file that must be there first, or NULL */
    char said[512];
} scene;

/* Children of a process, oldest first; the number of them. */
static int children_of(pid_t parent, pid_t child[MOST_CHILDREN])
{
    char path[64];
    int n = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)parent, (int)parent);
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        print_message("skipped: no %s\n", path);
        skip();
    }
    while (n < MOST_CHILDREN && fscanf(file, "%d", &child[n]) == 1) n++;
    fclose(file);
    return n;
}

static void sleep_ms(long ms)
{
    const struct timespec wait = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&wait, NULL);
}

/* No clock here: on a busy machine a second may hold nothing of what a test waits for. */
static void end_later(scene *s, uint64_t n_updates)
{
    if (!s->ends_later || s->said[0] == '\0') return;
    if (s->n_updates == 0) s->n_updates = n_updates;
    if (n_updates <= s->n_updates + 100) return;
    s->ends_later = 0;
    drove_train_interrupt(SIGTERM);
}

/* Now and then while the workers train. */
static void strike(void *context, const drove_progress *p)
{
    scene *s = context;
    pid_t child[MOST_CHILDREN];
    end_later(s, p->updates);
    if (s->is_done || (s->saved != NULL && access(s->saved, F_OK) != 0)) return;
    s->is_done = 1;
    if (s->interrupts) drove_train_interrupt(SIGTERM);
    int n = s->n_victims > 0 ? children_of(getpid(), child) : 0;
    if (s->stops && n > s->n_victims) kill(child[n - s->n_victims - 1], SIGSTOP);
    int first = s->is_first ? 0 : n - s->n_victims;
    for (int i = first; i >= 0 && i < n && i < first + s->n_victims; i++) kill(child[i], s->signal);
}

static void listen_to(void *context, const char *text)
{
    scene *s = context;
    if (strstr(text, "process ") != NULL) snprintf(s->said, sizeof s->said, "%s", text);
}

static drove_callbacks callbacks_of(scene *s)
{
    pid_t child[MOST_CHILDREN];
    /* Where children cannot be found, the test is skipped before it has any. */
    if (s->n_victims > 0) (void)children_of(getpid(), child);
    return (drove_callbacks){.context = s, .progress = strike, .message = listen_to};
}

static drove_options procs_run(const char *strategy)
{
    drove_options opt = small_run();
    char workers[32];
    snprintf(workers, sizeof workers, "procs:%d", WORKERS);
    set(&opt, "strategy", strategy);
    set(&opt, "workers", workers);
    return opt;
}

/* Long enough for something to happen to it. */
static drove_options long_run(const char *strategy)
{
    drove_options opt = procs_run(strategy);
    set(&opt, "model", "mlp:64,64");
    set(&opt, "eval-every", "100000"); /* ... between two evaluations */
    set(&opt, "until", "seconds=60");
    return opt;
}

static void no_child_is_left(void)
{
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static bool allows_procs(const drove_sync_ops *ops)
{
    return drove__sync_places(ops)->not_procs == NULL;
}

/* ---- what they compute ---- */

static void same_as_threads(const char *strategy)
{
    drove_options threads = small_run(), procs = procs_run(strategy);
    char n[16];
    snprintf(n, sizeof n, "%d", WORKERS);
    set(&threads, "strategy", strategy);
    set(&threads, "threads", n);
    set(&threads, "out", fresh_folder("of-threads"));
    set(&procs, "out", fresh_folder("of-procs"));
    run_to(&threads, DROVE_FINISHED);
    run_to(&procs, DROVE_FINISHED);
    assert_same_model("of-threads", "of-procs");
    no_child_is_left();
}

TEST(test_repeatable_strategies_give_the_bits_of_threads)
{
    for (size_t i = 0; drove__strategies[i] != NULL; i++) {
        const drove_sync_ops *ops = drove__strategies[i];
        if (!allows_procs(ops) || (ops->promises & DROVE_SYNC_REPEATABLE) == 0) continue;
        print_message("%s\n", ops->name);
        same_as_threads(ops->name);
    }
}

TEST(test_state_of_workers_is_saved)
{
    drove_options opt = procs_run("sync");
    set(&opt, "rule-state", "worker"); /* state that a save reads */
    set(&opt, "rule", "momentum:0.5");
    set(&opt, "out", fresh_folder("state-of-workers"));
    run_to(&opt, DROVE_FINISHED);
    if (drove_options_resume(&opt, "state-of-workers") != DROVE_OK)
        fail_msg("%s", drove_error_text());
    set(&opt, "until", "epochs=3");
    run_to(&opt, DROVE_FINISHED);
}

/* Workers that exchange go on from the centre, whatever their number. */
TEST(test_another_number_goes_on)
{
    static const char *const strategies[] = {"easgd-sync3", "easgd-async", "local", "hogwild"};
    for (size_t i = 0; i < DROVE_COUNT(strategies); i++) {
        drove_options opt = procs_run(strategies[i]);
        set(&opt, "out", fresh_folder("of-three"));
        run_to(&opt, DROVE_FINISHED);
        if (drove_options_resume(&opt, "of-three") != DROVE_OK) fail_msg("%s", drove_error_text());
        set(&opt, "workers", "procs:2");
        set(&opt, "until", "epochs=3");
        run_to(&opt, DROVE_FINISHED);
    }
}

TEST(test_an_interrupt_ends_the_run_as_ever)
{
    scene s = {.interrupts = 1};
    drove_callbacks callbacks = callbacks_of(&s);
    drove_options opt = long_run("hogwild");
    drove_result *result;
    if (drove_train(&opt, &callbacks, &result) != DROVE_OK) fail_msg("%s", drove_error_text());
    assert_int_equal(drove_result_outcome(result), DROVE_INTERRUPTED);
    drove_result_destroy(result);
    no_child_is_left();
}

/* ---- one is lost ---- */

static void said(const scene *s, const char *part)
{
    if (strstr(s->said, part) == NULL) fail_msg("\"%s\" is not in \"%s\"", part, s->said);
}

static void goes_on_without_one(const char *strategy, int number)
{
    scene s = {.signal = number, .n_victims = 1, .ends_later = 1};
    drove_callbacks callbacks = callbacks_of(&s);
    drove_options opt = long_run(strategy);
    drove_result *result;
    if (number == SIGSTOP) set(&opt, "timeout", "2");
    if (drove_train(&opt, &callbacks, &result) != DROVE_OK)
        fail_msg("%s: %s", strategy, drove_error_text());
    assert_int_equal(drove_result_outcome(result), DROVE_INTERRUPTED);
    said(&s, "worker 2 (process ");
    said(&s, "the run goes on with 2 of 3 workers");
    said(&s, number == SIGSTOP ? "did nothing for 2 s and was ended"
                               : "was ended by signal 9 (Killed)");
    const char *json = drove_result_json(result), *lost = strstr(json, "\"lost\"");
    for (int i = 0; i < 3 && lost != NULL; i++, lost = strstr(lost + 1, "\"lost\""))
        assert_int_equal(strncmp(lost + 8, "null", 4) == 0, i != 2);
    drove_result_destroy(result);
    no_child_is_left();
}

/* One line, and the state that was saved can be gone on from. */
static void ends_without_one(const char *strategy, int number)
{
    scene s = {.signal = number, .n_victims = 1, .saved = "cut-off/state.safetensors"};
    drove_callbacks callbacks = callbacks_of(&s);
    drove_options opt = long_run(strategy);
    drove_result *result;
    if (number == SIGSTOP) set(&opt, "timeout", "2");
    set(&opt, "save-every", "seconds=0.3");
    set(&opt, "out", fresh_folder("cut-off"));
    if (drove_train(&opt, &callbacks, &result) != DROVE_E_SYSTEM)
        fail_msg("%s went on: %s", strategy, s.said);
    snprintf(s.said, sizeof s.said, "%s", drove_error_text());
    said(&s, "worker ");
    said(&s, " (process ");
    said(&s, "cannot go on without it");
    said(&s, "is saved: drove train --resume cut-off");
    assert_null(strchr(s.said, '\n'));
    no_child_is_left();
    if (drove_options_resume(&opt, "cut-off") != DROVE_OK) fail_msg("%s", drove_error_text());
    set(&opt, "until", "updates=1");
    run_to(&opt, DROVE_FINISHED);
}

/* Has an earlier row the same functions?  Then only the long tests lose a worker of it as well. */
static bool is_left_out(size_t row)
{
    const drove_sync_ops *ops = drove__strategies[row];
    if (getenv("DROVE_TEST_LONG") != NULL) return false;
    for (size_t i = 0; i < row; i++) {
        const drove_sync_ops *other = drove__strategies[i];
        if (allows_procs(other) && other->publish == ops->publish && other->leave == ops->leave)
            return true;
    }
    return false;
}

/* Who stops is found and killed without a word to the strategy: in the short tests one that goes on
 * and one that ends are enough for SIGSTOP, which takes seconds. */
static void lose_one_of_each(int number)
{
    bool is_seen[2] = {false, false};
    for (size_t i = 0; drove__strategies[i] != NULL; i++) {
        const drove_sync_ops *ops = drove__strategies[i];
        if (!allows_procs(ops) || (ops->needs & DROVE_SYNC_ONE) != 0 || is_left_out(i)) continue;
        bool *seen = &is_seen[ops->leave != NULL];
        if (*seen && number == SIGSTOP && getenv("DROVE_TEST_LONG") == NULL) continue;
        *seen = true;
        print_message("%s: %s\n", ops->name, ops->leave != NULL ? "goes on" : "ends");
        if (ops->leave != NULL) goes_on_without_one(ops->name, number);
        else ends_without_one(ops->name, number);
    }
}

TEST(test_one_is_killed)
{
    lose_one_of_each(SIGKILL);
}

TEST(test_one_stops_and_is_ended)
{
    lose_one_of_each(SIGSTOP);
}

/* By a signal: workers inherit it.  All that is seen of them is that they sleep. */
static void sleep_for_ever(int number)
{
    (void)number;
    while (true) pause();
}

/* The others wait for it, asleep as well: the one that fell silent first is ended. */
TEST(test_one_that_sleeps_is_ended)
{
    scene s = {.signal = SIGUSR1, .n_victims = 1, .is_first = 1};
    drove_callbacks callbacks = callbacks_of(&s);
    drove_options opt = long_run("sync");
    drove_result *result;
    set(&opt, "timeout", "4");
    void (*before)(int) = signal(SIGUSR1, sleep_for_ever);
    assert_int_equal(drove_train(&opt, &callbacks, &result), DROVE_E_SYSTEM);
    (void)signal(SIGUSR1, before);
    snprintf(s.said, sizeof s.said, "%s", drove_error_text());
    said(&s, "worker 0 (process ");
    said(&s, "did nothing for 4 s and was ended");
    no_child_is_left();
}

TEST(test_all_are_killed)
{
    scene s = {.signal = SIGKILL, .n_victims = WORKERS};
    drove_callbacks callbacks = callbacks_of(&s);
    drove_options opt = long_run("hogwild");
    drove_result *result;
    assert_int_equal(drove_train(&opt, &callbacks, &result), DROVE_E_SYSTEM);
    assert_non_null(strstr(drove_error_text(), "no worker is left; nothing is saved"));
    no_child_is_left();
}

/* Who does not park while the run ends is ended, too. */
TEST(test_a_run_ends_without_who_has_stopped)
{
    scene s = {.signal = SIGKILL, .n_victims = 1, .stops = 1};
    drove_callbacks callbacks = callbacks_of(&s);
    drove_options opt = long_run("sync");
    drove_result *result;
    assert_int_equal(drove_train(&opt, &callbacks, &result), DROVE_E_SYSTEM);
    assert_non_null(strstr(drove_error_text(), "cannot go on without it"));
    no_child_is_left();
}

static int n_lost(const drove_result *result)
{
    int n = 0;
    const char *lost = strstr(drove_result_json(result), "\"lost\"");
    for (; lost != NULL; lost = strstr(lost + 1, "\"lost\""))
        n += strncmp(lost + 8, "null", 4) != 0;
    return n;
}

/* Whoever has lost its worker has fewer batches to come, and the budget is still used up.  On a
 * busy machine the signal may come when the worker has done all its work: then nobody is lost. */
TEST(test_epochs_end_without_one)
{
    for (size_t i = 0; drove__strategies[i] != NULL; i++) {
        const drove_sync_ops *ops = drove__strategies[i];
        scene s = {.signal = SIGKILL, .n_victims = 1};
        drove_callbacks callbacks = callbacks_of(&s);
        drove_result *result;
        if (!allows_procs(ops) || ops->leave == NULL || is_left_out(i)) continue;
        drove_options opt = long_run(ops->name);
        set(&opt, "until", "epochs=200");
        set(&opt, "eval-every", "100");
        if (drove_train(&opt, &callbacks, &result) != DROVE_OK)
            fail_msg("%s: %s", ops->name, drove_error_text());
        assert_int_equal(drove_result_outcome(result), DROVE_FINISHED);
        assert_int_equal(n_lost(result), strstr(s.said, "goes on") != NULL);
        drove_result_destroy(result);
    }
}

/* ---- the parent ---- */

TEST(test_children_end_with_their_parent)
{
    pid_t child[MOST_CHILDREN];
    (void)children_of(getpid(), child); /* skips the test before there is a process to leave */
    const pid_t parent = fork();
    assert_true(parent >= 0);
    if (parent == 0) {
        drove_options opt = long_run("hogwild");
        drove_result *result;
        set(&opt, "until", "seconds=60");
        (void)drove_train(&opt, NULL, &result);
        _exit(0);
    }
    int n = 0;
    for (int i = 0; i < 6000 && n < WORKERS; i++) { /* a minute, of a busy machine */
        sleep_ms(10);
        n = children_of(parent, child);
    }
    assert_int_equal(n, WORKERS);
    kill(parent, SIGKILL);
    assert_int_equal(waitpid(parent, NULL, 0), parent);
    for (int i = 0; i < n; i++) {
        int is_there = 1;
        char state_of = 0, path[64];
        for (int k = 0; k < 6000 && is_there; k++) { /* gone, or dead and not yet waited for */
            snprintf(path, sizeof path, "/proc/%d/stat", (int)child[i]);
            FILE *file = fopen(path, "r");
            is_there =
                file != NULL && fscanf(file, "%*d %*s %c", &state_of) == 1 && state_of != 'Z';
            if (file != NULL) fclose(file);
            if (is_there) sleep_ms(10);
        }
        assert_false(is_there);
    }
}

/* ---- what is refused ---- */

static void refused(const char *strategy, const char *option, const char *value, const char *part)
{
    drove_options opt = procs_run(strategy);
    drove_result *result;
    if (option != NULL) set(&opt, option, value);
    assert_int_equal(drove_train(&opt, NULL, &result), DROVE_E_ARG);
    if (strstr(drove_error_text(), part) == NULL) fail_msg("%s", drove_error_text());
}

TEST(test_what_is_refused)
{
    refused("rwlock", NULL, NULL, "stays locked when a process that holds it ends");
    refused("adaptive", NULL, NULL, "through a queue of this process");
    drove_options opt = drove__options_default();
    assert_int_equal(drove_options_set(&opt, "workers", "procs:0"), DROVE_E_ARG);
    assert_int_equal(drove_options_set(&opt, "workers", "procs:2+cpu:0"), DROVE_E_ARG);
    assert_int_equal(drove_options_set(&opt, "workers", "procs:"), DROVE_E_ARG);
}
