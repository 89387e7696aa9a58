/* tests/explore/state.h - what the parts of the explorer share.
 *
 *   explorer.c   scenarios, planted mistakes, reports
 *   schedule.c   coroutines, choices, states that were seen, who goes on
 *   memory.c     the memory model: what -fsanitize=thread calls
 *   libc.c       threads, locks, futexes and memory, in the place of the C library
 *
 * All of it runs on one thread.
 */
#ifndef DROVE_TESTS_EXPLORE_STATE_H
#define DROVE_TESTS_EXPLORE_STATE_H

#include "explorer.h"

#include <stddef.h>
#ifndef __x86_64__
#include <ucontext.h>
#endif

enum {
    T = EXPLORE_MOST_THREADS,
    MOST_WORDS = 128,  /* atomic words and locks */
    MOST_VALUES = 250, /* of one word; its index fits 8 bits */
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
    uint32_t clock[T];
    uint8_t  at_least[MOST_WORDS]; /* the oldest value of each word that may still be read */
} view;

typedef struct value {
    uint64_t bits;
    uint64_t identity; /* who wrote it, knowing what */
    view     released;
} value;

typedef struct word {
    uintptr_t address;
    unsigned  size, n_values;
    unsigned  oldest;       /* plain stores before it: no older one may be read */
    int       last_seq_cst; /* -1: none */
    uint64_t  order;        /* of its values or, of a lock, of its holders */
    uint32_t  atomic[T];    /* clock of each thread's last access */
    bool      is_plain;     /* written by a plain store since */
    int       holder;       /* of a lock: thread, or -1 */
    view      released;     /* of a lock */
    value     value[MOST_VALUES];
} word;

typedef enum {
    RUNNING,
    WANTS_LOCK,
    JOINING,
    ASLEEP,
    ON_CONDITION,
    AWAITS_NEWS,
    DYING, /* does nothing any more; others see it as soon as it is DEAD */
    DEAD,
    ENDED
} status;

typedef struct seen { /* a load and what it gave */
    uintptr_t site;
    unsigned  word, index;
} seen;

typedef struct thread {
    status    status;
    bool      is_soft;      /* AWAITS_NEWS: the choice to go on is made elsewhere */
    bool      is_repeating; /* every load gives what it gave before */
    unsigned  n_same, n_seen;
    seen      seen[MOST_SEEN];
    uintptr_t waits_for; /* lock, futex or condition */
    uintptr_t lock;      /* to be taken again behind a condition */
    uint64_t  until_ns;  /* limit of its sleep; UINT64_MAX: none */
    bool      timed_out; /* the sleep has ended by it */
    bool      may_die;
    int       joins;
    uint64_t  history;
    view      view;
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
    uint32_t write_clock, read_clock[T];
    uint8_t  writer, word; /* word + 1 */
} shadow;

typedef enum {
    WEAKER_THAN_SEQ_CST,
    NO_ACQUIRE,
    NO_RELEASE,
    NOT_ATOMIC,
    NO_WAKE,
    NO_LOCK,
    LEFT_OUT,
    N_KINDS
} kind;

typedef struct site {
    uintptr_t address;
    bool      has[N_KINDS];
} site;

typedef enum { EXCHANGE, ADD, SUBTRACT, AND, OR, XOR, NAND } change;

typedef struct explorer {
    const explore_scenario *scenario;
    /* of all runs of a scenario */
    uint16_t  chosen[MOST_CHOICES], n_options[MOST_CHOICES];
    unsigned  n_prefix, n_choices, position;
    uint64_t *table, table_size, n_states, n_runs, n_ends;
    site      site[MOST_SITES];
    unsigned  n_sites;
    char     *stacks, *arena; /* STACK_BYTES for each thread; ARENA_BYTES */
    bool      notes_sites, is_traced, is_random, has_slept;
    uint64_t  random;
    kind      mutant;
    uintptr_t mutated; /* 0: none */
    char      failure[256];
    /* of one run */
    uint32_t run;
    bool     is_on, has_failed;
    unsigned n_threads, n_words, n_steps, n_preempted, n_woken, n_timed_out, n_killed;
    uint64_t now_ns;
    int      now;
    size_t   used;
    thread   thread[T];
    word     word[MOST_WORDS];
    shadow   shadow[ARENA_BYTES];
#ifdef __x86_64__
    void *controller;
#else
    ucontext_t controller;
#endif
} explorer;

extern explorer explore__e;

/* schedule.c */
uint64_t explore__mix(uint64_t a, uint64_t b);
thread  *explore__self(void);
void     explore__learn(view *to, const view *from);
void     explore__prepare(int thread); /* it begins anew */
#ifdef __x86_64__
void explore_switch(void **from, void *to);
#endif
void explore__leave_run(void); /* does not return */
void explore__fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* 0 .. n - 1. */
unsigned explore__choose(unsigned n);
/* The next run's first choices; false: all is done. */
bool explore__advance(void);
/* Chooses who goes on, and returns when that is the caller. */
void explore__schedule(void);
bool explore__has_time(void);   /* limits of sleeps count in this scenario */
void explore__kill_point(void); /* the caller may be killed here; else nothing happens */
void explore__trace(const char *what, uintptr_t address, uint64_t bits, uintptr_t where);

/* memory.c */
unsigned explore__word_at(uintptr_t address, unsigned size);
void     explore__renew(unsigned word); /* behind a plain store */
void     explore__plain(uintptr_t address, size_t size, bool is_write, uintptr_t where);
bool     explore__is_mutated(uintptr_t where, kind k);
void     explore__forget(thread *t); /* it does not wait awake */
uint64_t explore__atomic_change_at(uintptr_t address, unsigned size, change c, uint64_t by, int mo,
                                   uintptr_t where);

/* The place that has called the function. */
#define HERE ((uintptr_t)__builtin_return_address(0))

/* explorer.c: "FUNCTION FILE:LINE". */
void explore__site_text(uintptr_t address, char *text, size_t size);

#endif
