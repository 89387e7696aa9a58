/* study/report.c - drove_report: reads runs once, and writes what is asked for. */
#include "base/given.h"
#include "base/locale.h"
#include "study/page/page.h"
#include "study/runs_csv.h"
#include "study/runs_read.h"

#include <stdbool.h>

static bool is_given(const char *path)
{
    return path != NULL && path[0] != '\0';
}

drove_status drove_report(const drove_report_options *options)
{
    DROVE_GIVEN(options);
    DROVE_GIVEN_AS(options->folder, "options->folder");
    DROVE_IN_C_LOCALE;
    json_t *runs;
    const drove_report_options *o = options;
    if (o->n_folders == 0)
        return drove__fail(DROVE_E_ARG, "report: expected folders of runs, found none");
    if (!is_given(o->csv) && !is_given(o->html) && !is_given(o->png))
        return drove__fail(DROVE_E_ARG, "report: expected a file to write, found none");
    DROVE_TRY(drove__runs_read(o, &runs));
    drove_status status = DROVE_OK;
    if (is_given(o->csv)) status = drove__runs_write_csv(runs, o);
    if (status == DROVE_OK && is_given(o->png)) status = drove__page_png(runs, o->png);
    if (status == DROVE_OK && is_given(o->html))
        status = drove__page_write(runs, o->html, o->message, o->context);
    json_decref(runs);
    return status;
}
