/* device/module.c - see module.h.
 *
 * What dlopen and the module's entry say is kept with the module: who asks again is answered from
 * there, without looking again.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dladdr1 */
#endif
#include "device/module.h"

#include "base/file.h"
#include "base/mem.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Relative to the folder that this code lies in, or absolute; separated by ':'. */
#ifndef DROVE_MODULE_FOLDERS
#define DROVE_MODULE_FOLDERS "drove:../lib/drove"
#endif

enum { MOST_MODULES = 16, NAME_SIZE = 32 };

typedef struct module {
    char name[NAME_SIZE];
    const drove_accel_ops *ops; /* NULL: status and why */
    drove_status status;
    char why[DROVE_ERROR_TEXT_SIZE];
} module;

/* Protects all below.  Held while a module is opened, so that it is opened once. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static module known[MOST_MODULES];
static size_t n_known;
static drove_accel_host host; /* fail NULL: not made yet; constant afterwards */

/* ---- where modules are ---- */

/* Folder of the program or shared library that this code is part of, without a '/' at the end. */
static bool find_own_folder(char into[PATH_MAX])
{
    Dl_info about;
    struct link_map *map = NULL;
    char path[PATH_MAX];
    if (dladdr1((void *)(uintptr_t)&drove__module_open, &about, (void **)&map, RTLD_DL_LINKMAP) ==
        0) {
        return false;
    }
    /* the name of the program itself is empty; what dli_fname says of it is how it was called */
    bool is_program = map == NULL || map->l_name == NULL || map->l_name[0] == '\0';
    if (realpath(is_program ? "/proc/self/exe" : map->l_name, path) == NULL) return false;
    char *slash = strrchr(path, '/');
    if (slash == NULL) return false;
    *slash = '\0';
    memcpy(into, path, strlen(path) + 1);
    return true;
}

static bool is_there(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && !S_ISDIR(about.st_mode);
}

/* The first of the folders that has the file.  beside NULL: relative folders are taken as they
 * are. */
static bool find_file(const char *folders, const char *beside, const char *name,
                      char into[PATH_MAX])
{
    for (const char *at = folders; *at != '\0';) {
        int n_folder = (int)strcspn(at, ":");
        bool is_relative = at[0] != '/' && beside != NULL;
        int n = snprintf(into, PATH_MAX, "%s%s%.*s/drove_%s.so", is_relative ? beside : "",
                         is_relative ? "/" : "", n_folder, at, name);
        if (n_folder > 0 && n < PATH_MAX && is_there(into)) return true;
        at += n_folder;
        if (*at == ':') at++;
    }
    return false;
}

static drove_status find_module(const char *name, char into[PATH_MAX])
{
    char beside[PATH_MAX];
    const char *folders = getenv("DROVE_MODULE_PATH");
    if (folders != NULL) {
        if (find_file(folders, NULL, name, into)) return DROVE_OK;
        return drove__fail(DROVE_E_UNSUPPORTED,
                           "expected the module drove_%s.so in DROVE_MODULE_PATH, \"%s\", found no "
                           "such file",
                           name, folders);
    }
    bool has_beside = find_own_folder(beside);
    if (find_file(DROVE_MODULE_FOLDERS, has_beside ? beside : NULL, name, into)) return DROVE_OK;
    return drove__fail(DROVE_E_UNSUPPORTED, "the module drove_%s.so is not installed", name);
}

/* ---- opening ---- */

static drove_status check_ops(const char *path, const drove_accel_ops *ops)
{
    if (ops->version == DROVE_ACCEL_VERSION) return DROVE_OK;
    return drove__fail(DROVE_E_UNSUPPORTED, "%s: expected a module of version %d, found %u", path,
                       DROVE_ACCEL_VERSION, ops->version);
}

static drove_status open_file(const char *path, const drove_accel_ops **out)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (handle == NULL) {
        const char *error = dlerror();
        size_t n = strlen(path);
        if (error == NULL) error = "cannot be opened";
        /* where the file itself is at fault, the error begins with its name */
        bool names_file = strncmp(error, path, n) == 0 && error[n] == ':';
        return names_file ? drove__fail(DROVE_E_UNSUPPORTED, "%s", error)
                          : drove__fail(DROVE_E_UNSUPPORTED, "%s: %s", path, error);
    }
    drove_accel_entry_fn *entry;
    *(void **)&entry = dlsym(handle, DROVE_ACCEL_ENTRY); /* as POSIX shows it */
    if (entry == NULL) {
        return drove__fail(DROVE_E_UNSUPPORTED,
                           "%s: expected a module with the function %s, found none", path,
                           DROVE_ACCEL_ENTRY);
    }
    drove__fail(DROVE_E_UNSUPPORTED, "it does not say why");
    const drove_accel_ops *ops = entry(&host);
    if (ops == NULL) return drove__fail_in(DROVE_E_UNSUPPORTED, "%s", path);
    DROVE_TRY(check_ops(path, ops));
    *out = ops;
    return DROVE_OK;
}

static drove_status open_new(module *m)
{
    static char folder[PATH_MAX];
    char path[PATH_MAX];
    if (host.fail == NULL) {
        host.cache_folder = drove__cache_folder(folder, sizeof folder) ? folder : NULL;
        host.fail = drove__fail;
    }
    DROVE_TRY(find_module(m->name, path));
    return open_file(path, &m->ops);
}

/* The module's row, opened; NULL: there is no room for another. */
static const module *take(const char *name)
{
    for (size_t i = 0; i < n_known; i++) {
        if (strcmp(known[i].name, name) == 0) return &known[i];
    }
    if (n_known == MOST_MODULES || strlen(name) >= NAME_SIZE) return NULL;
    module *m = &known[n_known++];
    memcpy(m->name, name, strlen(name) + 1);
    m->status = open_new(m);
    if (m->status != DROVE_OK) drove__error_copy(m->why);
    return m;
}

drove_status drove__module_open(const char *name, const drove_accel_ops **out)
{
    pthread_mutex_lock(&lock);
    const module *m = take(name);
    pthread_mutex_unlock(&lock);
    if (m == NULL) return drove__fail(DROVE_E_NOMEM, "%s: too many modules", name);
    /* a row does not change after it was made, and the lock orders that before this */
    if (m->status != DROVE_OK) return drove__fail(m->status, "%s", m->why);
    *out = m->ops;
    return DROVE_OK;
}
