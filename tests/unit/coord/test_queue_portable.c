/* The cases of test_queue.c with the condition variable in the place of the futex: this program has
 * its own copy of the queue.
 *
 * ctest: apart: its own copy of the queue */
#define DROVE_WAIT_PORTABLE 1
#include "../../../src/coord/queue.c"

#include "test_queue.c"
