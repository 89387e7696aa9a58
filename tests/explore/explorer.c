/* tests/explore/explorer.c - scenarios and planted mistakes; see explorer.h and state.h. */
#define _GNU_SOURCE
#include "state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

explorer explore__e;
static _Alignas(64) char arena[ARENA_BYTES];
static const char *const kind_name[] = {"not seq_cst", "no acquire", "no release", "not atomic",
                                        "no wake-up",  "no lock",    "left out"};

/* ---- names of places ---- */

extern const char __executable_start[];

static struct {
    uintptr_t address;
    char text[160];
} known_place[512];

/* "FUNCTION FILE:LINE". */
void explore__site_text(uintptr_t address, char *text, size_t size)
{
    char command[256], function[96] = "?", where[160] = "?";
    snprintf(text, size, "+%#zx", (size_t)(address - (uintptr_t)__executable_start));
    if (address == 0) return;
    unsigned k = 0;
    while (k < 511 && known_place[k].address != 0 && known_place[k].address != address) k++;
    if (known_place[k].address == address) {
        snprintf(text, size, "%s", known_place[k].text);
        return;
    }
    bool was_on = explore__e.is_on;
    explore__e.is_on = false;
    snprintf(command, sizeof command, "addr2line -f -s -e /proc/%d/exe %#zx 2>/dev/null",
             (int)getpid(), (size_t)(address - 1 - (uintptr_t)__executable_start));
    FILE *out = popen(command, "r");
    if (out != NULL) {
        if (fgets(function, sizeof function, out) != NULL &&
            fgets(where, sizeof where, out) != NULL) {
            function[strcspn(function, "\n")] = where[strcspn(where, " \n")] = '\0';
            snprintf(text, size, "%s %s", function, where);
        }
        pclose(out);
    }
    known_place[k].address = address;
    snprintf(known_place[k].text, sizeof known_place[k].text, "%s", text);
    explore__e.is_on = was_on;
}

/* ---- runs ---- */

static void scenario_main(void *scenario)
{
    ((const explore_scenario *)scenario)->run();
}

static void run_once(void)
{
    explore__e.run++;
    explore__e.n_runs++;
    explore__e.n_threads = 1;
    explore__e.n_words = explore__e.n_steps = explore__e.n_preempted = 0;
    explore__e.n_woken = explore__e.n_timed_out = explore__e.n_killed = 0;
    explore__e.now_ns = UINT64_C(1000000000000);
    explore__e.position = 0;
    explore__e.used = 0;
    explore__e.now = 0;
    memset(&explore__e.thread[0], 0, sizeof explore__e.thread[0]);
    explore__e.thread[0].body = scenario_main;
    explore__e.thread[0].argument = (void *)(uintptr_t)explore__e.scenario;
    explore__e.thread[0].view.clock[0] = 1;
    explore__prepare(0);
    explore__e.is_on = true;
#ifdef __x86_64__
    explore_switch(&explore__e.controller, explore__e.thread[0].stack_pointer);
#else
    swapcontext(&explore__e.controller, &explore__e.thread[0].context);
#endif
    explore__e.is_on = false;
}

/* True: nothing was found. */
static bool explore(void)
{
    explore__e.n_prefix = explore__e.n_choices = 0;
    explore__e.n_states = explore__e.n_runs = explore__e.n_ends = 0;
    explore__e.has_failed = explore__e.has_slept = false;
    explore__e.failure[0] = '\0';
    explore__e.is_random = explore__e.scenario->n_samples > 0;
    explore__e.random = UINT64_C(88172645463325252);
    if (explore__e.table != NULL)
        memset(explore__e.table, 0, explore__e.table_size * sizeof *explore__e.table);
    for (;;) {
        run_once();
        if (explore__e.has_failed) return false;
        if (explore__e.is_random ? explore__e.n_runs >= explore__e.scenario->n_samples
                                 : !explore__advance())
            break;
    }
    if (explore__e.n_ends == 0) explore__fail("no run comes to its end");
    return !explore__e.has_failed;
}

static void show_failure(void)
{
    char failure[sizeof explore__e.failure];
    snprintf(failure, sizeof failure, "%s", explore__e.failure);
    explore__e.n_prefix = explore__e.n_choices;
    explore__e.is_traced = true;
    if (!explore__e.is_random) run_once();
    explore__e.is_traced = false;
    fprintf(stderr, "%s: %s\n", explore__e.scenario->name, failure);
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static const char *reason_of(const explore_survivor *s, const char *mistake)
{
    const char *of_kind = strchr(mistake, ':');
    for (; s != NULL && s->mistake != NULL; s++) {
        bool is_any = s->mistake[0] == '*';
        if (strcmp(is_any ? s->mistake + 1 : s->mistake, is_any ? of_kind : mistake) == 0)
            return s->reason;
    }
    return NULL;
}

/* The file of a place is one that another program plants mistakes in. */
static bool is_elsewhere(const explore_survivor *s, const char *place)
{
    for (; s != NULL && s->mistake != NULL; s++)
        if (strchr(s->mistake, ':') == NULL && strstr(place, s->mistake) != NULL) return true;
    return false;
}

/* "FUNCTION: KIND" */
static void mistake_text(const char *place, kind k, char *text, size_t size)
{
    snprintf(text, size, "%.*s: %s", (int)strcspn(place, " "), place, kind_name[k]);
}

/* One mistake, under each scenario until one finds it. */
static bool is_found(const explore_scenario *scenario, uintptr_t where, kind k)
{
    bool is_missed = true;
    explore__e.mutated = where;
    explore__e.mutant = k;
    for (explore__e.scenario = scenario; explore__e.scenario->name != NULL && is_missed;
         explore__e.scenario++)
        if (!explore__e.scenario->is_long && explore__e.scenario->must_find == NULL)
            is_missed = explore();
    explore__e.mutated = 0;
    return !is_missed;
}

/* False: a mistake that is listed can be planted nowhere. */
static bool are_there(const explore_survivor *s)
{
    unsigned n_gone = 0;
    for (; s != NULL && s->mistake != NULL; s++) {
        bool is_there = s->mistake[0] == '*' || strchr(s->mistake, ':') == NULL;
        for (unsigned i = 0; i < explore__e.n_sites && !is_there; i++) {
            char place[160], text[200];
            explore__site_text(explore__e.site[i].address, place, sizeof place);
            for (kind k = 0; k < N_KINDS && !is_there; k++) {
                mistake_text(place, k, text, sizeof text);
                is_there = explore__e.site[i].has[k] && strcmp(text, s->mistake) == 0;
            }
        }
        if (is_there) continue;
        printf("  %s: listed, but no place has it\n", s->mistake);
        n_gone++;
    }
    return n_gone == 0;
}

/* All mistakes at all places; false: one was not found. */
static bool plant_mistakes(const explore_scenario *scenario, const explore_survivor *survivors)
{
    unsigned n = 0, n_found = 0, n_known = 0, n_missed = 0;
    double begin = now_s();
    for (unsigned i = 0; i < explore__e.n_sites; i++) {
        char place[160], text[200];
        explore__site_text(explore__e.site[i].address, place, sizeof place);
        if (is_elsewhere(survivors, place)) continue;
        for (kind k = 0; k < N_KINDS; k++) {
            bool is_own = strstr(place, " explore_") != NULL; /* the scenario's, not the sources' */
            if (!explore__e.site[i].has[k] || (is_own && k != LEFT_OUT)) continue;
            n++;
            mistake_text(place, k, text, sizeof text);
            const char *reason = reason_of(survivors, text);
            if (is_found(scenario, explore__e.site[i].address, k)) {
                n_found++;
                printf("  %s, %s: found: %s\n", place, kind_name[k], explore__e.failure);
            } else {
                *(reason != NULL ? &n_known : &n_missed) += 1;
                printf("  %s, %s: %s\n", place, kind_name[k],
                       reason != NULL ? reason : "NOT FOUND");
            }
            fflush(stdout);
        }
    }
    printf("%u mistakes planted: %u found, %u make no difference, %u missed; %.1f s\n", n, n_found,
           n_known, n_missed, now_s() - begin);
    return n_missed == 0;
}

/* A scenario that is wrong on purpose. */
static bool finds_it(const explore_scenario *s)
{
    explore__e.scenario = s;
    bool is_found = !explore() && strstr(explore__e.failure, s->must_find) != NULL;
    printf("%s: %s: %s\n", s->name, is_found ? "ok, found" : "FAILED, found", explore__e.failure);
    if (!is_found) printf("  expected: %s\n", s->must_find);
    fflush(stdout);
    return is_found;
}

static bool runs_clean(const explore_scenario *s)
{
    double begin = now_s();
    explore__e.scenario = s;
    explore__e.notes_sites = !s->is_long;
    bool is_clean = explore();
    explore__e.notes_sites = false;
    char what[40] = "all choices";
    if (s->n_preemptions > 0) snprintf(what, sizeof what, "%u preemptions", s->n_preemptions);
    if (s->n_samples > 0) snprintf(what, sizeof what, "at random");
    printf("%s: %s, %s: %" PRIu64 " states, %" PRIu64 " runs, %" PRIu64 " to the end, %.1f s\n",
           s->name, is_clean ? "ok" : "FAILED", what, explore__e.n_states, explore__e.n_runs,
           explore__e.n_ends, now_s() - begin);
    fflush(stdout);
    if (!is_clean) show_failure();
    return is_clean;
}

/* As it is; then with one sleeper that is woken for no reason, and one time limit that is reached,
 * anywhere. */
static bool runs_well(const explore_scenario *s)
{
    explore_scenario disturbed = *s;
    char name[160];
    if (!runs_clean(s)) return false;
    if (s->is_undisturbed || !explore__e.has_slept) return true;
    snprintf(name, sizeof name, "%s, disturbed", s->name);
    disturbed.name = name;
    disturbed.n_wakes += 1;
    disturbed.n_timeouts += 1;
    return runs_clean(&disturbed);
}

int explore_main(int argc, char **argv, const explore_scenario *scenario,
                 const explore_survivor *survivors)
{
    const char *what = argc > 1 ? argv[1] : "";
    bool is_good = true, is_all = strcmp(what, "--all") == 0, is_named = argc > 1 && what[0] != '-';
    explore__e.arena = arena;
    explore__e.stacks = mmap(NULL, (size_t)T * STACK_BYTES, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (explore__e.stacks == MAP_FAILED) return 2;
    for (const explore_scenario *s = scenario; s->name != NULL; s++) {
        bool is_left_out = (s->is_long && !is_all) || (s->is_slow && argc > 1 && !is_all);
        if (is_named ? strcmp(what, s->name) == 0 : !is_left_out)
            is_good &= s->must_find != NULL ? finds_it(s) : runs_well(s);
    }
    if (is_good && (argc < 2 || is_all))
        is_good = are_there(survivors) && plant_mistakes(scenario, survivors);
    return is_good ? 0 : 1;
}
