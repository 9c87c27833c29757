import AddressIntelligence
import Cryptography
import Endpoints
import NIOCore
import RequestPath
import Settings
import Vocabulary

/// The server with endpoints instead of one answer for all requests.
extension PlainServer {
    /// Binds `address` and serves `endpoints` for every host name; every other path is 404.
    ///
    /// - Throws: `PlainServerError` that names the address.
    static func start(
        _ address: ListenAddress,
        group: any EventLoopGroup,
        endpoints: [Endpoint]
    ) async throws -> PlainServer {
        let paths = EndpointPaths(endpoints.map { EndpointPaths.Entry($0) })
        let authority = "\(address.host):\(address.port)"
        return try await PlainServer.start(address, group: group) { request in
            switch request.match(paths) {
            case .endpoint(let endpoint):
                return await endpoint.answer(EndpointRequest(to: endpoint, request, authority: authority))
            case .methodNotAllowed(let allow):
                return .text(405, "method not allowed\n", fields: [("allow", allow)])
            case .none, .forward, .refused:
                return .text(404, "not found\n")
            }
        }
    }
}

extension PlainRequest {
    /// The endpoint at the path as it was sent.
    fileprivate func match(_ paths: EndpointPaths) -> EndpointMatch {
        Array(self.path.utf8).withUnsafeBufferPointer { path in
            Array(self.method.utf8).withUnsafeBufferPointer { paths.match(path, method: $0, isRaw: true) }
        }
    }
}

extension EndpointRequest {
    fileprivate init(to endpoint: Endpoint, _ request: PlainRequest, authority: String) {
        let path = request.path
        self.init(
            method: request.method,
            path: path,
            pathParameters: Array(path.utf8).withUnsafeBufferPointer { endpoint.pattern.parameters(of: $0) },
            query: FormText.pairs((request.query ?? "").utf8),
            fields: request.fields.map { ($0.name.lowercased(), $0.value) },
            body: request.body,
            address: request.peer,
            origin: "http://\(authority)",
            authority: authority,
            isSecure: false,
            requestID: Random.base64URL(12)
        )
    }
}
