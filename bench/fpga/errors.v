// From the batch's sums to its gradients: numbers of G bits with one unit 2^exponent.
//
//   BLOCK 1, as `--precision` has it: outputs are rounded to D bits and errors to G bits, each with
//            the smallest unit that holds the batch's largest magnitude
//            pass 0: the largest output; pass 1: outputs, errors and the largest; pass 2: gradients
//   BLOCK 0: errors are rounded once, with the fixed unit 2^GSHIFT, and saturate; pass 2 alone
//
// Rounding is floor(v / 2^exponent + (2 word + 1) / 2^17), with 16 random bits or one half as word.
// The gradients that come out are negated: the update adds them.
module errors #(
    parameter SUM    = 24, // bits of an output and of a target
    parameter D      = 8,
    parameter G      = 8,
    parameter BATCH  = 1,
    parameter INDEX  = 1,
    parameter BLOCK  = 1,
    parameter GSHIFT = 0
) (
    input                     clk,
    input                     reset,
    input                     start,
    output reg                done,     // one cycle
    output     [INDEX-1:0]    at,       // asks for
    input  signed [SUM-1:0]   sum,      // the output of this example
    input  signed [SUM-1:0]   target,   // its target
    input      [15:0]         word,     // random bits
    output                    draw,     // they have been used
    output reg                g_valid,
    output reg [INDEX-1:0]    g_example,
    output reg signed [G-1:0] g,
    output     [5:0]          exponent
);
    localparam WIDE  = SUM + 1;
    localparam DRAIN = 9; // cycles from a pass's last number to the exponent of the next pass
    localparam signed [WIDE:0] MOST = (1 << (G - 1)) - 1;

    reg [1:0]       pass;
    reg             active;  // numbers are being asked for
    reg             draining;
    reg [3:0]       left;    // cycles
    reg [INDEX-1:0] index;
    reg [5:0]       own;     // exponent of this pass, with BLOCK
    wire [5:0]      unit = BLOCK ? own : GSHIFT;
    reg [WIDE-1:0]  largest; // magnitude
    assign at       = index;
    assign exponent = unit;

    // ---- exponent of the largest magnitude: the least e with (2^(bits-1) - 1) 2^e >= largest ----
    wire [4:0] bits = pass == 0 ? D : G; // of the pass after this one
    reg  [6:0] length;
    reg  [6:0] excess;
    reg  [5:0] next_unit;
    integer k;
    always @* begin
        length = 0;
        for (k = 0; k < WIDE; k = k + 1)
            if (largest[k]) length = k + 1;
    end
    wire [WIDE+16:0] limit = ((17'd1 << (bits - 1)) - 17'd1) << excess;
    always @(posedge clk) begin
        excess    <= length > bits - 1 ? length - (bits - 1) : 0;
        next_unit <= excess + ({17'd0, largest} > limit ? 1 : 0);
    end

    // ---- control ----
    wire last_number = index == BATCH - 1;
    always @(posedge clk) begin
        done <= 0;
        if (reset) begin
            active   <= 0;
            draining <= 0;
        end else if (start) begin
            active <= 1;
            index  <= 0;
            pass   <= BLOCK ? 0 : 2;
            own    <= 0;
        end else if (active) begin
            index <= last_number ? 0 : index + 1;
            if (last_number) begin
                active   <= 0;
                draining <= 1;
                left     <= pass == 2 ? 5 : DRAIN;
            end
        end else if (draining) begin
            left <= left - 1;
            if (left == 0) begin
                draining <= 0;
                active   <= pass != 2;
                done     <= pass == 2;
                pass     <= pass + 1;
                if (pass != 2) own <= next_unit;
            end
        end
    end

    // ---- the pipeline: read, shift, round, subtract the target, magnitude, largest ----
    reg signed [WIDE-1:0] error [0:BATCH-1];
    reg signed [WIDE-1:0] v1, v4;
    reg signed [WIDE+16:0] v2;
    reg signed [WIDE:0]   v3;
    reg [WIDE-1:0]        v5;
    reg                   is1, is2, is3, is4, is5;
    reg [INDEX-1:0]       at1, at2, at3, at4;
    reg signed [SUM-1:0]  y1, y2, y3;
    wire signed [WIDE+16:0] raised  = {v1, 17'd0};
    wire signed [WIDE+16:0] sum_r   = v2 + $signed({1'b0, word, 1'b1});
    wire signed [WIDE-1:0]  is_back = (v3 <<< unit) - (pass == 1 ? y3 : 0);
    reg signed [G-1:0]      bounded;
    assign draw = is2 && pass != 0;
    always @(posedge clk) begin
        is1 <= active;
        at1 <= index;
        y1  <= target;
        v1  <= !BLOCK ? sum - target : pass == 2 ? error[index] : sum;
        is2 <= is1;
        at2 <= at1;
        y2  <= y1;
        v2  <= raised >>> unit;
        is3 <= is2;
        at3 <= at2;
        y3  <= y2;
        v3  <= sum_r >>> 17;
        is4 <= is3;
        v4  <= is_back;
        if (is3 && pass == 1) error[at3] <= is_back;
        is5 <= is4;
        v5  <= v4 < 0 ? -v4 : v4;
        if (start || (draining && left == 0)) largest <= 0;
        else if (is5 && v5 > largest) largest <= v5;
        at4       <= at3;
        bounded   <= v3 > MOST ? MOST : v3 < -MOST ? -MOST : v3;
        g_valid   <= is4 && pass == 2;
        g_example <= at4;
        g         <= -bounded;
    end
endmodule
