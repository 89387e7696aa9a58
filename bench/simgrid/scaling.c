/* bench/simgrid/scaling.c - iterations of data-parallel training under SimGrid's SMPI: the
 * exchanges are the transport of src/cluster/messages.c, unmodified, over SMPI's MPI; computing is
 * time that passes.  Built and run by bench/simgrid/run.
 *
 *   scaling METHOD key=value ...
 *
 * METHOD: easgd-sync3 (all-reduce beside compute), allreduce (behind it), easgd-sync2 (broadcast
 * and reduction behind it), diloco (all-reduce behind every period-th), paper (Algorithm 4:
 * MPI_Bcast beside compute, MPI_Reduce behind it), library (MPI_Allreduce alone, no compute).
 * Keys: bytes, scale, compute, spread, update, add, stretch, iterations, period, slice; seconds.
 *
 * Vectors are `scale` times as short as `bytes`, on a platform whose links are as many times
 * slower: the same times in less memory.  Nothing moves messages in the background here, so a
 * worker that computes looks after them every `slice` seconds.  Additions take `add` s each byte,
 * of the full length; the real ones take no time on the simulated clock.  The slow workers are
 * slow for good.
 *
 * Rank 0 prints one JSON object: mean seconds of an iteration, of the slowest rank.
 */
#include "base/cpu.h"
#include "base/mem.h"
#include "cluster/messages.h"
#include "bench/simulate_elastic.h"

#include <mpi.h>
#include <smpi/smpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const drove_wire_ops *drove_wire_module(void);

typedef struct setting {
    double bytes, scale, compute, spread, update, add, stretch, iterations, period, slice;
} setting;

static setting given = {.bytes = 4e6,
                        .scale = 1,
                        .compute = 1,
                        .stretch = 1,
                        .iterations = 4,
                        .period = 1,
                        .slice = 0.01};
static drovek_add_f32_fn *real_add;

/* seconds of the simulated clock */
static void pass(double seconds)
{
    if (seconds > 0.0) smpi_execute(seconds);
}

static void timed_add(float *to, const float *a, const float *b, size_t n, float factor,
                      bool streams)
{
    pass((double)n * sizeof(float) * given.scale * given.add);
    real_add(to, a, b, n, factor, streams);
}

static bool read_setting(const char *word)
{
    const struct {
        const char *key;
        double *value;
    } keys[] = {{"bytes", &given.bytes},     {"scale", &given.scale},
                {"compute", &given.compute}, {"spread", &given.spread},
                {"update", &given.update},   {"add", &given.add},
                {"stretch", &given.stretch}, {"iterations", &given.iterations},
                {"period", &given.period},   {"slice", &given.slice}};
    const char *equals = strchr(word, '=');
    for (size_t i = 0; i < sizeof keys / sizeof *keys && equals != NULL; i++) {
        if (strncmp(word, keys[i].key, (size_t)(equals - word)) != 0 ||
            strlen(keys[i].key) != (size_t)(equals - word))
            continue;
        *keys[i].value = atof(equals + 1);
        return true;
    }
    return false;
}

/* ---- one worker ---- */

typedef struct worker {
    drove_transport *transport;
    const drove_wire *wire;
    float *in, *out;
    size_t n;
    double compute_s;
} worker;

static void fail_hard(const char *what)
{
    fprintf(stderr, "scaling: %s: %s\n", what, drove_error_text());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void must(drove_status status, const char *what)
{
    if (status != DROVE_OK) fail_hard(what);
}

static drove_exchange exchange_of(const worker *w, drove_exchange_kind kind)
{
    return (drove_exchange){.kind = kind, .in = w->in, .out = w->out, .n = w->n};
}

/* Computes and, now and then, looks after messages; while some are on their way they have a core of
 * their own, which is missing in compute. */
static void compute(const worker *w)
{
    bool is_over = false;
    for (double left = w->compute_s; left > 0.0;) {
        double begin = MPI_Wtime(), factor = is_over ? 1.0 : given.stretch;
        pass(is_over || left * factor < given.slice ? left * factor : given.slice);
        if (!is_over) is_over = w->transport->ops->test(w->transport, w->wire->rank, 0);
        left -= (MPI_Wtime() - begin) / factor;
    }
}

static void exchange(const worker *w, drove_exchange_kind kind)
{
    const drove_exchange x = exchange_of(w, kind);
    must(drove__exchange(w->transport, w->wire->rank, &x, NULL), "exchange");
}

static void iterate_overlapped(const worker *w)
{
    const drove_exchange x = exchange_of(w, DROVE_ALL_REDUCE);
    must(w->transport->ops->start(w->transport, w->wire->rank, &x), "start");
    compute(w);
    must(w->transport->ops->finish(w->transport, w->wire->rank, 0, NULL), "finish");
}

/* Algorithm 4 as its times say: the broadcast is hidden, the reduction is not. */
static void iterate_paper(const worker *w)
{
    double end = MPI_Wtime() + w->compute_s;
    MPI_Bcast(w->out, (int)w->n, MPI_FLOAT, 0, MPI_COMM_WORLD);
    pass(end - MPI_Wtime());
    MPI_Reduce(w->in, w->out, (int)w->n, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD);
    double levels = 0.0;
    for (unsigned reach = 1; reach < w->wire->n_ranks; reach *= 2) levels += 1.0;
    pass(levels * given.bytes * given.add);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void iterate(const worker *w, const char *method, unsigned t)
{
    bool meets = t % (unsigned)given.period == (unsigned)given.period - 1;
    if (strcmp(method, "library") == 0) {
        MPI_Allreduce(w->in, w->out, (int)w->n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        return;
    }
    if (!meets || w->wire->n_ranks == 1) {
        pass(w->compute_s);
        return;
    }
    if (strcmp(method, "paper") == 0) {
        iterate_paper(w);
    } else if (strcmp(method, "easgd-sync3") == 0) {
        iterate_overlapped(w);
    } else {
        pass(w->compute_s);
        if (strcmp(method, "easgd-sync2") == 0) {
            exchange(w, DROVE_BROADCAST);
            exchange(w, DROVE_REDUCE);
        } else {
            exchange(w, DROVE_ALL_REDUCE);
        }
    }
    pass(given.bytes * given.update);
}

static void prepare(worker *w, drove_wire *wire, drovek_table *kernels)
{
    const drove_messages_options opt = {.timeout_s = 1e6};
    double slow = drove__sim_normal_score(wire->rank, wire->n_ranks);
    must(drovek_select(kernels, drove__cpu_features(), NULL), "kernels");
    real_add = kernels->add_f32;
    kernels->add_f32 = timed_add;
    *w = (worker){.wire = wire,
                  .n = (size_t)(given.bytes / given.scale / sizeof(float)),
                  .compute_s = given.compute * (1.0 + given.spread * slow)};
    w->in = drove__alloc(w->n, sizeof *w->in);
    w->out = drove__alloc(w->n, sizeof *w->out);
    if (w->in == NULL || w->out == NULL) fail_hard("memory");
    must(drove__transport_messages(wire, kernels, &opt, &w->transport), "transport");
}

int main(int argc, char **argv)
{
    char error[DROVE_WIRE_NAME_SIZE] = "";
    drove_wire *wire = NULL;
    drovek_table kernels;
    worker w;
    bool is_good = argc > 1;
    for (int i = 2; i < argc; i++) is_good = is_good && read_setting(argv[i]);
    if (!is_good || drove_wire_module()->init(&wire, error) != 0) {
        fprintf(stderr, "scaling: expected METHOD key=value ... under smpirun %s\n", error);
        return 2;
    }
    prepare(&w, wire, &kernels);
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    for (unsigned t = 0; t < (unsigned)given.iterations; t++) iterate(&w, argv[1], t);
    double mine = (MPI_Wtime() - begin) / given.iterations, all = 0.0;
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (wire->rank == 0) {
        printf("{\"method\": \"%s\", \"nodes\": %u, \"bytes\": %.0f, \"period\": %.0f, "
               "\"compute_s\": %.6g, \"iteration_s\": %.6g}\n",
               argv[1], wire->n_ranks, given.bytes, given.period, given.compute, all);
    }
    w.transport->ops->destroy(w.transport);
    wire->ops->fini(wire);
    return 0;
}
