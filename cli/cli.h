/* cli/cli.h - what the files of the program share: commands, their flags, parsed arguments.
 *
 * A command is one file cmd_NAME.c and one row of the table in main.c; parsing, help and
 * completion walk the table and drove_options_table.
 */
#ifndef DROVE_CLI_H
#define DROVE_CLI_H

#include <drove/drove.h>

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define CLI_COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { CLI_SPEC_SIZE = 8192 };                      /* of a spec with ?label= */
enum { CLI_OK = 0, CLI_FAILED = 1, CLI_WRONG = 2 }; /* exit statuses of the program's own */

typedef struct cli_flag {     /* of one command, beside the options of a run                    */
    const char *name;         /* "json"                                                         */
    const char *value_name;   /* "SPEC"; NULL: a switch                                         */
    const char *default_text; /* NULL: none                                                     */
    const char *words;        /* values it may have, separated by blanks; NULL                  */
    const char *list;         /* registry of its names; NULL                                    */
    const char *help;
} cli_flag;

typedef struct cli_args cli_args;

typedef struct cli_command {
    const char     *name;
    const char     *usage;   /* what follows the name                                          */
    const char     *help;    /* one line                                                       */
    const char     *details; /* lines of the command's own help, each ended by a newline       */
    const char     *words;   /* what the first argument may be; NULL                           */
    const char     *list;    /* registry of what it may be: "kinds" = the kinds; NULL          */
    const cli_flag *flag;
    size_t          n_flags;
    bool        takes_options; /* every option of a run is a flag of this command                */
    bool        shows_options; /* ... and stands in its help                                     */
    const char *expects; /* what an error says where there is no argument; NULL: their number   */
    size_t      least_words, most_words;
    int (*run)(const cli_args *args); /* returns the exit status; an error is already printed   */
    /* Instead of it, where the arguments are wrong; NULL: the text is printed. */
    int (*refuse)(drove_status status, const char *why);
} cli_command;

typedef struct cli_option {
    const char *name;   /* as in the tables, found by its flag                            */
    const char *value;  /* "" for a switch                                                */
    bool        of_run; /* an option of a run, not of the command                         */
} cli_option;

struct cli_args { /* points into argv                                               */
    const cli_command *command;
    size_t             n_words, n_options;
    const char       **word;   /* [n_words] arguments that are no flags                          */
    cli_option        *option; /* [n_options] in the order given                                 */
    bool               wants_help, wants_all_help;
    char               why[512]; /* it cannot be used */
    drove_status       refused_as;
};

/* main.c */
const cli_command *cli_commands(size_t *n_out);
const cli_command *cli_command_find(const char *name); /* NULL: unknown */

/* args.c */

/* Takes argv[0 .. argc-1] apart for a command.  false: out->why says why not, and nothing else of
 * *out is to be used. */
bool cli_args_parse(const cli_command *command, int argc, char **argv, cli_args *out);
void cli_args_fini(cli_args *args);
/* Last value of a flag of the command; fallback when it was not given. */
const char *cli_args_get(const cli_args *args, const char *name, const char *fallback);
bool        cli_args_has(const cli_args *args, const char *name);
/* Puts every option of a run that was given into *options. */
drove_status cli_args_apply(const cli_args *args, drove_options *options);
/* A number that is one of the options of a run, and checked as there; a word such as all is 0.
 * *out stays as it is where the flag is not given. */
drove_status cli_args_count(const cli_args *args, const char *name, uint64_t *out);

/* help.c */
void cli_help_program(FILE *stream);
/* wants_all: every option of a run, where the command shows them; else those of is_common. */
void cli_help_command(const cli_command *command, bool wants_all, FILE *stream);

/* output.c */

/* "drove: ..." as one line on stderr; returns status. */
int cli_error(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* True if the reader of standard output has closed the pipe, as head -n 1 does. */
bool cli_reader_has_gone(void);
/* What was printed did not arrive: "standard output: REASON", said once; returns CLI_FAILED.  A
 * reader that has gone wants no more: nothing is said, and CLI_OK returned. */
int cli_output_error(void);
/* The exit status that belongs to this one; of an error the library's text is said. */
int  cli_exit_status(drove_status status);
void cli_json_string(const char *text, FILE *stream);
/* Lines for people; control characters other than their ends as \xNN. */
void cli_print_plain(const char *text, FILE *stream);
/* The same of one line, with its end; stream: a FILE.  A callback for messages. */
void cli_print_line(void *stream, const char *text);
void cli_json_real(double value, FILE *stream); /* null where it is not finite */

/* children.c */
/* The first signal ends the command's work in order, the second leaves at once. */
void cli_children_catch_signals(void);
/* The path of this program, for its children. */
bool cli_children_find_program(char into[PATH_MAX]);

/* commands */
int cli_train(const cli_args *args);
int cli_train_refuse(drove_status status, const char *why);
int cli_tune(const cli_args *args);
int cli_sweep(const cli_args *args);
int cli_report(const cli_args *args);
int cli_watch(const cli_args *args);
int cli_eval(const cli_args *args);
int cli_predict(const cli_args *args);
int cli_export(const cli_args *args);
int cli_data(const cli_args *args);
int cli_cache(const cli_args *args);
int cli_info(const cli_args *args);
int cli_model(const cli_args *args);
int cli_list(const cli_args *args);
int cli_dmgc(const cli_args *args);
int cli_bench(const cli_args *args);
/* What could stand where the cursor is: words[n_words], the last one begun. */
int cli_complete(int n_words, char **words);

#endif
