"""Expressions of a plan as C++ over `long long`, with the helpers they need.

Whole numbers are 64 bits wide, as no shape outgrows. Where the plan's own arithmetic would refuse
(a division by zero or with a rest, a size out of range), `fits` becomes false and nothing is
launched. Stricter than the plan in one point: each `/` must leave a whole number by itself.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from codegen.export.expressions import Kind, Written, folded, kind_of
from mcts.domain import Scalar
from mcts.errors import InputError

HELPERS = """\
#ifndef ROOFTREE_PLAN_ARITHMETIC
#define ROOFTREE_PLAN_ARITHMETIC
#define ROOFTREE_PRAGMA(words) _Pragma(#words)
#define ROOFTREE_UNROLL(count) ROOFTREE_PRAGMA(unroll count)
namespace rooftree {
namespace plan {
// Arithmetic of launch plans; `fits` becomes false where a shape has no launch.
inline long long floor_div(long long a, long long b, bool& fits)
{
    if (b == 0) {
        fits = false;
        return 0;
    }
    return a / b - (a % b != 0 && (a % b < 0) != (b < 0));
}
inline long long modulo(long long a, long long b, bool& fits)
{
    return a - floor_div(a, b, fits) * b;
}
inline long long ceil_div(long long a, long long b, bool& fits) { return -floor_div(-a, b, fits); }
inline long long exact_div(long long a, long long b, bool& fits)
{
    if (b == 0 || a % b != 0) {
        fits = false;
        return 0;
    }
    return a / b;
}
inline long long power(long long base, long long exponent, bool& fits)
{
    long long result = 1;
    fits = fits && exponent >= 0 && exponent <= 64;
    for (long long i = 0; fits && i < exponent; ++i) result *= base;
    return result;
}
inline long long least(long long a, long long b) { return b < a ? b : a; }
inline long long greatest(long long a, long long b) { return b > a ? b : a; }
inline double least_of(double a, double b) { return b < a ? b : a; }
inline double greatest_of(double a, double b) { return b > a ? b : a; }
inline long long whole(double value, bool& fits)
{
    if (!(value >= -9.2e18 && value <= 9.2e18) || value != (double)(long long)value) {
        fits = false;
        return 0;
    }
    return (long long)value;
}
// `value`, where it lies between `low` and `high`.
inline long long within(long long value, long long low, long long high, bool& fits)
{
    if (value < low || value > high) {
        fits = false;
        return low;
    }
    return value;
}
// A launch with the arguments' addresses; more dynamic shared memory than usual is asked for.
inline cudaError_t launch(const void* kernel, dim3 grid, dim3 block, void** arguments,
                          size_t shared, cudaStream_t stream)
{
    if (shared > 0) {
        const cudaError_t error =
            cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared);
        if (error != cudaSuccess) return error;
    }
    return cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}
}  // namespace plan
}  // namespace rooftree
#endif
"""
TENSOR_MAP_HELPER = """\
#ifndef ROOFTREE_PLAN_TENSOR_MAP
#define ROOFTREE_PLAN_TENSOR_MAP
#include <cuda.h>
namespace rooftree {
namespace plan {
// Describes an array to tensor copies, innermost axis first; false where the driver refuses it.
inline bool tensor_map(CUtensorMap& map, const void* start, CUtensorMapDataType type, int item,
                       int rank, const long long* shape, const long long* box, long long swizzle)
{
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result;
#if CUDART_VERSION >= 12050
    if (cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000,
                                         cudaEnableDefault, &result) != cudaSuccess)
        return false;
#else
    if (cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &found, cudaEnableDefault, &result) !=
        cudaSuccess)
        return false;
#endif
    if (result != cudaDriverEntryPointSuccess) return false;
    cuuint64_t extents[5], strides[5] = {(cuuint64_t)(shape[0] * item)};
    cuuint32_t tile[5], steps[5];
    for (int axis = 0; axis < rank; ++axis) {
        extents[axis] = (cuuint64_t)shape[axis];
        if (axis > 0) strides[axis] = strides[axis - 1] * extents[axis];
        tile[axis] = (cuuint32_t)box[axis];
        steps[axis] = 1;
    }
    const CUtensorMapSwizzle swizzles[] = {CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_SWIZZLE_32B,
                                           CU_TENSOR_MAP_SWIZZLE_64B, CU_TENSOR_MAP_SWIZZLE_128B};
    return reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(found)(
               &map, type, (cuuint32_t)rank, const_cast<void*>(start), extents, strides, tile,
               steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
               swizzles[swizzle == 128 ? 3 : swizzle / 32], CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
               CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}
}  // namespace plan
}  // namespace rooftree
#endif
"""
_P = "plan::"
_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip
_PLAIN: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.BitAnd: "&", ast.BitOr: "|",
}  # fmt: skip
_WHOLE: dict[type[ast.operator], str] = {
    ast.FloorDiv: "floor_div", ast.Mod: "modulo", ast.Div: "exact_div", ast.Pow: "power",
}  # fmt: skip


class CppText:
    """Writes expressions; `names` says what the shape variables are called there."""

    def __init__(self, tunables: Mapping[str, Scalar], names: Mapping[str, str]) -> None:
        self._tunables, self._names = tunables, names

    def number(self, expression: Written) -> str:
        """A `long long`."""
        tree = folded(expression, self._tunables)
        text = _bare(self._text(tree))
        return f"{_P}whole({text}, fits)" if kind_of(tree) == "float" else text

    def real(self, expression: Written) -> str:
        """A `double`, or a number that becomes one: `/` need leave no whole number there."""
        return _bare(self._real(folded(expression, self._tunables)))

    def condition(self, expression: Written) -> str:
        """A truth; whether it is a constant is for the caller to see in "true" and "false"."""
        tree = folded(expression, self._tunables)
        if isinstance(tree, ast.Constant):
            return "true" if tree.value else "false"
        return _bare(self._truth(tree))

    def _text(self, node: ast.expr) -> str:
        match node:
            case ast.Constant(value=value):
                return _literal(value)
            case ast.Name(id=name):
                return self._names.get(name, name)
            case ast.BinOp(left=left, op=op, right=right):
                return self._binary(left, op, right, kind_of(node))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return f"(-{self._text(operand)})"
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return f"({self._truth(test)} ? {self._text(body)} : {self._text(orelse)})"
            case ast.Call(func=ast.Name(id="ceil_div"), args=[left, right]):
                return f"{_P}ceil_div({self._bare(left)}, {self._bare(right)}, fits)"
            case ast.Call(func=ast.Name(id="min" | "max" as name), args=args):
                return self._extreme(name, args, kind_of(node))
            case ast.BoolOp() | ast.Compare() | ast.UnaryOp():
                return f"(long long){self._truth(node)}"
            case _:
                raise InputError(f"{ast.unparse(node)!r} cannot be written in C++")

    def _real(self, node: ast.expr) -> str:
        match node:
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                return f"((double){self._real(left)} / (double){self._real(right)})"
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() as op, right=right):
                return f"({self._real(left)} {_PLAIN[type(op)]} {self._real(right)})"
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return f"(-{self._real(operand)})"
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return f"({self._truth(test)} ? {self._real(body)} : {self._real(orelse)})"
            case _:
                return self._text(node)

    def _bare(self, node: ast.expr) -> str:
        return _bare(self._text(node))

    def _binary(self, left: ast.expr, op: ast.operator, right: ast.expr, kind: Kind) -> str:
        a, b = self._text(left), self._text(right)
        if type(op) in _PLAIN:
            return f"({a} {_PLAIN[type(op)]} {b})"
        if kind == "float":
            if isinstance(op, ast.Div):
                return f"((double){a} / (double){b})"
            raise InputError(f"a float under {type(op).__name__} cannot be written in C++")
        a, b = _bare(a), _bare(b)
        match op:
            case ast.LShift():
                return f"({a} * {_P}power(2, {b}, fits))"
            case ast.RShift():
                return f"{_P}floor_div({a}, {_P}power(2, {b}, fits), fits)"
            case _:
                return f"{_P}{_WHOLE[type(op)]}({a}, {b}, fits)"

    def _extreme(self, name: str, args: list[ast.expr], kind: Kind) -> str:
        call = {"min": "least", "max": "greatest"}[name] + ("_of" if kind == "float" else "")
        text = self._text(args[0])
        for item in args[1:]:
            text = f"{_P}{call}({_bare(text)}, {self._bare(item)})"
        return text

    def _truth(self, node: ast.expr) -> str:
        match node:
            case ast.BoolOp(op=op, values=values):
                word = " && " if isinstance(op, ast.And) else " || "
                return f"({word.join(self._truth(value) for value in values)})"
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return f"(!{self._truth(operand)})"
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                return self._compare([left, *comparators], ops)
            case _:
                return f"({self._text(node)} != 0)"

    def _compare(self, items: list[ast.expr], ops: list[ast.cmpop]) -> str:
        parts = []
        for left, op, right in zip(items, ops, items[1:], strict=False):
            if isinstance(op, ast.In | ast.NotIn):
                parts.append(self._member(left, right, wanted=isinstance(op, ast.In)))
            else:
                parts.append(f"{self._text(left)} {_COMPARE[type(op)]} {self._text(right)}")
        return f"({' && '.join(parts)})"

    def _member(self, item: ast.expr, of: ast.expr, *, wanted: bool) -> str:
        if not isinstance(of, ast.List):
            raise InputError(f"{ast.unparse(of)!r} is no list to look for a value in")
        word, sign = (" || ", "==") if wanted else (" && ", "!=")
        text = self._text(item)
        found = word.join(f"{text} {sign} {self._text(element)}" for element in of.elts)
        return f"({found or ('false' if wanted else 'true')})"


def _bare(text: str) -> str:
    """Without parentheses that enclose the whole of it."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for at, char in enumerate(text):
        depth += {"(": 1, ")": -1}.get(char, 0)
        if depth == 0 and at < len(text) - 1:
            return text
    return text[1:-1]


def _literal(value: object) -> str:
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, int):
        if value == -(2**63):
            return "(-9223372036854775807LL - 1)"
        text = f"{value}LL" if abs(value) >= 2**31 else str(value)
    elif isinstance(value, float):
        text = repr(value)
    else:
        raise InputError(f"text stands where a number should: {value!r}")
    return f"({text})" if text.startswith("-") else text
