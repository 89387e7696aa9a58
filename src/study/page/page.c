/* study/page/page.c - see page.h. */
#include "study/page/page.h"

#include "base/mem.h"
#include "study/page/figures.h"
#include "study/page/gnuplot.h"
#include "study/page/html.h"
#include "study/page/settings.h"
#include "study/page/tables.h"

#include <drove/version.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FIGURES = 64 };

typedef struct page {
    drove_page_settings settings;
    drove_plot plot[MOST_FIGURES];
    char *svg[MOST_FIGURES]; /* NULL: no picture */
    size_t n;
    char why[512]; /* there are no pictures; "": there are */
    bool is_live;
} page;

/* ---- figures ---- */

static drove_status fill(page *p, const json_t *runs)
{
    DROVE_TRY(drove__settings_init(&p->settings, runs));
    for (const drove_figure *f = drove__figures; f->id != NULL && p->n < MOST_FIGURES; f++) {
        drove_plot *plot = &p->plot[p->n];
        drove_status status = f->fill(f, &p->settings, plot);
        if (status == DROVE_OK && plot->n_series > 0) p->n++;
        else drove__plot_fini(plot);
        DROVE_TRY(status);
    }
    return DROVE_OK;
}

static void fini(page *p)
{
    for (size_t i = 0; i < p->n; i++) {
        drove__plot_fini(&p->plot[i]);
        free(p->svg[i]);
    }
    drove__settings_fini(&p->settings);
    drove__free(p);
}

/* ---- the page ---- */

static void print_top(const page *p, const char *title, FILE *stream)
{
    fputs("<header><h1>", stream);
    drove__html_text(title, stream);
    fputs("</h1>", stream);
    if (p->is_live) fputs("<p class=dim id=live role=status>live</p>", stream);

    /* "12 runs: 10 reached, 2 crashed" */
    static const char *const words[] = {"reached", "finished", "missed",     "timed_out",
                                        "crashed", "refused",  "interrupted"};
    const json_t *runs = p->settings.runs;
    const size_t n = json_array_size(runs);
    size_t n_known = 0;
    fprintf(stream, "<p>%zu run%s", n, n == 1 ? "" : "s");
    for (size_t w = 0; w < DROVE_COUNT(words); w++) {
        size_t count = 0;
        for (size_t r = 0; r < n; r++) count += drove__run_is(json_array_get(runs, r), words[w]);
        if (count > 0) fprintf(stream, "%s%zu %s", n_known > 0 ? ", " : ": ", count, words[w]);
        n_known += count;
    }
    if (n_known < n)
        fprintf(stream, "%s%zu going on or killed", n_known > 0 ? ", " : ": ", n - n_known);
    fprintf(stream, ". drove %s.</p>\n", DROVE_VERSION);

    /* Times of a modelled machine are none that were measured. */
    size_t i, n_virtual = 0;
    const json_t *run;
    json_array_foreach(runs, i, run) n_virtual += drove__run_is_virtual(run);
    if (n_virtual > 0)
        fprintf(stream,
                "<p class=warn>Virtual time in %zu of %zu runs: all of their seconds and speeds "
                "are those of the modelled machine (--machine).</p>\n",
                n_virtual, n);

    if (p->why[0] != '\0') {
        fputs("<p class=warn>", stream);
        drove__html_text(p->why, stream);
        fputs("</p>\n", stream);
    }
    if (n == 0) fputs("<p class=warn>There is no run here yet.</p>\n", stream);

    fputs("<nav aria-label=Parts>", stream);
    if (drove__page_has_model(&p->settings)) fputs("<a href=\"#model\">Model</a>", stream);
    if (p->settings.n > 1) fputs("<a href=\"#settings\">Settings</a>", stream);
    if (p->n > 0) fputs("<a href=\"#figures\">Figures</a>", stream);
    fputs("<a href=\"#runs\">Runs</a></nav></header>\n", stream);
}

static void print_page(const page *p, FILE *stream)
{
    const json_t *runs = p->settings.runs, *first = json_array_get(runs, 0);
    const char *sweep = drove__html_word(first, "sweep"); /* of which all runs are; "": none */
    for (size_t i = 1; i < json_array_size(runs); i++)
        if (strcmp(drove__html_word(json_array_get(runs, i), "sweep"), sweep) != 0) sweep = "";
    char title[256] = "drove: no runs yet";
    if (json_array_size(runs) == 1)
        snprintf(title, sizeof title, "%.200s", drove__html_word(first, "run"));
    else if (sweep[0] != '\0') snprintf(title, sizeof title, "Sweep %.200s", sweep);
    else if (first != NULL) snprintf(title, sizeof title, "%zu runs", json_array_size(runs));
    fputs("<!DOCTYPE html>\n<html lang=en><head><meta charset=utf-8>"
          "<meta name=viewport content=\"width=device-width,initial-scale=1\">",
          stream);
    fprintf(stream,
            "<meta http-equiv=Content-Security-Policy content=\"default-src 'none';style-src "
            "'unsafe-inline';img-src data:%s\"><link rel=icon href=\"data:,\"><title>",
            p->is_live ? ";script-src 'unsafe-inline';connect-src 'self'" : "");
    drove__html_text(title, stream);
    fprintf(stream, "</title><style>\n%s</style></head>\n<body><main>\n", drove__page_style);
    print_top(p, title, stream);
    drove__page_model(&p->settings, stream);
    drove__page_settings(&p->settings, stream);
    if (p->n > 0) {
        fputs("<h2 id=figures>Figures</h2>\n", stream);
        if (p->svg[0] != NULL) {
            fputs("<svg width=0 height=0 style=\"position:absolute\" aria-hidden=true>", stream);
            drove__svg_markers(p->svg[0], stream);
            fputs("</svg>\n", stream);
        }
        fputs("<div class=grid>\n", stream);
        for (size_t i = 0; i < p->n; i++) drove__figure_print(&p->plot[i], p->svg[i], stream);
        fputs("</div>\n", stream);
    }
    drove__page_heat(&p->settings, stream);
    drove__page_runs(&p->settings, stream);
    fputs("</main>\n", stream);
    if (p->is_live) fprintf(stream, "<script>%s</script>\n", drove__page_script);
    fputs("</body></html>\n", stream);
}

/* ---- entry points ---- */

static drove_status make(const json_t *runs, bool is_live, page **out)
{
    page *p = drove__alloc(1, sizeof *p);
    *out = NULL;
    if (p == NULL) return drove__fail_nomem("page", sizeof *p);
    p->is_live = is_live;
    drove_status status = fill(p, runs);
    if (status == DROVE_OK) *out = p;
    else fini(p);
    return status;
}

drove_status drove__page_text(const json_t *runs, bool is_live,
                              void (*message)(void *context, const char *line), void *context,
                              char **out, size_t *n_bytes)
{
    page *p;
    *out = NULL;
    DROVE_TRY(make(runs, is_live, &p));

    /* A page without pictures has its tables. */
    char program[PATH_MAX];
    drove_status status = DROVE_OK;
    if (!drove__gnuplot_find(program, sizeof program)) {
        snprintf(p->why, sizeof p->why,
                 "no pictures: gnuplot is not in PATH (Debian: gnuplot-nox); the tables have all "
                 "numbers");
    } else {
        status = drove__gnuplot_svg(program, p->plot, p->n, p->svg);
        if (status != DROVE_OK && status != DROVE_E_NOMEM) {
            snprintf(p->why, sizeof p->why, "no pictures: %.400s", drove_error_text());
            status = DROVE_OK;
        }
    }
    if (status == DROVE_OK && p->why[0] != '\0' && message != NULL) message(context, p->why);
    FILE *stream = status == DROVE_OK ? open_memstream(out, n_bytes) : NULL;
    bool is_whole = stream != NULL;
    if (stream != NULL) {
        print_page(p, stream);
        is_whole = ferror(stream) == 0;
        is_whole = fclose(stream) == 0 && is_whole;
    }
    fini(p);
    if (status != DROVE_OK || is_whole) return status;
    free(*out);
    *out = NULL;
    return drove__fail_nomem("page", 1);
}

drove_status drove__page_write(const json_t *runs, const char *path,
                               void (*message)(void *context, const char *line), void *context)
{
    char *text;
    size_t n_bytes;
    DROVE_TRY(drove__page_text(runs, false, message, context, &text, &n_bytes));
    const drove_status status = drove__page_save(path, text, n_bytes);
    free(text);
    return status;
}

drove_status drove__page_figures(const json_t *runs, bool is_pdf, const char *folder)
{
    page *p;
    char program[PATH_MAX];
    if (!drove__gnuplot_find(program, sizeof program))
        return drove__fail(DROVE_E_UNSUPPORTED,
                           "--%s: expected gnuplot in PATH, found none (Debian: gnuplot-nox)",
                           is_pdf ? "pdf" : "svg");
    DROVE_TRY(make(runs, false, &p));
    drove_status status = drove__gnuplot_files(program, p->plot, p->n, is_pdf, folder);
    fini(p);
    return status;
}
