/* cluster/mailbox.h - a wire between threads of one process, for tests: each thread is a rank.
 *
 * A message takes a random time that grows with its length.  Messages from one sender to one
 * receiver stay in order.  As in MPI libraries, short ones are copied when sent, long ones when
 * received.
 */
#ifndef DROVE_CLUSTER_MAILBOX_H
#define DROVE_CLUSTER_MAILBOX_H

#include "base/status.h"
#include "cluster/wire.h"

typedef struct drove_mailbox_options {
    unsigned n_ranks;
    uint64_t seed;
    double   most_delay_us; /* uniform from 0 */
    double   ns_per_byte;
    size_t   n_eager; /* longest message that is copied when sent */
} drove_mailbox_options;

/* wire[n_ranks].  ops->fini of each, in any order; the last frees all.
 * Errors: DROVE_E_NOMEM. */
drove_status drove__mailbox_create(const drove_mailbox_options *opt, drove_wire **wire);

#endif
