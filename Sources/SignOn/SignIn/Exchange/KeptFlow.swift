package import Sessions
package import Vocabulary

/// A native app's request to begin a flow.
package struct FlowWish: Sendable, Hashable {
    package var kind: KeptFlow.Kind
    /// The URL to which the browser returns. The settings allow it. `nil` if the app named none.
    package var returnTo: String?
    /// The requirements for the sign-in. Only `isAgain` and `aal` are stored, because an app requests nothing else.
    package var demand: SignInDemand
    /// The identity schema that the app named. `nil` if the app named no schema.
    package var schema: String?

    package init(kind: KeptFlow.Kind, returnTo: String?, demand: SignInDemand, schema: String?) {
        self.kind = kind
        self.returnTo = returnTo
        self.demand = demand
        self.schema = schema
    }
}

/// A native app's sign-in flow with an exchange code.
///
/// The store keeps a flow for twice its lifetime. A new flow can then take over the code of an expired flow.
package struct KeptFlow: ReplaceableRecord, Hashable {
    /// Kratos's two kinds of flow. Both sign in existing and new users, because the provider manages the users.
    package enum Kind: String, Sendable, CaseIterable {
        case login, registration
    }

    /// The reason why a sign-in in the browser failed.
    package struct Failure: Sendable, Hashable {
        package var reason: Reason
        /// A rule's text for the user. `nil` if the gateway's own text is shown.
        package var explanation: String?

        package init(reason: Reason, explanation: String? = nil) {
            self.reason = reason
            self.explanation = explanation
        }
    }

    package var wish: FlowWish
    /// The key of the app's code. The return code and the session have the lineage of this key.
    package var code: RecordKey
    /// The app's code, for answers to the app. `nil` once a browser knows the flow's id, because nobody may fetch the
    /// code with an id from the browser.
    package var appCode: Secret?
    /// The failure of the last sign-in in the browser. `nil` if it did not fail.
    package var failure: Failure?
    package var issuedAt: UnixTime
    package var expiresAt: UnixTime

    package init(
        wish: FlowWish,
        code: RecordKey,
        appCode: Secret? = nil,
        failure: Failure? = nil,
        issuedAt: UnixTime,
        expiresAt: UnixTime
    ) {
        self.wish = wish
        self.code = code
        self.appCode = appCode
        self.failure = failure
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
    }

    package static var kind: RecordKind { RecordKind(letter: UInt8(ascii: "n")) }
    package static var longestLife: Duration { .seconds(2 * 3600) }
    /// A failover may lose the record. The app then begins again.
    package static var isConfirmed: Bool { false }
    package var terms: RecordTerms {
        let lifetime = self.expiresAt.since(self.issuedAt)
        return RecordTerms(since: self.issuedAt, expiresAt: self.expiresAt.advanced(by: lifetime))
    }

    package func write(to writer: inout CompactWriter) {
        writer.write(self.wish.kind.rawValue)
        writer.write(self.code)
        writer.write(optional: self.wish.returnTo) { $0.write($1) }
        writer.write(byte: (self.wish.demand.isAgain ? 1 : 0) | (self.appCode == nil ? 0 : 2))
        writer.write(optional: self.wish.demand.aal) { $0.write($1.rawValue) }
        writer.write(optional: self.wish.schema) { $0.write($1) }
        writer.write(optional: self.failure) { writer, failure in
            writer.write(failure.reason.rawValue)
            writer.write(optional: failure.explanation) { $0.write($1) }
        }
        writer.write(self.issuedAt)
        writer.write(self.expiresAt)
        if let appCode = self.appCode { writer.write(appCode) }
    }

    package static func read(from reader: inout CompactReader) throws(CompactFormatError) -> KeptFlow {
        guard let kind = Kind(rawValue: try reader.text()) else { throw CompactFormatError() }
        let code = try reader.key()
        let returnTo = try reader.optionalText()
        let flags = try reader.byte()
        var flow = KeptFlow(
            wish: FlowWish(
                kind: kind,
                returnTo: returnTo,
                demand: SignInDemand(
                    isAgain: flags & 1 != 0,
                    aal: try reader.optionalText().map { AssuranceLevel(named: $0) }
                ),
                schema: try reader.optionalText()
            ),
            code: code,
            failure: try reader.optional { (reader) throws(CompactFormatError) in
                // The reason may come from a later version.
                let reason = Reason(rawValue: try reader.text()) ?? .signInProviderError
                return Failure(reason: reason, explanation: try reader.optionalText())
            },
            issuedAt: try reader.time(),
            expiresAt: try reader.time()
        )
        if flags & 2 != 0 { flow.appCode = try reader.secret() }
        return flow
    }
}

extension RecordKind {
    /// A code that an app keeps. No record has this kind: the code's digest is compared with `ReturnCode.code`.
    static var exchangeCode: RecordKind { RecordKind(letter: UInt8(ascii: "k")) }
}

extension TokenKind {
    /// The code that the app keeps (`session_token_exchange_code`).
    package static var exchangeCode: TokenKind { TokenKind(prefix: "spi_", record: .exchangeCode) }
}
