/* Codecs of parts that are sent one by one: each has memory of its own in the worker's residuals,
 * and random numbers of its own, the same for all workers.
 *
 * ctest: wraps=drove__codec_create */
#include "support/strategies.h"

#include "cluster/codec.h"
#include "elastic/elastic.h"

enum { N = 3000, P = 3, N_PARTS = 3 };
static const drove_span parts[N_PARTS] = {{0, 1100}, {1100, 900}, {2000, 1000}};

static drove_codec_options made[P * N_PARTS];
static unsigned n_made;

drove_status __real_drove__codec_create(const drove_codec_options *opt, drove_codec **out);
drove_status __wrap_drove__codec_create(const drove_codec_options *opt, drove_codec **out);
drove_status __wrap_drove__codec_create(const drove_codec_options *opt, drove_codec **out)
{
    if (n_made < DROVE_COUNT(made)) made[n_made] = *opt;
    n_made++;
    return __real_drove__codec_create(opt, out);
}

TEST(parts_share_no_memory_and_no_random_numbers)
{
    rig r;
    n_made = 0;
    rig_init(&r, (rig_options){.variant = "allreduce",
                               .ops = &drove__sync_allreduce,
                               .n = N,
                               .n_workers = P,
                               .part = parts,
                               .n_parts = N_PARTS,
                               .wire_format = "C8s"});
    assert_int_equal(n_made, P * N_PARTS);
    for (unsigned w = 0; w < P; w++) {
        const drove_codec_options *of = &made[w * N_PARTS];
        size_t at = 0;
        for (unsigned i = 0; i < N_PARTS; i++) {
            assert_int_equal(of[i].bits, 8);
            assert_int_equal(of[i].worker, w);
            assert_int_equal(of[i].n_workers, P);
            assert_int_equal(of[i].n, parts[i].length);
            assert_int_equal(of[i].seed, made[0].seed + i);
            assert_ptr_equal(of[i].residual, of[0].residual + parts[i].offset);
            assert_ptr_equal(of[i].sum_residual, of[0].sum_residual + at);
            at += drove__codec_slice_size(parts[i].length, P, w);
        }
        assert_true(at > 0);
    }
    rig_fini(&r);
}
