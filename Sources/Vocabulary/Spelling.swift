/// Suggests the name that an operator meant by a misspelled name.
package enum Spelling {
    /// Returns the candidate that differs least from `word`. If all differ too much, returns the only candidate that
    /// begins with `word` (at least four characters); `nil` if there is none.
    package static func nearest(to word: String, in candidates: some Sequence<String>) -> String? {
        let word = Self.folded(word)
        var best: (distance: Int, candidate: String)?
        for candidate in candidates {
            let distance = Self.distance(word, Self.folded(candidate))
            if distance < best?.distance ?? .max { best = (distance, candidate) }
        }
        if let best, best.distance <= max(1, min(word.count, best.candidate.utf8.count) / 3) { return best.candidate }
        // `groups` suggests `groups_any`, unless two names begin with it.
        let longer = candidates.filter { word.count >= 4 && Self.folded($0).starts(with: word) }
        return longer.count == 1 ? longer.first : nil
    }

    /// Removes differences in case, `-` and `_`.
    private static func folded(_ word: String) -> [UInt8] {
        word.utf8.prefix(64).filter { $0 != 0x2D && $0 != 0x5F }.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
    }

    /// Returns the number of insertions, deletions, substitutions and swaps of neighbours (optimal string alignment).
    private static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
        var beforeLast: [Int] = []
        var last = Array(0...right.count)
        for i in left.indices {
            var row = [i + 1]
            for j in right.indices {
                var cost = min(last[j + 1] + 1, row[j] + 1, last[j] + (left[i] == right[j] ? 0 : 1))
                if i > 0, j > 0, left[i] == right[j - 1], left[i - 1] == right[j] {
                    cost = min(cost, beforeLast[j - 1] + 1)
                }
                row.append(cost)
            }
            beforeLast = last
            last = row
        }
        return last[right.count]
    }
}
