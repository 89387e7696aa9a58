/* tests/support/reports.h - what a strategy says of each step, against what can be counted. */
#ifndef DROVE_TESTS_REPORTS_H
#define DROVE_TESTS_REPORTS_H

#include "strategies.h"

/* Every variant of the row, by one worker and by several at once: each step is one attempt unless
 * the row may try twice, staleness is no more than what was published, times fit into the time that
 * passed, and the steps that made an update are as many as were published. */
void check_reports(const drove_sync_ops *ops);

#endif
