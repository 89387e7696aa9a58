/* Processes that watch each other, some of which are killed, leave, or were told to end: of each
 * death one process tells, once, and of nothing else.
 *
 * The processes are children of this one; what they see they count in memory that all share. */
#define _GNU_SOURCE
#include "cluster/witness.h"
#include "support/test.h"

#include "base/clock.h"
#include "base/racy.h"
#include "base/rng.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 6, ROUNDS = DROVE_TSAN ? 60 : 300, NOBODY = 99 };

typedef enum act { STAYS, LEAVES, IS_WISHED, FAILS } act;

typedef struct scene { /* shared by all */
    drove_witness_card card[MOST];
    _Atomic unsigned n_ready, n_watching, n_watched; /* the last: of each added up */
    _Atomic unsigned n_told, teller, dead;
    _Atomic unsigned waits; /* the rank that, as teller, never returns; NOBODY: none */
    _Atomic int ends;       /* an error that others tell */
    _Atomic unsigned acts[MOST], has_acted[MOST];
} scene;

static scene *s;
static pid_t child[MOST];
static unsigned n;

static void rest_us(unsigned us)
{
    nanosleep(&(struct timespec){.tv_nsec = 1000L * (long)us}, NULL);
}

static void died(void *context, unsigned rank, int process)
{
    const unsigned self = *(unsigned *)context;
    if (process != s->card[rank].process) _exit(3);
    atomic_store(&s->teller, self);
    while (atomic_load(&s->waits) == self || atomic_load(&s->waits) == MOST) rest_us(1000);
    atomic_store(&s->dead, rank);
    atomic_fetch_add(&s->n_told, 1);
}

static bool is_ending(void *context)
{
    (void)context;
    return atomic_load(&s->ends) != 0;
}

/* A rank.  It does what it is told, and goes on until it is killed. */
static void be(unsigned rank)
{
    drove_witness *w;
    drove_witness_listener l = {.context = &rank, .is_ending = is_ending, .died = died};
    drove__witness_create(&w, &s->card[rank]);
    atomic_fetch_add(&s->n_ready, 1);
    while (atomic_load(&s->n_ready) < n) rest_us(100);
    atomic_fetch_add(&s->n_watched, drove__witness_begin(w, s->card, n, rank, &l));
    atomic_fetch_add(&s->n_watching, 1);
    for (;;) {
        const unsigned what = atomic_exchange(&s->acts[rank], STAYS);
        if (what == LEAVES) {
            drove__witness_destroy(w);
            w = NULL;
        }
        if (what == IS_WISHED) drove__witness_end_is_wished();
        if (what == FAILS) drove__witness_fail(w);
        if (what != STAYS) atomic_store(&s->has_acted[rank], 1);
        rest_us(200);
    }
}

static void start(unsigned n_ranks)
{
    memset(s, 0, sizeof *s);
    atomic_store(&s->waits, NOBODY);
    n = n_ranks;
    for (unsigned i = 0; i < n; i++) {
        child[i] = fork();
        assert_true(child[i] >= 0);
        if (child[i] == 0) be(i);
    }
    while (atomic_load(&s->n_watching) < n) rest_us(100);
    if (s->card[0].token == 0) {
        print_message("skip: no memory that processes share by number here\n");
        skip();
    }
    assert_int_equal(atomic_load(&s->n_watched), n * (n - 1));
}

static void end(unsigned rank)
{
    if (child[rank] == 0) return;
    kill(child[rank], SIGKILL);
    assert_int_equal(waitpid(child[rank], NULL, 0), child[rank]);
    child[rank] = 0;
}

static void end_all(void)
{
    for (unsigned i = 0; i < n; i++) end(i);
}

static void tell_to(unsigned rank, act what)
{
    atomic_store(&s->acts[rank], what);
    while (!atomic_load(&s->has_acted[rank])) rest_us(100);
}

/* Until a word has this value, for at most ten seconds. */
static void await(_Atomic unsigned *word, unsigned value)
{
    const uint64_t until = drove__now_ns() + 10000000000u;
    while (atomic_load(word) != value && drove__now_ns() < until) rest_us(100);
    assert_int_equal(atomic_load(word), value);
}

FIXTURE(share_scene)
{
    s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return s == MAP_FAILED;
}

FIXTURE(forget_scene)
{
    return munmap(s, sizeof *s);
}

GROUP(share_scene, forget_scene);

TEST(a_death_is_told_once)
{
    for (unsigned i = 0; i < MOST; i++) {
        start(MOST);
        end(i);
        await(&s->n_told, 1);
        rest_us(5000);
        assert_int_equal(atomic_load(&s->n_told), 1);
        assert_int_equal(atomic_load(&s->dead), i);
        assert_int_not_equal(atomic_load(&s->teller), i);
        end_all();
    }
}

TEST(what_ends_as_it_should_is_not_told)
{
    start(MOST);
    tell_to(1, LEAVES);
    tell_to(2, LEAVES);
    end(1);
    tell_to(4, IS_WISHED);
    end(4);
    end(2);
    rest_us(20000);
    assert_int_equal(atomic_load(&s->n_told), 0);
    end(3); /* between one that has left and one that was told to end */
    await(&s->n_told, 1);
    assert_int_equal(atomic_load(&s->dead), 3);
    end_all();
}

TEST(nothing_is_told_beside_an_error)
{
    start(4);
    tell_to(3, FAILS);
    end(1);
    end(3);
    end(2);
    rest_us(20000);
    assert_int_equal(atomic_load(&s->n_told), 0);
    end_all();
    start(3);
    atomic_store(&s->ends, 1);
    end(1);
    end(2);
    rest_us(20000);
    assert_int_equal(atomic_load(&s->n_told), 0);
    end_all();
}

/* Also where it was told to end meanwhile, as launchers tell the others before they kill them. */
TEST(another_tells_for_a_teller_that_is_killed)
{
    for (unsigned i = 0; i < 4; i++) {
        start(4);
        atomic_store(&s->waits, MOST); /* whoever it is */
        atomic_store(&s->teller, NOBODY);
        end(i);
        while (atomic_load(&s->teller) == NOBODY) rest_us(100);
        const unsigned first = atomic_load(&s->teller);
        atomic_store(&s->waits, first);
        tell_to(first, IS_WISHED);
        end(first);
        await(&s->n_told, 1);
        assert_int_equal(atomic_load(&s->dead), i);
        assert_int_not_equal(atomic_load(&s->teller), first);
        end_all();
    }
}

/* Ranks leave while others are killed; one of those that stay tells, once, of one that was killed,
 * where one was killed that had not left. */
TEST(deaths_and_leaving_at_the_same_time)
{
    drove_rng rng;
    drove__rng_seed(&rng, 7, DROVE_RNG_TEST, 0);
    for (unsigned round = 0; round < ROUNDS; round++) {
        bool is_killed[MOST] = {false}, may_be_told[MOST] = {false};
        unsigned n_kills = 0;
        start(2 + (unsigned)(drove__rng_uniform(&rng) * (MOST - 1)));
        const unsigned stays = (unsigned)(drove__rng_uniform(&rng) * n);
        for (unsigned i = 0; i < n; i++) {
            const double which = drove__rng_uniform(&rng);
            if (i == stays) continue;
            if (which < 0.4) atomic_store(&s->acts[i], LEAVES);
            is_killed[i] = which > 0.3;
            may_be_told[i] = which > 0.3;
            n_kills += which >= 0.4; /* for certain */
        }
        for (unsigned i = 0; i < n; i++)
            if (is_killed[i]) end(i);
        if (n_kills > 0) await(&s->n_told, 1);
        rest_us(2000);
        const unsigned n_told = atomic_load(&s->n_told);
        if (n_told > 1 || (n_told == 1 && !may_be_told[atomic_load(&s->dead)]))
            fail_msg("round %u: told %u times, last of rank %u", round, n_told,
                     atomic_load(&s->dead));
        end_all();
    }
}

/* A process that begins and ends again leaves nothing behind that the next could take for a death.
 */
TEST(alone_there_is_nobody_to_watch)
{
    drove_witness_card card;
    const drove_witness_listener l = {.died = died};
    for (unsigned i = 0; i < 20; i++) {
        drove_witness *w;
        drove__witness_create(&w, &card);
        assert_int_equal(drove__witness_begin(w, &card, 1, 0, &l), 0);
        assert_false(drove__witness_is_told(w));
        drove__witness_destroy(w);
    }
    drove__witness_destroy(NULL);
    assert_int_equal(drove__witness_begin(NULL, &card, 1, 0, &l), 0);
}
