"""What is experimental in SRVP, number by number: walks with delays, contents that drift, and exact evidence."""

import math

import torch

from .srvp import divergence, softplus_gaussian


def drawn(gaussian, noise, like):
    return torch.tensor([m + s * e for (m, s), e in zip(gaussian, noise.tolist(), strict=True)], dtype=like.dtype)


def log_normal(truth, mean, scale):
    return -0.5 * ((truth - mean) / scale) ** 2 - math.log(scale) - 0.5 * math.log(2 * math.pi)


def frame_likelihood(network, x, w, y):
    mean = network.decoder(torch.cat([w, y])[None])[0]
    return sum(log_normal(a, b, float(network.observation_std)) for a, b in zip(x.tolist(), mean.tolist(), strict=True))


def softplus(number):
    return math.log1p(math.exp(number))


def bound_with_delays(network, x, chosen, noise_first, noise_random, power):
    """(likelihood, first, random, length, haste) of one sequence (time, channel), event by event: eq. 8.2–8.7."""
    codes = [network.encoder(frame) for frame in x]
    heard = network.lstm(torch.stack(codes)[None])[0][0]
    first = softplus_gaussian(network.state_head(torch.cat(codes[: network.conditioning])))
    y = drawn(first, noise_first, x)
    w = network.content_layer(sum(network.content_frame_layer(codes[i]) for i in chosen))
    end = len(x) - 1
    likelihood, random, length, haste, t, event = frame_likelihood(network, x[0], w, y), 0.0, 0.0, 0.0, 0.0, 0
    while t < end:
        place = min(t + 1, end)
        low = math.floor(place)
        share = place - low
        now = heard[low] if share == 0 else (1 - share) * heard[low] + share * heard[low + 1]
        posterior = softplus_gaussian(network.delays.posterior_head(torch.cat([now, y])))
        random += divergence(posterior, softplus_gaussian(network.prior(y)))
        z = drawn(posterior, noise_random[event], x)
        slope = network.dynamics(torch.cat([y, z])[None])[0]
        delay = min(
            0.25 + softplus(float(network.delays.delay_head(torch.cat([y, z])[None])[0, 0])), network.delays.max_delay
        )
        for frame in range(1, len(x)):
            if t < frame <= t + delay:
                likelihood += frame_likelihood(network, x[frame], w, y + (frame - t) * slope)
        length += min(delay, end - t) * float(slope.norm())
        haste += 1 / delay**power
        y, t, event = y + delay * slope, t + delay, event + 1
    return likelihood, divergence(first, [(0.0, 1.0)] * len(first)), random, length, haste


def bound_with_drift(network, x, chosen, noise_drift, noise_first, noise_random):
    """(likelihood, first, random, length) of one sequence whose content is a random walk."""
    codes = [network.encoder(frame) for frame in x]
    heard, slow = (part(torch.stack(codes)[None])[0][0] for part in (network.lstm, network.content_drift.lstm))
    first = softplus_gaussian(network.state_head(torch.cat(codes[: network.conditioning])))
    y = drawn(first, noise_first, x)
    w = network.content_layer(sum(network.content_frame_layer(codes[i]) for i in chosen))
    likelihood, random, length = frame_likelihood(network, x[0], w, y), 0.0, 0.0
    for t in range(1, len(x)):
        posterior = softplus_gaussian(network.random_head(heard[t]))
        random += divergence(posterior, softplus_gaussian(network.prior(y)))
        update = network.dynamics(torch.cat([y, drawn(posterior, noise_random[t - 1], x)])[None])[0]
        change = softplus_gaussian(network.content_drift.posterior_head(slow[t]))
        random += divergence(change, [(0.0, 1.0)] * len(change))
        w = w + network.content_drift.deviation * drawn(change, noise_drift[t - 1], x)
        y, length = y + update, length + float(update.norm())
        likelihood += frame_likelihood(network, x[t], w, y)
    return likelihood, divergence(first, [(0.0, 1.0)] * len(first)), random, length


def exact_evidence(x, rows, observed):
    """log p(x) of x = rows ξ + N(0, observed²), ξ ~ N(0, I), by the joint normal distribution of all numbers."""
    cover = rows @ rows.T + observed**2 * torch.eye(len(rows), dtype=rows.dtype)
    return float(torch.distributions.MultivariateNormal(torch.zeros_like(rows[:, 0]), cover).log_prob(x))


def nearest_posterior(x, rows, observed):
    """(means, deviations, gap): of independent normals the nearest to the posterior of ξ, and what the bound lacks."""
    precision = torch.eye(rows.shape[1], dtype=rows.dtype) + rows.T @ rows / observed**2
    mean = torch.linalg.solve(precision, rows.T @ x / observed**2)
    gap = 0.5 * float(precision.diagonal().log().sum() - torch.logdet(precision))
    return mean, precision.diagonal().rsqrt(), gap


def states_ahead_with_delays(network, past, noise_first, noise_random, times):
    """States of one future at times after the first frame: z is inferred while t is before the last frame known."""
    codes = [network.encoder(frame) for frame in past]
    heard = network.lstm(torch.stack(codes)[None])[0][0]
    y = drawn(softplus_gaussian(network.state_head(torch.cat(codes[: network.conditioning]))), noise_first, past)
    last, t, event, found = len(past) - 1, 0.0, 0, {}
    while t < times[-1]:
        if t < last:
            place = min(t + 1, last)
            low = math.floor(place)
            share = place - low
            now = heard[low] if share == 0 else (1 - share) * heard[low] + share * heard[low + 1]
            source = softplus_gaussian(network.delays.posterior_head(torch.cat([now, y])))
        else:
            source = softplus_gaussian(network.prior(y))
        z = drawn(source, noise_random[event], past)
        slope = network.dynamics(torch.cat([y, z])[None])[0]
        delay = min(
            0.25 + softplus(float(network.delays.delay_head(torch.cat([y, z])[None])[0, 0])), network.delays.max_delay
        )
        for time in times:
            if t < time <= t + delay:
                found[time] = y + (time - t) * slope
        y, t, event = y + delay * slope, t + delay, event + 1
    return torch.stack([found[time] for time in times])


def contents_ahead(network, past, chosen, noise, n_frames):
    """Contents of one future, `n_frames` of every step: as inferred through the past, then a walk of its own."""
    codes = [network.encoder(frame) for frame in past]
    slow = network.content_drift.lstm(torch.stack(codes)[None])[0][0]
    w = network.content_layer(sum(network.content_frame_layer(codes[i]) for i in chosen))
    for t in range(1, len(past)):
        w = w + network.content_drift.deviation * drawn(
            softplus_gaussian(network.content_drift.posterior_head(slow[t])), noise[t - 1], past
        )
    found = []
    for step in noise[len(past) - 1 :]:
        found += [w + network.content_drift.deviation * step * (part + 1) / n_frames for part in range(n_frames)]
        w = found[-1]
    return torch.stack(found)
