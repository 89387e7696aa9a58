/* What a virtual clock cannot keep to is refused by the name of what stands in its way. */
#include "config/options.h"
#include "run/virtual.h"
#include "support/files.h"
#include "support/test.h"

#include "base/topo.h"

#include <string.h>

static const char machine[] = "name: four\n"
                              "source: test\n"
                              "sockets: 2\n"
                              "cores: 2\n"
                              "smt: 1\n";

/* The machine of a run with one more option; a text in the error, NULL: it can. */
static void try(const char *name, const char *value, unsigned n_ranks, const char *words)
{
    drove_options o = drove__options_default();
    drove_config config;
    drove_workers workers = {.ranks = {.n = n_ranks, .n_local = n_ranks}};
    drove_topo *topo = NULL;
    assert_int_equal(drove_options_set(&o, "machine", "machine.yaml"), DROVE_OK);
    assert_int_equal(drove_options_set(&o, "strategy", "hogwild"), DROVE_OK);
    assert_int_equal(drove_options_set(&o, name, value), DROVE_OK);
    assert_int_equal(drove__config_init(&o, &config), DROVE_OK);
    const drove_status status = drove__virtual_machine(&config, &workers, &topo);
    if (words == NULL && status != DROVE_OK) fail_msg("%s", drove_error_text());
    if (words != NULL) {
        assert_int_equal(status, DROVE_E_ARG);
        assert_null(topo);
        if (strstr(drove_error_text(), words) == NULL)
            fail_msg("expected \"%s\", found \"%s\"", words, drove_error_text());
    } else {
        drove_topo_facts facts;
        drove__topo_facts(topo, &facts);
        assert_int_equal(facts.n_cores, 4);
        assert_int_equal(facts.n_nodes, 2);
        drove__topo_destroy(topo);
    }
    drove__virtual_close(&workers);
    drove__config_fini(&config);
}

TEST(what_a_virtual_clock_cannot_keep_to)
{
    write_text("machine.yaml", machine);
    try("seed", "1", 1, NULL);
    try("seed", "1", 2, "expected workers that are threads on a virtual clock, found ranks");
    try("strategy", "auto", 1,
        "expected a --strategy that is named on a virtual clock, found auto");
    try("precision", "D8M8", 1, NULL);
    try("replay", "x", 1, "expected a new run on a virtual clock, found --replay");
    try("record", "x", 1, "expected no --record, as a run repeats by itself");
    try("partition", "2", 1, "expected workers of one core each on a virtual clock");
}
