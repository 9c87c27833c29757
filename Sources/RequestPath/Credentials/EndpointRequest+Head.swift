package import AddressIntelligence
package import Endpoints
package import Pages
import Settings
import SignOn
import Vocabulary

extension EndpointRequest {
    /// Copies the parts of a request that `endpoint` may see. The body is added later.
    ///
    /// - Parameters:
    ///   - path: The normalised path, as matched by `endpoint`.
    ///   - cookies: The gateway's cookies on `host`.
    ///   - address: The client's address, after applying `trusted_proxies`.
    ///   - design: The design of the gateway's pages.
    package init(
        to endpoint: Endpoint,
        _ head: RequestHead,
        _ base: Bytes,
        path: UnsafeBufferPointer<UInt8>,
        host: HostEntry,
        cookies: OwnCookies,
        address: IPAddress,
        requestID: RequestID,
        design: PageDesign
    ) {
        var fields: [(name: String, value: String)] = []
        for index in 0..<head.fields.count {
            let line = head.fields[index]
            // Skips credentials (see `PresentedCredentials`) and fields that clients may not set.
            guard !line.isDropped || line.role.isForEndpoints, !line.role.presentsCredential else { continue }
            let name = String(decoding: line.name.bytes(in: base), as: UTF8.self).lowercased()
            fields.append((name, String(decoding: line.value.bytes(in: base), as: UTF8.self)))
        }
        self.init(
            method: String(decoding: head.method.bytes(in: base), as: UTF8.self),
            path: String(decoding: path, as: UTF8.self),
            pathParameters: endpoint.pattern.parameters(of: path),
            query: FormText.pairs(head.query.bytes(in: base)),
            fields: fields,
            credentials: PresentedCredentials(head, base, cookies: cookies),
            body: [],
            address: address,
            origin: host.publicURL.description,
            authority: host.publicURL.authority,
            cookieReach: host.settings.cookieReach,
            requestID: requestID.text,
            design: design
        )
        self.rawQuery = String(decoding: head.query.bytes(in: base), as: UTF8.self)
        if endpoint.isApp { self.head = Self.text(of: head, base) }
        if endpoint.passesOn { self.passedOn = PassedOn(head, base, cookies: cookies) }
    }

    /// Returns the method, the target and the fields, each on a line.
    private static func text(of head: RequestHead, _ base: Bytes) -> String {
        func text(_ slice: Slice) -> String { String(decoding: slice.bytes(in: base), as: UTF8.self) }
        var lines = ["\(text(head.method)) \(text(head.target))"]
        for index in 0..<head.fields.count {
            lines.append("\(text(head.fields[index].name)): \(text(head.fields[index].value))")
        }
        return lines.joined(separator: "\n")
    }
}

extension PassedOn {
    /// Copies what a forwarding endpoint (`ForwardingEndpoint`) sends to the provider: the target and the credentials.
    fileprivate init(_ head: RequestHead, _ base: Bytes, cookies: OwnCookies) {
        func text(_ slice: Slice) -> String { String(decoding: slice.bytes(in: base), as: UTF8.self) }
        var credentials: [(name: String, value: String)] = []
        var kept = ""
        for index in 0..<head.fields.count {
            let line = head.fields[index]
            switch line.role {
            case .cookie:
                if !kept.isEmpty { kept += "; " }
                cookies.forEachForwardedRun(of: line.value, base, dropsHandoff: true, dropsProviderCookie: false) {
                    kept += text($0)
                }
            case .authorization: credentials.append(("authorization", text(line.value)))
            case .sessionToken: credentials.append(("x-session-token", text(line.value)))
            default: break
            }
        }
        if !kept.isEmpty { credentials.append(("cookie", kept)) }
        let path = text(head.path)
        self.init(target: head.query.isEmpty ? path : "\(path)?\(text(head.query))", credentials: credentials)
    }
}

extension FieldRole {
    /// True if endpoints receive the field although apps do not.
    fileprivate var isForEndpoints: Bool {
        switch self {
        case .upgrade, .native, .userAddress, .wantedPage: true
        default: false
        }
    }

    /// True if `PresentedCredentials` contains the field's value.
    fileprivate var presentsCredential: Bool {
        switch self {
        case .authorization, .cookie, .sessionToken, .dpop: true
        default: false
        }
    }
}

extension PresentedCredentials {
    /// Reads the credentials of a request to an endpoint. The parser rejects repetitions of all but `Cookie`.
    package init(_ head: RequestHead, _ base: Bytes, cookies: OwnCookies) {
        self.init()
        func secret(_ value: Slice) -> Secret { Secret(Array(value.bytes(in: base))) }
        /// Returns the distinct values of a cookie, up to `maxSessionCookies`.
        func values(of owner: OwnCookies.Owner, in field: Slice) -> [Secret] {
            var values: [Secret] = []
            cookies.forEachValue(of: owner, in: field, base) { value in
                let value = secret(value)
                if values.count < Self.maxSessionCookies, !values.contains(value) { values.append(value) }
            }
            return values
        }
        for index in 0..<head.fields.count {
            let value = head.fields[index].value
            switch head.fields[index].role {
            case .cookie where index == head.line(.cookie):
                self.sessionCookies = values(of: .session, in: value)
                self.providerCookies = values(of: .provider, in: value)
                self.handoff = HandoffCredentials(in: value, base, cookies)
                cookies.forEachCompanion(in: value, base) { label, value in
                    guard self.companions.count < Self.maxCompanions else { return }
                    let label = String(decoding: label.bytes(in: base), as: UTF8.self)
                    self.companions.append(CompanionCookie(label: label, value: secret(value)))
                }
            case .sessionToken:
                self.sessionToken = value.isEmpty ? nil : secret(value)
            case .authorization:
                self.authorization =
                    switch AuthorizationField(value, base) {
                    case .bearer(let token): .bearer(secret(token))
                    case .basic(let pair): .basic(secret(pair))
                    case .dpop(let token): .dpop(secret(token))
                    case .other: .other
                    }
            case .dpop:
                self.proof = secret(value)
            default: break
            }
        }
    }
}

extension HandoffCredentials {
    /// Reads the handoff cookies in the field value `field`.
    fileprivate init(in field: Slice, _ base: Bytes, _ cookies: OwnCookies) {
        self.init()
        func secret(_ value: Slice) -> Secret { Secret(Array(value.bytes(in: base))) }
        let found = cookies.find(in: field, base)
        self.tokens = cookies.handoffValues(in: field, base).prefix(Self.most).map(secret)
        self.marks = found.handled.value.map(secret)
        self.attempt = found.attempt.value.map { secret(AttemptCookie.parts(of: $0, base).secret) }
    }
}
