/// The slots of one lineage or one subject. Usually there is a single one, which needs no table.
enum SlotSet {
    case one(Int32)
    case many(Set<Int32>)

    var slots: Set<Int32> {
        switch self {
        case .one(let slot): [slot]
        case .many(let slots): slots
        }
    }
}

extension [String: SlotSet] {
    /// Adds `slot` under `name`.
    mutating func insert(_ slot: Int32, under name: String) {
        switch self[name] {
        case nil: self[name] = .one(slot)
        case .one(slot): break
        case .one(let other): self[name] = .many([other, slot])
        case .many(var slots):
            // Removed from the dictionary while it changes, so that it is not copied.
            self[name] = .one(slot)
            slots.insert(slot)
            self[name] = .many(slots)
        }
    }

    /// Removes `slot` under `name`.
    mutating func remove(_ slot: Int32, under name: String) {
        switch self[name] {
        case .one(slot): self[name] = nil
        case nil, .one: break
        case .many(var slots):
            self[name] = .one(slot)
            slots.remove(slot)
            self[name] = slots.isEmpty ? nil : .many(slots)
        }
    }
}
