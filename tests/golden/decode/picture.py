"""Pixels that the images of this folder show."""

import numpy as np


def picture(width, height, seed):
    """Smooth shapes, hard edges and noise: uint8 (height, width, 3)."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    out = np.empty((height, width, 3))
    for c in range(3):
        fx, fy, phase = rng.uniform(0.02, 0.2, 2).tolist() + [c * 2.0]
        out[..., c] = 127 + 90 * np.sin(fx * x + fy * y + phase)
    disc = (x - width * 0.6) ** 2 + (y - height * 0.4) ** 2 < (height * 0.3) ** 2
    out[disc] = out[disc][:, ::-1] * 0.7 + (60, 0, 20)
    out[(x.astype(int) // 7 + y.astype(int) // 5) % 6 == 0] += (50, -40, 30)
    out += rng.normal(0, 6, out.shape)
    return np.clip(out, 0, 255).astype(np.uint8)
