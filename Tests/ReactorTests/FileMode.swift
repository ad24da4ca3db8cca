import Glibc

func mode(_ path: String) -> mode_t {
  var entry = stat()
  unsafe stat(path, &entry)
  return entry.st_mode & 0o7777
}
