// One lane of the update: sums the products of a batch, rounds the sum to model units, adds it to the
// word and saturates.
//
//   word' = clamp(word + floor(sum / 2^(shift - LEFT) + (2 random + 1) / 2^17))
//
// A batch's last product in cycle t, the random bits in t + 2 and the word in t + 3 give word' in
// cycle t + 4.
module update #(
    parameter WIDTH  = 16, // of a product
    parameter SUM    = 16, // of a batch's sum
    parameter M      = 8,
    parameter LOWEST = 128, // the least word is its negative
    parameter BATCH  = 1,
    parameter FIXED  = 0,  // the shift is SHIFT, a constant
    parameter SHIFT  = 0,
    parameter LEFT   = 0
) (
    input                      clk,
    input                      first,  // product of a batch
    input  signed [WIDTH-1:0]  product,
    input  [5:0]               shift,
    input  [15:0]              random,
    input  signed [M-1:0]      word,
    output reg signed [M-1:0]  changed
);
    // Bits below the 17th of the fraction change no result, nor do random bits below the sum's.
    localparam FRACTION = FIXED && SHIFT < 17 ? SHIFT : 17;
    localparam WHOLE    = !FIXED ? SUM + LEFT : SUM > SHIFT ? SUM - SHIFT : 1; // bits of the rest
    localparam WIDE     = WHOLE + FRACTION + 1;
    localparam TOP      = (WHOLE > M ? WHOLE : M) + 2;
    localparam RAISED   = SUM + LEFT + FRACTION + 1;
    localparam signed [TOP-1:0] MOST = (1 << (M - 1)) - 1;

    reg signed [SUM-1:0]  sum;
    reg signed [WIDE-1:0] scaled;
    wire signed [RAISED-1:0] raised = {sum[SUM-1], sum, {(FRACTION + LEFT){1'b0}}};
    wire signed [WIDE-1:0] half_open; // in [0, 1)
    generate
        if (FRACTION == 0) assign half_open = 0;
        else assign half_open = $signed({1'b0, random, 1'b1} >> (17 - FRACTION));
    endgenerate
    reg signed [WHOLE:0]    rounded;
    wire signed [TOP-1:0]   wanted = rounded + word;
    always @(posedge clk) begin
        sum     <= (BATCH == 1 || first ? 0 : sum) + product;
        scaled  <= raised >>> (FIXED ? SHIFT : shift);
        rounded <= (scaled + half_open) >>> FRACTION;
        changed <= wanted > MOST ? MOST : wanted < -LOWEST ? -LOWEST : wanted;
    end
endmodule
