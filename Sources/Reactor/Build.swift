/// What this build is called: here, because every program stands on this module.
package enum Build {
  package static let version = "0.1.0"
}
