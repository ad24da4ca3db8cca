# Sourced by the scripts beside it: what they all need before they can begin.

# Packages that building takes: the C libraries behind the modules of Sources/C, and the tools that find them.
build_packages=(
  libcrypt-dev libcurl4-openssl-dev libidn2-dev libnghttp2-dev libprotobuf-c-dev libsodium-dev libsqlite3-dev libssl-dev
  libutf8proc-dev pkg-config
)
# What the scripts themselves use: certificates, generated code and Python's virtual environments.
tool_packages=(ca-certificates curl openssl protobuf-compiler protobuf-c-compiler libprotobuf-dev python3-venv)
# PostgreSQL alone, and as a pair that replaces a lost primary. Tests start servers of their own from these programs.
database_packages=(etcd-server patroni postgresql)

# install_packages NAME...: only those that are missing.
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

# make_venv FOLDER REQUIREMENTS...: makes it anew where the requirements have changed since.
make_venv() {
  local folder=$1 wanted
  shift
  wanted=$(cat "$@" | sha256sum)
  [[ -f $folder/requirements.sha256 && $(< "$folder/requirements.sha256") == "$wanted" ]] && return
  echo "Making the Python environment $folder"
  local file arguments=()
  for file in "$@"; do arguments+=(-r "$file"); done
  rm -rf "$folder"
  # Joined, because a caller that looks at the result switches `set -e` off.
  /usr/bin/python3 -m venv "$folder" &&
    "$folder/bin/pip" install --quiet --disable-pip-version-check "${arguments[@]}" &&
    echo "$wanted" > "$folder/requirements.sha256"
}

need_swift() {
  command -v swift > /dev/null && return
  echo "Swift 6.3 is not on the PATH: install it from https://www.swift.org/install/linux/ and try again." >&2
  exit 1
}
