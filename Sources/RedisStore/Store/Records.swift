package import Sessions
internal import Vocabulary

/// The plaintext of the three kinds of record.
package enum Records {
    // MARK: Sessions

    package static func encode(_ session: Session) -> [UInt8] {
        var writer = RecordWriter()
        Self.write(session, to: &writer)
        return writer.bytes
    }

    package static func session(_ bytes: [UInt8]) throws(RecordFormatError) -> Session {
        var reader = RecordReader(bytes)
        let session = try Self.session(from: &reader)
        try reader.finish()
        return session
    }

    private static func write(_ session: Session, to writer: inout RecordWriter) {
        writer.write(session.id)
        writer.write(byte: session.kind == .web ? 1 : 2)
        writer.write(session.origin.rawValue)
        writer.write(session.lineage.tag)
        writer.write(session.identity.id)
        writer.write(session.identity.schemaID)
        writer.write(session.identity.traits)
        writer.write(session.identity.metadataPublic)
        writer.write(optional: session.clientID) { $0.write($1) }
        writer.write(optional: session.host) { $0.write($1) }
        writer.write(session.aal)
        writer.write(list: session.methods) { $0.write($1) }
        writer.write(list: session.scopes) { $0.write($1) }
        writer.write(session.authenticatedAt)
        writer.write(session.issuedAt)
        writer.write(session.expiresAt)
        writer.write(session.idleLifetime)
        writer.write(optional: session.device) { $0.write($1) }
        writer.write(optional: session.bornOf) { $0.write($1) }
        writer.write(session.epoch)
    }

    private static func session(from reader: inout RecordReader) throws(RecordFormatError) -> Session {
        let id = try reader.text()
        let kind: Session.Kind
        switch try reader.byte() {
        case 1: kind = .web
        case 2: kind = .native
        default: throw RecordFormatError()
        }
        guard let origin = Session.Origin(rawValue: try reader.text()) else { throw RecordFormatError() }
        // Arguments are evaluated in order, which is the order of the fields.
        return Session(
            id: id,
            kind: kind,
            origin: origin,
            lineage: Lineage(tag: try reader.text()),
            identity: Identity(
                id: try reader.text(),
                schemaID: try reader.text(),
                traits: try reader.json(),
                metadataPublic: try reader.json()
            ),
            clientID: try reader.optionalText(),
            host: try reader.optionalText(),
            aal: try reader.text(),
            methods: try reader.texts(),
            scopes: try reader.texts(),
            authenticatedAt: try reader.time(),
            issuedAt: try reader.time(),
            expiresAt: try reader.time(),
            idleLifetime: try reader.duration(),
            device: try reader.optional { (reader) throws(RecordFormatError) in try reader.device() },
            bornOf: try reader.optional { (reader) throws(RecordFormatError) in try reader.key() },
            epoch: try reader.unsigned()
        )
    }

    // MARK: Transfer tokens

    package static func encode(_ transfer: TransferToken) -> [UInt8] {
        var writer = RecordWriter()
        Self.write(transfer.parent, to: &writer)
        writer.write(transfer.parentKey)
        writer.write(transfer.clientID)
        writer.write(transfer.device)
        writer.write(list: transfer.scopes) { $0.write($1) }
        writer.write(transfer.issuedAt)
        writer.write(transfer.expiresAt)
        return writer.bytes
    }

    package static func transfer(_ bytes: [UInt8]) throws(RecordFormatError) -> TransferToken {
        var reader = RecordReader(bytes)
        let transfer = TransferToken(
            parent: try Self.session(from: &reader),
            parentKey: try reader.key(),
            clientID: try reader.text(),
            device: try reader.device(),
            scopes: try reader.texts(),
            issuedAt: try reader.time(),
            expiresAt: try reader.time()
        )
        try reader.finish()
        return transfer
    }

    // MARK: Markers

    package static func encode(_ marker: Marker) -> [UInt8] {
        var writer = RecordWriter()
        switch marker {
        case .used(let attempt, let session):
            writer.write(byte: 1)
            writer.write(attempt.value)
            writer.write(optional: session) { $0.write($1) }
        case .burned(let attempt, let reason):
            writer.write(byte: 2)
            writer.write(attempt.value)
            writer.write(reason.rawValue)
        }
        return writer.bytes
    }

    package static func marker(_ bytes: [UInt8]) throws(RecordFormatError) -> Marker {
        var reader = RecordReader(bytes)
        let isUse = try reader.byte()
        let attempt = AttemptID(value: try reader.text())
        let marker: Marker
        switch isUse {
        case 1:
            marker = .used(
                attempt,
                session: try reader.optional { (reader) throws(RecordFormatError) in try reader.key() }
            )
        case 2:
            // A reason that a later version added.
            guard let reason = Reason(rawValue: try reader.text()) else { throw RecordFormatError() }
            marker = .burned(attempt, reason)
        default: throw RecordFormatError()
        }
        try reader.finish()
        return marker
    }
}
