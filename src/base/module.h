/* base/module.h - modules: libraries opened at run time, by programs that start without them.
 *
 * Module NAME is the file drove_NAME.so.  It is looked for in the folders of the environment
 * variable DROVE_MODULE_PATH (separated by ':'; set and empty: nowhere) or, where that is not set,
 * beside the program or library that this code is in: in the build tree, where it was installed,
 * and in both wherever the whole was moved to.  The first folder that has the file decides.
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
    void (*entry)(void); /* the function that was asked for, to be cast to what it is */
} drove_module;

/* Opens the module and finds its function `entry`.
 * Errors: DROVE_E_UNSUPPORTED (no such file, not a module, a library of its own that is missing),
 * DROVE_E_NOMEM. */
drove_status drove__module_load(const char *name, const char *entry, drove_module *out);

/* Is there such a file?  Opens nothing. */
bool drove__module_is_there(const char *name);

#endif
