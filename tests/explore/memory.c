/* tests/explore/memory.c - the memory model of explorer.h; see state.h. */
#define _GNU_SOURCE
#include "state.h"

#include <stdlib.h>
#include <string.h>

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
    uintptr_t begin = (uintptr_t)explore__e.arena;
    if (address < begin || address >= begin + ARENA_BYTES) return NULL;
    shadow *s = &explore__e.shadow[address - begin];
    if (s->run != explore__e.run) *s = (shadow){.run = explore__e.run};
    return s;
}

unsigned explore__word_at(uintptr_t address, unsigned size)
{
    shadow *s = shadow_of(address);
    if (s != NULL && s->word != 0) return s->word - 1u;
    for (unsigned i = 0; s == NULL && i < explore__e.n_words; i++)
        if (explore__e.word[i].address == address) return i;
    if (explore__e.n_words == MOST_WORDS) explore__fail("too many atomic words");
    word *w = &explore__e.word[explore__e.n_words];
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
        shadow_of(address + i)->word = (uint8_t)(explore__e.n_words + 1);
    return explore__e.n_words++;
}

void explore__renew(unsigned i) /* behind a plain store */
{
    word *w = &explore__e.word[i];
    if (!w->is_plain) return;
    w->is_plain = false;
    w->n_values = 1;
    w->oldest = 0;
    w->value[0].bits = load_bits(w->address, w->size);
    w->value[0].identity = explore__mix(w->order, 1);
    memset(&w->value[0].released, 0, sizeof w->value[0].released);
    for (unsigned t = 0; t < T; t++) explore__e.thread[t].view.at_least[i] = 0;
    w->last_seq_cst = -1;
}

static void report_race(uintptr_t address, const char *what, uintptr_t where)
{
    char text[128];
    explore__site_text(where, text, sizeof text);
    explore__fail("data race: %s at +%zu, in %s", what,
                  (size_t)(address - (uintptr_t)explore__e.arena), text);
}

static bool is_word(uintptr_t address)
{
    const shadow *s = shadow_of(address);
    return s != NULL && s->word != 0;
}

void explore__plain(uintptr_t address, size_t size, bool is_write, uintptr_t where)
{
    if (!explore__e.is_on) return;
    /* Before there were others; but for a plain store to an atomic. */
    if (explore__e.n_threads == 1 && (size > 8 || explore__e.n_words == 0 || !is_word(address)))
        return;
    const view *mine = &explore__self()->view;
    if (is_write && shadow_of(address) != NULL) explore__kill_point();
    for (size_t i = 0; i < size; i++) {
        shadow *s = shadow_of(address + i);
        if (s == NULL) return;
        if (s->write_clock > mine->clock[s->writer])
            report_race(address + i, "plain access", where);
        if (s->word != 0) {
            word *w = &explore__e.word[s->word - 1];
            for (unsigned t = 0; t < explore__e.n_threads; t++)
                if (w->atomic[t] > mine->clock[t])
                    report_race(address + i, "plain access to an atomic", where);
            if (is_write) {
                w->is_plain = true;
                w->order = explore__mix(w->order, explore__self()->history);
            }
        }
        if (is_write) {
            for (unsigned t = 0; t < explore__e.n_threads; t++)
                if (s->read_clock[t] > mine->clock[t]) report_race(address + i, "write", where);
            s->write_clock = mine->clock[explore__e.now];
            s->writer = (uint8_t)explore__e.now;
        } else {
            s->read_clock[explore__e.now] = mine->clock[explore__e.now];
        }
    }
}

/* An atomic access must come behind plain stores. */
static void check_atomic(word *w, uintptr_t where)
{
    const view *mine = &explore__self()->view;
    const shadow *s = shadow_of(w->address);
    if (s != NULL && s->write_clock > mine->clock[s->writer])
        report_race(w->address, "atomic access to a plain store", where);
    w->atomic[explore__e.now] = mine->clock[explore__e.now];
}

/* ---- planted mistakes ---- */

bool explore__is_mutated(uintptr_t where, kind k)
{
    if (explore__e.notes_sites) {
        unsigned i = 0;
        while (i < explore__e.n_sites && explore__e.site[i].address != where) i++;
        if (i == MOST_SITES) abort();
        if (i == explore__e.n_sites)
            explore__e.site[explore__e.n_sites++] = (site){.address = where};
        explore__e.site[i].has[k] = true;
    }
    return explore__e.mutated == where && explore__e.mutant == k;
}

bool explore_leaves_out(void)
{
    return explore__is_mutated(HERE, LEFT_OUT);
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
    if (bits & SEQ_CST && explore__is_mutated(where, WEAKER_THAN_SEQ_CST))
        bits &= ~(unsigned)SEQ_CST;
    if (bits & ACQUIRES && explore__is_mutated(where, NO_ACQUIRE))
        bits &= ~(unsigned)(ACQUIRES | SEQ_CST);
    if (bits & RELEASES && explore__is_mutated(where, NO_RELEASE))
        bits &= ~(unsigned)(RELEASES | SEQ_CST);
    return bits;
}

/* ---- atomic accesses ---- */

void explore__forget(thread *t)
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
    explore__schedule();
    t->status = RUNNING;
    t->is_soft = false;
    for (unsigned k = 0; k < t->n_seen; k++) {
        unsigned i = t->seen[k].word, next = t->seen[k].index + 1;
        if (explore__e.word[i].n_values > next && t->view.at_least[i] < next)
            t->view.at_least[i] = (uint8_t)next;
    }
    t->history = explore__mix(t->history, UINT64_C(0x77));
    explore__forget(t);
}

/* True: *index is what this load gave before, and gives again. */
static bool repeats(unsigned i, uintptr_t where, unsigned *index)
{
    thread *t = explore__self();
    seen *s = find_seen(t, where, i);
    if (s == NULL || t->view.at_least[i] > s->index) { /* something new */
        if (t->is_repeating || s != NULL) explore__forget(t);
        return false;
    }
    if (!t->is_repeating) {
        if (explore__e.scenario->spins_for_ever) {
            wait_for_news(t, false);
            return false;
        }
        /* Who looks now and then while time passes goes on more often than not. */
        bool is_patient = explore__e.is_random && explore__e.scenario->needs_time;
        if (explore__choose(is_patient ? 16 : 2) == 0) {
            wait_for_news(t, true);
            return false;
        }
        t->is_repeating = true;
        t->history = explore__mix(t->history, UINT64_C(0x99));
    }
    *index = s->index;
    if (++t->n_same <= MOST_SAME) return true;
    wait_for_news(t, false);
    return false;
}

static void note_seen(unsigned i, uintptr_t where, unsigned index)
{
    thread *t = explore__self();
    if (t->n_seen == MOST_SEEN) explore__forget(t);
    t->seen[t->n_seen++] = (seen){.site = where, .word = i, .index = index};
}

static unsigned oldest_of(const word *w, unsigned i, unsigned order)
{
    unsigned oldest = explore__self()->view.at_least[i];
    if (oldest < w->oldest) oldest = w->oldest;
    if (order & SEQ_CST && w->last_seq_cst > (int)oldest) oldest = (unsigned)w->last_seq_cst;
    return oldest;
}

static void take_over(word *w, unsigned i, unsigned index, unsigned order)
{
    thread *t = explore__self();
    if (t->view.at_least[i] < index) t->view.at_least[i] = (uint8_t)index;
    if (order & ACQUIRES) explore__learn(&t->view, &w->value[index].released);
    t->history = explore__mix(explore__mix(t->history, w->address), w->value[index].identity);
    t->view.clock[explore__e.now]++;
}

static void renumber(view *of, unsigned i, unsigned n)
{
    of->at_least[i] = of->at_least[i] > n ? (uint8_t)(of->at_least[i] - n) : 0;
}

/* The n oldest values of word i, of those who poll for long: nobody reads them any more. */
static void forget_values(unsigned i, unsigned n)
{
    word *w = &explore__e.word[i];
    memmove(w->value, w->value + n, (w->n_values - n) * sizeof *w->value);
    w->n_values -= n;
    w->oldest = w->oldest > n ? w->oldest - n : 0;
    w->last_seq_cst = w->last_seq_cst >= (int)n ? w->last_seq_cst - (int)n : -1;
    for (unsigned k = 0; k < explore__e.n_words; k++) {
        renumber(&explore__e.word[k].released, i, n);
        for (unsigned v = 0; v < explore__e.word[k].n_values; v++)
            renumber(&explore__e.word[k].value[v].released, i, n);
    }
    for (unsigned k = 0; k < explore__e.n_threads; k++) {
        thread *t = &explore__e.thread[k];
        renumber(&t->view, i, n);
        for (unsigned s = 0; s < t->n_seen; s++)
            if (t->seen[s].word == i)
                t->seen[s].index = t->seen[s].index > n ? t->seen[s].index - n : 0;
    }
}

static void append(word *w, unsigned i, uint64_t bits, unsigned order, const view *sequence)
{
    thread *t = explore__self();
    view renumbered;
    if (w->n_values == MOST_VALUES && explore__e.is_random) {
        forget_values(i, MOST_VALUES / 2);
        if (sequence != NULL) {
            renumbered = *sequence;
            renumber(&renumbered, i, MOST_VALUES / 2);
            sequence = &renumbered;
        }
    }
    if (w->n_values == MOST_VALUES) explore__fail("too many values of one word");
    unsigned index = w->n_values++;
    value *v = &w->value[index];
    t->view.at_least[i] = (uint8_t)index;
    t->history = explore__mix(t->history, w->address + 1);
    v->bits = bits;
    v->identity = explore__mix(t->history, (uint64_t)explore__e.now);
    if (order & RELEASES) v->released = t->view;
    else memset(&v->released, 0, sizeof v->released);
    v->released.at_least[i] = (uint8_t)index;
    if (sequence != NULL) explore__learn(&v->released, sequence);
    if (order & SEQ_CST) w->last_seq_cst = (int)index;
    w->order = explore__mix(w->order, v->identity);
    store_bits(w->address, w->size, bits);
    t->view.clock[explore__e.now]++;
    explore__forget(t);
}

static uint64_t atomic_load_at(uintptr_t address, unsigned size, int mo, uintptr_t where)
{
    if (!explore__e.is_on) return load_bits(address, size);
    thread *t = explore__self();
    if (t->is_repeating && t->seen[0].site == where &&
        explore__e.word[t->seen[0].word].address == address && ++t->n_same <= MOST_SAME)
        return explore__e.word[t->seen[0].word]
            .value[t->seen[0].index]
            .bits; /* the most common case */
    unsigned i = explore__word_at(address, size), index;
    unsigned order = order_of(mo, true, false, where);
    explore__renew(i);
    word *w = &explore__e.word[i];
    if (repeats(i, where, &index)) return w->value[index].bits;
    explore__schedule();
    check_atomic(w, where);
    unsigned oldest = oldest_of(w, i, order), newest = w->n_values - 1;
    index = newest - explore__choose(newest - oldest + 1);
    take_over(w, i, index, order);
    note_seen(i, where, index);
    explore__trace("load", address, w->value[index].bits, where);
    return w->value[index].bits;
}

static void atomic_store_at(uintptr_t address, unsigned size, uint64_t bits, int mo,
                            uintptr_t where)
{
    if (!explore__e.is_on) {
        store_bits(address, size, bits);
        return;
    }
    unsigned i = explore__word_at(address, size), order = order_of(mo, false, true, where);
    explore__schedule();
    explore__renew(i);
    check_atomic(&explore__e.word[i], where);
    explore__trace("store", address, bits, where);
    append(&explore__e.word[i], i, bits, order, NULL);
}

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

uint64_t explore__atomic_change_at(uintptr_t address, unsigned size, change c, uint64_t by, int mo,
                                   uintptr_t where)
{
    if (!explore__e.is_on) {
        uint64_t was = load_bits(address, size), bits = masked(changed(c, was, by), size);
        store_bits(address, size, bits);
        return was;
    }
    unsigned i = explore__word_at(address, size), order = order_of(mo, true, true, where);
    bool is_split = explore__is_mutated(where, NOT_ATOMIC);
    explore__schedule();
    explore__renew(i);
    word *w = &explore__e.word[i];
    check_atomic(w, where);
    unsigned index = w->n_values - 1;
    take_over(w, i, index, order);
    uint64_t was = w->value[index].bits;
    view sequence = w->value[index].released;
    if (is_split) explore__schedule(); /* others change it between the load and the store */
    append(w, i, masked(changed(c, was, by), size), order, &sequence);
    explore__trace("change", address, w->value[w->n_values - 1].bits, where);
    return was;
}

/* Candidates: those that equal `expected`, if the newest does, are one (the newest); each older one
 * that differs is a failure. */
static bool atomic_swap_at(uintptr_t address, unsigned size, uint64_t *expected, uint64_t bits,
                           int mo, int mo_fail, uintptr_t where)
{
    if (!explore__e.is_on) {
        uint64_t was = load_bits(address, size);
        if (was == *expected) store_bits(address, size, bits);
        bool is_same = was == *expected;
        *expected = was;
        return is_same;
    }
    unsigned i = explore__word_at(address, size), order = order_of(mo, true, true, where), index;
    bool is_split = explore__is_mutated(where, NOT_ATOMIC);
    /* The failure's order counts as part of the same mistake. */
    unsigned order_fail = mo_fail == __ATOMIC_RELAXED ? 0 : order & (unsigned)~RELEASES;
    explore__renew(i);
    word *w = &explore__e.word[i];
    if (repeats(i, where, &index) && w->value[index].bits != *expected) {
        *expected = w->value[index].bits;
        return false;
    }
    explore__schedule();
    check_atomic(w, where);
    unsigned newest = w->n_values - 1, n = 0, which[MOST_VALUES];
    unsigned oldest = oldest_of(w, i, order_fail);
    for (unsigned k = newest + 1; k-- > oldest;) {
        bool is_same = w->value[k].bits == *expected;
        if (!is_same || k == newest) which[n++] = k;
    }
    index = which[explore__choose(n)];
    if (w->value[index].bits != *expected) {
        take_over(w, i, index, order_fail);
        note_seen(i, where, index);
        *expected = w->value[index].bits;
        explore__trace("no swap", address, *expected, where);
        return false;
    }
    take_over(w, i, index, order);
    view sequence = w->value[index].released;
    if (is_split) explore__schedule();
    append(w, i, bits, order, &sequence);
    explore__trace("swap", address, bits, where);
    return true;
}

/* ---- what -fsanitize=thread calls ---- */

#define PLAIN(size)                                                                                \
    void __tsan_read##size(void *p);                                                               \
    void __tsan_write##size(void *p);                                                              \
    void __tsan_unaligned_read##size(void *p);                                                     \
    void __tsan_unaligned_write##size(void *p);                                                    \
    void __tsan_read##size(void *p)                                                                \
    {                                                                                              \
        explore__plain((uintptr_t)p, size, false, HERE);                                           \
    }                                                                                              \
    void __tsan_write##size(void *p)                                                               \
    {                                                                                              \
        explore__plain((uintptr_t)p, size, true, HERE);                                            \
    }                                                                                              \
    void __tsan_unaligned_read##size(void *p)                                                      \
    {                                                                                              \
        explore__plain((uintptr_t)p, size, false, HERE);                                           \
    }                                                                                              \
    void __tsan_unaligned_write##size(void *p)                                                     \
    {                                                                                              \
        explore__plain((uintptr_t)p, size, true, HERE);                                            \
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
        return (type)explore__atomic_change_at((uintptr_t)p, sizeof *p, what, v, mo, HERE);        \
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
/* As clang calls it: gives the value that was there. */
#define SWAP_VALUE(bits, type)                                                                     \
    type __tsan_atomic##bits##_compare_exchange_val(volatile type *p, type was, type v, int mo,    \
                                                    int mo_fail);                                  \
    type __tsan_atomic##bits##_compare_exchange_val(volatile type *p, type was, type v, int mo,    \
                                                    int mo_fail)                                   \
    {                                                                                              \
        uint64_t expected = was;                                                                   \
        (void)atomic_swap_at((uintptr_t)p, sizeof *p, &expected, v, mo, mo_fail, HERE);            \
        return (type)expected;                                                                     \
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
    SWAP(bits, type, weak)                                                                         \
    SWAP_VALUE(bits, type)
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
    explore__plain((uintptr_t)p, n, false, HERE);
}
void __tsan_write_range(void *p, unsigned long n)
{
    explore__plain((uintptr_t)p, n, true, HERE);
}
void __tsan_atomic_thread_fence(int mo)
{
    (void)mo;
    explore__fail("a fence, of which the explorer does not know");
}
void __tsan_atomic_signal_fence(int mo)
{
    (void)mo;
}
