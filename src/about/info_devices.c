/* about/info_devices.c - the devices in `drove info`: names, speeds, why others are missing. */
#include "about/info.h"

#include "base/mem.h"
#include "engine/device.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WHY_SIZE = DROVE_ERROR_TEXT_SIZE, LABEL_WIDTH = 10 };

/* ---- for people ---- */

const char *drove__info_bytes(uint64_t bytes, char into[32])
{
    static const char *const unit[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    double amount = (double)bytes;
    unsigned i = 0;
    for (; amount >= 1024.0 && i + 1 < DROVE_COUNT(unit); i++) amount /= 1024.0;
    snprintf(into, 32, "%.3g %s", amount, unit[i]);
    return into;
}

void drove__info_print_devices(FILE *stream)
{
    const char *title = "devices";
    char why[WHY_SIZE];
    for (const drove_device_kind *const *kind = drove__device_kinds; *kind != NULL; kind++) {
        why[0] = '\0';
        unsigned n = (*kind)->count(*kind, why, sizeof why);
        for (unsigned i = 0; i < n; i++, title = "") {
            char name[32], memory[32];
            drove_device_facts facts;
            snprintf(name, sizeof name, "%s:%u", (*kind)->name, i);
            fprintf(stream, "%-12s%-*s ", title, LABEL_WIDTH, name);
            if ((*kind)->describe(*kind, i, &facts) != DROVE_OK) {
                fprintf(stream, "%s\n", drove_error_text());
                continue;
            }
            fputs(facts.name, stream);
            if (facts.driver[0] != '\0') fprintf(stream, ", %s", facts.driver);
            if (facts.n_units > 0)
                fprintf(stream, ", %u unit%s", facts.n_units, facts.n_units == 1 ? "" : "s");
            if (facts.memory_bytes > 0)
                fprintf(stream, ", %s", drove__info_bytes(facts.memory_bytes, memory));
            fputc('\n', stream);
        }
        if (n > 0 || why[0] == '\0') continue;
        fprintf(stream, "%-12s%-*s none: %s\n", title, LABEL_WIDTH, (*kind)->name, why);
        title = "";
    }
}

void drove__info_print_speeds(const drove_config *config, const drove_speeds *speeds, FILE *stream)
{
    fprintf(stream, "speed       examples/s of gradients of %s on %s\n",
            drove__config_model(config), config->problem.data);
    fprintf(stream, "            %-*s", LABEL_WIDTH, "batch");
    for (size_t i = 0; i < speeds->n_batches; i++) fprintf(stream, " %10zu", speeds->batch[i]);
    fprintf(stream, "\n");
    for (size_t k = 0; k < speeds->n; k++) {
        const drove_speed *s = &speeds->speed[k];
        fprintf(stream, "            %-*s", LABEL_WIDTH, s->device);
        for (size_t i = 0; i < speeds->n_batches; i++) {
            if (isnan(s->examples_per_s[i])) fprintf(stream, " %10s", "-");
            else fprintf(stream, " %10.4g", s->examples_per_s[i]);
        }
        fprintf(stream, "%s%s\n", s->reason[0] != '\0' ? "  " : "", s->reason);
    }
    fprintf(stream, "            host is one thread\n");
}

/* ---- for programs ---- */

drove_status drove__about_print_json(json_t *value, const char *what, FILE *stream)
{
    char *text = drove__json_dump(value, JSON_INDENT(2));
    json_decref(value);
    if (text == NULL) return drove__fail_nomem(what, 1);
    const int written = fprintf(stream, "%s\n", text);
    free(text);
    return written < 0 ? drove__fail(DROVE_E_IO, "%s: cannot be written", what) : DROVE_OK;
}

static json_t *json_text(const char *text)
{
    return text[0] != '\0' ? json_string(text) : json_null();
}

static json_t *json_positive(uint64_t number)
{
    return number > 0 ? json_integer((json_int_t)number) : json_null();
}

json_t *drove__info_json_devices(void)
{
    char why[WHY_SIZE];
    json_t *array = json_array();
    for (const drove_device_kind *const *kind = drove__device_kinds; *kind != NULL; kind++) {
        unsigned n = (*kind)->count(*kind, why, sizeof why);
        for (unsigned i = 0; i < n; i++) {
            drove_device_facts facts = {0};
            bool is_known = (*kind)->describe(*kind, i, &facts) == DROVE_OK;
            drove__json_add(
                &array, json_pack("{s:s, s:i, s:o, s:o, s:o, s:o, s:b, s:o}", "kind", (*kind)->name,
                                  "index", (int)i, "name", json_text(facts.name), "driver",
                                  json_text(facts.driver), "memory_bytes",
                                  json_positive(facts.memory_bytes), "units",
                                  json_positive(facts.n_units), "can_split", (int)facts.can_split,
                                  "reason", json_text(is_known ? "" : drove_error_text())));
        }
    }
    return array;
}

json_t *drove__info_json_kinds(void)
{
    json_t *array = json_array();
    for (const drove_device_kind *const *kind = drove__device_kinds; *kind != NULL; kind++) {
        char why[WHY_SIZE] = "";
        unsigned n = (*kind)->count(*kind, why, sizeof why);
        drove__json_add(&array, json_pack("{s:s, s:i, s:o}", "kind", (*kind)->name, "n_devices",
                                          (int)n, "reason", json_text(n == 0 ? why : "")));
    }
    return array;
}

json_t *drove__info_json_speeds(const drove_config *config, const drove_speeds *speeds)
{
    json_t *batches = json_array(), *devices = json_array();
    for (size_t i = 0; i < speeds->n_batches; i++) {
        drove__json_add(&batches, json_integer((json_int_t)speeds->batch[i]));
    }
    for (size_t k = 0; k < speeds->n; k++) {
        const drove_speed *s = &speeds->speed[k];
        json_t *rates = json_array();
        for (size_t i = 0; i < speeds->n_batches; i++) {
            bool is_known = !isnan(s->examples_per_s[i]);
            drove__json_add(&rates, is_known ? json_real(s->examples_per_s[i]) : json_null());
        }
        drove__json_add(&devices,
                        json_pack("{s:s, s:o, s:o}", "device", s->device, "examples_per_s", rates,
                                  "reason", json_text(s->reason)));
    }
    return json_pack("{s:s, s:s, s:o, s:o}", "model", drove__config_model(config), "data",
                     config->problem.data, "batches", batches, "devices", devices);
}
