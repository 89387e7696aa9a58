/* tests/support/test.c - the list of cases, and main of every test program. */
#include "support/test.h"

#include <fnmatch.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

/* Defined by some programs only. */
__attribute__((weak)) int drove_test_started_again(int argc, char **argv);

static struct drove_test *first;
static struct drove_test_group *groups;

/* By line within a file, since compilers may call constructors in any order. */
void drove_test_register(struct drove_test *test)
{
    struct drove_test **at = &first;
    while (*at != NULL && ((*at)->line < test->line || strcmp((*at)->file, test->file) != 0))
        at = &(*at)->next;
    test->next = *at;
    *at = test;
}

void drove_test_register_group(struct drove_test_group *group)
{
    group->next = groups;
    groups = group;
}

/* True if path is that of the test `name`: folder/NAME.c. */
static bool is_file(const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash != NULL ? slash + 1 : path;
    const size_t n = strlen(name);
    return strncmp(base, name, n) == 0 && strcmp(base + n, ".c") == 0;
}

/* The path of the file to be tested: the one called `name`, or the only one if that is NULL.  NULL:
 * there is none. */
static const char *choose_file(const char *name)
{
    const char *path = NULL;
    for (const struct drove_test *t = first; t != NULL; t = t->next) {
        if (name != NULL && !is_file(t->file, name)) continue;
        if (path != NULL && strcmp(path, t->file) != 0) return NULL;
        path = t->file;
    }
    return path;
}

/* The cases of a file whose names match; free().  NULL: no memory. */
static struct CMUnitTest *choose(const char *file, const char *pattern, size_t *n)
{
    size_t n_all = 0;
    for (const struct drove_test *t = first; t != NULL; t = t->next) n_all++;
    struct CMUnitTest *chosen = calloc(n_all + 1, sizeof *chosen);
    *n = 0;
    for (const struct drove_test *t = first; t != NULL && chosen != NULL; t = t->next) {
        if (strcmp(t->file, file) != 0) continue;
        if (pattern == NULL || fnmatch(pattern, t->unit.name, 0) == 0) chosen[(*n)++] = t->unit;
    }
    return chosen;
}

/* A child that still runs a second after the last case: 1 and a line, and it is ended, as ctest
 * waits for all that hold the output; children that have ended are taken from the system. */
static int child_is_left(void)
{
    pid_t child;
    for (int k = 0; k < 100; k++) {
        while ((child = waitpid(-1, NULL, WNOHANG)) > 0) {}
        if (child < 0) return 0;
        nanosleep(&(struct timespec){.tv_nsec = 10 * 1000 * 1000}, NULL);
    }
    fprintf(stderr, "left running: expected no child process after the last case, found one\n");
    FILE *children = fopen("/proc/thread-self/children", "r");
    while (children != NULL && fscanf(children, "%d", &child) == 1) kill(child, SIGKILL);
    if (children != NULL) fclose(children);
    return 1;
}

unsigned test_day(void)
{
    static unsigned day;
    const char *said = getenv("DROVE_TEST_DAY");
    if (day != 0) return day;
    day = said != NULL ? (unsigned)strtoul(said, NULL, 10) : (unsigned)(time(NULL) / 86400);
    printf("day %u (DROVE_TEST_DAY=%u does the same part again)\n", day, day);
    return day;
}

int main(int argc, char **argv)
{
    const char *pattern = getenv("DROVE_TEST_FILTER");
    const bool lists = argc > 1 && strcmp(argv[argc - 1], "--list") == 0;
    const int n_names = argc - 1 - lists;
    const char *file = choose_file(n_names > 0 ? argv[1] : NULL);
    if (argc > 1 && (file == NULL || n_names > 1) && drove_test_started_again != NULL)
        return drove_test_started_again(argc, argv);
    if (first == NULL || file == NULL || n_names > 1) {
        if (first == NULL) fprintf(stderr, "%s: expected a TEST, found none\n", argv[0]);
        else fprintf(stderr, "usage: %s FILE [--list]; the files:\n", argv[0]);
        for (const struct drove_test *t = first; t != NULL; t = t->next)
            if (t->next == NULL || strcmp(t->file, t->next->file) != 0)
                fprintf(stderr, "%s\n", t->file);
        return 2;
    }
    size_t n;
    struct CMUnitTest *chosen = choose(file, pattern, &n);
    if (chosen == NULL || n == 0) {
        if (chosen == NULL) fprintf(stderr, "%s: out of memory\n", argv[0]);
        else
            fprintf(stderr, "%s: no TEST has a name like DROVE_TEST_FILTER=%s\n", argv[0], pattern);
        free(chosen);
        return 1;
    }
    const struct drove_test_group *group = groups;
    while (group != NULL && strcmp(group->file, file) != 0) group = group->next;
    int n_failed = 0;
    if (lists)
        for (size_t i = 0; i < n; i++) printf("%s\n", chosen[i].name);
    else
        n_failed = _cmocka_run_group_tests("tests", chosen, n, group != NULL ? group->setup : NULL,
                                           group != NULL ? group->teardown : NULL);
    free(chosen);
    return n_failed + child_is_left();
}
