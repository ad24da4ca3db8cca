/// Decides whether a reader maps the file into memory.
///
/// Reads through a mapping need no system call and no copy. But SQLite removes a reader's mapping at the first read
/// after each commit, and munmap(2) waits while another thread maps memory. libsodium maps 19 MiB for each password
/// hash, so a reactor would wait for milliseconds. A reader therefore maps the file only while no one changes it.
struct MappingPlan {
  /// How long the file must be unchanged before a reader maps it.
  static let quietMillis: Int64 = 500

  private(set) var isMapped = false
  private var commit: UInt64 = 0
  private var unchangedSinceMillis: Int64 = 0

  /// Returns whether the next transaction must map the file.
  ///
  /// - Parameter commit: the last commit that the transaction shows.
  mutating func maps(at commit: UInt64, nowMillis: Int64) -> Bool {
    if commit != self.commit {
      (self.commit, unchangedSinceMillis, isMapped) = (commit, nowMillis, false)
    } else if nowMillis - unchangedSinceMillis >= MappingPlan.quietMillis {
      isMapped = true
    }
    return isMapped
  }
}
