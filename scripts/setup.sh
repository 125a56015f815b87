#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, and nothing else: system packages (as root or by sudo) and a Python
# environment in .venv with Tilewright in editable form. Quick when all is there. With --demo only what
# `make demo` needs: no packages of tests, which are most of the set-up's time and size.
source "$(dirname "$0")/common.sh"

extras='[dev]'
[ "${1:-}" = --demo ] && extras=

packages=()
need() { # <package> <program or file>...
    local package=$1 thing
    shift
    for thing in "$@"; do
        # By absolute path only: this repository has folders that are named like programs.
        if ! command -v "$thing" >/dev/null 2>&1 && ! { [ "${thing#/}" != "$thing" ] && [ -e "$thing" ]; }; then
            packages+=("$package")
            return
        fi
    done
}

wishes=()
wish() { # <package> <program>: installed too where the distribution has the package.
    command -v "$2" >/dev/null 2>&1 || wishes+=("$1")
}

need gcc-riscv64-unknown-elf riscv64-unknown-elf-gcc
need picolibc-riscv64-unknown-elf /usr/lib/picolibc/riscv64-unknown-elf/picolibc.specs
need qemu-system-misc qemu-system-riscv32
need g++ g++
need cmake cmake
need ninja-build ninja
if [ -n "$extras" ]; then
    need gcc-arm-none-eabi arm-none-eabi-gcc
    need libnewlib-arm-none-eabi /usr/lib/arm-none-eabi/newlib/nano.specs
    need qemu-system-arm qemu-system-arm
    need clang clang
    need clang-format clang-format
    need clang-tidy clang-tidy
    need cppcheck cppcheck
    need gdb-multiarch gdb-multiarch
    # Projects of tests compile the same kernels many times.
    wish ccache ccache
    # Ubuntu has Chromium as a snap only; without it the tests of pages in a browser are skipped.
    wish chromium chromium
    wish chromium-driver chromedriver
fi

# The distribution's interpreter comes first: it plans in a seventh less time than one that was built from source as
# its makefile does by default.
python=
for candidate in /usr/bin/python3 python3 python3.14 python3.13 python3.12 python3.11 python3.10; do
    if "$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
        python=$candidate
        break
    fi
done
header='import os, sys, sysconfig; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))'
if [ -z "$python" ]; then
    packages+=(python3 python3-venv python3-dev)
elif ! "$python" -c "$header" 2>/dev/null; then
    packages+=(python3-dev)
fi

# Prints the wished packages that apt's lists have.
granted() {
    local package
    for package in ${wishes[@]+"${wishes[@]}"}; do
        # The output is read whole: with `grep -q`, apt-cache now and then dies of the closed pipe, which is a failure here.
        if [ -n "$(apt-cache madison "$package" 2>/dev/null)" ]; then
            echo "$package"
        fi
    done
}

as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)

apt_install() { # <package>...
    say "Installing $*"
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq &&
        "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

if [ ${#packages[@]} -gt 0 ]; then
    if ! command -v apt-get >/dev/null; then
        echo "error: please install the counterparts of these Debian packages: ${packages[*]}" >&2
        exit 1
    fi
    apt_install "${packages[@]}"
fi
# A package without which tests are slower, or fewer, stops nothing.
mapfile -t packages < <(granted)
if [ ${#packages[@]} -gt 0 ]; then
    apt_install "${packages[@]}" || echo "left out, as it cannot be installed: ${packages[*]}"
fi

if [ -z "$python" ]; then
    python=/usr/bin/python3
fi
if [ ! -x "$venv/bin/python" ] || ! "$venv/bin/python" -c '' 2>/dev/null; then
    say "Making the Python environment in .venv"
    rm -rf "$venv"
    "$python" -m venv "$venv"
fi
# A hash of what the environment was made from; when the hash changes, the environment is brought up to date.
# An editable installation knows modules by their paths, so the hash has the names of all modules.
stamp=$({
    cat pyproject.toml CMakeLists.txt cmake/TilewrightExtension.cmake python/tilewright/__init__.py \
        $(ls python/tilewright/placement/*.cpp python/tilewright/placement/*.hpp 2>/dev/null)
    find python/tilewright -name '*.py' | LC_ALL=C sort
} | sha256sum)
installed=$(cat "$venv/tilewright.stamp" 2>/dev/null || :)
# An environment with the packages of tests serves the demo as well, and keeps them.
if [ "$installed" != "$stamp $root [dev]" ] && [ "$installed" != "$stamp $root $extras" ]; then
    say "Installing Tilewright and its tools into .venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --editable ".$extras"
    # Where nothing may write bytecode (PYTHONDONTWRITEBYTECODE), each run would compile all modules again.
    "$venv/bin/python" -m compileall -q python/tilewright
    printf '%s %s %s\n' "$stamp" "$root" "$extras" >"$venv/tilewright.stamp"
fi

# Presets need 3.25; the CMake functions themselves do with 3.22.
cmake_version=$(cmake --version | sed -n 's/^cmake version //p')
if [ "$(printf '%s\n3.25\n' "$cmake_version" | sort -V | head -n 1)" != 3.25 ]; then
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check 'cmake>=3.25'
fi
