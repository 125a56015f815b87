"""Writes networks as exporters write them, and quantises some by ONNX Runtime's quantiser.

    python benchmarks/exporters/make_networks.py FOLDER [--only TEXT]

Needs what it exports with: keras, tensorflow-cpu, tf2onnx, torch, torchvision, onnxscript, onnxruntime; with tf_keras
three networks more. They do not share an environment with Tilewright. Files are named ``<exporter>-<network>.onnx``;
what an exporter refuses is printed and left out. Weights are random, of a fixed seed: nothing is downloaded.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
EXPORTERS = ("keras", "tf2onnx", "tf_keras", "dynamo", "legacy", "quantised")
QUANTISED = {
    "qdq": (
        "keras-mobilenet_025", "keras-mobilenet_v3_small", "keras-keyword_spotting", "keras-temporal",
        "keras-conv1d", "keras-unet_nearest", "keras-unet_bilinear", "keras-unet_transposed", "keras-silu",
        "dynamo-mobilenet_v2", "legacy-mobilenet_v3_small", "keras-efficientnet_b0", "dynamo-shufflenet_v2_x0_5",
        "dynamo-super_resolution", "dynamo-temporal", "dynamo-encoder", "dynamo-convnext",
    ),
    "qoperator": (
        "keras-keyword_spotting", "keras-conv1d", "keras-unet_bilinear", "legacy-mobilenet_v3_small",
        "dynamo-unet_bilinear", "dynamo-mobilenet_v2",
    ),
    "dynamic": ("keras-autoencoder", "dynamo-vit"),
}  # fmt: skip
"""What is quantised in which form, by the name of the file."""
_OF_TF2ONNX = ("mobilenet_025", "conv1d", "temporal", "unet_bilinear", "rescaled_shifted", "gru")
_OF_TF_KERAS = ("gru", "lstm", "bidirectional_gru")
_CALIBRATION_RUNS = 8


def main() -> int:
    parser = argparse.ArgumentParser(description="Writes networks as exporters write them.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="networks with this text in their file name")
    parser.add_argument(
        "--exporter",
        choices=EXPORTERS,
        help="export with this exporter alone, in this process; if absent, each exporter has a process",
    )
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    if arguments.exporter is None:
        return _each(arguments)
    failed = 0
    for name, write in _writers(arguments.exporter, arguments.folder):
        file = arguments.folder / f"{name}.onnx"
        if arguments.only not in name or file.exists():
            continue
        try:
            write(file)
        except Exception as error:
            file.unlink(missing_ok=True)
            failed += 1
            print(f"{name}: {type(error).__name__}: {str(error)[:300]}", flush=True)
        else:
            print(f"{name}: {file.stat().st_size:,} bytes", flush=True)
    return 1 if failed else 0


def _each(arguments: argparse.Namespace) -> int:
    """A process for each exporter: tf_keras and Keras 3 exclude each other, and memory is given back."""
    words = [sys.executable, str(HERE / "make_networks.py"), str(arguments.folder), "--only", arguments.only]
    ended = [subprocess.run([*words, "--exporter", name], check=False).returncode for name in EXPORTERS]
    return max(ended)


def _writers(exporter: str, folder: Path) -> Iterator[tuple[str, Callable[[Path], None]]]:
    if exporter in ("keras", "tf2onnx", "tf_keras"):
        return _of_keras(exporter)
    return _of_torch(exporter) if exporter in ("dynamo", "legacy") else _of_quantiser(folder)


def _of_keras(exporter: str) -> Iterator[tuple[str, Callable[[Path], None]]]:
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    if exporter == "tf_keras":
        yield from ((f"tf_keras-{name}", _tf_keras_writer(name)) for name in _OF_TF_KERAS)
        return
    from keras_networks import NETWORKS

    for name in _OF_TF2ONNX if exporter == "tf2onnx" else NETWORKS:
        yield f"{exporter}-{name}", _keras_writer(name, exporter)


def _keras_writer(name: str, exporter: str) -> Callable[[Path], None]:
    def write(file: Path) -> None:
        from keras_networks import NETWORKS, built

        model = built(NETWORKS[name])
        if exporter == "keras":
            model.export(str(file), format="onnx", verbose=False)
            return
        _by_tf2onnx(model, file)

    return write


def _by_tf2onnx(model: object, file: Path) -> None:
    """The function of a model, as ``python -m tf2onnx.convert`` reads it from a SavedModel."""
    import tensorflow as tf
    import tf2onnx

    signature = [tf.TensorSpec(item.shape, tf.float32, name="x") for item in model.inputs]
    function = tf.function(model, input_signature=signature)
    tf2onnx.convert.from_function(function, signature, opset=15, output_path=str(file))


def _tf_keras_writer(name: str) -> Callable[[Path], None]:
    def write(file: Path) -> None:
        import tf2onnx
        import tf_keras

        tf_keras.utils.set_random_seed(20261123)
        kind = getattr(tf_keras.layers, "LSTM" if "lstm" in name else "GRU")(24)
        layer = tf_keras.layers.Bidirectional(kind) if "bidirectional" in name else kind
        inputs = tf_keras.Input((98, 20), batch_size=1)
        model = tf_keras.Model(inputs, tf_keras.layers.Dense(8)(layer(inputs)))
        tf2onnx.convert.from_keras(model, opset=15, output_path=str(file))

    return write


def _of_torch(exporter: str) -> Iterator[tuple[str, Callable[[Path], None]]]:
    import torch
    from torch_networks import NETWORKS, built

    def writer(name: str) -> Callable[[Path], None]:
        def write(file: Path) -> None:
            model, example = built(NETWORKS[name])
            with torch.no_grad():
                if exporter == "dynamo":
                    program = torch.onnx.export(model, (example,), dynamo=True, verbose=False)
                    program.save(str(file), external_data=False)
                else:
                    torch.onnx.export(model, (example,), str(file), dynamo=False, opset_version=17)

        return write

    for name in NETWORKS:
        yield f"{exporter}-{name}", writer(name)


def _of_quantiser(folder: Path) -> Iterator[tuple[str, Callable[[Path], None]]]:
    for form, names in QUANTISED.items():
        for number, name in enumerate(names):
            yield f"{form}-{name}", _quantised_writer(folder / f"{name}.onnx", form, signed=number % 2 == 0)


def _quantised_writer(source: Path, form: str, signed: bool) -> Callable[[Path], None]:
    def write(file: Path) -> None:
        import numpy as np
        import onnxruntime as ort
        from onnxruntime import quantization as q
        from onnxruntime.quantization.shape_inference import quant_pre_process

        prepared = file.with_suffix(".prepared")
        quant_pre_process(str(source), str(prepared), skip_symbolic_shape=True)
        item = ort.InferenceSession(str(prepared), providers=["CPUExecutionProvider"]).get_inputs()[0]
        shape = [extent if isinstance(extent, int) else 1 for extent in item.shape]
        rng = np.random.default_rng(20261123)

        class Reader(q.CalibrationDataReader):
            left = _CALIBRATION_RUNS

            def get_next(self) -> object:
                self.left -= 1
                return {item.name: rng.normal(0.0, 1.0, shape).astype(np.float32)} if self.left >= 0 else None

        kinds = (q.QuantType.QInt8 if signed else q.QuantType.QUInt8, q.QuantType.QInt8)
        try:
            if form == "dynamic":
                q.quantize_dynamic(str(prepared), str(file))
                return
            q.quantize_static(
                str(prepared), str(file), Reader(), per_channel=signed,
                quant_format=q.QuantFormat.QDQ if form == "qdq" else q.QuantFormat.QOperator,
                activation_type=kinds[0], weight_type=kinds[1],
            )  # fmt: skip
        finally:
            prepared.unlink(missing_ok=True)

    return write


if __name__ == "__main__":
    sys.exit(main())
