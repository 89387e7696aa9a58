// SGD of linear regression in low precision: loads examples in bursts, keeps the model in block RAM.
//
// Source: De Sa et al., ISCA 2017, section 8 and Figure 7c.  The exact definition is model.py's.
//
//   two stages    load | process: the dots of a batch, then its update, by the same multipliers; a
//                 cycle loads LANES / 2 numbers and processes LANES, as each is read twice
//   three stages  load | dots | update: LANES numbers a cycle each.  The dots copy the data to the
//                 memory that the update reads.  The dots of a batch follow the update of the batch
//                 before through the model, a few cycles behind: every word is written before it is
//                 read, so this is sequential SGD too.
//
// A sweep takes BEATS x BATCH cycles: beat by beat, and all examples of the batch at each, so that
// a batch reads and writes each word of the model once.
module sgd #(
    parameter D = 8, parameter M = 8, parameter G = 8,
    parameter LOWEST = 128,     // the model's least word is its negative
    parameter LANES  = 2,       // numbers that a cycle processes: a power of two
    parameter LEVELS = 1,       // its logarithm
    parameter BEATS  = 64,      // of an example: features / LANES
    parameter BATCH  = 1, parameter INDEX = 1, // bits of an example's number
    parameter BEAT   = 6,       // bits of a beat's number
    parameter SUM    = 22,      // bits of a dot
    parameter STAGES = 2,
    parameter BLOCK  = 1,       // units of errors: the batch's own; 0: fixed
    parameter STEP   = 12,      // an update's shift is STEP - the exponent of its errors
    parameter LEFT   = 0,       // the most that it can be below 0
    parameter GSHIFT = 0,       // their exponent, if fixed
    parameter FRESH  = 0,       // random bits: for each word; 0: for each update, or none
    parameter GENERATORS = 0,   // of the lanes, one for four lanes, and one of errors; 0: nearest
    parameter [64*(GENERATORS+1)-1:0] SEEDS = 0,
    parameter LOAD   = STAGES == 2 ? LANES / 2 : LANES
) (
    input                     clk,
    input                     reset,
    // examples: LOAD numbers a beat, the target with the last beat
    input                     in_valid,
    output                    in_ready,
    input  [LOAD*D-1:0]       in_data,
    input  signed [SUM-1:0]   in_target,
    // the model, while `idle`: word host_lane of beat host_beat; read three cycles later; written two
    // cycles after the beat was named, since a write keeps the beat's other words
    input                     host_write,
    input  [BEAT-1:0]         host_beat,
    input  [7:0]              host_lane,
    input  signed [M-1:0]     host_word,
    output reg signed [M-1:0] host_read,
    output reg                idle,
    output reg                updating // the first cycle of an update
);
    localparam PER_BEAT  = LANES / LOAD;
    localparam PRODUCT   = D + (M > G ? M : G);
    localparam ROWS      = BATCH == 1 ? 0 : INDEX; // bits of an example's number in an address
    localparam BATCH_SUM = D + G + ROWS;
    localparam DOT_DRAIN = LEVELS + 1; // cycles from the sweep's end to the last sum
    localparam LAG       = BATCH + 6;  // from an update's begin to the next dots'
    localparam WRITTEN   = BEATS * BATCH + 7; // to its last write
    localparam AFTER     = STAGES == 2 ? WRITTEN - 1 : LAG;
    genvar l;

    // ---- load: two banks, one is filled while the other one is processed ----
    reg [1:0]       full;
    reg             bank_in, bank;
    reg [INDEX-1:0] row_in;
    reg [BEAT-1:0]  beat_in;
    reg             part_in; // half of a beat
    reg             release_bank;
    reg signed [SUM-1:0] target [0:2*(1<<INDEX)-1];
    wire taken     = in_valid && in_ready;
    wire last_part = PER_BEAT == 1 || part_in;
    wire last_beat = last_part && beat_in == BEATS - 1;
    wire last_row  = last_beat && row_in == BATCH - 1;
    assign in_ready = !full[bank_in];
    always @(posedge clk) begin
        if (taken) begin
            part_in <= !last_part;
            if (last_part) beat_in <= last_beat ? 0 : beat_in + 1;
            if (last_beat) row_in <= last_row ? 0 : row_in + 1;
            if (last_beat) target[{bank_in, row_in}] <= in_target;
            if (last_row) begin
                full[bank_in] <= 1;
                bank_in       <= !bank_in;
            end
        end
        if (release_bank) full[bank] <= 0;
        if (reset) begin
            full    <= 0;
            bank_in <= 0;
            row_in  <= 0;
            beat_in <= 0;
            part_in <= 0;
        end
    end

    // ---- control: wait, dots, errors, update ----
    localparam WAIT = 0, DOTS = 1, DRAINING = 2, ERRORS = 3;
    reg [1:0]       state;
    reg [15:0]      hold, busy; // cycles until the next dots may begin, until the model is written
    reg [4:0]       drain;
    reg [INDEX-1:0] d_row, u_row;   // of the sweep of dots, of the update
    reg [BEAT-1:0]  d_beat, u_beat;
    reg             u_active;
    reg             start_errors;
    wire            errors_done;
    wire d_active = state == DOTS;
    wire d_last   = d_row == BATCH - 1 && d_beat == BEATS - 1;
    wire u_last   = u_row == BATCH - 1 && u_beat == BEATS - 1;
    always @(posedge clk) begin
        idle         <= full == 0 && state == WAIT && busy == 0;
        start_errors <= 0;
        release_bank <= 0;
        updating     <= 0;
        if (hold != 0) hold <= hold - 1;
        if (busy != 0) busy <= busy - 1;
        case (state)
            WAIT: if (full[bank] && hold == 0 && !release_bank) begin
                state  <= DOTS;
                d_row  <= 0;
                d_beat <= 0;
            end
            DOTS: begin
                d_row <= d_row == BATCH - 1 ? 0 : d_row + 1;
                if (d_row == BATCH - 1) d_beat <= d_beat + 1;
                drain <= DOT_DRAIN;
                if (d_last) state <= DRAINING;
            end
            DRAINING: begin
                drain        <= drain - 1;
                start_errors <= drain == 0;
                if (drain == 0) state <= ERRORS;
            end
            ERRORS: if (errors_done) begin
                state    <= WAIT;
                updating <= 1;
                u_active <= 1;
                u_row    <= 0;
                u_beat   <= 0;
                hold     <= AFTER;
                busy     <= WRITTEN;
                if (STAGES == 3) release_bank <= 1;
            end
        endcase
        if (u_active) begin
            u_row <= u_row == BATCH - 1 ? 0 : u_row + 1;
            if (u_row == BATCH - 1) u_beat <= u_beat + 1;
            if (u_last) u_active <= 0;
            if (u_last && STAGES == 2) release_bank <= 1;
        end
        if (release_bank) bank <= !bank;
        if (reset) begin
            state    <= WAIT;
            bank     <= 0;
            u_active <= 0;
            hold     <= 0;
            busy     <= 0;
        end
    end

    // ---- the sweeps' tags: issue, memory, register, product, then dot or update ----
    reg [1:8]       u_is;
    reg [1:3]       d_is, d_first;
    reg             u_first1, u_first2, u_first3;
    reg             u_end1, u_end2, u_end3, u_end4, u_end5, u_end6, u_end7; // a batch's last
    reg [INDEX-1:0] d_row1, d_row2, d_row3;
    reg [BEAT-1:0]  d_beat1, d_beat2, u_beat1, u_beat2, u_beat3, u_beat4, u_beat5, u_beat6, u_beat7;
    always @(posedge clk) begin
        u_is    <= {u_active, u_is[1:7]};
        d_is    <= {d_active, d_is[1:2]};
        d_first <= {d_beat == 0, d_first[1:2]};
        {d_row1, d_row2, d_row3}     <= {d_row, d_row1, d_row2};
        {d_beat1, d_beat2}           <= {d_beat, d_beat1};
        {u_first1, u_first2, u_first3} <= {u_row == 0, u_first1, u_first2};
        {u_end1, u_end2, u_end3, u_end4, u_end5, u_end6, u_end7} <=
            {u_active && u_row == BATCH - 1, u_end1, u_end2, u_end3, u_end4, u_end5, u_end6};
        {u_beat1, u_beat2, u_beat3, u_beat4, u_beat5, u_beat6, u_beat7} <=
            {u_beat, u_beat1, u_beat2, u_beat3, u_beat4, u_beat5, u_beat6};
    end

    // ---- gradients ----
    reg  signed [G-1:0]  gradient [0:(1<<INDEX)-1];
    wire                 g_valid;
    wire [INDEX-1:0]     g_row, at;
    wire signed [G-1:0]  g;
    wire [5:0]           exponent;
    wire signed [SUM-1:0] sum;
    wire [63:0]          error_bits;
    wire                 draw;
    reg  [5:0]           shift;
    reg  signed [G-1:0]  g1, g2;
    always @(posedge clk) begin
        if (g_valid) gradient[g_row] <= g;
        if (errors_done) shift <= STEP + LEFT - exponent;
        g1 <= gradient[u_row];
        g2 <= g1;
    end
    errors #(.SUM(SUM), .D(D), .G(G), .BATCH(BATCH), .INDEX(INDEX), .BLOCK(BLOCK), .GSHIFT(GSHIFT))
        of_batch (.clk(clk), .reset(reset), .start(start_errors), .done(errors_done), .at(at),
                  .sum(sum), .target(target[{bank, at}]), .word(error_bits[15:0]), .draw(draw),
                  .g_valid(g_valid), .g_example(g_row), .g(g), .exponent(exponent));

    // ---- memories: data, their copy for the third stage, the model ----
    wire [LANES*D-1:0] x_dot, x_update;
    wire [LANES*D-1:0] x_in = {PER_BEAT{in_data}};
    localparam ADDRESS = ROWS + BEAT; // of a beat in a bank
    function [ADDRESS-1:0] place(input [INDEX-1:0] row, input [BEAT-1:0] beat);
        place = BATCH == 1 ? beat : {row, beat};
    endfunction
    wire sweep_of_update = STAGES == 2 && u_active;
    wire [ADDRESS:0] load_to   = {bank_in, place(row_in, beat_in)};
    wire [ADDRESS:0] load_from =
        {bank, sweep_of_update ? place(u_row, u_beat) : place(d_row, d_beat)};
    reg  [LANES*D-1:0] x_copied; // of the dots, two cycles after the issue
    generate
        for (l = 0; l < PER_BEAT; l = l + 1) begin : half
            memory #(.WIDTH(LOAD*D), .ADDRESS(ADDRESS+1)) data (
                .clk(clk), .write(taken && part_in == l), .to(load_to),
                .value(x_in[l*LOAD*D +: LOAD*D]), .from(load_from),
                .read(x_dot[l*LOAD*D +: LOAD*D]));
        end
        if (STAGES == 3) begin : third
            memory #(.WIDTH(LANES*D), .ADDRESS(ADDRESS)) copy (
                .clk(clk), .write(d_is[2]), .to(place(d_row2, d_beat2)), .value(x_copied),
                .from(place(u_row, u_beat)), .read(x_update));
        end else begin : second
            assign x_update = x_dot;
        end
    endgenerate
    always @(posedge clk) x_copied <= x_dot;

    // Read for dots, for the update two cycles before it adds, and written.
    wire [LANES*M-1:0] w_dot, w_update, w_changed;
    wire [BEAT-1:0] w_from = idle ? host_beat : STAGES == 2 && u_is[4] ? u_beat4 : d_beat;
    wire [BEAT-1:0] w_to   = idle ? host_beat : u_beat7;
    wire [LANES*M-1:0] w_value;
    reg  [LANES*M-1:0] w_registered;
    wire w_write = idle ? host_write : u_end7;
    generate
        for (l = 0; l < LANES; l = l + 1) begin : words
            assign w_value[l*M +: M] = !idle ? w_changed[l*M +: M] :
                                       host_lane == l ? host_word : w_registered[l*M +: M];
        end
        if (STAGES == 3) begin : words_of_third
            memory #(.WIDTH(LANES*M), .ADDRESS(BEAT)) of_update (
                .clk(clk), .write(w_write), .to(w_to), .value(w_value), .from(u_beat4),
                .read(w_update));
        end else begin : words_of_second
            assign w_update = w_dot;
        end
    endgenerate
    memory #(.WIDTH(LANES*M), .ADDRESS(BEAT)) of_dots (
        .clk(clk), .write(w_write), .to(w_to), .value(w_value), .from(w_from), .read(w_dot));
    always @(posedge clk) begin
        w_registered <= w_dot;
        host_read    <= w_registered[host_lane*M +: M];
    end

    // ---- lanes ----
    wire [64*(GENERATORS+1)-1:0] bits;
    wire [LANES*PRODUCT-1:0] products;
    generate
        for (l = 0; l < LANES; l = l + 1) begin : lane
            reg signed [D-1:0]       x2, x2u;
            reg signed [M-1:0]       w6;
            wire signed [M-1:0]      w2 = w_registered[l*M +: M];
            reg signed [PRODUCT-1:0] product, product_u;
            wire signed [M-1:0]      changed;
            always @(posedge clk) begin
                x2 <= x_dot[l*D +: D];
                w6 <= w_update[l*M +: M];
            end
            if (STAGES == 3) begin : third
                always @(posedge clk) begin
                    x2u       <= x_update[l*D +: D];
                    product   <= x2 * w2;
                    product_u <= x2u * g2;
                end
            end else begin : second
                localparam WIDER = M > G ? M : G;
                wire signed [WIDER-1:0] factor = u_is[2] ? g2 : w2;
                always @(posedge clk) product <= x2 * factor;
                always @* product_u = product;
            end
            assign products[l*PRODUCT +: PRODUCT] = product;
            update #(.WIDTH(PRODUCT), .SUM(BATCH_SUM), .M(M), .LOWEST(LOWEST), .BATCH(BATCH),
                     .FIXED(!BLOCK), .LEFT(LEFT), .SHIFT(STEP - GSHIFT)) add (
                .clk(clk), .first(u_first3), .product(product_u), .shift(shift),
                .random(bits[16*(l % (GENERATORS == 0 ? 1 : 4*GENERATORS)) +: 16]), .word(w6),
                .changed(changed));
            assign w_changed[l*M +: M] = changed;
        end
    endgenerate
    dot #(.LANES(LANES), .LEVELS(LEVELS), .WIDTH(PRODUCT), .SUM(SUM), .BATCH(BATCH), .INDEX(INDEX))
        dots (.clk(clk), .valid(d_is[3]), .first(d_first[3]), .example(d_row3), .product(products),
              .at(at), .sum(sum));

    // ---- random bits: those of a word change when it is written, or once for an update ----
    generate
        if (GENERATORS == 0) begin : nearest
            assign bits       = {4{16'h8000}};
            assign error_bits = {4{16'h8000}};
        end else begin : unbiased
            wire next = FRESH ? u_end5 : u_is[8] && !u_is[7];
            for (l = 0; l < GENERATORS; l = l + 1) begin : group
                xorshift #(.SEED(SEEDS[64*l +: 64])) of_lanes (
                    .clk(clk), .reset(reset), .step(next), .state(bits[64*l +: 64]));
            end
            xorshift #(.SEED(SEEDS[64*GENERATORS +: 64])) of_errors (
                .clk(clk), .reset(reset), .step(draw), .state(error_bits));
            assign bits[64*GENERATORS +: 64] = error_bits;
        end
    endgenerate
endmodule
