"""Kernels of networks of infinite width: tangent and conjugate, in closed form or by quadrature, and of finite ones."""
