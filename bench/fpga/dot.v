// The sum of the lanes' products, by a tree with a register at each level, added to one accumulator
// for each example of the batch.
//
// A product that comes in cycle t is in its accumulator from cycle t + LEVELS + 1 on.
module dot #(
    parameter LANES  = 1,  // a power of two
    parameter LEVELS = 0,  // its logarithm
    parameter WIDTH  = 16, // of a product
    parameter SUM    = 24, // of an accumulator
    parameter BATCH  = 1,
    parameter INDEX  = 1   // bits of an example's number in the batch
) (
    input                   clk,
    input                   valid,
    input                   first,   // of its example: the accumulator starts anew
    input  [INDEX-1:0]      example,
    input  [LANES*WIDTH-1:0] product,
    input  [INDEX-1:0]      at,      // the accumulator that is read
    output signed [SUM-1:0] sum
);
    // node[1] is the root, nodes 2i and 2i + 1 lie below node i, the last LANES are the products.
    wire signed [SUM-1:0] node [1:2*LANES-1];
    genvar i;
    generate
        for (i = LANES; i < 2 * LANES; i = i + 1) begin : leaf
            assign node[i] = $signed(product[(i-LANES)*WIDTH +: WIDTH]);
        end
        for (i = 1; i < LANES; i = i + 1) begin : inner
            localparam ADDED = LEVELS + 1 - $clog2(i + 1); // levels below: a bit each
            reg signed [WIDTH+ADDED-1:0] both;
            always @(posedge clk) both <= node[2*i] + node[2*i+1];
            assign node[i] = both;
        end
    endgenerate

    // The tags travel along with the products.
    localparam TAG = INDEX + 2;
    wire [TAG-1:0] tag [0:LEVELS];
    assign tag[0] = {valid, first, example};
    generate
        for (i = 0; i < LEVELS; i = i + 1) begin : travel
            reg [TAG-1:0] held;
            always @(posedge clk) held <= tag[i];
            assign tag[i+1] = held;
        end
    endgenerate
    wire              root_valid   = tag[LEVELS][TAG-1];
    wire              root_first   = tag[LEVELS][TAG-2];
    wire [INDEX-1:0]  root_example = tag[LEVELS][INDEX-1:0];

    reg signed [SUM-1:0] total [0:BATCH-1];
    always @(posedge clk)
        if (root_valid) total[root_example] <= (root_first ? 0 : total[root_example]) + node[1];
    assign sum = total[at];
endmodule
