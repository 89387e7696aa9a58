/* tests/fuzz/fuzz_workers.c - --workers, --threads and --partition as a user may type them, and the
 * scripts of devices that do not exist: what is accepted names processors that exist, once each,
 * and batches whose limits are in order.
 */
#include "engine/fake/script.h"
#include "plan/partition.h"
#include "plan/workers.h"

#include "fuzz_text.h"

#include <math.h>

enum { N_PUS = 8 };

static void check_script(const drove_workers_entry *e)
{
    drove_fake_script script;
    if (!fuzz_is_ok(drove__fake_script_parse(&e->spec, &script))) return;
    if (!(script.speed > 0.0) || !(script.delay_s >= 0.0)) abort();
    if (!(script.jitter >= 0.0 && script.jitter < 1.0)) abort();
    const drove_fake_outcome once = drove__fake_batch(&script, 3, 100),
                             again = drove__fake_batch(&script, 3, 100);
    if (once.fate != again.fate || once.duration_ns != again.duration_ns) abort();
}

static void check_list(const drove_workers_list *list, bool is_checked)
{
    bool is_used[N_PUS] = {false};
    if (list->n_entries == 0 || list->n_entries > DROVE_MOST_ENTRIES) abort();
    for (unsigned i = 0; i < list->n_entries; i++) {
        const drove_workers_entry *e = &list->entry[i];
        if (e->name[0] == '\0' || e->n_threads == 0) abort();
        if (e->is_device && e->n_threads != 1) abort();
        if (e->least > 0 && e->most > 0 && e->least > e->most) abort();
        if (!(e->timeout_s >= 0.0)) abort();
        for (unsigned k = 0; k < e->n_threads; k++) {
            const int pu = e->pu[k];
            if (pu < -1 || (is_checked && pu >= N_PUS)) abort();
            if (pu < 0 || !is_checked) continue;
            if (is_used[pu]) abort();
            is_used[pu] = true;
        }
        if (e->is_device && strcmp(e->spec.name, "fake") == 0) check_script(e);
    }
}

static void check_partition(const drove_topo *topo, const char *text)
{
    drove_partition p = {0};
    uint64_t wanted;
    if (!fuzz_is_ok(drove__parse_u64("groups", text, 0, N_PUS + 1, &wanted))) return;
    if (fuzz_is_ok(drove__partition_plan(topo, (unsigned)wanted, 1e6, &p))) {
        unsigned n = 0;
        for (unsigned i = 0; i < p.n; i++) n += p.group[i].n_cores;
        if (p.n == 0 || n > N_PUS) abort();
    }
    drove__partition_fini(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    static drove_topo *topo;
    drove_workers_list list = {0};
    char expanded[DROVE_WORKERS_SIZE];
    unsigned n;
    if (topo == NULL && drove__topo_create("synthetic:numa:2 core:2 pu:2", &topo) != DROVE_OK)
        abort();
    char *text = fuzz_text(data, size_bytes);
    for (int i = 0; i < 4; i++) {
        const bool is_checked = i < 2;
        if (fuzz_is_ok(
                drove__workers_parse(text, is_checked ? topo : NULL, N_PUS, i % 2 == 1, &list)))
            check_list(&list, is_checked);
        drove__workers_fini(&list);
    }
    if (fuzz_is_ok(drove__workers_expand(text, 3, expanded, sizeof expanded)) &&
        strlen(expanded) >= sizeof expanded)
        abort();
    if (fuzz_is_ok(drove__threads_parse(text, N_PUS, &n)) && (n < 1 || n > DROVE_MOST_THREADS))
        abort();
    if (drove__workers_are_procs(text) && fuzz_is_ok(drove__procs_parse(text, N_PUS, &n)) &&
        (n < 1 || n > DROVE_MOST_PROCS))
        abort();
    check_partition(topo, text);
    free(text);
    return 0;
}
