/* A network that is described: shapes and sums of small networks worked out by hand, from a shape
 * or from data; speeds of devices as a table. */
#include "about/info.h"
#include "about/measure_devices.h"
#include "config/config.h"
#include "support/files.h"
#include "support/test.h"

#include <drove/train.h>

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const drove_input_shape twelve = {.channels = 12, .height = 1, .width = 1, .n_classes = 3};

static drove_options *options_of(const char *const (*set)[2], size_t n)
{
    drove_options *o;
    assert_int_equal(drove_options_create(&o), DROVE_OK);
    for (size_t i = 0; i < n; i++)
        if (drove_options_set(o, set[i][0], set[i][1]) != DROVE_OK)
            fail_msg("%s", drove_error_text());
    return o;
}

/* What drove_describe prints; free(). */
static char *describe(const drove_options *o, const drove_input_shape *shape, int as_json)
{
    char *text = NULL;
    size_t size_bytes = 0;
    FILE *stream = open_memstream(&text, &size_bytes);
    assert_non_null(stream);
    if (drove_describe(o, shape, as_json, stream) != DROVE_OK) fail_msg("%s", drove_error_text());
    assert_int_equal(fclose(stream), 0);
    return text;
}

static json_t *describe_json(const drove_options *o, const drove_input_shape *shape)
{
    char *text = describe(o, shape, 1);
    json_t *object = json_loads(text, 0, NULL);
    if (object == NULL) fail_msg("no JSON: %s", text);
    free(text);
    return object;
}

static json_int_t number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_integer(value)) fail_msg("no number %s", key);
    return json_integer_value(value);
}

static const char *const mlp[][2] = {{"model", "mlp:5,7"}, {"batch", "16"}};

/* 12 -> 5 -> 7 -> 3, each layer with biases. */
TEST(layers_are_those_of_the_network)
{
    static const json_int_t n_out[] = {5, 7, 3}, n_params[] = {65, 42, 24}, n_adds[] = {60, 35, 21};
    drove_options *o = options_of(mlp, DROVE_COUNT(mlp));
    json_t *object = describe_json(o, &twelve);
    const json_t *layers = json_object_get(object, "layers");
    assert_int_equal(json_array_size(layers), 3);
    for (size_t l = 0; l < 3; l++) {
        const json_t *layer = json_array_get(layers, l);
        const json_t *inputs = json_object_get(layer, "inputs");
        const char *before =
            l == 0 ? "input"
                   : json_string_value(json_object_get(json_array_get(layers, l - 1), "name"));
        assert_int_equal(json_array_size(inputs), 1);
        assert_string_equal(json_string_value(json_array_get(inputs, 0)), before);
        assert_int_equal(json_integer_value(json_array_get(json_object_get(layer, "output"), 0)),
                         n_out[l]);
        assert_int_equal(number(layer, "parameters"), n_params[l]);
        assert_int_equal(number(layer, "multiply_adds"), n_adds[l]);
    }
    assert_int_equal(number(object, "parameters"), 65 + 42 + 24);
    assert_int_equal(number(object, "multiply_adds"), 60 + 35 + 21);
    assert_int_equal(number(object, "batch"), 16);
    assert_true(number(object, "parameter_bytes") >= 4 * (65 + 42 + 24));
    /* outputs of all layers; in training at least as many derivatives of the first two besides */
    const json_int_t outputs = 16 * 4 * (5 + 7 + 3), derivatives = 16 * 4 * (5 + 7);
    assert_true(number(object, "forward_bytes") >= 16 * 4 * 7);
    assert_true(number(object, "training_bytes") >= outputs + derivatives);
    assert_true(number(object, "training_bytes") > number(object, "forward_bytes"));
    json_decref(object);

    char *text = describe(o, &twelve, 0);
    assert_non_null(strstr(text, "memory: parameters "));
    assert_non_null(strstr(text, " a batch of 16: "));
    free(text);
    drove_options_destroy(o);
}

TEST(the_shape_may_be_that_of_the_data)
{
    static const char *const table[][2] = {{"model", "linear"},
                                           {"data", "described.csv"},
                                           {"label", "kind"}};
    drove_options *o = options_of(table, DROVE_COUNT(table));
    write_text("described.csv", "kind,a,b\nred,1.5,2\nblue,2.5,7\nred,0.5,3\nblue,4,1\n");
    json_t *object = describe_json(o, NULL);
    const json_t *layers = json_object_get(object, "layers");
    assert_int_equal(json_integer_value(json_array_get(json_object_get(object, "input"), 0)), 2);
    assert_int_equal(json_array_size(layers), 1);
    json_decref(object);
    drove_options_destroy(o);
    assert_int_equal(remove("described.csv"), 0);
}

TEST(what_cannot_be_written_is_an_error)
{
    drove_options *o = options_of(mlp, DROVE_COUNT(mlp));
    for (int as_json = 0; as_json < 2; as_json++) {
        FILE *full = fopen("/dev/full", "w");
        if (full == NULL) skip();
        (void)setvbuf(full, NULL, _IONBF, 0);
        assert_int_equal(drove_describe(o, &twelve, as_json, full), DROVE_E_IO);
        (void)fclose(full);
    }
    drove_options_destroy(o);
}

/* A speed that is missing has a place in its column, and the reason behind the row. */
TEST(speeds_are_a_table)
{
    drove_options *o = options_of(mlp, DROVE_COUNT(mlp));
    drove_config config;
    drove_speed speed[2] = {{.examples_per_s = {1500.0, 250000.0}},
                            {.examples_per_s = {(double)NAN, 42.5}, .reason = "too small"}};
    const drove_speeds speeds = {.batch = {16, 256}, .n_batches = 2, .n = 2, .speed = speed};
    char text[2048] = "";
    strcpy(speed[0].device, "host");
    strcpy(speed[1].device, "fake:0");
    assert_int_equal(drove__config_init(o, &config), DROVE_OK);
    FILE *stream = fmemopen(text, sizeof text, "w");
    assert_non_null(stream);
    drove__info_print_speeds(&config, &speeds, stream);
    assert_int_equal(fclose(stream), 0);
    const char *host = strstr(text, "\n            host "), *fake = strstr(text, "fake:0");
    assert_true(host != NULL && fake != NULL && host < fake);
    assert_non_null(strstr(host, "       1500    2.5e+05\n"));
    assert_non_null(strstr(fake, "          -       42.5  too small\n"));
    drove__config_fini(&config);
    drove_options_destroy(o);
}
