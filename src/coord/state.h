/* coord/state.h - what the coordinator knows; for messages.c and assign.c alone. */
#ifndef DROVE_COORD_STATE_H
#define DROVE_COORD_STATE_H

#include "coord/coord.h"
#include "coord/policy.h"
#include "coord/sizes.h"

typedef struct drove_assignment {
    uint64_t    id;
    drove_range range;
    uint64_t    begin_ns; /* when it was given out, or when the one before it was done */
} drove_assignment;

typedef struct drove_coord_member { /* what is known of one worker */
    drove_coord_worker  is;         /* what was told */
    uint64_t            timeout_ns; /* 0: none */
    uint64_t            batch, least;
    drove_assignment    hand[DROVE_COORD_DEPTH]; /* in the order in which they were given out */
    unsigned            n_hand;
    double              u_restored;
    uint64_t            n_updates, n_examples, n_batches, out_ns;
    drove_pace_mean     mean; /* of its assignments, and */
    double              rate; /* ... its examples/s; 0: not known */
    drove_sizes         sizes;
    drove_batch_change *history; /* [DROVE_COORD_HISTORY] */
    size_t              n_history;
} drove_coord_member;

typedef struct drove_returned { /* ranges that came back from lost workers */
    drove_range *range;         /* [room] */
    size_t       n, room;
    uint64_t     n_left; /* examples of all of them */
} drove_returned;

/* Speeds and work in hand of all workers at one moment, so that a share needs no loop. */
typedef struct drove_pace {
    bool   is_known; /* reset by each message */
    double rate;     /* of all */
    double fastest;
    double in_hand; /* examples that those with a known speed have still to do */
} drove_pace;

struct drove_coord {
    drove_coord_options opt; /* without the array */
    drove_coord_member *member;
    double             *u;       /* [n_workers] apart from the rest, as every request reads all */
    bool               *is_lost; /* [n_workers] */
    unsigned            n_alive;
    bool               *is_away; /* [n_workers] withdrawn from this stretch */
    unsigned            n_away;  /* withdrawn, not lost */

    bool           is_open, is_halted;
    uint64_t       next, limit;
    uint64_t       n_updates, most_updates; /* of this stretch */
    drove_returned returned;
    unsigned       n_out; /* assignments in hand of all workers */
    uint64_t       last_id;
    size_t         n_slots; /* sum of all depths */
    size_t         n_slots_alive;
    drove_pace     pace;
};

/* Examples of the open stretch that nobody has in hand, and that may be given out. */
uint64_t drove__coord_left(const drove_coord *c);
/* Gives the worker its next assignment; false: it has enough in hand, or there is none for it. */
bool drove__coord_give(drove_coord *c, unsigned worker, uint64_t now_ns, drove_coord_action *out);
void drove__coord_put_back(drove_coord *c, drove_range range);

#endif
