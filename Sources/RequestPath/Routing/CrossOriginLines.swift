import Endpoints
import Settings

/// The field lines that a route's CORS settings add to the app's answers, prepared for each origin.
struct CrossOriginLines: Sendable {
    private let byOrigin: [(origin: [UInt8], lines: [UInt8])]
    /// The lines before (`vary`) and after (`credentials`) the line with the origin. Both may be empty.
    private let vary: String
    private let credentials: String
    /// The lines for an origin that is not listed and for a request without an origin.
    private let others: [UInt8]

    init(_ cors: CORSSettings) {
        let named = cors.origins.filter { $0 != "*" }
        let all = cors.origins.contains("*") && !cors.credentials ? Self.line("*") : ""
        // Sent even if the origin is not allowed: a cache must not serve that answer to an allowed origin.
        let vary = named.isEmpty ? "" : "Vary: Origin\r\n"
        let credentials = cors.credentials ? "Access-Control-Allow-Credentials: true\r\n" : ""
        self.vary = vary
        self.credentials = credentials
        self.byOrigin = named.map { (Array($0.utf8), Array((vary + Self.line($0) + credentials).utf8)) }
        self.others = Array((vary + all).utf8)
    }

    /// Returns the lines for the value of `Origin`, each with its CRLF. The result may be empty.
    func lines(for origin: UnsafeBufferPointer<UInt8>?) -> [UInt8] {
        guard let origin else { return self.others }
        if let known = self.byOrigin.first(where: { $0.origin.elementsEqual(origin) }) { return known.lines }
        // The browser compares the answer with the value it sent, so an origin in another spelling is returned as sent.
        guard !self.byOrigin.isEmpty, let named = WebOrigin(origin),
            self.byOrigin.contains(where: { $0.origin.elementsEqual(named.text.utf8) })
        else { return self.others }
        return Array((self.vary + Self.line(String(decoding: origin, as: UTF8.self)) + self.credentials).utf8)
    }

    private static func line(_ origin: String) -> String { "Access-Control-Allow-Origin: \(origin)\r\n" }
}
