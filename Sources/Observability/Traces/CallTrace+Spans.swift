package import Vocabulary

extension CallTrace {
    /// Makes a trace that writes each call as a span to `queue`.
    ///
    /// - Parameters:
    ///   - parent: The span id of the request.
    ///   - namesPaths: True if spans contain paths.
    ///   - store: The `db.system.name` of the session store; `nil` for a store in this process, whose calls are not
    ///     traced.
    package init(of trace: TraceID, below parent: UInt64, namesPaths: Bool, store: String?, to queue: SpanQueue) {
        self.init { call in
            if case .store = call.callee, store == nil { return }
            let clock = SpanClock()
            var head = SpanHead(
                trace: trace,
                // 0 is not a valid span id.
                span: .random(in: 1 ... .max),
                kind: .client,
                start: clock.time(call.began),
                end: clock.time(call.ended)
            )
            head.parent = parent
            queue.write { span in
                span.begin(head)
                switch call.callee {
                case .provider(let method, let origin, let path, let status):
                    Array(method.utf8).withUnsafeBytes { span.name($0) }
                    span.attribute("http.request.method", method)
                    span.server(of: origin)
                    if namesPaths { span.attribute("url.full", origin + path) }
                    span.attribute("sallyport.call", call.purpose)
                    if let status { span.attribute("http.response.status_code", status) }
                case .store(let operation):
                    Array(operation.utf8).withUnsafeBytes { span.name($0) }
                    span.attribute("db.system.name", store ?? "")
                    span.attribute("db.operation.name", operation)
                }
                if let failure = call.failure {
                    span.attribute("error.type", failure)
                    span.failed()
                }
                span.end()
            }
        }
    }
}

extension SpanBuffer {
    /// Adds the address and port of an origin (RFC 6454).
    fileprivate func server(of origin: String) {
        let rest = origin.drop { $0 != ":" }.dropFirst(3)
        let closing = rest.lastIndex(of: "]") ?? rest.startIndex
        let colon = rest[closing...].lastIndex(of: ":")
        self.attribute("server.address", String(rest[..<(colon ?? rest.endIndex)]))
        let port = colon.flatMap { Int(rest[rest.index(after: $0)...]) }
        self.attribute("server.port", port ?? (origin.hasPrefix("https:") ? 443 : 80))
    }
}
