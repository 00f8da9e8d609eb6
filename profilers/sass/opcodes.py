"""Opcodes of NVIDIA's machine code: the kind of each, and the count it belongs to.

Covers sm_70 to sm_121, as the instruction tables of NVIDIA's "CUDA Binary Utilities" list them. An
unlisted opcode is "other", and a uniform opcode (`UIADD3`) has the kind of its vector form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from mcts.domain.profile import InstructionKind

_OPCODES: dict[InstructionKind, str] = {
    "fp32": "FADD FADD2 FADD32I FCHK FFMA FFMA2 FFMA32I FHADD FHFMA FMNMX FMNMX3 FMUL FMUL2 "
    "FMUL32I FSEL FSET FSETP FSWZADD",
    "fp64": "DADD DFMA DMNMX DMUL DSET DSETP",
    "half": "HADD2 HADD2_32I HFMA2 HFMA2_32I HMNMX2 HMUL2 HMUL2_32I HSET2 HSETP2 VHMNMX "
    "QADD4 QFMA4 QMUL4",
    "integer": "BMSK BREV FLO IABS IADD IADD2 IADD3 IADD32I IDP IDP4A IMAD IMAD32I IMNMX IMUL "
    "IMUL32I ISCADD ISCADD32I ISETP LEA LOP LOP3 LOP32I POPC PRMT SEL SGXT SHF SHL SHR VABSDIFF "
    "VABSDIFF4 VIADD VIADDMNMX VIMNMX VIMNMX3 CLEA",
    "special": "MUFU",
    "conversion": "F2F F2FP F2I F2IP FRND I2F I2FP I2I I2IP",
    "memory": "ATOM ATOMG ATOMS LD LDC LDCU LDG LDGMC LDGSTS LDL LDS LDSM LDT LDTM RED REDAS REDG "
    "REDS ST STAS STG STL STS STSM STT STTM SULD SUATOM SURED SUST SUQUERY TEX TLD TLD4 TMML TXD "
    "TXQ BLKCP BLKPF BLKRED TMALDG TMAPF TMAREDG TMASTG MEMSETS REDGR STGR TCCP TCSHIFT",
    "control": "ACQBULK ACQSHMINIT ARRIVES BAR BMOV BPT BRA BREAK BRX BSSY BSYNC CALL CCTL CCTLL "
    "CCTLT CGABAR_ARV CGABAR_WAIT CGABAR_GET CGABAR_SET CGAERRBAR DEPBAR ELECT ENDCOLLECTIVE "
    "ERRBAR EXIT FENCE GETNEXTWORKID JMP JMX KILL LDGDEPBAR MEMBAR NANOSLEEP PREEXIT RET RPCMOV "
    "RTT SETMAXREG SYNCS TCATOMSWS TCBAR TMACCTL TMACMDFLUSH WARPGROUP WARPGROUPSET WARPSYNC YIELD "
    "BRXU JMXU",
    "other": "B2R CREDUX CS2R CS2UR CSMTEST FOOTPRINT GETLMEMBASE LEPC MATCH MOV MOV32I MOVM NOP "
    "P2R P2UR PLOP3 PMTRIG PSETP QSPC R2B R2P R2UR REDUX S2R S2UR SETCTAID SETLMEMBASE SETSHMSZ "
    "SHFL UP2UR UR2UP VIRTCOUNT VOTE VOTEU",
}
_KIND: dict[str, InstructionKind] = {
    opcode: kind for kind, opcodes in _OPCODES.items() for opcode in opcodes.split()
}
BRANCHES = frozenset({"BRA", "BRX", "BRXU", "JMP", "JMX", "JMXU"})
_FIELDS: dict[str, str] = {
    "LDL": "local_loads",
    "STL": "local_stores",
    "LDGSTS": "async_copies",
    "MUFU": "special_ops",
    "BAR": "barriers",
    "SHFL": "shuffles",
    **dict.fromkeys(
        ("UTMALDG", "UTMASTG", "UTMAREDG", "UBLKCP", "UBLKRED"), "bulk_copies"
    ),
    **dict.fromkeys(("FFMA", "FFMA2", "FFMA32I"), "fma_ops"),
    **dict.fromkeys(("FADD", "FADD2", "FADD32I"), "fadd_ops"),
    **dict.fromkeys(("FMUL", "FMUL2", "FMUL32I"), "fmul_ops"),
    **dict.fromkeys(("ATOM", "ATOMG", "ATOMS", "RED", "REDG", "REDS", "REDAS"), "atomic_ops"),
    **dict.fromkeys(BRANCHES, "branches"),
}  # fmt: skip
_FIELD_OF_KIND: dict[InstructionKind, str] = {
    "fp64": "double_ops",
    "half": "half_ops",
    "integer": "integer_ops",
    "conversion": "conversion_ops",
    "tensor": "tensor_ops",
}
_ACCESSES: dict[str, str] = {
    "LDG": "global_loads", "LD": "global_loads", "STG": "global_stores", "ST": "global_stores",
    "LDS": "shared_loads", "LDSM": "shared_loads", "STS": "shared_stores", "STSM": "shared_stores",
}  # fmt: skip
ACCESS_FIELDS = tuple(dict.fromkeys(_ACCESSES.values()))
_BYTE_WIDTHS = {"U8": "8", "S8": "8", "U16": "16", "S16": "16", "64": "64", "128": "128",
                "256": "256"}  # fmt: skip
_MATRIX_WIDTHS = {"2": "64", "4": "128"}


@dataclass(frozen=True, slots=True)
class Operation:
    """A parsed mnemonic such as ``LDG.E.128``.

    `field` is the count of `SassFacts` it belongs to, "" for none; for an access, `width` is the
    number of bits that a thread moves.
    """

    opcode: str
    kind: InstructionKind
    field: str = ""
    width: str = ""

    @property
    def key(self) -> str:
        """The name of the count in `SassFacts.lines`: ``global_loads.128``, ``barriers``."""
        return f"{self.field}.{self.width}" if self.width else self.field


@lru_cache(maxsize=4096)
def operation(mnemonic: str) -> Operation:
    """The operation that `mnemonic` names, regardless of its operands."""
    opcode, *modifiers = mnemonic.split(".")
    if opcode in _ACCESSES:
        return Operation(opcode, "memory", _ACCESSES[opcode], _width(opcode, modifiers))
    kind = kind_of(opcode)
    if opcode == "MEMBAR" and "CTA" not in modifiers:
        return Operation(opcode, kind, "wide_fences")
    return Operation(opcode, kind, _FIELDS.get(opcode) or _FIELD_OF_KIND.get(kind, ""))


def kind_of(opcode: str) -> InstructionKind:
    """The kind of an opcode without its modifiers."""
    return listed_kind(opcode) or "other"


def listed_kind(opcode: str) -> InstructionKind | None:
    """The same; None if no table lists the opcode."""
    if opcode.endswith("MMA"):
        return "tensor"
    return _KIND.get(opcode) or _KIND.get(opcode.removeprefix("U"))


def with_operands(operation: Operation, mnemonic: str, operands: str) -> Operation:
    """`operation`, corrected by its operands.

    The compiler fills idle pipes with moves: a product of zeros plus a value (``HFMA2.MMA R0, -RZ,
    RZ, 1, 0`` and ``IMAD.MOV.U32 R1, RZ, RZ, R2``) is a register move, unless it adds a carry
    (``IMAD.X``). ``HADD2.F32 R0, -RZ, R1.H0_H0`` widens a half to a float.
    """
    if operation.opcode == "HADD2":
        widens = mnemonic.startswith("HADD2.F32") and "-RZ" in operands
        return _WIDENING if widens else operation
    if operation.opcode in _MOVERS and not mnemonic.startswith("IMAD.X"):
        return _MOVE if multiplies_zeros(operands.split(",", 3)[1:3]) else operation
    return operation


_MOVERS = frozenset({"IMAD", "UIMAD", "HFMA2"})
_MOVE = Operation("MOV", "other")
_WIDENING = Operation("HADD2", "conversion", "conversion_ops")


def multiplies_zeros(sources: Sequence[str]) -> bool:
    """Whether the first two of an instruction's sources are the zero register."""
    return len(sources) >= 2 and all(
        source.strip().lstrip("-").partition(".")[0] in ("RZ", "URZ") for source in sources[:2]
    )


def _width(opcode: str, modifiers: list[str]) -> str:
    """Bits that a thread moves; the last modifier of a matrix load counts 8x8 tiles of 32 bits."""
    if opcode in ("LDSM", "STSM"):
        return _MATRIX_WIDTHS.get(modifiers[-1] if modifiers else "", "32")
    return next((_BYTE_WIDTHS[part] for part in modifiers if part in _BYTE_WIDTHS), "32")
