import Settings
import Vocabulary

/// The addresses of the demo: where the gateway listens, and the URLs under which it can be reached.
package struct DemoPlace: Sendable, Equatable {
    /// The address that the gateway listens on, e.g. `127.0.0.1:8080`.
    package let listen: String
    /// The port that the gateway listens on.
    package let port: Int
    /// The public URL, without a slash at its end.
    package let origin: String
    /// True if the demo listens only on a loopback address.
    package let isLocal: Bool
    /// True if the gateway sees the addresses of all clients: they are on this machine, and no tunnel adds https.
    package var seesAddresses: Bool { self.isLocal && !self.origin.hasPrefix("https://") }
    /// The host for connections of the demo's own app.
    let insideHost: String

    /// The options do not make a valid address.
    package struct Fault: Error, Equatable {
        /// A sentence that names the option and says what to write.
        package let sentence: String
    }

    /// - Parameters:
    ///   - listen: An address with a port; `nil` for loopback.
    ///   - port: The port on loopback. 0 for a free port.
    ///   - publicURL: The public URL; `nil` for localhost with the port.
    ///   - freePort: Returns a free port.
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

    /// Returns the http URL of a host and port, in the form that browsers send.
    private static func url(of host: String, _ port: Int) -> String {
        PublicURL("http://\(host):\(port)")?.description ?? "http://\(host):\(port)"
    }

    /// The host in `origin`, without a port.
    package var host: String {
        let authority = self.origin.split(separator: "/").last ?? ""
        guard authority.first != "[" else { return String(authority.prefix { $0 != "]" }) + "]" }
        return String(authority.prefix { $0 != ":" })
    }

    /// The URL for connections of the demo's own app.
    var inside: String { Self.url(of: self.insideHost, self.port) }

    /// The path of the native app's redirect URIs.
    static let returnPath = "/public/native-app/signed-in"

    /// The native app's redirect URIs. An app may use http only on this machine (RFC 8252 7.3).
    var appReturns: [String] { self.origins.map { $0 + Self.returnPath }.filter { RedirectURI($0) != nil } }

    /// The origins under which the gateway serves: `origin` first, then names of this machine.
    var origins: [String] {
        var origins = [self.origin]
        let own = ["localhost", "127.0.0.1"].map { Self.url(of: $0, self.port) } + [self.inside]
        for origin in own where !origins.contains(origin) { origins.append(origin) }
        return origins
    }
}
