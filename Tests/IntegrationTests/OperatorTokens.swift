import GatewayBench

/// Tokens of operators, and the file that admits them.
enum OperatorTokens {
    static let all = "operator-token-of-tests-that-may-read-and-end"
    static let reader = "operator-token-of-tests-that-may-only-read"
    /// What `printf %s TOKEN | sha256sum` prints.
    static let file = """
        # Operators
        ops read,sessions,clients,scim 3e37e8efabdeb16fbbb27fec02755348739db332a284a9741a3d8a2c5a0cc71c
        desk read 4b69009ca5aa7b75b4cc243e6ddadd94ab8c2021bea470890be264b288f88728

        """
}

extension Gateway {
    /// A request to the admin listener.
    func operate(_ method: String, _ target: String, token: String?, json: String? = nil) throws -> Answer {
        var lines = ["\(method) \(target) HTTP/1.1", "Host: admin", "Connection: close"]
        if let token { lines.append("Authorization: Bearer \(token)") }
        if json != nil { lines.append("Content-Type: application/json") }
        if method != "GET" { lines.append("Content-Length: \(json?.utf8.count ?? 0)") }
        return try Wire(to: self.adminPort).request(lines.joined(separator: "\r\n") + "\r\n\r\n" + (json ?? ""))
    }
}
