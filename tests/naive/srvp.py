"""The evidence lower bound of SRVP, frame by frame and number by number, of parts that are taken as they are."""

import math

import torch


def softplus_gaussian(numbers):
    half = len(numbers) // 2
    return [(float(numbers[i]), math.log1p(math.exp(float(numbers[half + i]))) + 1e-8) for i in range(half)]


def divergence(one, other):
    """KL of independent normals, by the formula for each number."""
    total = 0.0
    for (m, s), (n, r) in zip(one, other, strict=True):
        total += math.log(r / s) + (s * s + (m - n) ** 2) / (2 * r * r) - 0.5
    return total


def bound(network, x, chosen, noise_first, noise_random):
    """(likelihood, first, random, length) of one sequence (time, channel) of a network with a perceptron codec."""
    codes = [network.encoder(frame) for frame in x]
    k = network.conditioning
    first = softplus_gaussian(network.state_head(torch.cat(codes[:k])))
    y = torch.tensor([m + s * e for (m, s), e in zip(first, noise_first.tolist(), strict=True)], dtype=x.dtype)
    hidden = network.lstm(torch.stack(codes)[None])[0][0]
    w = None
    if network.content_layer is not None:
        total = sum(network.content_frame_layer(codes[i]) for i in chosen)
        w = network.content_layer(total)
    likelihood, random, length, scale = 0.0, 0.0, 0.0, float(network.observation_std)
    for t in range(len(x)):
        if t > 0:
            posterior = softplus_gaussian(network.random_head(hidden[t]))
            prior = softplus_gaussian(network.prior(y))
            random += divergence(posterior, prior)
            z = [m + s * e for (m, s), e in zip(posterior, noise_random[t - 1].tolist(), strict=True)]
            z = torch.tensor(z, dtype=x.dtype)
            for _ in range(network.substeps):
                update = network.dynamics(torch.cat([y, z])[None])[0] / network.substeps
                length += float(update.norm())
                y = y + update
        drawn = network.decoder((y if w is None else torch.cat([w, y]))[None])[0]
        for truth, mean in zip(x[t].tolist(), drawn.tolist(), strict=True):
            likelihood += -0.5 * ((truth - mean) / scale) ** 2 - math.log(scale) - 0.5 * math.log(2 * math.pi)
    standard = [(0.0, 1.0)] * len(first)
    return likelihood, divergence(first, standard), random, length


def log_evidence(x, transition, noise, emission, observed):
    """log p(x) of y_1 ~ N(0, I), y_{t+1} = A y_t + N(0, Q), x_t = C y_t + N(0, R): the joint normal distribution, whole.

    No filter: the covariance of all frames is written down and its density taken.
    """
    n, d = len(x), transition.shape[0]
    covariances = {}
    state = torch.eye(d, dtype=x.dtype)
    for t in range(n):
        if t:
            state = transition @ state @ transition.T + noise
        covariances[t, t] = state
        cross = state
        for s in range(t + 1, n):
            cross = cross @ transition.T
            covariances[t, s] = cross
    m = emission.shape[0]
    whole = torch.zeros(n * m, n * m, dtype=x.dtype)
    for t in range(n):
        for s in range(n):
            block = covariances[t, s] if s >= t else covariances[s, t].T
            whole[t * m : t * m + m, s * m : s * m + m] = emission @ block @ emission.T
    whole += torch.kron(torch.eye(n, dtype=x.dtype), observed)
    normal = torch.distributions.MultivariateNormal(torch.zeros(n * m, dtype=x.dtype), whole)
    return float(normal.log_prob(x.reshape(-1)))


def looked_at(network, frames):
    """Codes of frames (time, …), one by one, and what the stages of a codec with skips saw of the last one."""
    looked = [network.encoder(frame[None]) for frame in frames]
    if not network.takes_images:
        return [one[0] for one in looked], None
    return [one[0][0] for one in looked], looked[-1][1] if network.skips else []


def drawn_frame(network, w, y, skips):
    rows = torch.cat([w, y])[None]
    frame = network.decoder(rows) if skips is None else network.decoder(rows, skips)
    return torch.sigmoid(frame[0]) if network.use_sigmoid else frame[0]


def reconstruction(network, x, n_seen):
    """Frames of a whole sequence again: every state by the means of what is inferred, at the step of training."""
    codes, skips = looked_at(network, x)
    w = network.content_layer(sum(network.content_frame_layer(code) for code in codes[-n_seen:]))
    means = [m for m, _ in softplus_gaussian(network.state_head(torch.cat(codes[: network.conditioning])))]
    y = torch.tensor(means, dtype=x.dtype)
    heard = network.lstm(torch.stack(codes)[None])[0][0]
    found = [drawn_frame(network, w, y, skips)]
    for t in range(1, len(x)):
        z = torch.tensor([m for m, _ in softplus_gaussian(network.random_head(heard[t]))], dtype=x.dtype)
        for _ in range(network.substeps):
            y = y + network.dynamics(torch.cat([y, z])[None])[0] / network.substeps
        found.append(drawn_frame(network, w, y, skips))
    return torch.stack(found)


def future(network, past, n_seen, noise_first, noise_random, horizon, frames, parts, content_of=None):
    """Frames (horizon × frames, …) of one future of a past (time, …) of standardized frames, number by number.

    The past is moved at the step of training, `network.substeps` parts of each, with z from the posterior; what follows
    in `parts` of each step with z from the prior, a frame after every `parts / frames` of them. w is made of the last
    `n_seen` frames and the skips are those of the last one, of another past where `content_of` has one.
    """
    codes, skips = looked_at(network, past)
    whose = codes
    if content_of is not None:
        whose, skips = looked_at(network, content_of)

    def moved(y, gaussian, noise, count):
        z = torch.tensor([m + s * e for (m, s), e in zip(gaussian, noise.tolist(), strict=True)], dtype=past.dtype)
        states = []
        for _ in range(count):
            y = y + network.dynamics(torch.cat([y, z])[None])[0] / count
            states.append(y)
        return states

    first = softplus_gaussian(network.state_head(torch.cat(codes[: network.conditioning])))
    y = torch.tensor([m + s * e for (m, s), e in zip(first, noise_first.tolist(), strict=True)], dtype=past.dtype)
    heard = network.lstm(torch.stack(codes)[None])[0][0]
    w = network.content_layer(sum(network.content_frame_layer(code) for code in whose[-n_seen:]))
    for t in range(1, len(past)):
        y = moved(y, softplus_gaussian(network.random_head(heard[t])), noise_random[t - 1], network.substeps)[-1]
    found = []
    for step in range(horizon):
        states = moved(y, softplus_gaussian(network.prior(y)), noise_random[len(past) - 1 + step], parts)
        y = states[-1]
        found += [drawn_frame(network, w, state, skips) for state in states[parts // frames - 1 :: parts // frames]]
    return torch.stack(found)
