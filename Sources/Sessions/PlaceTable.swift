/// Values in numbered places, found by hashes (`SlotIndex`). The place of a removed value is reused.
struct PlaceTable<Value> {
    private struct Place {
        var value: Value
        let links: Int32
    }

    private var places: ContiguousArray<Place?> = []
    private var free: ContiguousArray<Int32> = []
    private var index = SlotIndex()

    var count: Int { self.places.count - self.free.count }

    /// The number of places, empty or not. Places are numbered from 0.
    var end: Int32 { Int32(self.places.count) }

    /// The value in a place; `nil` if the place is empty.
    subscript(place: Int32) -> Value? { self.places[Int(place)]?.value }

    /// Changes the value in a place. The hashes that find the value do not change.
    mutating func change(_ place: Int32, _ change: (inout Value) -> Void) {
        guard var known = self.places[Int(place)] else { return }
        change(&known.value)
        self.places[Int(place)] = known
    }

    /// Adds a value that is found by these hashes, and returns its place.
    mutating func add(_ value: Value, hashes: [Int]) -> Int32 {
        if self.free.isEmpty {
            self.free.append(Int32(self.places.count))
            self.places.append(nil)
        }
        let place = self.free.removeLast()
        var links: Int32 = -1
        for hash in hashes { self.index.add(hash, of: place, to: &links) }
        self.places[Int(place)] = Place(value: value, links: links)
        return place
    }

    @discardableResult
    mutating func remove(_ place: Int32) -> Value? {
        guard let known = self.places[Int(place)] else { return nil }
        self.index.remove(known.links)
        self.places[Int(place)] = nil
        self.free.append(place)
        return known.value
    }

    /// Calls `body` with each place that has the hash, until it returns false. `body` must not change the table.
    func forEach(_ hash: Int, _ body: (Int32, Value) -> Bool) {
        self.index.forEach(hash) { place in self.places[Int(place)].map { body(place, $0.value) } ?? true }
    }

    /// Returns the first place that has the hash and a wanted value.
    func first(_ hash: Int, where isWanted: (Value) -> Bool) -> Int32? {
        var found: Int32?
        self.forEach(hash) { place, value in
            if isWanted(value) { found = place }
            return found == nil
        }
        return found
    }
}
