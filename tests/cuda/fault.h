/* tests/cuda/fault.h - calls of the stand-in that fail, where scripts/faults has preloaded
 * libdrove_faults.so (tests/faults/faults.h): the group "cuda".
 *
 * A call that fails does nothing, but for those that free: what they were given is gone.
 */
#ifndef DROVE_TESTS_CUDA_FAULT_H
#define DROVE_TESTS_CUDA_FAULT_H

#include <stdbool.h>
#include <stddef.h>

extern bool drove_fault(const char *group, const char *function, const void *caller)
    __attribute__((weak));

/* Whether the function in which this stands is to fail. */
#define STAND_IN_FAILS() STAND_IN_FAILS_AS(__func__)
#define STAND_IN_FAILS_AS(name)                                                                    \
    (drove_fault != NULL && drove_fault("cuda", name, __builtin_return_address(0)))

#endif
