/* study/page/tab_throughput.c - measured throughput of a run in low precision beside the one that
 * the Buckwild! paper's model predicts (drove/dmgc.h).
 */
#include "study/page/tables.h"

#include "base/mem.h"
#include "use/modelfile.h"
#include "study/page/html.h"

#include <drove/throughput.h>

#include <math.h>

static void print_row(const char *name, double gnps, const char *source, FILE *stream)
{
    drove__html_row(name, stream);
    drove__html_cell(gnps, stream);
    drove__html_text_cell(source, stream);
    fputs("</tr>\n", stream);
}

/* Runs without a signature, and signatures without constants, have no such table. */
void drove__page_throughput(const drove_page_settings *s, FILE *stream)
{
    drove_dmgc signature;
    drove_dmgc_prediction found;
    drove_throughput *constants;
    const json_t *run = json_array_get(s->runs, 0), *summary = json_object_get(run, "summary");
    const double measured = drove__html_get(summary, "gnps");
    drove_dmgc_setting setting = drove_dmgc_setting_default();
    if (!isfinite(measured)) return;
    if (drove_dmgc_parse(drove__html_word(summary, "precision"), &signature) != DROVE_OK) return;
    drove_modelfile file;
    const char *folder = drove__html_word(run, "run");
    if (json_is_string(json_object_get(run, "sweep")) || !drove__modelpath_is_run(folder)) return;
    if (drove__modelfile_load(folder, &file) != DROVE_OK) return;
    setting.n_features = file.n_inputs;
    drove__modelfile_fini(&file);
    setting.n_threads = json_array_size(json_object_get(summary, "workers"));
    if (setting.n_features == 0 || setting.n_threads == 0) return;
    if (drove_throughput_open("auto", &constants) != DROVE_OK) return;
    setting.constants = constants;
    if (drove_dmgc_predict(&signature, &setting, &found) == DROVE_OK) {
        static const char *const heads[] = {"", "GNPS", "from"};
        fputs("<figure><figcaption>Throughput</figcaption>", stream);
        drove__html_table("Throughput",
                          "GNPS: 10\342\201\271 numbers of the data set a second, all threads "
                          "together.",
                          stream);
        drove__html_heads(heads, DROVE_COUNT(heads), stream);
        print_row("measured", measured, "this run", stream);
        print_row("predicted", found.gnps, found.source, stream);
        print_row("measured / predicted", measured / found.gnps, "", stream);
        fputs("</tbody></table></div></figure>\n", stream);
    }
    drove_throughput_close(constants);
}
