/* Iterations on the virtual clock against cases worked out by hand, and AlexNet's numbers of the
 * paper's Tables 3 and 4.
 */
#include "bench/simulate_accum.h"
#include "support/test.h"

#include <math.h>
#include <stdio.h>

#define assert_near(a, b) assert_true(fabs((a) - (b)) < 1e-9)

/* forward 10; backward of layer 1 takes 4, of layer 0 takes 6; update 2 */
static const drove_sim_layer two[] = {
    {.backward_s = 6, .n_params = 1, .down_s = 1, .add_s = 0.5, .up_s = 0.25},
    {.backward_s = 4, .n_params = 8, .down_s = 3, .add_s = 3, .up_s = 2},
};
static const drove_sim_net small = {.name = "two layers",
                                    .forward_s = 10,
                                    .update_s = 2,
                                    .n_layers = 2,
                                    .layer = two,
                                    .link_s = 5,
                                    .sum_s = 1};

static drove_sim_result simulate(const drove_sim_net *net, drove_sim_options opt)
{
    drove_sim_result r;
    if (!(opt.stretch > 0.0)) opt.stretch = 1.0;
    assert_int_equal(drove__simulate_accumulation(net, &opt, &r), DROVE_OK);
    return r;
}

TEST(one_device_by_hand)
{
    /* Layer 1: 14 down 17 up 19; layer 0: 20 down 21 up 21.25. */
    drove_sim_result r = simulate(&small, (drove_sim_options){.n_devices = 1});
    assert_near(r.backward_s, 10);
    assert_near(r.exchange_s, 1.25);
    assert_near(r.iteration_s, 10 + 10 + 1.25 + 2);
}

TEST(two_devices_by_hand)
{
    /* Layer 1: 14 down 17 sum (3/3 of 3) 20 up 22; layer 0: 20 down 21 sum 21.5 up from 22 to
     * 22.25. */
    drove_sim_result r = simulate(&small, (drove_sim_options){.n_devices = 2});
    assert_near(r.exchange_s, 2.25);
    assert_near(r.iteration_s, 24.25);
    /* One link: down 17 and 20, sum 23, up 25 and 27; layer 0: down 21 and 22, sum 23.5, up from 27
     * to 27.25 and 27.5. */
    r = simulate(&small,
                 (drove_sim_options){.n_devices = 2, .shares_link = true, .n_iterations = 1});
    assert_near(r.exchange_s, 7.5);
    assert_near(r.iteration_s, 29.5);
    /* At the end: layer 1 down 23 sum 26 up 28; layer 0 down 24 sum 26.5 up 28.25. */
    r = simulate(&small, (drove_sim_options){.n_devices = 2, .method = DROVE_SIM_AT_END});
    assert_near(r.exchange_s, 8.25);
    /* As Algorithm 7 is printed: both gradients are added to zeros: 17 sum 23 up 25; layer 0: 21
     * sum from 23 to 24 up 25.25. */
    r = simulate(&small, (drove_sim_options){.n_devices = 2, .order = DROVE_ACCUM_FIRST_COME});
    assert_near(r.exchange_s, 5.25);
}

TEST(slower_devices_and_longer_backward)
{
    /* Device 1: forward 11, layer 1 at 15.4, layer 0 at 22; down 23 sum 23.5 up 23.75. */
    drove_sim_result r = simulate(&small, (drove_sim_options){.n_devices = 2, .skew = 0.1});
    assert_near(r.exchange_s, 1.75);
    assert_near(r.iteration_s, 22 + 1.75 + 2.2);
    /* Backward twice as long: layer 1 at 18, layer 0 at 30. */
    r = simulate(&small, (drove_sim_options){.n_devices = 2, .stretch = 2.0});
    assert_near(r.exchange_s, 1.75);
    assert_near(r.iteration_s, 10 + 20 + 1.75 + 2);
}

TEST(trees_by_hand)
{
    const drove_sim_options four = {.n_devices = 4, .method = DROVE_SIM_TREE};
    drove_sim_result r = simulate(&small, four);
    assert_near(r.exchange_s, 12);
    assert_near(r.broadcast_s, 10);
    assert_near(r.iteration_s, 10 + 10 + 12 + 2 + 10);
    r = simulate(&small, (drove_sim_options){.n_devices = 1, .method = DROVE_SIM_TREE});
    assert_near(r.iteration_s, 22);
}

/* Tables 3 and 4, ms; backward by layer in proportion to multiply-adds
 * (docs/methods/accumulate.md). */
TEST(alexnet_of_the_paper)
{
    static const drove_sim_layer layer[] = {
        {8.2, 0.03, 0.014, 0.018, 0.007}, {34.7, 0.3, 0.066, 0.155, 0.041},
        {23.2, 0.9, 0.275, 0.578, 0.123}, {17.4, 0.7, 0.174, 0.465, 0.095},
        {11.6, 0.4, 0.133, 0.285, 0.064}, {5.8, 37.8, 12.146, 13.074, 5.538},
        {2.6, 16.8, 3.156, 4.441, 2.568}, {0.6, 4, 0.760, 1.263, 1.786},
    };
    const drove_sim_net net = {.name = "alexnet",
                               .forward_s = 50.6,
                               .update_s = 5.1,
                               .n_layers = 8,
                               .layer = layer,
                               .link_s = 10,
                               .sum_s = 1.5};
    double one_s = simulate(&net, (drove_sim_options){.n_devices = 1}).iteration_s;
    for (drove_accum_order order = DROVE_ACCUM_ONCE; order <= DROVE_ACCUM_FIRST_COME; order++) {
        drove_sim_result r =
            simulate(&net,
                     (drove_sim_options){.n_devices = 4, .order = order, .stretch = 111.0 / 104.0});
        printf("alexnet, 4 devices, order %d: exposed %.4f ms, efficiency %.3f\n", (int)order,
               r.exchange_s, one_s / r.iteration_s);
        assert_true(r.exchange_s < 0.1); /* the paper: 0.0218 */
        assert_true(one_s / r.iteration_s > 0.9);
    }
    double tree_s =
        simulate(&net, (drove_sim_options){.n_devices = 4, .method = DROVE_SIM_TREE}).iteration_s;
    assert_true(fabs(tree_s - 202.7) < 1.0); /* Table 3 */
}

TEST(refused)
{
    drove_sim_result r;
    const drove_sim_options none = {.n_devices = 0, .stretch = 1},
                            fast = {.n_devices = 1, .stretch = 0.5};
    assert_int_equal(drove__simulate_accumulation(&small, &none, &r), DROVE_E_ARG);
    assert_int_equal(drove__simulate_accumulation(&small, &fast, &r), DROVE_E_ARG);
}
