/* device/module.h - the modules of accelerators, opened at run time.
 *
 * Module NAME is the file drove_NAME.so (device/accel/accel.h says what is in it).  It is looked
 * for in the folders of the environment variable DROVE_MODULE_PATH (separated by ':'; set and
 * empty: nowhere) or, where that is not set, beside the program or library that this code is in:
 * in the build tree, where it was installed, and in both wherever the whole was moved to.  The
 * first folder that has the file decides.
 *
 * A module stays open until the process ends.
 * Threads: any.
 */
#ifndef DROVE_DEVICE_MODULE_H
#define DROVE_DEVICE_MODULE_H

#include "base/status.h"
#include "device/accel/accel.h"

/* Opens the module at the first call for its name; later calls give the same answer, be it good or
 * bad.  Errors: DROVE_E_UNSUPPORTED (no such file, not a module, of another version, a library of
 * its own that is missing), DROVE_E_NOMEM. */
drove_status drove__module_open(const char *name, const drove_accel_ops **out);

#endif
