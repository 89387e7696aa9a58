/* use/tuning.h - what --model says beyond the network: ?head=new and ?freeze=NAMES. */
#ifndef DROVE_USE_TUNING_H
#define DROVE_USE_TUNING_H

#include "base/spec_keys.h"
#include "base/status.h"

enum { DROVE_TUNING_TEXT_SIZE = 1024 };

typedef struct drove_tuning {
    char model[DROVE_TUNING_TEXT_SIZE]; /* the network, without these keys */
    bool makes_heads;                   /* the last layer of each head is made anew */
    char
        freeze[DROVE_TUNING_TEXT_SIZE]; /* names (model/freeze.h); "": as the network's file says */
} drove_tuning;

/* Of a file, all keys are these; a family of networks has others, which stay.  *out is as if there
 * were none after a failure.  Errors: DROVE_E_ARG. */
drove_status drove__tuning_take(const char *model, drove_tuning *out);

extern const drove_spec_key drove__tuning_keys[];

#endif
