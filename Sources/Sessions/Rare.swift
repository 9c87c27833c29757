/// An optional property that few instances set. It takes one machine word, whatever the size of the value.
@propertyWrapper
@usableFromInline
package struct Rare<Value> {
    fileprivate indirect enum Storage {
        case none
        case some(Value)
    }

    private var storage: Storage

    package init(wrappedValue: Value?) {
        self.storage = wrappedValue.map { .some($0) } ?? .none
    }

    package var wrappedValue: Value? {
        get { if case .some(let value) = self.storage { value } else { nil } }
        set { self = Rare(wrappedValue: newValue) }
    }
}

extension Rare.Storage: Sendable where Value: Sendable {}
extension Rare: Sendable where Value: Sendable {}

extension Rare: Equatable where Value: Equatable {
    @usableFromInline
    package static func == (left: Rare, right: Rare) -> Bool { left.wrappedValue == right.wrappedValue }
}

extension Rare: Hashable where Value: Hashable {
    @usableFromInline
    package func hash(into hasher: inout Hasher) { hasher.combine(self.wrappedValue) }
}
