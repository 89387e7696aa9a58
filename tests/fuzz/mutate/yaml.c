/* tests/fuzz/mutate/yaml.c - changes texts in YAML and prototxt by their structure: keys and values
 * that readers know, lines and their indentation, brackets, quotes.
 */
#include "mutate.h"

static const char *const words[] = {
    /* run files and spaces */
    "data", "model", "lr", "batch", "strategy", "rule", "schedule", "until", "workers", "threads",
    "log", "uniform", "auto", "synth:digits", "mlp:8", "linear", "hogwild", "easgd", "sgd", "adam",
    "epochs=1", "0.1", "weight_decay", "weight-decay", "precision", "D8M8", "seed", "test", "split",
    /* networks */
    "layers", "name", "kind", "from", "conv", "dense", "max_pool", "average_pool", "dropout", "lrn",
    "batch_norm", "concat", "sum", "flatten", "softmax", "relu", "size", "stride", "pad", "outputs",
    "kernel", "groups", "bias", "input", "activation", "init", "output", "classes", "features",
    "layer", "type", "bottom", "top", "\"Convolution\"", "\"InnerProduct\"", "\"Pooling\"",
    "\"ReLU\"", "\"Input\"", "convolution_param", "inner_product_param", "pooling_param",
    "num_output", "kernel_size", "input_param", "shape", "dim", "include", "phase", "TRAIN",
    /* values */
    "0", "1", "-1", "3", "1e9", "4294967296", "18446744073709551616", "nan", "1e-400", "true", "~",
    "\"\"", "'x'", "\"\\u0041\"", "[]", "{}", "[1, 2]", "3x3", "*a", "&a", "!t", "|", ">-", "? ",
    "- ", ": ", "# ", "---\n", "...\n", "%YAML 1.1\n", "\t", "\xc3\xa9", "\xff", "\xef\xbb\xbf"};

static bool is_word(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           strchr("_-.%=", c) != NULL;
}

/* The word around a place; empty between words. */
static void find_word(const uint8_t *data, size_t size, size_t place, size_t *begin, size_t *end)
{
    *begin = *end = place;
    while (*begin > 0 && data[*begin - 1] != '\0' && is_word(data[*begin - 1])) --*begin;
    while (*end < size && data[*end] != '\0' && is_word(data[*end])) ++*end;
}

static size_t put(uint8_t *data, size_t size, size_t most, size_t begin, size_t end, const char *t)
{
    return mutate_splice(data, size, most, begin, end - begin, t, strlen(t));
}

static size_t change_word(uint8_t *data, size_t size, size_t most, mutate_random *r)
{
    size_t begin, end, from, to;
    find_word(data, size, mutate_below(r, size), &begin, &end);
    if (mutate_below(r, 3) > 0)
        return put(data, size, most, begin, end, words[mutate_below(r, COUNT(words))]);
    find_word(data, size, mutate_below(r, size), &from, &to);
    return mutate_copy(data, size, most, from, to - from, begin, end - begin);
}

static size_t change_line(uint8_t *data, size_t size, size_t most, mutate_random *r)
{
    size_t begin, end, other, behind;
    mutate_line(data, size, mutate_below(r, size), &begin, &end);
    mutate_line(data, size, mutate_below(r, size), &other, &behind);
    switch (mutate_below(r, 6)) {
    case 0: return mutate_copy(data, size, most, begin, end - begin, other, 0);
    case 1: return mutate_splice(data, size, most, begin, end - begin, "", 0);
    case 2: return mutate_copy(data, size, most, begin, end - begin, other, behind - other);
    case 3: return put(data, size, most, begin, begin, "  ");
    case 4: return put(data, size, most, begin, begin, "- ");
    default: {
        size_t n = 0;
        while (begin + n < end && data[begin + n] == ' ' && n < 2) n++;
        return mutate_splice(data, size, most, begin, n, "", 0);
    }
    }
}

/* Brackets or quotes around a word, or a new "word: word" line. */
static size_t wrap(uint8_t *data, size_t size, size_t most, mutate_random *r)
{
    static const char *const left[] = {"[", "{", "\"", "'", "(", "{ "}, *const right[] = {
                                                                            "]", "}", "\"",
                                                                            "'", ")", " }"};
    const size_t kind = mutate_below(r, COUNT(left) + 1);
    size_t begin, end;
    if (kind == COUNT(left)) {
        mutate_line(data, size, mutate_below(r, size), &begin, &end);
        size = put(data, size, most, begin, begin, "\n");
        size = put(data, size, most, begin, begin, words[mutate_below(r, COUNT(words))]);
        size = put(data, size, most, begin, begin, ": ");
        return put(data, size, most, begin, begin, words[mutate_below(r, COUNT(words))]);
    }
    find_word(data, size, mutate_below(r, size), &begin, &end);
    size = put(data, size, most, end, end, right[kind]);
    return put(data, size, most, begin, begin, left[kind]);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    mutate_random r = mutate_seed(seed);
    if (size == 0 || mutate_below(&r, 4) == 0) return LLVMFuzzerMutate(data, size, most);
    switch (mutate_below(&r, 4)) {
    case 0: return change_line(data, size, most, &r);
    case 1: return wrap(data, size, most, &r);
    default: return change_word(data, size, most, &r);
    }
}
