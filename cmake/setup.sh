#!/bin/sh
# The one set-up behind ./ruleengine and ./test. Every step is skipped when its
# result is there, so a second call costs nothing worth telling.
#
#   setup.sh program              what it takes to run build/ruleengine
#   setup.sh build PRESET TARGET  the same, then any targets of a preset
#   setup.sh install PREFIX       builds and installs what ships
#   setup.sh package              the same as build/ruleengine_*.deb
#   setup.sh configure PRESET     up to CMake's own part
#   setup.sh dependencies         Debian packages and the ONNX library
#   setup.sh onnx                 the same, but packages must be there
#   setup.sh python               a Python with tests/requirements.txt; its path
#   setup.sh oldest-python        the same with the oldest ONNX Runtime
#   setup.sh cuda-python          one with tools of NVIDIA, where CUDA is
#   setup.sh onnx-path            where the ONNX library belongs
#
# Downloads and builds of other people's code live in RULEENGINE_CACHE
# (~/.cache/ruleengine), ours in build/ and build-PRESET/. All chatter goes to
# stderr or a log; stdout is for paths.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd -P)
cache=${RULEENGINE_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/ruleengine}
python=/usr/bin/python3
packages="g++ cmake ninja-build ccache pkg-config python3-venv
  libluajit-5.1-dev libprotobuf-dev protobuf-compiler libprotozero-dev
  libfmt-dev doctest-dev libcli11-dev nlohmann-json3-dev libbenchmark-dev
  zlib1g-dev libminizip-dev libre2-dev libunistring-dev graphviz dpkg-dev file
  python3-dev patchelf"
[ "$(uname -m)" != x86_64 ] || packages="$packages libxsmm-dev"

. "$root/cmake/progress.sh"

# --- Debian packages -------------------------------------------------------

missing_packages() {
  for package in $packages; do
    case $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>&1) in
      installed) ;;
      *) printf '%s ' "$package" ;;
    esac
  done
}

# Whatever a package starts must not hold our lock for ever.
apt() {
  DEBIAN_FRONTEND=noninteractive \
    apt-get -q -o DPkg::Lock::Timeout=600 "$@" 9>&-
}

has_packages() {
  # One query for all is the quick way; the slow one names the missing.
  # shellcheck disable=SC2086
  ! dpkg-query -W -f '${db:Status-Status}\n' $packages 2>&1 |
    grep -qvx installed
}

need_packages() {
  has_packages && return 0
  mkdir -p "$cache"
  lock "$cache/lock"
  missing=$(missing_packages)
  [ -z "$missing" ] || install_packages
  unlock
}

install_packages() {
  command -v apt-get >/dev/null ||
    fail "needs Debian's packages ($missing), and there is no apt-get here"
  [ "$(id -u)" = 0 ] ||
    fail "needs root once, or this done by hand: apt-get install $missing"
  step "updating the package lists" apt update ||
    warn "apt-get update failed; going on with the lists that are here"
  # shellcheck disable=SC2086
  step "installing $(echo $missing | wc -w) Debian packages" \
    apt install -y --no-install-recommends $missing && return 0
  for package in $missing; do
    apt-cache show "$package" >/dev/null 2>&1 ||
      warn "Debian package $package: apt-get knows no such package"
  done
  fail "could not install: $missing(Debian 12 'bookworm' has them all)"
}

# once FILE WHAT FAILURE COMMAND...: runs the command unless the file is there,
# as one process at a time.
once() {
  [ -e "$1" ] && return 0
  mkdir -p "$cache"
  lock "$cache/lock"
  if [ ! -e "$1" ]; then
    what=$2
    failure=$3
    shift 3
    step "$what" "$@" || fail "$failure"
  fi
  unlock
}

# --- The ONNX library ------------------------------------------------------

# The compiler and protobuf are part of the key: an archive built against
# another protobuf links and then crashes.
onnx_path() {
  key=$({ cat "$root/cmake/onnx.sh"; g++ -dumpfullversion -dumpmachine
          dpkg-query -W -f '${Version}' libprotobuf-dev; } | sha256sum |
        cut -c1-12)
  echo "$cache/onnx-1.23.2-$key"
}

need_onnx() {
  onnx=$(onnx_path)
  once "$onnx/lib/libonnx.a" "building the ONNX library (once, some minutes)" \
    "the ONNX library could not be fetched or built" \
    "$root/cmake/onnx.sh" "$onnx" "$cache/onnx-build"
}

need_dependencies() {
  need_packages
  need_onnx
}

# --- Python ----------------------------------------------------------------

# The headers and the sources of nanobind, which are a package of Python.
nanobind_path() {
  version=$(sed -n 's/.*"nanobind==\([0-9.]*\)".*/\1/p' "$root/pyproject.toml")
  echo "$cache/nanobind-$version"
}

need_nanobind() {
  nanobind=$(nanobind_path)
  once "$nanobind" "fetching nanobind" "nanobind could not be fetched" \
    fetch_package nanobind "$nanobind"
}

# fetch_package NAME FOLDER-VERSION: what the package has, into that folder.
fetch_package() {
  rm -rf "$2.pip" "$2.part"
  $python -m venv "$2.pip" &&
    "$2.pip/bin/python" -m pip install --disable-pip-version-check \
      --only-binary :all: --no-deps --target "$2.part" "$1==${2##*-}" &&
    rm -rf "$2.pip" && mv "$2.part" "$2"
}

# The headers of cuDNN's frontend, which are a package of Python, where there is
# a CUDA toolkit.
cudnn_frontend=1.32.0

has_cuda() {
  command -v nvcc >/dev/null || [ -x "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" ]
}

need_cudnn_frontend() {
  frontend=
  has_cuda || return 0
  frontend=$cache/cudnn-frontend-$cudnn_frontend
  once "$frontend" "fetching cuDNN's frontend" \
    "the package nvidia-cudnn-frontend could not be fetched" \
    fetch_package nvidia-cudnn-frontend "$frontend"
}

# need_python FILE, of tests/, with the packages.
need_python() {
  requirements=$root/tests/$1
  key=$({ cat "$requirements"; $python --version; } |
        sha256sum | cut -c1-12)
  venv=$cache/python-$key
  once "$venv/complete" "installing the Python packages of tests/$1" \
    "the packages of tests/$1 could not be installed" python_environment
}

python_environment() {
  rm -rf "$venv"
  $python -m venv "$venv" &&
    "$venv/bin/python" -m pip install --disable-pip-version-check \
      --only-binary :all: -r "$requirements" &&
    touch "$venv/complete"
}

print_python() {
  need_packages
  need_python "$1"
  echo "$venv/bin/python"
}

# --- Our own code ----------------------------------------------------------

folder_of() {
  if [ "$1" = release ]; then echo "$root/build"; else echo "$root/build-$1"; fi
}

# A build folder that was configured elsewhere (the clone was moved or copied)
# is worthless and says so in its own CMakeCache.txt.
configure() {
  wanted="$root $onnx $nanobind $frontend"
  if [ -e "$build/CMakeCache.txt" ] &&
      ! grep -qx "CMAKE_HOME_DIRECTORY:INTERNAL=$root" \
        "$build/CMakeCache.txt"; then
    find "$build" -mindepth 1 ! -name .lock -delete
  fi
  if [ ! -e "$build/build.ninja" ] || [ ! -e "$build/.configured" ] ||
      [ "$root/CMakePresets.json" -nt "$build/.configured" ] ||
      [ "$(cat "$build/.configured")" != "$wanted" ]; then
    (cd "$root" && cmake --preset "$1" -DRULEENGINE_ONNX="$onnx" \
      -DRULEENGINE_NANOBIND="$nanobind" \
      -DRULEENGINE_CUDNN_FRONTEND="$frontend" -DPython_EXECUTABLE="$python") ||
      return 1
    echo "$wanted" >"$build/.configured"
  fi
  # An added file reconfigures too, so a configured folder knows every test.
  cmake --build "$build" --target build.ninja
}

need_configure() {
  need_nanobind
  need_cudnn_frontend
  preset=$1
  build=$(folder_of "$preset")
  mkdir -p "$build"
  lock "$build/.lock"
  step "configuring ($preset)" configure "$preset" ||
    fail "CMake could not configure ${build##*/}"
  unlock
}

# need_build PRESET TARGET...
need_build() {
  preset=$1
  shift
  need_nanobind
  need_cudnn_frontend
  build=$(folder_of "$preset")
  mkdir -p "$build"
  lock "$build/.lock"
  # Another process may have done it all while this one waited.
  if [ "$*" != ruleengine ] || [ "$preset" != release ] || ! fresh; then
    step "configuring ($preset)" configure "$preset" ||
      fail "CMake could not configure ${build##*/}"
    # Older than the build, so that what is edited meanwhile counts as newer.
    echo "$root" >"$build/.stamp.new"
    # shellcheck disable=SC2086
    step "building ($preset)" cmake --build "$build" --target "$@" \
      -- ${RULEENGINE_NINJA:-} ||
      fail "the build failed"
    case " $* " in
      *" ruleengine "*) mv "$build/.stamp.new" "$build/.stamp" ;;
    esac
  fi
  unlock
}

. "$root/cmake/fresh.sh"
case ${1:-} in
  program) need_dependencies; need_build release ruleengine ;;
  build) shift; need_dependencies; need_build "$@" ;;
  install)
    need_dependencies
    need_build release ruleengine all
    cmake --install "$build" --prefix "$2" >&2
    # The loader finds libraries of /usr/local by its cache.
    [ "$(id -u)" != 0 ] || ldconfig
    ;;
  package)
    need_dependencies
    need_build release ruleengine all
    (cd "$build" && rm -f ruleengine_*.deb && cpack >&2)
    ;;
  configure) need_dependencies; need_configure "$2" ;;
  dependencies) need_dependencies ;;
  onnx)
    has_packages ||
      fail "needs Debian's packages: apt-get install $(missing_packages)"
    need_onnx
    ;;
  python) print_python requirements.txt ;;
  oldest-python) print_python requirements-oldest.txt ;;
  cuda-python)
    has_cuda || fail "there is no CUDA toolkit here"
    print_python requirements-cuda.txt
    ;;
  onnx-path) onnx_path ;;
  *) sed -n '2,/^set/{/^#/p}' "$0" >&2; exit 2 ;;
esac
