/* tests/unit/engine/accel_images.h - models of images for the tests of accelerators: graphs with
 * each kind of layer, random images, the host's engine and a device's beside each other. */
#ifndef DROVE_TESTS_UNIT_DEVICE_ACCEL_IMAGES_H
#define DROVE_TESTS_UNIT_DEVICE_ACCEL_IMAGES_H

#include "engine/device.h"
#include "engine/engine.h"
#include "model/graph.h"

enum { IMAGES_N = 24, IMAGES_CLASSES = 5 };

typedef struct images_case {
    const char *name;
    const char *spec; /* of the zoo; NULL: build */
    void (*build)(drove_graph *g);
    size_t      c, h, w;
    bool        in_bf16;
    const char *freeze; /* names of layers; NULL: none */
} images_case;

extern const images_case images_cases[]; /* ends with name NULL */
const images_case       *images_find(const char *name);

typedef struct images {
    const images_case *how;
    drove_storage      storage;
    drove_data         data;
    drove_model       *model;
    drovek_table       kernels;
    float             *theta, *grad[2]; /* [n_params] host's, device's */
    drove_device      *device;
    drove_engine      *host, *accel;
    uint32_t           row[IMAGES_N];
    drove_batch        batch;
} images;

void images_setup(images *p, const images_case *how, drove_device *device, size_t max_rows);
void images_teardown(images *p); /* not the device */
/* n of them, from `first` on. */
void images_choose(images *p, size_t first, size_t n, uint64_t number);
/* Gradients and scores of the batch by both engines. */
void images_gradients(images *p, drove_score score[2]);
/* Largest difference of a layer's gradient, as a part of its largest element; fails above it. */
void images_compare(const images *p, double bound);

#endif
