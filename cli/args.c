/* cli/args.c - the command line, taken apart: words, flags, options of a run. */
#include "cli.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FLAGS = 96, LINE_SIZE = 8000 };

/* ---- finding a flag ---- */

/* True if given[n] is the word of name, whichever of '-' and '_' it is written with. */
static bool same_word(const char *given, size_t n, const char *name)
{
    if (strlen(name) != n) return false;
    for (size_t i = 0; i < n; i++) {
        char a = given[i] == '_' ? '-' : given[i], b = name[i] == '_' ? '-' : name[i];
        if (a != b) return false;
    }
    return true;
}

static void refuse(cli_args *args, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void refuse(cli_args *args, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(args->why, sizeof args->why, format, arguments);
    va_end(arguments);
}

static void unknown_flag(cli_args *args, const char *given, size_t n)
{
    const cli_command *command = args->command;
    const char *known[MOST_FLAGS];
    char text[MOST_FLAGS][64], word[64];
    size_t n_known = 0, n_options;
    const drove_option_info *info = drove_options_table(&n_options);
    for (size_t i = 0; i < command->n_flags; i++) {
        known[n_known] = drove_flag_text(command->flag[i].name, text[n_known]) + 2;
        n_known++;
    }
    for (size_t i = 0; command->takes_options && i < n_options; i++) {
        known[n_known] = drove_flag_text(info[i].name, text[n_known]) + 2;
        n_known++;
    }
    if (command->takes_options) known[n_known++] = "workers";
    known[n_known++] = "help";
    snprintf(word, sizeof word, "%.*s", (int)n, given);
    const char *near = drove_nearest_word(word, known, n_known);
    if (near == NULL)
        refuse(args, "%s: unknown option \"--%s\"; drove %s --help%s lists all", command->name,
               word, command->name, command->shows_options ? " all" : "");
    else
        refuse(args, "%s: unknown option \"--%s\"; did you mean \"--%s\"?", command->name, word,
               near);
}

/* Refuses a word that other programs have for an option of ours; the message says what to write.
 * value: the next word or NULL.  false: no such word. */
static bool foreign_flag(cli_args *args, const char *given, size_t n, const char *value)
{
    const cli_command *command = args->command;
    char what[64], word[64], answer[LINE_SIZE / 8];
    if (value != NULL && strncmp(value, "--", 2) == 0) value = NULL;
    snprintf(what, sizeof what, "option of %s", command->name);
    snprintf(word, sizeof word, "%.*s", (int)n, given);
    if (!drove_other_word(what, word, value, answer, sizeof answer) &&
        !(command->takes_options && drove_other_word("option", word, value, answer, sizeof answer)))
        return false;
    refuse(args, "%s: unknown option \"--%s\"; %s", command->name, word, answer);
    return true;
}

typedef struct known_flag {
    const char *name, *value_name; /* value_name NULL: a switch */
    bool of_run;
} known_flag;

static bool find_flag(const cli_command *command, const char *given, size_t n, known_flag *out)
{
    static const char workers[] = "workers";
    size_t n_options;
    const drove_option_info *info = drove_options_table(&n_options);
    for (size_t i = 0; i < command->n_flags; i++) {
        if (!same_word(given, n, command->flag[i].name)) continue;
        *out = (known_flag){command->flag[i].name, command->flag[i].value_name, false};
        return true;
    }
    if (!command->takes_options) return false;
    for (size_t i = 0; i < n_options; i++) {
        if (!same_word(given, n, info[i].name)) continue;
        *out = (known_flag){info[i].name, info[i].value_name, true};
        return true;
    }
    if (!same_word(given, n, workers)) return false;
    *out = (known_flag){workers, "KIND:N", true};
    return true;
}

/* ---- parsing ---- */

/* -o, or -out with one dash too few. */
static void unknown_short(cli_args *args, const char *given)
{
    static const char *const of_letter[] = {"batch", "data", "json", "label",
                                            "model", "out",  "quiet"};
    const cli_command *command = args->command;
    const char *word = given + 1;
    known_flag flag;
    for (size_t i = 0; i < CLI_COUNT(of_letter) && given[2] == '\0'; i++)
        if (of_letter[i][0] == given[1]) word = of_letter[i];
    size_t n = strcspn(word, "=");
    if (n > 1 && find_flag(command, word, n, &flag))
        refuse(args, "%s: unknown option \"%s\"; did you mean \"--%.*s\"?", command->name, given,
               (int)n, word);
    else if (n < 2 || !foreign_flag(args, word, n, NULL))
        refuse(args, "%s: unknown option \"%s\"; drove %s --help%s lists all", command->name, given,
               command->name, command->shows_options ? " all" : "");
}

/* argv[*at] begins with "--"; moves *at to the last argument used. */
static bool parse_flag(int argc, char **argv, int *at, cli_args *args)
{
    const char *given = argv[*at] + 2;
    const char *equals = strchr(given, '=');
    size_t n = equals != NULL ? (size_t)(equals - given) : strlen(given);
    known_flag flag;
    if (same_word(given, n, "help")) {
        bool is_apart = equals == NULL && *at + 1 < argc && strcmp(argv[*at + 1], "all") == 0;
        const char *value = is_apart ? argv[++*at] : equals != NULL ? equals + 1 : NULL;
        args->wants_help = true;
        args->wants_all_help = value != NULL;
        if (value == NULL || strcmp(value, "all") == 0) return true;
        refuse(args, "--help: expected all, or no value, found \"%s\"", value);
        return false;
    }
    const char *value = equals != NULL ? equals + 1 : NULL;
    if (!find_flag(args->command, given, n, &flag)) {
        const char *next = value == NULL && *at + 1 < argc ? argv[*at + 1] : value;
        if (!foreign_flag(args, given, n, next)) unknown_flag(args, given, n);
        return false;
    }
    if (flag.value_name == NULL && value != NULL && !flag.of_run) {
        refuse(args, "--%.*s: expected no value, found \"%s\"", (int)n, given, value);
        return false;
    }
    if (flag.value_name != NULL && value == NULL) {
        if (*at + 1 >= argc) {
            refuse(args, "--%.*s: expected %s, found nothing", (int)n, given, flag.value_name);
            return false;
        }
        value = argv[++*at];
    }
    args->option[args->n_options++] = (cli_option){flag.name,
                                                   value != NULL ? value
                                                   : flag.of_run ? "yes"
                                                                 : "",
                                                   flag.of_run};
    return true;
}

static bool check_words(cli_args *args)
{
    const cli_command *c = args->command;
    if (args->n_words > c->most_words) {
        refuse(args, "%s: unexpected argument \"%s\"; usage: drove %s %s", c->name,
               args->word[c->most_words], c->name, c->usage);
        return false;
    }
    if (args->n_words == 0 && c->expects != NULL) {
        refuse(args, "%s: expected %s; usage: drove %s %s", c->name, c->expects, c->name, c->usage);
        return false;
    }
    if (args->n_words < c->least_words) {
        refuse(args, "%s: expected %zu argument%s, found %zu; usage: drove %s %s", c->name,
               c->least_words, c->least_words == 1 ? "" : "s", args->n_words, c->name, c->usage);
        return false;
    }
    return true;
}

static void free_arrays(cli_args *args)
{
    free(args->word);
    free(args->option);
}

bool cli_args_parse(const cli_command *command, int argc, char **argv, cli_args *out)
{
    bool flags_ended = false, good = true;
    *out = (cli_args){.command = command, .refused_as = DROVE_E_ARG};
    out->word = calloc((size_t)argc + 1, sizeof *out->word);
    out->option = calloc((size_t)argc + 1, sizeof *out->option);
    if (out->word == NULL || out->option == NULL) {
        refuse(out, "the command line: not enough memory for %d arguments", argc);
        out->refused_as = DROVE_E_NOMEM;
        good = false;
    }
    for (int i = 0; i < argc && good; i++) {
        const char *argument = argv[i];
        if (!flags_ended && strcmp(argument, "--") == 0) {
            flags_ended = true;
        } else if (!flags_ended && strcmp(argument, "-h") == 0) {
            out->wants_help = true;
        } else if (!flags_ended && strncmp(argument, "--", 2) == 0) {
            good = parse_flag(argc, argv, &i, out);
        } else if (!flags_ended && argument[0] == '-' && argument[1] != '\0') {
            unknown_short(out, argument);
            good = false;
        } else {
            out->word[out->n_words++] = argument;
        }
    }
    if (good && !out->wants_help) good = check_words(out);
    if (!good) free_arrays(out);
    return good;
}

void cli_args_fini(cli_args *args)
{
    free_arrays(args);
    *args = (cli_args){0};
}

/* ---- asking ---- */

const char *cli_args_get(const cli_args *args, const char *name, const char *fallback)
{
    for (size_t i = args->n_options; i-- > 0;) {
        if (strcmp(args->option[i].name, name) == 0) return args->option[i].value;
    }
    return fallback;
}

bool cli_args_has(const cli_args *args, const char *name)
{
    return cli_args_get(args, name, NULL) != NULL;
}

drove_status cli_args_apply(const cli_args *args, drove_options *options)
{
    for (size_t i = 0; i < args->n_options; i++) {
        if (!args->option[i].of_run) continue;
        drove_status status =
            drove_options_set(options, args->option[i].name, args->option[i].value);
        if (status != DROVE_OK) return status;
    }
    return DROVE_OK;
}

drove_status cli_args_count(const cli_args *args, const char *name, uint64_t *out)
{
    const char *text = cli_args_get(args, name, NULL);
    drove_options *options;
    if (text == NULL) return DROVE_OK;
    drove_status status = drove_options_create(&options);
    if (status != DROVE_OK) return status;
    status = drove_options_set(options, name, text);
    drove_options_destroy(options);
    if (status == DROVE_OK) *out = strtoull(text, NULL, 10);
    return status;
}
