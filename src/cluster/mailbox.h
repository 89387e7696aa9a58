/* cluster/mailbox.h - a wire between threads of one process, for tests: each thread is a rank.
 *
 * Messages take a random time, longer for longer ones, but those of one sender to one receiver stay
 * in order.  Short ones are copied when they are sent; long ones when they are received, as MPI
 * libraries do.
 */
#ifndef DROVE_CLUSTER_MAILBOX_H
#define DROVE_CLUSTER_MAILBOX_H

#include "base/status.h"
#include "cluster/wire.h"

typedef struct drove_mailbox_options {
    unsigned n_ranks;
    uint64_t seed;
    double   most_delay_us; /* of a message, uniform from 0 */
    double   ns_per_byte;
    size_t   n_eager; /* bytes of a message that is copied when it is sent */
} drove_mailbox_options;

/* wire[n_ranks]; ops->fini of each, in any order, frees all of it with the last.
 * Errors: DROVE_E_NOMEM. */
drove_status drove__mailbox_create(const drove_mailbox_options *opt, drove_wire **wire);

#endif
