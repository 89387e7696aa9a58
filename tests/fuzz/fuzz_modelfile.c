/* tests/fuzz/fuzz_modelfile.c - model files of any content: what is accepted is a whole model. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create */
#endif
#include "values/values.h"

#include "memory_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    memory_file file;
    drove_modelfile model;
    memory_file_init(&file, data, size_bytes);
    if (drove__modelfile_load(file.path, &model) == DROVE_OK) {
        float sum = 0.0f; /* every parameter and name can be read */
        for (size_t i = 0; i < model.model->n_params; i++) sum += model.theta[i];
        for (size_t i = 0; model.factor != NULL && i < model.n_inputs; i++) {
            sum += model.factor[i];
        }
        for (size_t i = 0; model.class_name != NULL && i < model.io.n_classes; i++) {
            if (model.class_name[i] == NULL) abort();
        }
        volatile float sink = sum;
        (void)sink;
        drove__modelfile_fini(&model);
    } else if (drove_error_text()[0] == '\0') {
        abort();
    }
    memory_file_fini(&file);
    return 0;
}
