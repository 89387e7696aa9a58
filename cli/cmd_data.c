/* cli/cmd_data.c - drove data info and drove data convert. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

static drove_status print_json(const drove_data *data, const char *spec)
{
    drove_data_facts f;
    char *columns;
    drove_status status = drove_data_columns_json(data, &columns);
    if (status != DROVE_OK) return status;
    drove_data_describe(data, &f);
    fputs("{\"data\": ", stdout);
    cli_json_string(spec, stdout);
    printf(", \"n_rows\": %zu, \"n_features\": %zu, \"n_classes\": %zu, \"n_stored\": %zu, "
           "\"channels\": %zu, \"height\": %zu, \"width\": %zu, \"memory_bytes\": %zu",
           f.n_rows, f.n_features, f.n_classes, f.n_stored, f.channels, f.height, f.width,
           f.memory_bytes);
    printf(", \"quantum\": %.9g, \"n_clamped\": %llu, \"n_bridges\": %llu", f.quantum,
           (unsigned long long)f.n_clamped, (unsigned long long)f.n_bridges);
    fputs(", \"storage\": ", stdout);
    cli_json_string(f.storage, stdout);
    fputs(", \"target\": ", stdout);
    cli_json_string(f.target, stdout);
    fputs(", \"scale\": ", stdout);
    cli_json_string(f.scale, stdout);
    fputs(", \"notes\": ", stdout);
    cli_json_string(f.notes, stdout);
    printf(", \"columns\": %s}\n", columns);
    free(columns);
    return DROVE_OK;
}

/* Returns the exit status. */
static int print_text(const drove_data *data)
{
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    drove_status status = DROVE_OK;
    bool is_whole = stream != NULL;
    if (stream != NULL) {
        status = drove_data_print_info(data, stream);
        is_whole = ferror(stream) == 0;
        is_whole = fclose(stream) == 0 && is_whole;
    }
    if (is_whole && status == DROVE_OK) cli_print_plain(text, stdout);
    free(text);
    if (!is_whole) return cli_error(CLI_FAILED, "data: not enough memory for the description");
    return cli_exit_status(status);
}

/* The part of the data set that the flags name; the caller destroys it. */
static drove_status open_part(const cli_args *args, drove_data **out)
{
    uint64_t seed = 1;
    const char *part = cli_args_get(args, "part", "all");
    char spec[CLI_SPEC_SIZE];
    drove_data *test = NULL;
    drove_status status = cli_args_count(args, "seed", &seed);
    if (status == DROVE_OK)
        status =
            drove_data_set_label(args->word[1], cli_args_get(args, "label", ""), spec, sizeof spec);
    if (status != DROVE_OK) return status;
    bool is_split = strcmp(part, "all") != 0;
    status = drove_data_open(spec, is_split ? "split" : NULL, seed, out, &test);
    if (status != DROVE_OK) return status;
    if (strcmp(part, "test") == 0) {
        drove_data_destroy(*out);
        *out = test;
    } else {
        drove_data_destroy(test);
    }
    return DROVE_OK;
}

/* true: text is one of the words; else the error is printed. */
static bool check_word(const char *what, const char *text, const char *expected,
                       const char *const *words, size_t n_words)
{
    for (size_t i = 0; i < n_words; i++) {
        if (strcmp(text, words[i]) == 0) return true;
    }
    const char *near = drove_nearest_word(text, words, n_words);
    cli_error(CLI_WRONG, "%s: expected %s, found \"%s\"%s%s%s", what, expected, text,
              near != NULL ? "; did you mean \"" : "", near != NULL ? near : "",
              near != NULL ? "\"?" : "");
    return false;
}

/* false: the error is printed. */
static bool check(const cli_args *args)
{
    static const char *const verbs[] = {"info", "convert"}, *const parts[] = {"all", "train",
                                                                              "test"};
    const char *verb = args->word[0];
    if (!check_word("data", verb, "info or convert", verbs, CLI_COUNT(verbs))) return false;
    bool is_info = strcmp(verb, "info") == 0;
    if (args->n_words != (is_info ? 2u : 3u)) {
        cli_error(CLI_WRONG, "data %s: expected %s, found %zu argument%s", verb,
                  is_info ? "SPEC alone" : "SPEC and TO", args->n_words - 1,
                  args->n_words == 2 ? "" : "s");
        return false;
    }
    if (!is_info && strchr(args->word[2], ':') == NULL) {
        cli_error(CLI_WRONG, "%s: expected FORMAT:FILE, such as csv:%s", args->word[2],
                  args->word[2]);
        return false;
    }
    return check_word("--part", cli_args_get(args, "part", "all"), "all, train or test", parts,
                      CLI_COUNT(parts));
}

int cli_data(const cli_args *args)
{
    drove_data *data = NULL;
    if (!check(args)) return CLI_WRONG;
    bool is_info = strcmp(args->word[0], "info") == 0;
    drove_status status = DROVE_OK;
    int code = CLI_OK;
    if (!is_info && strcmp(cli_args_get(args, "part", "all"), "all") == 0 &&
        drove_data_is_large(args->word[1], args->word[2])) { /* not held in memory */
        char spec[CLI_SPEC_SIZE];
        status =
            drove_data_set_label(args->word[1], cli_args_get(args, "label", ""), spec, sizeof spec);
        if (status == DROVE_OK) status = drove_data_convert_large(spec, args->word[2]);
        return cli_exit_status(status);
    }
    status = open_part(args, &data);
    if (status != DROVE_OK) return cli_exit_status(status);
    if (!is_info) status = drove_data_convert(data, args->word[2]);
    else if (cli_args_has(args, "json")) status = print_json(data, args->word[1]);
    else code = print_text(data);
    drove_data_destroy(data);
    return status == DROVE_OK ? code : cli_exit_status(status);
}
