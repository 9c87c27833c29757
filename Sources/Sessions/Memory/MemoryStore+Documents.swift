package import NIOCore
import Synchronization
import Vocabulary

extension MemoryStore {
    package func document<Content: Document>(
        _ id: String,
        as kind: Content.Type,
        on loop: any EventLoop
    ) -> EventLoopFuture<Stored<Content>?> {
        let key = DocumentKey(collection: Content.collection, id: id)
        return self.answer(on: loop) {
            try self.documents.withLock { $0.entry(key) }.map { try self.stored($0) }
        }
    }

    package func documents<Content: Document>(
        of kind: Content.Type,
        on loop: any EventLoop
    ) -> EventLoopFuture<[ListedDocument<Content>]> {
        let entries = self.documents.withLock { $0.entries(of: Content.collection) }
        return self.answer(on: loop) {
            try entries.sorted { $0.key < $1.key }.map { id, entry in
                ListedDocument(id: id, stored: try self.stored(entry))
            }
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
        let written: EventLoopFuture<Replacement> = self.answer(on: loop) {
            let entry = MemoryDocuments.Entry(
                bytes: try document.encoded(id: id, attempt: attempt),
                attempt: attempt,
                version: RecordVersion(value: self.limits.newVersion())
            )
            return try self.documents.withLock { (documents) throws(StoreError) in
                try documents.put(entry, at: key, judged: judged, limit: Content.countLimit)
            }
        }
        return written.flatMap { replacement in self.notify(of: key, on: loop).map { replacement } }
    }

    package func delete(_ key: DocumentKey, on loop: any EventLoop) -> EventLoopFuture<Bool> {
        let wasThere = self.documents.withLock { $0.delete(key) }
        return self.notify(of: key, on: loop).map { wasThere }
    }

    package func names(of key: DocumentKey) -> [DocumentName] {
        [DocumentName(collection: key.collection, name: key.id)]
    }

    private func notify(of key: DocumentKey, on loop: any EventLoop) -> EventLoopFuture<Void> {
        let told = self.names(of: key).map { self.caches.invalidate(.document($0), on: loop) }
        return EventLoopFuture.andAllSucceed(told, on: loop)
    }

    private func stored<Content: Document>(_ entry: MemoryDocuments.Entry) throws(StoreError) -> Stored<Content> {
        guard let document = try? DocumentEnvelope(entry.bytes).document(as: Content.self) else { throw .unavailable }
        return Stored(record: document, version: entry.version)
    }
}
