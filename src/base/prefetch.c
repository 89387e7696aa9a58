/* base/prefetch.c - saves, changes and restores MSR 0x1A4.
 *
 * One spin lock protects the registers and the list of saved ones.  Its holder blocks all signals,
 * so a signal handler may wait for the lock: the holder is another thread and keeps running.  The
 * handler itself calls only async-signal-safe functions: the devices stay open, and the values are
 * in static memory.
 *
 * A child of fork inherits a copy of the list; `owner` is the process that the list belongs to.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* O_CLOEXEC, flock */
#endif
#include "base/prefetch.h"

#include "base/cpu.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static const char intel[] = "GenuineIntel";

enum { MSR_PREFETCH = 0x1A4, PREFETCH_BITS = 0xF, MOST_PROCESSORS = 8192, PATH_SIZE = 4096 };

typedef struct saved_register {
    int pu;          /* logical processor                         */
    int device;      /* open for reading and writing              */
    uint64_t before; /* its value, to be restored                 */
} saved_register;

static struct {
    _Atomic int busy; /* the lock; protects all of this                      */
    pid_t owner;      /* process whose registers these are                   */
    unsigned n_holders;
    size_t n_saved;
    bool is_cut;      /* a signal handler has put the registers back           */
    bool has_at_exit; /* at_exit is registered                         */
    int folder;       /* locked against other processes; -1: none      */
    saved_register saved[MOST_PROCESSORS];
} held = {.folder = -1};
_Static_assert(ATOMIC_INT_LOCK_FREE == 2, "a signal handler takes the lock");

/* ---- the lock ---- */

static void lock(void)
{
    while (atomic_exchange_explicit(&held.busy, 1, memory_order_acquire) != 0) {
        (void)poll(NULL, 0, 1); /* a millisecond; pairs with the release in unlock */
    }
}

static void unlock(void)
{
    atomic_store_explicit(&held.busy, 0, memory_order_release);
}

static void enter(sigset_t *before)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, before);
    lock();
}

static void leave(const sigset_t *before)
{
    unlock();
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

/* ---- registers ---- */

static bool read_register(int device, uint64_t *out)
{
    errno = 0;
    return pread(device, out, sizeof *out, MSR_PREFETCH) == (ssize_t)sizeof *out;
}

static bool write_register(int device, uint64_t value)
{
    errno = 0;
    return pwrite(device, &value, sizeof value, MSR_PREFETCH) == (ssize_t)sizeof value;
}

/* Puts back registers first .. end - 1 of the list, the last first: where hyper-threads share a
 * register, the value saved first is the true one.  Returns one that failed; NULL: none.
 * Async-signal-safe. */
static const saved_register *put_back(size_t first, size_t end)
{
    const saved_register *failed = NULL;
    for (size_t i = end; i-- > first;) {
        if (!write_register(held.saved[i].device, held.saved[i].before)) failed = &held.saved[i];
    }
    return failed;
}

static drove_status refuse(int pu, const char *verb, const char *path)
{
    return drove__fail(DROVE_E_UNSUPPORTED, "processor %d: cannot %s %s: %s", pu, verb, path,
                       errno != 0 ? strerror(errno) : "the device is too short");
}

static drove_status fail_lost(const saved_register *lost)
{
    return drove__fail(DROVE_E_SYSTEM, "processor %d: cannot put register 0x%X back to 0x%llx",
                       lost->pu, MSR_PREFETCH, (unsigned long long)lost->before);
}

/* ---- signals ---- */

/* Signals whose default action ends the process.  Where the program has its own handler, only the
 * first N_ALWAYS are intercepted: the program may use the others in normal operation. */
static const int signals[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGILL,   SIGABRT, SIGBUS,
                              SIGFPE,  SIGSEGV, SIGTRAP, SIGSYS,  SIGPIPE,  SIGALRM, SIGUSR1,
                              SIGUSR2, SIGXCPU, SIGXFSZ, SIGPROF, SIGVTALRM};
enum { N_ALWAYS = 11, N_SIGNALS = DROVE_COUNT(signals) };

/* The actions that on_signal replaces while is_installed. */
static struct sigaction previous[N_SIGNALS];
static bool is_installed[N_SIGNALS];

/* Whether the faulting instruction raises the signal again when the handler returns. */
static bool comes_again(int number, const siginfo_t *info)
{
    if (number == SIGBUS && info->si_code == BUS_MCEERR_AO) return false;
    bool is_fault = number == SIGSEGV || number == SIGBUS || number == SIGILL || number == SIGFPE;
    return is_fault && info->si_code > 0; /* not sent by a process */
}

/* Restores the registers and the previous action, which then gets the signal. */
static void on_signal(int number, siginfo_t *info, void *context)
{
    int error = errno;
    (void)context;
    lock();
    if (held.owner == getpid()) {
        (void)put_back(0, held.n_saved); /* a failure cannot be reported any more */
        held.is_cut = true;
    }
    for (size_t i = 0; i < N_SIGNALS; i++) {
        if (signals[i] != number || !is_installed[i]) continue;
        sigaction(number, &previous[i], NULL);
        is_installed[i] = false;
    }
    unlock();
    if (!comes_again(number, info)) raise(number); /* blocked until this handler returns */
    errno = error;
}

/* If another handler was installed after ours, both stay. */
static void remove_handlers(void)
{
    for (size_t i = 0; i < N_SIGNALS; i++) {
        struct sigaction now;
        if (!is_installed[i] || sigaction(signals[i], NULL, &now) != 0) continue;
        if (!(now.sa_flags & SA_SIGINFO) || now.sa_sigaction != on_signal) continue;
        sigaction(signals[i], &previous[i], NULL);
        is_installed[i] = false;
    }
}

/* ---- saving ---- */

static void forget(size_t first)
{
    while (held.n_saved > first) close(held.saved[--held.n_saved].device);
    if (held.n_saved > 0) return;
    remove_handlers();
    if (held.folder >= 0) close(held.folder); /* releases the lock, too */
    held.folder = -1;
}

/* Also runs when the library is unloaded: neither handlers nor this function may stay
 * registered. */
static void at_exit(void)
{
    sigset_t before;
    enter(&before);
    if (held.owner == getpid()) {
        (void)put_back(0, held.n_saved);
        held.is_cut = true;
    }
    remove_handlers();
    leave(&before);
}

/* Opens a processor's device and appends it to the list; nothing is changed yet. */
static drove_status save(const char *folder, int pu)
{
    char path[PATH_SIZE];
    saved_register next = {.pu = pu};
    if (held.n_saved == MOST_PROCESSORS) {
        return drove__fail(DROVE_E_UNSUPPORTED, "processor %d: expected at most %d processors", pu,
                           MOST_PROCESSORS);
    }
    snprintf(path, sizeof path, "%s/%d/msr", folder, pu);
    next.device = open(path, O_RDWR | O_CLOEXEC);
    if (next.device < 0) return refuse(pu, "open", path);
    if (!read_register(next.device, &next.before)) {
        drove_status status = refuse(pu, "read", path);
        close(next.device);
        return status;
    }
    held.saved[held.n_saved++] = next;
    return DROVE_OK;
}

/* Some virtual machines accept the value and drop it. */
static drove_status switch_off(const char *folder, const saved_register *r, bool *is_changed)
{
    char path[PATH_SIZE];
    uint64_t now;
    *is_changed = false;
    snprintf(path, sizeof path, "%s/%d/msr", folder, r->pu);
    if (!write_register(r->device, r->before | PREFETCH_BITS)) return refuse(r->pu, "write", path);
    *is_changed = true;
    if (!read_register(r->device, &now)) return refuse(r->pu, "read", path);
    if ((now & PREFETCH_BITS) == PREFETCH_BITS) return DROVE_OK;
    return drove__fail(DROVE_E_UNSUPPORTED,
                       "processor %d: %s does not keep what is written: expected bits 0 to 3, "
                       "found 0x%llx",
                       r->pu, path, (unsigned long long)now);
}

static drove_status lock_folder(const char *folder)
{
    if (held.folder >= 0) return DROVE_OK;
    int opened = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (opened < 0) return DROVE_OK; /* the first device has the better message */
    if (flock(opened, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        close(opened);
        return drove__fail(DROVE_E_UNSUPPORTED,
                           "all processors: another process has switched prefetchers (%s is "
                           "locked)",
                           folder);
    }
    held.folder = opened;
    return DROVE_OK;
}

/* Reads all values before it writes the first: processors may share a register. */
static drove_status save_and_switch(const char *folder, const int *pu, size_t n_pus)
{
    size_t first = held.n_saved;
    for (size_t i = 0; i < n_pus; i++) {
        size_t k = 0;
        while (k < held.n_saved && held.saved[k].pu != pu[i]) k++;
        if (k == held.n_saved) DROVE_TRY(save(folder, pu[i]));
    }
    for (size_t i = 0; i < N_SIGNALS; i++) {
        struct sigaction action, now;
        if (is_installed[i] || sigaction(signals[i], NULL, &now) != 0) continue;
        bool is_default = !(now.sa_flags & SA_SIGINFO) && now.sa_handler == SIG_DFL;
        bool is_ignored = !(now.sa_flags & SA_SIGINFO) && now.sa_handler == SIG_IGN;
        if (is_ignored || (!is_default && i >= N_ALWAYS)) continue;
        memset(&action, 0, sizeof action);
        action.sa_sigaction = on_signal;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK | (now.sa_flags & SA_RESTART);
        sigfillset(&action.sa_mask);
        previous[i] = now;
        is_installed[i] = sigaction(signals[i], &action, NULL) == 0;
    }
    for (size_t i = first; i < held.n_saved; i++) {
        bool is_changed;
        drove_status status = switch_off(folder, &held.saved[i], &is_changed);
        if (status == DROVE_OK) continue;
        const saved_register *lost = put_back(first, is_changed ? i + 1 : i);
        return lost == NULL ? status : fail_lost(lost);
    }
    return DROVE_OK;
}

/* ---- public functions ---- */

drove_prefetch_machine drove__prefetch_machine(void)
{
    const char *folder = getenv("DROVE_TEST_MSR_FOLDER");
    if (folder != NULL) return (drove_prefetch_machine){folder, intel};
    return (drove_prefetch_machine){"/dev/cpu", drove__cpu_vendor()};
}

const char *drove__prefetch_state_name(drove_prefetch_state state)
{
    static const char *const names[] = {[DROVE_PREFETCH_UNKNOWN] = "unknown",
                                        [DROVE_PREFETCH_ON] = "on",
                                        [DROVE_PREFETCH_OFF] = "off"};
    return names[state];
}

drove_prefetch_state drove__prefetch_look(const drove_prefetch_machine *machine, const int *pu,
                                          size_t n_pus)
{
    drove_prefetch_state all = DROVE_PREFETCH_UNKNOWN;
    if (strcmp(machine->vendor, intel) != 0) return DROVE_PREFETCH_UNKNOWN;
    for (size_t i = 0; i < n_pus; i++) {
        char path[PATH_SIZE];
        uint64_t value;
        snprintf(path, sizeof path, "%s/%d/msr", machine->folder, pu[i]);
        int device = open(path, O_RDONLY | O_CLOEXEC);
        if (device < 0) return DROVE_PREFETCH_UNKNOWN;
        bool is_read = read_register(device, &value);
        close(device);
        if (!is_read) return DROVE_PREFETCH_UNKNOWN;
        value &= PREFETCH_BITS;
        drove_prefetch_state one = value == 0               ? DROVE_PREFETCH_ON
                                   : value == PREFETCH_BITS ? DROVE_PREFETCH_OFF
                                                            : DROVE_PREFETCH_UNKNOWN;
        if (one == DROVE_PREFETCH_UNKNOWN || (i > 0 && one != all)) return DROVE_PREFETCH_UNKNOWN;
        all = one;
    }
    return all;
}

drove_status drove__prefetch_hold_off(const drove_prefetch_machine *machine, const int *pu,
                                      size_t n_pus)
{
    sigset_t before;
    if (strcmp(machine->vendor, intel) != 0) {
        return drove__fail(DROVE_E_UNSUPPORTED, "all processors: expected vendor %s, found %s",
                           intel, machine->vendor);
    }
    enter(&before);
    if (held.owner != getpid()) { /* in a child of fork: drops the list, which is the parent's */
        held.owner = getpid();
        held.n_holders = 0;
        held.is_cut = false;
        forget(0);
    }
    const size_t first = held.n_saved;
    drove_status status;
    if (held.is_cut) {
        status = drove__fail(DROVE_E_UNSUPPORTED,
                             "all processors: a signal has restored the prefetchers");
    } else {
        if (!held.has_at_exit) held.has_at_exit = atexit(at_exit) == 0;
        status = lock_folder(machine->folder);
        if (status == DROVE_OK) status = save_and_switch(machine->folder, pu, n_pus);
        if (status == DROVE_OK) held.n_holders++;
        else forget(first);
    }
    leave(&before);
    return status;
}

drove_status drove__prefetch_release(bool *was_cut)
{
    sigset_t before;
    drove_status status = DROVE_OK;
    enter(&before);
    if (was_cut != NULL) *was_cut = held.is_cut;
    if (held.owner == getpid() && held.n_holders > 0 && --held.n_holders == 0) {
        const saved_register *lost = put_back(0, held.n_saved);
        if (lost != NULL) status = fail_lost(lost);
        forget(0);
        held.is_cut = false;
    }
    leave(&before);
    return status;
}
