/* cli/help.c - what --help prints, made from the tables. */
#include "cli.h"

#include <string.h>

enum { HELP_WIDTH = 80, HELP_COLUMN = 26, LINE_SIZE = 512 };

/* Prints text from column `column` on, broken between words before HELP_WIDTH. */
static void print_wrapped(const char *text, int column, FILE *stream)
{
    int at = column;
    while (*text != '\0') {
        size_t n = strcspn(text, " ");
        if (at > column && at + 1 + (int)n > HELP_WIDTH) {
            fprintf(stream, "\n%*s", column, "");
            at = column;
        }
        if (at > column) {
            fputc(' ', stream);
            at++;
        }
        fprintf(stream, "%.*s", (int)n, text);
        at += (int)n;
        text += n;
        while (*text == ' ') text++;
    }
    fputc('\n', stream);
}

static void print_flag(const char *name, const char *value_name, const char *help,
                       const char *default_text, const char *list, FILE *stream)
{
    char flag[64], line[LINE_SIZE];
    int used = fprintf(stream, "  %s%s%s", drove_flag_text(name, flag),
                       value_name != NULL ? " " : "", value_name != NULL ? value_name : "");
    if (used + 2 > HELP_COLUMN) {
        fputc('\n', stream);
        used = 0;
    }
    fprintf(stream, "%*s", HELP_COLUMN - used, "");
    snprintf(line, sizeof line, "%s%s%s%s%s%s%s", help, list != NULL ? " (names: drove list " : "",
             list != NULL ? list : "", list != NULL ? ")" : "", default_text != NULL ? " [" : "",
             default_text != NULL ? default_text : "", default_text != NULL ? "]" : "");
    print_wrapped(line, HELP_COLUMN, stream);
}

static void print_run_option(const drove_option_info *info, FILE *stream)
{
    const char *usual = info->program_text != NULL ? info->program_text : info->default_text;
    print_flag(info->name, info->value_name, info->help, usual, info->list, stream);
}

void cli_help_command(const cli_command *command, bool wants_all, FILE *stream)
{
    fprintf(stream, "usage: drove %s %s\n\n%s", command->name, command->usage, command->details);
    if (command->shows_options && wants_all) {
        size_t n;
        const drove_option_info *info = drove_options_table(&n);
        for (size_t i = 0; i < n; i++) {
            if (i == 0 || strcmp(info[i].group, info[i - 1].group) != 0) {
                fprintf(stream, "\n%s:\n", info[i].group);
            }
            print_run_option(&info[i], stream);
        }
    }
    if (command->shows_options && !wants_all) {
        size_t n;
        const drove_option_info *info = drove_options_table(&n);
        fprintf(stream,
                "\nThe options that most people need; drove %s --help all explains all %zu:\n",
                command->name, n);
        for (size_t i = 0; i < n; i++) {
            if (info[i].is_common) print_run_option(&info[i], stream);
        }
    }
    fprintf(stream, command->shows_options ? "\nOutput:\n" : "\nOptions:\n");
    for (size_t i = 0; i < command->n_flags; i++) {
        const cli_flag *f = &command->flag[i];
        print_flag(f->name, f->value_name, f->help, f->default_text, f->list, stream);
    }
    print_flag("help", NULL,
               command->shows_options ? "this text; --help all: with every option" : "this text",
               NULL, NULL, stream);
}

void cli_help_program(FILE *stream)
{
    size_t n;
    const cli_command *command = cli_commands(&n);
    fprintf(stream, "usage: drove COMMAND [ARGUMENT ...] [--option value | --option=value ...]\n\n"
                    "Trains linear models and neural networks with parallel stochastic gradient "
                    "descent.\n\nCommands:\n");
    for (size_t i = 0; i < n; i++) {
        fprintf(stream, "  %-9s ", command[i].name);
        print_wrapped(command[i].help, 12, stream);
    }
    fprintf(stream, "\nOptions:\n");
    print_flag("version", NULL, "the version of drove and its build", NULL, NULL, stream);
    print_flag("help", NULL, "this text; drove COMMAND --help explains a command", NULL, NULL,
               stream);
    fprintf(stream, "\nFirst steps:\n"
                    "  drove train people.csv --label survived    a model of a table, in people-1\n"
                    "  drove eval people-1 --data more.csv        how good it is on other rows\n"
                    "  drove predict people-1 --data new.csv      its predictions\n"
                    "  drove train                                a network on generated digits\n");
}
