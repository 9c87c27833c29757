package import Sessions
package import Vocabulary

/// The plaintext of the three kinds of record; the format's version stands in front of the sealed bytes.
///
/// A record that cannot be read (`CompactFormatError`) has been unsealed, so we or a later version of us wrote it: no reason
/// to say that there is none.
package enum Records {
    // MARK: Sessions

    package static func encode(_ session: Session) -> [UInt8] {
        var writer = CompactWriter()
        Self.write(session, to: &writer)
        return writer.bytes
    }

    package static func session(_ bytes: [UInt8]) throws(CompactFormatError) -> Session {
        var reader = CompactReader(bytes)
        let session = try Self.session(from: &reader)
        try reader.finish()
        return session
    }

    private static func write(_ session: Session, to writer: inout CompactWriter) {
        writer.write(session.id)
        writer.write(byte: session.kind == .web ? 1 : 2)
        writer.write(byte: Self.byte(of: session.origin))
        writer.write(session.lineage.tag)
        writer.write(session.identity.id)
        writer.write(session.identity.schemaID)
        session.identity.traitsDocument.write(to: &writer)
        session.identity.metadataPublicDocument.write(to: &writer)
        writer.write(optional: session.clientID) { $0.write($1) }
        writer.write(optional: session.host) { $0.write($1) }
        writer.write(session.aal.rawValue)
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

    private static func session(from reader: inout CompactReader) throws(CompactFormatError) -> Session {
        let id = try reader.text()
        let kind: Session.Kind
        switch try reader.byte() {
        case 1: kind = .web
        case 2: kind = .native
        default: throw CompactFormatError()
        }
        let originByte = try reader.byte()
        guard let origin = Session.Origin.allCases.first(where: { Self.byte(of: $0) == originByte }) else {
            throw CompactFormatError()
        }
        // Arguments are evaluated in order, which is the order of the fields.
        return Session(
            id: id,
            kind: kind,
            origin: origin,
            lineage: Lineage(tag: try reader.text()),
            identity: Identity(
                id: try reader.text(),
                schemaID: try reader.text(),
                traits: try JSONDocument(from: &reader),
                metadataPublic: try JSONDocument(from: &reader)
            ),
            clientID: try reader.optionalText(),
            host: try reader.optionalText(),
            aal: AssuranceLevel(named: try reader.text()),
            methods: try reader.texts(),
            scopes: try reader.texts(),
            authenticatedAt: try reader.time(),
            issuedAt: try reader.time(),
            expiresAt: try reader.time(),
            idleLifetime: try reader.duration(),
            device: try reader.optional { (reader) throws(CompactFormatError) in try reader.device() },
            bornOf: try reader.optional { (reader) throws(CompactFormatError) in try reader.key() },
            epoch: try reader.unsigned()
        )
    }

    private static func byte(of origin: Session.Origin) -> UInt8 {
        switch origin {
        case .browser: 1
        case .native: 2
        case .transfer: 3
        }
    }

    // MARK: Transfer tokens

    package static func encode(_ transfer: TransferToken) -> [UInt8] {
        var writer = CompactWriter()
        Self.write(transfer.parent, to: &writer)
        writer.write(transfer.parentKey)
        writer.write(transfer.clientID)
        writer.write(optional: transfer.host) { $0.write($1) }
        writer.write(transfer.device)
        writer.write(list: transfer.scopes) { $0.write($1) }
        writer.write(transfer.issuedAt)
        writer.write(transfer.expiresAt)
        return writer.bytes
    }

    package static func transfer(_ bytes: [UInt8]) throws(CompactFormatError) -> TransferToken {
        var reader = CompactReader(bytes)
        let transfer = TransferToken(
            parent: try Self.session(from: &reader),
            parentKey: try reader.key(),
            clientID: try reader.text(),
            host: try reader.optionalText(),
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
        var writer = CompactWriter()
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

    package static func marker(_ bytes: [UInt8]) throws(CompactFormatError) -> Marker {
        var reader = CompactReader(bytes)
        let isUse = try reader.byte()
        let attempt = AttemptID(value: try reader.text())
        let marker: Marker
        switch isUse {
        case 1:
            marker = .used(
                attempt,
                session: try reader.optional { (reader) throws(CompactFormatError) in try reader.key() }
            )
        case 2:
            // A reason that a later version added.
            guard let reason = Reason(rawValue: try reader.text()) else { throw CompactFormatError() }
            marker = .burned(attempt, reason)
        default: throw CompactFormatError()
        }
        try reader.finish()
        return marker
    }
}
