# Sourced by ./ruleengine and setup.sh with $root set: whether build/ruleengine
# is there and no older than any source. It runs in front of every start of the
# program, so it is one `find` that stops at the first newer file or folder; a
# folder is newer when a file was added to it or taken away.
fresh() {
  [ -x "$root/build/ruleengine" ] && [ -e "$root/build/.stamp" ] || return 1
  read -r built_at <"$root/build/.stamp" || return 1
  [ "$built_at" = "$root" ] || return 1
  set -- "$root/core" "$root/bindings" "$root/cmake"
  for folder in "$root/runtime" "$root/kernels"; do
    [ ! -d "$folder" ] || set -- "$@" "$folder"
  done
  [ -z "$(find "$@" "$root/CMakeLists.txt" "$root/CMakePresets.json" \
    -newer "$root/build/.stamp" ! -name '*_test.cc' -print -quit)" ]
}
