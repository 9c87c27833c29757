import Settings
import Vocabulary

/// The address of the demo, for the gateway and for its visitors.
package struct DemoPlace: Sendable, Equatable {
    /// The address at which the gateway listens, e.g. `127.0.0.1:8080`.
    package let listen: String
    /// The port at which the gateway listens.
    package let port: Int
    /// The URL by which browsers reach the demo, without a slash at its end.
    package let origin: String
    /// True if only this machine reaches the demo.
    package let isLocal: Bool
    /// True if the gateway sees the addresses of all clients: they are on this machine, and no tunnel ends TLS.
    package var seesAddresses: Bool { self.isLocal && !self.origin.hasPrefix("https://") }
    /// The host by which the demo's own app reaches it.
    let insideHost: String

    /// The error for options that name no address of a demo.
    package struct Fault: Error, Equatable {
        /// Says which option is wrong, and what to write.
        package let sentence: String
    }

    /// - Parameters:
    ///   - listen: An address with a port, or `nil` for loopback.
    ///   - port: The port on loopback.
    ///   - publicURL: The URL for browsers, or `nil` for localhost with the port.
    ///   - freePort: Finds a port if the port is 0.
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

    /// The URL of a name of this machine, in the form that browsers send.
    private static func url(of host: String, _ port: Int) -> String {
        PublicURL("http://\(host):\(port)")?.description ?? "http://\(host):\(port)"
    }

    /// The host of `origin`, without its port.
    package var host: String {
        let authority = self.origin.split(separator: "/").last ?? ""
        guard authority.first != "[" else { return String(authority.prefix { $0 != "]" }) + "]" }
        return String(authority.prefix { $0 != ":" })
    }

    /// The URL by which the demo's own app reaches it.
    var inside: String { Self.url(of: self.insideHost, self.port) }

    /// The path on which the demo's native app waits for browsers that come back from a sign-in.
    static let returnPath = "/public/native-app/signed-in"

    /// The URLs with it to which browsers may go back: by https, or by http on this machine (RFC 8252 7.3).
    var appReturns: [String] { self.origins.map { $0 + Self.returnPath }.filter { RedirectURI($0) != nil } }

    /// The URLs of the hosts: that one first, then the names of this machine.
    var origins: [String] {
        var origins = [self.origin]
        let own = ["localhost", "127.0.0.1"].map { Self.url(of: $0, self.port) } + [self.inside]
        for origin in own where !origins.contains(origin) { origins.append(origin) }
        return origins
    }
}
