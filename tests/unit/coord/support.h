/* A coordinator that is driven by hand, message by message, and checks what it says on the way. */
#ifndef DROVE_TESTS_COORD_SUPPORT_H
#define DROVE_TESTS_COORD_SUPPORT_H

#include "coord/coord.h"
#include "support/test.h"

#include <string.h>

enum { HAND_MOST_WORKERS = 8, HAND_MOST_ROWS = 1 << 16 };

typedef struct hand {
    drove_coord        *c;
    drove_coord_options opt;
    uint64_t            now_ns;
    /* What each worker has been given and has not reported yet, oldest first. */
    drove_coord_action  given[HAND_MOST_WORKERS][DROVE_COORD_DEPTH];
    unsigned            n_given[HAND_MOST_WORKERS];
    drove_coord_action *last; /* [most_actions] actions of the last message */
    size_t              n_last;
    unsigned            n_parked, n_deserted, n_retired;
    unsigned char       n_done[HAND_MOST_ROWS]; /* times each position was done */
} hand;

/* A worker with these sizes; depth 1, survival 1, no timeout. */
drove_coord_worker a_worker(const char *name, uint64_t least, uint64_t batch, uint64_t most);

hand *hand_create(const drove_coord_options *opt);
void  hand_destroy(hand *h);

void hand_send(hand *h, const drove_coord_message *message);
void hand_open(hand *h, uint64_t limit);
/* The worker's oldest assignment is done and brought so many updates; took_ns of time pass. */
void hand_done(hand *h, unsigned worker, uint64_t n_updates, uint64_t took_ns);
void hand_fail(hand *h, unsigned worker);
/* Whether each position of [0, limit) was done exactly once, and none beyond. */
void hand_check_all_done(const hand *h, uint64_t limit);

drove_coord_facts hand_facts(const hand *h, unsigned worker);

#endif
