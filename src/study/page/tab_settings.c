/* study/page/tab_settings.c - the settings of a page, with their outcomes and medians. */
#include "study/page/tables.h"

#include "study/page/html.h"

void drove__page_settings(const drove_page_settings *s, FILE *stream)
{
    static const char *const heads[] = {"number",
                                        "setting",
                                        "runs",
                                        "reached",
                                        "missed",
                                        "crashed",
                                        "other",
                                        "median time to target (s)",
                                        "median loss at the end"};
    if (s->n < 2) return;
    fputs("<h2 id=settings>Settings</h2><div class=scroll tabindex=0 role=region "
          "aria-label=Settings><table><caption>A run without the figure counts as infinite in a "
          "median; other: finished without a target, refused, or going on.</caption><thead><tr>",
          stream);
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++)
        drove__html_head_cell(heads[i], "col", stream);
    fputs("</tr></thead><tbody>\n", stream);
    for (size_t i = 0; i < s->n; i++) {
        const drove_page_setting *x = &s->setting[i];
        const size_t counts[] = {x->n_runs, x->n_reached, x->n_missed, x->n_crashed, x->n_other};
        fprintf(stream, "<tr><td class=n>%zu</td>", i + 1);
        drove__html_head_cell(x->name, "row", stream);
        for (size_t k = 0; k < 5; k++) fprintf(stream, "<td class=n>%zu</td>", counts[k]);
        drove__html_cell(x->target_s, stream);
        drove__html_cell(x->loss, stream);
        fputs("</tr>\n", stream);
    }
    fputs("</tbody></table></div>\n", stream);
}
