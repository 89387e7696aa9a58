/* bench/limits_machine.c - see limits.h: a line's way between two cores, launches and copies of
 * accelerators. */
#include "bench/limits.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/relax.h"
#include "base/spec.h"
#include "engine/accel/kind.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* ---- a line's way ---- */

enum { SAMPLE = 64 /* there and back */, LOOKS = 1 << 12 };
static const uint64_t OVER = UINT64_MAX;

typedef struct player {
    struct table *at;
    const drove_topo *topo;
    const drove_place *place;
    drove_status status;
    char error[DROVE_ERROR_TEXT_SIZE];
} player;

typedef struct table {
    /* Even: the first player's turn.  Release here, acquire there: the word alone is passed on. */
    _Atomic uint64_t turn DROVE_ALIGNED_CACHE_LINE;
    double seconds DROVE_ALIGNED_CACHE_LINE;
    double least_ns; /* of one way; by the first player until it is joined */
    player player[2];
} table;

static void sit_down(player *p)
{
    p->status = drove__topo_bind_self(p->topo, p->place);
    if (p->status != DROVE_OK) drove__error_copy(p->error);
}

/* Until the turn is this one, or the game is over.  A player without a processor is waited for by
 * yielding. */
static uint64_t await(table *t, uint64_t turn)
{
    uint64_t now;
    for (unsigned i = 0;
         (now = atomic_load_explicit(&t->turn, memory_order_acquire)) != turn && now != OVER; i++) {
        if (i % LOOKS == LOOKS - 1) sched_yield();
        else drove__relax();
    }
    return now;
}

static void *second_main(void *argument)
{
    player *p = argument;
    sit_down(p);
    for (uint64_t turn = 1; await(p->at, turn) != OVER; turn += 2)
        atomic_store_explicit(&p->at->turn, turn + 1, memory_order_release);
    return NULL;
}

static void *first_main(void *argument)
{
    player *p = argument;
    table *t = p->at;
    sit_down(p);
    const uint64_t begin_ns = drove__now_ns();
    uint64_t turn = 0, start_ns, now_ns = begin_ns;
    do {
        start_ns = now_ns;
        for (unsigned i = 0; i < SAMPLE; i++, turn += 2) {
            atomic_store_explicit(&t->turn, turn + 1, memory_order_release);
            await(t, turn + 2);
        }
        now_ns = drove__now_ns();
        const double ns = (double)(now_ns - start_ns) / (2.0 * SAMPLE);
        if (t->least_ns == 0.0 || ns < t->least_ns) t->least_ns = ns;
    } while ((double)(now_ns - begin_ns) < t->seconds * 1e9);
    atomic_store_explicit(&t->turn, OVER, memory_order_release);
    return NULL;
}

drove_status drove__limits_line(const drove_topo *topo, double seconds, double *ns)
{
    pthread_t first, second;
    drove_place place[2];
    table *t = drove__alloc(1, sizeof *t);
    if (t == NULL) return drove__fail_nomem("a measurement", sizeof *t);
    drove__topo_place(topo, DROVE_BIND_COMPACT, 2, place);
    t->seconds = seconds;
    for (unsigned i = 0; i < 2; i++)
        t->player[i] = (player){.at = t, .topo = topo, .place = &place[i]};
    int error = pthread_create(&second, NULL, second_main, &t->player[1]);
    if (error == 0) {
        error = pthread_create(&first, NULL, first_main, &t->player[0]);
        if (error == 0) pthread_join(first, NULL);
        else atomic_store(&t->turn, OVER);
        pthread_join(second, NULL);
    }
    drove_status status = DROVE_OK;
    if (error != 0) status = drove__fail_errno(DROVE_E_SYSTEM, error, "cannot start two threads");
    for (unsigned i = 0; i < 2 && status == DROVE_OK; i++)
        if (t->player[i].status != DROVE_OK)
            status = drove__fail(t->player[i].status, "%s", t->player[i].error);
    if (status == DROVE_OK) *ns = t->least_ns;
    drove__free(t);
    return status;
}

/* ---- accelerators ---- */

enum { COPY_BYTES = 1 << 24, N_COPIED = COPY_BYTES / 4, LAUNCHES = 64 };
static const uint64_t PATIENCE_NS = 60000000000u;

typedef struct accelerator {
    const drove_accel_ops *ops;
    drove_accel_queue *queue;
    drove_accel_view view; /* [N_COPIED] */
    void *memory;          /* [COPY_BYTES] pinned */
} accelerator;

typedef enum operation { LAUNCH, WRITE, READ } operation;

/* Puts n of them on the queue, waits for the last; *least_ns is of one, 0 before the first time. */
static drove_status repeat(const accelerator *a, operation o, unsigned n, double *least_ns)
{
    drove_accel_event *event = NULL;
    const drove_accel_view bias = {.buffer = a->view.buffer, .offset = N_COPIED / 2};
    const uint64_t start_ns = drove__now_ns();
    for (unsigned i = 0; i < n; i++) {
        if (o == LAUNCH)
            DROVE_TRY(a->ops->bias_act(a->queue, a->view, bias, 1, 1, DROVE_ACCEL_LINEAR));
        if (o == WRITE) DROVE_TRY(a->ops->write(a->queue, a->view, a->memory, N_COPIED));
        if (o == READ) DROVE_TRY(a->ops->read(a->queue, a->memory, a->view, N_COPIED));
    }
    DROVE_TRY(a->ops->record(a->queue, &event));
    drove_status status = a->ops->flush(a->queue);
    if (status == DROVE_OK) status = a->ops->wait(event, PATIENCE_NS);
    a->ops->event_destroy(event);
    const double ns = (double)(drove__now_ns() - start_ns) / n;
    if (status == DROVE_OK && (*least_ns == 0.0 || ns < *least_ns)) *least_ns = ns;
    return status;
}

/* The first round warms up. */
static drove_status measure(const drove_accel_device *d, double seconds, json_t **row)
{
    accelerator a = {.ops = d->ops};
    double launch_ns = 0.0, trip_ns = 0.0, write_ns = 0.0, read_ns = 0.0;
    drove_status status = a.ops->queue_create(d->accel, &a.queue);
    if (status == DROVE_OK) status = a.ops->alloc(d->accel, N_COPIED, &a.view.buffer);
    if (status == DROVE_OK) status = a.ops->host_alloc(d->accel, COPY_BYTES, &a.memory);
    if (status != DROVE_OK) goto fail;
    memset(a.memory, 0, COPY_BYTES);
    const uint64_t begin_ns = drove__now_ns();
    do {
        if ((status = repeat(&a, WRITE, 1, &write_ns)) != DROVE_OK) goto fail;
        if ((status = repeat(&a, READ, 1, &read_ns)) != DROVE_OK) goto fail;
        if ((status = repeat(&a, LAUNCH, 1, &trip_ns)) != DROVE_OK) goto fail;
        if ((status = repeat(&a, LAUNCH, LAUNCHES, &launch_ns)) != DROVE_OK) goto fail;
    } while ((double)(drove__now_ns() - begin_ns) < seconds * 1e9);
    drove__json_set(row, "launch_us", json_real(launch_ns * 1e-3));
    drove__json_set(row, "round_trip_us", json_real(trip_ns * 1e-3));
    drove__json_set(row, "to_gb_per_s", json_real(COPY_BYTES / write_ns));
    drove__json_set(row, "from_gb_per_s", json_real(COPY_BYTES / read_ns));

fail:
    a.ops->queue_destroy(a.queue);
    a.ops->host_free(d->accel, a.memory);
    a.ops->free(d->accel, a.view.buffer);
    return status;
}

static json_t *empty_row(const char *device, const char *reason)
{
    return json_pack("{s:s, s:n, s:n, s:n, s:n, s:n, s:s?}", "device", device, "name", "launch_us",
                     "round_trip_us", "to_gb_per_s", "from_gb_per_s", "reason", reason);
}

void drove__limits_devices(double seconds, json_t **rows)
{
    const drove_device_kind *const kinds[] = {&drove__device_kind_opencl, &drove__device_kind_cuda};
    for (size_t k = 0; k < DROVE_COUNT(kinds); k++) {
        char why[256], text[64];
        const unsigned n = kinds[k]->count(kinds[k], why, sizeof why);
        if (n == 0) drove__json_add(rows, empty_row(kinds[k]->name, why));
        for (unsigned i = 0; i < n; i++) {
            snprintf(text, sizeof text, "%s:%u", kinds[k]->name, i);
            drove_spec spec = {0};
            drove_device *device = NULL;
            json_t *row = empty_row(text, NULL);
            drove_status status = drove__spec_parse(text, &spec);
            if (status == DROVE_OK) status = drove__device_open(&spec, &device);
            if (status == DROVE_OK) {
                drove__json_set(&row, "name", json_string(device->facts.name));
                status = measure(device->impl, seconds, &row);
            }
            if (status != DROVE_OK)
                drove__json_set(&row, "reason", json_string(drove_error_text()));
            drove__device_close(device);
            drove__spec_fini(&spec);
            drove__json_add(rows, row);
        }
    }
}
