"""Every place where the judges disagree, and whom Tilewright follows; docs/reference/judges.md lists them."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conformance.cases import node_cases
from conformance.judges import KNOWN, disagreements
from conformance.refusals import REFUSED, without_reason
from support.judges import verdicts
from support.onnx_models import imported, outputs_of
from support.places import LIKE, OTHER, PLACES, REFUSES
from tilewright.base.errors import ExitStatus, TilewrightError

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "judges.md"


def _computed(place, folder):
    """Tilewright's outputs by name; None where the importer refuses the model."""
    model = place.model()
    try:
        graph = imported(folder, model)
    except TilewrightError as error:
        if error.status not in (ExitStatus.BAD_INPUT, ExitStatus.NOT_SUPPORTED):
            raise
        return None
    names = [output.name for output in model.graph.output]
    return dict(zip(names, outputs_of(graph, place.feeds()), strict=True))


def _arrays(judge, mine):
    if isinstance(judge, str):
        return REFUSES
    if mine is None:
        return OTHER
    same = all(
        judge[name].shape == array.shape and np.allclose(judge[name], array, rtol=1e-4, atol=1e-5)
        for name, array in mine.items()
    )
    return LIKE if same else OTHER


def _shapes(judge, mine):
    if isinstance(judge, str):
        return REFUSES
    if mine is None:
        return OTHER
    for name, array in mine.items():
        found = judge.get(name, (None,) * array.ndim)
        if len(found) != array.ndim or any(a not in (None, b) for a, b in zip(found, array.shape, strict=True)):
            return OTHER
    return LIKE


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", PLACES)
def test_whom_it_follows(tmp_path, name):
    place = PLACES[name]
    mine = _computed(place, tmp_path)
    said = verdicts(place.model(), place.feeds())
    found = (_arrays(said.runtime, mine), _arrays(said.reference, mine), _shapes(said.inferred, mine))
    assert (found, mine is None) == ((place.runtime, place.reference, place.inference), place.refused)
    assert found != (LIKE, LIKE, LIKE), "nothing to list"


def test_the_page_lists_every_place():
    rows = re.findall(r"^\| `([a-z0-9-]+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(rows) == sorted(PLACES)


def test_the_page_lists_every_case_of_onnx():
    text = PAGE.read_text(encoding="utf-8")
    assert [name for name in KNOWN if f"`{name}`" not in text] == []
    assert [name for name, reason in REFUSED.items() if f"`{name}`" not in text or reason not in text] == []


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_onnx_cases_in_which_judges_disagree():
    assert disagreements(node_cases()[::12]) == []


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_all_onnx_cases_in_which_judges_disagree():
    assert disagreements(node_cases()) == []


def test_a_wrong_case_is_found():
    case = next(case for case in node_cases() if case.name == "test_add")
    wrong = replace(case, stored={name: array + 1 for name, array in case.stored.items()})
    (found,) = disagreements([wrong])
    assert found.startswith("test_add: sum: ONNX Runtime: 60 of 60 differ")
    wide = replace(case, stored={name: array[None] for name, array in case.stored.items()})
    assert [words.partition(" [")[0] for words in disagreements([wide])] == [
        "test_add: sum: ONNX Runtime",
        "test_add: sum: shape inference",
    ]


def test_a_refusal_without_reason_is_noticed() -> None:
    names = [case.name for case in node_cases()]
    assert all(any(name.startswith(beginning) for name in names) for beginning in REFUSED)
    assert without_reason(["test_adam", "test_abs"]) == ["test_abs"]
