/* The progress thread gives up its lock to whoever wants it, also while there is always something
 * more to move; and goes on at once where nobody does.  The wire is the test's own: of every two
 * looks at a message that is sent, the second finds it gone; nothing ever comes.  Then a transport
 * that is idle: its clock, and its wire.
 *
 * ctest: wraps=pthread_condattr_setclock */
#include "base/clock.h"
#include "cluster/messages.h"
#include "cluster/request.h"
#include "crowd.h"
#include "support/test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

enum { N = 1 << 20 }; /* floats, each a message: more than 20 s with a nap after each */
static const uint64_t LONGEST_NS = UINT64_C(20000000000);

/* The progress thread is to hold its lock; holds it; has seen that it is wanted. */
static _Atomic enum { NOTHING, WATCHED, HELD, WANTED } stage;
static _Thread_local bool is_main;
static messages *watched;

static int isend(drove_wire *w, const void *bytes, size_t n_bytes, unsigned to, unsigned tag,
                 drove_wire_request *r)
{
    (void)w, (void)bytes, (void)n_bytes, (void)to, (void)tag;
    *r = (drove_wire_request){.word = 2};
    return 0;
}

static int irecv(drove_wire *w, void *bytes, size_t n_bytes, int from, unsigned tag,
                 drove_wire_request *r)
{
    (void)w, (void)bytes, (void)n_bytes, (void)from, (void)tag;
    *r = (drove_wire_request){0};
    return 0;
}

static void sleep_briefly(void)
{
    nanosleep(&(struct timespec){0, 20000}, NULL);
}

static bool comes_to(int what)
{
    const uint64_t until = drove__now_ns() + LONGEST_NS;
    while ((int)atomic_load(&stage) != what && drove__now_ns() < until) sleep_briefly();
    return (int)atomic_load(&stage) == what;
}

/* Called under the lock. */
static void hold_until_wanted(void)
{
    const uint64_t until = drove__now_ns() + LONGEST_NS;
    atomic_store(&stage, HELD);
    while (atomic_load(&watched->n_wanting) == 0 && drove__now_ns() < until) sleep_briefly();
    if (atomic_load(&watched->n_wanting) == 1) atomic_store(&stage, WANTED);
}

static int test(drove_wire *w, drove_wire_request *r, bool *is_done, unsigned *from,
                size_t *n_bytes)
{
    (void)w, (void)from, (void)n_bytes;
    if (!is_main && atomic_load(&stage) == WATCHED) hold_until_wanted();
    *is_done = r->word == 1;
    if (r->word == 2) r->word = 1;
    return 0;
}

static void drop(drove_wire *w, drove_wire_request *r)
{
    (void)w, (void)r;
}

static const drove_wire_ops ops = {.version = DROVE_WIRE_VERSION,
                                   .name = "endless",
                                   .isend = isend,
                                   .irecv = irecv,
                                   .test = test,
                                   .drop = drop};

TEST(whoever_wants_the_lock_gets_it)
{
    static float value[N];
    static char host[2][DROVE_WIRE_NAME_SIZE] = {"here", "there"};
    static drove_wire wire = {.ops = &ops, .n_ranks = 2, .takes_threads = true, .host = host};
    const drove_messages_options opt = {.timeout_s = 60,
                                        .has_progress_thread = true,
                                        .piece_bytes = sizeof(float)};
    const drove_exchange endless = {.kind = DROVE_SEND, .peer = 1, .in = value, .n = N};
    const drove_exchange brief = {.kind = DROVE_SEND, .channel = 1, .peer = 1};
    drove_transport *t;
    is_main = true;
    assert_int_equal(drove__transport_messages(&wire, crowd_kernels(), &opt, &t), DROVE_OK);
    watched = messages_of(t);
    assert_int_equal(t->ops->start(t, 0, &endless), DROVE_OK);
    atomic_store(&stage, WATCHED);
    assert_true(comes_to(HELD));
    assert_int_equal(t->ops->start(t, 0, &brief), DROVE_OK);
    assert_int_equal(atomic_load(&stage), WANTED);
    assert_false(t->ops->test(t, 0, 0));
    const uint64_t until = drove__now_ns() + LONGEST_NS;
    while (!t->ops->test(t, 0, 0) && drove__now_ns() < until) sleep_briefly();
    assert_true(t->ops->test(t, 0, 0));
    assert_true(t->ops->test(t, 0, 1));
    t->ops->destroy(t);
}

/* ---- a transport that is idle ---- */

static _Atomic int clock_of_wake;

int __real_pthread_condattr_setclock(pthread_condattr_t *attributes, clockid_t clock);
int __wrap_pthread_condattr_setclock(pthread_condattr_t *attributes, clockid_t clock);
int __wrap_pthread_condattr_setclock(pthread_condattr_t *attributes, clockid_t clock)
{
    atomic_store(&clock_of_wake, (int)clock);
    return __real_pthread_condattr_setclock(attributes, clock);
}

/* By drove__now_ns, so on its clock. */
TEST(the_progress_thread_naps_by_the_monotonic_clock)
{
    static char host[1][DROVE_WIRE_NAME_SIZE] = {"here"};
    static drove_wire wire = {.ops = &ops, .n_ranks = 1, .host = host};
    const drove_messages_options opt = {.timeout_s = 60};
    drove_transport *t, *threads;
    atomic_store(&clock_of_wake, -1);
    assert_int_equal(drove__transport_messages(&wire, crowd_kernels(), &opt, &t), DROVE_OK);
    assert_int_equal(atomic_load(&clock_of_wake), CLOCK_MONOTONIC);
    assert_ptr_equal(drove__transport_wire(t), &wire);
    assert_int_equal(drove__transport_shared(1, false, 1, crowd_kernels(), NULL, NULL, &threads),
                     DROVE_OK);
    assert_null(drove__transport_wire(threads));
    threads->ops->destroy(threads);
    t->ops->destroy(t);
}
