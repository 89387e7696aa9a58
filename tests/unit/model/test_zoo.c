/* test_zoo.c - the networks of the zoo against the literature: parameters, shapes, heads. */
#include "model/model.h"
#include "support/test.h"

#include "model/layer.h"

#include <stdlib.h>
#include <string.h>

static drove_model *make(const char *spec, size_t side, size_t channels, size_t n_classes)
{
    const drove_model_io io = {.n_features = channels * side * side,
                               .n_classes = n_classes,
                               .image = {channels, side, side}};
    drove_model *m = NULL;
    if (drove__model_create(spec, NULL, "", &io, &m) != DROVE_OK)
        fail_msg("%s: %s", spec, drove_error_text());
    return m;
}

static const drove_layer *find(const drove_model *m, const char *name)
{
    for (size_t l = 0; l < m->n_layers; l++) {
        if (strcmp(m->layer[l].name, name) == 0) return &m->layer[l];
    }
    fail_msg("%s: no layer %s", m->spec, name);
    return NULL;
}

static void expect_shape(const drove_model *m, const char *name, size_t c, size_t h, size_t w)
{
    const drove_shape s = find(m, name)->out;
    if (s.c != c || s.h != h || s.w != w)
        fail_msg("%s: %s is %zu x %zu x %zu", m->spec, name, s.c, s.h, s.w);
}

/* LeNet: Caffe's example; the others as their authors' networks are counted everywhere. */
TEST(numbers_of_parameters_are_those_of_the_literature)
{
    const struct {
        const char *spec;
        size_t side, channels, n_classes, n_weights;
    } rows[] = {
        {"lenet", 28, 1, 10, 431080},
        {"cifar-quick", 32, 3, 10, 145578},
        {"alexnet", 227, 3, 1000, 60965224},
        {"googlenet", 224, 3, 1000, 13378280},
        {"googlenet?auxiliary=0", 224, 3, 1000, 6998552},
        {"vgg16", 224, 3, 1000, 138357544},
        {"vgg19", 224, 3, 1000, 143667240},
        {"resnet18", 224, 3, 1000, 11689512}, /* these as torchvision counts them */
        {"resnet34", 224, 3, 1000, 21797672},
        {"resnet50", 224, 3, 1000, 25557032},
        {"mobilenetv3", 224, 3, 1000, 2542856},
        {"mobilenetv3?size=large", 224, 3, 1000, 5483032},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        drove_model *m = make(rows[i].spec, rows[i].side, rows[i].channels, rows[i].n_classes);
        if (m->n_weights != rows[i].n_weights) fail_msg("%s: %zu", rows[i].spec, m->n_weights);
        drove__model_destroy(m);
    }
}

TEST(shapes_are_those_of_the_papers)
{
    drove_model *m = make("alexnet", 227, 3, 1000);
    expect_shape(m, "conv1", 96, 55, 55);
    expect_shape(m, "pool1", 96, 27, 27);
    expect_shape(m, "conv2", 256, 27, 27);
    expect_shape(m, "conv3", 384, 13, 13);
    expect_shape(m, "pool5", 256, 6, 6);
    assert_int_equal(find(m, "conv2")->opt.groups, 2);
    assert_true(m->is_random);
    drove__model_destroy(m);

    m = make("googlenet", 224, 3, 1000);
    expect_shape(m, "pool1/3x3_s2", 64, 56, 56);
    expect_shape(m, "inception_3a/output", 256, 28, 28);
    expect_shape(m, "inception_4e/output", 832, 14, 14);
    expect_shape(m, "inception_5b/output", 1024, 7, 7);
    expect_shape(m, "loss1/ave_pool", 512, 4, 4);
    assert_int_equal(m->n_heads, 3);
    assert_true(m->head[0].weight == 0.3f && m->head[1].weight == 0.3f);
    assert_true(m->head[2].weight == 1.0f && m->head[2].layer == m->n_layers - 1);
    assert_true(find(m, "loss2/fc")->training.is_only);
    assert_false(find(m, "inception_4d/output")->training.is_only);
    drove__model_destroy(m);

    m = make("vgg16", 224, 3, 1000);
    expect_shape(m, "conv5_3", 512, 14, 14);
    expect_shape(m, "pool5", 512, 7, 7);
    drove__model_destroy(m);
    m = make("cifar-quick", 32, 3, 10);
    expect_shape(m, "pool3", 64, 4, 4);
    drove__model_destroy(m);

    m = make("resnet18", 224, 3, 1000);
    expect_shape(m, "conv1", 64, 112, 112);
    expect_shape(m, "maxpool", 64, 56, 56);
    expect_shape(m, "layer2.0.downsample.0", 128, 28, 28);
    expect_shape(m, "layer4.1", 512, 7, 7);
    assert_int_equal(find(m, "layer4.1")->act, DROVEK_RELU);
    assert_int_equal(find(m, "layer4.1.bn2")->act, DROVEK_LINEAR);
    drove__model_destroy(m);
    m = make("resnet18", 33, 3, 10); /* zeros count on all sides */
    expect_shape(m, "conv1", 64, 17, 17);
    expect_shape(m, "maxpool", 64, 9, 9);
    drove__model_destroy(m);
    m = make("resnet50", 224, 3, 1000); /* the stride is that of the 3 x 3 convolution */
    expect_shape(m, "layer2.0.conv1", 128, 56, 56);
    expect_shape(m, "layer2.0.conv2", 128, 28, 28);
    expect_shape(m, "layer1.0.downsample.0", 256, 56, 56);
    drove__model_destroy(m);

    m = make("mobilenetv3", 224, 3, 1000);
    expect_shape(m, "features.1.block.0.0", 16, 56, 56); /* no convolution to more channels */
    expect_shape(m, "features.4.block.2.fc1", 24, 1, 1);
    expect_shape(m, "features.12.0", 576, 7, 7);
    assert_int_equal(find(m, "features.4.block.1.0")->opt.groups, 96);
    assert_int_equal(find(m, "classifier.0")->n_out, 1024);
    assert_true(find(m, "classifier.2")->opt.ratio == 0.2f);
    assert_true(find(m, "features.0.1")->opt.epsilon == 0.001f);
    drove__model_destroy(m);
    m = make("mobilenetv3?size=large&dropout=0", 224, 3, 1000);
    expect_shape(m, "features.4.block.2.fc2", 72, 1, 1);
    expect_shape(m, "features.16.0", 960, 7, 7);
    assert_int_equal(find(m, "classifier.0")->n_out, 1280);
    assert_false(m->is_random);
    drove__model_destroy(m);
}

/* Every window is padded, so that any image has a place for it. */
TEST(networks_of_padded_windows_take_images_of_any_size)
{
    static const char *const specs[] = {"resnet18", "resnet50", "mobilenetv3"};
    static const size_t sides[] = {1, 2, 28, 32, 33};
    for (size_t i = 0; i < 3; i++)
        for (size_t s = 0; s < 5; s++) drove__model_destroy(make(specs[i], sides[s], 1, 3));
}

/* At the least side that a network says, every layer still has a place for its window. */
TEST(the_smallest_images_fit_and_smaller_ones_are_told)
{
    const struct {
        const char *spec;
        size_t least;
    } rows[] = {{"lenet", 15},     {"cifar-quick", 12}, {"alexnet", 55}, {"alexnet-cifar", 12},
                {"googlenet", 79}, {"vgg16", 32},       {"vgg19", 32}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        size_t side = rows[i].least;
        char text[128];
        drove__model_destroy(make(rows[i].spec, side, 3, 7));
        const drove_model_io io = {.n_features = 3 * (side - 1) * (side - 1),
                                   .n_classes = 7,
                                   .image = {3, side - 1, side - 1}};
        drove_model *m = NULL;
        assert_int_equal(drove__model_create(rows[i].spec, NULL, "", &io, &m), DROVE_E_SHAPE);
        snprintf(text, sizeof text, "model %s: expected images of at least %zu x %zu, found",
                 rows[i].spec, side, side);
        assert_non_null(strstr(drove_error_text(), text));
    }
}

TEST(keys_change_what_they_say)
{
    drove_model *m = make("vgg16?dropout=0&units=64", 32, 3, 10);
    assert_false(m->is_random);
    assert_int_equal(find(m, "fc7")->n_out, 64);
    drove__model_destroy(m);
    static const char *const dropping[] = {"alexnet-cifar", "alexnet-cifar?dropout=0.25",
                                           "vgg16?units=64", "vgg19?units=64&dropout=0.25"};
    for (size_t i = 0; i < 4; i++) {
        const float ratio = i % 2 == 0 ? 0.5f : 0.25f;
        m = make(dropping[i], 32, 3, 10);
        assert_true(find(m, "drop6")->opt.ratio == ratio && find(m, "drop7")->opt.ratio == ratio);
        assert_true(m->is_random);
        drove__model_destroy(m);
    }
    m = make("googlenet?auxiliary=0", 96, 3, 10);
    assert_int_equal(m->n_heads, 1);
    drove__model_destroy(m);

    static const char *const wrong[] = {
        "vgg16?droput=0",       "lenet?dropout=0",       "lenet:3",
        "alexnet?dropout=1",    "googlenet?auxiliary=2", "resnet18?dropout=0",
        "mobilenetv3?size=huge"};
    const drove_model_io io = {.n_features = 3 * 96 * 96, .n_classes = 10, .image = {3, 96, 96}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(drove__model_create(wrong[i], NULL, "", &io, &m), DROVE_E_ARG);
        assert_null(m);
    }
}

TEST(the_activation_is_a_choice)
{
    const drove_model_io io = {.n_features = 784, .n_classes = 10, .image = {1, 28, 28}};
    drove_model *m = NULL;
    assert_int_equal(drove__model_create("lenet", "tanh", "", &io, &m), DROVE_OK);
    assert_int_equal(find(m, "conv1")->act, DROVEK_LINEAR);
    assert_int_equal(find(m, "ip1")->act, DROVEK_TANH);
    drove__model_destroy(m);

    /* The paper's hard_swish and hard_sigmoid stay. */
    assert_int_equal(drove__model_create("mobilenetv3", "elu", "", &io, &m), DROVE_OK);
    assert_int_equal(find(m, "features.2.block.0.1.act")->act, DROVEK_CURVE_elu);
    assert_int_equal(find(m, "features.4.block.0.1.act")->act, DROVEK_CURVE_hard_swish);
    assert_int_equal(find(m, "features.4.block.2.fc2.act")->act, DROVEK_CURVE_hard_sigmoid);
    drove__model_destroy(m);
}
