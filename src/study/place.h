/* study/place.h - the folder of a study. */
#ifndef DROVE_STUDY_PLACE_H
#define DROVE_STUDY_PLACE_H

#include "base/status.h"

/* Makes the folder, unless it exists.  One that has other files and no study.json is refused; what:
 * "a search".  Errors: DROVE_E_EXISTS, DROVE_E_FILE, DROVE_E_IO. */
drove_status drove__study_folder_make(const char *folder, const char *what);

#endif
