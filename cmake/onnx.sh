#!/bin/sh
# Builds the ONNX C++ library from its PyPI source package into $1, which
# must be a fixed path: ccache only hits again when the paths are the same.
#
#   cmake/onnx.sh PREFIX WORK
#
# The install appears under PREFIX whole or not at all. This file is part of
# the key of the cache: whoever edits it gets a fresh build.
set -eu
prefix=$1
work=$2
version=1.23.2
hash=008cb0467b2bbee41448acc7da8b6f4e704624cb0d327a2d5adafc7ce19bc5b8

rm -rf "$work" "$prefix.part"
mkdir -p "$work"
cd "$work"

# A private pip, since Debian's own may be absent; pip is given the hash, so
# that nothing but this very archive is ever unpacked.
python3 -m venv pip
printf 'onnx==%s --hash=sha256:%s\n' "$version" "$hash" >source.txt
pip/bin/python -m pip download --quiet --disable-pip-version-check \
    --require-hashes --no-deps --no-binary onnx -r source.txt
tar xzf "onnx-$version.tar.gz"
# It asks for CMake 3.26 but builds with the 3.25 of Debian 12.
sed -i 's/cmake_minimum_required(VERSION 3.26)/cmake_minimum_required(VERSION 3.25)/' \
    "onnx-$version/CMakeLists.txt"

# ONNX_USE_PROTOBUF_SHARED_LIBS only decides how ONNXConfig.cmake looks for
# protobuf: OFF wants a CMake package, which Debian's autotools build lacks.
# The library itself is an archive either way and links the static protobuf.
#
# With a namespace of its own it lives in one process with another ONNX library:
# protobuf ends a process that registers one message twice.
CCACHE_DIR=${CCACHE_DIR:-$(dirname "$prefix")/ccache}
export CCACHE_DIR
cmake -S "onnx-$version" -B build -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_INSTALL_PREFIX="$prefix.part" -DONNX_BUILD_PYTHON=OFF \
    -DONNX_NAMESPACE=ruleengine_onnx \
    -DONNX_USE_PROTOBUF_SHARED_LIBS=ON -DBUILD_SHARED_LIBS=OFF \
    -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DFETCHCONTENT_FULLY_DISCONNECTED=ON \
    -DCMAKE_CXX_FLAGS="-ffunction-sections -fdata-sections" \
    -DCMAKE_CXX_COMPILER_LAUNCHER=ccache
cmake --build build
cmake --install build
cd /
rm -rf "$prefix" "$work"
mv "$prefix.part" "$prefix"
