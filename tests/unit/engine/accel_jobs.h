/* tests/unit/engine/accel_jobs.h - the kernels of layers and updates, compiled as plain C and run
 * item by item. */
#ifndef DROVE_TESTS_UNIT_DEVICE_ACCEL_JOBS_H
#define DROVE_TESTS_UNIT_DEVICE_ACCEL_JOBS_H

#include "engine/accel/accel.h"

void accel_job_run(unsigned which, float *const at[DROVE_JOB_PLACES], const drove_numbers *numbers);

#endif
