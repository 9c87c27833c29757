import Foundation
import Synchronization

#if canImport(Glibc)
import Glibc
#endif

/// A request as the app received it.
package struct Received: Sendable {
    /// The head's exact bytes.
    package var head: [UInt8]
    /// The body without its framing.
    package var body: [UInt8] = []
    /// The body's exact bytes.
    package var rawBody: [UInt8] = []
    /// The lines that followed a chunked body.
    package var trailers: [String] = []
    /// The number of the connection on which it came.
    package var connection: Int

    /// The head as text.
    package var text: String { String(latin1: self.head) }
    /// The request line and the fields.
    package var lines: [String] { self.text.split(separator: "\r\n").map(String.init) }
    /// The request target.
    package var target: String { self.lines.first.map { String($0.split(separator: " ")[1]) } ?? "" }
    /// The method.
    package var method: String { self.lines.first.map { String($0.split(separator: " ")[0]) } ?? "" }

    /// All values of a field, in order.
    package func values(_ name: String) -> [String] {
        self.lines.dropFirst().compactMap { line in
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, parts[0].lowercased() == name.lowercased() else { return nil }
            return parts[1].trimmingCharacters(in: .whitespaces)
        }
    }
}

/// One connection to the fake app.
package struct Link: Sendable {
    /// The TCP connection.
    package let wire: Wire
    /// The number of the connection, from 0.
    package let number: Int
    fileprivate let record: @Sendable (Received) -> Void

    /// Reads the next head and leaves its body on the wire; nil at the end.
    package func nextHead() -> Received? {
        guard let head = self.wire.receive(through: "\r\n\r\n", seconds: 30) else { return nil }
        return Received(head: head, connection: self.number)
    }

    /// Reads and records the next complete request; nil at the end.
    package func next() -> Received? {
        guard var request = self.nextHead() else { return nil }
        if let length = request.values("content-length").first.flatMap({ Int($0) }) {
            guard let body = self.wire.receive(count: length, seconds: 10) else { return nil }
            request.body = body
            request.rawBody = body
        } else if request.values("transfer-encoding").contains("chunked") {
            guard self.readChunks(into: &request) else { return nil }
        }
        self.record(request)
        return request
    }

    private func readChunks(into request: inout Received) -> Bool {
        while true {
            guard let line = self.wire.receive(through: "\r\n", seconds: 10) else { return false }
            request.rawBody += line
            guard let size = Int(String(latin1: line.dropLast(2)).prefix { $0 != ";" }, radix: 16) else { return false }
            if size == 0 {
                while let line = self.wire.receive(through: "\r\n", seconds: 10) {
                    request.rawBody += line
                    if line.count == 2 { return true }
                    request.trailers.append(String(latin1: line.dropLast(2)))
                }
                return false
            }
            guard let data = self.wire.receive(count: size + 2, seconds: 10) else { return false }
            request.rawBody += data
            request.body += data.dropLast(2)
        }
    }

    /// Sends `text`; false if the other side no longer accepts it.
    @discardableResult
    package func send(_ text: String) -> Bool { self.wire.send(text) }

    /// Sends an answer with a Content-Length.
    package func answer(_ status: String = "200 OK", _ fields: String = "", body: String = "") {
        self.send("HTTP/1.1 \(status)\r\n\(fields)Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
    }
}

/// An app that a test scripts. It records the requests that it receives.
package final class FakeUpstream: Sendable {
    private struct State {
        var requests: [Received] = []
        var links: [Wire] = []
        var count = 0
        var isStopped = false
        /// The listener is closed: its descriptor may be that of something else by now.
        var isClosed = false
    }

    /// The port on which it listens.
    package let port: Int
    private let descriptor: Int32
    private let state = Mutex(State())
    private let end = DispatchSemaphore(value: 0)

    /// - Parameters:
    ///     - port: 0 for a free port.
    ///     - serve: Handles one connection, which is closed afterwards.
    package init(port: Int = 0, serve: @escaping @Sendable (Link) -> Void = FakeUpstream.echo) throws {
        self.descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var one: Int32 = 1
        setsockopt(self.descriptor, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<Int32>.size))
        let descriptor = self.descriptor
        guard Wire.withAddress("127.0.0.1", port, { bind(descriptor, $0, $1) }) == 0, listen(descriptor, 1024) == 0
        else {
            throw BenchFailure("the fake app cannot listen: \(errno)")
        }
        self.port = Self.port(of: descriptor)
        Thread.detachNewThread { [self] in
            // The thread that accepts is the one that closes, or it could accept connections to the next listener of the
            // same descriptor.
            defer {
                self.state.withLock { state in
                    state.isClosed = true
                    Glibc.close(descriptor)
                }
                self.end.signal()
            }
            while true {
                let accepted = accept(descriptor, nil, nil)
                guard accepted >= 0 else { return }
                // Keeps the descriptor out of gateways that other tests start at the same time.
                _ = fcntl(accepted, F_SETFD, FD_CLOEXEC)
                let wire = Wire(descriptor: accepted)
                let number: Int? = self.state.withLock { state in
                    guard !state.isStopped else { return nil }
                    state.links.append(wire)
                    state.count += 1
                    return state.count - 1
                }
                guard let number else { return wire.close() }
                let link = Link(wire: wire, number: number) { request in
                    self.state.withLock { $0.requests.append(request) }
                }
                let thread = Thread {
                    serve(link)
                    wire.close()
                }
                thread.stackSize = 262_144
                thread.start()
            }
        }
    }

    /// Answers every request with 200 and the request's head as the body.
    package static let echo: @Sendable (Link) -> Void = { link in
        while let request = link.next() { link.answer(body: String(latin1: request.head)) }
    }

    /// Runs `answer` for every complete request of every connection.
    package static func answering(_ answer: @escaping @Sendable (Link, Received) -> Void) -> @Sendable (Link) -> Void {
        { link in while let request = link.next() { answer(link, request) } }
    }

    private static func port(of descriptor: Int32) -> Int {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        _ = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        return Int(UInt16(bigEndian: address.sin_port))
    }

    /// Every request that was read completely.
    package var requests: [Received] { self.state.withLock { $0.requests } }
    /// The number of accepted connections.
    package var connectionCount: Int { self.state.withLock { $0.count } }

    /// Closes the listener and every connection; once it has, this does nothing.
    package func stop() {
        let links: [Wire]? = self.state.withLock { state in
            guard !state.isStopped else { return nil }
            state.isStopped = true
            if !state.isClosed { shutdown(self.descriptor, Int32(SHUT_RDWR)) }
            return state.links
        }
        guard let links else { return }
        self.end.wait()
        for link in links { link.interrupt() }
    }
}
