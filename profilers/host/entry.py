"""The C++ between our call and a candidate's launcher, generated from its plan, compiled with it.

So the compiler checks the call: the number of arguments, that pointers are passed for pointers, and
that a `float*` does not get bf16. Numbers are checked when they are passed.

Macros of the candidate's source also affect the code behind it, so names there carry a prefix.
"""

from __future__ import annotations

from mcts.domain import STREAM, HostPlan, ScalarArgument

CANDIDATE = "candidate.cu"
ENTRY = "rooftree_entry.cu"
CALL, MEASURE = "rooftree_call", "rooftree_workspace"
"""``int rooftree_call(void* const* pointers, const long long* whole, const double* real, void*
stream, int on_device, char* message, size_t room)``; ``int rooftree_workspace(int which, const long
long* whole, unsigned long long* bytes, char* message, size_t room)``. Both return 0, or 1 and say
why in `message`."""

_HEAD = """\
#include <cstdint>
#include <cstdio>
#include <exception>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <cuda_runtime.h>
namespace rooftree_entry {
struct rooftree_dtype_bool { using host = bool; };
struct rooftree_dtype_int8 { using host = std::int8_t; };
struct rooftree_dtype_uint8 { using host = std::uint8_t; };
struct rooftree_dtype_int16 { using host = std::int16_t; };
struct rooftree_dtype_int32 { using host = std::int32_t; };
struct rooftree_dtype_int64 { using host = std::int64_t; };
struct rooftree_dtype_float32 { using host = float; };
struct rooftree_dtype_float64 { using host = double; };
struct rooftree_dtype_float16 { using host = void; };
struct rooftree_dtype_bfloat16 { using host = void; };
struct rooftree_dtype_float8_e4m3fn { using host = void; };
struct rooftree_dtype_float8_e5m2 { using host = void; };

template <class Dtype, bool Scratch> struct RooftreePointer {
  void* address;
  template <class T> operator T*() const {
    static_assert(Scratch || !std::is_floating_point<T>::value ||
                      std::is_same<std::remove_cv_t<T>, typename Dtype::host>::value,
                  "the launcher's parameter is a pointer to another type than the plan's dtype");
    return static_cast<T*>(address);
  }
};
struct RooftreeWhole {
  long long value;
  const char* name;
  template <class T, class = std::enable_if_t<std::is_arithmetic<T>::value>> operator T() const {
    if constexpr (std::is_integral<T>::value) {
      const bool below = std::is_unsigned<T>::value
          ? value < 0
          : value < static_cast<long long>(std::numeric_limits<T>::min());
      const bool above = value > 0 && static_cast<unsigned long long>(value) >
          static_cast<unsigned long long>(std::numeric_limits<T>::max());
      if (below || above)
        throw std::range_error(std::string(name) + " = " + std::to_string(value) +
                               " does not fit the launcher's parameter");
    }
    return static_cast<T>(value);
  }
};
template <class Real> struct RooftreeReal {
  Real value;
  template <class T> operator T() const {
    static_assert(!std::is_integral<T>::value && !std::is_enum<T>::value,
                  "the plan passes a floating-point number, and the launcher's parameter is a "
                  "whole number");
    return static_cast<T>(value);
  }
};
inline int rooftree_said(const char* text, char* message, std::size_t room) {
  std::snprintf(message, room, "%s", text ? text : "no reason given");
  return 1;
}
template <class Function> int rooftree_guarded(char* message, std::size_t room, Function function) {
  try {
    return function();
  } catch (const std::exception& error) {
    return rooftree_said(error.what(), message, room);
  } catch (...) {
    return rooftree_said("the launcher threw something that is no std::exception", message, room);
  }
}
inline int rooftree_launched(int on_device, char* message, std::size_t room) {
  if (!on_device) return 0;
  const cudaError_t error = cudaGetLastError();
  if (error == cudaSuccess) return 0;
  return rooftree_said((std::string("CUDA: ") + cudaGetErrorString(error)).c_str(), message, room);
}
template <class Launch, class Why>
int rooftree_ran(Launch launch, int on_device, char* message, std::size_t room, Why why) {
  using Result = decltype(launch());
  static_assert(!std::is_same<Result, bool>::value && !std::is_floating_point<Result>::value,
                "the launcher must return void, int, cudaError_t, an enum, or const char*: "
                "0 or nullptr where all is well");
  if constexpr (std::is_void<Result>::value) {
    launch();
  } else if constexpr (std::is_convertible<Result, const char*>::value) {
    if (const char* text = launch()) return rooftree_said(text, message, room);
  } else if constexpr (std::is_same<Result, cudaError_t>::value) {
    const cudaError_t error = launch();
    if (error != cudaSuccess)
      return rooftree_said((std::string("CUDA: ") + cudaGetErrorString(error)).c_str(),
                           message, room);
  } else if (const auto code = static_cast<long long>(launch())) {
    const char* text = why();
    const std::string reason = text && *text ? std::string(": ") + text : std::string();
    return rooftree_said(
        ("the launcher returned " + std::to_string(code) + reason).c_str(), message, room);
  }
  return rooftree_launched(on_device, message, room);
}
}  // namespace rooftree_entry
#include "candidate.cu"
"""


def entry_source(plan: HostPlan) -> str:
    """The file that is compiled: it includes the candidate's source and defines entry points."""
    whole = whole_arguments(plan)
    why = f"return ::{plan.failure}();" if plan.failure else "return (const char*)nullptr;"
    call = f"::{plan.launcher}({', '.join(_arguments(plan, whole))})"
    lines = [
        _HEAD,
        f'extern "C" __attribute__((visibility("default"))) int {CALL}(',
        "    void* const* rooftree_pointers, const long long* rooftree_whole,",
        "    const double* rooftree_real, void* rooftree_stream, int rooftree_on_device,",
        "    char* rooftree_text, std::size_t rooftree_room) noexcept {",
        "  using namespace rooftree_entry;",
        "  (void)rooftree_whole; (void)rooftree_real; (void)rooftree_pointers;",
        "  (void)rooftree_stream;",
        "  return rooftree_guarded(rooftree_text, rooftree_room, [&]() -> int {",
        "    if (rooftree_on_device) cudaGetLastError();",
        f"    auto rooftree_why = []() -> const char* {{ {why} }};",
        "    auto rooftree_launch = [&]() {",
        f"      return {call};",
        "    };",
        "    return rooftree_ran(rooftree_launch, rooftree_on_device, rooftree_text,",
        "                        rooftree_room, rooftree_why);",
        "  });",
        "}",
        f'extern "C" __attribute__((visibility("default"))) int {MEASURE}(',
        "    int rooftree_which, const long long* rooftree_whole,",
        "    unsigned long long* rooftree_bytes, char* rooftree_text,",
        "    std::size_t rooftree_room) noexcept {",
        "  using namespace rooftree_entry;",
        "  (void)rooftree_whole;",
        "  return rooftree_guarded(rooftree_text, rooftree_room, [&]() -> int {",
        *_measured(plan, whole),
        '    return rooftree_said("no such workspace", rooftree_text, rooftree_room);',
        "  });",
        "}",
        "",
    ]
    return "\n".join(lines)


def whole_arguments(plan: HostPlan) -> tuple[str | int, ...]:
    """Expressions that are passed to the entry points as integers, in order, each once."""
    wanted: list[str | int] = []
    for argument in plan.args:
        if isinstance(argument, str | int) and not _is_named(plan, argument):
            wanted.append(argument)
        elif isinstance(argument, ScalarArgument) and "float" not in argument.type:
            wanted.append(_expression(argument))
    wanted += [expression for scratch in plan.workspace for expression in scratch.args]
    return tuple(dict.fromkeys(wanted))


def real_arguments(plan: HostPlan) -> tuple[str | int | float, ...]:
    """Values that are passed to the launcher as floating point, in order."""
    reals = (item for item in plan.args if isinstance(item, ScalarArgument))
    return tuple(item.value for item in reals if "float" in item.type)


def pointer_names(plan: HostPlan) -> tuple[str, ...]:
    """The tensors and workspaces in the order of the entry's pointers."""
    made = (*plan.output, *plan.workspace)
    return (*(name for name, _ in plan.given), *(item.name for item in made))


def _is_named(plan: HostPlan, argument: str | int) -> bool:
    return argument == STREAM or argument in plan.buffers


def _expression(argument: ScalarArgument) -> str | int:
    value = argument.value
    return int(value) if isinstance(value, float) and value.is_integer() else str(value)


_C_TYPES = {"int32": "int", "uint32": "unsigned int", "int64": "long long", "float32": "float",
            "float64": "double"}  # fmt: skip


def _arguments(plan: HostPlan, whole: tuple[str | int, ...]) -> list[str]:
    """C++ for each argument of the launcher."""
    pointers, dtypes = pointer_names(plan), _dtypes(plan)
    scratch = {item.name for item in plan.workspace}
    texts, reals = [], 0
    for argument in plan.args:
        if argument == STREAM:
            texts.append("static_cast<cudaStream_t>(rooftree_stream)")
        elif isinstance(argument, ScalarArgument) and "float" in argument.type:
            kind = _C_TYPES[argument.type]
            texts.append(f"RooftreeReal<{kind}>{{static_cast<{kind}>(rooftree_real[{reals}])}}")
            reals += 1
        elif isinstance(argument, ScalarArgument):
            number = _whole(_expression(argument), whole)
            texts.append(f"static_cast<{_C_TYPES[argument.type]}>({number})")
        elif argument in plan.buffers:
            dtype = dtypes[str(argument)]
            flag = "true" if argument in scratch else "false"
            kind = f"RooftreePointer<rooftree_dtype_{dtype}, {flag}>"
            texts.append(f"{kind}{{rooftree_pointers[{pointers.index(str(argument))}]}}")
        else:
            texts.append(_whole(argument, whole))
    return texts


def _dtypes(plan: HostPlan) -> dict[str, str]:
    every = (*plan.input, *plan.weight, *plan.output, *plan.workspace)
    return {item.name: item.dtype for item in every}


def _whole(expression: str | int, whole: tuple[str | int, ...]) -> str:
    name = "".join(c if c.isalnum() or c in " _+-*/().," else " " for c in str(expression))
    return f'RooftreeWhole{{rooftree_whole[{whole.index(expression)}], "{name[:80]}"}}'


def _measured(plan: HostPlan, whole: tuple[str | int, ...]) -> list[str]:
    lines = []
    for index, scratch in enumerate(plan.workspace):
        if scratch.bytes_from is not None:
            values = ", ".join(_whole(expression, whole) for expression in scratch.args)
            lines += [
                f"    if (rooftree_which == {index}) {{",
                f"      const auto rooftree_needed = ::{scratch.bytes_from}({values});",
                "      *rooftree_bytes = static_cast<unsigned long long>(rooftree_needed);",
                "      return 0;",
                "    }",
            ]
    return lines
