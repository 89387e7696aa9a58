/* cli/cmd_sweep.c - drove sweep STUDY.yaml: many runs, and comparisons of their results. */
#include "cli.h"
#include "progress.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what a person sees ---- */

static void on_progress(void *context, const drove_sweep_progress *p)
{
    char field[CLI_MOST_FIELDS][CLI_FIELD_SIZE], text[CLI_FIELD_SIZE];
    size_t n = 0;
    snprintf(field[n++], CLI_FIELD_SIZE, "run %zu/%zu", p->n_done, p->n_runs);
    if (isfinite(p->eta_s)) {
        cli_progress_duration(p->eta_s, text);
        snprintf(field[n++], CLI_FIELD_SIZE, "%.30s left", text);
    }
    if (p->n_crashed > 0) snprintf(field[n++], CLI_FIELD_SIZE, "%zu crashed", p->n_crashed);
    const char *setting = strstr(p->best, ": "); /* a field of its own: it may be too long */
    if (setting != NULL) {
        snprintf(field[n++], CLI_FIELD_SIZE, "best %.*s", (int)(setting - p->best), p->best);
        snprintf(field[n++], CLI_FIELD_SIZE, "%s", setting + 2);
    }
    cli_progress_draw(context, (double)p->n_done / (double)p->n_runs, field, n);
}

/* Above the bar. */
static void on_message(void *context, const char *line)
{
    cli_progress *progress = context;
    if (progress->is_quiet) return;
    cli_progress_clear(progress);
    cli_print_line(stderr, line);
}

/* ---- the command ---- */

static drove_status make(const cli_args *args, const char *program, drove_sweep_report **out)
{
    const char *study = args->word[0], *folder = cli_args_get(args, "out", NULL);
    const char *figure = cli_args_get(args, "figure", "target_s");
    if (cli_args_has(args, "list")) return drove_sweep_list(study, out);
    if (cli_args_has(args, "pair"))
        return drove_sweep_pair(study, folder, cli_args_get(args, "pair", NULL), figure, out);
    if (cli_args_has(args, "best"))
        return drove_sweep_best(study, folder, cli_args_get(args, "group", "strategy,threads"),
                                figure, out);

    cli_progress progress;
    drove_sweep_options opt = {.study = args->word[0],
                               .folder = cli_args_get(args, "out", NULL),
                               .program = program,
                               .only_results = cli_args_has(args, "results-only"),
                               .message = on_message,
                               .progress = on_progress,
                               .context = &progress};
    drove_status status = drove_sweep_options_set(&opt, "jobs", cli_args_get(args, "jobs", "1"));
    if (status != DROVE_OK) return status;
    cli_progress_init(&progress, cli_args_has(args, "quiet"));
    cli_children_catch_signals();
    status = drove_sweep(&opt, out);
    cli_progress_clear(&progress);
    return status;
}

int cli_sweep(const cli_args *args)
{
    static char program[PATH_MAX];
    drove_sweep_report *report;
    const int n_modes =
        cli_args_has(args, "list") + cli_args_has(args, "best") + cli_args_has(args, "pair");
    const char *folder = cli_args_get(args, "out", NULL);
    if (n_modes > 1)
        return cli_error(CLI_WRONG, "sweep: expected one of --list, --best and --pair, found %d",
                         n_modes);
    if (!cli_args_has(args, "list") && (folder == NULL || folder[0] == '\0'))
        return cli_error(CLI_WRONG, "sweep: expected --out DIR; usage: drove sweep %s",
                         args->command->usage);
    if (n_modes == 0 && !cli_children_find_program(program))
        return cli_error(CLI_FAILED, "/proc/self/exe: cannot be read: runs are processes of this "
                                     "program");
    drove_status status = make(args, program, &report);
    if (status != DROVE_OK) return cli_exit_status(status);
    if (cli_args_has(args, "json")) printf("%s\n", drove_sweep_report_json(report));
    else if (!cli_args_has(args, "quiet")) status = drove_sweep_report_print(report, stdout);
    const int signal_number = drove_sweep_interrupted(report);
    drove_sweep_report_destroy(report);
    if (status != DROVE_OK && !ferror(stdout)) return cli_exit_status(status);
    return signal_number != 0 ? 128 + signal_number : CLI_OK;
}
