/* tests/fuzz/fuzz_modelled.c - machine files of any content: what is accepted is a machine that a
 * virtual clock and a topology can be made of. */
#include "fuzz_text.h"

#include "base/virtual.h"
#include "plan/modelled.h"

#include <math.h>

static void check(bool is_so)
{
    if (!is_so) abort();
}

static bool is_between(double value, double least, double most)
{
    return value >= least && value <= most;
}

static bool is_cost(double value, double least) /* or to be measured */
{
    return isnan(value) || is_between(value, least, 1e9);
}

static void check_devices(const drove_modelled *m)
{
    check(m->n_devices <= DROVE_MODELLED_MOST_DEVICES);
    for (unsigned i = 0; i < m->n_devices; i++) {
        const drove_modelled_device *d = &m->device[i];
        check(d->name[0] != '\0' && drove__modelled_device(m, d->name) == d); /* each once */
        check(is_between(d->examples_per_s, 1e-3, 1e9) && is_between(d->delay_us, 0.0, 1e6));
        check(is_between(d->transfer_gb_s, 0.0, 1e9) && is_between(d->memory_gib, 0.0, 1e9));
    }
}

static void check_machine(const drove_modelled *m)
{
    check(m->name[0] != '\0' && memchr(m->source, '\0', sizeof m->source) != NULL);
    check(memchr(m->assumed, '\0', sizeof m->assumed) != NULL);
    check(m->sockets >= 1 && m->sockets <= DROVE_MOST_SOCKETS && m->cores >= 1 && m->smt >= 1);
    check((uint64_t)m->sockets * m->cores * m->smt <= 4096);
    check(m->smt_yield > 0.0 && m->speed > 0.0 && m->memory_gb_s >= 0.0);
    check(isnan(m->jitter) || is_between(m->jitter, 0.0, 0.99));
    check(isnan(m->batch_us) == isnan(m->example_us));
    check(is_cost(m->batch_us, 0.0) && is_cost(m->example_us, 0.0) && is_cost(m->line_ns, 0.0));
    check(is_cost(m->copy_gb_s, 1e-9) && is_cost(m->update_gb_s, 1e-9));
    check(is_cost(m->far_line_ns, 0.0) && is_cost(m->window_ns, 0.0));
    check(is_cost(m->hand_over_us, 0.0) && is_cost(m->take_gb_s, 0.0));
    check(m->race_gb_s >= 0.0);
    check_devices(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    drove_modelled m;
    char *text = fuzz_text(data, size_bytes);
    if (fuzz_is_ok(drove__modelled_parse(text, size_bytes, "fuzz", &m))) check_machine(&m);
    free(text);
    return 0;
}
