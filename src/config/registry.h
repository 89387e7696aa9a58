/* config/registry.h - the one list of strategies and engines, and the walk over every
 * registry. */
#ifndef DROVE_CONFIG_REGISTRY_H
#define DROVE_CONFIG_REGISTRY_H

#include "engine/engine.h"
#include "plan/plan.h"
#include "strategy/source.h"
#include "strategy/strategy.h"

extern const drove_sync_ops *const   drove__strategies[];  /* NULL-terminated */
extern const drove_source_ops *const drove__sources[];     /* NULL-terminated */
extern const drove_plan_tables       drove__plan_registry; /* of both */
extern const drove_engine_ops *const drove__engines[];     /* NULL-terminated */

/* Entry i of registry `kind` ("strategies", "rules" ...: those of drove_list); false: there are no
 * more. */
bool drove__registry_at(const char *kind, size_t i, drove_named *out);

/* Registry i itself: its name and one line of help; false: there are no more. */
bool drove__registry_kind(size_t i, drove_named *out);

/* DROVE_OK if registry `kind` knows `name`.  Errors: DROVE_E_ARG with the nearest name, or all of
 * them; `what` is the word for one entry: "strategy", "data format". */
drove_status drove__registry_check(const char *kind, const char *what, const char *name);

#endif
