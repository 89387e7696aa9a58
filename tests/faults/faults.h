/* faults/faults.h - what the libraries of calls to devices and MPI take of libdrove_faults.so. */
#ifndef DROVE_TESTS_FAULTS_H
#define DROVE_TESTS_FAULTS_H

#include <stdbool.h>

/* Counts a call of FUNCTION, of GROUP, and says whether it is to fail.  caller: an address of the
 * code that calls it. */
bool drove_fault(const char *group, const char *function, const void *caller);

/* Counts objects of a device that were made, or with -1 released. */
void drove_fault_objects(int n);

#endif
