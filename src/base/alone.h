/* base/alone.h - whether this process has one thread, as one that is to be forked must. */
#ifndef DROVE_BASE_ALONE_H
#define DROVE_BASE_ALONE_H

#include "base/status.h"

/* Errors: DROVE_E_SYSTEM (other threads; the text begins with `who`). */
drove_status drove__process_is_alone(const char *who);

#endif
