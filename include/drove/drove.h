/* drove/drove.h - the whole public API. */
#ifndef DROVE_DROVE_H
#define DROVE_DROVE_H

#include <drove/arrays.h>
#include <drove/arrow.h>
#include <drove/batches.h>
#include <drove/custom.h>
#include <drove/data.h>
#include <drove/dmgc.h>
#include <drove/export.h>
#include <drove/metrics.h>
#include <drove/options.h>
#include <drove/predictor.h>
#include <drove/report.h>
#include <drove/status.h>
#include <drove/sweep.h>
#include <drove/throughput.h>
#include <drove/train.h>
#include <drove/trainer.h>
#include <drove/tune.h>
#include <drove/version.h>
#include <drove/watch.h>

#endif
