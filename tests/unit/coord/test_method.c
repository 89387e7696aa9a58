/* What the specs of hogbatch and adaptive say, and how the step size follows the batch. */
#include "coord/groups.h"
#include "coord/method.h"
#include "support/test.h"

#include <math.h>

static drove_status parse(const char *text, drove_method *out)
{
    drove_spec spec;
    assert_int_equal(drove__spec_parse(text, &spec), DROVE_OK);
    drove_status status = drove__method_parse(&spec, out);
    drove__spec_fini(&spec);
    return status;
}

static void expect_factor(const char *text, size_t n, double expected)
{
    drove_method m;
    assert_int_equal(parse(text, &m), DROVE_OK);
    double found = drove__method_lr_factor(&m, n, 64);
    if (fabs(found - expected) > 1e-12) fail_msg("%s, %zu: %g, not %g", text, n, found, expected);
}

/* --batch 64 */
TEST(test_step_size)
{
    expect_factor("hogbatch", 1, 1.0);
    expect_factor("hogbatch", 8192, 1.0);
    expect_factor("hogbatch:mixed", 1, 0.125); /* root of 1 / 64 */
    expect_factor("hogbatch:mixed", 256, 2.0);
    expect_factor("adaptive", 8192, 4.0); /* not the root of 128 */
    expect_factor("adaptive?lr_most=100", 6400, 10.0);
    expect_factor("adaptive?lr=linear&lr_most=100", 6400, 100.0);
    expect_factor("adaptive?lr=linear&lr_most=100", 16, 0.25);
    expect_factor("adaptive?lr=same", 16, 1.0);
}

TEST(test_words)
{
    drove_method m;
    assert_int_equal(parse("hogbatch", &m), DROVE_OK);
    assert_true(m.policy == &drove__policy_fixed && !m.is_mixed && !m.tail_as_is);
    assert_false(m.by_coordinator || m.replaces);
    assert_int_equal(parse("hogbatch:mixed?update=coordinator&merge=replace&tail=as-is", &m),
                     DROVE_OK);
    assert_true(m.policy == &drove__policy_fixed && m.by_coordinator && m.replaces);
    assert_true(m.is_mixed && m.tail_as_is);
    assert_int_equal(parse("adaptive?alpha=3&beta=0.25&utilisation=0.5", &m), DROVE_OK);
    assert_true(m.policy == &drove__policy_adaptive && m.is_mixed);
    assert_true(m.alpha == 3.0 && m.beta == 0.25 && m.utilisation == 0.5);
    static const char *const wrong[] = {"adaptive?alpha=1",   "adaptive?beta=1.5",
                                        "adaptive:mixed",     "hogbatch:equal",
                                        "hogbatch?alpha=2",   "hogbatch?lr=cubic",
                                        "adaptive?lr_most=0", "adaptive?utilisation=2"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (parse(wrong[i], &m) != DROVE_E_ARG) fail_msg("%s was taken", wrong[i]);
}

/* Devices are measured, unless their bounds are given or batches are equal. */
TEST(test_probe)
{
    static const struct {
        const char *spec;
        bool is_device;
        uint64_t least, most;
        bool wants;
    } cases[] = {
        {"adaptive", true, 0, 0, true},          {"adaptive", true, 1, 0, true},
        {"adaptive", true, 0, 8, true},          {"adaptive", true, 1, 8, false},
        {"adaptive", false, 0, 0, false},        {"adaptive", false, 1, 8, false},
        {"hogbatch", true, 0, 0, false},         {"hogbatch:mixed", true, 0, 0, true},
        {"adaptive?alpha=1", true, 0, 0, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        drove_spec spec;
        const drove_source_worker w = {.is_device = cases[i].is_device,
                                       .least = cases[i].least,
                                       .most = cases[i].most};
        assert_int_equal(drove__spec_parse(cases[i].spec, &spec), DROVE_OK);
        if (drove__groups_want_probe(&spec, &w) != cases[i].wants) fail_msg("case %zu", i);
        drove__spec_fini(&spec);
    }
}
