/* tests/unit/engine/accel_plain.h - a table of operations without an accelerator: all of it in
 * plain C on the calling thread, done when it is asked for.
 *
 * For what no driver can be made to do: run in a sanitized program, and fail at a given call. */
#ifndef DROVE_TESTS_UNIT_DEVICE_ACCEL_PLAIN_H
#define DROVE_TESTS_UNIT_DEVICE_ACCEL_PLAIN_H

#include "engine/accel/kind.h"

/* Failures: the call of this number, from 1, and all that follow; 0: none.  Counted are the calls
 * that put something on a queue or wait. */
extern unsigned accel_plain_fails_at, accel_plain_calls;
/* Buffers, host memory, queues and events that exist. */
extern unsigned accel_plain_objects;
/* Elements of all buffers that were made since it was set to 0. */
extern size_t accel_plain_elements;

/* A device of it; drove__device_close. */
drove_device *accel_plain_open(void);

#endif
