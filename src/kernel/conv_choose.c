/* kernel/conv_choose.c - which way to compute a convolution is fastest here. */
#include "kernel/conv_ops.h"

#include <stdio.h>
#include <string.h>

drove_status drovek_conv_choose(const drovek_conv_options *opt, drovek_conv_choice *out,
                                size_t most, size_t *n_out)
{
    bool is_ref = strcmp(opt->kernels->isa, "ref") == 0;
    *n_out = most > 0 ? 1 : 0;
    if (most == 0) return DROVE_OK;
    out[0] = (drovek_conv_choice){.in = opt->in == DROVEK_NCHW ? DROVEK_NCHW : DROVEK_NHWC,
                                  .out = DROVEK_NHWC};
    snprintf(out[0].way, sizeof out[0].way, "%s", is_ref ? "ref" : "gemm");
    return DROVE_OK;
}
