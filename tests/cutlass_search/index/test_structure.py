"""What is read out of C++."""

from __future__ import annotations

import pytest

from cutlass_search.index.declarators import classify
from cutlass_search.index.structure import Declaration, declarations


@pytest.mark.parametrize(
    ("head", "kind", "name"),
    [
        ("struct SM90_TMA_LOAD", "struct", "SM90_TMA_LOAD"),
        ("template <class T> struct Array<T, 4> : Base<T>", "struct", "Array"),
        ("class alignas(16) Padded final", "struct", "Padded"),
        ("enum class Major : unsigned char", "enum", "Major"),
        ("namespace cute::detail", "namespace", "cute::detail"),
        ('extern "C"', "namespace", ""),
        ("template <int N = sizeof(int)> using Bytes = Array<char, N>", "alias", "Bytes"),
        ("typedef unsigned char byte", "alias", "byte"),
        ("template <int N = at->n> struct Sized", "struct", "Sized"),
        ("template <template <class> class F, int N> struct Held", "struct", "Held"),
        ("template <class T> concept Small = (sizeof(T) < 4)", "concept", "Small"),
        ("template <class F = decltype(f(1))> CUTE_DEVICE auto go(F f)", "function", "go"),
        ("CUTE_HOST_DEVICE constexpr friend bool operator==(A a, B b)", "function", "operator=="),
        ("void operator()(int x) const", "function", "operator()"),
        ("explicit operator uint64_t() const", "function", "operator uint64_t"),
        ("~Pipeline()", "function", "~Pipeline"),
        ("__global__ void __launch_bounds__(128, 1) go(float* x)", "kernel", "go"),
        ("__global__ static __launch_bounds__(decltype(size(M{}))::value) void go(float* x)",
         "kernel", "go"),
        ("[[deprecated(\"use b\")]] int a(int x)", "function", "a"),
        ("public: static constexpr int stages = 4", "variable", "stages"),
    ],
)  # fmt: skip
def test_a_head_says_what_it_declares(head: str, kind: str, name: str) -> None:
    found = classify(head)
    assert found is not None
    assert (found.kind, found.name) == (kind, name)


@pytest.mark.parametrize("head", ["static_assert(f(1) == 2)", "using namespace cute", "x = g(2)"])
def test_a_statement_declares_nothing(head: str) -> None:
    assert classify(head) is None


def _names(found: list[Declaration]) -> list[str]:
    return [name for one in found for name in (one.qualified, *_names(one.members))]


def test_members_lie_in_their_class_and_scopes_are_joined() -> None:
    found = declarations("namespace a { namespace b { struct C { void d() {} struct E {}; }; } }")
    assert _names(found) == ["a::b::C", "a::b::C::d", "a::b::C::E"]


def test_lines_are_those_of_the_comment_the_first_word_and_the_end() -> None:
    (outer,) = declarations("\n// Said of A.\nstruct A {\n  // Of f.\n  void f() {\n  }\n};\n")
    (inner,) = outer.members
    assert (outer.first, outer.line, outer.last) == (2, 3, 7)
    assert (inner.first, inner.line, inner.last) == (4, 5, 6)


@pytest.mark.parametrize(
    "body",
    [
        'asm("{ %0 }");',
        'char const* s = "}";',
        "char c = '}';",
        "// } not here\n",
        "/* } nor here */",
        'auto s = R"x(} ")x";',
        "\n#if A\n  if (a) {\n#else\n  if (b) {\n#endif\n  }\n",
    ],
)
def test_braces_that_are_not_code_end_nothing(body: str) -> None:
    found = declarations(f"void f() {{ {body} }}\nvoid g() {{}}\n")
    assert _names(found) == ["f", "g"]


def test_braces_in_arguments_and_initialisers_are_part_of_the_head() -> None:
    found = declarations("struct S { S(int x = {}) : a{x}, b{1} { go(); } void after() {} };")
    assert _names(found) == ["S", "S::S", "S::after"]


def test_a_misleading_indent_does_not_end_a_body() -> None:
    found = declarations("void f() {\n  if (x) {\n}\n  g();\n}\nvoid h() {\n}\n")
    assert _names(found) == ["f", "h"]


def test_the_comment_in_front_belongs_to_the_declaration() -> None:
    (first, second) = declarations("/// Adds.\nint add(int a); // trailing\n\n// Next.\nint sub();")
    assert (first.comment, second.comment) == ("Adds.", "Next.")


def test_the_note_is_the_block_that_is_nearest() -> None:
    (one,) = declarations("// Section\n\n// Does it.\nvoid f();")
    assert (one.comment, one.note) == ("Section\nDoes it.", "Does it.")


@pytest.mark.parametrize(
    "text", ["", "}", "}}}} int f();", "struct A {", "void f() {", "'", '"', "/*"]
)
def test_broken_text_is_read_without_an_error(text: str) -> None:
    declarations(text)
