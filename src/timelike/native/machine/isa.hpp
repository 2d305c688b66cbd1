// Every family of kernels is compiled once per instruction set and leaves one table of functions in the namespace of each.
// Macros only: the kernels themselves include this, and they may not include what defines functions (CMakeLists.txt).
#pragma once

#define TIMELIKE_DECLARE_TABLES(Type, name)           \
    namespace v2 { extern const Type name; }          \
    namespace v3 { extern const Type name; }          \
    namespace v4 { extern const Type name; }          \
    namespace generic { extern const Type name; }

// Those that are built in, the best first: in the order of `built` in dispatch.cpp.
#if defined(TIMELIKE_HAS_v2)
#define TIMELIKE_TABLES(name) {&v4::name, &v3::name, &v2::name}
#else
#define TIMELIKE_TABLES(name) {&generic::name}
#endif
