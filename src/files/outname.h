/* files/outname.h - the folder of --out auto: named after the data, with the first free number.
 *
 * data/people.train.csv -> people-1, mnist:DIR -> mnist-1, synth:digits -> digits-1; in the
 * working folder.  --defaults classic writes nothing; a resumed run goes on in its folder.
 */
#ifndef DROVE_FILES_OUTNAME_H
#define DROVE_FILES_OUTNAME_H

#include "values/values.h"

/* The name without its number: the first file of a data spec up to its first dot, or the format's
 * word; letters, digits, '-' and '_' alone. */
enum { DROVE_OUTNAME_SIZE = 64 };
drove_status drove__outname_base(const char *data, char into[DROVE_OUTNAME_SIZE]);

/* Chooses the folder that "auto" means, where --out says so.  Makes no folder: a run that cannot
 * start leaves none.  Errors: as below. */
drove_status drove__outname_choose(const drove_config *config, drove_choice *choice);
/* The next free number.  Errors: DROVE_E_EXISTS (there is none). */
drove_status drove__outname_next(const drove_config *config, drove_choice *choice);

#endif
