/* bench/micro/handover.c - how fast one core takes over memory that another core has just written.
 *
 * usage: bench_handover [N...]: floats of a vector; 16 are one cache line.
 *
 * Two threads on two cores, one vector of n floats.  They take turns: each adds 1 to every
 * element, then hands over. The time of a turn, less the time of the same pass by one thread alone
 * over its own vector, is what moving the lines costs.  Then the same with threads that copy the
 * vector after their turns, during that of the other one: its lines lie with both when they are
 * written again.  Bounds the gain of a second thread on a shared dense model
 * (bench/run/threads.py).  JSON lines.
 */
#include "base/clock.h"
#include "base/cpu.h"
#include "base/mem.h"
#include "base/topo.h"
#include "kernel/kernel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { TURNS = 2000, REPEATS = 7 };

typedef struct shared {
    const drovek_table *k;
    float *y, *x;
    size_t n;
    drove_topo *topo;
    drove_place place[2];
    unsigned n_threads;
    bool copies;
    _Atomic unsigned turn DROVE_ALIGNED_CACHE_LINE;
} shared;

typedef struct player {
    shared *s;
    unsigned index;
    float *copy; /* [n] */
} player;

static void *play(void *argument)
{
    player *p = argument;
    shared *s = p->s;
    (void)drove__topo_bind_self(s->topo, &s->place[p->index]);
    for (unsigned t = p->index; t < TURNS; t += s->n_threads) {
        while (atomic_load_explicit(&s->turn, memory_order_acquire) != t) {}
        s->k->axpy_f32(s->y, s->x, s->n, 1.0f);
        atomic_store_explicit(&s->turn, t + 1, memory_order_release);
        if (s->copies) s->k->copy_f32(p->copy, s->y, s->n);
    }
    return NULL;
}

/* Best nanoseconds a turn over the repeats. */
static double measure(shared *s, unsigned n_threads, bool copies, float *copy[2])
{
    double best = 1e30;
    for (int r = 0; r < REPEATS; r++) {
        pthread_t thread[2];
        player players[2] = {{s, 0, copy[0]}, {s, 1, copy[1]}};
        s->n_threads = n_threads;
        s->copies = copies;
        atomic_store(&s->turn, 0);
        uint64_t start = drove__now_ns();
        for (unsigned i = 0; i < n_threads; i++)
            pthread_create(&thread[i], NULL, play, &players[i]);
        for (unsigned i = 0; i < n_threads; i++) pthread_join(thread[i], NULL);
        double ns = (double)(drove__now_ns() - start) / TURNS;
        if (ns < best) best = ns;
    }
    return best;
}

int main(int argc, char **argv)
{
    static const size_t usual[] = {16, 1024, 8192, 134912, 1048576};
    const size_t n_sizes = argc > 1 ? (size_t)argc - 1 : DROVE_COUNT(usual);
    drovek_table k;
    shared s = {.k = &k};
    if (drovek_select(&k, drove__cpu_features(), NULL) != DROVE_OK ||
        drove__topo_create(NULL, &s.topo) != DROVE_OK) {
        fprintf(stderr, "%s\n", drove_error_text());
        return 1;
    }
    drove__topo_place(s.topo, DROVE_BIND_COMPACT, 2, s.place);
    for (size_t i = 0; i < n_sizes; i++) {
        s.n = argc > 1 ? strtoul(argv[i + 1], NULL, 10) : usual[i];
        s.y = drove__alloc(s.n, sizeof(float));
        s.x = drove__alloc(s.n, sizeof(float));
        float *copy[2] = {drove__alloc(s.n, sizeof(float)), drove__alloc(s.n, sizeof(float))};
        double alone = measure(&s, 1, false, copy), taking_turns = measure(&s, 2, false, copy),
               copying = measure(&s, 2, true, copy), bytes = (double)s.n * sizeof(float);
        printf("{\"bench\": \"handover\", \"isa\": \"%s\", \"n\": %zu, \"alone_us\": %.2f, "
               "\"turns_us\": %.2f, \"copying_us\": %.2f, "
               "\"moved_gb_per_s\": %.2f}\n",
               k.isa, s.n, alone / 1e3, taking_turns / 1e3, copying / 1e3,
               bytes / (taking_turns - alone));
        drove__free(copy[0]);
        drove__free(copy[1]);
        drove__free(s.y);
        drove__free(s.x);
    }
    drove__topo_destroy(s.topo);
    return 0;
}
