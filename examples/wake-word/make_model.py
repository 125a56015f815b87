#!/usr/bin/env python3
"""Trains a network that listens for a two-tone word, one frame at a time, and writes what the example ships.

The word is a tone of 500 Hz and then one of 900 Hz, 160 ms each; the other way round, and either tone alone, is no
word. All sounds are synthetic and seeded: 4,000 samples a second, noise everywhere, pitch and loudness vary. Run with
scikit-learn, onnx and onnxruntime installed; building the example needs none of them.

Writes, beside this script: wake_word.onnx, whose states are history -> next_history (band energies of the last 19
frames) and level -> next_level (the smoothed score); recording.h (five seconds of 8-bit sound, and in which frames
onnxruntime hears the word); vectors_inputs.npz and vectors_outputs.npz (the recording's frames and scores).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from sklearn.neural_network import MLPClassifier

HERE = Path(__file__).resolve().parent
SEED = 20
RATE, FRAME = 4000, 80
BANDS = (300, 400, 500, 600, 800, 900, 1000, 1300)
WINDOW, HIDDEN = 20, 8
LOW, HIGH, TONE_SECONDS = 500.0, 900.0, 0.16
FLOOR = 1e-3
SILENCE = -8.0
RECORDED_SECONDS = 5
SAID = ((0.8, "word"), (1.7, "reversed"), (2.4, "low"), (3.1, "word"), (3.9, "high"), (4.4, "reversed"))


def sound(chance: np.random.Generator, kind: str) -> np.ndarray:
    """A word, or something that is none: samples [n] from -1 to 1."""
    pitch, loudness = chance.uniform(0.97, 1.03), chance.uniform(0.15, 0.6)
    tones = {"word": (LOW, HIGH), "reversed": (HIGH, LOW), "low": (LOW, LOW), "high": (HIGH, HIGH)}[kind]
    at = np.arange(int(TONE_SECONDS * RATE)) / RATE
    fade = np.minimum(1, np.minimum(at, at[-1] - at) / 0.01)
    return np.concatenate([loudness * fade * np.sin(2 * np.pi * pitch * tone * at) for tone in tones])


def stream(chance: np.random.Generator, seconds: float, said: list[tuple[float, str]]) -> np.ndarray:
    """Noise with sounds in it: int8 samples."""
    samples = chance.normal(scale=0.02, size=int(seconds * RATE))
    for start, kind in said:
        heard = sound(chance, kind)
        begin = int(start * RATE)
        samples[begin : begin + len(heard)] += heard
    return np.clip(np.rint(samples * 127), -128, 127).astype(np.int8)


def filters() -> np.ndarray:
    """Cosines, then sines, of the bands under a window: [80, 16]."""
    at = np.arange(FRAME)
    phases = 2 * np.pi * np.outer(at, BANDS) / RATE
    window = np.hanning(FRAME)[:, None] * 4 / FRAME
    return (np.hstack([np.cos(phases), np.sin(phases)]) * window).astype(np.float32)


def energies(samples: np.ndarray) -> np.ndarray:
    """Logarithms of the energies of the bands of each frame: [frames, 8]."""
    parts = samples.reshape(-1, FRAME).astype(np.float32) / 128 @ filters()
    power = parts[:, : len(BANDS)] ** 2 + parts[:, len(BANDS) :] ** 2
    return np.log(power + FLOOR)


def trained(chance: np.random.Generator) -> MLPClassifier:
    """A perceptron over the last 20 frames; a frame is positive where a word ended in the last 60 ms."""
    inputs, labels = [], []
    for _ in range(160):
        kinds = chance.choice(["word", "word", "reversed", "low", "high"], 4)
        said = [(0.6 * number + chance.uniform(0.05, 0.2), str(kind)) for number, kind in enumerate(kinds)]
        found = energies(stream(chance, 2.6, said))
        ends = [(start + 2 * TONE_SECONDS) * RATE / FRAME for start, kind in said if kind == "word"]
        for frame in range(WINDOW - 1, len(found)):
            inputs.append(found[frame - WINDOW + 1 : frame + 1].T.reshape(-1))
            labels.append(any(0 <= frame + 1 - end < 3 for end in ends))
    return MLPClassifier((HIDDEN,), alpha=1.0, max_iter=60, random_state=SEED).fit(np.array(inputs), np.array(labels))


def to_onnx(network: MLPClassifier) -> onnx.ModelProto:
    """frame [1, 80], history [1, 8, 19], level [1, 1] -> score [1, 1], and both states of the next frame."""
    bands = len(BANDS)
    (hidden, output), (hidden_bias, output_bias) = network.coefs_, network.intercepts_
    pair = np.vstack([np.eye(bands), np.eye(bands)])
    constants = {
        "filters": filters(),
        "pairs": pair,
        "floor": np.full((1, bands), FLOOR),
        "column": np.int64([1, bands, 1]),
        "hidden.weights": hidden.T.reshape(HIDDEN, bands, WINDOW),
        "hidden.bias": hidden_bias,
        "row": np.int64([1, HIDDEN]),
        "output.weights": output,
        "output.bias": output_bias,
        "half": np.full((1, 1), 0.5),
        "starts": np.int64([1]),
        "ends": np.int64([WINDOW]),
        "axes": np.int64([2]),
        "history": np.full((1, bands, WINDOW - 1), np.log(FLOOR)),
        "level": np.full((1, 1), SILENCE),
    }
    node = helper.make_node
    nodes = [
        node("Gemm", ["frame", "filters"], ["parts"], "filter"),
        node("Mul", ["parts", "parts"], ["squares"], "square"),
        node("Gemm", ["squares", "pairs", "floor"], ["power"], "sum"),
        node("Log", ["power"], ["energies"], "logarithm"),
        node("Reshape", ["energies", "column"], ["newest"], "column"),
        node("Concat", ["history", "newest"], ["window"], "window", axis=2),
        node("Slice", ["window", "starts", "ends", "axes"], ["next_history"], "forget"),
        node("Conv", ["window", "hidden.weights", "hidden.bias"], ["features"], "hidden"),
        node("Relu", ["features"], ["active"], "relu"),
        node("Reshape", ["active", "row"], ["flat"], "row"),
        node("Gemm", ["flat", "output.weights", "output.bias"], ["now"], "output"),
        node("Add", ["level", "now"], ["both"], "both"),
        node("Mul", ["both", "half"], ["next_level"], "smooth"),
        node("Relu", ["next_level"], ["score"], "score"),
    ]
    shapes = {"frame": [1, FRAME], "history": [1, bands, WINDOW - 1], "level": [1, 1]}
    results = {"score": [1, 1], "next_history": [1, bands, WINDOW - 1], "next_level": [1, 1]}
    graph = helper.make_graph(
        nodes,
        "wake_word",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in results.items()],
        [
            numpy_helper.from_array(array if array.dtype == np.int64 else array.astype(np.float32), name)
            for name, array in constants.items()
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], producer_name="make_model.py")
    model.ir_version = 8
    onnx.checker.check_model(model)
    return model


def scores_of(model: onnx.ModelProto, frames: np.ndarray) -> np.ndarray:
    """Scores [frames, 1, 1] by onnxruntime, which gets back what it left a frame before."""
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    states: dict[str, np.ndarray] = {}
    scores = []
    for frame in frames:
        score, history, level = session.run(None, {"frame": frame, **states})
        states = {"history": history, "level": level}
        scores.append(score)
    return np.array(scores)


def write_recording(samples: np.ndarray, heard: list[int]) -> None:
    """The samples, and the frames in which the word is heard."""
    texts = [str(value) for value in samples]
    lines = [
        "/* SPDX-License-Identifier: Apache-2.0 */",
        "/* Written by make_model.py. */",
        "/* clang-format off */",
        "#include <stdint.h>",
        f"#define RECORDING_FRAMES {len(samples) // FRAME}",
        f"#define RECORDING_WORDS {len(heard)}",
        f"static const int heard_by_onnxruntime[RECORDING_WORDS] = {{{', '.join(map(str, heard))}}};",
        f"static const int8_t recording[{len(samples)}] = {{",
        *(f"    {', '.join(texts[first : first + 80])}," for first in range(0, len(texts), 80)),
        "};",
    ]
    (HERE / "recording.h").write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    """Train, export, record, write."""
    chance = np.random.default_rng(SEED)
    model = to_onnx(trained(chance))
    onnx.save(model, HERE / "wake_word.onnx")
    samples = stream(chance, RECORDED_SECONDS, list(SAID))
    frames = samples.reshape(-1, 1, FRAME).astype(np.float32) / 128
    scores = scores_of(model, frames)
    sounds = scores[:, 0, 0] > 0
    heard = [int(frame) for frame in np.flatnonzero(sounds & ~np.roll(sounds, 1))]
    write_recording(samples, heard)
    np.savez_compressed(HERE / "vectors_inputs.npz", frame=frames[:80])
    np.savez_compressed(HERE / "vectors_outputs.npz", score=scores[:80])
    print("heard at", ", ".join(f"{frame * FRAME / RATE:.2f} s" for frame in heard))


if __name__ == "__main__":
    main()
