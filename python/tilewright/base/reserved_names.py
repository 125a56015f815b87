"""Names that C, C++ and the headers of their libraries take for themselves, in every standard in use."""

from __future__ import annotations

import re
from functools import cache

_C = """
    alignas alignof asm auto bool break case char const constexpr continue default do double else enum extern false
    float for goto if inline int long nullptr register restrict return short signed sizeof static static_assert struct
    switch thread_local true typedef typeof typeof_unqual union unsigned void volatile while
"""
_CPP = """
    and and_eq atomic_cancel atomic_commit atomic_noexcept bitand bitor catch char16_t char32_t char8_t class co_await
    co_return co_yield compl concept const_cast consteval constinit contract_assert decltype delete dynamic_cast
    explicit export friend mutable namespace new noexcept not not_eq operator or or_eq private protected public
    reflexpr reinterpret_cast requires static_cast synchronized template this throw try typeid typename using virtual
    wchar_t xor xor_eq
"""
_COMPILERS = """
    AVR MSDOS NDEBUG OS2 PPC WIN32 WIN64 arm fortran hpux i386 linux m68k mips powerpc
    riscv sgi sparc sun unix vax
"""
"""Macros beyond the standard that a compiler of some system defines, in ``gnu`` modes or always."""
_HEADERS = """
    BIG_ENDIAN BITINT_MAXWIDTH BUFSIZ BYTE_ORDER CHAR_BIT CLK_TCK CLOCKS_PER_SEC CSIGNAL DECIMAL_DIG DOMAIN EOF
    FALLTHROUGH FAST_STRCMP F_LOCK F_OK F_TEST F_TLOCK F_ULOCK HAVE_INITFINI_ARRAY HUGE I INFINITY LITTLE_ENDIAN
    LONG_BIT L_INCR L_SET L_XTND L_ctermid L_cuserid L_tmpnam MAXFLOAT MAX_CANON MAX_INPUT MINSIGSTKSZ NAN NFDBITS
    NGREG NSIG NULL NZERO ONCE_FLAG_INIT OVERFLOW PDP_ENDIAN PIPE_BUF PLOSS POSIX_IO PREFER_SIZE_OVER_SPEED P_tmpdir
    R_OK SING SIZE_T_MAX TINY_STDIO TLOSS UNDERFLOW WCONTINUED WEOF WEXITED WNOHANG WNOWAIT WORD_BIT WSTOPPED
    WUNTRACED W_OK X_OK X_TLOSS assert complex errno fd_set imaginary math_errhandling max_align_t noreturn offsetof
    physadr ptrdiff_t quad sched_priority setjmp sigev_notify_attributes sigev_notify_function signgam size_t
    ssize_t stderr stdin stdout strtodf tzname va_arg va_copy va_end va_list va_start
"""
_WORDS = frozenset(f"{_C} {_CPP} {_COMPILERS} {_HEADERS}".split())

_FAMILIES = (
    r"E[0-9A-Z]+",  # errno.h: C reserves all of them
    r"[A-Z0-9_]+_(MAX|MIN|WIDTH)",  # limits.h, stdint.h, float.h
    r"(U?INT(MAX|PTR|(_FAST|_LEAST)?[0-9]+)_C?\w*|(PRI|SCN)[a-zX]\w*)",  # stdint.h, inttypes.h
    r"u?int((_fast|_least)?[0-9]+|max|ptr)_t",
    r"(FLT|DBL|LDBL|DEC)[0-9]*X?_\w+",  # float.h
    r"(HUGE_VAL\w*|SNANF?[0-9]*X?L?|(FP|FE|MATH)_[A-Z]\w*)",  # math.h, fenv.h
    r"M_[A-Z0-9_]*(E|PI|LN|LOG|SQRT)[A-Z0-9_]*[a-z0-9]*",
    r"(LC|NL)_[A-Z]+\w*",  # locale.h, limits.h
    r"(SIG_?|S[AIS]_|SEGV_|BUS_|CLD_|FPE_|ILL_|POLL_|TRAP_|REG_)[A-Z]\w*",  # signal.h
    r"(sa|si)_[a-z_]+",
    r"(EXIT|SEEK|RENAME|STDERR|STDIN|STDOUT|FD)_[A-Z]+",  # stdio.h, stdlib.h, unistd.h
    r"(ADJ|CLOCK|CLONE|CLOSE_RANGE|CPU|MOD|SCHED|STA|TIME|TIMER)_[A-Z]\w*",  # time.h, sched.h
    r"(EXT|FCLASS|NEWLIB|PICOLIBC)_[A-Z]\w*",  # newlib and picolibc
    r"(ATOMIC|PTHREAD|TSS)_[A-Z]\w*|atomic_[a-z_]+",  # stdatomic.h, threads.h
)
_SMALL = ("int", "uint", "sa_", "si_", "atomic_")
"""What names of families begin with that do not begin with two of capitals, digits and underscores."""


def is_header_word(name: str) -> bool:
    """Whether C, C++ or a header has exactly this name; a whole family of names such as ``E...`` does not count."""
    return name in _WORDS


def is_reserved(name: str) -> bool:
    """Whether a name may be a keyword or a macro where a generated header is included, or a type that it uses."""
    return name in _WORDS or _is_of_family(name)


def _is_of_family(name: str) -> bool:
    # Most names begin with a small letter or a word such as Conv, and to compile the expression takes 4 ms.
    may_be = name[:2] == name[:2].upper() or name.startswith(_SMALL)
    return may_be and _family().fullmatch(name) is not None


@cache
def _family() -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{family})" for family in _FAMILIES))
