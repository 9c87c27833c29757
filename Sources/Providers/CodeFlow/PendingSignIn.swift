import Vocabulary

/// What completes a sign-in that was begun: kept by the browser, sealed, until it comes back.
struct PendingSignIn: Sendable, Equatable {
    /// Another first byte is another version, and refused.
    private static let version: UInt8 = 1

    /// The provider at which it was begun; after a change of the settings it may be another one.
    var provider: String
    /// The parameter `state`.
    var id: String
    /// `nonce` (OpenID Connect Core 3.1.2.1); empty for plain OAuth 2.0.
    var nonce: String
    /// `code_verifier` (RFC 7636 4.1).
    var verifier: String
    /// `redirect_uri`, which is repeated at the token endpoint (RFC 6749 4.1.3).
    var callback: String
    var begunAt: UnixTime
    var demands: SignInDemands

    init(
        provider: String,
        id: String,
        nonce: String,
        verifier: String,
        callback: String,
        begunAt: UnixTime,
        demands: SignInDemands
    ) {
        self.provider = provider
        self.id = id
        self.nonce = nonce
        self.verifier = verifier
        self.callback = callback
        self.begunAt = begunAt
        self.demands = demands
    }

    /// Reads what `encoded` wrote; nil for anything else.
    init?(_ encoded: Secret) {
        var reader = CompactReader(encoded.bytes)
        do throws(CompactFormatError) {
            guard try reader.byte() == Self.version else { return nil }
            self.provider = try reader.text()
            self.id = try reader.text()
            self.nonce = try reader.text()
            self.verifier = try reader.text()
            self.callback = try reader.text()
            self.begunAt = UnixTime(milliseconds: try reader.signed())
            let isAgain = try reader.byte()
            let level = try reader.optional { (reader) throws(CompactFormatError) in try reader.text() }
            let maxAge = try reader.optional { (reader) throws(CompactFormatError) in try reader.unsigned() }
            try reader.finish()
            guard isAgain <= 1, level.map({ AssuranceLevel(rawValue: $0) != nil }) ?? true,
                maxAge ?? 0 <= UInt64(Int32.max)
            else { return nil }
            self.demands = SignInDemands(
                isAgain: isAgain == 1,
                aal: level.flatMap(AssuranceLevel.init(rawValue:)),
                maxAge: maxAge.map { .seconds(Int64($0)) }
            )
        } catch {
            return nil
        }
    }

    var encoded: Secret {
        var writer = CompactWriter()
        writer.write(byte: Self.version)
        for text in [self.provider, self.id, self.nonce, self.verifier, self.callback] { writer.write(text) }
        writer.write(self.begunAt.milliseconds)
        writer.write(byte: self.demands.isAgain ? 1 : 0)
        writer.write(optional: self.demands.aal) { $0.write($1.rawValue) }
        writer.write(optional: self.demands.maxAge) { $0.write(UInt64($1.components.seconds)) }
        return Secret(writer.bytes)
    }
}

/// How the user must have authenticated for a sign-in to count.
struct SignInDemands: Sendable, Equatable {
    /// The clocks of the provider and of the gateway may differ by this.
    static let leeway: Duration = .seconds(60)

    /// Whether the user was to authenticate again.
    var isAgain = false
    var aal: AssuranceLevel?
    /// In whole seconds.
    var maxAge: Duration?

    /// Why the sign-in does not suffice; nil: it does.
    ///
    /// - Parameter authenticatedAt: nil if the provider does not say.
    func unmet(level: AssuranceLevel, authenticatedAt: UnixTime?, begunAt: UnixTime, now: UnixTime) -> String? {
        if let aal = self.aal, level < aal {
            return "the sign-in reached \(level.rawValue), \(aal.rawValue) is required"
        }
        if let maxAge = self.maxAge {
            guard let authenticatedAt else {
                return "the provider does not say when the user authenticated (auth_time)"
            }
            guard now.since(authenticatedAt) <= maxAge + Self.leeway else {
                return "the user authenticated too long ago (auth_time)"
            }
        }
        if self.isAgain, let authenticatedAt, authenticatedAt < begunAt.advanced(by: .zero - Self.leeway) {
            return "the user did not authenticate again (auth_time)"
        }
        return nil
    }
}
