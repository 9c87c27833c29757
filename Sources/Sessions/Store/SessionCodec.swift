import Cryptography
package import Vocabulary

// The plaintext of a session. The format's version is stored in front of the sealed bytes.
//
// An unsealed session with an unknown format (`CompactFormatError`) was written by a later version of the gateway. It
// must be reported as unavailable, not as absent.

extension Session {
    /// The session's bytes. Equal sessions have equal bytes.
    package var encoded: [UInt8] {
        var writer = CompactWriter()
        self.write(to: &writer)
        return writer.bytes
    }

    /// Reads the output of `encoded`. Further bytes are an error.
    package static func decoded(_ bytes: [UInt8]) throws(CompactFormatError) -> Session {
        var reader = CompactReader(bytes)
        let session = try Self.read(from: &reader)
        try reader.finish()
        return session
    }

    /// Writes the session as a part of another record.
    package func write(to writer: inout CompactWriter) {
        writer.write(self.id)
        let isOfDefault = self.identity.realm == .default
        writer.write(
            byte: self.form.rawValue | (self.endsAlone ? Self.aloneBit : 0) | (self.actor == nil ? 0 : Self.actorBit)
                | (isOfDefault ? 0 : Self.realmBit) | (self.isPersistent ? Self.persistentBit : 0)
                | (self.succession == nil ? 0 : Self.successionBit)
        )
        writer.write(byte: self.origin.byte)
        writer.write(self.lineage.tag)
        self.identity.write(to: &writer)
        writer.write(optional: self.clientID) { $0.write($1) }
        writer.write(optional: self.host) { $0.write($1) }
        writer.write(self.aal.rawValue)
        writer.write(list: self.methods) { $0.write($1) }
        writer.write(list: self.scopes) { $0.write($1) }
        writer.write(self.authenticatedAt)
        writer.write(self.issuedAt)
        writer.write(self.expiresAt)
        writer.write(self.idleLifetime)
        writer.write(optional: self.device) { $0.write($1) }
        writer.write(optional: self.sourceKey) { $0.write($1) }
        writer.write(self.epoch)
        writer.write(optional: self.provider) { writer, provider in
            writer.write(provider.name)
            writer.write(optional: provider.sessionID) { $0.write($1) }
            writer.write(optional: provider.grant) { $0.write($1) }
            writer.write(optional: provider.renewAt) { $0.write($1) }
            writer.write(optional: provider.tokensEndAt) { $0.write($1) }
        }
        if self.form == .access { writer.write(optional: self.access?.audience) { $0.write($1) } }
        if self.form == .access || self.form == .bound || self.form == .certified {
            writer.write(optional: self.keyThumbprint) { $0.write($1) }
        }
        if self.form == .certified, let hash = self.certificateHash { writer.write(hash.base64URL) }
        if let actor = self.actor { writer.write(actor) }
        if !isOfDefault { writer.write(self.identity.realm.name) }
        if let succession = self.succession {
            writer.write(UInt64(succession.number))
            writer.write(succession.since)
        }
    }

    /// The optional fields of a stored session. The values never change, so sessions of earlier versions stay readable.
    private enum Form: UInt8 {
        case web = 1
        case native = 2
        /// With the limits of an access token, and possibly a key thumbprint.
        case access = 3
        /// With a key thumbprint.
        case bound = 4
        /// With the hash of a client certificate, and possibly a key thumbprint. Only foreign tokens have it.
        case certified = 5
    }

    /// Set in the form byte if `endsAlone` is true.
    private static let aloneBit: UInt8 = 0x40
    /// Set in the form byte if the session has an `actor`.
    private static let actorBit: UInt8 = 0x20
    /// Set in the form byte if the session has the name of its realm. Otherwise, the realm is the default.
    private static let realmBit: UInt8 = 0x10
    /// Set in the form byte if `isPersistent` is true.
    private static let persistentBit: UInt8 = 0x08
    /// Set in the form byte if the session has a `succession`.
    private static let successionBit: UInt8 = 0x80

    private var form: Form {
        if self.access != nil { return .access }
        if self.kind == .web { return .web }
        if self.certificateHash != nil { return .certified }
        return self.keyThumbprint == nil ? .native : .bound
    }

    /// Reads a session that is a part of another record.
    package static func read(from reader: inout CompactReader) throws(CompactFormatError) -> Session {
        let id = try reader.text()
        let formByte = try reader.byte()
        let bits = self.aloneBit | self.actorBit | self.realmBit | self.persistentBit | self.successionBit
        guard let form = Form(rawValue: formByte & ~bits) else { throw CompactFormatError() }
        let originByte = try reader.byte()
        guard let origin = Session.Origin.allCases.first(where: { $0.byte == originByte }) else {
            throw CompactFormatError()
        }
        // Swift evaluates the arguments in order, so they must have the order of the stored fields.
        var session = Session(
            id: id,
            kind: form == .web ? .web : .native,
            origin: origin,
            lineage: try reader.lineage(),
            identity: try Identity.read(from: &reader),
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
            sourceKey: try reader.optional { (reader) throws(CompactFormatError) in try reader.key() },
            epoch: try reader.unsigned(),
            provider: try reader.optional { (reader) throws(CompactFormatError) in
                ProviderSession(
                    name: try reader.text(),
                    sessionID: try reader.optionalText(),
                    grant: try reader.optional { (reader) throws(CompactFormatError) in try reader.key(of: .grant) },
                    renewAt: try reader.optionalTime(),
                    tokensEndAt: try reader.optionalTime()
                )
            },
            access: form == .access ? AccessTerms(audience: try reader.optionalText()) : nil,
            keyThumbprint: form == .access || form == .bound || form == .certified
                ? try reader.optionalText() : nil,
            certificateHash: form == .certified ? try reader.certificateHash() : nil,
            endsAlone: formByte & self.aloneBit != 0,
            actor: formByte & self.actorBit != 0 ? try reader.text() : nil,
            isPersistent: formByte & self.persistentBit != 0
        )
        if formByte & self.realmBit != 0 { session.identity.realm = Realm(try reader.text()) }
        if formByte & self.successionBit != 0 {
            session.succession = TokenSuccession(number: try reader.tokenNumber(), since: try reader.time())
        }
        return session
    }
}

extension Identity {
    /// Writes the identity without its realm, as a part of a record.
    package func write(to writer: inout CompactWriter) {
        writer.write(self.storedID)
        writer.write(self.schemaID)
        self.traitsDocument.write(to: &writer)
        self.metadataPublicDocument.write(to: &writer)
    }

    /// Reads the output of `write(to:)`.
    package static func read(from reader: inout CompactReader) throws(CompactFormatError) -> Identity {
        let id = try reader.text()
        let identity = Identity(
            id: id,
            schemaID: try reader.text(),
            traits: try JSONDocument(from: &reader),
            metadataPublic: try JSONDocument(from: &reader)
        )
        return id.utf8.contains(0) ? identity.withStoredID(id) : identity
    }
}

extension CompactReader {
    fileprivate mutating func certificateHash() throws(CompactFormatError) -> Digest256 {
        guard let hash = Digest256(base64URL: Array(try self.text().utf8)[...]) else { throw CompactFormatError() }
        return hash
    }
}

extension Session.Origin {
    fileprivate var byte: UInt8 {
        switch self {
        case .browser: 1
        case .native: 2
        case .transfer: 3
        }
    }
}
