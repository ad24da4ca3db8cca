/// The version of this build. It is in this module because every program depends on it.
package enum Build {
  package static let version = "0.1.0"
}
