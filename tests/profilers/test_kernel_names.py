"""Bare names of kernels, as ncu and nsys print them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profilers.kernel_names import bare_name


@pytest.mark.parametrize(
    ("printed", "bare"),
    [
        ("saxpy", "saxpy"),
        ("saxpy(const float *, float *, int)", "saxpy"),
        ("void copy<float, (int)4>(T1 *)", "copy"),
        ("void at::native::<unnamed>::add<x<(int)4, (a>b)>>(T1)", "add"),
        ("void at::native::add<4, a > b, std::array<char *, (unsigned long)2>>(int, T2)", "add"),
        (
            "void add<4, unnamed>::log(Base &)::[lambda() (instance 1)]::operator ()() lambda() "
            "(instance 2)]::operator ()() lambda(float) (instance 1)], std::array<char *, 2>>(int)",
            "add",
        ),
        ("void add<a > b>(int)", "add"),
        ("std::type_of<int>::type add<a > b, x<1>, 2>(int)", "add"),
        ("void at::native::add<4, f->g, x<1>, std::array<char *, 2>>(int, T2)", "add"),
        ("void at::native::add<4, f)::g, std::array<char *, 2>>(int, T2)", "add"),
        ("void ns::inner::add<int>(int *)", "add"),
        ("(anonymous namespace)::k(int)", "k"),
        ("void (anonymous namespace)::helper(int)", "helper"),
        ("std::enable_if<(A)>(0), void>::type fill<int>(int)", "fill"),
        ("volta_sgemm_32x128_nn", "volta_sgemm_32x128_nn"),
        ("_Z5saxpyPKfPfi", "saxpy"),
        ("_Z6kernelIfLi4EEvPT_", "kernel"),
        ("_ZN2ns5inner3addIiEEvPT_", "add"),
        ("_ZN12_GLOBAL__N_16helperEi", "helper"),
        ("::", "::"),
        ("_ZNK", "_ZNK"),
        ("", ""),
        ("<", "<"),
    ],
)
def test_bare_names(printed: str, bare: str) -> None:
    assert bare_name(printed) == bare


@given(st.text(max_size=60) | st.text(alphabet="_ZNKLEI0123456789ab<>(),: ", max_size=40))
def test_any_name_has_a_bare_one_that_is_no_longer(printed: str) -> None:
    assert bare_name(printed) or not printed.strip()
    assert len(bare_name(printed)) <= len(printed)
