import Glibc

/// A folder of its own for one test.
func withFolder(_ body: (String) throws -> Void) throws {
  let template = Array("/tmp/latchkey-private.XXXXXX".utf8CString)
  let folder = unsafe template.withUnsafeBufferPointer { unsafe String(cString: mkdtemp(strdup($0.baseAddress!))) }
  try body(folder)
}

func mode(_ path: String) -> mode_t {
  var entry = stat()
  unsafe stat(path, &entry)
  return entry.st_mode & 0o7777
}
