/* data/read/libsvm.h - the keys of LIBSVM's text. */
#ifndef DROVE_DATA_READ_LIBSVM_H
#define DROVE_DATA_READ_LIBSVM_H

#include "data/export.h"
#include "data/read/labels.h"

typedef struct drove_libsvm_options {
    enum { DROVE_BASE_AUTO, DROVE_BASE_0, DROVE_BASE_1 } base;
    uint64_t             n_features; /* 0: not given */
    const char          *encoding;   /* NULL: not given */
    drove_label_options  labels;
    drove_export_options written;
} drove_libsvm_options;
extern const drove_spec_key drove__libsvm_keys[];

#endif
