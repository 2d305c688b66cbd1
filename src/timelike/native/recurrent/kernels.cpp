// Chunks of steps of recurrent/table.hpp through one layer and back, compiled once per instruction set.
#include "recurrent/cells.hpp"

namespace timelike {
namespace TIMELIKE_ISA {
namespace {

// Sizes of one layer in a chunk, and where a unit lies as a column of states.
template <class Cell>
struct Shape {
    static constexpr int G = Cell::gates;
    int64_t units, states, inputs;  // panels
    int64_t input_registers, panel; // numbers from one panel of rows to the next

    Shape(const RecurrentCell& cell, const RecurrentChunk& chunk)
        : units((cell.hidden + W - 1) / W), states((units + G - 1) / G), input_registers((cell.inputs + W - 1) / W),
          panel(chunk.rows * width<G>) {
        inputs = (input_registers + G - 1) / G;
    }
    static int64_t registers(int64_t all, int64_t panel) { return smaller(G, all - panel * G); }
    static int64_t column(int64_t unit_panel, int64_t stride) { return unit_panel / G * stride + unit_panel % G * W; }
};

inline void copy(const float* from, float* into, int64_t count) {
    for (int64_t k = 0; k < count; k++) into[k] = from[k];
}

// The sums that go into the gates of one panel of units; of a GRU's n what comes from states goes to `extra`.
template <class Cell>
void gate_sums(const RecurrentCell& cell, const Shape<Cell>& shape, const RecurrentSheet& sheet, int64_t unit, int64_t offset, int64_t n,
               float* gates, float* extra, float* scratch) {
    constexpr int G = Cell::gates;
    constexpr int64_t wide = width<G>, last = (G - 1) * W;
    for (int64_t row = 0; row < n; row++) copy(cell.bias + unit * wide, gates + row * wide, wide);
    multiply<G>(G, n, sheet.inputs + offset * wide, shape.panel, cell.inputs, cell.input + unit * cell.inputs * wide, gates);
    for (int64_t row = 0; !Cell::carries && row < n; row++) {
        copy(gates + row * wide + last, scratch + row * W, W);
        copy(cell.fresh + unit * W, gates + row * wide + last, W);
    }
    multiply<G>(G, n, sheet.states + offset * wide, shape.panel, cell.hidden, cell.state + unit * cell.hidden * wide, gates);
    for (int64_t row = 0; !Cell::carries && row < n; row++) {
        copy(gates + row * wide + last, extra + row * W, W);
        copy(scratch + row * W, gates + row * wide + last, W);
    }
}

// Where the states after a step go: to the next step of those that have one here, else to what is carried on.
template <class Cell>
struct Onward {
    float *h, *c, *carried_h, *carried_c, *above;
    int64_t count;

    void put(int64_t row, V state, V c_after) const {
        constexpr int64_t wide = width<Cell::gates>;
        store((row < count ? h : carried_h) + row * wide, state);
        if constexpr (Cell::carries) store((row < count ? c : carried_c) + row * W, c_after);
        if (above) store(above + row * wide, state);
    }
};

template <class Cell>
void forward(const RecurrentCell& cell, const RecurrentChunk& chunk, const RecurrentSheet& sheet, const RecurrentState& state,
             float* above, float* scratch, const volatile bool* stop) {
    constexpr int64_t wide = width<Cell::gates>;
    const Shape<Cell> shape(cell, chunk);
    const int64_t many = chunk.sequences;
    for (int64_t p = 0; p < shape.states; p++)
        copy(state.h + p * many * wide, sheet.states + p * shape.panel, chunk.counts[0] * wide);
    for (int64_t p = 0; Cell::carries && p < shape.units; p++)
        copy(state.c + p * many * W, sheet.extra + p * chunk.rows * W, chunk.counts[0] * W);
    int64_t offset = 0;
    for (int64_t t = 0; t < chunk.steps && !*stop; t++) {
        const int64_t n = chunk.counts[t], next = offset + n;
        for (int64_t unit = 0; unit < shape.units; unit++) {
            float* const gates = sheet.gates + unit * shape.panel + offset * wide;
            float* const extra = sheet.extra + (unit * chunk.rows + offset) * W;
            gate_sums<Cell>(cell, shape, sheet, unit, offset, n, gates, extra, scratch);
            const int64_t column = shape.column(unit, shape.panel);
            const Onward<Cell> onward{sheet.states + column + next * wide, extra + n * W,
                                      state.h + shape.column(unit, many * wide), state.c + unit * many * W,
                                      above ? above + column + offset * wide : nullptr,
                                      t + 1 < chunk.steps ? chunk.counts[t + 1] : 0};
            for (int64_t row = 0; row < n; row++) {
                V c{};
                if constexpr (Cell::carries) c = load(extra + row * W);
                const V before = load(sheet.states + column + (offset + row) * wide);
                const V after = Cell::forward(gates + row * wide, before, c, extra + row * W);
                onward.put(row, after, c);
            }
        }
        offset = next;
    }
}

// One step back through the gates of one panel of units.
template <class Cell>
void gates_back(const Shape<Cell>& shape, const RecurrentChunk& chunk, const RecurrentSheet& sheet, const RecurrentState& state,
                const RecurrentGradients& by, int64_t unit, int64_t offset, int64_t n) {
    constexpr int64_t wide = width<Cell::gates>;
    const int64_t from = unit * shape.panel + offset * wide, column = shape.column(unit, shape.panel) + offset * wide;
    float* const h = state.h + shape.column(unit, chunk.sequences * wide);
    float* const c = Cell::carries ? state.c + unit * chunk.sequences * W : nullptr;
    const float* const extra = sheet.extra + (unit * chunk.rows + offset) * W;
    for (int64_t row = 0; row < n; row++) {
        V by_h = load(h + row * wide), by_c{};
        if (by.above) by_h += load(by.above + column + row * wide);
        if constexpr (Cell::carries) by_c = load(c + row * W);
        const int64_t at = from + row * wide;
        const V straight = Cell::backward(sheet.gates + at, load(sheet.states + column + row * wide), load(extra + row * W), by_h, by_c,
                                          by.gates + at, by.reset + at);
        store(h + row * wide, straight);
        if constexpr (Cell::carries) store(c + row * W, by_c);
    }
}

template <int Gates>
void add_rows(const float* from, int64_t rows, float* into) {
    V sums[Gates];
    for (int g = 0; g < Gates; g++) sums[g] = load(into + g * W);
    for (int64_t row = 0; row < rows; row++, from += width<Gates>)
        for (int g = 0; g < Gates; g++) sums[g] += load(from + g * W);
    for (int g = 0; g < Gates; g++) store(into + g * W, sums[g]);
}

// All steps of the chunk at once: the gradients of weights, and by what was read.
template <class Cell>
void chunk_back(const RecurrentCell& cell, const Shape<Cell>& shape, const RecurrentChunk& chunk, const RecurrentSheet& sheet,
                const RecurrentGradients& by, const float* by_sums, const volatile bool* stop) {
    constexpr int G = Cell::gates;
    constexpr int64_t wide = width<G>, block = wide * wide;
    for (int64_t unit = 0; unit < shape.units && !*stop; unit++) {
        const int64_t from = unit * shape.panel;
        for (int64_t p = 0; p < shape.inputs; p++)
            add_outer<G>(shape.registers(shape.input_registers, p), chunk.rows, by.gates + from, sheet.inputs + p * shape.panel,
                         by.input + (unit * shape.inputs + p) * block);
        for (int64_t p = 0; p < shape.states; p++)
            add_outer<G>(shape.registers(shape.units, p), chunk.rows, by_sums + from, sheet.states + p * shape.panel,
                         by.state + (unit * shape.states + p) * block);
        add_rows<G>(by.gates + from, chunk.rows, by.bias + unit * wide);
        if constexpr (!Cell::carries) add_rows<G>(by.reset + from, chunk.rows, by.fresh + unit * wide);
    }
    for (int64_t p = 0; by.below && p < shape.inputs && !*stop; p++) {
        float* const into = by.below + p * shape.panel;
        for (int64_t k = 0; k < shape.panel; k++) into[k] = 0;
        multiply<G>(shape.registers(shape.input_registers, p), chunk.rows, by.gates, shape.panel, shape.units * wide,
                    cell.input_back + p * shape.units * block, into);
    }
}

template <class Cell>
void backward(const RecurrentCell& cell, const RecurrentChunk& chunk, const RecurrentSheet& sheet, const RecurrentState& state,
              const RecurrentGradients& by, const volatile bool* stop) {
    constexpr int G = Cell::gates;
    constexpr int64_t wide = width<G>;
    const Shape<Cell> shape(cell, chunk);
    const float* const by_sums = Cell::carries ? by.gates : by.reset;  // of what states are multiplied into
    int64_t offset = chunk.rows;
    for (int64_t t = chunk.steps - 1; t >= 0 && !*stop; t--) {
        const int64_t n = chunk.counts[t];
        offset -= n;
        for (int64_t unit = 0; unit < shape.units; unit++) gates_back<Cell>(shape, chunk, sheet, state, by, unit, offset, n);
        if (chunk.first && t == 0) break;  // nobody asks for the gradient by the zeros before the first step
        for (int64_t p = 0; p < shape.states; p++)
            multiply<G>(shape.registers(shape.units, p), n, by_sums + offset * wide, shape.panel, shape.units * wide,
                        cell.state_back + p * shape.units * wide * wide, state.h + p * chunk.sequences * wide);
    }
    if (!*stop) chunk_back<Cell>(cell, shape, chunk, sheet, by, by_sums, stop);
}

template <class Cell> constexpr RecurrentKernels kernels = {W, Cell::gates, forward<Cell>, backward<Cell>};

}  // namespace

extern const RecurrentTable recurrent_table;
const RecurrentTable recurrent_table = {kernels<Lstm>, kernels<Gru>};

}  // namespace TIMELIKE_ISA
}  // namespace timelike
