internal import Store

/// The domain's kind. The protocol `Store` shadows its module, so a file that imports API too cannot qualify the name.
typealias StoredFactorKind = FactorKind
