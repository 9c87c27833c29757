import ArgumentParser
import RequestPath
import Settings

/// The request in the options of `explain`.
struct ExplainedRequest {
    /// True if the URL begins with `https`.
    private let isSecure: Bool
    /// The listeners for an HTTP/2 request; `nil` for HTTP/1.
    var http2: HTTP2Place?
    var authority: String
    var target: String
    var method: String
    var headers: [String]

    init(url: String, method: String, headers: [String]) throws {
        guard let scheme = url.utf8.firstRange(of: "://".utf8),
            ["http", "https"].contains(url[..<scheme.lowerBound].lowercased())
        else { throw ValidationError("--url must begin with http:// or https://.") }
        self.isSecure = url[..<scheme.lowerBound].lowercased() == "https"
        let rest = url[scheme.upperBound...]
        let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
        self.authority = String(rest[..<end])
        let target = rest[end...]
        self.target = target.hasPrefix("/") ? String(target) : "/\(target)"
        self.method = method
        self.headers = headers
    }

    /// Adds a cookie. Browsers send all cookies in one field (RFC 6265 5.4).
    mutating func add(cookie: String) {
        if let index = self.headers.firstIndex(where: { $0.lowercased().hasPrefix("cookie:") }) {
            self.headers[index] += "; \(cookie)"
        } else {
            self.headers.append("Cookie: \(cookie)")
        }
    }

    mutating func add(parameter: String) {
        self.target += (self.target.utf8.contains(UInt8(ascii: "?")) ? "&" : "?") + parameter
    }

    /// The head as a client would send it, including any faults.
    var bytes: [UInt8] {
        let lines = ["\(self.method) \(self.target) HTTP/1.1", "Host: \(self.authority)"] + self.headers
        return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
    }

    // MARK: HTTP/2

    /// The listeners that accept an HTTP/2 request, and whether they use TLS. They do not if a proxy terminates TLS.
    struct HTTP2Place {
        var isSecure: Bool
        var addresses: [ListenAddress]
    }

    /// Returns the listeners for this request as HTTP/2.
    func http2Place(in settings: Settings) -> HTTP2Place {
        let listeners = settings.listen.filter { $0.protocols.contains { $0 != .http1 } }
        let fitting = listeners.filter { $0.isSecure == self.isSecure }
        return HTTP2Place(
            isSecure: fitting.isEmpty && !listeners.isEmpty ? !self.isSecure : self.isSecure,
            addresses: (fitting.isEmpty ? listeners : fitting).map(\.address)
        )
    }

    /// Parses the head as the gateway would.
    func read(by configuration: PathConfiguration) -> HTTP2Reading {
        guard let place = self.http2 else { return .read(self.bytes) }
        var pseudo = [
            (":method", self.method), (":scheme", place.isSecure ? "https" : "http"), (":authority", self.authority),
            (":path", self.target),
        ]
        var fields: [(String, String)] = []
        for header in self.headers {
            let colon = header.dropFirst().firstIndex(of: ":") ?? header.endIndex
            // HTTP/2 clients send names in lower case.
            let name = header[..<colon].lowercased()
            let value = String(header[colon...].dropFirst().drop { $0 == " " })
            guard name.hasPrefix(":") else {
                fields.append((name, value))
                continue
            }
            pseudo.removeAll { $0.0 == name }
            pseudo.append((name, value))
        }
        let all = (pseudo + fields).map { (name: Array($0.0.utf8), value: Array($0.1.utf8)) }
        return Explanation.read(all, isSecure: place.isSecure, by: configuration)
    }
}
