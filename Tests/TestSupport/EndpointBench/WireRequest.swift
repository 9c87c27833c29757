package import AddressIntelligence
package import Endpoints
import Pages
import RequestPath
import Settings
package import Vocabulary

/// A request of a test to an endpoint. It comes as over the wire: it is written as a head, which the request path's parser
/// reads with the fields that every listener drops, and copied for the endpoint by the request path's own conversion.
package struct WireRequest: Sendable {
    package var method: String
    /// The normalised path; what no path can hold as it is gets escaped.
    package var path: String
    /// The query as it stands in the target.
    package var query: String
    package var fields: [(name: String, value: String)]
    package var body: [UInt8]
    package var address: IPAddress
    package var authority: String
    package var cookieReach: CookieScope
    package var requestID: String

    package init(
        _ method: String,
        _ path: String,
        query: String = "",
        fields: [(name: String, value: String)] = [],
        body: [UInt8] = [],
        from address: IPAddress = IPAddress(v4: 0xC000_0201),
        on authority: String = "app.example.com",
        cookieReach: CookieScope = .site,
        requestID: String = "r1"
    ) {
        self.method = method
        self.path = path
        self.query = query
        self.fields = fields
        self.body = body
        self.address = address
        self.authority = authority
        self.cookieReach = cookieReach
        self.requestID = requestID
    }

    /// The endpoint's answer; that of the listener if no endpoint gets such a request.
    package func answer(of endpoint: Endpoint) async -> EndpointResponse {
        guard self.body.count <= endpoint.bodyLimit else { return self.refusal(.requestBodyTooLarge) }
        let request: EndpointRequest
        do throws(Reason) {
            request = try self.received(by: endpoint)
        } catch {
            return self.refusal(error)
        }
        return await endpoint.answer(request)
    }

    /// What the endpoint gets.
    ///
    /// - Throws: Why the head is refused.
    package func received(by endpoint: Endpoint) throws(Reason) -> EndpointRequest {
        let identity = IdentityProfile(IdentitySettings())
        let parser = RequestParser(
            names: FieldNames(
                roles: FieldNames.requestRoles,
                managedNames: identity.managed.names,
                managedPrefixes: identity.managed.prefixes
            ),
            limits: HeadLimits(line: 8192, field: 16_384, fields: 65_536, fieldCount: 100),
            dropsUnderscore: true
        )
        let head = RequestHead(fieldCount: 100)
        let result: Result<EndpointRequest, Reason> = self.head.withUnsafeBufferPointer { bytes in
            guard let base = bytes.baseAddress else { return .failure(.requestMalformed) }
            switch parser.parse(base, bytes.count, into: head) {
            case .complete: break
            case .incomplete: return .failure(.requestMalformed)
            case .refused(let reason): return .failure(reason)
            }
            var memory = [UInt8](repeating: 0, count: 16_384)
            return memory.withUnsafeMutableBufferPointer { scratch in
                switch PathReading.read(head.path.bytes(in: base), into: scratch) {
                case .refused(let reason): .failure(reason)
                case .read(let reading): .success(self.request(to: endpoint, head, base, reading.bytes))
                }
            }
        }
        return try result.get()
    }

    private func request(
        to endpoint: Endpoint,
        _ head: RequestHead,
        _ base: Bytes,
        _ path: UnsafeBufferPointer<UInt8>
    ) -> EndpointRequest {
        let parts = self.authority.split(separator: ":")
        let url = PublicURL(
            isHTTPS: true,
            host: String(parts[0]),
            port: parts.count == 2 ? Int(parts[1]) : nil
        )
        let table = RouteTable([HostSettings(publicURL: url, endpoints: true, routes: [])], upstreams: [])
        var request = EndpointRequest(
            to: endpoint,
            head,
            base,
            path: path,
            host: table.hosts[0],
            cookies: OwnCookies(
                session: "__Host-sallyport",
                handoff: ["auth0_session_transfer_token", "session_transfer_token"],
                attempt: "__Host-sallyport-attempt",
                handled: "__Host-sallyport-handled"
            ),
            address: self.address,
            requestID: RequestID(seed: 0, sequence: 0, given: Array(self.requestID.utf8)),
            design: .included
        )
        request.cookieReach = self.cookieReach
        request.body = self.body
        return request
    }

    /// The head as a client writes it.
    private var head: [UInt8] {
        let path = self.path.utf8.map { byte in
            byte > 0x20 && byte < 0x7F && byte != UInt8(ascii: "%") && byte != UInt8(ascii: "?")
                && byte != UInt8(ascii: "#") ? String(UnicodeScalar(byte)) : "%" + Self.hexadecimal(byte)
        }
        let query = self.query.utf8.map { byte in
            byte > 0x20 && byte < 0x7F && byte != UInt8(ascii: "#")
                ? String(UnicodeScalar(byte)) : "%" + Self.hexadecimal(byte)
        }
        let target = path.joined() + (query.isEmpty ? "" : "?" + query.joined())
        var lines = ["\(self.method) \(target) HTTP/1.1", "Host: \(self.authority)"]
        lines += self.fields.map { "\($0.name): \($0.value)" }
        if !self.body.isEmpty { lines.append("Content-Length: \(self.body.count)") }
        return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
    }

    private static func hexadecimal(_ byte: UInt8) -> String {
        (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
    }

    private func refusal(_ reason: Reason) -> EndpointResponse { .problem(reason, requestID: self.requestID) }
}
