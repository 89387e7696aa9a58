/* cluster/witness.c - see witness.h.
 *
 * Memory model.  Pages are shared by processes; all words in them are atomics of 32 bits, in the
 * default order, and what is not atomic (token, list) is written before the card is sent.
 *
 *   held    0, the holder's thread number with FUTEX_WAITERS, LEFT, or FUTEX_OWNER_DIED as the
 *           kernel writes it.  The holder writes it twice, the kernel once, after the holder's last
 *           access, by a compare and exchange that changes only a word with the number of the
 *           thread that ends.  So LEFT stays LEFT, and a word that says OWNER_DIED never changes
 *           again.  FUTEX_WAITERS is always set, so the kernel always wakes.
 *   sleep   the witness sleeps by FUTEX_WAIT on the value that it has seen; the kernel compares and
 *           queues under one lock, which the wake takes too.  A change before the sleep is seen by
 *           the comparison, one after it wakes.  The kernel wakes one sleeper; in the ring there is
 *           one, but for moments, and who wakes and sees a death wakes all others.
 *   ends    only grows.  A process sets it before the act by which it may come to be killed (its
 *           answer to a signal, MPI_Abort); a system call lies between, and the kernel's word
 *           behind it, so who reads OWNER_DIED and then `ends` reads it set.
 *   teller  0, or 1 + the rank that tells, and above it the rank that has died: one compare and
 *           exchange from 0 elects one process.  If the teller dies before it has set is_told, the
 *           witness of that death replaces exactly the value that it has seen, so again one wins,
 *           and tells of the first death.  (A teller that is killed between its line and is_told
 *           makes a second line: rather that than none.)
 *
 * The ring: a witness moves on only to later processes of the ring, past those that have left or
 * died.  If process b dies, the nearest living a before it has passed all between them, as each of
 * these has left or died and a has been woken by that; so a sleeps on b, or will look at it before
 * it sleeps.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "cluster/witness.h"

#ifndef __linux__

#include <stddef.h>

void drove__witness_create(drove_witness **out, drove_witness_card *mine)
{
    *out = NULL;
    *mine = (drove_witness_card){0};
}
unsigned drove__witness_begin(drove_witness *w, const drove_witness_card *all, unsigned n,
                              unsigned rank, const drove_witness_listener *listener)
{
    (void)w, (void)all, (void)n, (void)rank, (void)listener;
    return 0;
}
void drove__witness_fail(drove_witness *w)
{
    (void)w;
}
void drove__witness_end_is_wished(void)
{
}
bool drove__witness_is_told(const drove_witness *w)
{
    (void)w;
    return false;
}
void drove__witness_destroy(drove_witness *w)
{
    (void)w;
}

#else

#include "base/checksum.h"
#include "base/mem.h"
#include "base/waiting.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>

#define PAGE_NAME "drove-rank"

enum { LEFT = FUTEX_TID_MASK }; /* no thread has this number */
enum { ENDS_NOT, ENDS_AS_WISHED, ENDS_BY_ERROR };

typedef struct page {
    uint64_t token;
    _Atomic uint32_t held;
    _Atomic uint32_t ends;
    _Atomic uint64_t teller; /* of the lowest rank's page */
    _Atomic uint32_t is_told;
    struct robust_list entry; /* of held, in the holder's list; addresses of its own */
    struct robust_list_head list;
} page;
_Static_assert(sizeof(page) <= 4096, "a page");
_Static_assert(ATOMIC_INT_LOCK_FREE == 2 && ATOMIC_LLONG_LOCK_FREE == 2,
               "shared by processes, and written by a signal handler");

typedef struct peer {
    page *page;
    unsigned rank;
    int process;
} peer;

struct drove_witness {
    page *own;
    int fd;
    pthread_t thread;
    /* Told to the thread; it sleeps on `stage` until it watches. */
    _Atomic uint32_t stage;
    _Atomic uint32_t has_ended; /* it has left its last sleep */
    _Atomic uint32_t at;        /* of peer[]: whom it sleeps on */
    peer *peer;                 /* [n] in the order of ranks, itself among them */
    unsigned n, own_index;
    unsigned rank;
    drove_witness_listener listener;
};
enum { STAGE_HOLDS_NOT, STAGE_HOLDS, STAGE_WATCHES, STAGE_ENDS };

/* The page of this process, which takes part in one job; for the signal handler, so never unmapped.
 */
static _Atomic(page *) signalled;

static void end_for(page *p, uint32_t why)
{
    uint32_t before = atomic_load(&p->ends);
    while (before < why && !atomic_compare_exchange_weak(&p->ends, &before, why)) continue;
}

void drove__witness_end_is_wished(void)
{
    page *p = atomic_load(&signalled);
    if (p != NULL) end_for(p, ENDS_AS_WISHED);
}

void drove__witness_fail(drove_witness *w)
{
    if (w != NULL) end_for(w->own, ENDS_BY_ERROR);
}

/* ---- telling ---- */

static bool job_ends(const drove_witness *w)
{
    for (unsigned i = 0; i < w->n; i++)
        if (atomic_load(&w->peer[i].page->ends) == ENDS_BY_ERROR) return true;
    return w->listener.is_ending != NULL && w->listener.is_ending(w->listener.context);
}

bool drove__witness_is_told(const drove_witness *w)
{
    return w != NULL && w->n > 0 && atomic_load(&w->peer[0].page->teller) != 0;
}

static uint64_t claim_of(unsigned teller, unsigned dead)
{
    return (uint64_t)dead << 32 | (teller + 1);
}

static const peer *find(const drove_witness *w, unsigned rank)
{
    for (unsigned i = 0; i < w->n; i++)
        if (w->peer[i].rank == rank) return &w->peer[i];
    return NULL;
}

/* Claims to tell of dead, or of the one whose teller dead was; NULL: it is not for this process. */
static const peer *claim(drove_witness *w, const peer *dead)
{
    page *common = w->peer[0].page;
    uint64_t seen = atomic_load(&common->teller);
    if ((uint32_t)seen == dead->rank + 1) { /* it may have told before it died */
        if (atomic_load(&common->is_told)) return NULL;
        dead = find(w, (unsigned)(seen >> 32));
    } else if (seen != 0 || atomic_load(&dead->page->ends) != ENDS_NOT || job_ends(w)) {
        return NULL;
    }
    if (dead == NULL ||
        !atomic_compare_exchange_strong(&common->teller, &seen, claim_of(w->rank, dead->rank)))
        return NULL;
    return dead;
}

static void see(drove_witness *w, const peer *dead)
{
    drove__real_word_wake(&dead->page->held); /* others that sleep on it */
    const peer *first = claim(w, dead);
    if (first == NULL) return;
    w->listener.died(w->listener.context, first->rank, first->process);
    atomic_store(&w->peer[0].page->is_told, 1);
    if (w->listener.told != NULL) w->listener.told(w->listener.context);
}

/* ---- the thread ---- */

/* The kernel marks the word when this thread ends.  It takes the place of the C library's own list
 * for the thread, which therefore takes no robust mutex. */
static bool hold(page *p)
{
    p->entry.next = (struct robust_list *)&p->list.list;
    p->list = (struct robust_list_head){.list.next = &p->entry,
                                        .futex_offset = (long)offsetof(page, held) -
                                                        (long)offsetof(page, entry)};
    if (syscall(SYS_set_robust_list, &p->list, sizeof p->list) != 0) return false;
    atomic_store(&p->held, (uint32_t)syscall(SYS_gettid) | FUTEX_WAITERS);
    return true;
}

/* Where it may, the witness runs before all that compute: when it runs at all, its launcher is
 * about to kill it. */
static void hurry(void)
{
    const struct sched_param least = {.sched_priority = 1};
    (void)sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &least);
}

static void let_go(page *p)
{
    atomic_store(&p->held, LEFT);
    drove__real_word_wake(&p->held);
}

static bool has_to_end(drove_witness *w)
{
    return atomic_load(&w->stage) == STAGE_ENDS;
}

static void *run_witness(void *argument)
{
    drove_witness *w = argument;
    if (!hold(w->own)) {
        atomic_store(&w->stage, STAGE_ENDS);
        drove__real_word_wake(&w->stage);
        return NULL;
    }
    hurry();
    atomic_store(&w->stage, STAGE_HOLDS);
    drove__real_word_wake(&w->stage);
    while (atomic_load(&w->stage) == STAGE_HOLDS)
        drove__real_word_wait(&w->stage, STAGE_HOLDS, UINT64_MAX);
    for (unsigned i = 1; i < w->n && !has_to_end(w);) { /* the ring, from the next on */
        const unsigned at = (w->own_index + i) % w->n;
        _Atomic uint32_t *held = &w->peer[at].page->held;
        const uint32_t seen = atomic_load(held);
        atomic_store(&w->at, at);
        if ((seen & FUTEX_OWNER_DIED) != 0) see(w, &w->peer[at]), i++;
        else if (seen == LEFT) i++;
        else if (!has_to_end(w)) drove__real_word_wait(held, seen, UINT64_MAX);
    }
    atomic_store(&w->has_ended, 1);
    while (!has_to_end(w)) drove__real_word_wait(&w->stage, STAGE_WATCHES, UINT64_MAX);
    let_go(w->own);
    return NULL;
}

/* ---- beginning and end ---- */

/* Of the kernel that is running, and of the name space of its processes' numbers. */
static uint64_t number_of_machine(void)
{
    char text[128] = "";
    struct stat space;
    const int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd >= 0 ? read(fd, text, 64) : 0;
    if (fd >= 0) close(fd);
    if (n <= 0 || stat("/proc/self/ns/pid", &space) != 0) return 0;
    snprintf(text + n, sizeof text - (size_t)n, "%ju", (uintmax_t)space.st_ino);
    return drove__checksum(text, strlen(text));
}

static page *map(int fd)
{
    struct stat about;
    if (fstat(fd, &about) != 0 || about.st_size < (off_t)sizeof(page)) return NULL;
    void *at = mmap(NULL, sizeof(page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return at != MAP_FAILED ? at : NULL;
}

static bool make_page(drove_witness *w)
{
    w->fd = (int)syscall(SYS_memfd_create, PAGE_NAME, 1u /* MFD_CLOEXEC */);
    if (w->fd < 0 || ftruncate(w->fd, sizeof(page)) != 0) return false;
    if ((w->own = map(w->fd)) == NULL) return false;
    return getrandom(&w->own->token, sizeof w->own->token, 0) == (ssize_t)sizeof w->own->token;
}

static bool start_thread(drove_witness *w)
{
    sigset_t all, before;
    sigfillset(&all); /* signals go to the program's threads */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int error = pthread_create(&w->thread, NULL, run_witness, w);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error != 0) return false;
    uint32_t stage;
    while ((stage = atomic_load(&w->stage)) == STAGE_HOLDS_NOT)
        drove__real_word_wait(&w->stage, STAGE_HOLDS_NOT, UINT64_MAX);
    if (stage == STAGE_HOLDS) return true;
    pthread_join(w->thread, NULL);
    return false;
}

void drove__witness_create(drove_witness **out, drove_witness_card *mine)
{
    *out = NULL;
    *mine = (drove_witness_card){0};
    drove_witness *w = drove__alloc(1, sizeof *w);
    if (w == NULL) return;
    if (!make_page(w) || !start_thread(w)) {
        if (w->own != NULL) munmap(w->own, sizeof *w->own);
        if (w->fd >= 0) close(w->fd);
        drove__free(w);
        return;
    }
    *mine = (drove_witness_card){.token = w->own->token,
                                 .machine = number_of_machine(),
                                 .process = (int32_t)getpid(),
                                 .descriptor = w->fd};
    atomic_store(&signalled, w->own);
    *out = w;
}

/* NULL: it is not there, or not of this job. */
static page *open_page(const drove_witness_card *card)
{
    char path[64], target[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)card->process, (int)card->descriptor);
    /* Not to open what may be anything else: another machine's number, or name space. */
    const ssize_t n = readlink(path, target, sizeof target - 1);
    if (n < 0) return NULL;
    target[n] = '\0';
    if (strncmp(target, "/memfd:" PAGE_NAME, strlen("/memfd:" PAGE_NAME)) != 0) return NULL;
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return NULL;
    page *p = map(fd);
    close(fd);
    if (p == NULL || p->token == card->token) return p;
    munmap(p, sizeof *p);
    return NULL;
}

unsigned drove__witness_begin(drove_witness *w, const drove_witness_card *all, unsigned n,
                              unsigned rank, const drove_witness_listener *listener)
{
    if (w == NULL) return 0;
    const uint64_t machine = all[rank].machine;
    unsigned most = 0;
    for (unsigned i = 0; i < n; i++) most += all[i].token != 0 && all[i].machine == machine;
    w->listener = *listener;
    w->rank = rank;
    w->peer = drove__alloc(most, sizeof *w->peer); /* NULL: none is watched */
    for (unsigned i = 0; i < n && w->peer != NULL; i++) {
        if (all[i].token == 0 || all[i].machine != machine) continue;
        page *p = i == rank ? w->own : open_page(&all[i]);
        if (p == NULL) continue;
        if (i == rank) w->own_index = w->n;
        w->peer[w->n++] = (peer){.page = p, .rank = i, .process = all[i].process};
    }
    atomic_store(&w->stage, STAGE_WATCHES);
    drove__real_word_wake(&w->stage);
    return w->n > 0 ? w->n - 1 : 0;
}

void drove__witness_destroy(drove_witness *w)
{
    const struct timespec moment = {.tv_nsec = 20000};
    if (w == NULL) return;
    atomic_store(&w->stage, STAGE_ENDS);
    drove__real_word_wake(&w->stage);
    /* Between its look at `stage` and its sleep on another's word it hears no call: again. */
    while (w->n > 0 && !atomic_load(&w->has_ended)) {
        drove__real_word_wake(&w->peer[atomic_load(&w->at)].page->held);
        nanosleep(&moment, NULL);
    }
    pthread_join(w->thread, NULL);
    for (unsigned i = 0; i < w->n; i++)
        if (w->peer[i].page != w->own) munmap(w->peer[i].page, sizeof(page));
    close(w->fd);
    drove__free(w->peer);
    drove__free(w);
}

#endif
