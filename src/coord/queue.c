/* coord/queue.c - see queue.h.
 *
 * Cell i of the ring is in turn for position i, then for i + capacity, and so on.  Its `turn` says
 * what it is waiting for: position p to be written (turn p), p to be read (turn p + 1).  A position
 * belongs to the producer that moved `tail` past it, and so does its cell until the turn is p + 1;
 * from there to turn p + capacity it is the consumer's.
 *
 * Sleeping: docs/inside/memory-model.md, A9.
 */
#include "coord/queue.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/wait.h"
#include "base/relax.h"

#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

/* Looks of a waiting thread before it sleeps: a few microseconds, less than waking it takes.  None
 * on a machine with one processor, where nobody else can run meanwhile. */
#define SPIN_ROUNDS 100u

typedef struct cell {
    _Atomic uint64_t turn;
    unsigned char item[];
} cell;

struct drove_queue {
    size_t item_bytes, stride; /* of a cell, whole cache lines */
    uint64_t mask;             /* capacity - 1 */
    unsigned spin;
    const drove_clock *clock;                       /* NULL: the real one */
    unsigned char *ring;                            /* [capacity] cells */
    _Atomic uint64_t tail DROVE_ALIGNED_CACHE_LINE; /* next position to be taken by a producer */
    uint64_t head DROVE_ALIGNED_CACHE_LINE; /* next position to be read; the consumer's alone */
    drove_wait something;                   /* the consumer sleeps here */
    drove_wait room;                        /* producers do */
};

static cell *cell_of(const drove_queue *q, uint64_t position)
{
    return (cell *)(void *)(q->ring + (position & q->mask) * q->stride);
}

drove_status drove__queue_create(size_t capacity, size_t item_bytes, drove_queue **out)
{
    *out = NULL;
    /* At least two: in a ring of one, "written" and "free again" would be the same turn. */
    uint64_t n_cells = 2;
    while (n_cells < capacity && n_cells <= SIZE_MAX / 4) n_cells *= 2;
    drove_queue *q = drove__alloc(1, sizeof *q);
    if (q == NULL) return drove__fail_nomem("message queue", sizeof *q);
    q->item_bytes = item_bytes;
    q->stride =
        (sizeof(cell) + item_bytes + DROVE_CACHE_LINE - 1) / DROVE_CACHE_LINE * DROVE_CACHE_LINE;
    q->mask = n_cells - 1;
    q->spin = sysconf(_SC_NPROCESSORS_ONLN) > 1 ? SPIN_ROUNDS : 0;
    q->ring = drove__alloc(n_cells, q->stride);
    if (q->ring == NULL) {
        drove__free(q);
        return drove__fail_nomem("message queue", n_cells * (sizeof(cell) + item_bytes));
    }
    for (uint64_t i = 0; i < n_cells; i++) atomic_init(&cell_of(q, i)->turn, i);
    drove__wait_init(&q->something);
    drove__wait_init(&q->room);
    *out = q;
    return DROVE_OK;
}

void drove__queue_use_clock(drove_queue *q, const drove_clock *clock)
{
    q->clock = clock != &drove__clock_real ? clock : NULL;
}

void drove__queue_destroy(drove_queue *q)
{
    if (q == NULL) return;
    drove__wait_fini(&q->something);
    drove__wait_fini(&q->room);
    drove__free(q->ring);
    drove__free(q);
}

bool drove__queue_try_put(drove_queue *q, const void *item)
{
    /* Relaxed, here and in the exchange: tail only hands out positions; the item and the cell are
     * ordered by the cell's turn. */
    uint64_t position = atomic_load_explicit(&q->tail, memory_order_relaxed);
    cell *c;
    for (;;) {
        c = cell_of(q, position);
        /* Sequentially consistent: it is the look of a producer that wants to sleep; it also
         * acquires what the consumer's store below released: the item has been read. */
        int64_t lead = (int64_t)(atomic_load_explicit(&c->turn, memory_order_seq_cst) - position);
        if (lead < 0) return false;
        if (lead > 0) {
            position = atomic_load_explicit(&q->tail, memory_order_relaxed);
        } else if (atomic_compare_exchange_weak_explicit(&q->tail, &position, position + 1,
                                                         memory_order_relaxed,
                                                         memory_order_relaxed)) {
            break;
        }
    }
    memcpy(c->item, item, q->item_bytes);
    atomic_store_explicit(&c->turn, position + 1, memory_order_seq_cst);
    drove__wait_wake(&q->something);
    return true;
}

bool drove__queue_try_get(drove_queue *q, void *item)
{
    cell *c = cell_of(q, q->head);
    if (atomic_load_explicit(&c->turn, memory_order_seq_cst) != q->head + 1) return false;
    memcpy(item, c->item, q->item_bytes);
    atomic_store_explicit(&c->turn, q->head + q->mask + 1, memory_order_seq_cst);
    q->head++;
    drove__wait_wake_one(&q->room); /* the cell is one producer's */
    return true;
}

void drove__queue_put(drove_queue *q, const void *item)
{
    for (unsigned i = 0; i <= q->spin; i++) {
        if (drove__queue_try_put(q, item)) return;
        drove__relax();
    }
    for (;;) {
        drove__wait_announce(&q->room);
        /* Not withdrawn on success: another producer may sleep on the same announcement. */
        if (drove__queue_try_put(q, item)) return;
        drove__wait_sleep(&q->room, UINT64_MAX);
    }
}

bool drove__queue_get(drove_queue *q, void *item, uint64_t until_ns)
{
    const drove_clock *clock = q->clock;
    for (unsigned i = 0; i <= q->spin; i++) {
        if (drove__queue_try_get(q, item)) return true;
        drove__relax();
    }
    for (;;) {
        drove__wait_announce(&q->something);
        bool is_got = drove__queue_try_get(q, item);
        bool is_over = !is_got && until_ns != UINT64_MAX &&
                       (clock != NULL ? drove__clock_now(clock) : drove__now_ns()) >= until_ns;
        if (is_got || is_over) {
            drove__wait_withdraw(&q->something);
            return is_got;
        }
        /* The real clock's word_wait would do; the wait's own sleep costs less, as its futex is of
         * one process. */
        if (clock == NULL) drove__wait_sleep(&q->something, until_ns);
        else clock->word_wait(clock->context, &q->something.announced, 1, until_ns);
    }
}
