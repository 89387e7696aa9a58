/* drove/throughput.h - constants of the throughput model.
 *
 * Source: De Sa et al., ISCA 2017, section 4.  The paper's constants are built in; `drove bench
 * calibrate` measures those of another machine and keeps them in a file
 * (docs/methods/benchmarks.md).
 */
#ifndef DROVE_THROUGHPUT_H
#define DROVE_THROUGHPUT_H

#include <drove/dmgc.h>
#include <drove/status.h>

#pragma GCC visibility push(default) /* exported by the shared library */
#ifdef __cplusplus
extern "C" {
#endif

/* Loads the constants that `which` names: NULL, "" or "auto": the constants in
 * ~/.config/drove/throughput.json (under XDG_CONFIG_HOME) if the file exists and was measured on
 * this machine, else the paper's; "paper": the paper's; else the path of a file, from any machine.
 * For drove_dmgc_setting.  Errors: DROVE_E_FILE (no such file), DROVE_E_IO, DROVE_E_DATA (what is
 * wrong in it, and where), DROVE_E_NOMEM. */
drove_status drove_throughput_open(const char *which, drove_throughput **out);
void         drove_throughput_close(drove_throughput *constants); /* NULL accepted */

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
