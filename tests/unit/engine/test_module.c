/* test_module.c - opening modules: good ones once, whoever asks; bad ones with a line that says
 * why; where they are looked for, and the folder they are given.
 *
 * The modules are those of tests/modules/, in the folder modules/ beside this program.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "base/mem.h"
#include "base/status.h"
#include "engine/module.h"
#include "support/files.h"
#include "support/test.h"

#include <stdint.h>

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { N_THREADS = 8 };

static char folder[PATH_MAX]; /* of the modules */
static char here[PATH_MAX];   /* the test's own, empty at first */

/* The module cannot be opened, and the text has all of these words. */
static void assert_refused(const char *name, const char *const *words)
{
    const drove_accel_ops *ops = NULL;
    for (int again = 0; again < 2; again++) { /* the second time from memory */
        assert_int_equal(drove__module_open(name, &ops), DROVE_E_UNSUPPORTED);
        assert_null(ops);
        const char *text = drove_error_text();
        for (; words[0] != NULL && again == 0; words++) {
            if (strstr(text, *words) == NULL) fail_msg("\"%s\" not in: %s", *words, text);
        }
        assert_null(strchr(text, '\n'));
        assert_true(text[0] != '\0');
    }
}

FIXTURE(make_paths)
{
    char path[4 * PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n < 0 || getcwd(here, sizeof here) == NULL) return 1;
    path[n] = '\0';
    *strrchr(path, '/') = '\0';
    snprintf(folder, sizeof folder, "%.*s/modules", PATH_MAX - 10, path);
    snprintf(path, sizeof path, "/nowhere::%s:%s", here, folder);
    setenv("DROVE_MODULE_PATH", path, 1);
    snprintf(path, sizeof path, "%s/deep/cache", here);
    setenv("XDG_CACHE_HOME", path, 1);
    return 0;
}

GROUP(make_paths, NULL);

TEST(test_missing)
{
    assert_refused("missing", (const char *const[]){"drove_missing.so", folder, NULL});
}

TEST(test_wrong_version)
{
    char found[64], expected[64];
    snprintf(expected, sizeof expected, "expected a module of version %d", DROVE_ACCEL_VERSION);
    snprintf(found, sizeof found, "found %d", DROVE_ACCEL_VERSION + 1);
    assert_refused("version", (const char *const[]){"drove_version.so", expected, found, NULL});
}

TEST(test_without_entry)
{
    assert_refused("stranger", (const char *const[]){"drove_stranger.so", DROVE_ACCEL_ENTRY, NULL});
}

TEST(test_entry_that_fails)
{
    assert_refused("unwilling",
                   (const char *const[]){"drove_unwilling.so: the moon is not full", NULL});
}

TEST(test_unresolved)
{
    assert_refused("broken", (const char *const[]){"drove_broken.so", "drove_test_nowhere", NULL});
}

TEST(test_not_a_library)
{
    char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/drove_text.so", here);
    write_text(path, "this is no library\n");
    assert_refused("text", (const char *const[]){path, NULL});
}

static void *open_good(void *out)
{
    const drove_accel_ops **ops = out;
    return drove__module_open("good", ops) == DROVE_OK ? NULL : out;
}

/* Many threads at once: all get the same table, of one call of the entry. */
TEST(test_once)
{
    pthread_t thread[N_THREADS];
    const drove_accel_ops *ops[N_THREADS] = {NULL};
    char path[PATH_MAX + 64];
    for (size_t i = 0; i < N_THREADS; i++) {
        assert_int_equal(pthread_create(&thread[i], NULL, open_good, &ops[i]), 0);
    }
    for (size_t i = 0; i < N_THREADS; i++) {
        void *failed;
        assert_int_equal(pthread_join(thread[i], &failed), 0);
        assert_null(failed);
        assert_ptr_equal(ops[i], ops[0]);
    }
    assert_string_equal(ops[0]->name, "good");
    snprintf(path, sizeof path, "%s/drove_good.so", folder);
    void *handle = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    assert_non_null(handle); /* it is still open */
    atomic_int *n_entries = dlsym(handle, "drove_test_entries");
    assert_int_equal(atomic_load(n_entries), 1);
    /* the folder that main asked for, made as deep as it is */
    const char *const *cache = dlsym(handle, "drove_test_cache");
    struct stat about;
    snprintf(path, sizeof path, "%s/deep/cache/drove", here);
    assert_string_equal(*cache, path);
    assert_int_equal(stat(path, &about), 0);
    assert_true(S_ISDIR(about.st_mode));
    dlclose(handle);
}

/* A name is no way to another folder, and no table of names overflows.  It is the last: it
 * fills the table. */
TEST(test_strange_names)
{
    const drove_accel_ops *ops = NULL;
    char name[64];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_int_not_equal(drove__module_open(name, &ops), DROVE_OK);
    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof name, "none%d", i);
        assert_int_not_equal(drove__module_open(name, &ops), DROVE_OK);
    }
    assert_null(ops);
    assert_int_equal(drove__module_open("good", &ops), DROVE_OK);
}
