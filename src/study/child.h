/* study/child.h - a program run as a child process, with its output in files and its time limited.
 *
 * A child is in a process group of its own, so that Ctrl-C reaches the caller alone, and is killed
 * when the caller ends.  One thread at a time for each child.
 */
#ifndef DROVE_STUDY_CHILD_H
#define DROVE_STUDY_CHILD_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct drove_child {
    pid_t    id;
    uint64_t begin_ns, limit_ns; /* limit: 0 = none */
    bool     is_told;            /* to end: by SIGTERM, after which it has some time */
    uint64_t kill_ns;
    /* once it has ended: */
    int      status; /* exit status; 128 + number of the signal that ended it */
    int      signal; /* that ended it; 0: none */
    bool     timed_out;
    double   seconds;
    uint64_t peak_bytes; /* largest resident size */
} drove_child;

/* argv[0]: path of the program; argv ends with NULL.  Standard output and standard error go to new
 * files at these paths, standard input is empty.  limit_s: 0 = none.
 * Errors: DROVE_E_IO, DROVE_E_SYSTEM. */
drove_status drove__child_start(drove_child *c, char *const argv[], const char *out_path,
                                const char *err_path, double limit_s);
/* Whether it has ended; a child past its limit is told to end, and killed when it does not. */
bool drove__child_has_ended(drove_child *c);
/* Tells it to end, as its limit does. */
void drove__child_stop(drove_child *c);

#endif
