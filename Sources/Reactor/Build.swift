private import CLinux

/// The version of this build. It is in this module because every program depends on it.
package enum Build {
  /// The number of the release that this source becomes. `deploy/version` reads this line.
  private static let number = "0.1.0"

  /// The number and, in a build of deploy/build, the commit: `0.1.0+g1a2b3c4`, with `.dirty` if files were changed.
  package static let version: String = {
    let commit = unsafe String(cString: lk_commit())
    return commit.isEmpty ? number : "\(number)+\(commit)"
  }()
}
