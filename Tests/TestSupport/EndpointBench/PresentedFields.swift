package import Endpoints
import RequestPath

/// The credentials of a request with these fields, as the request path reads them. The request path refuses a repeated
/// field before it reads a credential, so this function checks that first.
package func presented(_ fields: [(name: String, value: String)]) -> PresentedCredentials {
    let fields = fields.filter { ["cookie", "authorization", "x-session-token", "dpop"].contains($0.name) }
    let names = fields.map(\.name)
    guard names.filter({ $0 == "authorization" }).count <= 1, names.filter({ $0 == "x-session-token" }).count <= 1
    else { return PresentedCredentials(isRepeated: true) }
    let parser = RequestParser(
        names: FieldNames(roles: FieldNames.requestRoles, managedNames: [], managedPrefixes: []),
        limits: HeadLimits(line: 8192, field: 16_384, fields: 65_536, fieldCount: 100),
        dropsUnderscore: true
    )
    let cookies = OwnCookies(
        session: "__Host-sallyport",
        handoff: ["auth0_session_transfer_token", "session_transfer_token"],
        attempt: "__Host-sallyport-attempt",
        handled: "__Host-sallyport-handled"
    )
    let lines = ["GET / HTTP/1.1", "Host: app.example.com"] + fields.map { "\($0.name): \($0.value)" }
    let head = RequestHead(fieldCount: 100)
    return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8).withUnsafeBufferPointer { bytes in
        guard let base = bytes.baseAddress, parser.parse(base, bytes.count, into: head) == .complete else {
            preconditionFailure("the fields of a test are no request: \(names)")
        }
        return PresentedCredentials(head, base, cookies: cookies)
    }
}
