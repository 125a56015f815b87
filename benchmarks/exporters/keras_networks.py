"""Networks as Keras users write them, with random weights of a fixed seed.

Each function of ``NETWORKS`` builds one. Statistics of BatchNormalization are drawn too: those that Keras starts with
would make it vanish.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import keras
import numpy as np
from keras import layers

SEED = 20261123


def built(make: Callable[[], keras.Model]) -> keras.Model:
    """The model with drawn biases and statistics."""
    keras.utils.set_random_seed(SEED)
    model = make()
    rng = np.random.default_rng(SEED)
    for weight in model.weights:
        if weight.path.endswith(("moving_variance", "variance", "gamma")):
            weight.assign(rng.uniform(0.5, 1.5, weight.shape).astype("float32"))
        elif weight.path.endswith(("moving_mean", "mean", "beta", "bias")):
            weight.assign(rng.normal(0.0, 0.1, weight.shape).astype("float32"))
    # Keras exports only models that ran.
    model(*(np.zeros(item.shape, np.float32) for item in model.inputs))
    return model


def _image(size: int = 64, channels: int = 3) -> keras.KerasTensor:
    return keras.Input((size, size, channels), batch_size=1)


def _application(make: Callable[..., keras.Model], size: int, **others: object) -> Callable[[], keras.Model]:
    return lambda: make(input_tensor=_image(size), weights=None, classes=10, **others)


def keyword_spotting() -> keras.Model:
    """A convolution and four separable ones, as in MLPerf Tiny."""
    x = inputs = keras.Input((49, 10, 1), batch_size=1)
    x = layers.Conv2D(64, (10, 4), strides=2, padding="same")(x)
    for _ in range(4):
        x = layers.ReLU()(layers.BatchNormalization()(x))
        x = layers.DepthwiseConv2D(3, padding="same")(x)
        x = layers.ReLU()(layers.BatchNormalization()(x))
        x = layers.Conv2D(64, 1)(x)
    x = layers.GlobalAveragePooling2D()(layers.ReLU()(layers.BatchNormalization()(x)))
    return keras.Model(inputs, layers.Dense(12, activation="softmax")(x))


def autoencoder() -> keras.Model:
    """Dense layers with normalisation."""
    x = inputs = keras.Input((640,), batch_size=1)
    for units in (128, 128, 8, 128, 128):
        x = layers.ReLU()(layers.BatchNormalization()(layers.Dense(units)(x)))
    return keras.Model(inputs, layers.Dense(640)(x))


def conv1d() -> keras.Model:
    """Convolutions along time with pooling."""
    x = inputs = keras.Input((128, 9), batch_size=1)
    for filters in (16, 32, 64):
        x = layers.Conv1D(filters, 5, padding="same", use_bias=False)(x)
        x = layers.MaxPooling1D(2)(layers.ReLU()(layers.BatchNormalization()(x)))
    return keras.Model(inputs, layers.Dense(6, activation="softmax")(layers.GlobalAveragePooling1D()(x)))


def temporal() -> keras.Model:
    """A temporal convolutional network: dilated causal convolutions and Dense on three axes."""
    x = inputs = keras.Input((98, 40), batch_size=1)
    x = layers.Dense(32)(x)
    for dilation in (1, 2, 4, 8):
        y = layers.Conv1D(32, 3, padding="causal", dilation_rate=dilation, activation="relu")(x)
        y = layers.Dense(32)(y)
        x = layers.Add()([x, y])
    return keras.Model(inputs, layers.Dense(12)(layers.GlobalAveragePooling1D()(x)))


def _unet(interpolation: str) -> keras.Model:
    inputs = _image(64)
    x, skips = inputs, []
    for filters in (8, 16, 32):
        x = layers.Conv2D(filters, 3, padding="same", activation="relu")(x)
        skips.append(x)
        x = layers.MaxPooling2D()(x)
    x = layers.Conv2D(64, 3, padding="same", activation="relu")(x)
    for filters, skip in zip((32, 16, 8), skips[::-1], strict=True):
        if interpolation == "transposed":
            x = layers.Conv2DTranspose(filters, 2, strides=2, padding="same")(x)
            x = layers.BatchNormalization()(x)
        else:
            x = layers.UpSampling2D(2, interpolation=interpolation)(x)
        x = layers.Concatenate()([x, skip])
        x = layers.Conv2D(filters, 3, padding="same", activation="relu")(x)
    return keras.Model(inputs, layers.Conv2D(2, 1, activation="softmax")(x))


def _preprocessed(shift: bool, padding: str) -> keras.Model:
    x = inputs = _image(48)
    x = layers.Rescaling(1.0 / 127.5, offset=-1.0 if shift else 0.0)(x)
    x = layers.Normalization(mean=[0.1, 0.2, 0.3], variance=[0.5, 0.6, 0.7])(x) if shift else x
    x = layers.Conv2D(16, 3, strides=2, padding=padding)(x)
    x = layers.ReLU(6.0)(layers.BatchNormalization()(x))
    x = layers.SeparableConv2D(32, 3, padding="same", activation="relu")(x)
    return keras.Model(inputs, layers.Dense(10)(layers.Flatten()(layers.AveragePooling2D(4)(x))))


def _dense_concat() -> keras.Model:
    x = inputs = _image(48)
    for _ in range(3):
        y = layers.ReLU()(layers.BatchNormalization()(layers.Conv2D(12, 3, padding="same")(x)))
        x = layers.ReLU()(layers.BatchNormalization()(layers.Concatenate()([x, y])))
    return keras.Model(inputs, layers.Dense(10)(layers.GlobalAveragePooling2D()(x)))


def _activated(name: str) -> Callable[[], keras.Model]:
    def make() -> keras.Model:
        x = inputs = _image(32)
        for filters in (16, 24):
            x = layers.Conv2D(filters, 3, strides=2, padding="same")(x)
            x = layers.PReLU(shared_axes=[1, 2])(x) if name == "prelu" else layers.Activation(name)(x)
        return keras.Model(inputs, layers.Dense(10)(layers.GlobalAveragePooling2D()(x)))

    return make


def transformer() -> keras.Model:
    """An encoder with layer normalisation and GELU."""
    x = inputs = keras.Input((49, 40), batch_size=1)
    x = layers.Dense(64)(x)
    for _ in range(2):
        y = layers.LayerNormalization()(x)
        x = layers.Add()([x, layers.MultiHeadAttention(4, 16)(y, y)])
        y = layers.LayerNormalization(epsilon=1e-5)(x)
        x = layers.Add()([x, layers.Dense(64)(layers.Dense(128, activation="gelu")(y))])
    return keras.Model(inputs, layers.Dense(12)(layers.GlobalAveragePooling1D()(x)))


def normalised() -> keras.Model:
    """Group normalisation over images, root-mean-square normalisation behind it."""
    x = inputs = _image(32)
    x = layers.Activation("silu")(layers.GroupNormalization(4)(layers.Conv2D(16, 3, padding="same")(x)))
    x = layers.Activation("silu")(layers.GroupNormalization(-1)(layers.Conv2D(16, 3, strides=2)(x)))
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(inputs, layers.Dense(10)(layers.RMSNormalization()(layers.Dense(32)(x))))


def power_spectrum() -> keras.Model:
    """Frames times a matrix, squared, summed in bands, logarithm: speech features."""
    inputs = keras.Input((49, 320), batch_size=1)
    x = layers.Dense(257, use_bias=False)(inputs)
    y = layers.Dense(257, use_bias=False)(inputs)
    power = keras.ops.power(x, 2.0) + keras.ops.power(y, 2.0)
    bands = layers.Dense(40, use_bias=False, kernel_initializer=keras.initializers.RandomUniform(0.0, 0.1))(power)
    return keras.Model(inputs, keras.ops.log(bands + 1e-3))


def _recurrent(kind: str, steps: int = 98, both: bool = False, all_steps: bool = False) -> Callable[[], keras.Model]:
    def make() -> keras.Model:
        x = inputs = keras.Input((steps, 20), batch_size=1)
        layer = getattr(layers, kind)(24, return_sequences=all_steps)
        x = layers.Bidirectional(layer)(x) if both else layer(x)
        return keras.Model(inputs, layers.Dense(8)(x))

    return make


def stacked_gru() -> keras.Model:
    """Two layers, the first with all steps, of the older equations."""
    x = inputs = keras.Input((49, 20), batch_size=1)
    x = layers.GRU(24, return_sequences=True, reset_after=False)(x)
    return keras.Model(inputs, layers.Dense(8)(layers.GRU(16, go_backwards=True)(x)))


def masked() -> keras.Model:
    """Steps of zeros are left out."""
    x = inputs = keras.Input((30, 8), batch_size=1)
    x = layers.LSTM(16, return_sequences=True)(layers.Masking()(x))
    return keras.Model(inputs, layers.Dense(4)(layers.GRU(12)(x)))


def masked_both() -> keras.Model:
    """Steps of zeros are left out in both directions."""
    x = inputs = keras.Input((30, 8), batch_size=1)
    x = layers.Bidirectional(layers.LSTM(16))(layers.Masking()(x))
    return keras.Model(inputs, layers.Dense(4)(x))


NETWORKS: Mapping[str, Callable[[], keras.Model]] = {
    "mobilenet_025": _application(keras.applications.MobileNet, 96, alpha=0.25),
    "mobilenet_v2_035": _application(keras.applications.MobileNetV2, 96, alpha=0.35),
    "mobilenet_v3_small": _application(keras.applications.MobileNetV3Small, 96),
    "efficientnet_b0": _application(keras.applications.EfficientNetB0, 64),
    "keyword_spotting": keyword_spotting,
    "autoencoder": autoencoder,
    "conv1d": conv1d,
    "temporal": temporal,
    "unet_nearest": lambda: _unet("nearest"),
    "unet_bilinear": lambda: _unet("bilinear"),
    "unet_transposed": lambda: _unet("transposed"),
    "rescaled": lambda: _preprocessed(shift=False, padding="same"),
    "rescaled_shifted": lambda: _preprocessed(shift=True, padding="valid"),
    "rescaled_shifted_same": lambda: _preprocessed(shift=True, padding="same"),
    "dense_concat": _dense_concat,
    **{name: _activated(name) for name in ("prelu", "gelu", "silu", "hard_silu", "leaky_relu", "mish", "elu")},
    "transformer": transformer,
    "normalised": normalised,
    "power_spectrum": power_spectrum,
    "simple_rnn": _recurrent("SimpleRNN"),
    "gru": _recurrent("GRU"),
    "lstm": _recurrent("LSTM"),
    "lstm_all_steps": _recurrent("LSTM", all_steps=True),
    "bidirectional_gru": _recurrent("GRU", both=True),
    "bidirectional_lstm": _recurrent("LSTM", both=True, all_steps=True),
    "stacked_gru": stacked_gru,
    "masked": masked,
    "masked_both": masked_both,
}
"""The function that builds each network, by name."""
