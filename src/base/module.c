/* base/module.c - finds and opens modules. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dladdr1 */
#endif
#include "base/module.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>

/* Relative to the folder of this code, or absolute; separated by ':'. */
#ifndef DROVE_MODULE_FOLDERS
#define DROVE_MODULE_FOLDERS "drove:../lib/drove"
#endif

/* ---- finding modules ---- */

/* Folder of the program or shared library that this code is part of, without a '/' at the end. */
static bool find_own_folder(char into[PATH_MAX])
{
    Dl_info about;
    struct link_map *map = NULL;
    char path[PATH_MAX];
    if (dladdr1((void *)(uintptr_t)&drove__module_load, &about, (void **)&map, RTLD_DL_LINKMAP) ==
        0) {
        return false;
    }
    /* the program's own l_name is empty, and its dli_fname is only the name it was called by */
    bool is_program = map == NULL || map->l_name == NULL || map->l_name[0] == '\0';
    const char *name = is_program ? "/proc/self/exe" : map->l_name;
    bool is_found = realpath(name, path) != NULL;
    if (!is_found && is_program) { /* where /proc is hidden: as given to exec */
        name = (const char *)(uintptr_t)getauxval(AT_EXECFN);
        is_found = name != NULL && realpath(name, path) != NULL;
    }
    if (!is_found) return false;
    char *slash = strrchr(path, '/');
    if (slash == NULL) return false;
    *slash = '\0';
    memcpy(into, path, strlen(path) + 1);
    return true;
}

/* The first of the folders that has the file.  beside NULL: relative folders are used as given. */
static bool find_file(const char *folders, const char *beside, const char *name,
                      char into[PATH_MAX])
{
    struct stat about;
    for (const char *at = folders; *at != '\0';) {
        int n_folder = (int)strcspn(at, ":");
        bool is_relative = at[0] != '/' && beside != NULL;
        int n = snprintf(into, PATH_MAX, "%s%s%.*s/drove_%s.so", is_relative ? beside : "",
                         is_relative ? "/" : "", n_folder, at, name);
        if (n_folder > 0 && n < PATH_MAX && stat(into, &about) == 0 && !S_ISDIR(about.st_mode))
            return true;
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
    /* never from the working folder, which may be anybody's */
    if (has_beside && find_file(DROVE_MODULE_FOLDERS, beside, name, into)) return DROVE_OK;
    return drove__fail(DROVE_E_UNSUPPORTED, "the module drove_%s.so is not installed", name);
}

bool drove__module_is_there(const char *name)
{
    char path[PATH_MAX];
    return find_module(name, path) == DROVE_OK;
}

/* ---- opening ---- */

drove_status drove__module_load(const char *name, const char *entry, drove_module *out)
{
    char path[PATH_MAX];
    DROVE_TRY(find_module(name, path));
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (handle == NULL) {
        const char *error = dlerror();
        size_t n = strlen(path);
        if (error == NULL) error = "cannot be opened";
        /* an error of the file itself begins with its name */
        bool names_file = strncmp(error, path, n) == 0 && error[n] == ':';
        return names_file ? drove__fail(DROVE_E_UNSUPPORTED, "%s", error)
                          : drove__fail(DROVE_E_UNSUPPORTED, "%s: %s", path, error);
    }
    void *found = dlsym(handle, entry);
    if (found == NULL)
        return drove__fail(DROVE_E_UNSUPPORTED,
                           "%s: expected a module with the function %s, found none", path, entry);
    Dl_info about; /* dli_fname lives as long as the module, which is never unloaded */
    if (dladdr(found, &about) == 0) {
        return drove__fail(DROVE_E_UNSUPPORTED, "%s: cannot locate the function %s", path, entry);
    }
    out->path = about.dli_fname;
    *(void **)&out->entry = found; /* the conversion that POSIX recommends */
    return DROVE_OK;
}
