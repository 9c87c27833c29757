import Settings
import Vocabulary

#if canImport(Glibc)
import Glibc
#endif

/// Sends one request to a gateway's admin listener, and blocks until the answer arrives. Works in containers without a
/// shell or curl.
enum AdminProbe {
    /// A request had no usable answer.
    struct Failure: Error, CustomStringConvertible {
        let description: String
        /// The status of the answer; `nil` if there is none.
        var status: Int?
        /// The gateway's reason; `nil` if the answer has none.
        var reason: Reason?
    }

    struct Answer: Equatable {
        var status: Int
        var body: String

        /// The first line of the body, cut after 200 characters.
        var line: String { String(self.body.prefix { !$0.isNewline }.prefix(200)) }
    }

    /// The maximum length of an answer in bytes. A page of sessions is shorter.
    static let longestAnswer = 1 << 20

    /// Sends a request and returns the answer.
    ///
    /// - Parameters:
    ///   - token: An operator's token; `nil` for none.
    ///   - document: The JSON body; `nil` for none.
    ///   - seconds: The time limit of each step. A slow request may take a few times as long.
    static func get(
        _ path: String,
        method: String = "GET",
        token: String? = nil,
        document: JSONValue? = nil,
        at target: AdminTarget,
        seconds: Int
    ) throws(Failure) -> Answer {
        let address = target.address
        // A listener on all addresses is reached over loopback.
        let host =
            switch address.host {
            case "", "0.0.0.0": "127.0.0.1"
            case "::": "::1"
            default: address.host
            }
        let place = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]:\(address.port)" : "\(host):\(address.port)"
        guard address.port != 0 else { throw Failure(description: "admin.listen has port 0: set a fixed port") }
        let socket = try self.connect(host, address.port, seconds: seconds, place: place)
        var head = "\(method) \(path) HTTP/1.1\r\nHost: \(place)\r\nConnection: close\r\n"
        if let token { head += "Authorization: Bearer \(token)\r\n" }
        if let document {
            let body = String(decoding: JSONText.encode(document), as: UTF8.self)
            head += "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
        } else {
            head += "\r\n"
        }
        if let trust = target.trust {
            return try self.answer(
                in: self.exchange(
                    head,
                    socket,
                    to: ListenAddress(host: host, port: address.port),
                    trusting: trust,
                    seconds: seconds,
                    place: place
                ),
                place
            )
        }
        defer { close(socket) }
        try self.send(head, socket, place)
        return try self.answer(in: self.receive(socket, seconds: seconds, place: place), place)
    }

    private static func connect(_ host: String, _ port: Int, seconds: Int, place: String) throws(Failure) -> Int32 {
        var hints = addrinfo()
        hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, String(port), &hints, &found) == 0, let info = found else {
            throw Failure(description: "\(place) is not an address")
        }
        defer { freeaddrinfo(found) }
        let descriptor = socket(info.pointee.ai_family, info.pointee.ai_socktype, info.pointee.ai_protocol)
        guard descriptor >= 0 else { throw Failure(description: "no socket: \(self.error())") }
        var limit = timeval(tv_sec: seconds, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
        }
        guard Glibc.connect(descriptor, info.pointee.ai_addr, info.pointee.ai_addrlen) == 0 else {
            let reason = self.error()
            close(descriptor)
            throw Failure(description: "\(place) cannot be reached: \(reason)")
        }
        return descriptor
    }

    private static func send(_ text: String, _ socket: Int32, _ place: String) throws(Failure) {
        let bytes = Array(text.utf8)
        // The request fits into any socket buffer, so one call sends all of it.
        guard Glibc.send(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else {
            throw Failure(description: "\(place) does not accept the request: \(self.error())")
        }
    }

    private static func receive(_ socket: Int32, seconds: Int, place: String) throws(Failure) -> [UInt8] {
        var answer: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 4096)
        let end = time(nil) + seconds
        while answer.count < self.longestAnswer, time(nil) <= end {
            let count = recv(socket, &piece, piece.count, 0)
            if count == 0 { return answer }
            guard count > 0 else { throw Failure(description: "\(place) does not answer: \(self.error())") }
            answer += piece[..<count]
        }
        throw Failure(description: "\(place) does not finish its answer")
    }

    private static func answer(in bytes: [UInt8], _ place: String) throws(Failure) -> Answer {
        let text = String(decoding: bytes, as: UTF8.self)
        let words = text.prefix { $0 != "\r\n" }.split(separator: " ", maxSplits: 2)
        guard words.count >= 2, words[0].hasPrefix("HTTP/1."), let status = Int(words[1]),
            let head = text.utf8.firstRange(of: "\r\n\r\n".utf8)
        else { throw Failure(description: "\(place) does not speak HTTP") }
        return Answer(status: status, body: String(text[head.upperBound...]))
    }

    private static func error() -> String {
        errno == EAGAIN || errno == EINPROGRESS ? "it took too long" : String(cString: strerror(errno))
    }
}
