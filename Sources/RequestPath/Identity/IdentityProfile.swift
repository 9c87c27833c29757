import Cryptography
package import Sessions
package import Settings
package import Vocabulary

/// The reason why a session's identity cannot be written into fields.
package struct IdentityRefusal: Error, Equatable, Sendable {
    package let reason: Reason
    /// The field that could not be written. `nil` if all fields together are too large.
    package let field: String?

    package init(reason: Reason, field: String?) {
        self.reason = reason
        self.field = field
    }
}

/// The fields that identify the user to an app. A client's fields with these names are removed.
package struct IdentityProfile: Sendable {
    package let fields: [IdentitySettings.Field]
    /// The names that are removed from every request before the gateway's fields are set.
    package let managed: ManagedNames
    /// The signer of assertions. `nil` if apps get no assertion.
    let assertion: AssertionSigner?
    /// A field and the path to its value.
    struct Source {
        let name: String
        let path: IdentityPath
        /// The path as written in the settings.
        let pathText: String
        /// The bytes of the field line before the value.
        let beginning: [UInt8]

        init?(_ field: IdentitySettings.Field) {
            guard let path = IdentityPath(field.path) else { return nil }
            self.name = field.name
            self.path = path
            self.pathText = field.path
            self.beginning = Array("\(field.name): ".utf8)
        }
    }

    /// The fields with their parsed paths. Invalid paths have already been rejected (`problems`).
    let sources: [Source]
    private let basic: (username: IdentityPath, password: Secret)?
    private let text: IdentityText
    /// Writes values for routes whose encoding differs from `identity.encoding`.
    private let otherText: IdentityText
    private let maxSize: Int

    /// - Parameter assertion: The signer of assertions. `nil` if apps get no assertion.
    package init(_ settings: IdentitySettings, assertion: AssertionSigner? = nil) {
        self.assertion = assertion
        self.fields = settings.fields.isEmpty ? Self.fields(settings.preset) : settings.fields
        self.managed = ManagedNames(configured: self.fields.map(\.name))
        self.sources = self.fields.compactMap(Source.init)
        self.basic = settings.basic.flatMap { basic in IdentityPath(basic.usernamePath).map { ($0, basic.password) } }
        self.text = IdentityText(delimiter: settings.delimiter, encoding: settings.encoding)
        self.otherText = IdentityText(
            delimiter: settings.delimiter,
            encoding: settings.encoding == .percent ? .utf8 : .percent
        )
        self.maxSize = settings.maxSize
    }

    /// True if the lines that identify the user include an `Authorization` field.
    package var replacesAuthorization: Bool {
        self.hasBasic || self.fields.contains { ManagedNames.normalized($0.name) == "authorization" }
    }

    /// Whether the app gets basic authentication.
    var hasBasic: Bool { self.basic != nil }

    /// Whether a field contains a token of the provider.
    package var namesTokens: Bool { self.sources.contains(where: \.path.isToken) }

    /// The normalised names of the gateway's identity fields. They are removed from apps' answers.
    var ownNames: [String] {
        let names = self.fields.map(\.name) + (self.assertion == nil ? [] : [AssertionSigner.field])
        return names.map(ManagedNames.normalized).filter { $0 != "authorization" }
    }

    // MARK: Rendering

    /// Returns the complete field lines for `session`. A missing value yields no line, never an empty field
    /// (CVE-2026-30851).
    ///
    /// - Parameters:
    ///   - tokens: The session's tokens of the provider. Used only if `namesTokens`.
    ///   - otherwise: True if the route's encoding differs from `identity.encoding` (`RouteEntry.usesOtherEncoding`).
    package func render(
        _ session: Session,
        tokens: SessionTokens? = nil,
        otherwise: Bool = false
    ) throws(IdentityRefusal) -> ContiguousArray<UInt8> {
        let writer = otherwise ? self.otherText : self.text
        var lines = ContiguousArray<UInt8>()
        lines.reserveCapacity(256)
        for source in self.sources where !source.path.isCertificate {
            let start = lines.count
            lines.append(contentsOf: source.beginning)
            do {
                if source.path.isToken {
                    try writer.append(token: source.path.token(of: tokens), to: &lines)
                } else if let text = source.path.text(of: session) {
                    try writer.append(text, to: &lines)
                } else {
                    try writer.append(source.path.value(of: session), isList: source.path.isList, to: &lines)
                }
            } catch {
                throw IdentityRefusal(reason: .identityUnsafeValue, field: source.name)
            }
            Self.endLine(&lines, source, from: start)
        }
        if let basic = self.basic, let user = basic.username.value(of: session)?.string, !user.isEmpty {
            // RFC 7617 2 forbids colons and control characters in the user-id.
            guard user.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F && $0 != UInt8(ascii: ":") }) else {
                throw IdentityRefusal(reason: .identityUnsafeValue, field: "Authorization")
            }
            let credentials = Array(user.utf8) + [UInt8(ascii: ":")] + basic.password.bytes
            lines.append(contentsOf: "Authorization: Basic ".utf8)
            lines.append(contentsOf: Base64.encoded(credentials))
            lines.append(contentsOf: "\r\n".utf8)
        }
        try self.checkSize(lines.count)
        return lines
    }

    /// Returns whether a value can be written as the text of a field in `identity.encoding`.
    func canWrite(_ value: JSONValue, isList: Bool) -> Bool {
        var bytes = ContiguousArray<UInt8>()
        return (try? self.text.append(value, isList: isList, to: &bytes)) != nil
    }

    /// Throws if all lines together exceed `identity.max_size` bytes.
    func checkSize(_ count: Int) throws(IdentityRefusal) {
        guard count <= self.maxSize else { throw IdentityRefusal(reason: .identityTooLarge, field: nil) }
    }

    /// Returns the lines for a client's certificate. A missing value yields no line.
    func render(
        _ certificate: ClientCertificate,
        otherwise: Bool = false
    ) throws(IdentityRefusal) -> ContiguousArray<UInt8> {
        let writer = otherwise ? self.otherText : self.text
        var lines = ContiguousArray<UInt8>()
        for source in self.sources where source.path.isCertificate {
            let start = lines.count
            lines.append(contentsOf: source.beginning)
            do {
                try writer.append(source.path.value(of: certificate), isList: source.path.isList, to: &lines)
            } catch {
                throw IdentityRefusal(reason: .identityUnsafeValue, field: source.name)
            }
            Self.endLine(&lines, source, from: start)
        }
        return lines
    }

    /// Ends the field line that begins at `start`, or removes the line if the field has no value.
    private static func endLine(_ lines: inout ContiguousArray<UInt8>, _ source: Source, from start: Int) {
        if lines.count == start + source.beginning.count {
            lines.removeSubrange(start...)
        } else {
            lines.append(0x0D)
            lines.append(0x0A)
        }
    }

    // MARK: Configuration

    /// Returns a message for each problem in the settings: invalid paths, and names or delimiters that a client could
    /// exploit.
    package static func problems(_ settings: IdentitySettings) -> [String] {
        var problems: [String] = []
        var spellings: [String: String] = [:]
        for field in settings.fields {
            let name = ManagedNames.normalized(field.name)
            if !field.name.utf8.allSatisfy({ ByteClass.normalizedToken[Int($0)] != 0 }) || field.name.isEmpty {
                problems.append("identity.headers: \(field.name) is not a valid field name")
            }
            if field.name.utf8.count > FieldNames.longestName {
                problems.append("identity.headers: \(field.name) is longer than \(FieldNames.longestName) bytes")
            }
            if let other = spellings.updateValue(field.name, forKey: name) {
                problems.append("identity.headers: \(field.name) and \(other) are the same name to many apps")
            }
            if Self.isTaken(name) {
                problems.append("identity.headers: \(field.name) has another meaning, or the gateway already sets it")
            }
            if IdentityPath(field.path) == nil {
                problems.append("identity.headers: \(field.path) is not a path to a value of a session")
            }
        }
        for claim in settings.assertion?.claims ?? [] where IdentityPath(claim.path)?.isOfSession != true {
            problems.append("identity.assertion.claims: \(claim.path) is not a path to a value of a session")
        }
        if let path = settings.basic?.usernamePath, IdentityPath(path) == nil {
            problems.append("identity.basic.username: \(path) is not a path to a value of a session")
        }
        if let path = settings.basic?.usernamePath, IdentityPath(path)?.isOfSession == false {
            problems.append("identity.basic.username: \(path) is no name of the user")
        }
        let delimiter = Unicode.Scalar(settings.delimiter)
        if !(0x21..<0x7F).contains(settings.delimiter) || delimiter.properties.isAlphabetic
            || (0x30...0x39).contains(settings.delimiter) || delimiter == "%"
        {
            problems.append("identity.delimiter must be one visible character other than a letter, a digit or %")
        }
        return problems
    }

    /// Returns whether the gateway writes or interprets this field itself, so that it cannot be an identity field.
    private static func isTaken(_ name: String) -> Bool {
        if name == "authorization" { return false }
        let written =
            ["for", "host", "proto", "port", "prefix"].map { "x-forwarded-\($0)" } + [
                "x-request-id", "x-script-name", ManagedNames.normalized(AssertionSigner.field),
            ]
        return written.contains(name) || name.hasPrefix("content-")
            || FieldNames.requestRoles.contains { $0.0 == name }
    }
}
