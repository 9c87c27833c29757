package import Cryptography
import Sessions
package import Vocabulary

/// A stored document with one client's change at run time. Every gateway applies it to the client of the file.
package struct ClientChange: Document {
    package static var collection: String { "clients" }
    /// The maximum number of changed clients, because the store lists all documents in one value.
    package static var countLimit: Int { 1000 }

    /// The time and author of a member's last change at run time.
    package struct Mark: Sendable, Equatable {
        package var path: String
        package var at: UnixTime
        /// The operator's name.
        package var by: String
    }

    /// The path of the mark for the creation or deletion of a client. Tokens issued before the mark have ended.
    package static let whole = ""
    /// The path of the mark of the secret.
    package static let secretPath = "client_secret"

    /// A merge patch (RFC 7396) to the client in the file, or to an empty object if the client is not in the file.
    package var patch: JSONValue
    package var isDeleted: Bool
    package var marks: [Mark]
    /// The client's secret, sealed so that the store cannot read it. An empty text if the client has none.
    let sealed: [UInt8]

    private static let version: UInt8 = 1

    package func write(to writer: inout CompactWriter) {
        writer.write(byte: Self.version)
        JSONDocument(self.patch).write(to: &writer)
        writer.write(byte: self.isDeleted ? 1 : 0)
        writer.write(list: self.marks) { writer, mark in
            writer.write(mark.path)
            writer.write(mark.at)
            writer.write(mark.by)
        }
        writer.write(Secret(self.sealed))
    }

    package static func read(from reader: inout CompactReader) throws(CompactFormatError) -> ClientChange {
        guard try reader.byte() == Self.version else { throw CompactFormatError() }
        return ClientChange(
            patch: try JSONDocument(from: &reader).value,
            isDeleted: try reader.byte() == 1,
            marks: try reader.list { (reader) throws(CompactFormatError) in
                Mark(path: try reader.text(), at: try reader.time(), by: try reader.text())
            },
            sealed: try reader.secret().bytes
        )
    }
}

extension ClientChange {
    package init(_ client: RuntimeClient, id: String, ring: SealingKeyRing) {
        self.init(
            patch: client.patch,
            isDeleted: client.isDeleted,
            marks: client.marks,
            sealed: ring.seal(client.secret?.bytes ?? [], for: Self.place(id))
        )
    }

    func opened(_ id: String, _ ring: SealingKeyRing) throws(SealingError) -> RuntimeClient {
        let secret = try ring.open(self.sealed, for: Self.place(id))
        return RuntimeClient(
            patch: self.patch,
            isDeleted: self.isDeleted,
            secret: secret.isEmpty ? nil : Secret(secret),
            marks: self.marks
        )
    }

    private static func place(_ id: String) -> [UInt8] { Array("secret of client \(id)".utf8) }
}
