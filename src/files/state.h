/* files/state.h - saving and resuming. */
#ifndef DROVE_FILES_STATE_H
#define DROVE_FILES_STATE_H

#include "values/values.h"

/* With --out: the model and the state.  With parameters that are not finite nothing is saved: the
 * run has crashed, and the older state stays.  By all ranks, workers parked.  Errors: DROVE_E_IO,
 * DROVE_E_NOMEM, those of exchanges of ranks. */
drove_status drove__state_save(drove_run *run);
/* Goes on from --resume, or from the state that a recorded run went on from; else does nothing. */
drove_status drove__state_load(drove_run *run);

#endif
