// Values kept outside of the struct that names them. Records are a dozen texts and more, and a call hands them on many
// times: each copy would count every text, and an asynchronous function would have room for all of them in its task.
//
// Public, since Swift 6.3 inlines into other modules nothing that is for the package alone, and each use would ask the
// runtime for the types that it is made for.

/// Where a value is kept. Whoever sets another makes another place.
@usableFromInline final class Place<Value: Sendable>: Sendable {
  @usableFromInline let value: Value
  @inlinable init(_ value: Value) { self.value = value }
}

/// A value that is handed on as one pointer.
@propertyWrapper @frozen public struct Boxed<Value: Sendable>: Sendable {
  @usableFromInline var place: Place<Value>

  @inlinable public init(wrappedValue: Value) { place = Place(wrappedValue) }

  /// To be changed seldom, and as a whole: who sets one field of it copies all.
  @inlinable public var wrappedValue: Value {
    get { place.value }
    set { place = Place(newValue) }
  }

  /// To hand it on without a copy of the value.
  @inlinable public var projectedValue: Boxed {
    get { self }
    set { self = newValue }
  }
}

extension Boxed: Equatable where Value: Equatable {
  @inlinable public static func == (left: Boxed, right: Boxed) -> Bool {
    left.place === right.place || left.place.value == right.place.value
  }
}

extension Boxed: Hashable where Value: Hashable {
  @inlinable public func hash(into hasher: inout Hasher) { hasher.combine(place.value) }
}

/// The same of a value that there may not be: most facts of a call are nil.
@propertyWrapper @frozen public struct Held<Value: Sendable>: Sendable {
  @usableFromInline var place: Place<Value>?

  /// Not by `map`, which asks the runtime for the type of the place even where there is nothing to keep.
  @inlinable public init(wrappedValue: Value?) { place = if let wrappedValue { Place(wrappedValue) } else { nil } }

  @inlinable public var wrappedValue: Value? {
    get { place?.value }
    set { self = Held(wrappedValue: newValue) }
  }

  @inlinable public var projectedValue: Held {
    get { self }
    set { self = newValue }
  }
}

extension Held: Equatable where Value: Equatable {
  @inlinable public static func == (left: Held, right: Held) -> Bool {
    left.place === right.place || left.place?.value == right.place?.value
  }
}

extension Held: Hashable where Value: Hashable {
  @inlinable public func hash(into hasher: inout Hasher) { hasher.combine(place?.value) }
}
