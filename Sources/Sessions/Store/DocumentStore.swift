package import NIOCore
package import Vocabulary

/// A kind of document that all gateways cache. A change of a document is reported to every cache
/// (`Invalidation.document`).
///
/// A document lives until it is deleted. It belongs to no lineage.
package protocol Document: RecordCodable {
    /// The name of the collection: lower-case letters, digits and `-`.
    static var collection: String { get }
    /// The maximum size of a document in bytes. Writing a larger document fails with `RecordTooLarge`.
    static var sizeLimit: Int { get }
    /// The maximum number of documents in a collection. Writing a further document fails with `.full`.
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

/// The name of a document in `Invalidation.document`. A shared store's name does not reveal the id.
package struct DocumentName: Sendable, Hashable {
    package let collection: String
    package let name: String

    package init(collection: String, name: String) {
        self.collection = collection
        self.name = name
    }
}

/// A document in a list, with its id.
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

    /// Returns all documents of the kind, sorted by id. A document that changes during the call is returned in its old
    /// or its new state.
    func documents<Content: Document>(
        of kind: Content.Type,
        on loop: any EventLoop
    ) -> EventLoopFuture<[ListedDocument<Content>]>

    /// Writes the document by compare-and-swap, as `ReplaceableStore.replace` does. The future succeeds after the
    /// caches of this process have dropped the old document.
    ///
    /// - Parameter judged: The version that was read; `nil` if no document may exist yet.
    func put<Content: Document>(
        _ document: Content,
        id: String,
        judged: RecordVersion?,
        attempt: AttemptID,
        on loop: any EventLoop
    ) -> EventLoopFuture<Replacement>

    /// Deletes the document. Returns true if it existed. The future succeeds after the caches of this process have
    /// dropped the document.
    func delete(_ key: DocumentKey, on loop: any EventLoop) -> EventLoopFuture<Bool>

    /// Returns the names under which changes of a document are reported, without I/O. There are several names after a
    /// rotation of the secret, otherwise one.
    func names(of key: DocumentKey) -> [DocumentName]
}

extension Document {
    /// Returns the bytes that a store keeps: the attempt that wrote the document, its id, and the document.
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

/// A stored document that is not decoded yet.
package struct DocumentEnvelope {
    /// The attempt that wrote the document.
    package let attempt: AttemptID
    package let id: String
    private let content: CompactReader

    /// Reads the attempt and the id from the output of `Document.encoded(id:attempt:)`.
    package init(_ bytes: [UInt8]) throws(CompactFormatError) {
        var reader = CompactReader(bytes)
        self.attempt = AttemptID(value: try reader.text())
        self.id = try reader.text()
        self.content = reader
    }

    /// Decodes the document.
    package func document<Content: Document>(as kind: Content.Type) throws(CompactFormatError) -> Content {
        var reader = self.content
        let document = try Content.read(from: &reader)
        try reader.finish()
        return document
    }
}
