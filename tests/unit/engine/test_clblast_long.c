/* tests/unit/engine/test_clblast_long.c - the OpenCL engine with the products of CLBlast, which
 * other devices than processors use, against the host's; the first run compiles them for long.
 */
#include "unit/engine/accel_support.h"
#include "support/test.h"

#include "base/mem.h"

#include <stdlib.h>

TEST(gradients_by_clblast_agree)
{
    static const size_t sizes[] = {1, 7, 64, 1000};
    static const accel_case how = {.name = "CLBlast",
                                   .x_kind = DROVE_X_U8,
                                   .y_kind = DROVE_Y_CLASS,
                                   .n_classes = 5,
                                   .model = "mlp:129,64",
                                   .activation = "tanh",
                                   .loss = "softmax"};
    accel_problem p;
    assert_int_equal(setenv("DROVE_OPENCL_GEMM", "clblast", 1), 0);
    drove_device *device = accel_open_device("opencl", "0");
    if (device == NULL) skip();
    accel_setup(&p, &how, device, sizes[DROVE_COUNT(sizes) - 1]);
    for (size_t i = 0; i < DROVE_COUNT(sizes); i++) {
        accel_choose(&p, sizes[i], i);
        accel_compare(&p, false);
    }
    accel_teardown(&p);
    drove__device_close(device);
}
