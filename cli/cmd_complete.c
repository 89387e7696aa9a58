/* cli/cmd_complete.c - drove __complete WORD...: answers the shell's completion.
 *
 * Prints every word that could stand in place of the last one, one a line; nothing where a file
 * name may stand.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "cli.h"

#include <stdlib.h>
#include <string.h>

/* Prints prefix + word if word begins with `begun`. */
static void offer(const char *prefix, const char *word, size_t n, const char *begun)
{
    size_t n_begun = strlen(begun);
    if (n < n_begun || strncmp(word, begun, n_begun) != 0) return;
    printf("%s%.*s\n", prefix, (int)n, word);
}

/* words: separated by blanks; NULL: none. */
static void offer_words(const char *prefix, const char *words, const char *begun)
{
    for (const char *c = words != NULL ? words : ""; *c != '\0';) {
        size_t n = strcspn(c, " ");
        offer(prefix, c, n, begun);
        c += n;
        while (*c == ' ') c++;
    }
}

/* The first word of each line of drove_list that is a key, or is none.  False: no such list. */
static bool offer_lines(const char *prefix, const char *list, bool are_keys, const char *begun)
{
    char *text = NULL;
    size_t size_bytes = 0;
    FILE *stream = open_memstream(&text, &size_bytes);
    if (stream == NULL) return false;
    const drove_status status = drove_list(list, 0, stream);
    const bool is_there = fclose(stream) == 0 && status == DROVE_OK;
    for (const char *line = text; is_there && line != NULL && *line != '\0';) {
        const size_t n = strcspn(line, " \n");
        if (!are_keys || line[n - 1] == '=') offer(prefix, line, n, begun);
        line = strchr(line, '\n');
        if (line != NULL) line++;
    }
    free(text);
    return is_there;
}

/* The keys of a spec whose last one is being typed: "adam?be", "constant+plateau:0.2?cuts=1&p". */
static void offer_keys(const char *prefix, const char *list, const char *begun)
{
    char before[512], entry[160];
    const size_t question = strcspn(begun, "?");
    const char *key = begun + question + 1, *name = begun;
    for (const char *c = key; *c != '\0'; c++)
        if (*c == '&') key = c + 1;
    for (const char *c = begun; c < begun + question; c++)
        if (*c == '+') name = c + 1;
    if (strchr(key, '=') != NULL) return;
    snprintf(before, sizeof before, "%s%.*s", prefix, (int)(key - begun), begun);
    /* "synth:digits" is a name, "plateau:0.2" has an argument. */
    size_t n = (size_t)(begun + question - name);
    snprintf(entry, sizeof entry, "%s:%.*s", list, (int)(n < 64 ? n : 64), name);
    if (offer_lines(before, entry, true, key)) return;
    n = strcspn(name, ":?");
    snprintf(entry, sizeof entry, "%s:%.*s", list, (int)(n < 64 ? n : 64), name);
    (void)offer_lines(before, entry, true, key);
}

/* The names of a registry ("kinds": the registries), or the keys of one of them. */
static void offer_list(const char *prefix, const char *list, const char *begun)
{
    if (list == NULL) return;
    if (strchr(begun, '?') != NULL) offer_keys(prefix, list, begun);
    else (void)offer_lines(prefix, strcmp(list, "kinds") == 0 ? NULL : list, false, begun);
}

/* True if this is a flag that takes the next word as its value. */
static bool takes_value(const cli_command *command, const char *word)
{
    size_t n_options;
    const drove_option_info *info = drove_options_table(&n_options);
    if (strncmp(word, "--", 2) != 0 || strchr(word, '=') != NULL || word[2] == '\0') return false;
    for (size_t i = 0; i < command->n_flags; i++) {
        if (strcmp(command->flag[i].name, word + 2) == 0)
            return command->flag[i].value_name != NULL;
    }
    for (size_t i = 0; i < n_options; i++) {
        char flag[DROVE_FLAG_SIZE];
        if (strcmp(drove_flag_text(info[i].name, flag), word) == 0 && info[i].value_name == NULL)
            return false;
    }
    return command->takes_options && strcmp(word, "--help") != 0;
}

/* The data of a command line: the value of --data, or the last word that is no flag and no flag's
 * value; NULL: there are none. */
static const char *find_data(const cli_command *command, int n_words, char **words)
{
    const char *data = NULL;
    for (int i = 0; i < n_words; i++) {
        if (strncmp(words[i], "--data=", 7) == 0) return words[i] + 7;
        if (strcmp(words[i], "--data") == 0 && i + 1 < n_words) return words[i + 1];
        if (takes_value(command, words[i])) i++;
        else if (words[i][0] != '-') data = words[i];
    }
    return data;
}

/* The columns of the table that the command reads. */
static void offer_columns(const cli_command *command, int n_words, char **words, const char *prefix,
                          const char *begun)
{
    char *names = NULL;
    const char *data = find_data(command, n_words, words);
    if (data == NULL || drove_data_list_columns(data, &names) != DROVE_OK) return;
    for (char *name = names, *end; (end = strchr(name, '\n')) != NULL; name = end + 1)
        offer(prefix, name, (size_t)(end - name), begun);
    free(names);
}

static bool names_columns(const char *flag, size_t n)
{
    static const char *const flags[] = {"label", "weights", "keep"};
    for (size_t i = 0; i < CLI_COUNT(flags); i++) {
        if (strlen(flags[i]) == n && strncmp(flags[i], flag, n) == 0) return true;
    }
    return false;
}

/* Values of a flag named by flag[n], if it is known. */
static void offer_values(const cli_command *command, const char *flag, size_t n, const char *prefix,
                         const char *begun)
{
    size_t n_options;
    char text[64];
    const drove_option_info *info = drove_options_table(&n_options);
    for (size_t i = 0; i < command->n_flags; i++) {
        const cli_flag *f = &command->flag[i];
        if (strlen(f->name) != n || strncmp(f->name, flag, n) != 0) continue;
        offer_words(prefix, f->words, begun);
        offer_list(prefix, f->list, begun);
        return;
    }
    for (size_t i = 0; command->takes_options && i < n_options; i++) {
        drove_flag_text(info[i].name, text);
        if (strlen(text + 2) != n || strncmp(text + 2, flag, n) != 0) continue;
        offer_words(prefix, info[i].words, begun);
        offer_list(prefix, info[i].list, begun);
        return;
    }
}

static void offer_flags(const cli_command *command, const char *begun)
{
    size_t n_options;
    char text[64];
    const drove_option_info *info = drove_options_table(&n_options);
    for (size_t i = 0; command->takes_options && i < n_options; i++) {
        drove_flag_text(info[i].name, text);
        offer("", text, strlen(text), begun);
    }
    for (size_t i = 0; i < command->n_flags; i++) {
        drove_flag_text(command->flag[i].name, text);
        offer("", text, strlen(text), begun);
    }
    offer("", "--help", strlen("--help"), begun);
}

static void complete_command(const cli_command *command, int n_words, char **words)
{
    const char *last = words[n_words - 1];
    const char *equals = strchr(last, '=');
    if (n_words >= 2 && takes_value(command, words[n_words - 2])) {
        const char *flag = words[n_words - 2] + 2;
        if (names_columns(flag, strlen(flag))) offer_columns(command, n_words - 2, words, "", last);
        offer_values(command, flag, strlen(flag), "", last);
    } else if (strncmp(last, "--", 2) == 0 && equals != NULL) {
        char prefix[128];
        snprintf(prefix, sizeof prefix, "%.*s", (int)(equals - last) + 1, last);
        if (names_columns(last + 2, (size_t)(equals - last) - 2))
            offer_columns(command, n_words - 1, words, prefix, equals + 1);
        offer_values(command, last + 2, (size_t)(equals - last) - 2, prefix, equals + 1);
    } else if (last[0] == '-') {
        offer_flags(command, last);
    } else if (n_words == 1) {
        offer_words("", command->words, last);
        offer_list("", command->list, last);
    }
}

int cli_complete(int n_words, char **words)
{
    size_t n_commands;
    const cli_command *command = cli_commands(&n_commands);
    if (n_words <= 1) {
        const char *begun = n_words == 1 ? words[0] : "";
        for (size_t i = 0; i < n_commands; i++) {
            offer("", command[i].name, strlen(command[i].name), begun);
        }
        offer_words("", "help --help --version", begun);
        return CLI_OK;
    }
    const cli_command *found = cli_command_find(words[0]);
    if (found != NULL) complete_command(found, n_words - 1, words + 1);
    return CLI_OK;
}
