// The compiled module: what every family of kernels defines in it, and which instruction sets there are.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "machine/dispatch.hpp"
#include "machine/scratch_buffer.hpp"

namespace nb = nanobind;

namespace timelike {
void define_causal(nb::module_& module);
void define_convolve(nb::module_& module);
void define_coupled_gradients(nb::module_& module);
void define_coupled_listed(nb::module_& module);
void define_coupled_matrix(nb::module_& module);
void define_elastic(nb::module_& module);
void define_recurrent(nb::module_& module);
void define_rocket(nb::module_& module);
void define_similarity(nb::module_& module);
void define_soft(nb::module_& module);
void define_stream(nb::module_& module);
void define_tangent(nb::module_& module);
void define_transport(nb::module_& module);
void define_warp(nb::module_& module);
}  // namespace timelike

NB_MODULE(_kernels, module) {
    using namespace timelike;
    module.doc() = "Compiled kernels of timelike; use them through timelike.native.";
    define_elastic(module);
    define_soft(module);
    define_warp(module);
    define_transport(module);
    define_coupled_matrix(module);
    define_coupled_listed(module);
    define_coupled_gradients(module);
    define_convolve(module);
    define_causal(module);
    define_recurrent(module);
    define_rocket(module);
    define_similarity(module);
    define_stream(module);
    define_tangent(module);
    module.def(
        "room", [](size_t count) { return (new ScratchBuffer(count * sizeof(float)))->array<float>(count); },
        "So many float32, not cleared, where what was given back before is used again.");
    module.def("isa", [] { return std::string(name_of({})); }, "The instruction set in use.");
    module.def("isas", &runnable, "Instruction sets that are built in and that this processor runs.");
}
