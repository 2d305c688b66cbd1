// How the host lays out the sequences of recurrent/table.hpp: blocks that are independent of each other, chunks of their
// steps, and what is kept of them. All of it depends on the sequences alone, not on threads, so that sums have one order.
#pragma once
#include <algorithm>
#include <numeric>
#include <vector>

#include "recurrent/table.hpp"

namespace timelike {
namespace {

constexpr int64_t block_rows = 32;   // sequences of a block, about: many for every reading of the weights, few for many threads
constexpr int64_t chunk_rows = 512;  // steps of a chunk: their sheets fit the caches

// Numbers of a network with `lanes` and `gates`; the panels of recurrent/table.hpp.
struct RecurrentSizes {
    int64_t inputs, hidden, layers, lanes, gates;

    int64_t wide() const { return lanes * gates; }
    int64_t units() const { return (hidden + lanes - 1) / lanes; }
    int64_t states() const { return panels(hidden); }
    int64_t panels(int64_t columns) const { return (columns + wide() - 1) / wide(); }
    int64_t reads(int64_t layer) const { return layer ? hidden : inputs; }
    // of a row of a sheet, and of what is carried for a sequence
    int64_t sheet(int64_t layer) const { return (panels(reads(layer)) + states() + units()) * wide() + units() * lanes; }
    int64_t sheets() const {
        int64_t sum = 0;
        for (int64_t l = 0; l < layers; l++) sum += sheet(l);
        return sum;
    }
    int64_t carried() const { return states() * wide() + units() * lanes; }

    template <class T>
    RecurrentSheet<T> sheet_at(T* base, int64_t layer, int64_t rows) const {
        for (int64_t l = 0; l < layer; l++) base += sheet(l) * rows;
        T* const states_at = base + panels(reads(layer)) * wide() * rows;
        T* const gates_at = states_at + states() * wide() * rows;
        return {base, states_at, gates_at, gates_at + units() * wide() * rows};
    }
    template <class T>
    RecurrentState<T> state_at(T* base, int64_t layer, int64_t sequences) const {
        base += layer * carried() * sequences;
        return {base, base + states() * wide() * sequences};
    }
};

struct ChunkPlan {
    int64_t begin, steps, rows, kept;  // kept: where what is kept of it begins
};

// Some sequences, the longest first.
struct BlockPlan {
    std::vector<int64_t> items, counts;  // counts: (step) how many run
    std::vector<ChunkPlan> chunks;

    int64_t sequences() const { return int64_t(items.size()); }
    RecurrentChunk chunk(const ChunkPlan& c) const { return {counts.data() + c.begin, c.steps, c.rows, sequences(), c.begin == 0}; }
};

// Everything is kept where it is not more than `budget` numbers, else the states between chunks.
struct Plan {
    std::vector<BlockPlan> blocks;
    int64_t kept = 0, rows = 0;
    bool whole = true;

    Plan(const RecurrentSizes& sizes, const int64_t* lengths, int64_t items, int64_t budget) {
        std::vector<int64_t> order(size_t(items), 0);
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return lengths[a] > lengths[b]; });
        // an even number, for two threads or more; each has long ones and short ones
        const int64_t many = std::min(items, (items + 2 * block_rows - 1) / (2 * block_rows) * 2);
        for (int64_t b = 0; b < many; b++) {
            BlockPlan block;
            for (int64_t k = b; k < items; k += many) block.items.push_back(order[size_t(k)]);
            count(block, lengths);
            blocks.push_back(std::move(block));
        }
        whole = rows * sizes.sheets() <= budget;
        for (BlockPlan& block : blocks)
            for (ChunkPlan& chunk : block.chunks) {
                chunk.kept = kept;
                kept += whole ? chunk.rows * sizes.sheets() : block.sequences() * sizes.layers * sizes.carried();
            }
    }
    int64_t most_sequences() const {
        int64_t most = 0;
        for (const BlockPlan& block : blocks) most = std::max(most, block.sequences());
        return most;
    }
    int64_t most_rows() const {
        int64_t most = 0;
        for (const BlockPlan& block : blocks)
            for (const ChunkPlan& chunk : block.chunks) most = std::max(most, chunk.rows);
        return most;
    }

  private:
    void count(BlockPlan& block, const int64_t* lengths) {
        for (int64_t running = block.sequences(), t = 0; running > 0; t++) {
            while (running > 0 && lengths[block.items[size_t(running - 1)]] <= t) running--;
            if (running > 0) block.counts.push_back(running);
        }
        const int64_t last = int64_t(block.counts.size());
        for (int64_t begin = 0, t = 0; begin < last; begin = t) {
            int64_t some = 0;
            while (t < last && (t == begin || some + block.counts[size_t(t)] <= chunk_rows)) some += block.counts[size_t(t++)];
            block.chunks.push_back({begin, t - begin, some, 0});
            rows += some;
        }
    }
};

}  // namespace
}  // namespace timelike
