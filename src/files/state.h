/* files/state.h - saving and resuming. */
#ifndef DROVE_FILES_STATE_H
#define DROVE_FILES_STATE_H

#include "values/values.h"

drove_status drove__state_save(drove_run *run, const char *path);
/* Goes on from --resume, or from the state that a recorded run went on from; else does nothing. */
drove_status drove__state_load(drove_run *run);

#endif
