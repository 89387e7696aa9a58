/* Two processes that watch each other over the loopback: who is killed is noticed, who leaves or
 * was told to end is not; callers that are none of the job do no harm. */
#define _GNU_SOURCE
#include "cluster/lifeline.h"
#include "support/test.h"

#include "base/clock.h"
#include "base/racy.h"

#include <netinet/in.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = DROVE_TSAN ? 10 : 50 };
typedef enum act { STAYS, LEAVES, IS_WISHED } act;

typedef struct scene { /* shared by both */
    drove_lifeline_card card[2];
    _Atomic unsigned n_ready, n_begun, n_ended[2];
    _Atomic unsigned acts[2], has_acted[2];
} scene;

static scene *s;
static pid_t child[2];

static void rest_us(unsigned us)
{
    nanosleep(&(struct timespec){.tv_nsec = 1000L * (long)us}, NULL);
}

static void ended(void *context)
{
    atomic_fetch_add(&s->n_ended[*(unsigned *)context], 1);
}

/* first: an address that the other card has before its own; 0: none. */
static void be(unsigned self, uint32_t first)
{
    drove_lifeline *l;
    drove__lifeline_create(&l, &s->card[self]);
    drove__lifeline_destroy(l); /* a job before: its end is not that of the next one */
    drove__lifeline_create(&l, &s->card[self]);
    memset(s->card[self].address, 0, sizeof s->card[self].address);
    s->card[self].address[0] = first != 0 ? first : htonl(INADDR_LOOPBACK);
    s->card[self].address[1] = htonl(INADDR_LOOPBACK);
    atomic_fetch_add(&s->n_ready, 1);
    while (atomic_load(&s->n_ready) < 2) rest_us(50);
    drove__lifeline_begin(l, &s->card[1 - self], ended, &self);
    atomic_fetch_add(&s->n_begun, 1);
    for (;;) {
        const unsigned what = atomic_exchange(&s->acts[self], STAYS);
        if (what == LEAVES) drove__lifeline_destroy(l);
        if (what == IS_WISHED) drove__lifeline_say_end();
        if (what != STAYS) atomic_store(&s->has_acted[self], 1);
        rest_us(100);
    }
}

static void start(uint32_t first)
{
    memset(s, 0, sizeof *s);
    for (unsigned i = 0; i < 2; i++) {
        child[i] = fork();
        assert_true(child[i] >= 0);
        if (child[i] == 0) be(i, first);
    }
    while (atomic_load(&s->n_begun) < 2) rest_us(50);
    assert_int_not_equal(s->card[0].port, 0);
}

static void end(unsigned which)
{
    kill(child[which], SIGKILL);
    assert_int_equal(waitpid(child[which], NULL, 0), child[which]);
}

static void tell_to(unsigned which, act what)
{
    atomic_store(&s->acts[which], what);
    while (!atomic_load(&s->has_acted[which])) rest_us(50);
}

static bool is_noticed(unsigned by, unsigned within_ms)
{
    const uint64_t until = drove__now_ns() + within_ms * 1000000ull;
    while (atomic_load(&s->n_ended[by]) == 0 && drove__now_ns() < until) rest_us(100);
    return atomic_load(&s->n_ended[by]) == 1;
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

TEST(who_is_killed_is_noticed_and_who_leaves_is_not)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        const unsigned victim = i % 2;
        start(0);
        rest_us(20000); /* both connections are there */
        if (i % 5 == 1) tell_to(victim, LEAVES);
        if (i % 5 == 2) tell_to(victim, IS_WISHED);
        const bool is_silent = i % 5 == 1 || i % 5 == 2;
        end(victim);
        if (is_noticed(1 - victim, is_silent ? 20 : 10000) == is_silent)
            fail_msg("round %u: %s", i, is_silent ? "noticed" : "not noticed");
        end(1 - victim);
        assert_int_equal(atomic_load(&s->n_ended[victim]), 0);
    }
}

/* Also before the connections are there. */
TEST(ends_while_it_begins)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        start(0);
        rest_us(20 * i);
        tell_to(i % 2, i % 4 < 2 ? LEAVES : IS_WISHED);
        end(i % 2);
        rest_us(2000);
        assert_int_equal(atomic_load(&s->n_ended[1 - i % 2]), 0);
        end(1 - i % 2);
    }
}

/* Another machine may have an address too, or nobody. */
TEST(other_addresses_are_passed_over)
{
    start(htonl(0xcb007101u)); /* 203.0.113.1, which nobody has */

    for (unsigned i = 0; i < 30; i++) rest_us(100000);
    end(0);
    assert_true(is_noticed(1, 10000));
    end(1);
}

TEST(callers_of_no_job_do_no_harm)
{
    drove_lifeline *l;
    drove_lifeline_card card;
    uint8_t byte;
    drove__lifeline_create(&l, &card);
    assert_non_null(l);
    unsigned self = 0;
    const drove_lifeline_card nobody = {0};
    drove__lifeline_begin(l, &nobody, ended, &self);
    const struct sockaddr_in to = {.sin_family = AF_INET,
                                   .sin_port = (in_port_t)card.port,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const uint64_t wrong = card.token + 1;
    for (unsigned i = 0; i < 20; i++) {
        const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof to), 0);
        if (i % 3 == 0)
            assert_int_equal(send(fd, &wrong, i % 2 ? 3 : 8, MSG_NOSIGNAL), i % 2 ? 3 : 8);
        if (i == 0) assert_true(recv(fd, &byte, 1, 0) <= 0); /* no answer: closed */
        close(fd);
    }
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof to), 0);
    assert_int_equal(send(fd, &card.token, 8, MSG_NOSIGNAL), 8);
    assert_int_equal(recv(fd, &byte, 1, 0), 1);
    drove__lifeline_destroy(l);
    for (unsigned i = 0; i < 2; i++) /* it leaves, with an answer for who has none yet */
        assert_int_equal(recv(fd, &byte, 1, 0), 1);
    assert_int_equal(recv(fd, &byte, 1, 0), 0);
    close(fd);
    drove__lifeline_destroy(NULL);
    drove__lifeline_begin(NULL, &nobody, ended, &self);
}
