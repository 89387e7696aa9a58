// Runs one design (sgd.v under a generated top.v, by Verilator) on data from a file, and writes down
// the model that it ends with and the cycles that it took.
//
//   bench INPUT OUTPUT COMMAND PAUSE
//
// INPUT, 32-bit words: lanes, beats (of the model), parts of a beat, batch, rows; the model, beat by
// beat; for each row a target in two words, low first, then its parts, each in whole words.
// OUTPUT: the model, 32-bit words.  COMMAND: cycles before the first beat of each request, a batch;
// PAUSE: cycles between two beats.  Prints cycles from the first request to the last write, the
// updates, and the cycles between the first and the last update's begin.
#include "Vtop.h"
#include "verilated.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

Vtop *top;
uint64_t cycle, first_update, last_update, n_updates;

void tick()
{
    top->clk = 1;
    top->eval();
    top->clk = 0;
    top->eval();
    cycle++;
    if (!top->updating) return;
    if (n_updates++ == 0) first_update = cycle;
    last_update = cycle;
}

// A port of any width: a number of up to 64 bits, or an array of words.
template <typename Port> void set(Port &port, const uint32_t *words, unsigned n)
{
    port = Port(words[0] | (n > 1 ? uint64_t(words[1]) << 32 : 0));
}
template <std::size_t N> void set(VlWide<N> &port, const uint32_t *words, unsigned)
{
    for (std::size_t i = 0; i < N; i++) port[i] = words[i];
}

std::vector<uint32_t> read_file(const char *path)
{
    std::FILE *f = std::fopen(path, "rb");
    std::vector<uint32_t> words;
    uint32_t word;
    if (f == nullptr) std::exit(2);
    while (std::fread(&word, sizeof word, 1, f) == 1) words.push_back(word);
    std::fclose(f);
    return words;
}

struct shape {
    uint32_t lanes, beats, parts, batch, rows, words_of_part;
};

void wait(unsigned n)
{
    while (n-- > 0) tick();
}

void write_model(const shape &s, const uint32_t *&from)
{
    for (uint32_t i = 0; i < s.lanes * s.beats; i++) {
        top->host_beat = i / s.lanes;
        top->host_lane = i % s.lanes;
        set(top->host_word, from++, 1);
        wait(2);
        top->host_write = 1;
        tick();
        top->host_write = 0;
    }
}

void read_model(const shape &s, const char *path)
{
    std::FILE *f = std::fopen(path, "wb");
    if (f == nullptr) std::exit(2);
    for (uint32_t i = 0; i < s.lanes * s.beats; i++) {
        top->host_beat = i / s.lanes;
        top->host_lane = i % s.lanes;
        wait(3);
        uint32_t word = uint32_t(top->host_read);
        std::fwrite(&word, sizeof word, 1, f);
    }
    std::fclose(f);
}

void stream(const shape &s, const uint32_t *from, unsigned command, unsigned pause)
{
    for (uint32_t row = 0; row < s.rows; row++) {
        if (row % s.batch == 0) wait(command);
        set(top->in_target, from, 2);
        from += 2;
        for (uint32_t i = 0; i < s.beats * s.parts; i++) {
            set(top->in_data, from, s.words_of_part);
            from += s.words_of_part;
            top->in_valid = 1;
            top->eval();
            while (!top->in_ready) tick();
            tick();
            top->in_valid = 0;
            wait(pause);
        }
    }
}

} // namespace

int main(int argc, char **argv)
{
    if (argc != 5) return 2;
    std::vector<uint32_t> input = read_file(argv[1]);
    const uint32_t *from = input.data();
    shape s = {from[0], from[1], from[2], from[3], from[4], 0};
    from += 5;
    std::size_t n_left = input.size() - 5 - s.lanes * s.beats;
    s.words_of_part = uint32_t((n_left / s.rows - 2) / (s.beats * s.parts));

    VerilatedContext context;
    top = new Vtop{&context};
    top->reset = 1;
    top->in_valid = 0;
    top->host_write = 0;
    wait(4);
    top->reset = 0;
    write_model(s, from);
    cycle = 0;
    stream(s, from, unsigned(std::atoi(argv[3])), unsigned(std::atoi(argv[4])));
    const uint64_t limit = cycle + 1000000; // a design that hangs
    while (!top->idle && cycle < limit) tick();
    uint64_t total = cycle;
    read_model(s, argv[2]);
    std::printf("%llu %llu %llu\n", (unsigned long long)total, (unsigned long long)n_updates,
                (unsigned long long)(last_update - first_update));
    int rc = cycle >= limit ? 1 : 0;
    top->final();
    delete top;
    return rc;
}
