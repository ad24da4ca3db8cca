// Values stored outside the struct that contains them. Records hold a dozen strings and more, and a call passes them on
// many times. Each copy would retain every string, and an asynchronous function would reserve space for all of them in
// its task.
//
// Public, because Swift 6.3 inlines no package-only declarations into other modules. Each use would then ask the
// runtime for the types involved.

/// The heap storage of a value. Immutable: setting a value creates new storage.
@usableFromInline final class Place<Value: Sendable>: Sendable {
  @usableFromInline let value: Value
  @inlinable init(_ value: Value) { self.value = value }
}

/// A value that is passed on as one pointer.
@propertyWrapper @frozen public struct Boxed<Value: Sendable>: Sendable {
  @usableFromInline var place: Place<Value>

  @inlinable public init(wrappedValue: Value) { place = Place(wrappedValue) }

  /// The value. Change it rarely and as a whole: setting one field copies all fields.
  @inlinable public var wrappedValue: Value {
    get { place.value }
    set { place = Place(newValue) }
  }

  /// The box itself, to pass it on without a copy of the value.
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

/// An optional value that is passed on as one pointer. Most facts of a call are nil.
@propertyWrapper @frozen public struct Held<Value: Sendable>: Sendable {
  @usableFromInline var place: Place<Value>?

  /// Avoids `map`, which asks the runtime for the type of the storage even if there is nothing to store.
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
