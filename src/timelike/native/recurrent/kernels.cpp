// Chunks of steps of recurrent/table.hpp through one layer and back, compiled once per instruction set.
#include "recurrent/cells.hpp"

namespace timelike {
namespace TIMELIKE_ISA {
namespace {

// Sizes of one layer in a chunk, and where a unit lies as a column of states.
template <class T, class Cell>
struct Shape {
    static constexpr int G = Cell::gates;
    int64_t units, states, inputs;  // panels
    int64_t input_registers, panel; // numbers from one panel of rows to the next

    Shape(const RecurrentCell<T>& cell, const RecurrentChunk& chunk)
        : units(over(cell.hidden, lanes<T>)), states(over(units, G)), inputs(over(cell.inputs, width<T, G>)),
          input_registers(over(cell.inputs, lanes<T>)), panel(chunk.rows * width<T, G>) {}
    static int64_t over(int64_t count, int64_t size) { return (count + size - 1) / size; }
    static int64_t registers(int64_t all, int64_t panel) { return smaller(G, all - panel * G); }
    static int64_t column(int64_t unit_panel, int64_t stride) { return unit_panel / G * stride + unit_panel % G * lanes<T>; }
};

template <class T>
inline void copy(const T* from, T* into, int64_t count) {
    for (int64_t k = 0; k < count; k++) into[k] = from[k];
}

// The sums that go into the gates of one panel of units; of a GRU's n what comes from states goes to `extra`.
template <class T, class Cell>
void gate_sums(const RecurrentCell<T>& cell, const Shape<T, Cell>& shape, const RecurrentSheet<T>& sheet, int64_t unit, int64_t offset,
               int64_t n, bool first, T* gates, T* extra, T* scratch) {
    constexpr int G = Cell::gates;
    constexpr int64_t wide = width<T, G>, last = (G - 1) * lanes<T>;
    for (int64_t row = 0; row < n; row++) copy(cell.bias + unit * wide, gates + row * wide, wide);
    multiply<T, G>(G, n, sheet.inputs + offset * wide, shape.panel, cell.inputs, cell.input + unit * cell.inputs * wide, gates);
    for (int64_t row = 0; !Cell::carries && row < n; row++) {
        copy(gates + row * wide + last, scratch + row * lanes<T>, lanes<T>);
        copy(cell.fresh + unit * lanes<T>, gates + row * wide + last, lanes<T>);
    }
    if (!first)  // before the first step states are zeros
        multiply<T, G>(G, n, sheet.states + offset * wide, shape.panel, cell.hidden, cell.state + unit * cell.hidden * wide, gates);
    for (int64_t row = 0; !Cell::carries && row < n; row++) {
        copy(gates + row * wide + last, extra + row * lanes<T>, lanes<T>);
        copy(scratch + row * lanes<T>, gates + row * wide + last, lanes<T>);
    }
}

// Where the states after a step go: to the next step of those that have one here, else to what is carried on.
template <class T, class Cell>
struct NextStates {
    T *h, *c, *carried_h, *carried_c, *above;
    int64_t count;

    void put(int64_t row, vec<T> state, vec<T> c_after) const {
        constexpr int64_t wide = width<T, Cell::gates>;
        store((row < count ? h : carried_h) + row * wide, state);
        if constexpr (Cell::carries) store((row < count ? c : carried_c) + row * lanes<T>, c_after);
        if (above) store(above + row * wide, state);
    }
};

template <class T, class Cell>
void forward(const RecurrentCell<T>& cell, const RecurrentChunk& chunk, const RecurrentSheet<T>& sheet, const RecurrentState<T>& state,
             T* above, T* scratch, const volatile bool* stop) {
    constexpr int64_t wide = width<T, Cell::gates>;
    const Shape<T, Cell> shape(cell, chunk);
    const int64_t many = chunk.sequences;
    for (int64_t p = 0; p < shape.states; p++)
        copy(state.h + p * many * wide, sheet.states + p * shape.panel, chunk.counts[0] * wide);
    for (int64_t p = 0; Cell::carries && p < shape.units; p++)
        copy(state.c + p * many * lanes<T>, sheet.extra + p * chunk.rows * lanes<T>, chunk.counts[0] * lanes<T>);
    int64_t offset = 0;
    for (int64_t t = 0; t < chunk.steps && !*stop; t++) {
        const int64_t n = chunk.counts[t], next = offset + n;
        for (int64_t unit = 0; unit < shape.units; unit++) {
            T* const gates = sheet.gates + unit * shape.panel + offset * wide;
            T* const extra = sheet.extra + (unit * chunk.rows + offset) * lanes<T>;
            gate_sums<T, Cell>(cell, shape, sheet, unit, offset, n, chunk.first && t == 0, gates, extra, scratch);
            const int64_t column = shape.column(unit, shape.panel);
            const NextStates<T, Cell> onward{sheet.states + column + next * wide, extra + n * lanes<T>,
                                      state.h + shape.column(unit, many * wide), state.c + unit * many * lanes<T>,
                                      above ? above + column + offset * wide : nullptr,
                                      t + 1 < chunk.steps ? chunk.counts[t + 1] : 0};
            for (int64_t row = 0; row < n; row++) {
                vec<T> c{};
                if constexpr (Cell::carries) c = load(extra + row * lanes<T>);
                const vec<T> before = load(sheet.states + column + (offset + row) * wide);
                const vec<T> after = Cell::template forward<T>(gates + row * wide, before, c, extra + row * lanes<T>);
                onward.put(row, after, c);
            }
        }
        offset = next;
    }
}

// One step back through the gates of one panel of units.
template <class T, class Cell>
void gates_back(const Shape<T, Cell>& shape, const RecurrentChunk& chunk, const RecurrentSheet<T>& sheet, const RecurrentState<T>& state,
                const RecurrentGradients<T>& by, int64_t unit, int64_t offset, int64_t n) {
    constexpr int64_t wide = width<T, Cell::gates>;
    const int64_t from = unit * shape.panel + offset * wide, column = shape.column(unit, shape.panel) + offset * wide;
    T* const h = state.h + shape.column(unit, chunk.sequences * wide);
    T* const c = Cell::carries ? state.c + unit * chunk.sequences * lanes<T> : nullptr;
    const T* const extra = sheet.extra + (unit * chunk.rows + offset) * lanes<T>;
    for (int64_t row = 0; row < n; row++) {
        vec<T> by_h = load(h + row * wide), by_c{};
        if (by.above) by_h += load(by.above + column + row * wide);
        if constexpr (Cell::carries) by_c = load(c + row * lanes<T>);
        const int64_t at = from + row * wide;
        const vec<T> before = load(sheet.states + column + row * wide), inner = load(extra + row * lanes<T>);
        const vec<T> straight = Cell::template backward<T>(sheet.gates + at, before, inner, by_h, by_c, by.gates + at, by.reset + at);
        store(h + row * wide, straight);
        if constexpr (Cell::carries) store(c + row * lanes<T>, by_c);
    }
}

template <class T, int Gates>
void add_rows(const T* from, int64_t rows, T* into) {
    vec<T> sums[Gates];
    for (int g = 0; g < Gates; g++) sums[g] = load(into + g * lanes<T>);
    for (int64_t row = 0; row < rows; row++, from += width<T, Gates>)
        for (int g = 0; g < Gates; g++) sums[g] += load(from + g * lanes<T>);
    for (int g = 0; g < Gates; g++) store(into + g * lanes<T>, sums[g]);
}

// All steps of the chunk at once: the gradients of weights, and by what was read.
template <class T, class Cell>
void chunk_back(const RecurrentCell<T>& cell, const Shape<T, Cell>& shape, const RecurrentChunk& chunk, const RecurrentSheet<T>& sheet,
                const RecurrentGradients<T>& by, const T* by_sums, const volatile bool* stop) {
    constexpr int G = Cell::gates;
    constexpr int64_t wide = width<T, G>, block = wide * wide;
    const int64_t begin = chunk.first ? chunk.counts[0] : 0, later = begin * wide;  // from where on states are more than zeros
    for (int64_t unit = 0; unit < shape.units && !*stop; unit++) {
        const int64_t from = unit * shape.panel;
        for (int64_t p = 0; p < shape.inputs; p++)
            add_outer<T, G>(shape.registers(shape.input_registers, p), chunk.rows, by.gates + from, sheet.inputs + p * shape.panel,
                            by.input + (unit * shape.inputs + p) * block);
        for (int64_t p = 0; p < shape.states; p++)
            add_outer<T, G>(shape.registers(shape.units, p), chunk.rows - begin, by_sums + from + later,
                            sheet.states + p * shape.panel + later, by.state + (unit * shape.states + p) * block);
        add_rows<T, G>(by.gates + from, chunk.rows, by.bias + unit * wide);
        if constexpr (!Cell::carries) add_rows<T, G>(by.reset + from, chunk.rows, by.fresh + unit * wide);
    }
    for (int64_t p = 0; by.below && p < shape.inputs && !*stop; p++) {
        T* const into = by.below + p * shape.panel;
        for (int64_t k = 0; k < shape.panel; k++) into[k] = 0;
        multiply<T, G>(shape.registers(shape.input_registers, p), chunk.rows, by.gates, shape.panel, shape.units * wide,
                       cell.input_back + p * shape.units * block, into);
    }
}

template <class T, class Cell>
void backward(const RecurrentCell<T>& cell, const RecurrentChunk& chunk, const RecurrentSheet<T>& sheet, const RecurrentState<T>& state,
              const RecurrentGradients<T>& by, const volatile bool* stop) {
    constexpr int G = Cell::gates;
    constexpr int64_t wide = width<T, G>;
    const Shape<T, Cell> shape(cell, chunk);
    const T* const by_sums = Cell::carries ? by.gates : by.reset;  // of what states are multiplied into
    int64_t offset = chunk.rows;
    for (int64_t t = chunk.steps - 1; t >= 0 && !*stop; t--) {
        const int64_t n = chunk.counts[t];
        offset -= n;
        for (int64_t unit = 0; unit < shape.units; unit++) gates_back<T, Cell>(shape, chunk, sheet, state, by, unit, offset, n);
        if (chunk.first && t == 0) break;  // nobody asks for the gradient by the zeros before the first step
        for (int64_t p = 0; p < shape.states; p++)
            multiply<T, G>(shape.registers(shape.units, p), n, by_sums + offset * wide, shape.panel, shape.units * wide,
                           cell.state_back + p * shape.units * wide * wide, state.h + p * chunk.sequences * wide);
    }
    if (!*stop) chunk_back<T, Cell>(cell, shape, chunk, sheet, by, by_sums, stop);
}

template <class T, class Cell> constexpr RecurrentKernels<T> kernels = {lanes<T>, Cell::gates, forward<T, Cell>, backward<T, Cell>};

}  // namespace

extern const RecurrentTable recurrent_table;
const RecurrentTable recurrent_table = {kernels<float, Lstm>, kernels<float, Gru>, kernels<double, Lstm>, kernels<double, Gru>};

}  // namespace TIMELIKE_ISA
}  // namespace timelike
