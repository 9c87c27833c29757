import NIOCore
import Settings
import Vocabulary

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

    /// Sends a request for `path` to `target`. Gives up after `seconds`.
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
        guard let peer = try? SocketAddress(ipAddress: host, port: address.port) else {
            throw Failure(description: "\(place) is not an address")
        }
        var request = "\(method) \(path) HTTP/1.1\r\nHost: \(place)\r\nConnection: close\r\n"
        if let token { request += "Authorization: Bearer \(token)\r\n" }
        if let document {
            let body = String(decoding: JSONText.encode(document), as: UTF8.self)
            request += "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
        } else {
            request += "\r\n"
        }
        let exchange = AdminExchange(request, with: place, trusting: target.trust, within: .seconds(Int64(seconds)))
        return try self.answer(in: exchange.bytes(from: peer), place)
    }

    private static func answer(in bytes: [UInt8], _ place: String) throws(Failure) -> Answer {
        let text = String(decoding: bytes, as: UTF8.self)
        let words = text.prefix { $0 != "\r\n" }.split(separator: " ", maxSplits: 2)
        guard words.count >= 2, words[0].hasPrefix("HTTP/1."), let status = Int(words[1]),
            let head = text.utf8.firstRange(of: "\r\n\r\n".utf8)
        else { throw Failure(description: "\(place) does not speak HTTP") }
        return Answer(status: status, body: String(text[head.upperBound...]))
    }
}
