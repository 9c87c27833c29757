import Settings

/// What a route's CORS settings add to the app's answers, ready-made for each origin.
struct CrossOriginLines: Sendable {
    private let byOrigin: [(origin: [UInt8], lines: [UInt8])]
    /// For every other origin, and for a request that names none.
    private let others: [UInt8]

    init(_ cors: CORSSettings) {
        let named = cors.origins.filter { $0 != "*" }
        let all = cors.origins.contains("*") && !cors.credentials ? Self.line("*") : ""
        // Also where nothing is allowed: a cache must not hand that answer to an origin that is.
        let vary = named.isEmpty ? "" : "Vary: Origin\r\n"
        let credentials = cors.credentials ? "Access-Control-Allow-Credentials: true\r\n" : ""
        self.byOrigin = named.map { (Array($0.utf8), Array((vary + Self.line($0) + credentials).utf8)) }
        self.others = Array((vary + all).utf8)
    }

    /// The lines for the value of `Origin`, each with its CRLF; perhaps none.
    func lines(for origin: UnsafeBufferPointer<UInt8>?) -> [UInt8] {
        guard let origin else { return self.others }
        return self.byOrigin.first { $0.origin.elementsEqual(origin) }?.lines ?? self.others
    }

    private static func line(_ origin: String) -> String { "Access-Control-Allow-Origin: \(origin)\r\n" }
}
