/* config/saved.h - the header of a record, which is a run.json with an object "record" besides. */
#ifndef DROVE_CONFIG_SAVED_H
#define DROVE_CONFIG_SAVED_H

#include "base/json.h"
#include "trace/recording.h"

/* The caller releases *out.  Errors: DROVE_E_DATA, DROVE_E_NOMEM. */
drove_status drove__recorded_json(const drove_recorded_run *record, json_t **out);

#endif
