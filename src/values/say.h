/* values/say.h - messages for people. */
#ifndef DROVE_VALUES_SAY_H
#define DROVE_VALUES_SAY_H

#include <drove/train.h>

/* A message for people, one line. */
void drove__run_say(const drove_callbacks *cb, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same behind "warning: ", of something lost or damaged: printed with --quiet too. */
void drove__run_warn(const drove_callbacks *cb, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
