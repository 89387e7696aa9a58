/* report/modelled.c - the virtual clock of a run, and the machine that it is of. */
#include "report/json.h"
#include "report/sections.h"

#include <math.h>

json_t *drove__report_modelled_json(const drove_modelled_facts *m)
{
    if (!m->is_there) return json_null();
    json_t *object =
        json_pack("{s:s, s:s, s:s, s:i, s:i, s:i, s:b}", "name", m->name, "source", m->source,
                  "assumed", m->assumed, "sockets", (int)m->sockets, "cores", (int)m->cores, "smt",
                  (int)m->smt, "measured", (int)m->is_measured);
    const struct {
        const char *key;
        double value;
    } reals[] = {{"smt_yield", m->smt_yield}, {"speed", m->speed},
                 {"jitter", m->jitter},       {"memory_gb_s", m->memory_gb_s},
                 {"batch_us", m->batch_us},   {"example_us", m->example_us},
                 {"copy_gb_s", m->copy_gb_s}, {"update_gb_s", m->update_gb_s},
                 {"line_ns", m->line_ns},     {"far_line_ns", m->far_line_ns},
                 {"window_ns", m->window_ns}, {"hand_over_us", m->hand_over_us},
                 {"take_gb_s", m->take_gb_s}, {"race_gb_s", m->race_gb_s}};
    for (size_t i = 0; i < DROVE_COUNT(reals); i++)
        drove__json_set(&object, reals[i].key, drove__json_real(reals[i].value));
    return object;
}

const char *drove__report_clock(const drove_start_facts *f)
{
    return f->modelled.is_there ? "virtual" : "real";
}

void drove__report_modelled_print(const drove_modelled_facts *m, FILE *stream)
{
    if (!m->is_there) return;
    fprintf(stream,
            "  clock       virtual: all seconds are those of the machine %s (%u x %u x %u)\n",
            m->name, m->sockets, m->cores, m->smt);
    if (m->is_measured)
        fputs(
            "  measured    costs not in the machine file, on this machine as the run began: other "
            "runs may differ\n",
            stream);
}
