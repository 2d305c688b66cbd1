// Which instruction set runs, and the table that a family of kernels has for it.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "machine/isa.hpp"

namespace timelike {

// The one that is meant; without one, TIMELIKE_ISA or the best this processor runs.
using Isa = std::optional<std::string>;

// Its place in TIMELIKE_TABLES; std::invalid_argument where it is not built in or cannot run here.
std::size_t place_of(const Isa& isa);
const char* name_of(const Isa& isa);

// Whether this processor has products in bfloat16, an addition to v4.
bool has_bfloat16();

// Names of those that are built in and that this processor runs, from the least to the best.
std::vector<std::string> runnable();

template <class Table, std::size_t N>
const Table& table_for(const Isa& isa, const Table* const (&built)[N]) { return *built[place_of(isa)]; }

}  // namespace timelike
