/* Denormal numbers count as zero in a thread that flushes them, and in no other. */
#include "support.h"

#include "base/denormals.h"

#include <float.h>
#include <pthread.h>
#include <stdbool.h>

static bool has_switches(void)
{
#if defined(__x86_64__) || defined(__aarch64__)
    return true;
#else
    return false;
#endif
}

/* The product of two normal numbers is denormal; and a denormal operand is made normal. */
static bool keeps_results(void)
{
    volatile float small = FLT_MIN, half = 0.5f;
    volatile float product = small * half;
    return product != 0.0f;
}

static bool keeps_operands(void)
{
    volatile float denormal = FLT_TRUE_MIN * 1024, large = 0x1p100f;
    volatile float product = denormal * large;
    return product != 0.0f;
}

TEST(test_switch)
{
    assert_true(keeps_results());
    assert_true(keeps_operands());
    uint64_t before = drove__denormals_flush();
    bool kept_results = keeps_results(), kept_operands = keeps_operands();
    drove__denormals_restore(before);
    assert_int_equal(kept_results, !has_switches());
    assert_int_equal(kept_operands, !has_switches());
    assert_true(keeps_results());
    assert_true(keeps_operands());
}

/* The inner pair must not switch off what the outer one has switched on. */
TEST(test_nested)
{
    uint64_t outer = drove__denormals_flush();
    uint64_t inner = drove__denormals_flush();
    drove__denormals_restore(inner);
    bool kept = keeps_results();
    drove__denormals_restore(outer);
    assert_int_equal(kept, !has_switches());
    assert_true(keeps_results());
}

static void *flush_main(void *argument)
{
    (void)drove__denormals_flush();
    *(bool *)argument = keeps_results();
    return NULL;
}

TEST(test_other_thread)
{
    pthread_t thread;
    bool kept;
    assert_int_equal(pthread_create(&thread, NULL, flush_main, &kept), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(kept, !has_switches());
    assert_true(keeps_results());
}
