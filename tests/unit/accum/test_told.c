/* What strategies of replicas are told, and tell: the order of devices of `tree`, each once and the
 * root first; and the facts of both strategies. */
#include "accum/accum.h"
#include "support/rig.h"

#include <string.h>

enum { N = 8, MOST = 4 };

static drove_status open_rig(rig *r, const drove_sync_ops *ops, unsigned n_workers,
                             const char *variant)
{
    const rig_options o = {
        .ops = ops, .variant = variant, .n = N, .n_workers = n_workers, .kernels = &drovek_ref};
    const drove_status status = rig_try_row(r, o);
    assert_int_equal(r->sync != NULL, status == DROVE_OK);
    return status;
}

static drove_status create(unsigned n_workers, const char *variant)
{
    rig r;
    drove_status status = open_rig(&r, &drove__accum_tree, n_workers, variant);
    rig_fini(&r);
    return status;
}

/* All n^n orders of up to four devices. */
TEST(each_device_is_a_leaf_once)
{
    unsigned n_orders = 1;
    for (unsigned n = 1; n <= MOST; n++) {
        n_orders = 1;
        for (unsigned i = 0; i < n; i++) n_orders *= n;
        for (unsigned k = 0; k < n_orders; k++) {
            char variant[32] = "tree:";
            unsigned seen = 0, left = k, first = k % n;
            for (unsigned i = 0; i < n; i++, left /= n) {
                const char leaf[] = {(char)('0' + left % n), i + 1 < n ? ',' : '\0', '\0'};
                strcat(variant, leaf);
                seen |= 1u << left % n;
            }
            bool is_right = first == 0 && seen == (1u << n) - 1;
            if ((create(n, variant) == DROVE_OK) != is_right)
                fail_msg("%s of %u: expected %s", variant, n, is_right ? "success" : "a refusal");
            if (!is_right)
                assert_non_null(strstr(drove_error_text(), "once, device 0, the root, first"));
        }
    }
    assert_int_equal(n_orders, 256);
}

TEST(as_many_leaves_as_devices)
{
    assert_int_equal(create(3, "tree"), DROVE_OK);
    assert_int_equal(create(3, "tree:0,1"), DROVE_E_ARG);
    assert_string_equal(drove_error_text(), "tree: expected the 3 devices in the order of the "
                                            "leaves, found 2 numbers");
    assert_int_equal(create(3, "tree:0,1,2,3"), DROVE_E_ARG);
    assert_int_equal(create(3, "tree:0,1,3"), DROVE_E_ARG);
    assert_int_equal(create(3, "tree:0,1,x"), DROVE_E_ARG);
}

/* Before the first step; of a strategy that is neither there are none. */
TEST(both_give_their_facts)
{
    static const drove_sync_ops other = {.name = "other"};
    for (unsigned n = 1; n <= MOST; n++) {
        rig r;
        drove_accum_facts facts;
        assert_int_equal(open_rig(&r, &drove__accum_accumulate, n, "accumulate"), DROVE_OK);
        assert_true(drove__accum_facts(r.sync, &facts));
        assert_int_equal(facts.n_devices, n);
        assert_int_equal(facts.n_parts, 1);
        assert_int_equal(facts.part[0].offset, 0);
        assert_int_equal(facts.part[0].length, N);
        assert_int_equal(facts.part[0].n_iterations, 0);
        assert_int_equal(facts.error.n_compared, 0);
        rig_fini(&r);
        assert_int_equal(open_rig(&r, &drove__accum_tree, n, "tree"), DROVE_OK);
        assert_true(drove__accum_facts(r.sync, &facts));
        assert_int_equal(facts.n_devices, n);
        rig_fini(&r);
    }
    drove_accum_facts facts = {.n_devices = 9, .n_parts = 9};
    assert_false(drove__accum_facts(&(drove_sync){.ops = &other}, &facts));
    assert_int_equal(facts.n_devices, 0);
    assert_int_equal(facts.n_parts, 0);
}
