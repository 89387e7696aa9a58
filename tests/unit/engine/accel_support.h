/* tests/unit/engine/accel_support.h - data, models and engines for the tests of accelerators:
 * random data of any storage and target, the host engine and a device's beside each other. */
#ifndef DROVE_TESTS_UNIT_DEVICE_ACCEL_SUPPORT_H
#define DROVE_TESTS_UNIT_DEVICE_ACCEL_SUPPORT_H

#include "engine/device.h"
#include "engine/engine.h"

enum { ACCEL_ROWS = 300, ACCEL_FEATURES = 70 };

typedef struct accel_case {
    const char  *name;
    drove_x_kind x_kind;
    bool         has_values, is_scaled, has_view, is_weighted, in_bf16;
    drove_y_kind y_kind;
    size_t       n_classes, n_values;
    const char  *model, *activation, *loss;
} accel_case;

/* One of each kind of input, for tests of what does not depend on the case. */
extern const accel_case accel_case_dense, accel_case_sparse;

typedef struct accel_problem {
    const accel_case *how;
    drove_storage     storage;
    drove_data        data;
    drove_model      *model;
    drovek_table      kernels;
    float            *theta, *grad[2]; /* [n_params] host's, device's */
    drove_device     *device;
    drove_engine     *host, *accel;
    size_t            max_rows;
    uint32_t         *row; /* [max_rows] */
    drove_batch       batch;
} accel_problem;

/* A device for the tests, "opencl:0" or "cuda:0", of the kind that can be used here; NULL: there is
 * none, and why has been printed.  Sanitized programs have none: drivers do not run in them. */
drove_device *accel_open_device(const char *kind, const char *argument);

/* Group setup and teardown: the tables of operations that the tests of the engine run on.  What
 * drivers compile goes to the cache folder of the environment, else here. */
enum { ACCEL_PLAIN, ACCEL_OPENCL, ACCEL_CUDA, ACCEL_N_DEVICES };
extern drove_device *accel_devices[ACCEL_N_DEVICES]; /* NULL: not here */
int                  accel_open_devices(void **state);
int                  accel_close_devices(void **state);

void accel_setup(accel_problem *p, const accel_case *how, drove_device *device, size_t max_rows);
void accel_teardown(accel_problem *p); /* not the device */

/* n random rows, with repetition. */
void accel_choose(accel_problem *p, size_t n, uint64_t seed);

/* Gradients and scores of the batch that was chosen by both engines, compared. */
void accel_compare(accel_problem *p, bool spans_wanted);
/* What accel_compare does, for gradients that are there already. */
void accel_compare_gradients(const accel_problem *p, const drove_gradient *device);

#endif
