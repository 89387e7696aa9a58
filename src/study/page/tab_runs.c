/* study/page/tab_runs.c - the settings of a page, with their outcomes and medians; its runs, with
 * how they ended and the command that repeats each.
 */
#include "study/page/tables.h"

#include "base/mem.h"
#include "study/page/html.h"
#include "study/runs_read.h"

#include <drove/options.h>

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ---- settings ---- */

void drove__page_settings(const drove_page_settings *s, FILE *stream)
{
    static const struct {
        const char *name;
        bool of_targets;
    } heads[] = {{"number", false}, {"setting", false},
                 {"runs", false},   {"reached", true},
                 {"missed", true},  {"crashed", false},
                 {"other", true},   {"time to target (s)", true}};
    if (s->n < 2) return;

    /* Columns that have something to say: targets that were asked for, figures that are known. */
    bool was_asked = false, has[DROVE_PAGE_METRICS] = {false};
    for (size_t i = 0; i < s->n; i++) {
        was_asked = was_asked || s->setting[i].n_reached + s->setting[i].n_missed > 0;
        for (size_t k = 0; k < DROVE_PAGE_METRICS; k++)
            has[k] = has[k] || isfinite(s->setting[i].held_out[k]);
    }
    fputs("<h2 id=settings>Settings</h2>", stream);
    drove__html_table("Settings",
                      was_asked ? "Medians over the runs, of which one that missed the target "
                                  "took for ever and one that crashed has infinite loss; other: "
                                  "finished without a target, refused, or going on. A dash: half "
                                  "of the runs or more have none."
                                : "Medians over the runs, of which one that crashed has infinite "
                                  "loss. A dash: half of the runs or more have none.",
                      stream);
    fputs("<thead><tr>", stream);
    for (size_t k = 0; k < DROVE_COUNT(heads); k++)
        if (was_asked || !heads[k].of_targets) drove__html_head_cell(heads[k].name, "col", stream);
    drove__html_head_cell("training loss", "col", stream);
    for (size_t k = 0; k < DROVE_PAGE_METRICS; k++) {
        char head[64];
        snprintf(head, sizeof head, "held-out %s", drove__page_metrics[k].name);
        if (has[k]) drove__html_head_cell(head, "col", stream);
    }
    fputs("</tr></thead><tbody>\n", stream);
    for (size_t i = 0; i < s->n; i++) {
        const drove_page_setting *x = &s->setting[i];
        const size_t counts[] = {x->n_runs, x->n_reached, x->n_missed, x->n_crashed, x->n_other};
        fprintf(stream, "<tr><td class=n>%zu</td>", x->number);
        drove__html_head_cell(x->name, "row", stream);
        for (size_t k = 0; k < DROVE_COUNT(counts); k++)
            if (was_asked || !heads[k + 2].of_targets)
                fprintf(stream, "<td class=n>%zu</td>", counts[k]);
        if (was_asked) drove__html_cell(isfinite(x->target_s) ? x->target_s : NAN, stream);
        drove__html_cell(isfinite(x->loss) ? x->loss : NAN, stream);
        for (size_t k = 0; k < DROVE_PAGE_METRICS; k++)
            if (has[k]) drove__html_cell(x->held_out[k], stream);
        fputs("</tr>\n", stream);
    }
    fputs("</tbody></table></div>\n", stream);
}

/* ---- commands ---- */

static void print_word(const char *word, FILE *stream)
{
    /* a shell takes a word of these bytes as it is */
    static const char *const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                     "0123456789_./:=,@%+-";
    if (word[0] != '\0' && strspn(word, plain) == strlen(word)) {
        drove__html_text(word, stream);
        return;
    }
    fputs("&#39;", stream);
    for (; *word != '\0'; word++) {
        const char one[2] = {*word, '\0'};
        if (*word == '\'') fputs("&#39;\\&#39;&#39;", stream);
        else drove__html_text(one, stream);
    }
    fputs("&#39;", stream);
}

static bool is_default(const drove_option_info *info, const char *value)
{
    const char *usual = info->program_text != NULL ? info->program_text : info->default_text;
    char *value_end, *usual_end;
    if (strcmp(value, usual) == 0) return true;
    if (info->kind == DROVE_OPTION_TEXT) return false;
    const double a = strtod(value, &value_end), b = strtod(usual, &usual_end);
    return *value_end == '\0' && *usual_end == '\0' && a == b;
}

void drove__page_command(const json_t *options, FILE *stream)
{
    /* files that a run wrote are not written again */
    static const char *const own[] = {"out",    "log",    "resume",       "timeline",
                                      "record", "replay", "replay_steps", "save_every"};
    size_t n;
    const drove_option_info *info = drove_options_table(&n);
    fputs("<code>drove train", stream);
    for (size_t i = 0; i < n; i++) {
        char text[DROVE_CELL_SIZE], flag[DROVE_FLAG_SIZE];
        const json_t *option = json_object_get(options, info[i].name);
        bool is_left_out = option == NULL;
        for (size_t k = 0; k < DROVE_COUNT(own); k++)
            is_left_out = is_left_out || strcmp(info[i].name, own[k]) == 0;
        if (is_left_out) continue;
        const char *value = drove__cell_text(option, text);
        if (value[0] == '\0') value = info[i].empty_word != NULL ? info[i].empty_word : "";
        if (info[i].kind != DROVE_OPTION_TEXT && strcmp(value, "0") == 0 &&
            info[i].empty_word != NULL)
            value = info[i].empty_word;
        if (value[0] == '\0' || is_default(&info[i], value)) continue;
        fprintf(stream, " %s", drove_flag_text(info[i].name, flag));
        if (info[i].value_name == NULL) continue; /* a switch */
        fputc('=', stream);
        print_word(value, stream);
    }
    fputs("</code>", stream);
}

/* ---- runs ---- */

void drove__page_runs(const drove_page_settings *s, FILE *stream)
{
    static const char *const heads[] = {"run",  "outcome",       "training (s)", "epochs",
                                        "loss", "held-out loss", "examples/s",   "message"};
    static const char *const figures[] = {"train_s", "epochs", "loss", "test_loss",
                                          "examples_per_s"};
    size_t i;
    const json_t *run;
    const bool is_open = json_array_size(s->runs) <= 4;
    fprintf(stream,
            "<h2 id=runs>Runs</h2><details id=n-runs%s><summary>%zu run%s, each with the command "
            "that repeats it</summary>",
            is_open ? " open" : "", json_array_size(s->runs),
            json_array_size(s->runs) == 1 ? "" : "s");
    drove__html_table("Runs", NULL, stream);
    drove__html_heads(heads, DROVE_COUNT(heads), stream);
    json_array_foreach(s->runs, i, run)
    {
        const char *outcome = drove__html_word(run, "outcome");
        drove__html_row(drove__html_word(run, "run"), stream);
        drove__html_text_cell(outcome[0] != '\0' ? outcome : "goes on, or was killed", stream);
        for (size_t k = 0; k < DROVE_COUNT(figures); k++)
            drove__html_cell(drove__run_figure(run, figures[k]), stream);
        drove__html_text_cell(drove__html_word(run, "message"), stream);
        fputs("</tr>\n<tr class=more><td colspan=8>", stream);
        drove__page_command(json_object_get(run, "options"), stream);
        fputs("</td></tr>\n", stream);
    }
    fputs("</tbody></table></div></details>\n", stream);
}
