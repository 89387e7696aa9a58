/* base/module.h - modules: optional libraries, opened at run time.
 *
 * Module NAME is the file drove_NAME.so.  The environment variable DROVE_MODULE_PATH names the
 * folders to search (separated by ':'; set and empty: nowhere).  If it is not set, the folders are
 * relative to the program or library that contains this code, so modules are found in the build
 * tree, in an installation, and after either was moved.  The first folder that has the file wins.
 *
 * A module stays open until the process ends.
 * Threads: any.
 */
#ifndef DROVE_BASE_MODULE_H
#define DROVE_BASE_MODULE_H

#include "base/status.h"

#include <stdbool.h>

typedef struct drove_module {
    const char *path;    /* of the file; valid until the process ends */
    void (*entry)(void); /* the requested function, to be cast to its type */
} drove_module;

/* Opens the module and finds its function `entry`.
 * Errors: DROVE_E_UNSUPPORTED (no such file, not a module, a library that it needs is missing),
 * DROVE_E_NOMEM. */
drove_status drove__module_load(const char *name, const char *entry, drove_module *out);

/* Whether the module's file exists; opens nothing. */
bool drove__module_is_there(const char *name);

#endif
