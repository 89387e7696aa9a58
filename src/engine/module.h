/* engine/module.h - the modules of accelerators, opened at run time.
 *
 * Module NAME is the file drove_NAME.so (engine/accel/accel.h says what is in it); where it is
 * looked for: base/module.h.
 *
 * A module stays open until the process ends.
 * Threads: any.
 */
#ifndef DROVE_ENGINE_MODULE_H
#define DROVE_ENGINE_MODULE_H

#include "base/status.h"
#include "engine/accel/accel.h"

/* Opens the module at the first call for its name; later calls give the same answer, be it good or
 * bad.  Errors: DROVE_E_UNSUPPORTED (no such file, not a module, of another version, a library of
 * its own that is missing), DROVE_E_NOMEM. */
drove_status drove__module_open(const char *name, const drove_accel_ops **out);

#endif
