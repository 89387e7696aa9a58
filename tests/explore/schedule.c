/* tests/explore/schedule.c - coroutines, choices, and who goes on; see state.h. */
#define _GNU_SOURCE
#include "state.h"

#include <inttypes.h>
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
    if (i >= MOST_CHOICES) explore__fail("too many choices in one run");
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

static uint64_t state_now(void)
{
    uint64_t sum = explore__e.scenario->n_preemptions == 0
                       ? 1
                       : explore__mix(explore__e.n_preempted, (uint64_t)explore__e.now);
    for (unsigned i = 0; i < explore__e.n_threads; i++) {
        const thread *t = &explore__e.thread[i];
        uint64_t h =
            explore__mix(t->history, (uint64_t)t->status * 4 + t->is_soft * 2 + t->is_repeating);
        sum += explore__mix(explore__mix(h, t->status == RUNNING ? 0 : t->waits_for), i);
    }
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

static bool can_go_on(const thread *t)
{
    switch (t->status) {
    case RUNNING: return true;
    case WANTS_LOCK: return explore__e.word[explore__word_at(t->waits_for, 1)].holder < 0;
    case JOINING: return explore__e.thread[t->joins].status == ENDED;
    case AWAITS_NEWS: return has_news(t);
    default: return false;
    }
}

static void report_hang(void)
{
    char text[200] = "";
    size_t at = 0;
    static const char *const names[] = {"runs",   "wants a lock",         "joins",
                                        "sleeps", "waits on a condition", "spins",
                                        "ended"};
    for (unsigned i = 0; i < explore__e.n_threads; i++)
        if (explore__e.thread[i].status == AWAITS_NEWS && explore__e.thread[i].is_soft)
            explore__leave_run();
    for (unsigned i = 0; i < explore__e.n_threads; i++)
        at += (size_t)snprintf(text + at, at < sizeof text ? sizeof text - at : 0, " %u %s;", i,
                               names[explore__e.thread[i].status]);
    explore__fail("nobody can go on:%s", text);
}

/* Chooses who goes on, and returns when that is the caller. */
void explore__schedule(void)
{
    int able[T];
    unsigned n = 0;
    bool all_ended = true;
    if (++explore__e.n_steps > 20000) explore__fail("a run that does not end");
    for (unsigned i = 0; i < explore__e.n_threads; i++) {
        all_ended &= explore__e.thread[i].status == ENDED;
        if (can_go_on(&explore__e.thread[i])) able[n++] = (int)i;
    }
    if (all_ended) {
        explore__e.n_ends++;
        explore__leave_run();
    }
    if (n == 0) report_hang();
    bool is_bounded = explore__e.scenario->n_preemptions > 0, may_stay = can_go_on(explore__self());
    if (is_bounded && may_stay && explore__e.n_preempted == explore__e.scenario->n_preemptions) {
        able[0] = explore__e.now;
        n = 1;
    }
    if (!explore__e.is_random && explore__e.position >= explore__e.n_prefix &&
        add_state(state_now()))
        explore__leave_run();
    int next = able[explore__choose(n)];
    explore__e.n_preempted += is_bounded && may_stay && next != explore__e.now;
    switch_to(next);
}

void explore__trace(const char *what, uintptr_t address, uint64_t bits, uintptr_t where)
{
    char text[128];
    if (!explore__e.is_traced || explore__e.n_steps > MOST_TRACED) return;
    explore__site_text(where, text, sizeof text);
    fprintf(stderr, "  thread %d: %-10s word %-3u %" PRIx64 "  %s\n", explore__e.now, what,
            explore__word_at(address, 1), bits, text);
}
