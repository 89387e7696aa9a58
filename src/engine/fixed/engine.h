/* engine/fixed/engine.h - the engine of networks in fixed point. */
#ifndef DROVE_ENGINE_FIXED_ENGINE_H
#define DROVE_ENGINE_FIXED_ENGINE_H

#include "engine/engine.h"
#include "engine/fixed/format.h"

extern const drove_engine_ops drove__engine_fixed;

#endif
