import Foundation

/// A browser in front of the gateways' hosts: it keeps the cookies of each host, and follows redirects from host to host
/// and to servers on 127.0.0.1, such as a provider. Every other name leads to the gateways.
package struct WebUser {
    /// The ports on which the hosts are reached, in turn: several gateways behind a balancer.
    package var ports: [Int]
    /// The cookies of each host, by name.
    package var jars: [String: [String: String]] = [:]
    /// Whether it keeps a cookie, by host and name.
    package var keeps: @Sendable (_ host: String, _ name: String) -> Bool = { _, _ in true }
    /// Every URL of the last navigation.
    package private(set) var trail: [String] = []
    private var turn = 0

    /// An empty browser.
    package init(_ gateways: Gateway...) {
        self.init(gateways)
    }

    /// The same.
    package init(_ gateways: [Gateway]) {
        self.ports = gateways.map(\.port)
    }

    /// The end of a navigation.
    package struct Arrival {
        package let url: String
        package let answer: Answer

        package init(url: String, answer: Answer) {
            self.url = url
            self.answer = answer
        }
    }

    /// Opens a URL and follows at most twenty redirects, as browsers do.
    package mutating func open(_ url: String, _ fields: [String] = []) throws -> Arrival {
        self.trail = []
        return try self.follow(url, fields)
    }

    /// Fills the sign-in form of a page and follows.
    package mutating func submit(_ page: Arrival, as user: User = .ada) throws -> Arrival {
        let origin = Self.origin(of: page.url)
        guard let form = page.answer.text.firstMatch(of: /name="return_to" value="([^"]*)"/) else {
            throw BenchFailure("no form: \(page.url) \(page.answer.lines) \(page.answer.text)")
        }
        let target = String(form.1).replacing("&amp;", with: "&")
        let body = "identifier=\(user.identifier)&password=\(user.password)&return_to=\(Self.escaped(target))"
        let url = origin + "/.sallyport/login"
        let answer = try self.send(
            "POST",
            url,
            ["Origin: \(origin)", "Content-Type: application/x-www-form-urlencoded"],
            body: body
        )
        guard answer.status == 303, let location = answer.value("location") else {
            return Arrival(url: url, answer: answer)
        }
        self.trail = []
        return try self.follow(Self.resolved(location, on: origin), [])
    }

    /// Signs out on a host, and follows no redirect.
    package mutating func signOut(
        _ origin: String,
        returnTo: String = "/",
        _ fields: [String] = []
    ) throws -> Answer {
        try self.send(
            "POST",
            origin + "/.sallyport/logout",
            ["Origin: \(origin)", "Content-Type: application/x-www-form-urlencoded"] + fields,
            body: "return_to=\(Self.escaped(returnTo))"
        )
    }

    /// Follows the redirects of an answer that came from `origin`.
    package mutating func follow(_ answer: Answer, from origin: String) throws -> Arrival {
        guard let location = answer.value("location") else { return Arrival(url: origin, answer: answer) }
        return try self.open(Self.resolved(location, on: origin))
    }

    /// One request, that of a page load unless `fields` say otherwise; the answer's cookies are kept.
    package mutating func send(
        _ method: String,
        _ url: String,
        _ fields: [String] = [],
        body: String? = nil
    ) throws -> Answer {
        let origin = Self.origin(of: url)
        let host = String(origin.dropFirst("http://".count))
        var lines = ["\(method) \(url.dropFirst(origin.count)) HTTP/1.1", "Host: \(host)"]
        let given = fields.map { $0.prefix { $0 != ":" } }
        lines += ["Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document", "Accept: text/html"].filter { line in
            !given.contains(line.prefix { $0 != ":" })
        }
        lines += fields
        if let body { lines.append("Content-Length: \(body.utf8.count)") }
        let answer = try Wire(to: self.port(of: host)).request(
            lines.joined(separator: "\r\n") + "\r\n" + self.cookies(of: host) + "\r\n" + (body ?? "")
        )
        self.take(answer, host)
        return answer
    }

    /// The line with the cookies of a host; empty if there are none.
    package func cookies(of host: String) -> String {
        let cookies = (self.jars[host] ?? [:]).sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        return cookies.isEmpty ? "" : "Cookie: \(cookies.joined(separator: "; "))\r\n"
    }

    private mutating func port(of host: String) throws -> Int {
        let loopback = "127.0.0.1:"
        guard !host.hasPrefix(loopback) else {
            guard let port = Int(host.dropFirst(loopback.count)) else { throw BenchFailure("no port: \(host)") }
            return port
        }
        self.turn += 1
        return self.ports[(self.turn - 1) % self.ports.count]
    }

    /// Opens several tabs at the same time: each loads one step while the others wait, and all share the cookies.
    package mutating func open(together urls: [String]) throws -> [Arrival] {
        var tabs = urls.map { (url: $0, arrival: Arrival?.none) }
        for _ in 0...20 {
            for index in tabs.indices where tabs[index].arrival == nil {
                let url = tabs[index].url
                let answer = try self.send("GET", url)
                if let next = Self.target(of: answer, on: url) {
                    tabs[index].url = next
                } else {
                    tabs[index].arrival = Arrival(url: url, answer: answer)
                }
            }
            let arrived = tabs.compactMap(\.arrival)
            if arrived.count == tabs.count { return arrived }
        }
        throw BenchFailure("redirected in circles: \(tabs.map(\.url))")
    }

    /// The absolute URL to which an answer redirects; nil if it does not.
    private static func target(of answer: Answer, on url: String) -> String? {
        guard (301...308).contains(answer.status), let location = answer.value("location") else { return nil }
        return Self.resolved(location, on: Self.origin(of: url))
    }

    private mutating func follow(_ first: String, _ fields: [String]) throws -> Arrival {
        var url = first
        for _ in 0...20 {
            self.trail.append(url)
            let answer = try self.send("GET", url, fields)
            guard let next = Self.target(of: answer, on: url) else { return Arrival(url: url, answer: answer) }
            url = next
        }
        throw BenchFailure("redirected in circles: \(self.trail.suffix(6))")
    }

    private mutating func take(_ answer: Answer, _ host: String) {
        for line in answer.values("set-cookie") {
            let pair = line.prefix { $0 != ";" }
            let name = String(pair.prefix { $0 != "=" })
            guard self.keeps(host, name) else { continue }
            let isCleared = line.contains("Max-Age=0")
            self.jars[host, default: [:]][name] = isCleared ? nil : String(pair.dropFirst(name.count + 1))
        }
    }

    private static func origin(of url: String) -> String {
        let start = url.range(of: "://").map(\.upperBound) ?? url.startIndex
        return String(url[..<(url[start...].firstIndex(of: "/") ?? url.endIndex)])
    }

    private static func resolved(_ location: String, on origin: String) -> String {
        location.hasPrefix("/") ? origin + location : location
    }

    private static func escaped(_ text: String) -> String {
        text.utf8.map { byte in
            let isPlain = byte &- 0x30 <= 9 || (byte | 0x20) &- 0x61 < 26
            return isPlain ? String(UnicodeScalar(byte)) : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
    }
}
