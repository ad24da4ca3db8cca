import Glibc

/// A TLS server on loopback whose paths show all the faults that a provider can have.
///
/// It is a Python child process that makes its own authority with the openssl command. It ends with its standard input,
/// so that it does not outlive the test run.
@safe final class LocalServer: Sendable {
  let port: Int
  /// The port for HTTP without TLS.
  let plainPort: Int
  /// A port that accepts connections and sends nothing.
  let silentPort: Int
  /// PEM file of the authority that signed the server's certificate.
  let caFile: String
  /// PEM file of another authority.
  let otherCAFile: String
  private let input: Int32
  private let process: pid_t

  static let shared = LocalServer()

  private init() {
    var toChild: [Int32] = [0, 0]
    var fromChild: [Int32] = [0, 0]
    unsafe precondition(pipe(&toChild) == 0 && pipe(&fromChild) == 0, "no pipe")
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    unsafe posix_spawn_file_actions_adddup2(&actions, toChild[0], 0)
    unsafe posix_spawn_file_actions_adddup2(&actions, fromChild[1], 1)
    // A child with the other end of its own input would never see the end of that input.
    unsafe posix_spawn_file_actions_addclose(&actions, toChild[1])
    unsafe posix_spawn_file_actions_addclose(&actions, fromChild[0])
    var arguments = unsafe [strdup("python3"), strdup("-c"), strdup(LocalServer.script), nil]
    var child = pid_t()
    let code = unsafe posix_spawnp(&child, "python3", &actions, nil, &arguments, environ)
    precondition(code == 0, "python3 is needed by these tests")
    for unsafe argument in unsafe arguments { unsafe free(argument) }
    unsafe posix_spawn_file_actions_destroy(&actions)
    _ = Glibc.close(toChild[0])
    _ = Glibc.close(fromChild[1])
    input = toChild[1]
    process = child
    let line = LocalServer.readLine(fromChild[0]).split(separator: " ").map(String.init)
    precondition(line.count == 5, "the local server did not start")
    let ports = line.prefix(3).map { Int($0) ?? 0 }
    (port, plainPort, silentPort) = (ports[0], ports[1], ports[2])
    caFile = line[3]
    otherCAFile = line[4]
  }

  func url(_ path: String, host: String = "localhost", port: Int? = nil) -> String {
    "https://\(host):\(port ?? self.port)\(path)"
  }

  private static func readLine(_ descriptor: Int32) -> String {
    var bytes: [UInt8] = []
    var byte: UInt8 = 0
    while unsafe read(descriptor, &byte, 1) == 1, byte != UInt8(ascii: "\n") { bytes.append(byte) }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static let script = """
    import atexit, collections, gzip, http.server, os, shutil, socket, ssl, struct, subprocess, sys, tempfile
    import threading, time, zlib
    home = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, home)
    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], cwd=home, check=True, capture_output=True)
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    for name in ["ca", "other"]:
        openssl("req", "-x509", *curve, "-subj", "/CN=" + name, "-keyout", name + ".key", "-out", name + ".pem")
    openssl("req", "-x509", *curve, "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
            "-CA", "ca.pem", "-CAkey", "ca.key", "-keyout", "server.key", "-out", "server.pem")
    lock = threading.Condition()
    busy, most, asked = collections.Counter(), collections.Counter(), collections.Counter()
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        def log_message(self, *arguments): pass
        def answer(self, status, body, length=None, **headers):
            self.send_response(status)
            self.send_header("Content-Length", str(len(body) if length is None else length))
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            self.wfile.write(body)
        def do_GET(self):
            name, *rest = self.path[1:].split("/")
            page = getattr(self, "page_" + name.replace("-", "_"), None)
            page(*rest) if page else self.answer(404, b"no such page")
        do_POST = do_DELETE = do_GET

        def page_ok(self):
            self.answer(200, b'{"keys":[]}', Content_Type="application/json",
                        Cache_Control="public, max-age=1234, must-revalidate")
        def page_echo(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            lines = [self.command] + sorted(f"{name}: {value}" for name, value in self.headers.items())
            self.answer(200, "\\n".join(lines).encode() + b"\\n\\n" + body)
        def page_peer(self):
            self.answer(200, str(self.client_address[1]).encode())
        def page_sized(self, size):
            self.answer(200, b"x" * int(size))
        def page_gzip(self, size):
            self.answer(200, gzip.compress(b"x" * int(size)), Content_Encoding="gzip")
        def page_deflate(self, size):
            self.answer(200, zlib.compress(b"x" * int(size)), Content_Encoding="deflate")
        def page_bomb(self):
            self.answer(200, gzip.compress(b"x" * 50_000_000, 1), Content_Encoding="gzip")
        def page_bomb_in_bomb(self, codings):
            # Empty blocks, of which nothing comes out: no limit of what does would end it.
            inner = gzip.compress(b"")[:10] + b"\\0\\0\\0\\xff\\xff" * 2_000_000
            self.answer(200, gzip.compress(inner, 1), Content_Encoding=codings)
        def page_bomb_in_two_fields(self):
            self.answer(200, b"x", Content_Encoding="gzip", Content_encoding="gzip")
        def page_bomb_on_the_way(self):
            self.answer(200, b"x", Content_Encoding="gzip", Transfer_Encoding="gzip")
        def page_false_gzip(self):
            self.answer(200, b"no gzip", Content_Encoding="gzip")
        def page_head(self, size):
            head = b"HTTP/1.1 200 OK\\r\\nContent-Length: 0\\r\\nX: %s\\r\\n\\r\\n"
            self.wfile.write(head % (b"x" * (int(size) - len(head) + 2)))
        def page_cache_controls(self, count):
            lines = [b"Cache-Control: max-age=5"] * int(count)
            self.wfile.write(b"\\r\\n".join([b"HTTP/1.1 200 OK", b"Content-Length: 0"] + lines + [b"", b""]))
        def page_busy(self, name, count):
            with lock:
                busy[name] += 1
                most[name] = max(most[name], busy[name])
                lock.notify_all()
                # Requests that arrive slowly overlap too.
                lock.wait_for(lambda: most[name] >= int(count), timeout=30)
            time.sleep(0.1)
            with lock:
                busy[name] -= 1
            self.page_peer()
        def page_most(self, name):
            self.answer(200, str(most[name]).encode())
        def page_failing(self, name, times):
            with lock:
                asked[name] += 1
            self.answer(500 if asked[name] <= int(times) else 200, b"")
        def page_asked(self, name):
            self.answer(200, str(asked[name]).encode())

        def page_redirect(self):
            self.answer(302, b"", Location="/ok")
        def page_redirect_private(self):
            self.answer(307, b"", Location="https://10.0.0.1/latest/meta-data")
        def page_error(self):
            self.answer(500, b"{}", Content_Type="application/json")
        def page_html(self):
            self.answer(200, b"<!doctype html><title>Sign in</title>", Content_Type="text/html")
        def page_hang(self):
            time.sleep(60)
        def page_slow(self, name=""):
            with lock:
                asked[name] += 1
            self.answer(200, b"[", length=1000)
            for _ in range(999):
                time.sleep(0.05)
                self.wfile.write(b" ")
        def page_huge(self):
            self.answer(200, b"x" * 50_000_000)
        def page_endless(self):
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            while True:
                self.wfile.write(b"1000\\r\\n" + b"x" * 4096 + b"\\r\\n")
        def page_endless_head(self):
            self.wfile.write(b"HTTP/1.1 200 OK\\r\\n")
            while True:
                self.wfile.write(b"X: y\\r\\n" * 100)
        def page_endless_line(self):
            self.wfile.write(b"HTTP/1.1 200 OK\\r\\nX: ")
            while True:
                self.wfile.write(b"y" * 4096)
        def page_endless_hints(self):
            while True:
                self.wfile.write(b"HTTP/1.1 103 Early Hints\\r\\nX: y\\r\\n\\r\\n" * 10)
        def page_garbage(self):
            self.wfile.write(b"\\x00\\xff\\xfe garbage\\r\\n\\r\\n")
            self.close_connection = True
        def page_cut(self):
            self.answer(200, b"half", length=8)
            self.close_connection = True
        def page_silence(self):
            self.close_connection = True
        def page_reset(self):
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            os.close(self.connection.detach())
            self.close_connection = True
        def handle(self):
            try:
                super().handle()
            except OSError:
                pass
    class Server(http.server.ThreadingHTTPServer):
        request_queue_size = 128
        def handle_error(self, request, address): pass
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(home + "/server.pem", home + "/server.key")
    server, plain = Server(("127.0.0.1", 0), Handler), Server(("127.0.0.1", 0), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    for each in (server, plain):
        threading.Thread(target=each.serve_forever, daemon=True).start()
    silent = socket.create_server(("127.0.0.1", 0), backlog=128)
    ports = [each.getsockname()[1] for each in (server.socket, plain.socket, silent)]
    print(*ports, home + "/ca.pem", home + "/other.pem", flush=True)
    sys.stdin.read()
    """
}
