"""Prompts: one golden text for each role and dialect, and what holds for all of them."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from codegen.dialects import writing_of
from codegen.prompting import Prompt, build_choice, build_plan, build_prompt, build_review
from codegen.prompting.budget import WORTH, estimate_tokens
from codegen.prompting.roles import VERSIONS, role_of
from codegen.replies.directions import directions_of
from mcts.domain import Candidate
from mcts.domain.evaluation import ShapeTiming
from mcts.errors import InputError, NoMoves
from mcts.options import ModelOptions
from mcts.options.model import Feedback
from mcts.ports import Attempt, PendingTrial, ProposalRequest
from mcts.search.trial import Move
from tests.codegen.cases import (
    DEFAULTS,
    GPU,
    MODEL_NEW,
    SCALE,
    ask,
    failed,
    full_request,
    problem_task,
    scale_task,
    space_task,
    timed,
)

GOLDEN = Path(__file__).parents[2] / "data" / "prompts"
OTHER = Candidate(
    source=SCALE.replace("2.0f", "quad"),
    tunables={**DEFAULTS, "BLOCK": 256},
    methods=("memory.vectorized_loads",),
    rationale="Reads four floats at a time",
)
MODEL = Candidate(source=MODEL_NEW, rationale="One kernel behind the product")
REPAIR = Move("repair", 1)


def requests() -> dict[str, ProposalRequest]:
    """One request for each role and dialect, every section filled."""
    scale, problem, space = scale_task(), problem_task(), space_task()
    moved = Candidate(tunables={"T0": 1, "T1": 0, "T2": 0})
    improve, diversify = Move("improve", 3), Move("diversify", 3)
    wrong = failed("wrong_result")
    return {
        "implement.kernelbench": full_request(problem, problem.baseline, Move("improve", 0)),
        "optimize.kernelbench": full_request(problem, MODEL, improve),
        "repair.kernelbench": full_request(problem, MODEL, REPAIR, evaluation=wrong),
        "diversify.kernelbench": full_request(problem, MODEL, diversify),
        "optimize.cuda": full_request(scale, OTHER, improve),
        "repair.cuda": full_request(scale, OTHER, REPAIR, evaluation=failed("compile_failed")),
        "diversify.cuda": full_request(scale, OTHER, diversify),
        "optimize.space": full_request(space, moved, improve),
        "repair.space": full_request(space, moved, REPAIR, evaluation=failed("runtime_error")),
        "diversify.space": full_request(space, moved, diversify),
    }


ABLATIONS = {
    "remove.cuda": full_request(scale_task(), OTHER, Move("improve", 0)),
    "remove.kernelbench": full_request(problem_task(), MODEL, Move("improve", 0)),
}
METHOD = "memory.vectorized_loads"


def built(
    request: ProposalRequest,
    *,
    without: str | None = None,
    directions: tuple[str, ...] = (),
    **settings: object,
) -> Prompt:
    contract = writing_of(request.task.dialect).contract
    space = None if contract.whole_file else request.task.space
    return build_prompt(
        request, GPU, contract=contract, space=space, without=without, directions=directions,
        options=ModelOptions().model_copy(update=settings),
    )  # fmt: skip


def user(prompt: Prompt) -> str:
    return prompt.messages[1]["content"]


def sections(text: str) -> dict[str, str]:
    """The sections of a prompt by heading; headings inside of fences are none."""
    outside = re.sub(r"^(`{3,})[^\n]*\n.*?^\1$", lambda m: m[0].replace("\n# ", "\n\x00"), text,
                     flags=re.M | re.S)  # fmt: skip
    parts = re.split(r"^# (.*)$", outside, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def compare_golden(name: str, prompt: Prompt) -> None:
    text = f"<!-- {prompt.id} -->\n" + "".join(
        f"\n<!-- {message['role']} -->\n\n{message['content']}\n" for message in prompt.messages
    )
    file = GOLDEN / f"{name}.md"
    if os.environ.get("ROOFTREE_UPDATE_GOLDEN"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [*requests(), *ABLATIONS])
def test_the_golden_prompt_has_not_changed(name: str) -> None:
    """``ROOFTREE_UPDATE_GOLDEN=1 pytest tests/codegen/prompting/test_prompts.py`` accepts the new
    one; raise the role's version in `codegen.prompting.roles` with it.
    """
    ablation = name in ABLATIONS
    request = ABLATIONS[name] if ablation else requests()[name]
    without = METHOD if ablation else None
    prompt = built(request, without=without, branches=1 if ablation else 4)
    compare_golden(name, prompt)
    assert role_of(request, without=without) == name.partition(".")[0] and prompt.dropped == {}


@pytest.mark.parametrize("name", [*requests()])
def test_a_prompt_tells_of_trials_that_are_pending(name: str) -> None:
    alone = requests()[name]
    first = PendingTrial(parent=alone.parent, move=alone.move, choice=1)
    other = PendingTrial(parent=Candidate(source="// other", methods=("memory.x",)),
                         move=Move("repair", 0), choice=1)  # fmt: skip
    base = PendingTrial(parent=alone.task.baseline, move=Move("diversify", 0), choice=1)
    title, texts = "What is being written at the same time", []
    for pending in ((), (first,), (first, replace(first, choice=2)), (other,), (base,)):
        prompt = built(replace(alone, pending=pending))
        found = sections(user(prompt))
        assert (title in found) == bool(pending) == prompt.id.endswith("+pending/1")
        assert list(found)[-1] == "Now"
        texts.append(found.get(title, ""))
    assert len(set(texts)) >= 4 and texts[0] == ""
    assert "number 1 of such a ranking is taken; yours is number 2." in texts[1]
    assert "number 1, 2 of such a ranking is taken; yours is number 3." in texts[2]
    assert "A repair of another variant (memory.x)." in texts[3] and "yours" not in texts[3]


def test_a_choice_that_became_free_is_taken_first() -> None:
    alone = requests()["optimize.cuda"]
    second = PendingTrial(parent=alone.parent, move=alone.move, choice=2)
    request = replace(alone, pending=(second,))
    assert request.choice == 1
    assert "number 2 of such a ranking is taken; yours is number 1." in user(built(request))


def beside() -> dict[str, Prompt]:
    """What a planner, a critic and one who chooses tools are asked."""
    found = {}
    for name in ("optimize.kernelbench", "optimize.cuda"):
        request = requests()[name]
        contract, options = writing_of(request.task.dialect).contract, ModelOptions()
        dialect = name.partition(".")[2]
        found[f"plan.{dialect}"] = build_plan(request, GPU, contract=contract, options=options)
        found[f"review.{dialect}"] = build_review(
            request, GPU, OTHER if dialect == "cuda" else MODEL, contract=contract, options=options
        )
        found[f"choose.{dialect}"] = build_choice(
            request, GPU, {"coalescing": "Sectors wasted."}, contract=contract, options=options
        )
    return found


@pytest.mark.parametrize("name", [*beside()])
def test_what_a_planner_and_a_critic_are_asked_has_not_changed(name: str) -> None:
    """Accept the new one as above."""
    compare_golden(name, beside()[name])


def test_a_planner_sees_what_its_coder_sees_and_no_trial_beside_it() -> None:
    request = requests()["optimize.kernelbench"]
    contract, options = writing_of(request.task.dialect).contract, ModelOptions()
    first = PendingTrial(parent=request.parent, move=request.move, choice=1)
    busy = replace(request, pending=(first,))
    other = replace(busy, exemplars=())
    plans = [
        build_plan(one, GPU, contract=contract, options=options) for one in (request, busy, other)
    ]
    assert plans[0].messages == plans[1].messages == plans[2].messages
    told, seen = sections(user(plans[0])), sections(user(built(other, branches=1)))
    seen.pop("What is being written at the same time")
    assert {title: told[title] for title in told if title != "Now"} == {
        title: seen[title] for title in seen if title != "Now"
    }


def test_each_trial_takes_a_direction_of_its_own() -> None:
    alone = requests()["optimize.cuda"]
    first = PendingTrial(parent=alone.parent, move=alone.move, choice=1)
    for pending, told in (
        ((), "Take number 1."),
        ((first,), "Take number 2."),
        ((first, replace(first, choice=2)), "find a direction of your own"),
    ):
        prompt = built(replace(alone, pending=pending), directions=("wider loads", "fewer blocks"))
        found = sections(user(prompt))
        assert "1. wider loads\n2. fewer blocks" in found["The plan"]
        assert told in found["The plan"]
        beside = found.get("What is being written at the same time", "")
        assert ("by other directions" in beside) == bool(pending)
        assert "such a ranking" not in user(prompt) and list(found)[-1] == "Now"
        assert prompt.id.endswith("+plan/1")


def test_directions_are_read_however_they_are_numbered() -> None:
    assert directions_of("1. A: x\n2. B: y\nmore\n3. C: z\n4. D: w") == (
        "A: x", "B: y\nmore", "C: z",
    )  # fmt: skip
    assert directions_of("<think>1. no</think>Here:\n\n**1.** A\n- 2) B") == ("A", "B")
    assert directions_of("Direction 1: A\n\n### Direction 2: B") == ("A", "B")
    assert directions_of("just one idea") == ("just one idea",)
    assert directions_of("<think>nothing") == directions_of("  ") == ()


def test_every_role_has_a_version_and_a_golden_prompt() -> None:
    names = {*requests(), *ABLATIONS, *beside()}
    assert {name.partition(".")[0] for name in names} == set(VERSIONS)
    assert {file.stem for file in GOLDEN.glob("*.md")} == {
        *names,
        "brief.space",
        "opinion.cuda",
        "opinion.kernelbench",
    }


@pytest.mark.parametrize("name", list(requests()))
@pytest.mark.parametrize("tokens", [24_000, 9_500])
def test_prompts_of_all_feedbacks_differ_in_their_sections_alone(name: str, tokens: int) -> None:
    request = requests()[name]
    prompts = {
        feedback: built(request, feedback=feedback, prompt_tokens=tokens)
        for feedback in get_args(Feedback)
    }
    assert len({prompt.messages[0]["content"] for prompt in prompts.values()}) == 1
    assert len({str(prompt.dropped) for prompt in prompts.values()}) == 1
    advice, counters = "Advice from the profile", "Counters of the profile"
    evidence = "What the profile measured"
    found = {feedback: sections(user(prompt)) for feedback, prompt in prompts.items()}
    if request.evaluation.measured:
        said = found["tools"].pop(advice)
        assert "narrow_access" in said and said == found["both"].pop(advice)
        assert "gpu__time_duration.sum" in found["counters"].pop(counters)
        assert "gpu__time_duration.sum" in found["both"].pop(counters)
        assert said == found["evidence+tools"].pop(advice) == found["chosen"].pop(advice)
        digest = found["evidence"].pop(evidence)
        assert "busy, in % of peak" in digest and digest == found["evidence+tools"].pop(evidence)
    assert all(each == found["none"] for each in found.values())
    assert "narrow_access" not in user(prompts["none"]) + user(prompts["counters"])
    assert "gpu__" not in user(prompts["none"]) + user(prompts["tools"])


def test_a_prompt_fits_its_budget_and_says_what_it_left_out() -> None:
    request = requests()["optimize.kernelbench"]
    directions = ("wider loads", "fewer blocks")
    whole = built(request, directions=directions)
    seen: list[str] = []
    for tokens in range(whole.tokens, 0, -20):
        try:
            prompt = built(request, directions=directions, prompt_tokens=tokens, feedback="tools")
        except NoMoves:
            break
        assert prompt.tokens <= tokens
        actual = sum(estimate_tokens(message["content"]) for message in prompt.messages)
        assert actual <= tokens
        seen += [kind for kind in prompt.dropped if kind not in seen]
        if prompt.dropped:
            assert "Left out for want of room: " in user(prompt)
            assert user(prompt).index("Left out") < user(prompt).index("# Now")
        for kept in ("The problem file:", "class ModelNew", "50.00 us", "# Now"):
            assert kept in user(prompt)
    assert seen == [kind for kind in WORTH if kind in seen] and set(seen) == set(WORTH) - {"steps"}


def test_a_part_that_must_stay_and_does_not_fit_is_named() -> None:
    first = requests()["implement.kernelbench"]
    with pytest.raises(InputError, match="does not fit into a prompt"):
        built(first, prompt_tokens=1000)
    long = Candidate(source=MODEL_NEW + "# more\n" * 20_000)
    with pytest.raises(NoMoves, match="too long to be shown"):
        built(full_request(problem_task(), long, Move("improve", 0)))


def test_precision_is_told_only_if_it_was_measured() -> None:
    assert "Precision: it uses 2.0% of the tolerance" in user(built(requests()["optimize.cuda"]))
    assert "Precision" not in user(built(ask()))


def test_an_estimate_that_was_beaten_is_no_share_of_what_is_possible() -> None:
    request = requests()["optimize.cuda"]
    assert request.guidance is not None and request.guidance.roofline is not None
    roofline = request.guidance.roofline.model_copy(
        update={"speed_of_light_us": 150.0, "beaten_by": 3.0, "achieved_gb_per_s": None}
    )
    guidance = request.guidance.model_copy(update={"roofline": roofline})
    text = user(built(replace(request, guidance=guidance)))
    assert "That estimate is beaten, by 3.00x" in text and "How much is left is not known" in text
    assert "of what is possible" not in text


def test_exemplars_are_contrasted_with_the_present_variant() -> None:
    text = user(built(requests()["optimize.cuda"]))
    assert "Variant A: 2.50x over the baseline, FASTER than what you are shown (1.25x" in text
    assert "Variant B: 1.25x over the baseline, SLOWER than what you are shown (0.62x" in text
    assert text.index("Variant A") < text.index("Variant B")


def test_attempts_are_told_with_what_came_of_them() -> None:
    text = user(built(requests()["optimize.cuda"]))
    assert (
        "1. memory.register_reuse; Keeps the row in registers -> right, 60.00 us, 0.83x as fast"
    ) in text
    assert "2. no reason given -> wrong result: odd: 2 of 1002 elements" in text
    assert "3. no usable reply: the reply holds no CUDA code" in text


def test_a_long_line_of_attempts_shows_the_latest() -> None:
    one = Attempt(candidate=OTHER, evaluation=timed(OTHER, 60.0))
    request = full_request(scale_task(), OTHER, Move("improve", 40), siblings=(one,) * 40)
    text = user(built(request))
    assert "40. memory" in text and "29. memory" in text and "28. memory" not in text


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ({"libraries": "forbidden"}, "at most a quarter of the GPU time"),
        ({"precision": "tf32"}, "may use TF32 inputs"),
        ({"weights": "frozen"}, "made in the first forward and kept"),
        ({"hidden_shapes": False}, "these shapes only"),
        ({}, "derive it in every forward"),
    ],
)
def test_the_policy_is_told_in_words(policy: dict[str, object], said: str) -> None:
    task = problem_task(**policy)
    assert said in user(built(full_request(task, task.baseline, Move("improve", 0))))


def test_an_input_that_may_be_multiplied_in_tf32_says_so() -> None:
    task = scale_task()
    first, *others = task.buffers
    cut = first.model_copy(update={"tf32": True})
    allowing = task.model_copy(update={"buffers": (cut, *others)})
    said = [
        user(built(full_request(one, one.baseline, Move("improve", 0)))) for one in (task, allowing)
    ]
    assert ["may be multiplied in TF32" in text for text in said] == [False, True]


def test_every_timed_shape_is_told_and_what_a_regression_costs() -> None:
    scale = scale_task()
    found = timed(OTHER, 40.0)
    assert found.timing is not None
    times = {"median_us": 41.0, "low_us": 40.5, "high_us": 41.5, "baseline_us": 80.0, "rounds": 9}
    train = ShapeTiming(workload="train", weight=0.75, speedup=1.95, speedup_low=1.9,
                        speedup_high=2.0, **times)  # fmt: skip
    serve = train.model_copy(
        update={"workload": "serve", "weight": 0.25, "speedup": 0.9, "speedup_low": 0.89,
                "speedup_high": 0.91}
    )  # fmt: skip
    shaped = found.model_copy(
        update={"timing": found.timing.model_copy(update={"shapes": (train, serve)})}
    )
    request = full_request(scale, OTHER, Move("improve", 3), evaluation=shaped)
    told = sections(user(built(request)))["Its result"]
    assert "- train, weight 0.75: 41.00 us, 1.950x (1.900 to 2.000)." in told
    assert "does not count as an improvement while it is slower on serve" in told
    plain = sections(user(built(full_request(scale, OTHER, Move("improve", 3)))))["Its result"]
    assert "shapes" not in plain


def test_a_far_move_asks_for_several_changes_at_once_and_differs_in_nothing_else() -> None:
    near = full_request(scale_task(), OTHER, Move("improve", 0))
    far = full_request(scale_task(), OTHER, Move("improve", 0, far=True))
    one, other = (sections(user(built(request))) for request in (near, far))
    assert {title for title in one if one[title] != other[title]} == {"Now"}
    assert other["Now"].startswith(one["Now"].rstrip()) and "combine" in other["Now"]
    repair = full_request(scale_task(), OTHER, Move("repair", 1, far=True),
                          evaluation=failed("compile_failed"))  # fmt: skip
    assert "combine" not in sections(user(built(repair)))["Now"]
