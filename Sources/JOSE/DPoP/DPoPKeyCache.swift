/// The keys of clients that proved themselves before, by the text of their proofs' headers, which is the same in every
/// proof of a client: its key is not read, and its thumbprint not computed, again. Confined to one event loop.
///
/// There are two generations: what is used moves to the young one, and when that is full, the old one is dropped. So it
/// is bounded, and a key in use stays.
package final class DPoPKeyCache {
    /// The text of a header. An array would be hashed byte by byte.
    private struct Text: Hashable {
        let bytes: ArraySlice<UInt8>

        func hash(into hasher: inout Hasher) { self.bytes.withUnsafeBytes { hasher.combine(bytes: $0) } }
    }

    private let limit: Int
    private var young: [Text: SelfSignedToken.Head] = [:]
    private var old: [Text: SelfSignedToken.Head] = [:]

    /// - Parameter capacity: At most so many keys, of a few kilobytes each.
    package init(capacity: Int = 1024) {
        self.limit = max(capacity / 2, 1)
    }

    /// The number of keys that are known.
    package var count: Int { self.young.count + self.old.count }

    /// What this header says; nil if it is not known.
    package func head(of text: ArraySlice<UInt8>) -> SelfSignedToken.Head? {
        let text = Text(bytes: text)
        if let head = self.young[text] { return head }
        guard let head = self.old.removeValue(forKey: text) else { return nil }
        self.insert(head, text)
        return head
    }

    /// Remembers the header of a proof whose signature was verified. Others are not remembered, so that a key costs
    /// the sender at least a signature.
    func remember(_ token: SelfSignedToken) {
        if !token.isHeadKnown { self.insert(token.head, Text(bytes: token.headerText)) }
    }

    private func insert(_ head: SelfSignedToken.Head, _ text: Text) {
        if self.young.count >= self.limit {
            self.old = self.young
            self.young.removeAll()
        }
        // A copy of the header alone, for the slice holds the whole proof.
        self.young[Text(bytes: Array(text.bytes)[...])] = head
    }
}
