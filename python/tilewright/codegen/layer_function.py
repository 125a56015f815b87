"""The C function of a layer, from its steps: declarations, first copies, the loop, the record of a profile."""

from __future__ import annotations

from tilewright.base.lazy_dataclass import dataclass
from tilewright.codegen.function_text import FunctionText, block
from tilewright.codegen.profiling import ProfileText
from tilewright.codegen.steps import StepText, statements


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The facts that all layers of a model share.

    Attributes:
        prefix: the model's C prefix.
        parameters: the parameters of a layer's function as C.
        passed: the parameters' names (context, handover).
        profile: where records lie; None for a model without a profile.
    """

    prefix: str
    parameters: str
    passed: tuple[str, ...]
    profile: ProfileText | None

    @property
    def fault(self) -> str:
        """The enumerator that a layer returns if a copy failed."""
        return f"{self.prefix}_DEVICE_FAULT".upper()


@dataclass(frozen=True, slots=True)
class LayerFunction:
    """The parts of a layer's function.

    Attributes:
        name: C name of the function.
        record: number of the profile's record of the layer's first stage.
        stages: number of stages.
        tokens: (C array of tokens, its length): one token for each copy that may be under way.
        early: copies that start first.
        ready: the other steps before the loop.
        steps: the steps of the loop, or all steps behind ``ready`` without a loop.
        after: the steps behind the loop.
        takes_over: whether ``ready`` waits for a copy that the previous layer handed over.
        iterations: the values of the loop variable t; None without a loop.
        is_fed: whether the caller gives the loop's input row by row, and the context says which iterations run.
        hands_over: link and token of the copy that the next layer waits for; None if there is none.
    """

    name: str
    record: int
    stages: int
    tokens: tuple[tuple[str, int], ...]
    early: tuple[StepText, ...]
    ready: tuple[StepText, ...]
    steps: tuple[StepText, ...]
    after: tuple[StepText, ...]
    takes_over: bool
    iterations: range | None
    hands_over: tuple[int, str] | None
    is_fed: bool = False

    def text(self, around: Surroundings) -> FunctionText:
        """The whole function as C."""
        profiled = around.profile is not None
        declared = tuple(line for step in self._calls() for line in step.declarations)
        lines = (
            *(f"tilewright_token_t {name}[{copies}] = {{0}};" for name, copies in self.tokens),
            *self._unused(around),
            *(self._measured() if profiled else ()),
            *statements(self.early, looped=False, profiled=profiled),
            *declared,
            *(("/* What the layer before left under way. */",) if self.takes_over else ()),
            *statements(self.ready, looped=False, profiled=profiled),
            *self._walk(profiled=profiled),
            *statements(self.after, looped=False, profiled=profiled),
            *self._left(),
            *self._recorded(around.profile),
            f"return {around.prefix.upper()}_OK;",
        )
        return FunctionText(f"static enum {around.prefix}_status {self.name}({around.parameters})", lines)

    def _calls(self) -> tuple[StepText, ...]:
        """All steps but the first copies, in order."""
        return (*self.ready, *self.steps, *self.after)

    def _walk(self, *, profiled: bool) -> tuple[str, ...]:
        lines = statements(self.steps, looped=self.iterations is not None, profiled=profiled)
        if self.iterations is None:
            return lines
        first, end = str(self.iterations.start), str(self.iterations.stop)
        if self.is_fed:
            first, end = "context->from", "context->to"
        return block(f"for (int32_t t = {first}; t < {end}; ++t)", lines)

    def _left(self) -> tuple[str, ...]:
        if self.hands_over is None:
            return ()
        link, token = self.hands_over
        return (f"*handover = (struct tilewright_handover){{{link}u, {token}}};",)

    def _recorded(self, profile: ProfileText | None) -> tuple[str, ...]:
        if profile is None:
            return ()
        records = f"((struct tilewright_profile *)(void *)({profile.address}))"
        if self.stages == 1:
            return ("measured.cycles = tilewright_cycles() - begin;", f"{records}[{self.record}] = measured;")
        last = self.stages - 1
        return (
            f"(void)tilewright_profile_add(&stages[{last}], &measured, begin, tilewright_cycles());",
            *(f"{records}[{self.record + stage}] = stages[{stage}];" for stage in range(self.stages)),
        )

    def _measured(self) -> tuple[str, ...]:
        """Declarations of the layer's counters and of the time at which the layer, or a stage's part of it, began."""
        if self.stages == 1:
            return (_MEASURED, "const uint32_t begin = tilewright_cycles();")
        return (
            _MEASURED,
            f"struct tilewright_profile stages[{self.stages}] = {{{{0, 0, 0, 0}}}};",
            "uint32_t begin = tilewright_cycles();",
        )

    def _unused(self, around: Surroundings) -> tuple[str, ...]:
        """Casts to void of parameters that this layer does not use; all layers have the same parameters."""
        addresses = [text for step in (*self.early, *self._calls()) for text in step.addresses]
        measured = around.profile is not None and around.profile.uses_context
        used = {"context": measured or any("context->" in text for text in addresses)}
        used["handover"] = self.hands_over is not None or self.takes_over
        return tuple(f"(void){name};" for name in around.passed if not used[name])


_MEASURED = "struct tilewright_profile measured = {0, 0, 0, 0};"
