/* cluster/lifeline.c - see lifeline.h.
 *
 * Memory model: the descriptor on which a signal handler says its byte is one atomic word in the
 * default order, and so is the wish to say it.  The handler writes the wish and then reads the
 * descriptor, the thread writes the descriptor and then reads the wish, so one of them says the
 * end; twice does no harm.  The descriptor is never closed, but shut down: a handler that has read
 * it before must not write to another file that was given the number since.  All else is the
 * thread's, handed over by creating and joining it.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "cluster/lifeline.h"

#include <stddef.h>

#ifndef __linux__

void drove__lifeline_create(drove_lifeline **out, drove_lifeline_card *mine)
{
    *out = NULL;
    *mine = (drove_lifeline_card){0};
}
void drove__lifeline_begin(drove_lifeline *l, const drove_lifeline_card *next,
                           void (*ended)(void *context), void *context)
{
    (void)l, (void)next, (void)ended, (void)context;
}
void drove__lifeline_say_end(void)
{
}
void drove__lifeline_destroy(drove_lifeline *l)
{
    (void)l;
}

#else

#include "base/clock.h"
#include "base/mem.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

/* To connect to an address; for the answer of one that may be busy; for a caller's number. */
enum { CONNECT_MS = 1000, ANSWER_MS = 10000, CALLER_MS = 1000 };

typedef enum way { CONNECTS, ASKS, WATCHES } way;

struct drove_lifeline {
    int wake; /* eventfd: the thread is to end */
    int listener;
    int caller; /* has not said its number yet */
    int next;   /* to the watched process */
    way way;    /* of next */
    uint64_t caller_until_ns, next_until_ns;
    unsigned n_tried; /* of its addresses */
    uint64_t token;
    drove_lifeline_card of_next;
    void (*ended)(void *context);
    void *context;
    pthread_t thread;
    bool has_thread;
};

static _Atomic int guest = -1; /* who watches this process */
static atomic_bool ends;       /* it has to be told that this process ends in order */

void drove__lifeline_say_end(void)
{
    const int before = errno;
    atomic_store(&ends, true);
    const int fd = atomic_load(&guest);
    if (fd >= 0) (void)!send(fd, "\0", 2, MSG_NOSIGNAL | MSG_DONTWAIT); /* the first: an answer */
    errno = before;
}

static void close_fd(int *fd)
{
    if (*fd >= 0) close(*fd);
    *fd = -1;
}

/* ---- who watches this process ---- */

static void accept_caller(drove_lifeline *l)
{
    close_fd(&l->caller);
    l->caller = accept4(l->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    l->caller_until_ns = drove__now_ns() + CALLER_MS * 1000000ull;
}

/* A caller with the right number becomes the guest, and is answered.  It is the guest before: from
 * then on an end is said with an answer, and a guest that has one has heard the end too. */
static void hear_caller(drove_lifeline *l)
{
    uint64_t token = 0;
    if (recv(l->caller, &token, sizeof token, 0) != (ssize_t)sizeof token || token != l->token) {
        close_fd(&l->caller);
        return;
    }
    atomic_store(&guest, l->caller);
    if (atomic_load(&ends)) drove__lifeline_say_end(); /* nobody was there to hear it */
    else (void)!send(l->caller, "", 1, MSG_NOSIGNAL);
    l->caller = -1;
    close_fd(&l->listener);
}

/* ---- whom it watches ---- */

static void try_next_address(drove_lifeline *l)
{
    const struct sockaddr_in to = {.sin_family = AF_INET,
                                   .sin_port = (in_port_t)l->of_next.port,
                                   .sin_addr.s_addr = l->of_next.address[l->n_tried++]};
    l->next = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (l->next < 0) return;
    l->way = CONNECTS;
    l->next_until_ns = drove__now_ns() + CONNECT_MS * 1000000ull;
    if (connect(l->next, (const struct sockaddr *)&to, sizeof to) != 0 && errno != EINPROGRESS)
        close_fd(&l->next);
}

/* next can be written: the connection is there, or has failed. */
static void ask(drove_lifeline *l)
{
    int error = 0;
    socklen_t size = sizeof error;
    const uint64_t token = l->of_next.token;
    l->way = ASKS;
    l->next_until_ns = drove__now_ns() + ANSWER_MS * 1000000ull;
    if (getsockopt(l->next, SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0 ||
        send(l->next, &token, sizeof token, MSG_NOSIGNAL) != (ssize_t)sizeof token)
        close_fd(&l->next);
}

/* Something came from next, or its end.  The first byte is the answer: another machine may have the
 * same address.  The second says that it leaves. */
static void hear_next(drove_lifeline *l)
{
    uint8_t word;
    const ssize_t n = recv(l->next, &word, 1, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return;
    if (n == 1 && l->way == ASKS) {
        l->way = WATCHES;
        return;
    }
    close_fd(&l->next);
    if (l->way != WATCHES) return;
    l->n_tried = DROVE_LIFELINE_ADDRESSES;
    if (n == 0) l->ended(l->context);
}

/* ---- the thread ---- */

static bool has_address(const drove_lifeline *l)
{
    return l->n_tried < DROVE_LIFELINE_ADDRESSES && l->of_next.address[l->n_tried] != 0;
}

/* Milliseconds until the next time that is over; -1: none. */
static int patience(const drove_lifeline *l)
{
    uint64_t until = UINT64_MAX, now = drove__now_ns();
    if (l->caller >= 0) until = l->caller_until_ns;
    if (l->next >= 0 && l->way != WATCHES && l->next_until_ns < until) until = l->next_until_ns;
    if (until == UINT64_MAX) return -1;
    return until > now ? (int)((until - now) / 1000000u) + 1 : 0;
}

static void *run_lifeline(void *argument)
{
    drove_lifeline *l = argument;
    for (;;) {
        while (l->next < 0 && has_address(l)) try_next_address(l);
        const short events = l->next >= 0 && l->way == CONNECTS ? POLLOUT : POLLIN;
        struct pollfd all[] = {{.fd = l->wake, .events = POLLIN},
                               {.fd = l->listener, .events = POLLIN},
                               {.fd = l->caller, .events = POLLIN},
                               {.fd = l->next, .events = events}};
        const int n = poll(all, DROVE_COUNT(all), patience(l));
        if (n < 0 && errno != EINTR) return NULL;
        if (n < 0) continue;
        if (all[0].revents != 0) return NULL;
        if (all[2].revents != 0) hear_caller(l);
        else if (l->caller >= 0 && drove__now_ns() >= l->caller_until_ns) close_fd(&l->caller);
        if (all[1].revents != 0 && l->listener >= 0) accept_caller(l);
        if (all[3].revents != 0 && events == POLLOUT) ask(l);
        else if (all[3].revents != 0) hear_next(l);
        else if (l->next >= 0 && l->way != WATCHES && drove__now_ns() >= l->next_until_ns)
            close_fd(&l->next);
    }
}

/* ---- beginning and end ---- */

static void find_addresses(uint32_t address[DROVE_LIFELINE_ADDRESSES])
{
    struct ifaddrs *all = NULL;
    unsigned n = 0;
    if (getifaddrs(&all) != 0) return;
    for (const struct ifaddrs *i = all; i != NULL && n < DROVE_LIFELINE_ADDRESSES;
         i = i->ifa_next) {
        struct sockaddr_in at;
        if (i->ifa_addr == NULL || i->ifa_addr->sa_family != AF_INET) continue;
        memcpy(&at, i->ifa_addr, sizeof at);
        if ((i->ifa_flags & IFF_UP) == 0 || ntohl(at.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET)
            continue;
        address[n++] = at.sin_addr.s_addr;
    }
    freeifaddrs(all);
}

static bool listen_anywhere(drove_lifeline *l, drove_lifeline_card *card)
{
    struct sockaddr_in any = {.sin_family = AF_INET};
    socklen_t size = sizeof any;
    l->wake = eventfd(0, EFD_CLOEXEC);
    l->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (l->wake < 0 || l->listener < 0 ||
        bind(l->listener, (const struct sockaddr *)&any, sizeof any) != 0 ||
        listen(l->listener, 8) != 0 ||
        getsockname(l->listener, (struct sockaddr *)&any, &size) != 0 ||
        getrandom(&l->token, sizeof l->token, 0) != (ssize_t)sizeof l->token)
        return false;
    card->token = l->token;
    card->port = any.sin_port;
    find_addresses(card->address);
    return true;
}

void drove__lifeline_create(drove_lifeline **out, drove_lifeline_card *mine)
{
    *out = NULL;
    *mine = (drove_lifeline_card){0};
    drove_lifeline *l = drove__alloc(1, sizeof *l);
    if (l == NULL) return;
    atomic_store(&ends, false); /* a job before has left */
    l->wake = l->listener = l->caller = l->next = -1;
    if (listen_anywhere(l, mine)) {
        *out = l;
        return;
    }
    *mine = (drove_lifeline_card){0};
    drove__lifeline_destroy(l);
}

void drove__lifeline_begin(drove_lifeline *l, const drove_lifeline_card *next,
                           void (*ended)(void *context), void *context)
{
    sigset_t all, before;
    if (l == NULL) return;
    l->of_next = *next;
    l->ended = ended;
    l->context = context;
    sigfillset(&all); /* signals go to the program's threads */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    l->has_thread = pthread_create(&l->thread, NULL, run_lifeline, l) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void drove__lifeline_destroy(drove_lifeline *l)
{
    const uint64_t one = 1;
    if (l == NULL) return;
    if (l->has_thread && write(l->wake, &one, sizeof one) == (ssize_t)sizeof one)
        pthread_join(l->thread, NULL);
    drove__lifeline_say_end();
    const int fd = atomic_exchange(&guest, -1);
    if (fd >= 0) shutdown(fd, SHUT_RDWR); /* not closed: see above */
    close_fd(&l->listener);
    close_fd(&l->caller);
    close_fd(&l->next);
    close_fd(&l->wake);
    drove__free(l);
}

#endif
