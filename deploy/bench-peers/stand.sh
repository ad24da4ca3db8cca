# Sourced by deploy/bench and deploy/profile, after prepare.sh. Prepares the folder that stand.py uses.

peers=deploy/bench-peers/peers
home=$root/.build/bench

# make_bound NAME LIBRARY
make_bound() {
  [[ $home/peers/$1 -nt $peers/$1.c ]] && return
  local flags
  read -ra flags <<< "$(pkg-config --cflags --libs "$2")"
  gcc -O2 "$peers/$1.c" "${flags[@]}" -o "$home/peers/$1"
}

# make_stand: the client stubs and the provider simulator, Argon2id for passwords, certificates and the master key.
make_stand() {
  mkdir -p "$home"/{peers,stubs}
  install_packages gcc sqlite3
  make_bound argon2id libsodium
  make_venv "$home/venv" {deploy/simulator,Tests/Interop}/requirements.txt
  "$home/venv/bin/python" -m grpc_tools.protoc -I proto --python_out="$home/stubs" --grpc_python_out="$home/stubs" \
    proto/latchkey/v1/{types,auth_service}.proto
  deploy/certificates "$home"
  (umask 077 && openssl rand -hex 32 > "$home/master.key.new" && mv -n "$home/master.key.new" "$home/master.key")
}
