// One XORSHIFT module: Marsaglia's 64-bit generator (13, 7, 17), whose state is four 16-bit words of
// random bits.  It shows the seed first, and steps at each cycle with `step`.
//
// Source: Marsaglia, Xorshift RNGs, 2003; De Sa et al., ISCA 2017, sections 5.2 and 8.
module xorshift #(parameter [63:0] SEED = 64'd1) (
    input             clk,
    input             reset,
    input             step,
    output reg [63:0] state
);
    wire [63:0] a = state ^ (state << 13);
    wire [63:0] b = a ^ (a >> 7);
    always @(posedge clk)
        if (reset) state <= SEED;
        else if (step) state <= b ^ (b << 17);
endmodule
