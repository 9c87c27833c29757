/// Search in a text for another, byte for byte: the standard library's functions of these names, which belong to its regular
/// expressions, take texts for equal that differ in their bytes. The manifest leaves those out.
extension StringProtocol {
    /// Whether the text is in this one, byte for byte.
    package func contains(_ text: String) -> Bool {
        self.firstRange(of: text) != nil
    }

    /// Where the text is for the first time, byte for byte; nil: nowhere. An empty text is at the beginning.
    package func firstRange(of text: String) -> Range<Index>? {
        let wanted = Array(text.utf8)
        let place =
            self.utf8.withContiguousStorageIfAvailable { firstPlace(of: wanted, in: $0) }
            ?? Array(self.utf8).withUnsafeBufferPointer { firstPlace(of: wanted, in: $0) }
        guard let place else { return nil }
        let start = self.utf8.index(self.utf8.startIndex, offsetBy: place)
        return start..<self.utf8.index(start, offsetBy: wanted.count)
    }

    /// This text with another one in each place of `text`, which is not empty.
    package func replacing(_ text: String, with replacement: String) -> String {
        var changed = ""
        var rest = self[...]
        while let place = rest.firstRange(of: text), !place.isEmpty {
            changed += rest[..<place.lowerBound]
            changed += replacement
            rest = rest[place.upperBound...]
        }
        return changed + rest
    }
}

/// Where the bytes are for the first time; nil: nowhere.
private func firstPlace(of wanted: [UInt8], in bytes: UnsafeBufferPointer<UInt8>) -> Int? {
    guard let first = wanted.first else { return 0 }
    guard bytes.count >= wanted.count else { return nil }
    search: for place in 0...(bytes.count - wanted.count) where bytes[place] == first {
        for offset in 1..<wanted.count where bytes[place + offset] != wanted[offset] { continue search }
        return place
    }
    return nil
}
