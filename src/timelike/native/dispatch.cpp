// Chooses the kernels this processor can run, once.
#include <cstdlib>
#include <cstring>

#include "table.hpp"

namespace timelike {

namespace {

bool runs(const char* name) {
#if defined(TIMELIKE_HAS_v2)
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

const Table* const built[] = {
#if defined(TIMELIKE_HAS_v2)
    &v4::table, &v3::table, &v2::table,
#else
    &generic::table,
#endif
};

}  // namespace

const Table* named(const char* name) {
    for (const Table* table : built)
        if (!std::strcmp(table->name, name) && runs(name)) return table;
    return nullptr;
}

const Table& chosen() {
    static const Table* const best = [] {
        const char* wish = std::getenv("TIMELIKE_ISA");
        if (const Table* table = wish ? named(wish) : nullptr) return table;
        for (const Table* table : built)
            if (runs(table->name)) return table;
        return static_cast<const Table*>(nullptr);
    }();
    return *best;
}

}  // namespace timelike
