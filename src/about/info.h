/* about/info.h - devices in drove info; printing that its neighbours share. */
#ifndef DROVE_ABOUT_INFO_H
#define DROVE_ABOUT_INFO_H

#include "base/json.h"
#include "about/measure_devices.h"

#include <stdio.h>

/* "48 KiB", "1.25 MiB", "31.3 GiB" */
const char *drove__info_bytes(uint64_t bytes, char into[32]);

/* Writes a value that a builder made, and releases it.  what: "list".  Errors: DROVE_E_IO,
 * DROVE_E_NOMEM (also for NULL). */
drove_status drove__about_print_json(json_t *value, const char *what, FILE *stream);

/* For people: a line for each device, and for each kind that has none why. */
void drove__info_print_devices(FILE *stream);
void drove__info_print_speeds(const drove_config *config, const drove_speeds *speeds, FILE *stream);

/* For programs; NULL: not enough memory. */
json_t *drove__info_json_devices(void);
json_t *drove__info_json_kinds(void);
json_t *drove__info_json_speeds(const drove_config *config, const drove_speeds *speeds);

#endif
