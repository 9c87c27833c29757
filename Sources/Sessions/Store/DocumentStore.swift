package import NIOCore
package import Vocabulary

/// A kind of document that caches follow: all gateways' caches hear of every change (`Invalidation.document`).
///
/// A document lives until it is deleted and belongs to no lineage. All documents of a kind can be listed.
package protocol Document: RecordCodable {
    /// The name of the collection: lower-case letters, digits and `-`.
    static var collection: String { get }
    /// The maximum size of a document in bytes. Larger documents fail with `RecordTooLarge`.
    static var sizeLimit: Int { get }
    /// The maximum number of documents in a collection. Further documents fail with `.full`.
    static var countLimit: Int { get }
}

extension Document {
    package static var sizeLimit: Int { 65_536 }
    package static var countLimit: Int { 4096 }
}

/// The collection and id that identify a document.
package struct DocumentKey: Sendable, Hashable {
    package let collection: String
    /// The id, of at most `longestID` bytes.
    package let id: String

    package init(collection: String, id: String) {
        self.collection = collection
        self.id = id
    }

    /// The maximum length of an id in bytes.
    package static let longestID = 512
}

/// The name of a document in the changes that a store reports. In a shared store, it does not reveal the id.
package struct DocumentName: Sendable, Hashable {
    package let collection: String
    package let name: String

    package init(collection: String, name: String) {
        self.collection = collection
        self.name = name
    }
}

/// A document in a list of its collection, with its id.
package struct ListedDocument<Content: Document>: Sendable {
    package let id: String
    package let stored: Stored<Content>

    package init(id: String, stored: Stored<Content>) {
        self.id = id
        self.stored = stored
    }
}

/// Stores documents of every kind.
package protocol DocumentStore: Sendable {
    /// Returns the document with this id; `nil` if it does not exist.
    func document<Content: Document>(
        _ id: String,
        as kind: Content.Type,
        on loop: any EventLoop
    ) -> EventLoopFuture<Stored<Content>?>

    /// Returns all documents of the kind, in the order of their ids. A document that changes meanwhile is returned as
    /// it was before or after the change.
    func documents<Content: Document>(
        of kind: Content.Type,
        on loop: any EventLoop
    ) -> EventLoopFuture<[ListedDocument<Content>]>

    /// Writes the document by compare-and-swap, as `ReplaceableStore.replace` does. The future succeeds after every
    /// loop of this process has been notified.
    ///
    /// - Parameter judged: The version that was read; `nil` if no document may exist yet.
    func put<Content: Document>(
        _ document: Content,
        id: String,
        judged: RecordVersion?,
        attempt: AttemptID,
        on loop: any EventLoop
    ) -> EventLoopFuture<Replacement>

    /// Deletes the document and returns true if it existed. The call may be repeated. The future succeeds after every
    /// loop of this process has been notified.
    func delete(_ key: DocumentKey, on loop: any EventLoop) -> EventLoopFuture<Bool>

    /// Returns the store's names of a document in `Invalidation.document`, from memory. There is at least one, and
    /// there are several while names made under an older secret are in use.
    func names(of key: DocumentKey) -> [DocumentName]
}

extension Document {
    /// Returns the document's bytes as a store keeps them, preceded by the attempt that wrote it.
    package func encoded(id: String, attempt: AttemptID) throws(RecordTooLarge) -> [UInt8] {
        guard id.utf8.count <= DocumentKey.longestID else {
            throw RecordTooLarge(size: id.utf8.count, limit: DocumentKey.longestID)
        }
        return try self.encoded(
            after: { writer in
                writer.write(attempt.value)
                writer.write(id)
            },
            limit: Self.sizeLimit
        )
    }
}

/// A document as a store keeps it.
package struct DocumentEnvelope {
    /// The attempt that wrote the document.
    package let attempt: AttemptID
    package let id: String
    private let content: CompactReader

    /// Reads the output of `Document.encoded(id:attempt:)`, up to the document itself.
    package init(_ bytes: [UInt8]) throws(CompactFormatError) {
        var reader = CompactReader(bytes)
        self.attempt = AttemptID(value: try reader.text())
        self.id = try reader.text()
        self.content = reader
    }

    /// Reads the document.
    package func document<Content: Document>(as kind: Content.Type) throws(CompactFormatError) -> Content {
        var reader = self.content
        let document = try Content.read(from: &reader)
        try reader.finish()
        return document
    }
}
