"""Replies with one Python file that defines `ModelNew`: found among the blocks, and checked.

What is checked here costs no GPU: that the file is complete, stands on its own and does not lean on
the reference. Whether it does the work is for the judge to say.
"""

from __future__ import annotations

import ast
import re
import warnings

from codegen.dialects.kernelbench.constants import declared_constants
from codegen.replies.files import MAX_SOURCE_BYTES, check_size, texts_of
from codegen.replies.patches import has_patch, patched
from codegen.replies.text import ReplyText
from codegen.self_contained import self_contained
from mcts.domain import Candidate, KernelTask
from mcts.domain.python_source import parse_module
from mcts.errors import InputError, ProposalRejected
from mcts.ports import ProposalRequest

_CLASS = re.compile(r"\bModelNew\b")
_FIRST_LINE = re.compile(r'^(?:import |from \w|"""|#|class |[A-Z_]+ = )', re.MULTILINE)
_OWN_KERNEL = re.compile(r"compile_cuda|load_inline|triton|cpp_extension|__global__")
_PLACEHOLDER = re.compile(
    r"^[ \t]*#[ \t]*(?:\.{3}[ \t]*$"
    r"|(?:\.{3}[ \t]*)?(?:rest|remainder) of\b.*\b(?:unchanged|same|as)\b)",
    re.MULTILINE,
)


def python_candidate(reply: ReplyText, request: ProposalRequest) -> Candidate:
    """The file that a reply holds. It has no tunables of its own: constants carry the values."""
    source = _source(reply, request)
    check_size(source)
    tree = _parsed(source)
    _check_reference(tree)
    _check_class(tree)
    _check_kernels(source, request.task)
    try:
        self_contained(source)
        declared_constants(source)
    except InputError as error:
        raise ProposalRejected(f"the reply's file cannot be used: {error}") from None
    return Candidate(source=source)


def _source(reply: ReplyText, request: ProposalRequest) -> str:
    """The last block that holds a ModelNew and parses; else the patched variant; else the last
    that holds one, so that its error is told.
    """
    texts = [text for text in texts_of(reply) if _CLASS.search(text)]
    if not reply.blocks:
        texts = [cut for text in texts for cut in (text, _without_talk(text))]
    complete = [text for text in texts if _defines(text)]
    if complete:
        return complete[-1].strip() + "\n"
    if has_patch(reply):
        return patched(reply, request.parent.source)
    if not texts:
        raise ProposalRejected(
            "the reply holds no file: no block defines a class ModelNew(nn.Module)"
        )
    return texts[-1].strip() + "\n"


def _without_talk(text: str) -> str:
    """From the first line on that looks like Python."""
    found = _FIRST_LINE.search(text)
    return text[found.start() :] if found else text


def _defines(text: str) -> bool:
    if len(text) > MAX_SOURCE_BYTES:  # is refused, and takes seconds to parse
        return False
    try:
        return _model(_tree(text)) is not None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def _tree(source: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a stray backslash is the candidate's affair
        return parse_module(source)


def _parsed(source: str) -> ast.Module:
    try:
        return _tree(source)
    except SyntaxError as error:
        where = f"line {error.lineno}: " if error.lineno else ""
        line = f" in {error.text.strip()[:120]!r}" if error.text else ""
        raise ProposalRejected(f"the reply's file is no Python: {where}{error.msg}{line}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise ProposalRejected(f"the reply's file is no Python: {str(error)[:120]}") from None


def _model(tree: ast.Module) -> ast.ClassDef | None:
    found = [n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "ModelNew"]
    return found[-1] if found else None


def _check_class(tree: ast.Module) -> None:
    """Raise ProposalRejected unless ModelNew is a module with a forward."""
    model = _model(tree)
    if model is None:
        raise ProposalRejected("the reply's file defines no class ModelNew at its top level")
    if not model.bases:
        raise ProposalRejected("ModelNew must inherit from torch.nn.Module")
    methods = {node.name for node in model.body if isinstance(node, ast.FunctionDef)}
    known = {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
    inherits = any(isinstance(base, ast.Name) and base.id in known for base in model.bases)
    if "forward" not in methods and not inherits:
        raise ProposalRejected("ModelNew defines no forward")
    if any(_is_stub(node) for node in model.body):
        raise ProposalRejected("ModelNew is not complete: a method holds nothing but a placeholder")


def _is_stub(node: ast.stmt) -> bool:
    if not isinstance(node, ast.FunctionDef) or node.name != "forward" or len(node.body) != 1:
        return False
    only = node.body[0]
    empty = isinstance(only, ast.Expr) and isinstance(only.value, ast.Constant)
    return empty or isinstance(only, ast.Pass)


def _check_reference(tree: ast.Module) -> None:
    """Raise ProposalRejected where the problem's own `Model` is leant on."""
    own = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    for node in ast.walk(tree):
        named = isinstance(node, ast.Name) and node.id == "Model"
        if named and isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            if "Model" in own:
                why = "a copy of the reference is no new implementation"
            else:
                why = "the reference does not exist where the candidate runs"
            raise ProposalRejected(f"line {node.lineno} uses the class Model: {why}")


def _check_kernels(source: str, task: KernelTask) -> None:
    """Raise ProposalRejected where something is left out, or all is left to libraries that the
    policy forbids.
    """
    if found := _PLACEHOLDER.search(source):
        raise ProposalRejected(
            f"the reply's file is not complete: it says {found[0].strip()[:80]!r} instead of code"
        )
    if task.policy.libraries == "forbidden" and not _OWN_KERNEL.search(source):
        raise ProposalRejected(
            "the reply has no kernel of its own, and this task forbids leaving the work to "
            "PyTorch's"
        )
