/* run/say.h - messages for people. */
#ifndef DROVE_RUN_SAY_H
#define DROVE_RUN_SAY_H

#include "run/values.h"

/* A message for people, one line. */
void drove__run_say(const drove_config *config, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same behind "warning: ", of something lost or damaged: printed with --quiet too. */
void drove__run_warn(const drove_config *config, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
