"""A recorded profile is found by its source and tunables, and by nothing else."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from mcts.domain import Ceilings, Hardware, KernelProfile, Metric, Profile, TimelineFacts, Work
from mcts.domain import metrics as m
from mcts.errors import InputError
from profilers.profiles.inspecting import Inspected
from profilers.recordings.profile_recording import FORMAT, ProfileRecording

DEVICE = Hardware(name="Paper GPU", ceilings=Ceilings(copy_gb_per_s=4000.0, launch_us=2.0))
SOURCE = 'extern "C" __global__ void k() {}'


def inspected(*, name: str = "Paper GPU") -> Inspected:
    metrics = {m.SM: Metric(value=12.3456789, unit="%"), m.DRAM: Metric(value=91.0, unit="%")}
    profile = Profile(
        kernels=(KernelProfile(name="k", launches=3, metrics=metrics),),
        timeline=TimelineFacts(source="nsys", span_us=10.0, busy_us=9.0),
        hardware=DEVICE.model_copy(update={"name": name}),
        missing={"sass": "nobody looked"},
    )
    return Inspected(profile, 81.25, Work(bytes=10**6, flops=10**5))


@pytest.mark.parametrize("name", ["a.json", "a.json.gz"])
def test_a_saved_profile_is_found_again_with_a_new_roofline(tmp_path: Path, name: str) -> None:
    recording = ProfileRecording()
    recording.put(SOURCE, {"N": 1}, inspected())
    recording.save(tmp_path / name)
    found = ProfileRecording.load(tmp_path / name).find(SOURCE, {"N": 1})
    assert found is not None and found.recorded_on and found.time_us == 81.25
    kernel = found.profile.kernels[0]
    assert (kernel.launches, kernel.value(m.SM)) == (3, 12.3457)
    assert found.profile.timeline == inspected().profile.timeline
    assert found.profile.hardware == DEVICE and found.work == inspected().work
    assert found.profile.roofline is not None and found.profile.roofline.bound == "memory"


def test_another_value_or_another_source_is_not_found(tmp_path: Path) -> None:
    recording = ProfileRecording()
    recording.put(SOURCE, {"N": 1}, inspected())
    assert recording.find(SOURCE, {"N": 2}) is None
    assert recording.find(SOURCE + "// changed", {"N": 1}) is None


def test_a_file_is_of_one_device() -> None:
    recording = ProfileRecording()
    recording.put(SOURCE, {}, inspected())
    with pytest.raises(InputError, match="Other GPU"):
        recording.put(SOURCE, {"N": 2}, inspected(name="Other GPU"))


def test_nothing_measured_is_not_saved(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nothing was measured"):
        ProfileRecording().save(tmp_path / "a.json")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b"[1]",
        b"\x1f\x8bnot gzip",
        b"\xff\xfe\x00",
        json.dumps({"format": FORMAT}).encode(),
        json.dumps({"format": FORMAT, "hardware": {}, "profiles": [], "recorded_on": ""}).encode(),
        gzip.compress(json.dumps({"format": "another"}).encode(), mtime=0),
        b"[" * 100_000,
    ],
)
def test_a_file_that_is_no_recording_is_refused_in_one_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.json.gz"
    path.write_bytes(content)
    with pytest.raises(InputError) as error:
        ProfileRecording.load(path)
    assert str(path) in str(error.value) and "\n" not in str(error.value)


def test_a_small_file_that_unpacks_to_a_huge_one_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.json.gz"
    path.write_bytes(gzip.compress(b" " * (260 * 2**20)))
    with pytest.raises(InputError, match="more than 256 MiB"):
        ProfileRecording.load(path)


def test_a_damaged_entry_is_refused_when_it_is_asked_for(tmp_path: Path) -> None:
    recording = ProfileRecording()
    recording.put(SOURCE, {}, inspected())
    next(iter(recording.entries.values()))["profile"] = {"kernels": [{"name": 3}]}
    with pytest.raises(InputError, match="damaged"):
        recording.find(SOURCE, {})


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        ProfileRecording.load(tmp_path / "no.json")
