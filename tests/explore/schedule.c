/* tests/explore/schedule.c - coroutines, choices, and who goes on; see state.h. */
#define _GNU_SOURCE
#include "state.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

uint64_t explore__mix(uint64_t a, uint64_t b)
{
    a ^= b + UINT64_C(0x9e3779b97f4a7c15) + (a << 6) + (a >> 2);
    a ^= a >> 32;
    a *= UINT64_C(0xd6e8feb86659fd93);
    return a ^ a >> 29;
}

thread *explore__self(void)
{
    return &explore__e.thread[explore__e.now];
}

void explore__learn(view *to, const view *from)
{
    for (unsigned i = 0; i < explore__e.n_threads; i++)
        if (from->clock[i] > to->clock[i]) to->clock[i] = from->clock[i];
    for (unsigned i = 0; i < explore__e.n_words; i++)
        if (from->at_least[i] > to->at_least[i]) to->at_least[i] = from->at_least[i];
}

/* ---- coroutines ---- */

#ifdef __x86_64__
void explore_switch(void **from, void *to);
__asm__(".text\n.globl explore_switch\nexplore_switch:\n"
        "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
        "mov %rsp, (%rdi)\nmov %rsi, %rsp\n"
        "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n");
#endif

static void thread_main(void)
{
    thread *t = explore__self();
    t->history = explore__mix(t->history, UINT64_C(0x44));
    if (t->posix_body != NULL) (void)t->posix_body(t->argument);
    else t->body(t->argument);
    explore_end();
}

void explore_end(void)
{
    thread *t = explore__self();
    t->status = ENDED;
    t->history = explore__mix(t->history, ENDED);
    explore__schedule();
    abort();
}

void explore__prepare(int i)
{
    thread *t = &explore__e.thread[i];
    char *stack = explore__e.stacks + (size_t)i * STACK_BYTES;
#ifdef __x86_64__
    uintptr_t *top = (uintptr_t *)(void *)(stack + STACK_BYTES - 64);
    *--top = 0; /* where a return address would be: the stack as behind a call */
    *--top = (uintptr_t)thread_main;
    for (int k = 0; k < 6; k++) *--top = 0; /* saved registers */
    t->stack_pointer = top;
#else
    getcontext(&t->context);
    t->context.uc_stack.ss_sp = stack;
    t->context.uc_stack.ss_size = STACK_BYTES;
    t->context.uc_link = NULL;
    makecontext(&t->context, thread_main, 0);
#endif
}

static void switch_to(int i)
{
    int from = explore__e.now;
    if (i == from) return;
    explore__e.now = i;
#ifdef __x86_64__
    explore_switch(&explore__e.thread[from].stack_pointer, explore__e.thread[i].stack_pointer);
#else
    swapcontext(&explore__e.thread[from].context, &explore__e.thread[i].context);
#endif
}

/* Nobody comes back to this run. */
void explore__leave_run(void)
{
#ifdef __x86_64__
    void *nowhere;
    explore_switch(&nowhere, explore__e.controller);
#else
    setcontext(&explore__e.controller);
#endif
    abort();
}

void __attribute__((format(printf, 1, 2))) explore__fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(explore__e.failure, sizeof explore__e.failure, format, arguments);
    va_end(arguments);
    explore__e.has_failed = true;
    if (explore__e.is_on) explore__leave_run();
}

void explore_check(bool is_true, const char *what)
{
    if (!is_true) explore__fail("check failed: %s", what);
}

/* ---- choices ---- */

unsigned explore__choose(unsigned n)
{
    if (n <= 1) return 0;
    if (explore__e.is_random) {
        explore__e.random ^= explore__e.random << 13, explore__e.random ^= explore__e.random >> 7,
            explore__e.random ^= explore__e.random << 17;
        return (unsigned)((explore__e.random >> 20) % n);
    }
    unsigned i = explore__e.position++;
    if (i >= MOST_CHOICES) explore__fail("a run that does not end: too many choices");
    if (i >= explore__e.n_prefix) {
        explore__e.chosen[i] = 0;
        explore__e.n_options[i] = (uint16_t)n;
        explore__e.n_choices = i + 1;
    } else if (explore__e.n_options[i] != n) {
        fprintf(stderr, "explorer: a run is not the same as before: %u choices for %u\n", n,
                explore__e.n_options[i]);
        abort();
    }
    return explore__e.chosen[i];
}

/* The next run's prefix; false: all is done. */
bool explore__advance(void)
{
    while (explore__e.n_choices > 0) {
        unsigned last = explore__e.n_choices - 1;
        if (++explore__e.chosen[last] < explore__e.n_options[last]) {
            explore__e.n_prefix = explore__e.n_choices;
            return true;
        }
        explore__e.n_choices--;
    }
    return false;
}

/* What a thread will do, as far as others can tell. */
static uint64_t state_of(const thread *t)
{
    uint64_t h =
        explore__mix(t->history, (uint64_t)t->status * 4 + t->is_soft * 2 + t->is_repeating);
    if (t->status != RUNNING && t->status != DYING) h = explore__mix(h, t->waits_for);
    else h = explore__mix(h, 0);
    return explore__has_time() && t->status != RUNNING ? explore__mix(h, t->until_ns) : h;
}

static uint64_t state_now(void)
{
    const explore_scenario *scenario = explore__e.scenario;
    uint64_t sum = scenario->n_preemptions == 0
                       ? 1
                       : explore__mix(explore__e.n_preempted, (uint64_t)explore__e.now);
    sum += explore__mix(explore__mix(explore__e.n_woken, explore__e.n_timed_out),
                        explore__mix(explore__e.n_killed, explore__e.now_ns));
    for (unsigned i = 0; i < explore__e.n_threads; i++)
        sum += explore__mix(state_of(&explore__e.thread[i]), i);
    for (unsigned i = 0; i < explore__e.n_words; i++)
        sum += explore__mix(explore__mix(explore__e.word[i].order, explore__e.word[i].address),
                            (uint64_t)explore__e.word[i].holder + 7);
    return sum | 1;
}

/* True: it was there. */
static bool add_state(uint64_t state)
{
    if (2 * explore__e.n_states >= explore__e.table_size) {
        uint64_t *old = explore__e.table, old_size = explore__e.table_size;
        explore__e.table_size = old_size == 0 ? 1 << 16 : 2 * old_size;
        explore__e.table = mmap(NULL, explore__e.table_size * sizeof *explore__e.table,
                                PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (explore__e.table == MAP_FAILED) abort();
        for (uint64_t i = 0; i < old_size; i++) {
            if (old[i] == 0) continue;
            uint64_t k = old[i] >> 7 & (explore__e.table_size - 1);
            while (explore__e.table[k] != 0) k = (k + 1) & (explore__e.table_size - 1);
            explore__e.table[k] = old[i];
        }
        if (old != NULL) munmap(old, old_size * sizeof *old);
    }
    uint64_t k = state >> 7 & (explore__e.table_size - 1);
    for (; explore__e.table[k] != 0; k = (k + 1) & (explore__e.table_size - 1))
        if (explore__e.table[k] == state) return true;
    explore__e.table[k] = state;
    explore__e.n_states++;
    return false;
}

/* ---- who goes on ---- */

static bool has_news(const thread *t)
{
    for (unsigned i = 0; i < t->n_seen; i++)
        if (explore__e.word[t->seen[i].word].n_values - 1 > t->seen[i].index) return true;
    return false;
}

bool explore__has_time(void)
{
    return explore__e.scenario->n_timeouts > 0 || explore__e.scenario->needs_time;
}

/* A process that is dead gives its robust mutexes on. */
static bool is_free(uintptr_t lock)
{
    int holder = explore__e.word[explore__word_at(lock, 1)].holder;
    enum { ROBUST = 16 }; /* in glibc's kind of a mutex */
    return holder < 0 || (explore__e.thread[holder].status == DEAD &&
                          (((const pthread_mutex_t *)lock)->__data.__kind & ROBUST) != 0);
}

static bool has_ended(const thread *t)
{
    return t->status == ENDED || t->status == DEAD;
}

static bool sleeps(const thread *t)
{
    return t->status == ASLEEP || t->status == ON_CONDITION;
}

static bool has_limit(const thread *t)
{
    return explore__has_time() && t->until_ns != UINT64_MAX &&
           (sleeps(t) || t->status == WANTS_LOCK);
}

static bool can_go_on(const thread *t)
{
    if (has_limit(t) && t->until_ns <= explore__e.now_ns) return true;
    switch (t->status) {
    case RUNNING:
    case DYING: return true;
    case WANTS_LOCK: return is_free(t->waits_for);
    case JOINING: return has_ended(&explore__e.thread[t->joins]);
    case AWAITS_NEWS: return has_news(t);
    default: return false;
    }
}

static void report_hang(void)
{
    char text[200] = "";
    size_t at = 0;
    static const char *const names[] = {
        "runs",  "wants a lock", "joins", "sleeps", "waits on a condition",
        "spins", "dies",         "dead",  "ended"};
    for (unsigned i = 0; i < explore__e.n_threads; i++)
        if (explore__e.thread[i].status == AWAITS_NEWS && explore__e.thread[i].is_soft)
            explore__leave_run();
    for (unsigned i = 0; i < explore__e.n_threads; i++)
        at += (size_t)snprintf(text + at, at < sizeof text ? sizeof text - at : 0, " %u %s;", i,
                               names[explore__e.thread[i].status]);
    explore__fail("nobody can go on:%s", text);
}

typedef struct option { /* who goes on, and why */
    int thread;
    enum { GOES_ON, WOKEN, TIMES_OUT } why;
} option;

/* Time passes to the first limit of a sleep, or of one that nobody ends; false: there is none. */
static bool time_passes(void)
{
    uint64_t first_ns = UINT64_MAX;
    for (unsigned i = 0; i < explore__e.n_threads; i++) {
        const thread *t = &explore__e.thread[i];
        if (t->status == AWAITS_NEWS && t->is_soft && !explore__e.is_random)
            return false; /* it would have gone on */
        bool passes = explore__e.scenario->needs_time || t->waits_for == 0;
        if (has_limit(t) && passes && t->until_ns < first_ns) first_ns = t->until_ns;
    }
    if (first_ns == UINT64_MAX) return false;
    if (first_ns > explore__e.now_ns) explore__e.now_ns = first_ns;
    return true;
}

/* All who can go on. */
static unsigned find_options(option *able)
{
    unsigned n = 0;
    for (unsigned i = 0; i < explore__e.n_threads; i++)
        if (can_go_on(&explore__e.thread[i])) able[n++] = (option){(int)i, GOES_ON};
    return n;
}

/* Those who wait awake for news and might as well look again, with the same values: where choices
 * are random nobody else makes that choice for them. */
static unsigned find_waiting(option *able)
{
    unsigned n = 0;
    for (unsigned i = 0; explore__e.is_random && i < explore__e.n_threads; i++)
        if (explore__e.thread[i].status == AWAITS_NEWS && explore__e.thread[i].is_soft)
            able[n++] = (option){(int)i, GOES_ON};
    return n;
}

/* Where nobody can go on by himself. */
static unsigned find_more(option *able)
{
    unsigned n = explore__choose(explore__e.is_random ? 2 : 1) == 1 ? find_waiting(able) : 0;
    if (n == 0 && time_passes()) n = find_options(able);
    return n > 0 ? n : find_waiting(able);
}

static unsigned add_wakes(option *able, unsigned n)
{
    const explore_scenario *scenario = explore__e.scenario;
    for (unsigned i = 0; i < explore__e.n_threads; i++) {
        const thread *t = &explore__e.thread[i];
        if (sleeps(t) && explore__e.n_woken < scenario->n_wakes)
            able[n++] = (option){(int)i, WOKEN};
        if (has_limit(t) && t->until_ns > explore__e.now_ns &&
            explore__e.n_timed_out < scenario->n_timeouts)
            able[n++] = (option){(int)i, TIMES_OUT};
    }
    return n;
}

/* True: the thread goes on; false: it wants its lock first. */
static bool wake(const option *one)
{
    thread *t = &explore__e.thread[one->thread];
    if (one->why == WOKEN) explore__e.n_woken++;
    if (one->why == TIMES_OUT) {
        explore__e.n_timed_out++;
        explore__e.now_ns = t->until_ns;
    }
    if (has_limit(t) && t->until_ns <= explore__e.now_ns && one->why != WOKEN &&
        !(t->status == WANTS_LOCK && is_free(t->waits_for))) {
        t->timed_out = true;
        explore__trace("time is over", t->waits_for, explore__e.now_ns, 0);
    }
    if (t->status != ON_CONDITION) return true;
    t->status = WANTS_LOCK;
    t->waits_for = t->lock;
    t->until_ns = UINT64_MAX; /* the lock is waited for without a limit */
    return is_free(t->lock);
}

/* The caller may be killed where it stands: it then does nothing more, and is dead when it would go
 * on. */
static void maybe_doom(void)
{
    thread *me = explore__self();
    if (!me->may_die || explore__e.n_killed == explore__e.scenario->n_kills || has_ended(me) ||
        me->status == DYING)
        return;
    bool dies = explore__e.is_random ? explore__choose(32) == 31 : explore__choose(2) == 1;
    if (!dies) return;
    explore__e.n_killed++;
    me->status = DYING;
    explore__trace("is killed", 0, 0, 0);
}

/* Of all who can go on, or, where a bound on stops is reached, the caller. */
static option choose_next(void)
{
    option able[3 * T];
    const thread *me = explore__self();
    bool is_bounded = explore__e.scenario->n_preemptions > 0;
    bool may_stay = me->status != DYING && can_go_on(me);
    unsigned n = find_options(able);
    if (n == 0) n = find_more(able);
    if (n == 0) report_hang();
    if (is_bounded && may_stay && explore__e.n_preempted == explore__e.scenario->n_preemptions) {
        able[0] = (option){explore__e.now, GOES_ON};
        n = 1;
    } else {
        n = add_wakes(able, n);
    }
    if (!explore__e.is_random && explore__e.position >= explore__e.n_prefix &&
        add_state(state_now()))
        explore__leave_run();
    option next = able[explore__choose(n)];
    explore__e.n_preempted += is_bounded && may_stay && next.thread != explore__e.now &&
                              explore__e.thread[next.thread].status != DYING;
    return next;
}

static void let_go_on(void)
{
    bool all_ended = true;
    if (++explore__e.n_steps > (explore__e.is_random ? 200000 : 20000))
        explore__fail("a run that does not end");
    for (unsigned i = 0; i < explore__e.n_threads; i++)
        all_ended &= has_ended(&explore__e.thread[i]);
    if (all_ended) {
        explore__e.n_ends++;
        explore__leave_run();
    }
    option next = choose_next();
    while (!wake(&next)) next = choose_next();
    switch_to(next.thread);
}

/* Chooses who goes on, and returns when that is the caller. */
void explore__schedule(void)
{
    maybe_doom();
    let_go_on();
    if (explore__self()->status != DYING) return;
    explore__self()->status = DEAD;
    explore__self()->history = explore__mix(explore__self()->history, DEAD);
    let_go_on();
    abort();
}

void explore__kill_point(void)
{
    maybe_doom();
    if (explore__self()->status == DYING) explore__schedule();
}

void explore_may_die(int number)
{
    explore__e.thread[number].may_die = true;
}

void explore_kill(int number)
{
    thread *t = &explore__e.thread[number];
    if (!has_ended(t)) t->status = DYING;
}

bool explore_has_ended(int number)
{
    bool is_over = has_ended(&explore__e.thread[number]);
    explore__self()->history = explore__mix(explore__self()->history, is_over);
    return is_over;
}

bool explore_is_dead(int number)
{
    bool is_dead = explore__e.thread[number].status == DEAD;
    explore__self()->history = explore__mix(explore__self()->history, is_dead);
    return is_dead;
}

void explore__trace(const char *what, uintptr_t address, uint64_t bits, uintptr_t where)
{
    char text[128];
    if (!explore__e.is_traced || explore__e.n_steps > MOST_TRACED) return;
    explore__site_text(where, text, sizeof text);
    if (address == 0) fprintf(stderr, "  thread %d: %s\n", explore__e.now, what);
    else
        fprintf(stderr, "  thread %d: %-10s word %-3u %" PRIx64 "  %s\n", explore__e.now, what,
                explore__word_at(address, 1), bits, text);
}
