/// Caches the keys of verified proofs by the text of the header. The proofs of a client usually have equal headers.
/// Confined to one event loop.
///
/// Used entries move to the young generation. When the young generation is full, it replaces the old one.
package final class DPoPKeyCache {
    /// The text of a header. It is hashed as one block, because an array would be hashed byte by byte.
    private struct Text: Hashable {
        let bytes: ArraySlice<UInt8>

        func hash(into hasher: inout Hasher) { self.bytes.withUnsafeBytes { hasher.combine(bytes: $0) } }
    }

    private let limit: Int
    private var young: [Text: SelfSignedToken.Head] = [:]
    private var old: [Text: SelfSignedToken.Head] = [:]

    /// - Parameter capacity: The maximum number of keys, of a few kilobytes each.
    package init(capacity: Int = 1024) {
        self.limit = max(capacity / 2, 1)
    }

    /// The number of cached keys.
    package var count: Int { self.young.count + self.old.count }

    /// Returns the content of a header; `nil` if it is not cached.
    package func head(of text: ArraySlice<UInt8>) -> SelfSignedToken.Head? {
        let text = Text(bytes: text)
        if let head = self.young[text] { return head }
        guard let head = self.old.removeValue(forKey: text) else { return nil }
        self.insert(head, text)
        return head
    }

    /// Caches the header of a proof whose signature was verified. Each entry therefore costs its sender a signature.
    func remember(_ token: SelfSignedToken) {
        if !token.isHeadKnown { self.insert(token.head, Text(bytes: token.headerText)) }
    }

    private func insert(_ head: SelfSignedToken.Head, _ text: Text) {
        if self.young.count >= self.limit {
            self.old = self.young
            self.young.removeAll()
        }
        // Copies only the header, because the slice retains the whole proof.
        self.young[Text(bytes: Array(text.bytes)[...])] = head
    }
}
