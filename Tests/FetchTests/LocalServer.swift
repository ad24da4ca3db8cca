import Glibc

/// A TLS server on loopback whose paths misbehave in all the ways a provider can.
///
/// It is a Python child that makes its own authority with the openssl command, and ends when its standard input does,
/// so that nothing outlives the test run.
@safe final class LocalServer: Sendable {
  let port: Int
  /// PEM file of the authority that signed the server's certificate.
  let caFile: String
  /// PEM file of an authority that did not.
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
    // A child that held the other end of its own input would never see it end.
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
    precondition(line.count == 3, "the local server did not start")
    port = Int(line[0]) ?? 0
    caFile = line[1]
    otherCAFile = line[2]
  }

  func url(_ path: String, host: String = "localhost") -> String { "https://\(host):\(port)\(path)" }

  private static func readLine(_ descriptor: Int32) -> String {
    var bytes: [UInt8] = []
    var byte: UInt8 = 0
    while unsafe read(descriptor, &byte, 1) == 1, byte != UInt8(ascii: "\n") { bytes.append(byte) }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static let script = """
    import atexit, http.server, os, shutil, socket, ssl, subprocess, sys, tempfile, threading, time
    home = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, home)
    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], cwd=home, check=True, capture_output=True)
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    for name in ["ca", "other"]:
        openssl("req", "-x509", *curve, "-subj", "/CN=" + name, "-keyout", name + ".key", "-out", name + ".pem")
    openssl("req", "-x509", *curve, "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
            "-CA", "ca.pem", "-CAkey", "ca.key", "-keyout", "server.key", "-out", "server.pem")
    busy, most, lock = 0, 0, threading.Lock()
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
            global busy, most
            if self.path == "/ok":
                self.answer(200, b'{"keys":[]}', Content_Type="application/json",
                            Cache_Control="public, max-age=1234, must-revalidate")
            elif self.path == "/agent":
                self.answer(200, self.headers["User-Agent"].encode())
            elif self.path == "/missing":
                self.answer(404, b"no such page")
            elif self.path == "/redirect":
                self.answer(302, b"", Location="/ok")
            elif self.path == "/slow":
                self.answer(200, b"[", length=1000)
                for _ in range(999):
                    time.sleep(0.05)
                    self.wfile.write(b" ")
            elif self.path == "/huge":
                self.answer(200, b"x" * 5_000_000)
            elif self.path == "/endless":
                self.send_response(200)
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                while True:
                    self.wfile.write(b"1000\\r\\n" + b"x" * 4096 + b"\\r\\n")
            elif self.path.startswith("/sized/"):
                self.answer(200, b"x" * int(self.path[7:]))
            elif self.path == "/headers":
                self.answer(200, b"", **{"X_%d" % i: "y" * 1000 for i in range(80)})
            elif self.path == "/busy":
                with lock:
                    busy += 1
                    most = max(most, busy)
                time.sleep(0.1)
                with lock:
                    busy -= 1
                self.answer(200, b"")
            elif self.path == "/most":
                self.answer(200, str(most).encode())
            elif self.path == "/cut":
                self.answer(200, b"half", length=8)
                self.close_connection = True
        def handle(self):
            try:
                super().handle()
            except OSError:
                pass
    class Server(http.server.ThreadingHTTPServer):
        def handle_error(self, request, address): pass
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(home + "/server.pem", home + "/server.key")
    server = Server(("127.0.0.1", 0), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], home + "/ca.pem", home + "/other.pem", flush=True)
    sys.stdin.read()
    """
}
