/* tests/spin/leashed.pml - the protocol of src/sync/leashed.c, for the model checker spin.
 *
 * Each worker takes STEPS steps (the first worker FIRST, if given): it protects the latest vector,
 * reads it, gives it back, then publishes with at most TP + 1 attempts (TP 255: no bound).  A
 * vector is one number, the count of updates it holds; reading and writing it take several steps,
 * so that any overlap is seen.  `latest` and a slot's word are single 64-bit words in the program:
 * here each is a few variables that are only touched together, in one atomic step.  Which free
 * slot is claimed is left open, except with SCAN.  With IN_PLACE the worker claims its slot while
 * it still has its view, computes its gradient there, and after a failed first attempt keeps the
 * step in that slot and claims another.
 *
 * Checked in every interleaving:
 *   - nobody reads a slot while it is written, and what is read stays until the protection ends
 *   - what is read is exactly what the tag says
 *   - a slot never has two owners, nor one while it is current or protected
 *   - no update is lost: the last vector counts the successful publications
 *   - whenever a worker looks for a slot at least two are free: 3 WORKERS + 1 are enough
 *   - at the end the current slot alone is in use, and nobody reads
 *   - "live": no execution goes on for ever without a publication or a drop.  No fairness is
 *     assumed, so this includes workers that are never scheduled again: lock-freedom
 *
 * The lines below are the configurations that check.sh runs: `pass` and `live` must hold; `fail`
 * (an assertion) and `stuck` (no progress) must be found broken, which shows that the model would
 * see the mistake:
 *   NO_VALIDATION   readers do not look at `latest` again after counting themselves in
 *   EARLY_RELEASE   the writer gives up its protection before it copies, as printed in the thesis
 *   NO_CURRENT      a current slot is not kept in use, so that it can be claimed
 *   NO_TAG          validation and compare-and-swap compare the slot alone
 *   SMALL_POOL      one slot per worker, and one
 *
 * check: pass -DWORKERS=2 -DSTEPS=3 -DTP=0
 * check: pass -DWORKERS=2 -DSTEPS=3 -DTP=1
 * check: pass -DWORKERS=2 -DSTEPS=3 -DTP=255
 * check: pass -DWORKERS=3 -DSTEPS=1 -DFIRST=2 -DTP=0
 * check: pass -DWORKERS=3 -DSTEPS=1 -DFIRST=3 -DTP=255
 * check: pass -DWORKERS=2 -DSTEPS=2 -DTP=1 -DIN_PLACE
 * check: pass -DWORKERS=2 -DSTEPS=2 -DFIRST=3 -DTP=255 -DIN_PLACE
 * check: pass -DWORKERS=3 -DSTEPS=1 -DTP=255 -DIN_PLACE
 * check: live -DWORKERS=2 -DSTEPS=2 -DTP=255 -DSCAN
 * check: live -DWORKERS=2 -DSTEPS=2 -DTP=255 -DSCAN -DIN_PLACE
 * check: live -DWORKERS=2 -DSTEPS=2 -DTP=1 -DSCAN
 * check: live -DWORKERS=3 -DSTEPS=1 -DTP=255 -DSCAN
 * check: fail -DWORKERS=2 -DSTEPS=3 -DTP=255 -DNO_VALIDATION
 * check: fail -DWORKERS=2 -DSTEPS=3 -DTP=255 -DEARLY_RELEASE
 * check: fail -DWORKERS=2 -DSTEPS=3 -DTP=255 -DNO_CURRENT
 * check: fail -DWORKERS=2 -DSTEPS=3 -DTP=255 -DNO_TAG
 * check: fail -DWORKERS=2 -DSTEPS=3 -DTP=255 -DSMALL_POOL
 * check: stuck -DWORKERS=2 -DSTEPS=2 -DTP=255 -DSMALL_POOL -DSCAN
 */
#ifdef SMALL_POOL
#define SLOTS (WORKERS + 1)
#else
#define SLOTS (3 * WORKERS + 1)
#endif
#ifndef FIRST
#define FIRST STEPS
#endif
#define NONE    255
#define GARBAGE 200
#define FREE(i) (!in_use[i] && readers[i] == 0)
/* Of the slots never used so far, which differ in nothing but their number, only the first. */
#define NEW(i)    (FREE(i) && content[i] == 0)
#define CHOICE(i) (FREE(i) && (content[i] != 0 || i == 1 || !NEW(i - 1)))

byte latest_slot, latest_tag; /* one word */
bit in_use[SLOTS];            /* one word with ... */
byte readers[SLOTS];          /* ... the number of readers */
byte content[SLOTS];          /* updates in the vector */
bit writing[SLOTS];           /* for the assertions, as what follows */
bit owned[SLOTS];             /* between claim and publication or drop */
byte n_published, n_done;

#ifdef NO_TAG
#define SAME(slot_a, tag_a, slot_b, tag_b) (slot_a == slot_b)
#else
#define SAME(slot_a, tag_a, slot_b, tag_b) (slot_a == slot_b && tag_a == tag_b)
#endif

/* The current slot, protected, and its tag. */
inline protect(slot, tag)
{
    d_step { slot = latest_slot; tag = latest_tag }
    do
    :: true ->
        readers[slot]++;
#ifdef NO_VALIDATION
        break
#else
        d_step { now_slot = latest_slot; now_tag = latest_tag }
        if
        :: atomic { SAME(now_slot, now_tag, slot, tag) -> now_slot = 0; now_tag = 0 }
            break
        :: else ->
            readers[slot]--;
            d_step { slot = now_slot; tag = now_tag; now_slot = 0; now_tag = 0 }
        fi
#endif
    od
}

/* seen = the vector in slot, read over some time. */
inline read(slot, tag)
{
    atomic { assert(!writing[slot]); seen = content[slot]; assert(seen == tag) }
    atomic { assert(!writing[slot]); assert(content[slot] == seen) }
}

inline take(slot)
{
    assert(!owned[slot] && slot != latest_slot);
    in_use[slot] = 1;
    owned[slot] = 1
}

/* SCAN: walks round from the worker's own slots, as the program does; else any free slot. */
inline claim(slot)
{
#ifdef SCAN
    slot = 1 + (3 * (_pid - 1)) % (SLOTS - 1);
    do
    :: atomic { FREE(slot) -> take(slot) }
        break
    :: atomic { !FREE(slot) -> slot = (slot + 1) % SLOTS }
    od
#else
    d_step {
        seen = 0;
        slot = 0;
        do
        :: slot < SLOTS -> seen = seen + (FREE(slot) -> 1 : 0); slot++
        :: else -> break
        od;
        assert(seen >= 2);
        seen = 0;
        slot = 0
    }
    atomic {
        if
        :: FREE(0) -> slot = 0
        :: CHOICE(1) -> slot = 1
        :: CHOICE(2) -> slot = 2
#if SLOTS > 3
        :: CHOICE(3) -> slot = 3
        :: CHOICE(4) -> slot = 4
        :: CHOICE(5) -> slot = 5
        :: CHOICE(6) -> slot = 6
#endif
#if SLOTS > 7
        :: CHOICE(7) -> slot = 7
        :: CHOICE(8) -> slot = 8
        :: CHOICE(9) -> slot = 9
#endif
        fi;
        take(slot)
    }
#endif
}

inline check_the_end()
{
    assert(latest_tag == n_published && content[latest_slot] == n_published);
    assert(TP < 255 || n_published == (WORKERS - 1) * STEPS + FIRST);
    slot = 0;
    do
    :: slot < SLOTS ->
        assert(readers[slot] == 0 && !owned[slot]);
        assert(in_use[slot] == (slot == latest_slot));
        slot++
    :: else -> break
    od
}

proctype worker()
{
    byte slot, tag, now_slot, now_tag, own, kept, seen, tries, steps;
    bool swapped;

    do
    :: steps < (_pid == 1 -> FIRST : STEPS) ->
        steps++;
        kept = NONE;
        protect(slot, tag);
#ifdef IN_PLACE
        claim(own);
        atomic { assert(!writing[own]); writing[own] = 1 } /* the gradient */
#endif
        read(slot, tag);
        atomic { readers[slot]--; slot = 0; tag = 0; seen = 0 }
#ifndef IN_PLACE
        claim(own);
#endif
        do
        :: true ->
            protect(slot, tag);
#ifdef EARLY_RELEASE
            readers[slot]--;
#endif
            atomic { assert(owned[own]); writing[own] = 1 }
            read(slot, tag);
            d_step { content[own] = seen + 1; writing[own] = 0; seen = 0 }
            d_step { /* the compare-and-swap */
                swapped = SAME(latest_slot, latest_tag, slot, tag);
                if
                :: swapped ->
                    latest_slot = own;
                    latest_tag = tag + 1;
                    n_published++;
                    owned[own] = 0;
#ifdef NO_CURRENT
                    in_use[own] = 0
#endif
                :: else
                fi
            }
            if
            :: swapped ->
progress_published:
                in_use[slot] = 0 /* retire the old slot */
            :: else
            fi;
#ifdef IN_PLACE
            if
            :: !swapped && kept == NONE && (TP == 255 || tries < TP) ->
                read(slot, tag); /* the step is the sum less what it was added to */
                atomic { kept = own; content[kept] = GARBAGE; seen = 0 }
                readers[slot]--;
                claim(own)
            :: else -> readers[slot]--
            fi;
#else
#ifndef EARLY_RELEASE
            readers[slot]--;
#endif
#endif
            if
            :: swapped -> break
            :: !swapped && TP == 255
            :: !swapped && TP < 255 && tries < TP -> tries++
            :: !swapped && TP < 255 && tries >= TP ->
progress_dropped:
                d_step { in_use[own] = 0; owned[own] = 0 }
                break
            fi
        od;
        atomic {
            if
            :: kept != NONE -> in_use[kept] = 0; owned[kept] = 0
            :: else
            fi;
            kept = 0;
            slot = 0; tag = 0; now_slot = 0; now_tag = 0; own = 0; seen = 0; tries = 0;
            swapped = 0
        }
    :: else -> break
    od;
    atomic {
        n_done++;
        if
        :: n_done == WORKERS -> check_the_end()
        :: else
        fi
    }
}

init
{
    atomic {
        in_use[0] = 1; /* the first vector is current */
        run worker();
        run worker();
#if WORKERS > 2
        run worker();
#endif
    }
}
