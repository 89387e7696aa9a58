/* --partition: groups of cores with parameters and data of their own compute what as many threads
 * with shared data do. */
#include "system/run_support.h"
#include "support/test.h"

#include "base/topo.h"

#include <string.h>

TEST(test_two_groups_give_the_bits_of_two_threads)
{
    drove_topo *topo;
    drove_topo_facts facts;
    assert_int_equal(drove__topo_create(NULL, &topo), DROVE_OK);
    drove__topo_facts(topo, &facts);
    drove__topo_destroy(topo);
    if (facts.n_cores != 2) {
        print_message("skipped: two cores are wanted, there are %u\n", facts.n_cores);
        skip();
    }
    static const char *const data[] = {"synth:digits?n=600&seed=3",
                                       "synth:logistic?n=600&d=50&density=0.1&seed=3"};
    for (int i = 0; i < 2; i++) {
        drove_options threads = small_run(), groups = small_run();
        set(&threads, "data", data[i]);
        set(&threads, "test", "split"); /* a view of some rows */
        set(&threads, "strategy", "allreduce");
        set(&threads, "threads", "2");
        groups = threads;
        set(&groups, "strategy", "auto");
        set(&groups, "partition", "2");
        set(&threads, "out", fresh_folder("two-threads"));
        set(&groups, "out", fresh_folder("two-groups"));
        run_to(&threads, DROVE_FINISHED);
        run_to(&groups, DROVE_FINISHED);
        assert_same_model("two-threads", "two-groups");
    }
}

TEST(test_one_group_has_all_cores)
{
    drove_options opt = small_run();
    drove_result *result;
    set(&opt, "strategy", "auto");
    set(&opt, "partition", "1");
    if (drove_train(&opt, NULL, &result) != DROVE_OK) fail_msg("%s", drove_error_text());
    const char *found = strstr(drove_result_json(result), "\"partition\": {");
    assert_non_null(found);
    assert_non_null(strstr(found, "\"groups\": 1,"));
    drove_result_destroy(result);
}

static void refused(const char *option, const char *value, const char *part)
{
    drove_options opt = small_run();
    drove_result *result;
    set(&opt, "strategy", "auto");
    set(&opt, "partition", "1");
    set(&opt, option, value);
    assert_int_equal(drove_train(&opt, NULL, &result), DROVE_E_ARG);
    if (strstr(drove_error_text(), part) == NULL) fail_msg("%s", drove_error_text());
}

TEST(test_what_is_refused)
{
    refused("workers", "procs:2", "over processes");
    refused("strategy", "hogwild", "such as allreduce");
    refused("partition", "4096", "--partition 4096: expected groups that cut no");
}
