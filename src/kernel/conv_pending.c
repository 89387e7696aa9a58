/* kernel/conv_pending.c - until the convolutions of conv.h are here: delete this file with them. */
#include "kernel/conv.h"

drove_status drovek_conv_create(const drovek_conv_options *opt, drovek_conv **out)
{
    (void)opt;
    *out = NULL;
    return drove__fail(DROVE_E_UNSUPPORTED, "no convolutions yet");
}
void drovek_conv_destroy(drovek_conv *conv)
{
    (void)conv;
}
void drovek_conv_forward(drovek_conv *conv, const float *x, const float *w, const float *b,
                         float *y, size_t n_rows)
{
    (void)conv, (void)x, (void)w, (void)b, (void)y, (void)n_rows;
}
void drovek_conv_data(drovek_conv *conv, const float *dy, const float *w, float *dx, size_t n_rows,
                      bool adds)
{
    (void)conv, (void)dy, (void)w, (void)dx, (void)n_rows, (void)adds;
}
void drovek_conv_weights(drovek_conv *conv, const float *x, const float *dy, float *dw,
                         size_t n_rows)
{
    (void)conv, (void)x, (void)dy, (void)dw, (void)n_rows;
}
drove_status drovek_conv_choose(const drovek_conv_options *opt, drovek_conv_choice *out,
                                size_t most, size_t *n_out)
{
    (void)opt, (void)out, (void)most;
    *n_out = 0;
    return drove__fail(DROVE_E_UNSUPPORTED, "no convolutions yet");
}
void drovek_reformat(const float *from, drovek_format from_format, float *to,
                     drovek_format to_format, size_t n_rows, size_t c, size_t h, size_t w,
                     bool adds)
{
    (void)from, (void)from_format, (void)to, (void)to_format;
    (void)n_rows, (void)c, (void)h, (void)w, (void)adds;
}
