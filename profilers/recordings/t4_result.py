"""One result of a T4 file: reading and writing."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping
from typing import Any, get_args

from mcts.domain import Energy, Metric, SassFacts, Status
from mcts.domain.expressions import Scalar
from mcts.domain.profile import InstructionKind
from profilers.recordings.recording import RecordedConfiguration, RecordedShape

TIME_UNITS_US: dict[str, float] = {
    "seconds": 1e6, "second": 1e6, "s": 1e6,
    "milliseconds": 1e3, "miliseconds": 1e3, "millisecond": 1e3, "ms": 1e3,
    "microseconds": 1.0, "microsecond": 1.0, "us": 1.0,
    "nanoseconds": 1e-3, "ns": 1e-3,
}  # fmt: skip
"""Microseconds per unit; existing files do spell it "miliseconds"."""

_STATUS_OF: dict[str, Status] = {
    "correct": "measured",
    "compile": "compile_failed",
    "runtime": "runtime_error",
    "timeout": "timed_out",
    "correctness": "wrong_result",
    "constraints": "runtime_error",
}
_INVALIDITY_OF: dict[Status, str] = {
    "measured": "correct",
    "compile_failed": "compile",
    "runtime_error": "runtime",
    "timed_out": "timeout",
    "wrong_result": "correctness",
    "suspect": "correctness",
    "refused": "correctness",
}
_MESSAGES: dict[str, str] = {
    "compile": "recorded as failing to compile",
    "runtime": "recorded as failing to run",
    "timeout": "recorded as running out of time",
    "correctness": "recorded as giving a wrong result",
    "constraints": "recorded as excluded by the constraints of its space",
}
_SCALARS = ("host_us", "verification_rounds", "max_error", "worst_ratio")
_ENERGY = ("energy_mj", "low_mj", "high_mj", "window_s")
_TABLES = ("global_loads", "global_stores", "shared_loads", "shared_stores", "mix")
_NOT_RECORDED = frozenset({"loops", "lines"})
"""SASS facts that are not numbers; compiling the code again gives them."""

_SHORTEST_US, _LONGEST_US = 1e-6, 1e15  # a picosecond, thirty years
_MOST_ROUNDS = 10**6
_SASS = "sass."
_OURS = "rooftree."
_LAUNCHES = "rooftree.launches"
_TIME_OF, _WEIGHT_OF = "rooftree.time_us", "rooftree.weight"
_RUNTIMES_OF = "rooftree.runtimes@"


_OF_OURS = frozenset({_LAUNCHES, _TIME_OF, _WEIGHT_OF})
"""Names before an "@" that are not counters of a kernel."""


class FieldError(Exception):
    """A field is wrong; the text begins with its path."""


def record_to_json(record: RecordedConfiguration) -> dict[str, Any]:
    """`record` as one entry of `results`, times in microseconds."""
    times: dict[str, Any] = {"runtimes": list(record.runtimes_us)}
    for shape in record.shapes:
        times[_RUNTIMES_OF + shape.workload] = list(shape.runtimes_us)
    if record.compile_seconds is not None:
        times["compilation"] = rounded(record.compile_seconds * 1e6, 12)
    return {
        "timestamp": record.timestamp,
        "configuration": dict(record.configuration),
        "times": times,
        "invalidity": _INVALIDITY_OF[record.status],
        "correctness": int(record.measured),
        "measurements": list(_measurements(record)),
        "objectives": ["time"],
    }


def _measurements(record: RecordedConfiguration) -> Iterator[dict[str, Any]]:
    def entry(name: str, value: Any, unit: str = "") -> dict[str, Any]:
        return {"name": name, "value": value, "unit": unit}

    if record.time_us is not None:
        yield entry("time", record.time_us, "us")
    if not record.measured:
        yield entry(_OURS + "status", record.status)
        yield entry(_OURS + "message", record.message)
    for shape in record.shapes:
        median = statistics.median(shape.runtimes_us)
        yield entry(f"{_TIME_OF}@{shape.workload}", median, "us")
        yield entry(f"{_WEIGHT_OF}@{shape.workload}", shape.weight)
    for name in _SCALARS:
        value = getattr(record, name)
        if value is not None and not (name == "verification_rounds" and value == 0):
            yield entry(_OURS + name, value)
    if record.energy is not None:
        for name in _ENERGY:
            yield entry(_OURS + name, getattr(record.energy, name))
    for kernel, metrics in record.metrics.items():
        for name, metric in metrics.items():
            whole = metric.value.is_integer()
            value = int(metric.value) if whole else metric.value
            yield entry(f"{name}@{kernel}", value, metric.unit)
    for kernel, count in record.launches.items():
        yield entry(f"{_LAUNCHES}@{kernel}", count)
    for kernel, facts in record.sass.items():
        for name, value in facts.model_dump(
            exclude_defaults=True, exclude=set(_NOT_RECORDED)
        ).items():
            if isinstance(value, dict):
                for width, count in value.items():
                    yield entry(f"{_SASS}{name}.{width}@{kernel}", count)
            else:
                yield entry(f"{_SASS}{name}@{kernel}", value)


def record_from_json(
    result: Any, *, unit_us: float = 1.0, where: str = "result"
) -> RecordedConfiguration:
    """Read one entry of `results`; `unit_us` is the microseconds in the file's time unit.

    Unknown fields are ignored. Raises FieldError naming the path from `where`.
    """
    if not isinstance(result, dict):
        raise FieldError(f"{where}: an object is expected, not {type(result).__name__}")
    configuration = _configuration(result.get("configuration"), f"{where}.configuration")
    values = _named_values(result.get("measurements", []), f"{where}.measurements")
    times = result.get("times") or {}
    if not isinstance(times, dict):
        raise FieldError(f"{where}.times: an object is expected, not {type(times).__name__}")
    runtimes = _runtimes(times.get("runtimes"), unit_us, f"{where}.times.runtimes")
    status, message = _status(result, values, where)
    if status == "measured" and not runtimes:
        runtimes = _objective_time(result, values, unit_us)
        if not runtimes:
            status, message = "runtime_error", "recorded as correct, but with no time"
    compile_us = _time_us(times.get("compilation"), unit_us)
    metrics, sass = _by_kernel(values, where)
    return RecordedConfiguration(
        configuration=configuration,
        status=status,
        message=message,
        runtimes_us=runtimes if status == "measured" else (),
        shapes=_shapes(times, values, unit_us, where) if status == "measured" else (),
        compile_seconds=None if compile_us is None else rounded(compile_us / 1e6, 12),
        energy=_energy(values),
        metrics=metrics,
        sass=sass,
        launches=_launches(values),
        timestamp=str(result.get("timestamp") or ""),
        **_our_scalars(values),
    )


_Values = dict[str, tuple[Any, str]]


def _configuration(given: Any, where: str) -> dict[str, Scalar]:
    if not isinstance(given, dict) or not given:
        raise FieldError(f"{where}: an object of tunables is expected")
    configuration: dict[str, Scalar] = {}
    for name, value in given.items():
        if not name.isidentifier():
            raise FieldError(f"{where}: tunable {name!r} is not an identifier")
        if not isinstance(value, int | float | str) or (
            isinstance(value, float) and not math.isfinite(value)
        ):
            raise FieldError(f"{where}.{name}: {value!r} is no value of a tunable")
        whole = isinstance(value, float) and value.is_integer()
        configuration[name] = int(value) if whole else value
    return configuration


def _named_values(given: Any, where: str) -> _Values:
    if not isinstance(given, list):
        raise FieldError(f"{where}: a list is expected, not {type(given).__name__}")
    values: _Values = {}
    for index, item in enumerate(given):
        if not isinstance(item, dict) or not isinstance(item.get("name"), str):
            raise FieldError(f"{where}[{index}]: an object with a name is expected")
        values[item["name"]] = (item.get("value"), str(item.get("unit") or ""))
    return values


def _runtimes(given: Any, unit_us: float, where: str) -> tuple[float, ...]:
    if given is None:
        return ()
    if not isinstance(given, list):
        raise FieldError(f"{where}: a list of numbers is expected, not {type(given).__name__}")
    for index, value in enumerate(given):
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise FieldError(f"{where}[{index}]: {value!r} is not a number")
    times = (_time_us(value, unit_us) for value in given)
    return tuple(time for time in times if time is not None)


def _shapes(
    times: Mapping[str, Any], values: _Values, unit_us: float, where: str
) -> tuple[RecordedShape, ...]:
    """The timed workloads if there were several, each with its runtimes and its weight."""
    shapes = []
    for name, given in times.items():
        if not isinstance(name, str) or not name.startswith(_RUNTIMES_OF):
            continue
        workload = name.removeprefix(_RUNTIMES_OF)
        runtimes = _runtimes(given, unit_us, f"{where}.times.{name}")
        weight = _finite(values.get(f"{_WEIGHT_OF}@{workload}", (None, ""))[0])
        if not runtimes or weight is None or weight <= 0:
            raise FieldError(f"{where}: the shape {workload!r} has no runtimes or no weight")
        shapes.append(RecordedShape(workload=workload, weight=weight, runtimes_us=runtimes))
    return tuple(shapes)


def _status(result: Mapping[str, Any], values: _Values, where: str) -> tuple[Status, str]:
    invalidity = result.get("invalidity")
    if invalidity is None:
        invalidity = "correctness" if result.get("correctness") == 0 else "correct"
    if not isinstance(invalidity, str):
        raise FieldError(f"{where}.invalidity: text is expected, not {invalidity!r}")
    status = _STATUS_OF.get(invalidity, "runtime_error")
    if status == "measured":
        return status, ""
    recorded = values.get(_OURS + "status", (None, ""))[0]
    if recorded in get_args(Status) and recorded != "measured":
        status = recorded
    message = values.get(_OURS + "message", ("", ""))[0]
    return status, str(message or _MESSAGES.get(invalidity, f"recorded as {invalidity!r}"))


def _objective_time(
    result: Mapping[str, Any], values: _Values, unit_us: float
) -> tuple[float, ...]:
    """The only time in a file without runtimes: its `time` measurement or first objective."""
    objectives = result.get("objectives")
    names = ["time", *(objectives if isinstance(objectives, list) else [])]
    for name in names:
        given, unit = values.get(name, (None, "")) if isinstance(name, str) else (None, "")
        factor = TIME_UNITS_US.get(unit.lower(), unit_us if not unit else None)
        time = None if factor is None else _time_us(given, factor)
        if time is not None:
            return (time,)
    return ()


def _time_us(value: Any, unit_us: float) -> float | None:
    """A time in microseconds; None if it cannot be one: failures are recorded as 0, -1, NaN."""
    number = _finite(value)
    time = 0.0 if number is None else number * unit_us
    return time if _SHORTEST_US <= time <= _LONGEST_US else None


def _our_scalars(values: _Values) -> dict[str, Any]:
    given = {name: _finite(values.get(_OURS + name, (None, ""))[0]) for name in _SCALARS}
    found: dict[str, Any] = {name: v for name, v in given.items() if v is not None and v >= 0}
    if found.get("host_us") == 0:
        del found["host_us"]
    if "verification_rounds" in found:
        found["verification_rounds"] = min(int(found["verification_rounds"]), _MOST_ROUNDS)
    return found


def _energy(values: _Values) -> Energy | None:
    found = [_finite(values.get(_OURS + name, (None, ""))[0]) for name in _ENERGY]
    known = [value for value in found if value is not None and value > 0]
    if len(known) < len(_ENERGY):
        return None
    return Energy(**dict(zip(_ENERGY, known, strict=True)))


def _by_kernel(
    values: _Values, where: str
) -> tuple[dict[str, dict[str, Metric]], dict[str, SassFacts]]:
    """Counters and SASS facts by kernel. Values without "@" are measurements of other tools."""
    metrics: dict[str, dict[str, Metric]] = {}
    sass: dict[str, dict[str, Any]] = {}
    for name, (value, unit) in values.items():
        base, at, kernel = name.rpartition("@")
        if not at or name.partition("@")[0] in _OF_OURS:
            continue
        if base.startswith(_SASS):
            _add_fact(sass.setdefault(kernel, {}), base.removeprefix(_SASS), value)
        elif (number := _finite(value)) is not None:
            metric = Metric.model_construct(value=number, unit=unit)
            metrics.setdefault(kernel, {})[base] = metric
    try:
        facts = {kernel: SassFacts(**fields) for kernel, fields in sass.items()}
    except (TypeError, ValueError) as error:
        problem = str(error).splitlines()
        raise FieldError(f"{where}.measurements: SASS facts: {' '.join(problem[:3])}") from None
    return metrics, facts


def _launches(values: _Values) -> dict[str, int]:
    """Launches per call by kernel, if recorded; values that are no such number are ignored."""
    found = {}
    for name, (value, _) in values.items():
        base, at, kernel = name.rpartition("@")
        number = _finite(value) if at and base == _LAUNCHES else None
        if number is not None and number.is_integer() and number > 1:
            found[kernel] = int(number)
    return found


def _add_fact(facts: dict[str, Any], name: str, value: Any) -> None:
    table, _, width = name.partition(".")
    if table == "mix" and width not in get_args(InstructionKind):
        return
    if table in _TABLES:
        facts.setdefault(table, {})[width] = value
    elif table in SassFacts.model_fields and table not in _NOT_RECORDED:
        facts[table] = value


def _finite(value: Any) -> float | None:
    """`value` as a float if it is a finite number, or else None."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def rounded(value: float, digits: int = 6) -> float:
    """`value` rounded to `digits` significant digits, as a recording stores it."""
    return float(f"{value:.{digits}g}") if math.isfinite(value) else value
