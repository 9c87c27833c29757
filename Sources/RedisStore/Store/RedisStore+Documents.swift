import Cryptography
package import NIOCore
package import Sessions
import Vocabulary

extension RedisStore {
    package func document<Content: Document>(
        _ id: String,
        as kind: Content.Type,
        on loop: any EventLoop
    ) -> EventLoopFuture<Stored<Content>?> {
        let key = DocumentKey(collection: Content.collection, id: id)
        let places = self.places(of: key)
        // `MGET` cannot distinguish a missing key from one of another type.
        let asked = places.map { self.client.ask(RedisCommand("GET", [$0]), on: loop) }
        return EventLoopFuture.whenAllSucceed(asked, on: loop).flatMapThrowing { replies in
            for (place, reply) in zip(places, replies) {
                guard let value = try Self.value(reply) else { continue }
                return try self.stored(value, try self.seals.open(value, at: place, DocumentEnvelope.init), as: kind)
            }
            return nil
        }
    }

    package func documents<Content: Document>(
        of kind: Content.Type,
        on loop: any EventLoop
    ) -> EventLoopFuture<[ListedDocument<Content>]> {
        let directory = RedisCommand("GET", [Keyspace.directory(Content.collection)])
        return self.client.ask(directory, on: loop).flatMapThrowing { reply in
            try Self.value(reply)?.split(separator: UInt8(ascii: "\n")) ?? []
        }.flatMap { names in
            let places = names.map { name in
                let name = DocumentName(collection: Content.collection, name: String(decoding: name, as: UTF8.self))
                return Keyspace.document(name)
            }
            return self.list(places[...], as: kind, on: loop)
        }.map { found in
            found.sorted { $0.id < $1.id }
        }
    }

    package func put<Content: Document>(
        _ document: Content,
        id: String,
        judged: RecordVersion?,
        attempt: AttemptID,
        on loop: any EventLoop
    ) -> EventLoopFuture<Replacement> {
        let key = DocumentKey(collection: Content.collection, id: id)
        let places = self.places(of: key)
        let bytes: [UInt8]
        do { bytes = try document.encoded(id: id, attempt: attempt) } catch { return loop.makeFailedFuture(error) }
        let kept = self.judgedDocuments.value(for: key).flatMap { $0.version == judged ? $0 : nil }
        // An unknown version is compared as bytes that no document has, so that the script returns the present value.
        let value = judged == nil ? [] : kept?.value ?? [0]
        let swap = Swap(
            places: places,
            judged: value,
            attempt: attempt,
            refusal: .failure(.full),
            writer: { [seals] value, places throws(StoreError) in
                // The value comes from one of these places, and opens only for the place for which it was sealed.
                let standing = places.lazy.compactMap { try? seals.open(value, at: $0, DocumentEnvelope.init) }.first
                guard let standing else { throw .unavailable }
                return standing.attempt
            }
        )
        let call = ScriptCall(
            Scripts.putDocument,
            keys: places + [Keyspace.directory(key.collection)],
            arguments: [value, self.seals.seal(bytes, at: places[0]), Array("\(Content.countLimit)".utf8)]
        )
        // If this attempt wrote the judged document, the call is a repetition: the write is only confirmed.
        let isRepeated = kept?.attempt == attempt
        let written = isRepeated ? self.confirm(swap, on: loop) : self.swap(swap, by: call, on: loop)
        return self.telling(of: key, after: written, on: loop)
    }

    package func delete(_ key: DocumentKey, on loop: any EventLoop) -> EventLoopFuture<Bool> {
        let keys = self.places(of: key) + [Keyspace.directory(key.collection)]
        let deleted = self.client.run(ScriptCall(Scripts.deleteDocument, keys: keys, arguments: []), on: loop)
        return self.telling(of: key, after: deleted.map { $0 == .integer(1) }, on: loop)
    }

    package func names(of key: DocumentKey) -> [DocumentName] {
        // A space separates the two parts, because the name of a collection contains none.
        self.seals.ring.names(of: "\(key.collection) \(key.id)").map {
            DocumentName(collection: key.collection, name: $0)
        }
    }

    // MARK: Steps

    /// The number of documents that are read with one command.
    private static let listStride = 16

    private func places(of key: DocumentKey) -> [[UInt8]] {
        self.names(of: key).map(Keyspace.document)
    }

    private func stored<Content: Document>(
        _ value: [UInt8],
        _ envelope: DocumentEnvelope,
        as kind: Content.Type
    ) throws(StoreError) -> Stored<Content> {
        guard let document = try? envelope.document(as: kind) else { throw .unavailable }
        let kept = self.judgedDocuments.update(DocumentKey(collection: Content.collection, id: envelope.id)) { old in
            if let old, old.value == value { return old }
            return JudgedDocument(version: self.newVersion(), value: value, attempt: envelope.attempt)
        }
        return Stored(record: document, version: kept.version)
    }

    /// Returns the documents under these keys. A document that was deleted since the directory was read is left out.
    private func list<Content: Document>(
        _ places: ArraySlice<[UInt8]>,
        as kind: Content.Type,
        on loop: any EventLoop
    ) -> EventLoopFuture<[ListedDocument<Content>]> {
        guard !places.isEmpty else { return loop.makeSucceededFuture([]) }
        let next = Array(places.prefix(Self.listStride))
        let found = self.client.ask(RedisCommand("MGET", next), on: loop).flatMapThrowing { reply in
            let values = try Values(reply, count: next.count)
            let missing = next.indices.filter { values[$0] == nil }.map { next[$0] }
            let documents = try next.indices.compactMap { index -> ListedDocument<Content>? in
                guard let value = values[index] else { return nil }
                let envelope = try self.seals.open(value, at: next[index], DocumentEnvelope.init)
                return ListedDocument(id: envelope.id, stored: try self.stored(value, envelope, as: kind))
            }
            return (documents, missing)
        }
        return found.flatMap { documents, missing in
            self.verify(absent: missing, on: loop).flatMap {
                self.list(places.dropFirst(next.count), as: kind, on: loop).map { documents + $0 }
            }
        }
    }

    private func telling<Answer: Sendable>(
        of key: DocumentKey,
        after step: EventLoopFuture<Answer>,
        on loop: any EventLoop
    ) -> EventLoopFuture<Answer> {
        self.names(of: key).reduce(step) { self.telling(.document($1), after: $0, on: loop) }
    }
}
