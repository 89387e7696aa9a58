/* Memory that runs out while a transport of messages is made: the error says so and nothing stays;
 * nor does anything where one is made, used and destroyed. */
#include "cluster/mailbox.h"
#include "cluster/messages.h"
#include "crowd.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "support/no_memory.h"

enum { MOST_CALLS = 1000, N = 100 };

static void memory_that_runs_out_leaves_nothing(void **state)
{
    (void)state;
    const drove_mailbox_options box = {.n_ranks = 1, .seed = 1, .n_eager = 4096};
    const drove_messages_options opt = {.timeout_s = 5, .piece_bytes = 8192};
    const drovek_table *kernels = crowd_kernels();
    drove_wire *wire;
    unsigned long n = 1;
    if (!no_memory_works()) skip();
    assert_int_equal(drove__mailbox_create(&box, &wire), DROVE_OK);
    for (bool has_failed = true; has_failed && n < MOST_CALLS; n++) {
        drove_transport *t = NULL;
        float x[N] = {3.0f}, sum[N] = {0};
        no_memory_begin(n);
        drove_status status = drove__transport_messages(wire, kernels, &opt, &t);
        const bool is_made = status == DROVE_OK;
        assert_int_equal(is_made, t != NULL);
        const drove_exchange all = {.kind = DROVE_ALL_REDUCE, .in = x, .out = sum, .n = N};
        if (is_made) status = drove__exchange(t, 0, &all, NULL);
        has_failed = no_memory_end();
        if (status != (has_failed ? DROVE_E_NOMEM : DROVE_OK))
            fail_msg("allocation %lu: status %d: %s", n, status, drove_error_text());
        if (!has_failed) assert_true(sum[0] == 3.0f);
        if (is_made) t->ops->destroy(t);
        if (no_memory_live() != 0)
            fail_msg("allocation %lu: %zu pieces of memory stay", n, no_memory_live());
    }
    assert_in_range(n, 6, MOST_CALLS - 1);
    wire->ops->fini(wire);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_that_runs_out_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
