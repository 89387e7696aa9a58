/* engine/fake/script.h - what a device that does not exist would do: how long each batch takes, and
 * which one it never ends.
 *
 * Pure functions of the script and the number of the batch, so that a simulation on a virtual clock
 * and a device that sleeps (engine/fake/fake.c) agree.
 */
#ifndef DROVE_ENGINE_FAKE_SCRIPT_H
#define DROVE_ENGINE_FAKE_SCRIPT_H

#include "base/spec_keys.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct drove_fake_script {
    double   speed;        /* examples/s, > 0 */
    double   delay_s;      /* of each batch, beside its examples */
    uint64_t memory_bytes; /* 0: without end */
    uint64_t fail_after;   /* batches that are done before one fails; UINT64_MAX: none fails */
    uint64_t hang_after;   /* the same for one that never ends */
    double   jitter;       /* a batch takes up to so much of its time more or less, 0 .. < 1 */
    uint64_t seed;         /* of the jitter */
    bool     computes;     /* gradients are real; else zero */
    bool     is_deaf;      /* who hangs does not heed a time-out: a driver that never returns */
} drove_fake_script;

typedef enum drove_fake_fate {
    DROVE_FAKE_DONE,
    DROVE_FAKE_FAILS,
    DROVE_FAKE_HANGS
} drove_fake_fate;

typedef struct drove_fake_outcome {
    drove_fake_fate fate;
    uint64_t        duration_ns; /* until it is done, or fails; HANGS: says nothing */
} drove_fake_outcome;

extern const drove_spec_key drove__fake_keys[];

/* 100,000 examples/s, no delay, no failure, real gradients. */
drove_fake_script drove__fake_script_default(void);
/* From the keys of a spec; other keys are left alone.  Errors: DROVE_E_ARG. */
drove_status drove__fake_script_parse(const drove_spec *spec, drove_fake_script *out);

/* What becomes of batch number `batch` = 0, 1, ... of n_rows examples. */
drove_fake_outcome drove__fake_batch(const drove_fake_script *script, uint64_t batch,
                                     uint64_t n_rows);

#endif
