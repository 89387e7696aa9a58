/* Memory that runs out while an optimiser or a worker's state is made: at every allocation the
 * error says how many bytes were asked for, and nothing stays.
 * ctest: home=release: a sanitizer has a malloc of its own.
 * ctest: apart: its malloc is for all */
#include "support.h"

#include <stdio.h>
#include <string.h>

#include "support/no_memory.h"

enum { N = 100 };

TEST(an_optimiser_that_finds_no_memory)
{
    if (!no_memory_works()) skip();
    char own[64];
    snprintf(own, sizeof own, "optimiser: not enough memory for %zu bytes", sizeof(drove_optim));
    /* Mean staleness 1: until P is negligible 1 + 12 + 80 entries and two, of two tables. */
    const char *const text[] = {own,
                                "spec: not enough memory for 4 bytes",
                                "schedule: not enough memory for 12 bytes",
                                "spec: not enough memory for 12 bytes",
                                "mindthestep: not enough memory for 1520 bytes",
                                "mindthestep: not enough memory for 1520 bytes"};
    drove_optim_options opt = plain_options(N);
    opt.schedule = "mindthestep";
    opt.n_workers = 2;
    for (unsigned long n = 1; n <= DROVE_COUNT(text) + 1; n++) {
        const bool is_made = n > DROVE_COUNT(text);
        drove_optim *optim = NULL;
        no_memory_begin(n);
        const drove_status status = drove__optim_create(&opt, &optim);
        assert_int_equal(no_memory_end(), !is_made);
        assert_int_equal(status, is_made ? DROVE_OK : DROVE_E_NOMEM);
        assert_int_equal(optim != NULL, is_made);
        if (!is_made) assert_string_equal(drove_error_text(), text[n - 1]);
        drove__optim_destroy(optim);
        assert_int_equal(no_memory_live(), 0);
    }
}

/* Vectors of N floats: where the rule looks ahead, the place to look from; per worker, the rule's
 * state. */
TEST(a_worker_that_finds_no_memory)
{
    if (!no_memory_works()) skip();
    static const struct {
        const char *rule;
        drove_state_place state;
        unsigned long n_vectors;
    } cases[] = {{"sgd", DROVE_STATE_WORKER, 0},      {"adam", DROVE_STATE_SHARED, 0},
                 {"adam", DROVE_STATE_WORKER, 2},     {"momentum", DROVE_STATE_WORKER, 1},
                 {"nesterov", DROVE_STATE_SHARED, 1}, {"nesterov", DROVE_STATE_WORKER, 2}};
    for (size_t i = 0; i < DROVE_COUNT(cases); i++) {
        drove_optim_options opt = plain_options(N);
        opt.rule = cases[i].rule;
        opt.state = cases[i].state;
        drove_optim *optim = make_optim(&opt);
        for (unsigned long n = 1; n <= cases[i].n_vectors + 1; n++) {
            const bool is_made = n > cases[i].n_vectors;
            drove_optim_worker w;
            no_memory_begin(n);
            const drove_status status = drove__optim_worker_init(&w, optim);
            assert_int_equal(no_memory_end(), !is_made);
            assert_int_equal(status, is_made ? DROVE_OK : DROVE_E_NOMEM);
            if (!is_made)
                assert_string_equal(drove_error_text(),
                                    "rule state of a worker: not enough memory for 400 bytes");
            assert_int_equal(no_memory_live(), is_made ? cases[i].n_vectors : 0);
            drove__optim_worker_fini(&w);
            assert_int_equal(no_memory_live(), 0);
        }
        drove__optim_destroy(optim);
    }
}
