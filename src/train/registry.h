/* train/registry.h - the one list of strategies and engines, and the walk over every registry. */
#ifndef DROVE_TRAIN_REGISTRY_H
#define DROVE_TRAIN_REGISTRY_H

#include "device/engine.h"
#include "strategy/strategy.h"

extern const drove_sync_ops *const drove__strategies[];   /* NULL-terminated */
extern const drove_engine_ops *const drove__engines[];    /* NULL-terminated */

/* Finds a strategy by the name in a spec.  Errors: DROVE_E_ARG with the nearest name. */
drove_status drove__strategy_find(const char *name, const drove_sync_ops **out);

#endif
