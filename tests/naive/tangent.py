"""Tangent and conjugate kernels of wide networks in mpmath, one pair at a time, straight from their definitions.

A network in the NTK parameterisation: every layer is z ↦ w W z / √n + b β with standard normal W and β, the last one
without β. Its outputs at x and y are Gaussian with covariance Σ (the conjugate kernel), and Θ (the tangent kernel) is
the sum over its parameters of the products of derivatives. From layer to layer, with (u, v) Gaussian of the
covariances of the layer,

    Σ ← w² E[φ(u) φ(v)] + b²        Θ ← Σ + w² E[φ′(u) φ′(v)] Θ,        and Σ = Θ = w² ⟨x, y⟩ / d + b² at first.

The expectations: arc-cosine kernels (Cho and Saul, 2009), erf (Williams, 1998), sine from its exponentials; for any
other activation by integration. They may cancel as much as they like: there are digits enough.
"""

from mpmath import mp, mpf

DIGITS = 80
STEP = mpf("1e-25")  # of central differences: its square is far below what any test asks for


def relu(a, b, c):
    """E[φ(u) φ(v)] and E[φ′(u) φ′(v)] for u, v of variances a and b and covariance c (Cho and Saul, orders 1 and 0)."""
    norms = mp.sqrt(a * b)
    if norms == 0:
        return mpf(0), mpf(1) / 4  # the derivative is 1 with probability ½; of no consequence, as Θ is 0 there
    cosine = max(mpf(-1), min(mpf(1), c / norms))
    angle = mp.acos(cosine)
    value = norms * (mp.sqrt(1 - cosine**2) + (mp.pi - angle) * cosine) / (2 * mp.pi)
    return value, (mp.pi - angle) / (2 * mp.pi)


def leaky_relu(slope):
    """s u + (1 − s) max(u, 0), multiplied out with E[u max(v, 0)] = c / 2."""

    def expectations(a, b, c):
        value, dot = relu(a, b, c)
        return slope * c + (1 - slope) ** 2 * value, slope + (1 - slope) ** 2 * dot

    return expectations


def absolute(a, b, c):
    """The leaky ReLU of slope −1."""
    return leaky_relu(mpf(-1))(a, b, c)


def sigmoid(a, b, c):
    """φ(u) = (1 + erf(u / 2.4020563531719796)) / 2 (thesis, D.146; Williams, 1998, for erf)."""
    k = 2 / mpf("2.4020563531719796") ** 2
    spread = (1 + k * a) * (1 + k * b)
    value = (1 + 2 / mp.pi * mp.asin(k * c / mp.sqrt(spread))) / 4
    return value, k / (2 * mp.pi) / mp.sqrt(spread - (k * c) ** 2)


def sine(a, b, c):
    """From E[cos(u ± v)] = exp(−(a + b ± 2c) / 2)."""
    near, far = mp.exp(-(a + b - 2 * c) / 2), mp.exp(-(a + b + 2 * c) / 2)
    return (near - far) / 2, (near + far) / 2


def gelu(a, b, c):
    """φ(u) = u Φ(u), by Stein's lemma E[u g(u, v)] = a E[∂g/∂u] + c E[∂g/∂v] twice, and tilted Gaussians for densities.

    E[φ′(u) φ′(v)] is the derivative of E[φ(u) φ(v)] by c (Price's theorem), here by a central difference.
    """

    def value(c):
        rest = (1 + a) * (1 + b) - c**2
        both = mpf(1) / 4 + mp.asin(c / mp.sqrt((1 + a) * (1 + b))) / (2 * mp.pi)  # E[Φ(u) Φ(v)]
        first = (b - c**2 / (1 + a)) / (2 * mp.pi * mp.sqrt(rest))  # E[Φ′(u) v Φ(v)]
        second = c / (1 + b) / (2 * mp.pi * mp.sqrt(rest))  # E[Φ(u) v Φ′(v)]
        return a * first + c * (both + second)

    return value(c), (value(c + STEP) - value(c - STEP)) / (2 * STEP)


def integrated(function, derivative, step="0.25", n_points=97, digits=30):
    """The expectations of any activation by the trapezoidal rule over two independent normal variables.

    For functions that are analytic near the real line its error falls like exp(−2π · their distance to a pole / step).
    """
    with mp.workdps(digits):
        points = [mpf(step) * i for i in range(-(n_points // 2), n_points // 2 + 1)]
        masses = [mpf(step) * mp.npdf(point) for point in points]

    def expectations(a, b, c):
        with mp.workdps(digits):
            first = mp.sqrt(a)
            along = c / first
            across = mp.sqrt(max(mpf(0), b - along**2))

            def mean(of):
                return mp.fsum(
                    p
                    * of(first * s)
                    * mp.fsum(q * of(along * s + across * t) for t, q in zip(points, masses, strict=True))
                    for s, p in zip(points, masses, strict=True)
                )

            return mean(function), mean(derivative)

    return expectations


def layers(x, y, expectations, depth, bias, weight):
    """The conjugate and the tangent kernel of the output of a network with `depth` hidden layers.

    Several expectations are branches: activations side by side, each followed by weights and biases of its own, whose
    results are added.
    """
    sides = expectations if isinstance(expectations, tuple) else (expectations,)
    w, shift = mpf(weight) ** 2, mpf(bias) ** 2

    def activated(a, b, c):
        found = [side(a, b, c) for side in sides]
        return sum(value for value, _ in found), sum(dot for _, dot in found)

    def first(p, q):
        return w * mp.fsum(s * t for s, t in zip(p, q, strict=True)) / len(p) + shift

    a, b, c = first(x, x), first(y, y), first(x, y)
    theta = c
    for layer in range(depth):
        added = len(sides) * shift if layer < depth - 1 else 0
        value, dot = activated(a, b, c)
        a, b = w * activated(a, a, a)[0] + added, w * activated(b, b, b)[0] + added
        c = w * value + added
        theta = c + w * dot * theta
    return c, theta


def exact(vector):
    """Numbers of double precision as they are, in mpmath."""
    return [mpf(float(value)) for value in vector]


def both(x, y, expectations, depth=3, bias=1.0, weight=1.0):
    """The conjugate kernel and the tangent kernel."""
    with mp.workdps(DIGITS):
        return layers(exact(x), exact(y), expectations, depth, bias, weight)


def conjugate(*given, **options):
    return both(*given, **options)[0]


def ntk(*given, **options):
    return both(*given, **options)[1]


def slopes(x, y, expectations, depth=3, bias=1.0, weight=1.0, coordinates=None):
    """Derivatives of both kernels by coordinates of x, (kernel, coordinate), by central differences.

    At a cusp, such as x = y, they are those of the smooth part: of the cusp, both sides are as high.
    """
    with mp.workdps(DIGITS):
        x, y = exact(x), exact(y)
        found = []
        for i in range(len(x)) if coordinates is None else coordinates:
            ends = [
                layers([*x[:i], x[i] + side * STEP, *x[i + 1 :]], y, expectations, depth, bias, weight)
                for side in (1, -1)
            ]
            found.append([(high - low) / (2 * STEP) for high, low in zip(*ends, strict=True)])
        return [[float(one[kind]) for one in found] for kind in range(2)]
