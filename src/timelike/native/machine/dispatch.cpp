// Chooses the instruction set this processor can run, once.
#include "machine/dispatch.hpp"

#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace timelike {
namespace {

// the best first, as in TIMELIKE_TABLES
#if defined(TIMELIKE_HAS_v2)
constexpr const char* built[] = {"v4", "v3", "v2"};
#else
constexpr const char* built[] = {"generic"};
#endif
constexpr std::size_t count = sizeof built / sizeof built[0];

bool runs(const char* name) {
#if defined(TIMELIKE_HAS_v2)
    // the levels of the x86-64 ABI by their parts: older compilers do not know the levels' own names
    __builtin_cpu_init();
    auto can_v2 = [] { return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt"); };
    auto can_v3 = [&] {
        return can_v2() && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
               __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    };
    auto can_v4 = [&] {
        return can_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512vl");
    };
    if (!std::strcmp(name, "v2")) return can_v2();
    if (!std::strcmp(name, "v3")) return can_v3();
    return can_v4();
#else
    return !std::strcmp(name, "generic");
#endif
}

// `count` where there is none of this name
std::size_t place_named(const char* name) {
    for (std::size_t k = 0; k < count; k++)
        if (!std::strcmp(built[k], name) && runs(name)) return k;
    return count;
}

std::size_t best() {
    // once: a process must not change its numbers half way, and Python checks the wish before the first call
    static const std::size_t place = [] {
        const char* wish = std::getenv("TIMELIKE_ISA");
        if (const std::size_t wished = wish ? place_named(wish) : count; wished < count) return wished;
        for (std::size_t k = 0; k < count; k++)
            if (runs(built[k])) return k;
        return count - 1;
    }();
    return place;
}

}  // namespace

std::size_t place_of(const Isa& isa) {
    const std::size_t place = isa ? place_named(isa->c_str()) : best();
    if (place == count) throw std::invalid_argument("isa='" + *isa + "' is not built in or this processor cannot run it");
    return place;
}

const char* name_of(const Isa& isa) { return built[place_of(isa)]; }

bool has_bfloat16() {
#if defined(TIMELIKE_HAS_bfloat16)
    return runs("v4") && __builtin_cpu_supports("avx512bf16");
#else
    return false;
#endif
}

std::vector<std::string> runnable() {
    std::vector<std::string> names;
    for (std::size_t k = count; k-- > 0;)
        if (runs(built[k])) names.emplace_back(built[k]);
    return names;
}

}  // namespace timelike
