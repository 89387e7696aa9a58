/* tests/explore/explorer.c - see explorer.h. */
#define _GNU_SOURCE
#include "explorer.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#ifndef __x86_64__
#include <ucontext.h>
#endif

enum {
    T = EXPLORE_MOST_THREADS,
    MOST_WORDS = 128, /* atomic words and locks */
    MOST_VALUES = 96, /* of one word */
    MOST_CHOICES = 1 << 14,
    MOST_SITES = 256,
    MOST_SEEN = 24, /* loads of a thread that waits awake */
    MOST_SAME = 3000,
    MOST_TRACED = 300, /* steps of a run that failed, printed */
    STACK_BYTES = 1 << 17,
    ARENA_BYTES = 1 << 21
};

/* ---- the memory model ---- */

typedef struct view { /* what a thread, or who reads a value, knows of */
    uint16_t clock[T];
    uint8_t at_least[MOST_WORDS]; /* the oldest value of each word that may still be read */
} view;

typedef struct value {
    uint64_t bits;
    uint64_t identity; /* who wrote it, knowing what */
    view released;
} value;

typedef struct word {
    uintptr_t address;
    unsigned size, n_values;
    unsigned oldest;    /* plain stores before it: no older one may be read */
    int last_seq_cst;   /* -1: none */
    uint64_t order;     /* of its values or, of a lock, of its holders */
    uint16_t atomic[T]; /* clock of each thread's last access */
    bool is_plain;      /* written by a plain store since */
    int holder;         /* of a lock: thread, or -1 */
    view released;      /* of a lock */
    value value[MOST_VALUES];
} word;

typedef enum { RUNNING, WANTS_LOCK, JOINING, ASLEEP, ON_CONDITION, AWAITS_NEWS, ENDED } status;

typedef struct seen { /* a load and what it gave */
    uintptr_t site;
    unsigned word, index;
} seen;

typedef struct thread {
    status status;
    bool is_soft;      /* AWAITS_NEWS: the choice to go on is made elsewhere */
    bool is_repeating; /* every load gives what it gave before */
    unsigned n_same, n_seen;
    seen seen[MOST_SEEN];
    uintptr_t waits_for; /* lock, futex or condition */
    uintptr_t lock;      /* to be taken again behind a condition */
    int joins;
    uint64_t history;
    view view;
    void (*body)(void *);
    void *(*posix_body)(void *);
    void *argument;
#ifdef __x86_64__
    void *stack_pointer;
#else
    ucontext_t context;
#endif
} thread;

typedef struct shadow { /* of one byte of the arena */
    uint32_t run;
    uint16_t write_clock, read_clock[T];
    uint8_t writer, word; /* word + 1 */
} shadow;

typedef enum {
    WEAKER_THAN_SEQ_CST,
    NO_ACQUIRE,
    NO_RELEASE,
    NOT_ATOMIC,
    NO_WAKE,
    NO_LOCK,
    N_KINDS
} kind;
static const char *const kind_name[] = {"not seq_cst", "no acquire", "no release",
                                        "not atomic",  "no wake-up", "no lock"};

typedef struct site {
    uintptr_t address;
    bool has[N_KINDS];
} site;

static struct {
    const explore_scenario *scenario;
    /* of all runs of a scenario */
    uint16_t chosen[MOST_CHOICES], n_options[MOST_CHOICES];
    unsigned n_prefix, n_choices, position;
    uint64_t *table, table_size, n_states, n_runs, n_ends;
    site site[MOST_SITES];
    unsigned n_sites;
    bool notes_sites, is_traced, is_random;
    uint64_t random;
    kind mutant;
    uintptr_t mutated; /* 0: none */
    char failure[256];
    /* of one run */
    uint32_t run;
    bool is_on, is_over, has_failed;
    unsigned n_threads, n_words, n_steps, n_preempted;
    int now;
    size_t used;
    thread thread[T];
    word word[MOST_WORDS];
    shadow shadow[ARENA_BYTES];
#ifdef __x86_64__
    void *controller;
#else
    ucontext_t controller;
#endif
} e;
static _Alignas(64) char arena[ARENA_BYTES];
static char *stacks;

static uint64_t mix(uint64_t a, uint64_t b)
{
    a ^= b + UINT64_C(0x9e3779b97f4a7c15) + (a << 6) + (a >> 2);
    a ^= a >> 32;
    a *= UINT64_C(0xd6e8feb86659fd93);
    return a ^ a >> 29;
}

static thread *self(void)
{
    return &e.thread[e.now];
}

static void learn(view *to, const view *from)
{
    for (unsigned i = 0; i < e.n_threads; i++)
        if (from->clock[i] > to->clock[i]) to->clock[i] = from->clock[i];
    for (unsigned i = 0; i < e.n_words; i++)
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

static void leave_run(void);
static void schedule(void);

static void thread_main(void)
{
    thread *t = self();
    t->history = mix(t->history, UINT64_C(0x44));
    if (t->posix_body != NULL) (void)t->posix_body(t->argument);
    else t->body(t->argument);
    t->status = ENDED;
    t->history = mix(t->history, ENDED);
    schedule();
    abort();
}

static void prepare(int i)
{
    thread *t = &e.thread[i];
    char *stack = stacks + (size_t)i * STACK_BYTES;
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
    int from = e.now;
    if (i == from) return;
    e.now = i;
#ifdef __x86_64__
    explore_switch(&e.thread[from].stack_pointer, e.thread[i].stack_pointer);
#else
    swapcontext(&e.thread[from].context, &e.thread[i].context);
#endif
}

/* Nobody comes back to this run. */
static void leave_run(void)
{
    e.is_over = true;
#ifdef __x86_64__
    void *nowhere;
    explore_switch(&nowhere, e.controller);
#else
    setcontext(&e.controller);
#endif
    abort();
}

static void __attribute__((format(printf, 1, 2))) fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(e.failure, sizeof e.failure, format, arguments);
    va_end(arguments);
    e.has_failed = true;
    if (e.is_on) leave_run();
}

void explore_check(bool is_true, const char *what)
{
    if (!is_true) fail("check failed: %s", what);
}

/* ---- choices ---- */

static unsigned choose(unsigned n)
{
    if (n <= 1) return 0;
    if (e.is_random) {
        e.random ^= e.random << 13, e.random ^= e.random >> 7, e.random ^= e.random << 17;
        return (unsigned)((e.random >> 20) % n);
    }
    unsigned i = e.position++;
    if (i >= MOST_CHOICES) fail("too many choices in one run");
    if (i >= e.n_prefix) {
        e.chosen[i] = 0;
        e.n_options[i] = (uint16_t)n;
        e.n_choices = i + 1;
    } else if (e.n_options[i] != n) {
        fprintf(stderr, "explorer: a run is not the same as before: %u choices for %u\n", n,
                e.n_options[i]);
        abort();
    }
    return e.chosen[i];
}

/* The next run's prefix; false: all is done. */
static bool advance(void)
{
    while (e.n_choices > 0) {
        unsigned last = e.n_choices - 1;
        if (++e.chosen[last] < e.n_options[last]) {
            e.n_prefix = e.n_choices;
            return true;
        }
        e.n_choices--;
    }
    return false;
}

static uint64_t state_now(void)
{
    uint64_t sum = e.scenario->n_preemptions == 0 ? 1 : mix(e.n_preempted, (uint64_t)e.now);
    for (unsigned i = 0; i < e.n_threads; i++) {
        const thread *t = &e.thread[i];
        uint64_t h = mix(t->history, (uint64_t)t->status * 4 + t->is_soft * 2 + t->is_repeating);
        sum += mix(mix(h, t->status == RUNNING ? 0 : t->waits_for), i);
    }
    for (unsigned i = 0; i < e.n_words; i++)
        sum += mix(mix(e.word[i].order, e.word[i].address), (uint64_t)e.word[i].holder + 7);
    return sum | 1;
}

/* True: it was there. */
static bool add_state(uint64_t state)
{
    if (2 * e.n_states >= e.table_size) {
        uint64_t *old = e.table, old_size = e.table_size;
        e.table_size = old_size == 0 ? 1 << 16 : 2 * old_size;
        e.table = mmap(NULL, e.table_size * sizeof *e.table, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (e.table == MAP_FAILED) abort();
        for (uint64_t i = 0; i < old_size; i++) {
            if (old[i] == 0) continue;
            uint64_t k = old[i] >> 7 & (e.table_size - 1);
            while (e.table[k] != 0) k = (k + 1) & (e.table_size - 1);
            e.table[k] = old[i];
        }
        if (old != NULL) munmap(old, old_size * sizeof *old);
    }
    uint64_t k = state >> 7 & (e.table_size - 1);
    for (; e.table[k] != 0; k = (k + 1) & (e.table_size - 1))
        if (e.table[k] == state) return true;
    e.table[k] = state;
    e.n_states++;
    return false;
}

/* ---- words ---- */

static uint64_t load_bits(uintptr_t address, unsigned size)
{
    switch (size) {
    case 1: return *(const uint8_t *)address;
    case 2: return *(const uint16_t *)address;
    case 4: return *(const uint32_t *)address;
    default: return *(const uint64_t *)address;
    }
}

static void store_bits(uintptr_t address, unsigned size, uint64_t bits)
{
    switch (size) {
    case 1: *(uint8_t *)address = (uint8_t)bits; break;
    case 2: *(uint16_t *)address = (uint16_t)bits; break;
    case 4: *(uint32_t *)address = (uint32_t)bits; break;
    default: *(uint64_t *)address = bits;
    }
}

static shadow *shadow_of(uintptr_t address)
{
    uintptr_t begin = (uintptr_t)arena;
    if (address < begin || address >= begin + ARENA_BYTES) return NULL;
    shadow *s = &e.shadow[address - begin];
    if (s->run != e.run) *s = (shadow){.run = e.run};
    return s;
}

static unsigned word_at(uintptr_t address, unsigned size)
{
    shadow *s = shadow_of(address);
    if (s != NULL && s->word != 0) return s->word - 1u;
    for (unsigned i = 0; s == NULL && i < e.n_words; i++)
        if (e.word[i].address == address) return i;
    if (e.n_words == MOST_WORDS) fail("too many atomic words");
    word *w = &e.word[e.n_words];
    w->address = address;
    w->size = size;
    w->n_values = 1;
    w->oldest = 0;
    w->last_seq_cst = -1;
    w->order = 0;
    memset(w->atomic, 0, sizeof w->atomic);
    w->is_plain = false;
    w->holder = -1;
    memset(&w->released, 0, sizeof w->released);
    w->value[0].bits = load_bits(address, size);
    w->value[0].identity = 0;
    memset(&w->value[0].released, 0, sizeof w->value[0].released);
    for (unsigned i = 0; s != NULL && i < size; i++)
        shadow_of(address + i)->word = (uint8_t)(e.n_words + 1);
    return e.n_words++;
}

static void renew(unsigned i) /* behind a plain store */
{
    word *w = &e.word[i];
    if (!w->is_plain) return;
    w->is_plain = false;
    w->n_values = 1;
    w->oldest = 0;
    w->value[0].bits = load_bits(w->address, w->size);
    w->value[0].identity = mix(w->order, 1);
    memset(&w->value[0].released, 0, sizeof w->value[0].released);
    for (unsigned t = 0; t < T; t++) e.thread[t].view.at_least[i] = 0;
    w->last_seq_cst = -1;
}

static void site_text(uintptr_t address, char *text, size_t size);

static void report_race(uintptr_t address, const char *what, uintptr_t where)
{
    char text[128];
    site_text(where, text, sizeof text);
    fail("data race: %s at +%zu, in %s", what, (size_t)(address - (uintptr_t)arena), text);
}

static bool is_word(uintptr_t address)
{
    const shadow *s = shadow_of(address);
    return s != NULL && s->word != 0;
}

static void plain(uintptr_t address, size_t size, bool is_write, uintptr_t where)
{
    if (!e.is_on) return;
    /* Before there were others; but for a plain store to an atomic. */
    if (e.n_threads == 1 && (size > 8 || e.n_words == 0 || !is_word(address))) return;
    const view *mine = &self()->view;
    for (size_t i = 0; i < size; i++) {
        shadow *s = shadow_of(address + i);
        if (s == NULL) return;
        if (s->write_clock > mine->clock[s->writer])
            report_race(address + i, "plain access", where);
        if (s->word != 0) {
            word *w = &e.word[s->word - 1];
            for (unsigned t = 0; t < e.n_threads; t++)
                if (w->atomic[t] > mine->clock[t])
                    report_race(address + i, "plain access to an atomic", where);
            if (is_write) {
                w->is_plain = true;
                w->order = mix(w->order, self()->history);
            }
        }
        if (is_write) {
            for (unsigned t = 0; t < e.n_threads; t++)
                if (s->read_clock[t] > mine->clock[t]) report_race(address + i, "write", where);
            s->write_clock = mine->clock[e.now];
            s->writer = (uint8_t)e.now;
        } else {
            s->read_clock[e.now] = mine->clock[e.now];
        }
    }
}

/* An atomic access must come behind plain stores. */
static void check_atomic(word *w, uintptr_t where)
{
    const view *mine = &self()->view;
    const shadow *s = shadow_of(w->address);
    if (s != NULL && s->write_clock > mine->clock[s->writer])
        report_race(w->address, "atomic access to a plain store", where);
    w->atomic[e.now] = mine->clock[e.now];
}

/* ---- planted mistakes ---- */

static bool is_mutated(uintptr_t where, kind k)
{
    if (e.notes_sites) {
        unsigned i = 0;
        while (i < e.n_sites && e.site[i].address != where) i++;
        if (i == MOST_SITES) abort();
        if (i == e.n_sites) e.site[e.n_sites++] = (site){.address = where};
        e.site[i].has[k] = true;
    }
    return e.mutated == where && e.mutant == k;
}

/* An order as bits. */
enum { ACQUIRES = 1, RELEASES = 2, SEQ_CST = 4 };

static unsigned order_of(int order, bool reads, bool writes, uintptr_t where)
{
    unsigned bits = 0;
    if (order == __ATOMIC_SEQ_CST) bits = SEQ_CST | ACQUIRES | RELEASES;
    else if (order == __ATOMIC_ACQ_REL) bits = ACQUIRES | RELEASES;
    else if (order == __ATOMIC_ACQUIRE || order == __ATOMIC_CONSUME) bits = ACQUIRES;
    else if (order == __ATOMIC_RELEASE) bits = RELEASES;
    if (!reads) bits &= ~(unsigned)ACQUIRES;
    if (!writes) bits &= ~(unsigned)RELEASES;
    if (bits & SEQ_CST && is_mutated(where, WEAKER_THAN_SEQ_CST)) bits &= ~(unsigned)SEQ_CST;
    if (bits & ACQUIRES && is_mutated(where, NO_ACQUIRE)) bits &= ~(unsigned)(ACQUIRES | SEQ_CST);
    if (bits & RELEASES && is_mutated(where, NO_RELEASE)) bits &= ~(unsigned)(RELEASES | SEQ_CST);
    return bits;
}

/* ---- who goes on ---- */

static bool has_news(const thread *t)
{
    for (unsigned i = 0; i < t->n_seen; i++)
        if (e.word[t->seen[i].word].n_values - 1 > t->seen[i].index) return true;
    return false;
}

static bool can_go_on(const thread *t)
{
    switch (t->status) {
    case RUNNING: return true;
    case WANTS_LOCK: return e.word[word_at(t->waits_for, 1)].holder < 0;
    case JOINING: return e.thread[t->joins].status == ENDED;
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
    for (unsigned i = 0; i < e.n_threads; i++)
        if (e.thread[i].status == AWAITS_NEWS && e.thread[i].is_soft) leave_run();
    for (unsigned i = 0; i < e.n_threads; i++)
        at += (size_t)snprintf(text + at, at < sizeof text ? sizeof text - at : 0, " %u %s;", i,
                               names[e.thread[i].status]);
    fail("nobody can go on:%s", text);
}

/* Chooses who goes on, and returns when that is the caller. */
static void schedule(void)
{
    int able[T];
    unsigned n = 0;
    bool all_ended = true;
    if (++e.n_steps > 1000) fail("a run that does not end");
    for (unsigned i = 0; i < e.n_threads; i++) {
        all_ended &= e.thread[i].status == ENDED;
        if (can_go_on(&e.thread[i])) able[n++] = (int)i;
    }
    if (all_ended) {
        e.n_ends++;
        leave_run();
    }
    if (n == 0) report_hang();
    bool is_bounded = e.scenario->n_preemptions > 0, may_stay = can_go_on(self());
    if (is_bounded && may_stay && e.n_preempted == e.scenario->n_preemptions) {
        able[0] = e.now;
        n = 1;
    }
    if (!e.is_random && e.position >= e.n_prefix && add_state(state_now())) leave_run();
    int next = able[choose(n)];
    e.n_preempted += is_bounded && may_stay && next != e.now;
    switch_to(next);
}

static void trace(const char *what, uintptr_t address, uint64_t bits, uintptr_t where)
{
    char text[128];
    if (!e.is_traced || e.n_steps > MOST_TRACED) return;
    site_text(where, text, sizeof text);
    fprintf(stderr, "  thread %d: %-10s word %-3u %" PRIx64 "  %s\n", e.now, what,
            word_at(address, 1), bits, text);
}

/* ---- atomic accesses ---- */

static void forget(thread *t)
{
    t->n_seen = 0;
    t->is_repeating = false;
    t->n_same = 0;
}

static seen *find_seen(thread *t, uintptr_t where, unsigned i)
{
    for (unsigned k = 0; k < t->n_seen; k++)
        if (t->seen[k].site == where && t->seen[k].word == i) return &t->seen[k];
    return NULL;
}

/* Waiting awake: the same loads have given the same values.  Either the thread goes on with those
 * for as long as it likes, or it goes on when there is something new to be read, which it then
 * reads. */
static void wait_for_news(thread *t, bool is_soft)
{
    t->status = AWAITS_NEWS;
    t->is_soft = is_soft;
    t->waits_for = 0;
    schedule();
    t->status = RUNNING;
    t->is_soft = false;
    for (unsigned k = 0; k < t->n_seen; k++) {
        unsigned i = t->seen[k].word, next = t->seen[k].index + 1;
        if (e.word[i].n_values > next && t->view.at_least[i] < next)
            t->view.at_least[i] = (uint8_t)next;
    }
    t->history = mix(t->history, UINT64_C(0x77));
    forget(t);
}

/* True: *index is what this load gave before, and gives again. */
static bool repeats(unsigned i, uintptr_t where, unsigned *index)
{
    thread *t = self();
    seen *s = find_seen(t, where, i);
    if (s == NULL || t->view.at_least[i] > s->index) { /* something new */
        if (t->is_repeating || s != NULL) forget(t);
        return false;
    }
    if (!t->is_repeating) {
        if (e.scenario->spins_for_ever) {
            wait_for_news(t, false);
            return false;
        }
        if (choose(2) == 0) {
            wait_for_news(t, true);
            return false;
        }
        t->is_repeating = true;
        t->history = mix(t->history, UINT64_C(0x99));
    }
    *index = s->index;
    if (++t->n_same <= MOST_SAME) return true;
    wait_for_news(t, false);
    return false;
}

static void note_seen(unsigned i, uintptr_t where, unsigned index)
{
    thread *t = self();
    if (t->n_seen == MOST_SEEN) forget(t);
    t->seen[t->n_seen++] = (seen){.site = where, .word = i, .index = index};
}

static unsigned oldest_of(const word *w, unsigned i, unsigned order)
{
    unsigned oldest = self()->view.at_least[i];
    if (oldest < w->oldest) oldest = w->oldest;
    if (order & SEQ_CST && w->last_seq_cst > (int)oldest) oldest = (unsigned)w->last_seq_cst;
    return oldest;
}

static void take_over(word *w, unsigned i, unsigned index, unsigned order)
{
    thread *t = self();
    if (t->view.at_least[i] < index) t->view.at_least[i] = (uint8_t)index;
    if (order & ACQUIRES) learn(&t->view, &w->value[index].released);
    t->history = mix(mix(t->history, w->address), w->value[index].identity);
    t->view.clock[e.now]++;
}

static void append(word *w, unsigned i, uint64_t bits, unsigned order, const view *sequence)
{
    thread *t = self();
    if (w->n_values == MOST_VALUES) fail("too many values of one word");
    unsigned index = w->n_values++;
    value *v = &w->value[index];
    t->view.at_least[i] = (uint8_t)index;
    t->history = mix(t->history, w->address + 1);
    v->bits = bits;
    v->identity = mix(t->history, (uint64_t)e.now);
    if (order & RELEASES) v->released = t->view;
    else memset(&v->released, 0, sizeof v->released);
    v->released.at_least[i] = (uint8_t)index;
    if (sequence != NULL) learn(&v->released, sequence);
    if (order & SEQ_CST) w->last_seq_cst = (int)index;
    w->order = mix(w->order, v->identity);
    store_bits(w->address, w->size, bits);
    t->view.clock[e.now]++;
    forget(t);
}

static uint64_t atomic_load_at(uintptr_t address, unsigned size, int mo, uintptr_t where)
{
    if (!e.is_on) return load_bits(address, size);
    thread *t = self();
    if (t->is_repeating && t->seen[0].site == where && e.word[t->seen[0].word].address == address &&
        ++t->n_same <= MOST_SAME)
        return e.word[t->seen[0].word].value[t->seen[0].index].bits; /* the most common case */
    unsigned i = word_at(address, size), index;
    unsigned order = order_of(mo, true, false, where);
    renew(i);
    word *w = &e.word[i];
    if (repeats(i, where, &index)) return w->value[index].bits;
    schedule();
    check_atomic(w, where);
    unsigned oldest = oldest_of(w, i, order), newest = w->n_values - 1;
    index = newest - choose(newest - oldest + 1);
    take_over(w, i, index, order);
    note_seen(i, where, index);
    trace("load", address, w->value[index].bits, where);
    return w->value[index].bits;
}

static void atomic_store_at(uintptr_t address, unsigned size, uint64_t bits, int mo,
                            uintptr_t where)
{
    if (!e.is_on) {
        store_bits(address, size, bits);
        return;
    }
    unsigned i = word_at(address, size), order = order_of(mo, false, true, where);
    schedule();
    renew(i);
    check_atomic(&e.word[i], where);
    trace("store", address, bits, where);
    append(&e.word[i], i, bits, order, NULL);
}

typedef enum { EXCHANGE, ADD, SUBTRACT, AND, OR, XOR, NAND } change;

static uint64_t changed(change c, uint64_t was, uint64_t by)
{
    switch (c) {
    case ADD: return was + by;
    case SUBTRACT: return was - by;
    case AND: return was & by;
    case OR: return was | by;
    case XOR: return was ^ by;
    case NAND: return ~(was & by);
    default: return by;
    }
}

static uint64_t masked(uint64_t bits, unsigned size)
{
    return size == 8 ? bits : bits & ((UINT64_C(1) << 8 * size) - 1);
}

static uint64_t atomic_change_at(uintptr_t address, unsigned size, change c, uint64_t by, int mo,
                                 uintptr_t where)
{
    if (!e.is_on) {
        uint64_t was = load_bits(address, size), bits = masked(changed(c, was, by), size);
        store_bits(address, size, bits);
        return was;
    }
    unsigned i = word_at(address, size), order = order_of(mo, true, true, where);
    bool is_split = is_mutated(where, NOT_ATOMIC);
    schedule();
    renew(i);
    word *w = &e.word[i];
    check_atomic(w, where);
    unsigned index = w->n_values - 1;
    take_over(w, i, index, order);
    uint64_t was = w->value[index].bits;
    view sequence = w->value[index].released;
    if (is_split) schedule(); /* others change it between the load and the store */
    append(w, i, masked(changed(c, was, by), size), order, &sequence);
    trace("change", address, w->value[w->n_values - 1].bits, where);
    return was;
}

/* Candidates: those that equal `expected`, if the newest does, are one (the newest); each older one
 * that differs is a failure. */
static bool atomic_swap_at(uintptr_t address, unsigned size, uint64_t *expected, uint64_t bits,
                           int mo, int mo_fail, uintptr_t where)
{
    if (!e.is_on) {
        uint64_t was = load_bits(address, size);
        if (was == *expected) store_bits(address, size, bits);
        bool is_same = was == *expected;
        *expected = was;
        return is_same;
    }
    unsigned i = word_at(address, size), order = order_of(mo, true, true, where), index;
    bool is_split = is_mutated(where, NOT_ATOMIC);
    /* The failure's order counts as part of the same mistake. */
    unsigned order_fail = mo_fail == __ATOMIC_RELAXED ? 0 : order & (unsigned)~RELEASES;
    renew(i);
    word *w = &e.word[i];
    if (repeats(i, where, &index) && w->value[index].bits != *expected) {
        *expected = w->value[index].bits;
        return false;
    }
    schedule();
    check_atomic(w, where);
    unsigned newest = w->n_values - 1, n = 0, which[MOST_VALUES];
    unsigned oldest = oldest_of(w, i, order_fail);
    for (unsigned k = newest + 1; k-- > oldest;) {
        bool is_same = w->value[k].bits == *expected;
        if (!is_same || k == newest) which[n++] = k;
    }
    index = which[choose(n)];
    if (w->value[index].bits != *expected) {
        take_over(w, i, index, order_fail);
        note_seen(i, where, index);
        *expected = w->value[index].bits;
        trace("no swap", address, *expected, where);
        return false;
    }
    take_over(w, i, index, order);
    view sequence = w->value[index].released;
    if (is_split) schedule();
    append(w, i, bits, order, &sequence);
    trace("swap", address, bits, where);
    return true;
}

/* ---- what -fsanitize=thread calls ---- */

#define HERE ((uintptr_t)__builtin_return_address(0))
#define PLAIN(size)                                                                                \
    void __tsan_read##size(void *p);                                                               \
    void __tsan_write##size(void *p);                                                              \
    void __tsan_unaligned_read##size(void *p);                                                     \
    void __tsan_unaligned_write##size(void *p);                                                    \
    void __tsan_read##size(void *p)                                                                \
    {                                                                                              \
        plain((uintptr_t)p, size, false, HERE);                                                    \
    }                                                                                              \
    void __tsan_write##size(void *p)                                                               \
    {                                                                                              \
        plain((uintptr_t)p, size, true, HERE);                                                     \
    }                                                                                              \
    void __tsan_unaligned_read##size(void *p)                                                      \
    {                                                                                              \
        plain((uintptr_t)p, size, false, HERE);                                                    \
    }                                                                                              \
    void __tsan_unaligned_write##size(void *p)                                                     \
    {                                                                                              \
        plain((uintptr_t)p, size, true, HERE);                                                     \
    }
PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)

#define CHANGE(bits, type, name, what)                                                             \
    type __tsan_atomic##bits##_##name(volatile type *p, type v, int mo);                           \
    type __tsan_atomic##bits##_##name(volatile type *p, type v, int mo)                            \
    {                                                                                              \
        return (type)atomic_change_at((uintptr_t)p, sizeof *p, what, v, mo, HERE);                 \
    }
#define SWAP(bits, type, name)                                                                     \
    int __tsan_atomic##bits##_compare_exchange_##name(volatile type *p, type *was, type v, int mo, \
                                                      int mo_fail);                                \
    int __tsan_atomic##bits##_compare_exchange_##name(volatile type *p, type *was, type v, int mo, \
                                                      int mo_fail)                                 \
    {                                                                                              \
        uint64_t expected = *was;                                                                  \
        bool is_done = atomic_swap_at((uintptr_t)p, sizeof *p, &expected, v, mo, mo_fail, HERE);   \
        if (!is_done) *was = (type)expected;                                                       \
        return is_done;                                                                            \
    }
#define ATOMIC(bits, type)                                                                         \
    type __tsan_atomic##bits##_load(const volatile type *p, int mo);                               \
    void __tsan_atomic##bits##_store(volatile type *p, type v, int mo);                            \
    type __tsan_atomic##bits##_load(const volatile type *p, int mo)                                \
    {                                                                                              \
        return (type)atomic_load_at((uintptr_t)p, sizeof *p, mo, HERE);                            \
    }                                                                                              \
    void __tsan_atomic##bits##_store(volatile type *p, type v, int mo)                             \
    {                                                                                              \
        atomic_store_at((uintptr_t)p, sizeof *p, v, mo, HERE);                                     \
    }                                                                                              \
    CHANGE(bits, type, exchange, EXCHANGE)                                                         \
    CHANGE(bits, type, fetch_add, ADD)                                                             \
    CHANGE(bits, type, fetch_sub, SUBTRACT)                                                        \
    CHANGE(bits, type, fetch_and, AND)                                                             \
    CHANGE(bits, type, fetch_or, OR)                                                               \
    CHANGE(bits, type, fetch_xor, XOR)                                                             \
    CHANGE(bits, type, fetch_nand, NAND)                                                           \
    SWAP(bits, type, strong)                                                                       \
    SWAP(bits, type, weak)
ATOMIC(8, uint8_t)
ATOMIC(16, uint16_t)
ATOMIC(32, uint32_t)
ATOMIC(64, uint64_t)

void __tsan_init(void);
void __tsan_func_entry(void *p);
void __tsan_func_exit(void);
void __tsan_read_range(void *p, unsigned long n);
void __tsan_write_range(void *p, unsigned long n);
void __tsan_atomic_thread_fence(int mo);
void __tsan_atomic_signal_fence(int mo);
void __tsan_init(void)
{
}
void __tsan_func_entry(void *p)
{
    (void)p;
}
void __tsan_func_exit(void)
{
}
void __tsan_read_range(void *p, unsigned long n)
{
    plain((uintptr_t)p, n, false, HERE);
}
void __tsan_write_range(void *p, unsigned long n)
{
    plain((uintptr_t)p, n, true, HERE);
}
void __tsan_atomic_thread_fence(int mo)
{
    (void)mo;
    fail("a fence, of which the explorer does not know");
}
void __tsan_atomic_signal_fence(int mo)
{
    (void)mo;
}

/* ---- in the place of the C library (linked with --wrap) ---- */

#define WRAP(type, name, ...)                                                                      \
    type __real_##name(__VA_ARGS__);                                                               \
    type __wrap_##name(__VA_ARGS__);                                                               \
    type __wrap_##name(__VA_ARGS__)

WRAP(void *, memcpy, void *restrict to, const void *restrict from, size_t n)
{
    plain((uintptr_t)from, n, false, HERE);
    plain((uintptr_t)to, n, true, HERE);
    return __real_memcpy(to, from, n);
}

WRAP(void *, memset, void *to, int byte, size_t n)
{
    plain((uintptr_t)to, n, true, HERE);
    return __real_memset(to, byte, n);
}

static void *from_arena(size_t size, size_t alignment)
{
    e.used = (e.used + alignment - 1) / alignment * alignment;
    if (e.used + size > ARENA_BYTES) fail("the arena is full");
    void *p = arena + e.used;
    e.used += size;
    return p;
}

static bool is_in_arena(const void *p)
{
    return (const char *)p >= arena && (const char *)p < arena + ARENA_BYTES;
}

WRAP(void *, malloc, size_t n)
{
    return e.is_on ? from_arena(n, 16) : __real_malloc(n);
}
WRAP(void *, aligned_alloc, size_t alignment, size_t n)
{
    return e.is_on ? from_arena(n, alignment) : __real_aligned_alloc(alignment, n);
}
WRAP(void *, calloc, size_t n, size_t size)
{
    if (!e.is_on) return __real_calloc(n, size);
    return __real_memset(from_arena(n * size, 16), 0, n * size);
}
/* Freeing is a store: who still uses the memory races with it. */
WRAP(void, free, void *p)
{
    if (!is_in_arena(p)) __real_free(p);
}

WRAP(int, clock_gettime, clockid_t id, struct timespec *out)
{
    if (!e.is_on) return __real_clock_gettime(id, out);
    *out = (struct timespec){.tv_sec = 1000};
    return 0;
}

WRAP(long, sysconf, int name)
{
    return name == _SC_NPROCESSORS_ONLN ? 1 : __real_sysconf(name);
}

static void pause_here(void)
{
    if (!e.is_on || self()->n_seen > 0) return; /* who waits awake: at its loads */
    schedule();
    self()->history = mix(self()->history, UINT64_C(0x11));
}
WRAP(int, sched_yield, void)
{
    pause_here();
    return 0;
}
WRAP(int, nanosleep, const struct timespec *time, struct timespec *rest)
{
    if (!e.is_on) return __real_nanosleep(time, rest);
    pause_here();
    return 0;
}

/* -- threads -- */

static int spawn(void (*body)(void *), void *(*posix_body)(void *), void *argument)
{
    if (e.n_threads == T) fail("too many threads");
    int i = (int)e.n_threads++;
    thread *t = &e.thread[i], *me = self();
    me->view.clock[e.now]++;
    memset(t, 0, sizeof *t);
    t->body = body;
    t->posix_body = posix_body;
    t->argument = argument;
    t->view = me->view;
    t->view.clock[i] = 1;
    t->history = mix(me->history, (uint64_t)i);
    me->history = mix(me->history, UINT64_C(0x55));
    prepare(i);
    return i;
}

static void join(int i)
{
    thread *me = self();
    forget(me);
    me->status = JOINING;
    me->joins = i;
    me->waits_for = (uintptr_t)i;
    schedule();
    me->status = RUNNING;
    learn(&me->view, &e.thread[i].view);
    me->history = mix(me->history, e.thread[i].history);
}

void explore_spawn(void (*body)(void *), void *argument)
{
    (void)spawn(body, NULL, argument);
}

void explore_join(int number)
{
    join(number);
}

void explore_join_all(void)
{
    for (unsigned i = 1; i < e.n_threads; i++) join((int)i);
}

WRAP(int, pthread_create, pthread_t *out, const pthread_attr_t *how, void *(*body)(void *),
     void *argument)
{
    if (!e.is_on) return __real_pthread_create(out, how, body, argument);
    *out = (pthread_t)spawn(NULL, body, argument);
    return 0;
}
WRAP(int, pthread_join, pthread_t t, void **result)
{
    if (!e.is_on) return __real_pthread_join(t, result);
    join((int)t);
    return 0;
}

/* -- locks -- */

static void take_lock(uintptr_t address, uintptr_t where)
{
    thread *me = self();
    forget(me);
    if (is_mutated(where, NO_LOCK)) {
        schedule();
        me->history = mix(me->history, address);
        return;
    }
    me->status = WANTS_LOCK;
    me->waits_for = address;
    unsigned i = word_at(address, 1);
    schedule();
    me->status = RUNNING;
    word *w = &e.word[i];
    w->holder = e.now;
    learn(&me->view, &w->released);
    me->history = mix(mix(me->history, address), w->order);
    w->order = mix(w->order, me->history);
    me->view.clock[e.now]++;
    trace("lock", address, 0, where);
}

static void give_lock(uintptr_t address)
{
    word *w = &e.word[word_at(address, 1)];
    if (w->holder != e.now) return; /* a lock that was not taken */
    w->holder = -1;
    w->released = self()->view;
    self()->view.clock[e.now]++;
    trace("unlock", address, 0, 0);
}

WRAP(int, pthread_mutex_lock, pthread_mutex_t *m)
{
    if (!e.is_on) return __real_pthread_mutex_lock(m);
    take_lock((uintptr_t)m, HERE);
    return 0;
}
WRAP(int, pthread_mutex_timedlock, pthread_mutex_t *restrict m, const struct timespec *restrict t)
{
    if (!e.is_on) return __real_pthread_mutex_timedlock(m, t);
    take_lock((uintptr_t)m, HERE);
    return 0;
}
WRAP(int, pthread_mutex_trylock, pthread_mutex_t *m)
{
    if (!e.is_on) return __real_pthread_mutex_trylock(m);
    schedule();
    const word *w = &e.word[word_at((uintptr_t)m, 1)];
    self()->history = mix(self()->history, w->order + (w->holder >= 0));
    if (w->holder >= 0) return EBUSY;
    take_lock((uintptr_t)m, HERE);
    return 0;
}
WRAP(int, pthread_mutex_unlock, pthread_mutex_t *m)
{
    if (!e.is_on) return __real_pthread_mutex_unlock(m);
    give_lock((uintptr_t)m);
    return 0;
}

static int wait_on(pthread_cond_t *c, pthread_mutex_t *m)
{
    thread *me = self();
    forget(me);
    give_lock((uintptr_t)m);
    me->status = ON_CONDITION;
    me->waits_for = (uintptr_t)c;
    me->lock = (uintptr_t)m;
    me->history = mix(me->history, me->waits_for);
    schedule();
    me->status = RUNNING;
    word *w = &e.word[word_at((uintptr_t)m, 1)];
    w->holder = e.now;
    learn(&me->view, &w->released);
    me->history = mix(mix(me->history, (uintptr_t)m), w->order);
    w->order = mix(w->order, me->history);
    me->view.clock[e.now]++;
    return 0;
}

static void signal_on(pthread_cond_t *c, bool all, uintptr_t where)
{
    int who[T];
    unsigned n = 0;
    self()->history = mix(self()->history, (uintptr_t)c);
    if (is_mutated(where, NO_WAKE)) return;
    for (unsigned i = 0; i < e.n_threads; i++)
        if (e.thread[i].status == ON_CONDITION && e.thread[i].waits_for == (uintptr_t)c)
            who[n++] = (int)i;
    if (n > 0 && !all) who[0] = who[choose(n)], n = 1;
    for (unsigned i = 0; i < n; i++) {
        e.thread[who[i]].status = WANTS_LOCK;
        e.thread[who[i]].waits_for = e.thread[who[i]].lock;
    }
}

WRAP(int, pthread_cond_wait, pthread_cond_t *c, pthread_mutex_t *m)
{
    return e.is_on ? wait_on(c, m) : __real_pthread_cond_wait(c, m);
}
WRAP(int, pthread_cond_timedwait, pthread_cond_t *restrict c, pthread_mutex_t *restrict m,
     const struct timespec *restrict t)
{
    return e.is_on ? wait_on(c, m) : __real_pthread_cond_timedwait(c, m, t);
}
/* A scheduling point, as it may be called without the mutex. */
WRAP(int, pthread_cond_signal, pthread_cond_t *c)
{
    if (!e.is_on) return __real_pthread_cond_signal(c);
    schedule();
    signal_on(c, false, HERE);
    return 0;
}
WRAP(int, pthread_cond_broadcast, pthread_cond_t *c)
{
    if (!e.is_on) return __real_pthread_cond_broadcast(c);
    schedule();
    signal_on(c, true, HERE);
    return 0;
}

/* -- semaphores: the count is the word's only value that counts, and is never stale -- */

WRAP(int, sem_init, sem_t *s, int is_shared, unsigned count)
{
    if (!e.is_on) return __real_sem_init(s, is_shared, count);
    *(uint32_t *)(void *)s = count;
    return 0;
}
WRAP(int, sem_post, sem_t *s)
{
    if (!e.is_on) return __real_sem_post(s);
    (void)atomic_change_at((uintptr_t)s, 4, ADD, 1, __ATOMIC_ACQ_REL, HERE);
    for (unsigned i = 0; i < e.n_threads; i++)
        if (e.thread[i].status == ASLEEP && e.thread[i].waits_for == (uintptr_t)s)
            e.thread[i].status = RUNNING;
    return 0;
}
WRAP(int, sem_wait, sem_t *s)
{
    if (!e.is_on) return __real_sem_wait(s);
    uint32_t *count = (uint32_t *)(void *)s;
    for (;;) {
        schedule();
        self()->history = mix(self()->history, *count);
        if (*count > 0) break;
        self()->status = ASLEEP;
        self()->waits_for = (uintptr_t)s;
        schedule();
        self()->status = RUNNING;
    }
    (void)atomic_change_at((uintptr_t)s, 4, SUBTRACT, 1, __ATOMIC_ACQ_REL, HERE);
    return 0;
}

/* -- futex: the kernel compares the newest value, as it has fences on both sides -- */

static void futex_wait(uintptr_t address, uint32_t expected)
{
    thread *me = self();
    unsigned i = word_at(address, 4);
    forget(me);
    schedule();
    renew(i);
    const word *w = &e.word[i];
    const value *newest = &w->value[w->n_values - 1];
    me->history =
        mix(mix(me->history, address), (uint32_t)newest->bits == expected ? 1 : newest->identity);
    trace("sleep?", address, newest->bits, 0);
    /* Loads of one word go forward: what the kernel has read is not followed by something older. */
    me->view.at_least[i] = (uint8_t)(w->n_values - 1);
    if ((uint32_t)newest->bits != expected) return;
    me->status = ASLEEP;
    me->waits_for = address;
    schedule();
    me->status = RUNNING;
    me->history = mix(me->history, UINT64_C(0x33));
}

static void futex_wake(uintptr_t address, uintptr_t where)
{
    if (is_mutated(where, NO_WAKE)) return;
    forget(self());
    schedule();
    trace("wake", address, 0, where);
    self()->history = mix(self()->history, address);
    for (unsigned i = 0; i < e.n_threads; i++)
        if (e.thread[i].status == ASLEEP && e.thread[i].waits_for == address)
            e.thread[i].status = RUNNING;
}

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...)
{
    va_list a;
    va_start(a, number);
    uintptr_t address = va_arg(a, uintptr_t);
    int what = va_arg(a, int) & FUTEX_CMD_MASK;
    uint32_t expected = va_arg(a, uint32_t);
    va_end(a);
    if (number != SYS_futex || !e.is_on) abort();
    if (what == FUTEX_WAKE) futex_wake(address, HERE);
    else futex_wait(address, expected);
    return 0;
}

/* ---- names of places ---- */

extern const char __executable_start[];

static struct {
    uintptr_t address;
    char text[160];
} known_place[512];

/* "FUNCTION FILE:LINE". */
static void site_text(uintptr_t address, char *text, size_t size)
{
    char command[256], function[96] = "?", where[160] = "?";
    snprintf(text, size, "+%#zx", (size_t)(address - (uintptr_t)__executable_start));
    if (address == 0) return;
    unsigned k = 0;
    while (k < 511 && known_place[k].address != 0 && known_place[k].address != address) k++;
    if (known_place[k].address == address) {
        snprintf(text, size, "%s", known_place[k].text);
        return;
    }
    bool was_on = e.is_on;
    e.is_on = false;
    snprintf(command, sizeof command, "addr2line -f -s -e /proc/%d/exe %#zx 2>/dev/null",
             (int)getpid(), (size_t)(address - 1 - (uintptr_t)__executable_start));
    FILE *out = popen(command, "r");
    if (out != NULL) {
        if (fgets(function, sizeof function, out) != NULL &&
            fgets(where, sizeof where, out) != NULL) {
            function[strcspn(function, "\n")] = where[strcspn(where, " \n")] = '\0';
            snprintf(text, size, "%s %s", function, where);
        }
        pclose(out);
    }
    known_place[k].address = address;
    snprintf(known_place[k].text, sizeof known_place[k].text, "%s", text);
    e.is_on = was_on;
}

/* ---- runs ---- */

static void scenario_main(void *scenario)
{
    ((const explore_scenario *)scenario)->run();
}

static void run_once(void)
{
    e.run++;
    e.n_runs++;
    e.n_threads = 1;
    e.n_words = e.n_steps = e.n_preempted = 0;
    e.position = 0;
    e.used = 0;
    e.now = 0;
    e.is_over = false;
    memset(&e.thread[0], 0, sizeof e.thread[0]);
    e.thread[0].body = scenario_main;
    e.thread[0].argument = (void *)(uintptr_t)e.scenario;
    e.thread[0].view.clock[0] = 1;
    prepare(0);
    e.is_on = true;
#ifdef __x86_64__
    explore_switch(&e.controller, e.thread[0].stack_pointer);
#else
    swapcontext(&e.controller, &e.thread[0].context);
#endif
    e.is_on = false;
}

/* True: nothing was found. */
static bool explore(void)
{
    e.n_prefix = e.n_choices = 0;
    e.n_states = e.n_runs = e.n_ends = 0;
    e.has_failed = false;
    e.is_random = e.scenario->n_samples > 0;
    e.random = UINT64_C(88172645463325252);
    if (e.table != NULL) memset(e.table, 0, e.table_size * sizeof *e.table);
    for (;;) {
        run_once();
        if (e.has_failed) return false;
        if (e.is_random ? e.n_runs >= e.scenario->n_samples : !advance()) break;
    }
    if (e.n_ends == 0) fail("no run comes to its end");
    return !e.has_failed;
}

static void show_failure(void)
{
    char failure[sizeof e.failure];
    snprintf(failure, sizeof failure, "%s", e.failure);
    e.n_prefix = e.n_choices;
    e.is_traced = true;
    if (!e.is_random) run_once();
    e.is_traced = false;
    fprintf(stderr, "%s: %s\n", e.scenario->name, failure);
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static const char *reason_of(const explore_survivor *s, const char *mistake)
{
    const char *of_kind = strchr(mistake, ':');
    for (; s != NULL && s->mistake != NULL; s++) {
        bool is_any = s->mistake[0] == '*';
        if (strcmp(is_any ? s->mistake + 1 : s->mistake, is_any ? of_kind : mistake) == 0)
            return s->reason;
    }
    return NULL;
}

/* "FUNCTION: KIND" */
static void mistake_text(const char *place, kind k, char *text, size_t size)
{
    snprintf(text, size, "%.*s: %s", (int)strcspn(place, " "), place, kind_name[k]);
}

/* One mistake, under each scenario until one finds it. */
static bool is_found(const explore_scenario *scenario, uintptr_t where, kind k)
{
    bool is_missed = true;
    e.mutated = where;
    e.mutant = k;
    for (e.scenario = scenario; e.scenario->name != NULL && is_missed; e.scenario++)
        if (!e.scenario->is_long) is_missed = explore();
    e.mutated = 0;
    return !is_missed;
}

/* All mistakes at all places; false: one was not found. */
static bool plant_mistakes(const explore_scenario *scenario, const explore_survivor *survivors)
{
    unsigned n = 0, n_found = 0, n_known = 0, n_missed = 0;
    double begin = now_s();
    for (unsigned i = 0; i < e.n_sites; i++) {
        char place[160], text[200];
        site_text(e.site[i].address, place, sizeof place);
        if (strstr(place, " explore_") != NULL) continue; /* the scenario's own */
        for (kind k = 0; k < N_KINDS; k++) {
            if (!e.site[i].has[k]) continue;
            n++;
            mistake_text(place, k, text, sizeof text);
            const char *reason = reason_of(survivors, text);
            if (is_found(scenario, e.site[i].address, k)) {
                n_found++;
                printf("  %s, %s: found: %s\n", place, kind_name[k], e.failure);
            } else {
                *(reason != NULL ? &n_known : &n_missed) += 1;
                printf("  %s, %s: %s\n", place, kind_name[k],
                       reason != NULL ? reason : "NOT FOUND");
            }
            fflush(stdout);
        }
    }
    printf("%u mistakes planted: %u found, %u make no difference, %u missed; %.1f s\n", n, n_found,
           n_known, n_missed, now_s() - begin);
    return n_missed == 0;
}

static bool runs_clean(const explore_scenario *s)
{
    double begin = now_s();
    e.scenario = s;
    e.notes_sites = !s->is_long;
    bool is_clean = explore();
    e.notes_sites = false;
    char what[40] = "all choices";
    if (s->n_preemptions > 0) snprintf(what, sizeof what, "%u preemptions", s->n_preemptions);
    if (s->n_samples > 0) snprintf(what, sizeof what, "at random");
    printf("%s: %s, %s: %" PRIu64 " states, %" PRIu64 " runs, %" PRIu64 " to the end, %.1f s\n",
           s->name, is_clean ? "ok" : "FAILED", what, e.n_states, e.n_runs, e.n_ends,
           now_s() - begin);
    fflush(stdout);
    if (!is_clean) show_failure();
    return is_clean;
}

int explore_main(int argc, char **argv, const explore_scenario *scenario,
                 const explore_survivor *survivors)
{
    const char *what = argc > 1 ? argv[1] : "";
    bool is_good = true, is_all = strcmp(what, "--all") == 0, is_named = argc > 1 && what[0] != '-';
    stacks = mmap(NULL, (size_t)T * STACK_BYTES, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stacks == MAP_FAILED) return 2;
    for (const explore_scenario *s = scenario; s->name != NULL; s++)
        if (is_named ? strcmp(what, s->name) == 0 : is_all || !s->is_long) is_good &= runs_clean(s);
    if (is_good && (argc < 2 || is_all)) is_good = plant_mistakes(scenario, survivors);
    return is_good ? 0 : 1;
}
