/* engine/accel/kernels/bf16.h - numbers rounded to bf16 (kernel/bf16.h), in the common language of
 * prelude_opencl.h.
 */

/* The nearest bf16 number, ties to even; a NaN stays one. */
DROVE_FUNCTION float drove_bf16(float v)
{
    unsigned bits = DROVE_FLOAT_BITS(v);
    if ((bits & 0x7fffffffu) > 0x7f800000u) bits |= 0x400000u;
    else bits += 0x7fffu + (bits >> 16 & 1u);
    return DROVE_BITS_FLOAT(bits & 0xffff0000u);
}
