# For scripts in bash: check WHAT COMMAND... counts one check, and end_checks ends the script with the count. $sim is
# the simulator of the build.
set -uo pipefail
sim=${SKEIN_BUILD:?is the build directory}/bin/skein-sim
passed=0
failed=0

check() {
  if "${@:2}"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAILED: $1"
  fi
}

end_checks() {
  echo "$passed passed, $failed failed"
  exit $((failed > 0))
}
