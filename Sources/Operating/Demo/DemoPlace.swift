import Settings
import Vocabulary

/// The addresses of the demo: where the gateway listens, and the URL that visitors open.
package struct DemoPlace: Sendable, Equatable {
    /// The address that the gateway listens on, e.g. `127.0.0.1:8080`.
    package let listen: String
    /// The port that the gateway listens on.
    package let port: Int
    /// The URL that browsers open, without a slash at its end.
    package let origin: String
    /// True if only this machine can reach the demo.
    package let isLocal: Bool
    /// True if the gateway sees the addresses of all clients: they are on this machine, and no tunnel terminates TLS.
    package var seesAddresses: Bool { self.isLocal && !self.origin.hasPrefix("https://") }
    /// The host that the demo's own app connects to.
    let insideHost: String

    /// The error for options that do not make a valid address.
    package struct Fault: Error, Equatable {
        /// A sentence with the invalid option and what to write.
        package let sentence: String
    }

    /// - Parameters:
    ///   - listen: An address with a port. `nil` for loopback.
    ///   - port: The port on loopback.
    ///   - publicURL: The URL for browsers. `nil` for localhost with the port.
    ///   - freePort: Finds a free port if the port is 0.
    package init(listen: String?, port: Int, publicURL: String?, freePort: () throws -> Int) throws {
        let text = listen ?? "127.0.0.1:\(port)"
        guard let colon = text.lastIndex(of: ":"), let number = UInt16(text[text.index(after: colon)...]),
            text.utf8.allSatisfy({ $0.isAlphanumeric || ".:[]".utf8.contains($0) })
        else { throw Fault(sentence: "--listen must be an address with a port, e.g. 0.0.0.0:8080.") }
        self.port = number == 0 ? try freePort() : Int(number)
        let host = String(text[..<colon])
        self.listen = "\(host):\(self.port)"
        self.isLocal = ["127.0.0.1", "[::1]", "localhost"].contains(host)
        self.insideHost = ["", "0.0.0.0", "[::]"].contains(host) ? "127.0.0.1" : host
        guard let publicURL else {
            self.origin = Self.url(of: "localhost", self.port)
            return
        }
        guard let url = PublicURL(publicURL) else {
            throw Fault(sentence: "--public-url must be a URL such as http://192.168.1.20:8080.")
        }
        self.origin = url.description
    }

    /// Returns the URL of a name of this machine, in the form that browsers send.
    private static func url(of host: String, _ port: Int) -> String {
        PublicURL("http://\(host):\(port)")?.description ?? "http://\(host):\(port)"
    }

    /// The host of `origin`, without its port.
    package var host: String {
        let authority = self.origin.split(separator: "/").last ?? ""
        guard authority.first != "[" else { return String(authority.prefix { $0 != "]" }) + "]" }
        return String(authority.prefix { $0 != ":" })
    }

    /// The URL that the demo's own app connects to.
    var inside: String { Self.url(of: self.insideHost, self.port) }

    /// The path that browsers return to after the demo's native app has signed its user in.
    static let returnPath = "/public/native-app/signed-in"

    /// The URLs with `returnPath` that an app may use: https on any host, and http only on this machine (RFC 8252 7.3).
    var appReturns: [String] { self.origins.map { $0 + Self.returnPath }.filter { RedirectURI($0) != nil } }

    /// The origins of all hosts: `origin` first, then the names of this machine.
    var origins: [String] {
        var origins = [self.origin]
        let own = ["localhost", "127.0.0.1"].map { Self.url(of: $0, self.port) } + [self.inside]
        for origin in own where !origins.contains(origin) { origins.append(origin) }
        return origins
    }
}
