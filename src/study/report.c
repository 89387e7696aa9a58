/* study/report.c - drove_report: reads runs once, and writes what is asked for. */
#include "base/locale.h"
#include "study/runs_csv.h"
#include "study/runs_read.h"

drove_status drove_report(const drove_report_options *options)
{
    DROVE_IN_C_LOCALE;
    json_t *runs;
    if (options->n_folders == 0)
        return drove__fail(DROVE_E_ARG, "report: expected folders of runs, found none");
    if (options->csv == NULL || options->csv[0] == '\0')
        return drove__fail(DROVE_E_ARG, "report: expected a file to write, found none");
    DROVE_TRY(drove__runs_read(options, &runs));
    const drove_status status = drove__runs_write_csv(runs, options->csv);
    json_decref(runs);
    return status;
}
