// Simple dual-port memory with one cycle of latency.  A beat that is being written reads as anything:
// no design uses it, and a block RAM need then not be helped.
module memory #(parameter WIDTH = 8, parameter ADDRESS = 4) (
    input                  clk,
    input                  write,
    input  [ADDRESS-1:0]   to,
    input  [WIDTH-1:0]     value,
    input  [ADDRESS-1:0]   from,
    output reg [WIDTH-1:0] read
);
    (* ram_style = "block" *) reg [WIDTH-1:0] content [0:(1<<ADDRESS)-1];
    always @(posedge clk) begin
        if (write) content[to] <= value;
        read <= write && to == from ? {WIDTH{1'bx}} : content[from];
    end
endmodule
