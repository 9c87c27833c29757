/// The changes that the gateway makes to an app's answer.
///
/// Not copyable, because copies would count references.
package struct AnswerChanges: ~Copyable {
    /// True if the answer belongs to one user and no shared cache may store it.
    package var marksPrivate = false
    /// The gateway's own field lines, such as `Set-Cookie` and CORS, each with its CRLF.
    package var extraLines: [UInt8] = []
    package var requestID: RequestID
    /// True if the app is the identity provider. Its answers may contain fields with the names of identity fields.
    package var keepsIdentityNames = false
    /// The route. `nil` unless the route changes its app's answers.
    package var route: Pinned<RouteEntry>?

    package init(requestID: RequestID) {
        self.requestID = requestID
    }
}

/// The head of an app's answer. It does not retain its parts and is valid for one call only.
package struct AnswerHead {
    private let head: Pinned<ResponseHead>
    /// The bytes to which the head's slices refer.
    private let base: Bytes
    private let app: Pinned<UpstreamTarget>
    private let host: Pinned<HostEntry>

    @inline(__always)
    init(_ head: ResponseHead, _ base: Bytes, of app: UpstreamTarget, on host: HostEntry) {
        self.head = Pinned(head)
        self.base = base
        self.app = Pinned(app)
        self.host = Pinned(host)
    }

    /// Calls `body` with the head, its bytes, the app's origin (such as `http://127.0.0.1:9000`) and the public origin.
    @inline(__always)
    package func use(_ body: (ResponseHead, Bytes, _ origin: [UInt8], _ publicOrigin: [UInt8]) -> Void) {
        self.head.use { head in
            self.app.use { app in
                app.server(namedIn: head, self.base).use { server in
                    self.host.use { host in body(head, self.base, server.origin, host.origin) }
                }
            }
        }
    }
}

extension UpstreamTarget {
    /// Returns the server whose origin is in `Location`. Returns the first server if there is none.
    @inline(__always)
    fileprivate func server(namedIn head: ResponseHead, _ base: Bytes) -> Pinned<UpstreamServer> {
        guard self.isList, head.hasLocation else { return Pinned(self.first) }
        return Pinned(self.server(ofLocationIn: head, base))
    }

    private func server(ofLocationIn head: ResponseHead, _ base: Bytes) -> UpstreamServer {
        for index in 0..<head.fields.count where head.fields[index].role == .location {
            let value = head.fields[index].value.bytes(in: base)
            guard let written = WrittenOrigin(value) else { break }
            return self.servers.first { written.isSame(as: $0.origin) } ?? self.first
        }
        return self.first
    }
}
