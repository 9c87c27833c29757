/// The gateway's changes to an app's answer, in every protocol. The rest of the answer stays unchanged.
///
/// Not copyable, because copies would count references.
package struct AnswerChanges: ~Copyable {
    /// True if the answer is for one user, so that no shared cache may keep it.
    package var marksPrivate = false
    /// The gateway's own field lines, such as `Set-Cookie` and CORS fields, each with its CRLF.
    package var extraLines: [UInt8] = []
    package var requestID: RequestID
    /// Whether the upstream is the identity provider. Its own fields may have the names of identity fields.
    package var keepsIdentityNames = false
    /// The route if it changes the answers of its app. `nil` otherwise.
    package var route: Pinned<RouteEntry>?

    package init(requestID: RequestID) {
        self.requestID = requestID
    }
}

/// The head of an app's answer, lent for one call without counting references.
package struct AnswerHead {
    private let head: Pinned<ResponseHead>
    /// The bytes that the head's slices refer to.
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

    /// Lends the head, its bytes, the app's own origin (such as `http://127.0.0.1:9000`), and the public origin.
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
    /// Returns the server whose origin the answer's `Location` names, otherwise the first server.
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
