# SPDX-License-Identifier: Apache-2.0
"""Commands of GDB that know a model's plan. In GDB: ``source tilewright.py``, then ``help tilewright``.

Needs nothing but GDB's own Python, 3.6 or newer.
"""

import json
import struct

import gdb

FORMATS = {
    "float32": "f",
    "int8": "b",
    "uint8": "B",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "bool": "?",
}


class Model:
    """A plan, and the expressions that say where its pools and the caller's tensors begin."""

    def __init__(self, plan, bases):
        self.name = plan["name"]
        self.buffers = {buffer["name"]: buffer for buffer in plan["buffers"]}
        self.places = {place["buffer"]: place for place in plan["placements"]}
        self.pools = {pool["name"]: pool for pool in plan["pools"]}
        self.bases = bases

    def buffer(self, name):
        """A buffer by its name, by its tensor's where a whole one holds it, or by any part that only one has."""
        exact = [buffer for key, buffer in self.buffers.items() if name in (key, buffer.get("tensor"))]
        whole = [buffer for buffer in exact if buffer["kind"] not in ("tile", "scratch")] or exact
        if not whole:
            whole = [buffer for key, buffer in self.buffers.items() if name in key]
        if len(whole) == 1:
            return whole[0]
        names = [buffer["name"] for buffer in whole]
        raise gdb.GdbError(f"'{name}' may be {', '.join(names)}" if names else f"no tensor '{name}'")

    def address(self, buffer):
        """The address of a buffer's first byte."""
        if buffer["name"] in self.bases:
            return evaluated(self.bases[buffer["name"]])
        place = self.places.get(buffer["name"])
        if place is None:
            name = buffer["name"]
            raise gdb.GdbError(f"the caller owns '{name}': tilewright plan <file> '{name}=<expression>'")
        return self.base(place["pool"]) + place["offset_bytes"]

    def base(self, pool):
        """Where a pool begins: as given, at its fixed address, or at a symbol of the program."""
        if pool in self.bases:
            return evaluated(self.bases[pool])
        if self.pools[pool].get("base") is not None:
            return self.pools[pool]["base"]
        for symbol in (f"{self.name}_pool_{pool}", f"{self.name}_{pool}", f"pool_{pool}"):
            try:
                return int(gdb.parse_and_eval(f"(unsigned long)&{symbol}"))
            except gdb.error:
                continue
        raise gdb.GdbError(f"where does pool '{pool}' begin? tilewright plan <file> {pool}=<expression>")


def evaluated(expression):
    """An address from an expression: an array stands for its first byte, a pointer for where it points.

    A name without debugging information stands for its address.
    """
    try:
        value = gdb.parse_and_eval(expression)
        if value.type.strip_typedefs().code in (gdb.TYPE_CODE_ARRAY, gdb.TYPE_CODE_STRUCT):
            return int(value.address)
        return int(value)
    except gdb.error as error:
        if "unknown type" not in str(error):
            raise gdb.GdbError(f"{expression}: {error}") from error
    return int(gdb.parse_and_eval(f"(unsigned long)&{expression}"))


class Prefix(gdb.Command):
    """Models that Tilewright has planned."""

    def __init__(self):
        super().__init__("tilewright", gdb.COMMAND_DATA, gdb.COMPLETE_NONE, True)


class Plan(gdb.Command):
    """Read a plan: tilewright plan <name>_plan.json [<pool or tensor>=<expression>]...

    Expressions say where a pool that the program provides, or a tensor that it owns, begins."""

    def __init__(self, models):
        self.models = models
        super().__init__("tilewright plan", gdb.COMMAND_FILES, gdb.COMPLETE_FILENAME)

    def invoke(self, argument, from_tty):
        """Called by GDB."""
        words = gdb.string_to_argv(argument)
        if not words:
            raise gdb.GdbError("tilewright plan <name>_plan.json [<pool or tensor>=<expression>]...")
        try:
            with open(words[0], encoding="utf-8") as file:
                model = Model(json.load(file), dict(word.split("=", 1) for word in words[1:]))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise gdb.GdbError(f"{words[0]}: {error}") from error
        unknown = set(model.bases) - set(model.pools) - set(model.buffers)
        if unknown:
            raise gdb.GdbError(f"plan '{model.name}' has no pool or tensor '{sorted(unknown)[0]}'")
        self.models[:] = [other for other in self.models if other.name != model.name] + [model]
        gdb.write(f"{model.name}: {len(model.buffers)} buffers in {len(model.pools)} pools\n")


class Tensor(gdb.Command):
    """Print a tensor with its shape: tilewright tensor <name> [<slot>]

    The name is that of the plan, or a part that no other has; slots are those of a tile.
    `set print elements` says how much is printed. What is dead holds what came after it."""

    def __init__(self, models):
        self.models = models
        super().__init__("tilewright tensor", gdb.COMMAND_DATA, gdb.COMPLETE_NONE)

    def complete(self, text, word):
        """The names that begin with what was typed."""
        return [name for model in self.models for name in model.buffers if name.startswith(text)]

    def invoke(self, argument, from_tty):
        """Called by GDB."""
        words = gdb.string_to_argv(argument)
        if not self.models or len(words) not in (1, 2):
            raise gdb.GdbError("tilewright tensor <name> [<slot>], after tilewright plan <name>_plan.json")
        model, buffer = found(self.models, words[0])
        slot = int(words[1]) if len(words) == 2 else 0
        if not 0 <= slot < buffer.get("copies", 1):
            raise gdb.GdbError(f"'{buffer['name']}' has {buffer.get('copies', 1)} slots")
        address = model.address(buffer) + slot * buffer.get("slot_bytes", 0)
        gdb.write(described(buffer, address))
        gdb.write(values(buffer, address) + "\n")


class Tensors(gdb.Command):
    """List tensors, tiles and scratch: tilewright tensors [<part of a name>]"""

    def __init__(self, models):
        self.models = models
        super().__init__("tilewright tensors", gdb.COMMAND_DATA, gdb.COMPLETE_NONE)

    def invoke(self, argument, from_tty):
        """Called by GDB."""
        for model in self.models:
            for name, buffer in model.buffers.items():
                if argument in name:
                    place = model.places.get(name)
                    where = f"{place['pool']}+{place['offset_bytes']}" if place else "the caller's"
                    gdb.write(f"{where:14} {buffer['kind']} {name} {typed(buffer)}\n")


def found(models, name):
    """The model and buffer of that name; of several models the one that was read last."""
    for model in reversed(models):
        try:
            return model, model.buffer(name)
        except gdb.GdbError as error:
            failure = error
    raise failure


def typed(buffer):
    """The type and shape of a buffer as text, such as int8[1, 4]."""
    return f"{buffer['dtype']}{list(buffer['shape'])}"


def described(buffer, address):
    """A buffer in a line."""
    slots = f", {buffer['copies']} slots" if buffer.get("copies", 1) > 1 else ""
    return f"{buffer['name']}: {buffer['kind']}, {typed(buffer)}{slots} at 0x{address:x}\n"


def values(buffer, address):
    """The elements in the order of the tensor's axes, whatever their order in memory, in nested brackets."""
    code = FORMATS[buffer["dtype"]]
    size = struct.calcsize(code)
    shape, strides = buffer["shape"], buffer["strides_bytes"]
    extent = size + sum((extent - 1) * stride for extent, stride in zip(shape, strides))
    order = ">" if "big" in gdb.execute("show endian", to_string=True) else "<"
    memory = bytes(gdb.selected_inferior().read_memory(address, extent)) if all(shape) else b""
    limit = gdb.parameter("print elements") or float("inf")
    left = [limit]

    def nested(axis, offset):
        if axis == len(shape):
            left[0] -= 1
            return text(struct.unpack_from(order + code, memory, offset)[0])
        parts = []
        for index in range(shape[axis]):
            if left[0] <= 0:
                parts.append("...")
                break
            parts.append(nested(axis + 1, offset + index * strides[axis]))
        gap = ", " if axis + 1 == len(shape) else ",\n" + " " * (axis + 1)
        return "[" + gap.join(parts) + "]"

    return nested(0, 0)


def text(value):
    """A number as one reads it."""
    return f"{value:.9g}" if isinstance(value, float) else str(int(value))


def register():
    """Add the commands to GDB."""
    models = []
    Prefix()
    Plan(models)
    Tensor(models)
    Tensors(models)


register()
