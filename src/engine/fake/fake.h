/* engine/fake/fake.h - a kind of device that sleeps as a script says, and fails as it says. */
#ifndef DROVE_ENGINE_FAKE_FAKE_H
#define DROVE_ENGINE_FAKE_FAKE_H

#include "engine/device.h"

extern const drove_device_kind drove__device_kind_fake;
extern const drove_engine_ops  drove__engine_fake;

#endif
