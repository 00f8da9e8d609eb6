"""What an opcode is for."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcts.domain.profile import InstructionKind
from profilers.sass.opcodes import kind_of, listed_kind, operation, with_operands

DATA = Path(__file__).parents[2] / "data" / "sass"
# The most frequent opcodes of public code for sm_75 to sm_120, in that order.
FREQUENT = re.findall(
    r"\w+",
    """
IMAD ISETP IADD3 FFMA LDG BRA LEA NOP LDS LOP3 MOV SHF FMUL STS FADD DFMA PRMT SEL HADD2 BSYNC BSSY
STG LDC ULDC CS2R FSEL FMNMX FSETP UIADD3 SHFL HMMA DADD UMOV I2F DMUL BAR PLOP3 S2R HFMA2 CALL MUFU
P2R F2FP EXIT BMOV STL IMNMX LDL LDCU DSETP USHF VIADD UIMAD UISETP IADD LD LDGSTS VIMNMX WARPSYNC
ST F2I HMNMX2 IDP F2F LDSM ULOP3 ULEA IABS S2UR USEL HMUL2 R2UR SYNCS R2P ENDCOLLECTIVE DMMA VOTE
HSETP2 I2FP SGXT FCHK BREAK DEPBAR MEMBAR YIELD RED RET UPRMT IMMA REDG CCTL HSET2 VOTEU BRX FRND
LDGDEPBAR NANOSLEEP FENCE ATOMG ATOMS ERRBAR POPC ATOM STSM UTMASTG LEPC UTMACMDFLUSH REDUX FLO
VIADDMNMX HGMMA FFMA2 BMSK CGAERRBAR QSPC VIMNMX3 UFLO B2R WARPGROUP BPT UTMALDG QMMA USETSHMSZ TLD
F2IP UPLOP3 MATCH BREV ELECT ACQBULK I2I UP2UR UCGABAR_WAIT TEX I2IP QGMMA FMNMX3 UTMAREDG MOVM
UFFMA UVIMNMX UCGABAR_ARV STAS USETMAXREG BRXU PREEXIT FMUL2 UPOPC UI2F ARRIVES IGMMA UTMAPF UFSETP
CREDUX USGXT FSET UFADD UI2FP UFMUL UIMNMX UFSEL UTCCP UFRND LDTM UF2I VABSDIFF4 UTMACCTL UTCOMMA
UTCATOMSWS STTM SUST UTCBAR UBREV CS2UR UGETNEXTWORKID UVIRTCOUNT UBLKCP VHMNMX UF2FP SULD UTCHMMA
""",
)


def test_every_frequent_opcode_is_in_a_table() -> None:
    assert [opcode for opcode in FREQUENT if listed_kind(opcode) is None] == []


@pytest.mark.parametrize("listing", sorted(DATA.glob("*.txt")))
def test_every_opcode_of_the_listings_is_in_a_table(listing: Path) -> None:
    pattern = r"^\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z]\w*)"
    opcodes = set(re.findall(pattern, listing.read_text(), re.MULTILINE))
    assert len(opcodes) > 20
    assert {opcode for opcode in opcodes if listed_kind(opcode) is None} == set()


@pytest.mark.parametrize(
    ("opcodes", "kind"),
    [
        ("FFMA FADD FMUL FMNMX FSEL FSETP FFMA2 UFADD", "fp32"),
        ("DADD DFMA DMUL DSETP", "fp64"),
        ("HADD2 HMUL2 HSETP2 HMNMX2", "half"),
        ("HMMA HGMMA IMMA QGMMA DMMA UTCHMMA OMMA", "tensor"),
        ("IADD3 LEA LOP3 SHF ISETP PRMT POPC VIADD UIADD3 ULOP3 USHF", "integer"),
        ("MUFU", "special"),
        ("F2F F2I I2F F2FP I2FP FRND UF2F", "conversion"),
        ("LDG STG LDS STS LDL STL LDGSTS LDSM ATOMG REDG UTMALDG UBLKCP LDC ULDC", "memory"),
        ("BRA BSSY BSYNC EXIT BAR CALL RET WARPSYNC MEMBAR DEPBAR SYNCS", "control"),
        ("MOV SHFL S2R PLOP3 VOTE R2UR UMOV NOP WHATEVER", "other"),
    ],
)
def test_kinds(opcodes: str, kind: InstructionKind) -> None:
    assert {opcode: kind_of(opcode) for opcode in opcodes.split()} == dict.fromkeys(
        opcodes.split(), kind
    )


@pytest.mark.parametrize(
    ("text", "kind", "field"),
    [
        ("IMAD.MOV.U32 R6, RZ, RZ, R2", "other", ""),
        ("IMAD.U32 R3, RZ, RZ, UR9", "other", ""),
        ("IMAD.X R5, RZ, RZ, R5, P3", "integer", "integer_ops"),
        ("IMAD.SHL.U32 R0, R0, 0x4, RZ", "integer", "integer_ops"),
        ("IMAD.IADD R11, R1, 0x1, R0", "integer", "integer_ops"),
        ("IMAD.WIDE.U32 R2, R7, 0x4, R4", "integer", "integer_ops"),
        ("HFMA2.MMA R11, -RZ, RZ, 2, 0", "other", ""),
        ("HFMA2 R9, -RZ, RZ, 0, 2.384185791015625e-07", "other", ""),
        ("HFMA2 R9, R3, R3, R9", "half", "half_ops"),
        ("HFMA2.BF16_V2 R9, R3.H0_H0, R3.H1_H1, R9", "half", "half_ops"),
        ("HADD2.F32 R7, -RZ, R4.H0_H0", "conversion", "conversion_ops"),
        ("HADD2.F32 R7, R4.H0_H0, -RZ.H0_H0", "conversion", "conversion_ops"),
        ("HADD2 R7, R4, R5", "half", "half_ops"),
        ("FMUL R2, R2, R2", "fp32", "fmul_ops"),
        ("DSETP.GT.AND P0, PT, R2, R4, PT", "fp64", "double_ops"),
    ],
)
def test_operands_decide_what_an_idle_pipe_was_used_for(
    text: str, kind: InstructionKind, field: str
) -> None:
    mnemonic, _, operands = text.partition(" ")
    found = with_operands(operation(mnemonic), mnemonic, operands)
    assert (found.kind, found.field) == (kind, field)


@pytest.mark.parametrize(
    ("mnemonic", "key"),
    [
        ("LDG.E.128.CONSTANT", "global_loads.128"),
        ("LDG.E.U8", "global_loads.8"),
        ("LDG.E", "global_loads.32"),
        ("LDG.E.ENL2.256", "global_loads.256"),
        ("STG.E.64", "global_stores.64"),
        ("LDS.U.128", "shared_loads.128"),
        ("LDSM.16.MT88.4", "shared_loads.128"),
        ("STSM.16.M88.2", "shared_stores.64"),
        ("LDL.64", "local_loads"),
        ("BAR.SYNC.DEFER_BLOCKING", "barriers"),
        ("RED.E.ADD.F32.FTZ.RN.STRONG.GPU", "atomic_ops"),
        ("UTMALDG.2D", "bulk_copies"),
        ("S2R", ""),
    ],
)
def test_keys(mnemonic: str, key: str) -> None:
    assert operation(mnemonic).key == key


@given(mnemonic=st.text(min_size=1, max_size=40), operands=st.text(max_size=60))
def test_anything_is_some_operation(mnemonic: str, operands: str) -> None:
    found = with_operands(operation(mnemonic), mnemonic, operands)
    assert found.kind in ("other", kind_of(found.opcode), "conversion")
