/* engine/linear/dmgc.h - what linear/ asks of signatures; the type is in drove/dmgc.h. */
#ifndef DROVE_ENGINE_LINEAR_DMGC_H
#define DROVE_ENGINE_LINEAR_DMGC_H

#include <drove/dmgc.h>

#include <stdbool.h>

/* DROVE_OK if drove_dmgc_print can write it.  Errors: DROVE_E_ARG. */
drove_status drove__dmgc_check(const drove_dmgc *signature);

/* Equal bits and number format of one class, written or not. */
bool drove__dmgc_same_meaning(const drove_dmgc *a, const drove_dmgc *b, drove_dmgc_class which);

#endif
