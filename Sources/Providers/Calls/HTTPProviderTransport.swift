import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Synchronization
import Vocabulary

/// Sends calls over the network.
package struct HTTPProviderTransport: ProviderTransport {
    let client: ProviderHTTPClient
    let tls: TLSConfiguration
    /// Whether calls may go to other machines without TLS, as inside a network of containers.
    var allowsPlainHTTP = false

    package func send(_ call: ProviderCall) async throws(ProviderCallError) -> ProviderAnswer {
        let url: ProviderURL
        do {
            url = try ProviderURL(call.url, allowsPlainHTTP: self.allowsPlainHTTP)
        } catch {
            throw ProviderCallError(isUnsent: true, detail: "the URL of the call cannot be used: \(error)")
        }
        let receiver = AnswerReceiver(limit: call.bodyLimit)
        let request: HTTPClient.Request
        do {
            request = try self.request(call, receiver)
        } catch {
            throw ProviderCallError(error, of: url.host, isUnsent: true)
        }
        let task = self.client.client.execute(
            request: request,
            delegate: receiver,
            deadline: .now() + .nanoseconds(call.timeLimit.wholeMilliseconds * 1_000_000)
        )
        do {
            return try await withTaskCancellationHandler {
                try await task.get()
            } onCancel: {
                task.cancel()
            }
        } catch {
            throw ProviderCallError(error, of: url.host, isUnsent: !receiver.isSent)
        }
    }

    private func request(_ call: ProviderCall, _ receiver: AnswerReceiver) throws -> HTTPClient.Request {
        var headers = HTTPHeaders(call.fields.map { ($0.name, $0.value) })
        // Some providers refuse requests without it.
        if !headers.contains(name: "User-Agent") { headers.add(name: "User-Agent", value: "sallyport") }
        let bytes = call.body
        let body: HTTPClient.Body? =
            bytes.isEmpty
            ? nil
            : .stream(contentLength: Int64(bytes.count)) { writer in
                // Without the body a server cannot act on the request.
                receiver.setSent()
                return writer.write(.byteBuffer(ByteBuffer(bytes: bytes)))
            }
        return try HTTPClient.Request(
            url: call.url,
            method: HTTPMethod(rawValue: call.method),
            headers: headers,
            body: body,
            tlsConfiguration: self.tls
        )
    }
}

/// Collects one answer up to its limit, and remembers whether the request was sent.
private final class AnswerReceiver: HTTPClientResponseDelegate {
    private struct State {
        var isSent = false
        var head: HTTPResponseHead?
        var body = ByteBuffer()
    }

    private let state = Mutex(State())
    private let limit: Int

    init(limit: Int) {
        self.limit = limit
    }

    /// Whether the request may have reached the server.
    var isSent: Bool { self.state.withLock { $0.isSent } }

    func setSent() {
        self.state.withLock { $0.isSent = true }
    }

    func didSendRequestHead(task: HTTPClient.Task<ProviderAnswer>, _ head: HTTPRequestHead) {
        // A request with a body is sent with the body.
        if !head.headers.contains(name: "Content-Length") || head.headers["Content-Length"] == ["0"] { self.setSent() }
    }

    func didReceiveHead(task: HTTPClient.Task<ProviderAnswer>, _ head: HTTPResponseHead) -> EventLoopFuture<Void> {
        self.state.withLock { state in
            state.isSent = true
            state.head = head
        }
        return task.eventLoop.makeSucceededVoidFuture()
    }

    func didReceiveBodyPart(task: HTTPClient.Task<ProviderAnswer>, _ part: ByteBuffer) -> EventLoopFuture<Void> {
        let fits = self.state.withLock { state in
            guard state.body.readableBytes + part.readableBytes <= self.limit else { return false }
            state.body.writeImmutableBuffer(part)
            return true
        }
        return fits
            ? task.eventLoop.makeSucceededVoidFuture()
            : task.eventLoop.makeFailedFuture(AnswerTooLarge(limit: self.limit))
    }

    func didFinishRequest(task: HTTPClient.Task<ProviderAnswer>) throws -> ProviderAnswer {
        let (head, body) = self.state.withLock { ($0.head, $0.body) }
        guard let head else { throw HTTPClientError.remoteConnectionClosed }
        return ProviderAnswer(
            status: Int(head.status.code),
            fields: head.headers.map { ($0.name.lowercased(), $0.value) },
            body: Array(body.readableBytesView)
        )
    }
}

/// An answer has more bytes than its call allows.
struct AnswerTooLarge: Error {
    let limit: Int
}
